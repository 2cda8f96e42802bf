#include "command/top/top_screen.h"

#include "base/clock.h"
#include "command/top/top_ranks.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define BAR_COLUMNS     20
#define WIDE_COLUMNS    100 /* wide enough for all columns of the list */
#define PROGRAM_MIN     8
#define PROGRAM_MAX     32
#define STATE_COLUMNS   9
#define ROWS_MIN        3  /* of agents, at least */
#define NUMBERS_COLUMNS 42 /* of a kernel, behind its name */
#define NAME_COLUMNS    20 /* of a kernel, at least */
#define CELL_BYTES      (TEXT_NUMBER_BYTES + 8)

static const char *const sort_names[TOP_SORTS] = {"time", "count", "average", "name"};

/* --- lines --- */

static struct text *begin_line(struct top_screen *screen, enum top_style style)
{
    struct top_line *line = XADD(screen->lines, screen->count, screen->capacity);
    *line = (struct top_line){.style = style};
    return &line->text;
}

/* Cut to the screen, and no byte of foreign text that moves the cursor. */
static void fit_lines(struct top_screen *screen, const struct top_view *view)
{
    for (size_t i = 0; i < screen->count; i++) {
        struct text *line = &screen->lines[i].text, cut = {0};
        text_add_fitted(&cut, line->data ? line->data : "", view->columns, view->utf8);
        text_deinit(line);
        *line = cut;
    }
}

/* --- numbers --- */

static double a_second(uint64_t amount, const struct top_sample *figures)
{
    return figures->window_ns ? (double)amount * (double)NS_PER_SECOND / (double)figures->window_ns : 0;
}

static const char *rate(char out[CELL_BYTES], uint64_t amount, const struct top_sample *figures)
{
    double value = a_second(amount, figures);
    char number[TEXT_NUMBER_BYTES];
    if (value > 0 && value < 99.95)
        snprintf(out, CELL_BYTES, "%.1f/s", value);
    else if (value < 999999.5)
        snprintf(out, CELL_BYTES, "%s/s", text_count(number, (uint64_t)(value + 0.5)));
    else
        snprintf(out, CELL_BYTES, "%.2f M/s", value / 1e6);
    return out;
}

/* CUPTI delivers its records once per second, so an interval may contain more than its own time. Limited to
 * 100 %. */
static uint64_t busy_ns(const struct top_device *device, const struct top_sample *figures)
{
    return device->busy_ns < figures->window_ns ? device->busy_ns : figures->window_ns;
}

/* Average of the GPUs that the process uses. */
static const char *gpu_share(char out[CELL_BYTES], const struct top_sample *figures)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < figures->device_count; i++)
        busy += busy_ns(&figures->devices[i], figures);
    if (figures->device_count == 0)
        return "-";
    return text_share(out, busy / figures->device_count, figures->window_ns);
}

static const char *memory_of(char out[TEXT_NUMBER_BYTES], const struct top_sample *figures)
{
    uint64_t live = 0;
    for (size_t i = 0; i < figures->device_count; i++)
        live += figures->devices[i].memory_live;
    return text_bytes(out, live);
}

/* --- the list of agents --- */

static void add_head(struct top_screen *screen, const struct top_view *view)
{
    struct text *line = begin_line(screen, TOP_TITLE);
    text_add_format(line, "cuspan top  %s  %zu agent%s, every %.3g s", view->clock, view->poll->count,
                    view->poll->count == 1 ? "" : "s", (double)view->interval_ms / 1000);
    if (view->is_paused)
        text_add(line, "  (paused)");
}

/* The columns behind the state. */
static const struct {
    const char *title;
    size_t columns;
    bool is_wide; /* omitted on narrow screens; the details contain it */
} cells[] = {{"CALLS", 11, false}, {"LAUNCHES", 11, true}, {"IN CALLS", 9, true}, {"WAITING", 8, false},
             {"GPU", 7, false},    {"MEMORY", 10, false},  {"LOST", 7, false}};
