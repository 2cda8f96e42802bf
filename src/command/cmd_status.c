#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"

#include "base/accounting/balance.h"
#include "base/accounting/losses.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static uint64_t counted(const cJSON *status, enum counter counter)
{
    return agents_number(cJSON_GetObjectItemCaseSensitive(status, "counters"), counter_name(counter));
}

static void print_text(const char *before, const char *text, const char *after)
{
    struct text clean = {0};
    text_add_clean(&clean, text, text_locale_is_utf8());
    printf("%s%s%s", before, clean.data ? clean.data : "", after);
    text_deinit(&clean);
}

static void print_count(const char *before, uint64_t count, const char *after)
{
    char number[TEXT_NUMBER_BYTES];
    printf("%s%s%s", before, text_count(number, count), after);
}

static void print_head(const struct agent *agent, const cJSON *status)
{
    char since[32] = "";
    time_t then = (time_t)(agents_number(status, "since_ms") / 1000);
    struct tm parts;
    if (localtime_r(&then, &parts))
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &parts);
    printf("%s: ", agents_title(agent));
    print_text("", agents_text(status, "state"), "");
    if (*agents_text(status, "why"))
        print_text(" (", agents_text(status, "why"), ")");
    printf(", since %s\n", since);
    if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(status, "exact")))
        puts("  the agent's thread is busy, most likely inside CUPTI, so the numbers are not consistent");
}

/* The meaning of a name of the tables below in a sum. */
static const char *word_of(enum counter counter)
{
    static const struct {
        enum counter counter;
        const char *word;
    } words[] = {{COUNTER_calls_captured, "calls"},
                 {COUNTER_activities_captured, "GPU records"},
                 {COUNTER_ranges_captured, "ranges"},
                 {COUNTER_marks_captured, "marks"},
                 {COUNTER_sessions, "sessions"},
                 {COUNTER_summaries, "summaries"},
                 {COUNTER_spans_created, "spans"},
                 {COUNTER_spans_filtered, "left out by filters"},
                 {COUNTER_spans_unsampled, "unsampled"},
                 {COUNTER_sessions_unsampled, "unsampled sessions"},
                 {COUNTER_spans_summed, "in summaries"},
                 {COUNTER_spans_left_out, "in totals of steps"},
                 {COUNTER_marks_as_events, "events of ranges"},
                 {COUNTER_facts, "facts"},
                 {COUNTER_asleep_records, "of sleep"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].counter == counter)
            return words[i].word;
    return counter_name(counter);
}

static void print_terms(const cJSON *status, const enum counter *terms)
{
    bool is_first = true;
    char number[TEXT_NUMBER_BYTES];
    for (; *terms != COUNTER_COUNT; terms++) {
        uint64_t count = counted(status, *terms);
        if (!count)
            continue;
        printf("%s%s %s", is_first ? "" : " + ", text_count(number, count), word_of(*terms));
        is_first = false;
    }
    if (is_first)
        putchar('0');
}

/* "35 captured (13 calls + 21 GPU records + 1 sessions) = 32 spans + 2 facts + 1 held" */
static void print_sum(const cJSON *status)
{
    int64_t unaccounted = agents_signed(status, "unaccounted", 0);
    if (!cJSON_HasObjectItem(status, "captured"))
        return;
    print_count("  ", agents_number(status, "captured"), " captured (");
    print_terms(status, balance_sources);
    fputs(")\n    = ", stdout);
    print_terms(status, balance_fates);
    if (agents_number(status, "held"))
        print_count(" + ", agents_number(status, "held"), " held");
    if (unaccounted)
        printf(" + %" PRId64 " unaccounted for", unaccounted);
    putchar('\n');
}

static void print_outputs(const cJSON *status)
{
    const cJSON *output;
    cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(status, "outputs"))
    {
        const char *endpoint = agents_text(output, "endpoint");
        int64_t unaccounted = agents_signed(output, "unaccounted", 0);
        print_count("  ", agents_number(status, "spans"), " spans for ");
        print_text("", *endpoint ? endpoint : agents_text(output, "kind"), "\n");
        print_count("    = ", agents_number(output, "delivered"), " delivered");
        print_count(" + ", agents_number(output, "on_way"), " on their way");
        if (agents_number(output, "spooled"))
            print_count(" + ", agents_number(output, "spooled"), " in the spool");
        print_count(" + ", agents_number(output, "lost"), " lost");
        if (unaccounted)
            printf(" + %" PRId64 " unaccounted for", unaccounted);
        putchar('\n');
        if (*agents_text(output, "trouble"))
            print_text("    last error: ", agents_text(output, "trouble"), "\n");
    }
}

