#include "analysis/stat/by.h"

#include "base/hash.h"
#include "analysis/stat/base/places.h"
#include "analysis/stat/sections.h"
#include "cli/util/paged.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_NONE UINT32_MAX

/* Groups kept at most. If there are more, the half with the least GPU time is left out: a service has
 * millions of requests. */
#define GROUPS_MAX 4096

/* A group with its tables. */
struct view {
    uint64_t key;     /* identity of the group: several resources, lanes or threads may be one group */
    uint32_t what;    /* depends on `by`: a string, lane, thread, resource, trace, process or step;
                         GROUP_NONE */
    uint64_t gpu_ns;  /* sum over all its GPU work */
    uint64_t call_ns; /* sum over all its calls */
    uint64_t counted; /* number of calls and GPU work */
    struct stat stat;
    struct stat_tables *tables;
};

struct stat_views {
    enum stat_by by;
    struct int_map numbers; /* identity → number */
    struct view *list;
    size_t count, capacity;
    struct int_map steps_of;    /* trace → step */
    struct int_map step_places; /* hash of number and kind → step */
    const char **steps;         /* names of the steps */
    size_t step_count, step_capacity;
    /* The groups that were left out, only to recognize them. There may be millions of requests, so one bit is
     * kept for each, in words by trace; others by identity. */
    size_t left_out;
    struct paged left_requests;
    struct int_map left;
    /* Of the current segment, whose spans are sorted by group: */
    uint32_t *of;             /* the group of each span, in the segment's order */
    uint32_t *places;         /* index of each span within its group */
    struct trace_span *spans; /* copies; their indexes refer to spans of the same group */
    uint32_t *last_child;
    size_t of_capacity, place_capacity, span_capacity, child_capacity;
};

const char *stat_by_name(enum stat_by by)
{
    static const char *const names[STAT_BY_COUNT] = {"range",   "stream",  "thread", "device",
                                                     "request", "process", "rank",   "step"};
    return by < STAT_BY_COUNT ? names[by] : "";
}

struct stat_views *stat_views_create(enum stat_by by)
{
    struct stat_views *views = xcalloc(1, sizeof *views);
    views->by = by;
    return views;
}

static const char *keep_and_free(const struct stat *stat, char *text)
{
    const char *kept = stat_keep(stat, text);
    free(text);
    return kept;
}

/* --- the group of a span --- */

/* Returns the span itself, or its first child that ran on a GPU; NULL: none. */
static const struct trace_span *work_of(const struct trace *trace, const struct trace_span *span)
{
    if (trace_class_is_gpu(span->class))
        return span;
    uint32_t child = span->class == CLASS_CALL ? span->first_child : TRACE_NONE;
    while (child != TRACE_NONE && !trace_class_is_gpu(trace->spans[child].class))
        child = trace->spans[child].next_sibling;
    return child == TRACE_NONE ? NULL : &trace->spans[child];
}

static const struct trace_span *parent_of(const struct trace *trace, const struct trace_span *span)
{
    return span->parent == TRACE_NONE ? NULL : &trace->spans[span->parent];
}

/* Returns the resource of the span's GPU; GROUP_NONE: unknown. */
static uint32_t by_device(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *work = work_of(stat->trace, span);
    uint32_t device =
        work ? work->resource
             : places_device(stat->places, places_process(stat->places, span), places_context(stat, span));
    bool is_known = device != TRACE_NONE && stat->trace->resources[device].device;
    return is_known ? device : GROUP_NONE;
}

static uint32_t by_thread(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && trace_class_is_gpu(at->class))
        at = parent_of(stat->trace, at);
    return at && at->thread != TRACE_NONE ? at->thread : GROUP_NONE;
}

/* Returns the name of the range around the span, a string of the trace; GROUP_NONE: none. */
static uint32_t by_range(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && at->class != CLASS_OTHER && at->class != CLASS_SESSION)
        at = parent_of(stat->trace, at);
    return at && at->class == CLASS_OTHER ? at->name : GROUP_NONE;
}

/* Returns the index of the span's trace; GROUP_NONE: it belongs to a session, or to an iteration of a serving
 * engine, which works for many requests. */
static uint32_t by_request(const struct stat *stat, const struct trace_span *span)
{
    for (const struct trace_span *at = span; at; at = parent_of(stat->trace, at)) {
        if (at->class == CLASS_SESSION || (at->class == CLASS_OTHER && at->parent == TRACE_NONE &&
                                           stat_has(stat, at, KEY_ITERATION_NUMBER)))
            return GROUP_NONE;
    }
    return span->trace;
}