#define CELLS (sizeof cells / sizeof *cells)

static bool has_cell(const struct top_view *view, size_t number)
{
    return !cells[number].is_wide || view->columns >= WIDE_COLUMNS;
}

static size_t program_columns(const struct top_view *view)
{
    size_t taken = 11 + STATE_COLUMNS;
    for (size_t i = 0; i < CELLS; i++)
        taken += has_cell(view, i) ? cells[i].columns : 0;
    size_t left = view->columns > taken ? view->columns - taken : 0;
    return left < PROGRAM_MIN ? PROGRAM_MIN : left > PROGRAM_MAX ? PROGRAM_MAX : left;
}

static void add_row_numbers(struct text *line, const struct top_view *view, const struct top_agent *row)
{
    const struct top_sample *figures = &row->figures;
    char texts[CELLS][CELL_BYTES], gpu[CELL_BYTES];
    rate(texts[0], figures->calls, figures);
    rate(texts[1], figures->launches, figures);
    text_share(texts[2], figures->call_ns, figures->window_ns);
    text_share(texts[3], figures->waiting_ns, figures->window_ns);
    snprintf(texts[4], CELL_BYTES, "%s", gpu_share(gpu, figures));
    memory_of(texts[5], figures);
    text_count(texts[6], row->lost);
    for (size_t i = 0; i < CELLS; i++)
        if (has_cell(view, i))
            text_add_column(line, texts[i], cells[i].columns, true, view->utf8);
}

static void add_row(struct top_screen *screen, const struct top_view *view, size_t number)
{
    const struct top_agent *row = &view->poll->agents[number];
    bool is_selected = number == view->selected;
    enum top_style style = row->lost ? TOP_WARNING : TOP_PLAIN;
    struct text *line = begin_line(screen, is_selected ? TOP_SELECTED : style);
    text_add_format(line, "%c%8ld ", is_selected ? '>' : ' ', row->pid);
    text_add_column(line, row->program, program_columns(view), false, view->utf8);
    text_add_char(line, ' ', 1);
    text_add_column(line, row->state, STATE_COLUMNS, false, view->utf8);
    if (row->has_figures) {
        add_row_numbers(line, view, row);
    } else {
        text_add(line, "  ");
        text_add(line, *row->why ? row->why : "its figures follow in the next interval");
    }
}

/* Lines for a list, on a screen that others share. */
static size_t room_for_list(const struct top_view *view)
{
    size_t room = view->lines ? view->lines / 3 : SIZE_MAX;
    return room < ROWS_MIN ? ROWS_MIN : room;
}

/* A low screen shows the agents around the selected one. */
static void choose_rows(const struct top_view *view, size_t *first, size_t *end)
{
    size_t room = room_for_list(view);
    size_t selected = view->selected < view->poll->count ? view->selected : 0;
    *first = view->poll->count > room && selected >= room / 2 ? selected - room / 2 : 0;
    *end = *first + room < view->poll->count && room != SIZE_MAX ? *first + room : view->poll->count;
}

static void add_rows(struct top_screen *screen, const struct top_view *view)
{
    size_t first, end;
    struct text *line = begin_line(screen, TOP_HEAD);
    text_add_format(line, " %8s ", "PID");
    text_add_column(line, "PROGRAM", program_columns(view), false, view->utf8);
    text_add_char(line, ' ', 1);
    text_add_column(line, "STATE", STATE_COLUMNS, false, view->utf8);
    for (size_t i = 0; i < CELLS; i++)
        if (has_cell(view, i))
            text_add_column(line, cells[i].title, cells[i].columns, true, view->utf8);
    choose_rows(view, &first, &end);
    for (size_t i = first; i < end; i++)
        add_row(screen, view, i);
    if (end - first < view->poll->count)
        text_add_format(begin_line(screen, TOP_FAINT), "%10s and %zu more", "",
                        view->poll->count - (end - first));
}

