#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"
#include "agent/operate/attach/candidates.h"

#include "base/clock.h"
#include "base/text/json_writer.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/terminal.h"
#include "command/top/top_watch.h"
#include "command/top/top_poll.h"
#include "command/top/top_ranks.h"
#include "command/top/top_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_MS     2000 /* CUPTI delivers its records once a second */
#define INTERVAL_MS_MIN 100
#define INTERVAL_MS_MAX 9000 /* an agent counts for 10 s after a request */
#define ANSWER_MS       1000
#define STEP_MS         500
#define TRIES_ONCE      3

struct top {
    struct agents_choice choice;
    struct top_poll poll;
    uint64_t interval_ms;
    bool is_once, is_json, is_paused, is_all;
    int color; /* enum color_when */
    uint32_t columns, lines;
    int sort;             /* enum top_sort */
    long selected;        /* PID; 0: none is named */
    struct text untraced; /* names processes that use a GPU and have no agent */
    uint64_t untraced_ns; /* when it was made */
};

/* --- processes without an agent --- */

#define UNTRACED_MAX 4
#define UNTRACED_NS  (10 * NS_PER_SECOND) /* all processes are read for it */

static void find_untraced(struct top *top)
{
    struct candidates candidates;
    size_t count = 0;
    uint64_t now_ns = clock_monotonic_ns();
    if (top->choice.which || (top->untraced_ns && now_ns - top->untraced_ns < UNTRACED_NS))
        return;
    top->untraced_ns = now_ns;
    text_clear(&top->untraced);
    candidates_find(&candidates, candidates_user());
    for (size_t i = 0; i < candidates.count; i++) {
        const struct candidate *candidate = &candidates.items[i];
        if (!candidate_is_untraced(candidate) || ++count > UNTRACED_MAX)
            continue;
        text_add_format(&top->untraced, "%s%s (PID %d)", count == 1 ? "without an agent: " : ", ",
                        candidate->program, (int)candidate->pid);
    }
    if (count > UNTRACED_MAX)
        text_add_format(&top->untraced, " and %zu more", count - UNTRACED_MAX);
    if (count)
        text_add(&top->untraced, "; cuspan attach PID traces it");
    candidates_deinit(&candidates);
}

/* --- the screen --- */

static size_t selected_row(const struct top *top)
{
    if (top->is_all && top->poll.count > 1)
        return top->poll.count;
    for (size_t i = 0; i < top->poll.count; i++)
        if (top->poll.agents[i].pid == top->selected)
            return i;
    return 0;
}

static void make_screen(const struct top *top, size_t columns, size_t lines, bool has_keys,
                        struct top_screen *screen)
{
    char moment[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts))
        strftime(moment, sizeof moment, "%H:%M:%S", &parts);
    struct top_view view = {.poll = &top->poll,
                            .selected = selected_row(top),
                            .sort = (enum top_sort)top->sort,
                            .is_paused = top->is_paused,
                            .interval_ms = top->interval_ms,
                            .clock = moment,
                            .untraced = top->untraced.len ? top->untraced.data : NULL,
                            .columns = columns,
                            .lines = lines,
                            .utf8 = text_locale_is_utf8(),
                            .has_keys = has_keys};
    top_screen_make(&view, screen);
}

static void nap(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000 * NS_PER_MS)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* --- for pipes and programs --- */

static void print_screen(struct top *top)
{
    find_untraced(top);
    struct top_screen screen;
    size_t columns = top->columns ? top->columns : terminal_columns(STDOUT_FILENO);
    make_screen(top, columns, top->lines, false, &screen);
    for (size_t i = 0; i < screen.count; i++)
        printf("%s\n", screen.lines[i].text.data ? screen.lines[i].text.data : "");
    top_screen_deinit(&screen);
}