/* Learns the step of a span's trace, with its name, such as "48" or "48 (evaluation)". Several traces may
 * belong to one step: each rank has its own if the job has no identity. */
static void learn_step(struct stat_views *views, const struct stat *stat, const struct trace_span *span)
{
    const char *kind = stat_attr(stat, span, KEY_STEP_KIND);
    bool is_usual = !kind || stat_is(kind, "train");
    unsigned long long number = stat_attr_int(stat, span, KEY_STEP_NUMBER, 0);
    const char *name =
        keep_and_free(stat, is_usual ? xasprintf("%llu", number) : xasprintf("%llu (%s)", number, kind));
    uint32_t place = int_map_number(&views->step_places, (uint64_t)(uintptr_t)name);
    if (place == views->step_count)
        *XADD(views->steps, views->step_count, views->step_capacity) = name;
    int_map_set(&views->steps_of, span->trace, place);
}

static uint32_t what_of(struct stat_views *views, const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *work;
    uint32_t process = places_process(stat->places, span);
    switch (views->by) {
    case STAT_BY_RANGE:
        return by_range(stat, span);
    case STAT_BY_STREAM:
        work = work_of(stat->trace, span);
        return work && work->lane != TRACE_NONE ? work->lane : GROUP_NONE;
    case STAT_BY_THREAD:
        return by_thread(stat, span);
    case STAT_BY_DEVICE:
        return by_device(stat, span);
    case STAT_BY_REQUEST:
        return by_request(stat, span);
    case STAT_BY_PROCESS:
        return process;
    case STAT_BY_RANK:
        return stat->places->list[process].rank ? process : GROUP_NONE;
    case STAT_BY_STEP:
        if (stat_has(stat, span, KEY_STEP_NUMBER))
            learn_step(views, stat, span);
        return int_map_get(&views->steps_of, span->trace); /* MAP_NONE is GROUP_NONE */
    case STAT_BY_COUNT:
        break;
    }
    return GROUP_NONE;
}

/* Returns the identity of a group: several resources, lanes and threads of the trace can be one group for
 * people. */
static uint64_t identity(enum stat_by by, const struct stat *stat, uint32_t what)
{
    const struct trace *trace = stat->trace;
    if (what == GROUP_NONE)
        return UINT64_MAX;
    if (by == STAT_BY_STREAM) {
        const struct trace_lane *lane = &trace->lanes[what];
        uint64_t key = int_map_mix((uint64_t)lane->context << 32 | lane->stream);
        return int_map_mix(key ^ trace->resources[lane->resource].device) ^
               stat->places->process_of[lane->resource];
    }
    if (by == STAT_BY_THREAD)
        return (uint64_t)trace->threads[what].id << 32 |
               stat->places->process_of[trace->threads[what].resource];
    if (by == STAT_BY_RANK)
        return hash_text(HASH_START, stat->places->list[what].rank);
    if (by == STAT_BY_DEVICE) {
        const struct trace_resource *device = &trace->resources[what];
        const char *uuid = trace_resource_attr(trace, device, SEMCONV_HW_ID);
        return int_map_mix((uint64_t)device->device << 32 | device->device_name) ^
               hash_text(HASH_START, uuid ? uuid : "");
    }
    return what;
}

/* --- groups that are left out --- */

/* Returns the word with the bit of a request, a trace by its index; NULL: the group is no request, or with
 * `is_new` false, there is none. */
static uint64_t *left_request(struct stat_views *views, uint64_t key, bool is_new)
{
    if (views->by != STAT_BY_REQUEST || key >= GROUP_NONE)
        return NULL;
    return is_new ? paged_at(&views->left_requests, key / 64, sizeof(uint64_t))
                  : paged_find(&views->left_requests, key / 64, sizeof(uint64_t));
}

static bool was_left_out(struct stat_views *views, uint64_t key)
{
    const uint64_t *requests = left_request(views, key, false);
    return (requests && *requests >> key % 64 & 1) || int_map_get(&views->left, key) != MAP_NONE;
}

static void note_left_out(struct stat_views *views, uint64_t key)
{
    uint64_t *requests = left_request(views, key, true);
    if (requests)
        *requests |= UINT64_C(1) << key % 64;
    else
        int_map_set(&views->left, key, 0);
}

/* Returns the number of the span's group, new if needed; GROUP_NONE: the group was left out, or the span is a
 * margin span of no known group. Margin spans are not counted, and start no group. */