/* --- the ranks of training jobs --- */

#define RANK_COLUMNS 10 /* of each duration; 80 in all, with the mark of the late rank */

static void add_duration(struct text *line, uint64_t ns, bool is_known, bool utf8)
{
    char number[TEXT_NUMBER_BYTES];
    text_add_column(line, is_known ? text_duration(number, ns, utf8) : "-", RANK_COLUMNS, true, utf8);
}

static void add_rank(struct top_screen *screen, const struct top_view *view, const struct top_rank *rank)
{
    const struct top_step *sampled = rank->sampled;
    char number[TEXT_NUMBER_BYTES];
    struct text *line = begin_line(screen, rank->is_late ? TOP_WARNING : TOP_PLAIN);
    if (rank->steps->rank >= 0)
        snprintf(number, sizeof number, "%lld", (long long)rank->steps->rank);
    else
        snprintf(number, sizeof number, "-");
    text_add_column(line, number, 5, true, view->utf8);
    text_add_format(line, "%9ld %10lld", rank->pid, (long long)rank->steps->number);
    add_duration(line, rank->step_ns, rank->step_ns != 0, view->utf8);
    add_duration(line, sampled ? sampled->compute_ns : 0, sampled, view->utf8);
    add_duration(line, sampled ? sampled->exposed_ns : 0, sampled, view->utf8);
    add_duration(line, sampled ? sampled->idle_ns : 0, sampled, view->utf8);
    add_duration(line, rank->delay_ns > 0 ? (uint64_t)rank->delay_ns : 0, rank->is_compared, view->utf8);
    if (rank->is_late)
        text_add(line, " late");
    if (strcmp(rank->steps->kind, "train") != 0)
        text_add_format(line, "  %s", *rank->steps->kind ? rank->steps->kind : "between steps");
}

/* A low screen shows the first ones, and those that are late. */
static void add_ranks(struct top_screen *screen, const struct top_view *view)
{
    struct top_rank *ranks;
    size_t count = top_ranks_find(view->poll, &ranks);
    size_t room = room_for_list(view), hidden = 0;
    if (count) {
        begin_line(screen, TOP_PLAIN);
        text_add_format(begin_line(screen, TOP_HEAD), "%5s%9s %10s%10s%10s%10s%10s%10s", "RANK", "PID",
                        "STEP", "STEP TIME", "COMPUTE", "EXPOSED", "IDLE", "DELAY");
    }
    for (size_t i = 0; i < count; i++) {
        if (i < room || ranks[i].is_late)
            add_rank(screen, view, &ranks[i]);
        else
            hidden++;
    }
    if (hidden)
        text_add_format(begin_line(screen, TOP_FAINT), "%5s and %zu more", "", hidden);
    free(ranks);
}

/* --- what one agent does, or all of them --- */

static void add_device(struct top_screen *screen, const struct top_view *view,
                       const struct top_device *device, const struct top_sample *figures)
{
    char cell[CELL_BYTES];
    struct text *line = begin_line(screen, TOP_PLAIN);
    uint64_t busy = busy_ns(device, figures);
    size_t bar = view->columns >= WIDE_COLUMNS ? BAR_COLUMNS : BAR_COLUMNS / 2;
    size_t filled =
        figures->window_ns ? (size_t)((double)busy / (double)figures->window_ns * (double)bar + 0.5) : 0;
    text_add_format(line, "GPU %u   ", device->index);
    for (size_t i = 0; i < bar; i++)
        text_add(line, i < filled ? (view->utf8 ? "█" : "#") : (view->utf8 ? "░" : "."));
    text_add_column(line, text_share(cell, busy, figures->window_ns), 7, true, view->utf8);
    text_add_format(line, "  %s kernels", rate(cell, device->kernels, figures));
    text_add_format(line, "  %s/s copied", text_bytes(cell, (uint64_t)a_second(device->copy_bytes, figures)));
    text_add_format(line, "  %s live", text_bytes(cell, device->memory_live));
    text_add_format(line, ", peak %s", text_bytes(cell, device->memory_peak));
    if (*device->name)
        text_add_format(line, "  %s", device->name);
}

