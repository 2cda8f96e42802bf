/* What was never given back, freed wrongly or couldn't be had, with whoever did it. */
#include "cli/util/xalloc.h"
#include "cli/stat/memory/memory_tables.h"
#include "cli/util/text.h"

#include <stdlib.h>
#include <string.h>

#define STACK_FRAMES 4 /* shown of a stack; the span has all */

static const struct stat_column unfreed_columns[] = {
    {"name", "call", STAT_TEXT},           {"kind", "kind", STAT_TEXT},
    {"device", "GPU", STAT_TEXT},          {"thread", "thread", STAT_TEXT},
    {"thread_id", "thread ID", STAT_TEXT}, {"range", "range", STAT_TEXT},
    {"process", "process", STAT_TEXT},     {"count", "allocations", STAT_COUNT},
    {"bytes", "bytes", STAT_BYTES},        {"first_ns", "first", STAT_NS},
    {"last_ns", "last", STAT_NS},          {"until", "until", STAT_TEXT},
    {"stack", "allocated in", STAT_TEXT}};

static const struct stat_column wrong_columns[] = {{"name", "call", STAT_TEXT},
                                                   {"what", "what", STAT_TEXT},
                                                   {"error", "error", STAT_TEXT},
                                                   {"address", "first address", STAT_TEXT},
                                                   {"thread", "thread", STAT_TEXT},
                                                   {"thread_id", "thread ID", STAT_TEXT},
                                                   {"range", "range", STAT_TEXT},
                                                   {"allocated_by", "allocated by", STAT_TEXT},
                                                   {"freed_in", "freed before in", STAT_TEXT},
                                                   {"count", "calls", STAT_COUNT},
                                                   {"first_ns", "first", STAT_NS}};

static const struct stat_column failed_columns[] = {
    {"name", "call", STAT_TEXT},          {"kind", "kind", STAT_TEXT},
    {"error", "error", STAT_TEXT},        {"device", "GPU", STAT_TEXT},
    {"thread", "thread", STAT_TEXT},      {"thread_id", "thread ID", STAT_TEXT},
    {"range", "range", STAT_TEXT},        {"count", "calls", STAT_COUNT},
    {"max_bytes", "largest", STAT_BYTES}, {"live_bytes", "live then", STAT_BYTES},
    {"first_ns", "first", STAT_NS}};

static uint64_t mix_call(const struct ledger *ledger, const struct trace_span *call, uint64_t more)
{
    uint64_t key = int_map_mix((uint64_t)call->name << 32 | call->thread);
    const char *range = places_range(ledger->places, call);
    const char *stack = stat_attr(ledger->places->stat, call, KEY_STACK);
    if (stack)
        key = int_map_mix(key ^ (uint64_t)(stack - ledger->places->stat->trace->strings) << 1);
    if (*range)
        key = int_map_mix(key ^ (uint64_t)(range - ledger->places->stat->trace->strings));
    return int_map_mix(key ^ more);
}

/* Of which processes it is known that they have ended: what they left was never freed. */
static bool *ended_processes(const struct ledger *ledger)
{
    const struct stat *stat = ledger->places->stat;
    bool *ended = xcalloc(ledger->places->process_count + 1, sizeof *ended);
    for (size_t i = 0; i < stat->trace->span_count; i++) {
        const struct trace_span *span = &stat->trace->spans[i];
        const char *reason = span->class == CLASS_SESSION ? stat_attr(stat, span, KEY_END_REASON) : NULL;
        if (reason && strcmp(reason, "exit") == 0)
            ended[places_process(ledger->places, span)] = true;
    }
    return ended;
}

/* "fill+0x1c < load+0x40 < main+0x7": the innermost frames, of each the function, or the place in its module.
 */
static char *short_stack(const char *stack)
{
    struct text text = {0};
    for (int i = 0; i < STACK_FRAMES && *stack; i++) {
        size_t line = strcspn(stack, "\n");
        const char *module = memmem(stack, line, " (", 2);
        text_add_format(&text, "%s%.*s", i ? " < " : "", (int)(module ? (size_t)(module - stack) : line),
                        stack);
        stack += line + (stack[line] == '\n');
    }
    return text.data;
}

static void start_unfreed(const struct ledger *ledger, struct stat_table *table,
                          const struct ledger_block *block, bool has_ended)
{
    struct stat_value *row = stat_table_add(table);
    const char *stack = stat_attr(ledger->places->stat, block->call, KEY_STACK);
    const struct trace *trace = ledger->places->stat->trace;
    row[0] = stat_text(trace_string(trace, block->call->name));
    row[1] = stat_text(ledger_kind_name((enum memory_kind)block->kind));
    row[2] = stat_text(memory_device_name(ledger->places, memory_device(block)));
    row[3] = stat_text(places_thread(ledger->places, block->call));
    row[4] = stat_text(places_thread_id(ledger->places, block->call));
    row[5] = stat_text(places_range(ledger->places, block->call));
    row[6] = stat_text(places_pid(ledger->places, block->process));
    row[7] = row[8] = stat_int(0);
    row[9] = stat_int(block->from_ns - trace->start_ns);
    row[11] = stat_text(has_ended ? "exit" : "the trace's end");
    if (stack && *stack)
        row[12] = stat_table_own(table, short_stack(stack));
}