static void write_devices(struct json_writer *json, const struct top_sample *figures)
{
    json_write_array(json, "devices");
    for (size_t i = 0; i < figures->device_count; i++) {
        const struct top_device *device = &figures->devices[i];
        json_write_object(json, NULL);
        json_write_unsigned(json, "index", device->index);
        json_write_unsigned(json, "busy_ns", device->busy_ns);
        json_write_unsigned(json, "kernels", device->kernels);
        json_write_unsigned(json, "kernel_ns", device->kernel_ns);
        json_write_unsigned(json, "copies", device->copies);
        json_write_unsigned(json, "copy_bytes", device->copy_bytes);
        json_write_unsigned(json, "fills", device->fills);
        json_write_unsigned(json, "memory_live", device->memory_live);
        json_write_unsigned(json, "memory_peak", device->memory_peak);
        json_write_text(json, "id", device->id);
        json_write_text(json, "name", device->name);
        json_write_object_end(json);
    }
    json_write_array_end(json);
}

static void write_kernels(struct json_writer *json, const struct top_sample *figures)
{
    json_write_array(json, "kernels");
    for (size_t i = 0; i < figures->kernel_count; i++) {
        const struct top_kernel *kernel = &figures->kernels[i];
        json_write_object(json, NULL);
        json_write_unsigned(json, "count", kernel->count);
        json_write_unsigned(json, "total_ns", kernel->total_ns);
        json_write_text(json, "name", kernel->name);
        json_write_object_end(json);
    }
    json_write_array_end(json);
}

static void write_sampled_step(struct json_writer *json, const struct top_step *step)
{
    json_write_object(json, NULL);
    json_write_signed(json, "number", step->number);
    json_write_unsigned(json, "compute_ns", step->compute_ns);
    json_write_unsigned(json, "exposed_communication_ns", step->exposed_ns);
    json_write_unsigned(json, "copies_ns", step->copies_ns);
    json_write_unsigned(json, "idle_ns", step->idle_ns);
    json_write_unsigned(json, "communication_ns", step->communication_ns);
    if (step->host_ns)
        json_write_unsigned(json, "host_ns", step->host_ns);
    json_write_bool(json, "whole", step->is_whole);
    json_write_object_end(json);
}

/* As an agent reports them, but `count` and `total_ns` are of the interval. */
static void write_steps(struct json_writer *json, const struct top_steps *steps)
{
    json_write_object(json, "steps");
    json_write_text(json, "job", steps->job);
    if (steps->rank >= 0)
        json_write_signed(json, "rank", steps->rank);
    json_write_signed(json, "number", steps->number);
    if (*steps->kind)
        json_write_text(json, "kind", steps->kind);
    json_write_unsigned(json, "count", steps->count);
    json_write_unsigned(json, "total_ns", steps->total_ns);
    json_write_unsigned(json, "last_ns", steps->last_ns);
    json_write_array(json, "sampled");
    for (size_t i = 0; i < steps->sampled_count; i++)
        write_sampled_step(json, &steps->sampled[i]);
    json_write_array_end(json);
    json_write_object_end(json);
}

/* Without window_ns, the elapsed time is unknown. */
static void write_figures(struct json_writer *json, const struct top_sample *figures)
{
    json_write_unsigned(json, "window_ns", figures->window_ns);
    json_write_unsigned(json, "calls", figures->calls);
    json_write_unsigned(json, "call_ns", figures->call_ns);
    json_write_unsigned(json, "errors", figures->errors);
    json_write_unsigned(json, "waiting_ns", figures->waiting_ns);
    json_write_unsigned(json, "launches", figures->launches);
    write_devices(json, figures);
    write_kernels(json, figures);
    json_write_object(json, "kernels_other");
    json_write_unsigned(json, "count", figures->others_count);
    json_write_unsigned(json, "total_ns", figures->others_ns);
    json_write_object_end(json);
    json_write_object(json, "own");
    json_write_unsigned(json, "spans", figures->spans);
    json_write_unsigned(json, "lost", figures->lost);
    if (figures->has_callbacks)
        json_write_unsigned(json, "callback_ns", figures->callback_ns);
    json_write_unsigned(json, "threads_ns", figures->threads_ns);
    json_write_unsigned(json, "cupti_ns", figures->cupti_ns);
    json_write_object_end(json);
    if (figures->steps.is_there)
        write_steps(json, &figures->steps);
}