static void add_calls(struct top_screen *screen, const struct top_sample *figures)
{
    char calls[CELL_BYTES], time[CELL_BYTES], waiting[CELL_BYTES], launches[CELL_BYTES], errors[CELL_BYTES];
    struct text *line = begin_line(screen, figures->errors ? TOP_WARNING : TOP_PLAIN);
    text_add_format(line, "calls   %s, %s of a thread's time; waiting %s; launches %s; errors %s",
                    rate(calls, figures->calls, figures),
                    text_share(time, figures->call_ns, figures->window_ns),
                    text_share(waiting, figures->waiting_ns, figures->window_ns),
                    rate(launches, figures->launches, figures), rate(errors, figures->errors, figures));
}

static void add_own(struct top_screen *screen, const struct top_sample *figures)
{
    char callbacks[CELL_BYTES], threads[CELL_BYTES], cupti[CELL_BYTES], spans[CELL_BYTES], lost[CELL_BYTES];
    text_add_format(begin_line(screen, TOP_PLAIN),
                    "cuspan  callbacks %s of a thread's time; threads %s of a CPU; CUPTI's records %s",
                    figures->has_callbacks ? text_share(callbacks, figures->callback_ns, figures->window_ns)
                                           : "-",
                    text_share(threads, figures->threads_ns, figures->window_ns),
                    text_share(cupti, figures->cupti_ns, figures->window_ns));
    text_add_format(begin_line(screen, figures->lost ? TOP_WARNING : TOP_PLAIN), "spans   %s; lost %s",
                    rate(spans, figures->spans, figures), rate(lost, figures->lost, figures));
}

static enum top_sort sorted_by; /* qsort takes no context; this program has one thread */

static int compare_kernels(const void *a, const void *b)
{
    const struct top_kernel *x = a, *y = b;
    int order = 0;
    if (sorted_by == TOP_BY_TIME)
        order = ORDER(y->total_ns, x->total_ns);
    else if (sorted_by == TOP_BY_COUNT)
        order = ORDER(y->count, x->count);
    else if (sorted_by == TOP_BY_AVERAGE)
        order = ORDER(y->total_ns / y->count, x->total_ns / x->count);
    return order ? order : strcmp(x->name, y->name);
}

static void add_kernel(struct top_screen *screen, const struct top_view *view, size_t name_columns,
                       const struct top_kernel *kernel, const struct top_sample *figures, uint64_t all_ns)
{
    char cell[CELL_BYTES];
    struct text *line = begin_line(screen, TOP_PLAIN);
    text_add_column(line, kernel->name, name_columns, false, view->utf8);
    text_add_column(line, text_share(cell, kernel->total_ns, all_ns), 8, true, view->utf8);
    text_add_column(line, text_duration(cell, (uint64_t)a_second(kernel->total_ns, figures), view->utf8), 11,
                    true, view->utf8);
    text_add_column(line, rate(cell, kernel->count, figures), 12, true, view->utf8);
    text_add_column(line,
                    text_duration(cell, kernel->count ? kernel->total_ns / kernel->count : 0, view->utf8), 11,
                    true, view->utf8);
}

/* Remaining lines of the screen, without those reserved for the keys and other agents. */
static size_t room_for_kernels(const struct top_screen *screen, const struct top_view *view)
{
    size_t taken = screen->count + view->has_keys + 1;
    if (!view->lines)
        return SIZE_MAX;
    return view->lines > taken ? view->lines - taken : 0;
}