static uint32_t group_of(struct stat_views *views, const struct stat *stat, const struct trace_span *span)
{
    enum stat_by by = views->by;
    uint32_t what = what_of(views, stat, span);
    uint64_t key = identity(by, stat, what);
    uint32_t number = int_map_get(&views->numbers, key);
    if (number == MAP_NONE && (span->is_margin || was_left_out(views, key)))
        return GROUP_NONE;
    if (span->is_margin)
        return number;
    if (number == MAP_NONE) {
        number = (uint32_t)views->count;
        struct view *new = XADD(views->list, views->count, views->capacity);
        *new = (struct view){.key = key, .what = what, .tables = stat_tables_create()};
        stat_init_group(&new->stat, stat,
                        by != STAT_BY_PROCESS && by != STAT_BY_DEVICE && by != STAT_BY_RANK);
        new->stat.scope = by == STAT_BY_STEP ? STAT_SCOPE_STEP : STAT_SCOPE_PART;
        int_map_set(&views->numbers, key, number);
    }
    struct view *view = &views->list[number];
    view->counted += span->class == CLASS_CALL || trace_class_is_gpu(span->class);
    if (span->class == CLASS_CALL)
        view->call_ns += stat_duration(span);
    else if (trace_class_is_gpu(span->class))
        view->gpu_ns += stat_duration(span);
    return number;
}

/* --- names --- */

/* Returns " of" and the process's name, if there are several processes; otherwise "". The caller frees it. */
static char *of_process(const struct stat *stat, uint32_t resource)
{
    const char *name = places_name(stat->places, stat->places->process_of[resource]);
    return stat->places->process_count > 1 && *name ? xasprintf(" of %s", name) : xstrdup("");
}

static const char *device_name(const struct stat *stat, uint32_t resource)
{
    const struct trace *trace = stat->trace;
    const struct trace_resource *of = &trace->resources[resource];
    const char *uuid = trace_resource_attr(trace, of, SEMCONV_HW_ID),
               *device = trace_string(trace, of->device);
    bool has_uuid = uuid && *uuid && strcmp(uuid, device) != 0;
    return keep_and_free(stat, xasprintf("%s %s%s%s", device, trace_string(trace, of->device_name),
                                         has_uuid ? " " : "", has_uuid ? uuid : ""));
}

/* Returns the name of a lane, such as "GPU 0, context 1, stream 7". */
static const char *lane_name(const struct stat *stat, uint32_t lane)
{
    const struct trace *trace = stat->trace;
    const struct trace_lane *of = &trace->lanes[lane];
    char *process = of_process(stat, of->resource);
    char *text = xasprintf("GPU %s, context %s, stream %s%s",
                           trace_string(trace, trace->resources[of->resource].device),
                           trace_string(trace, of->context), trace_string(trace, of->stream), process);
    free(process);
    return keep_and_free(stat, text);
}

/* Returns the name of a thread, such as "4243 worker". */
static const char *thread_name(const struct stat *stat, uint32_t thread)
{
    const struct trace *trace = stat->trace;
    const struct trace_thread *of = &trace->threads[thread];
    char *process = of_process(stat, of->resource);
    char *text = xasprintf("%s%s%s%s", trace_string(trace, of->id), of->name ? " " : "",
                           trace_string(trace, of->name), process);
    free(process);
    return keep_and_free(stat, text);
}

/* Returns the group's name; "(no range)" and so on: it has none. Valid until the report is deleted. */
static const char *group_name(const struct stat_views *views, const struct stat *stat, uint32_t what)
{
    const char *name = "";
    if (what == GROUP_NONE)
        ;
    else if (views->by == STAT_BY_DEVICE)
        name = device_name(stat, what);
    else if (views->by == STAT_BY_STREAM)
        name = lane_name(stat, what);
    else if (views->by == STAT_BY_THREAD)
        name = thread_name(stat, what);
    else if (views->by == STAT_BY_PROCESS)
        name = places_name(stat->places, what);
    else if (views->by == STAT_BY_RANK)
        name = stat->places->list[what].rank;
    else if (views->by == STAT_BY_STEP)
        name = views->steps[what];
    else if (views->by == STAT_BY_REQUEST)
        name = trace_is_rest(stat->trace, what) ? "(other requests)"
                                                : stat_keep(stat, trace_id_text(stat->trace, what));
    else
        name = trace_string(stat->trace, what);
    return *name ? name : keep_and_free(stat, xasprintf("(no %s)", stat_by_name(views->by)));
}

/* --- order --- */

struct ordered {
    struct view *view;
    const char *name; /* "": groups that are equal otherwise stay in the order of their first spans */
    uint64_t place;   /* number of a rank or step */
};