static void print_profiles(const cJSON *status)
{
    const cJSON *profiles = cJSON_GetObjectItemCaseSensitive(status, "profiles");
    if (!profiles)
        return;
    uint64_t made = agents_number(profiles, "made"), delivered = agents_number(profiles, "delivered"),
             lost = agents_number(profiles, "lost");
    print_count("  ", made, " samples of profiles for ");
    print_text("", agents_text(profiles, "endpoint"), "\n");
    print_count("    = ", delivered, " delivered");
    print_count(" + ", made > delivered + lost ? made - delivered - lost : 0, " on their way");
    print_count(" + ", lost, " lost\n");
    if (*agents_text(profiles, "trouble"))
        print_text("    last error: ", agents_text(profiles, "trouble"), "\n");
}

static enum counter counter_of(const char *name)
{
    enum counter counter = 0;
    while (counter < COUNTER_COUNT && strcmp(counter_name(counter), name) != 0)
        counter++;
    return counter;
}

static void print_losses(const cJSON *status)
{
    const cJSON *item, *all = cJSON_GetObjectItemCaseSensitive(status, "losses");
    if (cJSON_GetArraySize(all) == 0)
        puts("  lost: nothing");
    cJSON_ArrayForEach(item, all)
    {
        char number[TEXT_NUMBER_BYTES];
        enum counter counter = counter_of(item->string);
        const struct loss *loss = counter < COUNTER_COUNT ? loss_of(counter) : NULL;
        printf("  lost %s: ", text_count(number, agents_number(all, item->string)));
        print_text("", item->string, "");
        if (counter < COUNTER_COUNT)
            printf(" (%s)", counter_help(counter));
        putchar('\n');
        if (loss)
            printf("    %s; %s\n", loss->why, loss->advice);
    }
    if (counted(status, COUNTER_gpu_counts_lost))
        print_count(
            "  ", counted(status, COUNTER_gpu_counts_lost),
            " hardware counts were dropped: other kernels ran at the same time, or counting failed\n");
    if (counted(status, COUNTER_gpu_samples_lost))
        print_count("  ", counted(status, COUNTER_gpu_samples_lost),
                    " samples of hardware counters are missing: the GPU's buffer was full (raise "
                    "counters.sampling.interval_us)\n");
    if (counted(status, COUNTER_notes_lost))
        print_count(
            "  ", counted(status, COUNTER_notes_lost),
            " contexts, ends of ranges, names or modules were dropped by a full ring; spans may lack them\n");
}

static void print_sleep(const cJSON *status)
{
    char length[TEXT_NUMBER_BYTES];
    uint64_t sleeps = counted(status, COUNTER_sleeps);
    if (!sleeps)
        return;
    print_count("  asleep ", sleeps, sleeps == 1 ? " time" : " times");
    printf(", %s in all\n", text_duration(length, counted(status, COUNTER_asleep_ns), text_locale_is_utf8()));
    if (counted(status, COUNTER_calls_cut))
        print_count("  ", counted(status, COUNTER_calls_cut),
                    " calls had not returned when tracing stopped, and have no span\n");
}

static void print_memory(const cJSON *status)
{
    const cJSON *memory = cJSON_GetObjectItemCaseSensitive(status, "memory");
    char bound[TEXT_NUMBER_BYTES], rings[TEXT_NUMBER_BYTES], buffers[TEXT_NUMBER_BYTES],
        queues[TEXT_NUMBER_BYTES], device[TEXT_NUMBER_BYTES];
    if (!memory)
        return;
    uint64_t queue_bytes = agents_number(memory, "queues");
    printf("  memory: %s at most: rings %s, activity buffers %s (%" PRIu64 " of %" PRIu64
           " free), queues %s (%" PRIu64 " %% free)\n",
           text_bytes(bound, agents_number(memory, "bound")),
           text_bytes(rings, agents_number(memory, "rings")),
           text_bytes(buffers, agents_number(memory, "buffers")), agents_number(memory, "buffers_free"),
           agents_number(memory, "buffer_count"), text_bytes(queues, queue_bytes),
           queue_bytes ? agents_number(memory, "queues_free") * 100 / queue_bytes : 0);
    printf("  GPU memory: buffers of %s, %" PRIu64 " for each context at first, %" PRIu64 " at most\n",
           text_bytes(device, agents_number(memory, "device_buffer_bytes")),
           agents_number(memory, "device_buffers_first"), agents_number(memory, "device_buffers_max"));
}