static void add_kernels(struct top_screen *screen, const struct top_view *view, struct top_sample *figures)
{
    size_t names =
        view->columns > NUMBERS_COLUMNS + NAME_COLUMNS ? view->columns - NUMBERS_COLUMNS : NAME_COLUMNS;
    struct top_kernel others = {.name = "(others)", .count = figures->others_count, figures->others_ns};
    uint64_t all_ns = figures->others_ns;
    for (size_t i = 0; i < figures->kernel_count; i++)
        all_ns += figures->kernels[i].total_ns;
    sorted_by = view->sort;
    sort_array(figures->kernels, figures->kernel_count, sizeof *figures->kernels, compare_kernels);
    struct text *line = begin_line(screen, TOP_HEAD);
    char title[32];
    snprintf(title, sizeof title, "KERNELS BY %s", sort_names[view->sort]);
    for (char *c = title; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    text_add_column(line, title, names, false, view->utf8);
    text_add_format(line, "%8s%11s%12s%11s", "SHARE", "TIME/S", "COUNT", "AVERAGE");
    size_t room = room_for_kernels(screen, view), shown = 0;
    for (; shown < figures->kernel_count && shown < room; shown++)
        add_kernel(screen, view, names, &figures->kernels[shown], figures, all_ns);
    for (size_t i = shown; i < figures->kernel_count; i++) {
        others.count += figures->kernels[i].count;
        others.total_ns += figures->kernels[i].total_ns;
    }
    if (others.count)
        add_kernel(screen, view, names, &others, figures, all_ns);
}

static void add_details(struct top_screen *screen, const struct top_view *view)
{
    struct top_sample *figures = xcalloc(1, sizeof *figures);
    size_t known = 0;
    for (size_t i = 0; i < view->poll->count; i++) {
        bool is_meant = view->selected == view->poll->count || view->selected == i;
        if (!is_meant || !view->poll->agents[i].has_figures)
            continue;
        top_sample_add(figures, &view->poll->agents[i].figures);
        known++;
    }
    begin_line(screen, TOP_PLAIN);
    struct text *line = begin_line(screen, TOP_TITLE);
    if (view->selected < view->poll->count)
        text_add_format(line, "%s (PID %ld)", view->poll->agents[view->selected].program,
                        view->poll->agents[view->selected].pid);
    else
        text_add(line, "all agents");
    if (known) {
        for (size_t i = 0; i < figures->device_count; i++)
            add_device(screen, view, &figures->devices[i], figures);
        add_calls(screen, figures);
        add_own(screen, figures);
        begin_line(screen, TOP_PLAIN);
        add_kernels(screen, view, figures);
    }
    free(figures);
}

static void add_keys(struct top_screen *screen, const struct top_view *view)
{
    while (view->lines && screen->count + 1 < view->lines)
        begin_line(screen, TOP_PLAIN);
    struct text *line = begin_line(screen, TOP_FAINT);
    text_add_format(line, "q quit  p %s  s sort (%s)  %s agent  a all  +/- interval",
                    view->is_paused ? "resume" : "pause", sort_names[view->sort],
                    view->utf8 ? "↑↓" : "up/down");
}

void top_screen_make(const struct top_view *view, struct top_screen *screen)
{
    *screen = (struct top_screen){.count = 0};
    add_head(screen, view);
    if (view->poll->count) {
        add_rows(screen, view);
        add_ranks(screen, view);
        add_details(screen, view);
    } else {
        text_add(begin_line(screen, TOP_PLAIN),
                 "no agent is running: start a program with cuspan run, or wait for its first CUDA call");
    }
    if (view->untraced)
        text_add_clean(begin_line(screen, TOP_WARNING), view->untraced, view->utf8);
    size_t room = view->lines ? view->lines - view->has_keys : SIZE_MAX;
    while (screen->count > room)
        text_deinit(&screen->lines[--screen->count].text);
    if (view->has_keys)
        add_keys(screen, view);
    fit_lines(screen, view);
}

void top_screen_deinit(struct top_screen *screen)
{
    for (size_t i = 0; i < screen->count; i++)
        text_deinit(&screen->lines[i].text);
    free(screen->lines);
    *screen = (struct top_screen){.count = 0};
}