static void add_unfreed(const struct ledger *ledger, struct stat_table *table)
{
    bool *ended = ended_processes(ledger);
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        if (block->until_ns != UINT64_MAX)
            continue;
        size_t known = numbers.count;
        uint64_t place = (uint64_t)memory_device(block) << 8 | block->kind;
        uint32_t number = stat_number(&numbers, mix_call(ledger, block->call, place));
        if (number == known)
            start_unfreed(ledger, table, block, ended[block->process]);
        struct stat_value *row = table->values + number * table->column_count;
        row[7].i++;
        row[8].i += (int64_t)block->bytes;
        row[10] = stat_int(block->from_ns - ledger->places->stat->trace->start_ns);
    }
    stat_table_sort(table, 8);
    int_map_deinit(&numbers);
    free(ended);
}

static void start_wrong(const struct ledger *ledger, struct stat_value *row, const struct ledger_free *wrong)
{
    static const char *const words[] = {"freed twice", "unknown address", "allocated out of sight"};
    const struct stat *stat = ledger->places->stat;
    const struct ledger_block *block = wrong->block == TRACE_NONE ? NULL : &ledger->blocks[wrong->block];
    const char *address = stat_attr(stat, wrong->call, KEY_ARG_PTR);
    row[0] = stat_text(trace_string(stat->trace, wrong->call->name));
    row[1] = stat_text(words[wrong->wrong]);
    row[2] = stat_text(trace_string(stat->trace, wrong->call->error));
    row[3] = stat_text(address ? address : "");
    row[4] = stat_text(places_thread(ledger->places, wrong->call));
    row[5] = stat_text(places_thread_id(ledger->places, wrong->call));
    row[6] = stat_text(places_range(ledger->places, wrong->call));
    row[7] = stat_text(block ? trace_string(stat->trace, block->call->name) : "");
    row[8] = stat_text(block && block->freed_by ? places_thread(ledger->places, block->freed_by) : "");
    row[9] = stat_int(0);
    row[10] = stat_int(wrong->call->start_ns - stat->trace->start_ns);
}

static void add_wrong(const struct ledger *ledger, struct stat_table *table)
{
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->free_count; i++) {
        const struct ledger_free *wrong = &ledger->frees[i];
        size_t known = numbers.count;
        uint64_t more = (uint64_t)wrong->call->error << 2 | wrong->wrong;
        uint32_t number = stat_number(&numbers, mix_call(ledger, wrong->call, more));
        if (number == known)
            start_wrong(ledger, stat_table_add(table), wrong);
        table->values[number * table->column_count + 9].i++;
    }
    stat_table_sort(table, 9);
    int_map_deinit(&numbers);
}

/* What the GPU, or the host, held at that time. */
static uint64_t live_at(const struct ledger *ledger, uint32_t process, uint32_t device, uint64_t time_ns)
{
    uint64_t live = 0;
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        if (block->process == process && memory_device(block) == device && memory_is_of_all(block) &&
            block->from_ns <= time_ns && block->until_ns > time_ns)
            live += block->bytes;
    }
    return live;
}

static void start_failed(const struct ledger *ledger, struct stat_value *row, const struct trace_span *call,
                         enum memory_kind kind)
{
    const struct trace *trace = ledger->places->stat->trace;
    uint32_t device = ledger_is_host(kind) ? MEMORY_HOST : places_device(ledger->places, call);
    uint32_t process = places_process(ledger->places, call);
    row[0] = stat_text(trace_string(trace, call->name));
    row[1] = stat_text(ledger_kind_name(kind));
    row[2] = stat_text(trace_string(trace, call->error));
    row[3] = stat_text(memory_device_name(ledger->places, device));
    row[4] = stat_text(places_thread(ledger->places, call));
    row[5] = stat_text(places_thread_id(ledger->places, call));
    row[6] = stat_text(places_range(ledger->places, call));
    row[7] = row[8] = stat_int(0);
    row[9] = stat_int(live_at(ledger, process, device, call->end_ns));
    row[10] = stat_int(call->start_ns - trace->start_ns);
}

static void add_failed(const struct ledger *ledger, struct stat_table *table)
{
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->failed_count; i++) {
        const struct trace_span *call = ledger->failed[i];
        enum memory_kind kind = MEMORY_DEVICE;
        uint64_t bytes = 0;
        ledger_allocates(ledger->places->stat, call, &kind, &bytes);
        size_t known = numbers.count;
        uint32_t number = stat_number(&numbers, mix_call(ledger, call, call->error));
        if (number == known)
            start_failed(ledger, stat_table_add(table), call, kind);
        struct stat_value *row = table->values + number * table->column_count;
        row[7].i++;
        row[8].i = (int64_t)bytes > row[8].i ? (int64_t)bytes : row[8].i;
    }
    stat_table_sort(table, 7);
    int_map_deinit(&numbers);
}

void stat_memory_faults(const struct ledger *ledger, struct stat_report *report)
{
    add_unfreed(ledger,
                stat_report_add(report, stat_table_of("memory_unfreed", "Memory never freed",
                                                      "Until the process's exit, where the trace "
                                                      "shows that it ended, else until the trace's "
                                                      "end. First and last: when it was allocated.",
                                                      unfreed_columns, STAT_COLUMNS(unfreed_columns))));
    add_wrong(ledger,
              stat_report_add(report, stat_table_of("memory_wrong_frees", "Frees of what wasn't there",
                                                    "Allocated out of sight: the free succeeded, so it was "
                                                    "allocated before the tracing began, or in a way that "
                                                    "the trace doesn't have.",
                                                    wrong_columns, STAT_COLUMNS(wrong_columns))));
    add_failed(ledger, stat_report_add(report, stat_table_of("memory_failed", "Allocations that failed", NULL,
                                                             failed_columns, STAT_COLUMNS(failed_columns))));
}