static void print_cupti(const cJSON *status)
{
    const cJSON *cupti = cJSON_GetObjectItemCaseSensitive(status, "cupti");
    if (!cupti) {
        puts("  CUPTI: not loaded");
        return;
    }
    print_text("  CUPTI ", agents_text(cupti, "version"), "");
    print_text(" by its ", agents_text(cupti, "api"), " calls");
    print_text(": ", agents_text(cupti, "path"), "\n");
}

/* The cost of tracing, as far as it is known. */
static void print_own(const cJSON *status)
{
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(status, "own");
    char time[TEXT_NUMBER_BYTES], sender[TEXT_NUMBER_BYTES], control[TEXT_NUMBER_BYTES];
    bool utf8 = text_locale_is_utf8();
    if (!own)
        return;
    if (cJSON_HasObjectItem(own, "callback_ns"))
        printf("  own: callbacks %s on the program's threads, estimated from %" PRIu64 " calls\n",
               text_duration(time, agents_number(own, "callback_ns"), utf8),
               agents_number(own, "callback_calls"));
    else
        puts("  own: no callback was timed yet");
    printf("    threads: pipeline %s of CPU, senders %s, control %s\n",
           text_duration(time, agents_number(own, "pipeline_ns"), utf8),
           text_duration(sender, agents_number(own, "sender_ns"), utf8),
           text_duration(control, agents_number(own, "control_ns"), utf8));
    uint64_t inline_ns = agents_number(own, "cupti_instrumentation_ns") +
                         agents_number(own, "cupti_resource_ns") + agents_number(own, "cupti_request_ns") +
                         agents_number(own, "cupti_other_ns");
    printf("    CUPTI, by its own records: %s, and %s to flush\n", text_duration(time, inline_ns, utf8),
           text_duration(sender, agents_number(own, "cupti_flush_ns"), utf8));
}

static void print_status(const struct agent *agent, const cJSON *status)
{
    print_head(agent, status);
    print_sum(status);
    print_outputs(status);
    print_profiles(status);
    print_losses(status);
    print_sleep(status);
    print_cupti(status);
    print_memory(status);
    print_own(status);
}

static bool show_one(const struct agent *agent, const struct agents_choice *choice, bool is_first)
{
    cJSON *status = NULL;
    enum reach reach = agent->reach;
    if (reach == REACHED || reach == REACH_SILENT)
        reach = agents_ask(agent, "status", choice->timeout_ms, &status);
    if (reach != REACHED) {
        agents_complain(agent, reach, choice->timeout_ms);
    } else if (choice->is_json) {
        char *text = cJSON_PrintUnformatted(status);
        puts(text ? text : "{}");
        cJSON_free(text);
    } else {
        fputs(is_first ? "" : "\n", stdout);
        print_status(agent, status);
    }
    cJSON_Delete(status);
    return reach == REACHED;
}

static int show(const struct agents *agents, const struct agents_choice *choice)
{
    size_t shown = 0;
    bool is_well = true;
    for (size_t i = 0; i < agents->count; i++)
        if (agents_matches(choice, &agents->items[i]))
            is_well &= show_one(&agents->items[i], choice, shown++ == 0);
    if (shown == 0)
        return agents_complain_none(agents, choice);
    return is_well ? EXIT_OK : EXIT_FAILED;
}

int cmd_status(const struct command *command, int argc, char **argv)
{
    struct agents_choice choice;
    struct agents agents;
    int status;
    if (!agents_options(&choice, command, argc, argv, &status))
        return status;
    agents_find(&agents, choice.folder);
    status = show(&agents, &choice);
    agents_deinit(&agents);
    return status;
}