static int compare_groups(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    int order = ORDER(!x->view->counted, !y->view->counted);
    order = order ? order : ORDER(x->place, y->place);
    order = order ? order : ORDER(y->view->gpu_ns, x->view->gpu_ns);
    order = order ? order : ORDER(y->view->call_ns, x->view->call_ns);
    order = order ? order : strcmp(x->name, y->name);
    return order ? order : ORDER(x->view, y->view);
}

/* Returns the groups sorted by size, the largest first, or with `by_name` ranks and steps by number. Names
 * are made only for the report, because they are kept until the end. The caller frees the list. */
static struct ordered *sort_groups(const struct stat_views *views, const struct stat *stat, bool by_name)
{
    struct ordered *order = xcalloc(views->count + 1, sizeof *order);
    for (uint32_t i = 0; i < views->count; i++) {
        struct view *view = &views->list[i];
        const char *name = by_name ? group_name(views, stat, view->what) : "";
        bool has_place = by_name && (views->by == STAT_BY_RANK || views->by == STAT_BY_STEP);
        bool is_number = *name >= '0' && *name <= '9'; /* these come first */
        order[i] = (struct ordered){view, name,
                                    !has_place  ? 0
                                    : is_number ? strtoull(name, NULL, 10)
                                                : UINT64_MAX};
    }
    qsort(order, views->count, sizeof *order, compare_groups);
    return order;
}

/* --- a segment --- */

/* Makes room for the segment's spans, and sets the group of each. The segment's own spans come first: margin
 * spans start no groups. */
static void assign(struct stat_views *views, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    size_t room = trace->span_count + 1;
    views->of = xgrow(views->of, &views->of_capacity, room, sizeof *views->of);
    views->places = xgrow(views->places, &views->place_capacity, room, sizeof *views->places);
    views->spans = xgrow(views->spans, &views->span_capacity, room, sizeof *views->spans);
    views->last_child = xgrow(views->last_child, &views->child_capacity, room, sizeof *views->last_child);
    for (int margin = 0; margin <= 1; margin++) {
        for (size_t i = 0; i < trace->span_count; i++) {
            if (trace->spans[i].is_margin == margin)
                views->of[i] = group_of(views, stat, &trace->spans[i]);
        }
    }
}

/* Links a span to its parent again, because some of a span's children may be in other groups. */
static void link_span(struct trace_span *spans, uint32_t *last_child, uint32_t at, uint32_t parent)
{
    spans[at].parent = parent;
    if (parent == TRACE_NONE)
        return;
    if (last_child[parent] == TRACE_NONE)
        spans[parent].first_child = at;
    else
        spans[last_child[parent]].next_sibling = at;
    last_child[parent] = at;
}

/* Copies the spans of each group behind each other: those of group g are at firsts[g] to firsts[g + 1] - 1.
 */
static void copy_spans(struct stat_views *views, const struct trace *trace, uint32_t *firsts)
{
    uint32_t *next = xcalloc(views->count + 1, sizeof *next);
    for (size_t i = 0; i < trace->span_count; i++) {
        if (views->of[i] != GROUP_NONE)
            firsts[views->of[i] + 1]++;
    }
    for (size_t g = 0; g < views->count; g++)
        firsts[g + 1] += firsts[g];
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->of[i];
        if (group == GROUP_NONE)
            continue;
        views->places[i] = next[group]++;
        struct trace_span *copy = &views->spans[firsts[group] + views->places[i]];
        *copy = trace->spans[i];
        copy->first_child = copy->next_sibling = TRACE_NONE;
        views->last_child[firsts[group] + views->places[i]] = TRACE_NONE;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->of[i], parent = trace->spans[i].parent;
        if (group == GROUP_NONE)
            continue;
        bool is_within = parent != TRACE_NONE && views->of[parent] == group;
        link_span(views->spans + firsts[group], views->last_child + firsts[group], views->places[i],
                  is_within ? views->places[parent] : TRACE_NONE);
    }
    free(next);
}

static void leave_out(struct stat_views *views, const struct stat *stat)
{
    struct ordered *order = sort_groups(views, stat, false);
    size_t kept = 0;
    for (size_t i = GROUPS_MAX / 2; i < views->count; i++) {
        struct view *view = order[i].view;
        stat_tables_finish(view->tables, &view->stat, NULL);
        view->tables = NULL;
        stat_deinit_group(&view->stat);
        note_left_out(views, view->key);
        views->left_out += view->counted != 0;
    }
    int_map_clear(&views->numbers);
    for (size_t i = 0; i < views->count; i++) {
        if (!views->list[i].tables)
            continue;
        int_map_set(&views->numbers, views->list[i].key, (uint32_t)kept);
        views->list[kept++] = views->list[i];
    }
    views->count = kept;
    free(order);
}