/* Those that were compared, in a step that all ranks of the job here have measured. */
static void write_ranks(struct json_writer *json, const struct top_poll *poll)
{
    struct top_rank *ranks;
    size_t count = top_ranks_find(poll, &ranks);
    json_write_array(json, "ranks");
    for (size_t i = 0; i < count; i++) {
        if (!ranks[i].is_compared)
            continue;
        json_write_object(json, NULL);
        json_write_signed(json, "pid", ranks[i].pid);
        json_write_signed(json, "rank", ranks[i].steps->rank);
        json_write_signed(json, "step", ranks[i].sampled->number);
        json_write_signed(json, "delay_ns", ranks[i].delay_ns);
        json_write_bool(json, "late", ranks[i].is_late);
        json_write_object_end(json);
    }
    json_write_array_end(json);
    free(ranks);
}

static void print_json(const struct top *top)
{
    struct json_writer json = JSON_WRITER(stdout);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "time_ns", clock_read_ns(CLOCK_REALTIME));
    json_write_array(&json, "agents");
    for (size_t i = 0; i < top->poll.count; i++) {
        const struct top_agent *agent = &top->poll.agents[i];
        json_write_object(&json, NULL);
        json_write_signed(&json, "pid", agent->pid);
        json_write_text(&json, "program", agent->program);
        json_write_text(&json, "state", agent->state);
        json_write_text(&json, "why", agent->why);
        json_write_unsigned(&json, "lost_since_begin", agent->lost);
        if (agent->has_figures)
            write_figures(&json, &agent->figures);
        json_write_object_end(&json);
    }
    json_write_array_end(&json);
    write_ranks(&json, &top->poll);
    json_write_object_end(&json);
    putchar('\n');
}

/* An agent that was still starting began to count with the second poll. */
static bool all_tell(const struct top *top)
{
    for (size_t i = 0; i < top->poll.count; i++)
        if (top->poll.agents[i].has_before && !top->poll.agents[i].has_figures)
            return false;
    return true;
}

static void take_next(struct top *top)
{
    int tries = top->is_once ? TRIES_ONCE : 1;
    do {
        nap(top->interval_ms);
        top_poll_take(&top->poll, &top->choice);
    } while (--tries > 0 && !all_tell(top));
}

/* One line, or one screen, per interval. The first poll only starts the counting. */
static int print_each(struct top *top)
{
    struct agents agents;
    top_poll_take(&top->poll, &top->choice);
    if (top->poll.count == 0) {
        agents_find(&agents, top->choice.folder);
        int status = agents_complain_none(&agents, &top->choice);
        agents_deinit(&agents);
        return status;
    }
    do {
        take_next(top);
        if (top->is_json)
            print_json(top);
        else
            print_screen(top);
        if (fflush(stdout) != 0)
            return EXIT_FAILED;
    } while (!top->is_once && top->poll.count);
    return EXIT_OK;
}

/* --- on a terminal --- */

static void draw(struct top *top)
{
    struct top_screen screen;
    find_untraced(top);
    size_t columns, lines;
    top_watch_size(&columns, &lines);
    make_screen(top, columns, lines, true, &screen);
    top_watch_draw(&screen);
    top_screen_deinit(&screen);
}

static void select_row(struct top *top, int step)
{
    size_t row = selected_row(top), count = top->poll.count;
    if (count == 0)
        return;
    if (top->is_all || row >= count)
        row = step > 0 ? 0 : count - 1;
    else
        row = (row + count + (size_t)step) % count;
    top->is_all = false;
    top->selected = top->poll.agents[row].pid;
}