void stat_views_take(struct stat_views *views, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    assign(views, stat);
    uint32_t *firsts = xcalloc(views->count + 2, sizeof *firsts);
    copy_spans(views, trace, firsts);
    for (size_t i = 0; i < views->count; i++) {
        struct view *view = &views->list[i];
        struct trace segment = *trace;
        segment.spans = views->spans + firsts[i];
        segment.span_count = firsts[i + 1] - firsts[i];
        if (!segment.span_count && view->stat.is_part)
            continue;
        /* A group without spans takes the segment, too: its processes may have ended, so that its tables can
         * free memory. */
        stat_take(&view->stat, &segment);
        view->stat.now_ns = stat->now_ns;
        stat_tables_take(view->tables, &view->stat);
        view->stat.trace = trace;
    }
    free(firsts);
    if (views->count > GROUPS_MAX)
        leave_out(views, stat);
}

/* --- the report --- */

static void append_rows(struct stat_table *to, const struct stat_table *of, const char *group)
{
    for (size_t r = 0; r < of->row_count; r++) {
        struct stat_value *row = stat_table_add(to);
        row[0] = stat_text(group);
        memcpy(row + 1, stat_table_row(of, r), of->column_count * sizeof *row);
    }
    to->left_out += of->left_out;
    stat_table_rounds(to, of->error);
    if (!to->note)
        to->note = of->note;
}

/* Returns the report's table for all groups that corresponds to `of`, new if needed, because a group may lack
 * some tables. */
static struct stat_table *joined(struct stat_report *report, const struct stat_table *of, enum stat_by by)
{
    struct stat_table *known = stat_report_find(report, of->key);
    if (known)
        return known;
    struct stat_table table = stat_table_of(of->key, of->title, of->note, NULL, of->column_count + 1);
    table.own_columns = xcalloc(table.column_count, sizeof *table.own_columns);
    table.own_columns[0] = (struct stat_column){"group", stat_by_name(by), STAT_TEXT};
    memcpy(table.own_columns + 1, of->columns, of->column_count * sizeof *of->columns);
    table.columns = table.own_columns;
    return stat_report_add(report, table);
}

/* Whether --sort orders the groups, because the table has one row for each group. */
static bool orders_groups(const struct stat_table *table, const char *sort)
{
    return sort && !strcmp(table->key, "headline") && stat_table_numbers(table, sort) < table->column_count;
}

static void append(struct stat_report *to, struct stat_report *of, const char *group, enum stat_by by,
                   const char *sort, size_t top, bool is_shown)
{
    for (size_t i = 0; i < of->count; i++) {
        struct stat_table *table = &of->tables[i];
        stat_table_keep(table, top);
        if (!is_shown && !orders_groups(table, sort)) {
            table->left_out += table->row_count;
            table->row_count = 0;
        }
        struct stat_table *all = joined(to, table, by);
        append_rows(all, table, group);
        stat_table_adopt(all, table);
    }
}

void stat_views_finish(struct stat_views *views, const struct stat *stat, size_t top, const char *sort,
                       struct stat_report *report)
{
    struct ordered *order = sort_groups(views, stat, true);
    for (size_t i = 0; i < views->count; i++) {
        struct view *view = order[i].view;
        struct stat_report own = {.count = 0};
        view->stat.trace = stat->trace;
        stat_tables_finish(view->tables, &view->stat, view->counted ? &own : NULL);
        stat_report_sort(&own, sort);
        append(report, &own, order[i].name, views->by, sort, top, top == 0 || i < top);
        stat_report_deinit(&own);
        stat_deinit_group(&view->stat);
    }
    for (size_t i = 0; i < report->count; i++) {
        if (orders_groups(&report->tables[i], sort)) {
            stat_table_order(&report->tables[i], sort);
            stat_table_keep(&report->tables[i], top);
        }
    }
    if (report->count)
        report->tables[0].left_out += views->left_out;
    free(order);
    struct int_map *maps[] = {&views->numbers, &views->steps_of, &views->step_places, &views->left};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        int_map_deinit(maps[i]);
    paged_deinit(&views->left_requests);
    void *arrays[] = {views->steps, views->list,       views->of, views->places,
                      views->spans, views->last_child, views};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}