static void change_interval(struct top *top, int step_ms)
{
    int64_t wanted = (int64_t)top->interval_ms + step_ms;
    if (wanted >= INTERVAL_MS_MIN && wanted <= INTERVAL_MS_MAX)
        top->interval_ms = (uint64_t)wanted;
}

static void follow_key(struct top *top, int key)
{
    if (key == 'p' || key == ' ')
        top->is_paused = !top->is_paused;
    else if (key == 's')
        top->sort = (top->sort + 1) % TOP_SORTS;
    else if (key == 'k' || key == 'j')
        select_row(top, key == 'j' ? 1 : -1);
    else if (key == 'a')
        top->is_all = !top->is_all;
    else if (key == '+' || key == '-')
        change_interval(top, key == '+' ? STEP_MS : -STEP_MS);
}

/* While paused, no agent is polled, so agents stop counting. The first values come soon. */
static void watch(struct top *top)
{
    uint64_t next_ns = 0, first_ms = top->interval_ms < STEP_MS ? top->interval_ms : STEP_MS;
    bool is_first = true;
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (!top->is_paused && now_ns >= next_ns) {
            top_poll_take(&top->poll, &top->choice);
            next_ns = now_ns + (is_first ? first_ms : top->interval_ms) * NS_PER_MS;
            is_first = false;
        }
        draw(top);
        now_ns = clock_monotonic_ns();
        uint64_t wait_ms = next_ns > now_ns ? (next_ns - now_ns) / NS_PER_MS + 1 : 1;
        int key = top_watch_wait(top->is_paused ? INTERVAL_MS_MAX : wait_ms);
        if (key == 'q' || key == 'Q')
            return;
        follow_key(top, key);
    }
}

static int show(struct top *top)
{
    struct error err = {""};
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        fputs("cuspan top: standard output is not a terminal: use --once for one screen as text, or --json "
              "for one line per interval\n",
              stderr);
        return EXIT_FAILED;
    }
    top_poll_take(&top->poll, &top->choice); /* errors are printed before the screen is drawn */
    if (top_watch_start(terminal_wants_color((enum color_when)top->color, STDOUT_FILENO), &err) !=
        STATUS_OK) {
        fprintf(stderr, "cuspan top: %s\n", err.text);
        return EXIT_FAILED;
    }
    watch(top);
    top_watch_end();
    return EXIT_OK;
}

/* --- arguments --- */

static int take_interval(struct top *top, const struct options *options)
{
    char *end;
    double seconds = strtod(options->value, &end);
    if (end == options->value || *end || !(seconds * 1000 >= INTERVAL_MS_MIN) ||
        !(seconds * 1000 <= INTERVAL_MS_MAX))
        return options_complain(options, "--interval needs seconds from 0.1 to 9, not \"%s\"",
                                options->value);
    top->interval_ms = (uint64_t)(seconds * 1000 + 0.5);
    return EXIT_OK;
}

static int take_option(void *context, struct options *options, int option)
{
    struct top *top = context;
    return option == OPTION_INTERVAL ? take_interval(top, options)
                                     : agents_take_operand(&top->choice, options, option);
}

int cmd_top(const struct command *command, int argc, char **argv)
{
    struct top top = {.choice = {.timeout_ms = ANSWER_MS}, .interval_ms = INTERVAL_MS};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_SORT, .choice = &top.sort},
        {OPTION_ONCE, .flag = &top.is_once},
        {OPTION_JSON, .flag = &top.is_json},
        {OPTION_WIDTH, .number = &top.columns, .min = TERMINAL_COLUMNS_MIN, .max = TERMINAL_COLUMNS_MAX},
        {OPTION_ROWS, .number = &top.lines, .min = 0, .max = 10000},
        {OPTION_COLOR, .choice = &top.color},
        {OPTION_DIRECTORY, .text = &top.choice.folder},
        {0}};
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, take_option, &top))
        return options.status;
    int status = top.is_once || top.is_json ? print_each(&top) : show(&top);
    top_poll_deinit(&top.poll);
    text_deinit(&top.untraced);
    return status;
}
