#include "analysis/stat/by.h"

#include "analysis/stat/sections.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct view {
    struct stat stat;
    struct stat_tables *tables;
};

struct stat_views {
    struct stat_groups groups;
    struct view *list; /* by the groups' numbers */
    size_t count, capacity;
    size_t left_out; /* groups that were left out */
    /* Of the current segment, whose spans are sorted by group: */
    uint32_t *of;             /* the group of each span, in the segment's order */
    uint32_t *places;         /* index of each span within its group */
    struct trace_span *spans; /* copies; their indexes refer to spans of the same group */
    uint32_t *last_child;
    size_t of_capacity, place_capacity, span_capacity, child_capacity;
};

struct stat_views *stat_views_create(enum stat_by by)
{
    struct stat_views *views = xcalloc(1, sizeof *views);
    views->groups.by = by;
    return views;
}

/* --- order --- */

struct ordered {
    const struct stat_group *group;
    const char *name; /* "": groups that are equal otherwise stay in the order of their first spans */
    uint32_t number;
    uint64_t place; /* number of a rank or step */
};

static int compare_groups(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (!x->group->counted != !y->group->counted)
        return x->group->counted ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->group->gpu_ns != y->group->gpu_ns)
        return x->group->gpu_ns > y->group->gpu_ns ? -1 : 1;
    if (x->group->call_ns != y->group->call_ns)
        return x->group->call_ns > y->group->call_ns ? -1 : 1;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : x->number < y->number ? -1 : x->number > y->number;
}

/* Returns a group's place in the order: numbers come first; UINT64_MAX: its name is a word. */
static uint64_t place_of(const char *name)
{
    return *name >= '0' && *name <= '9' ? strtoull(name, NULL, 10) : UINT64_MAX;
}

/* Returns the groups sorted by size, the largest first, or with `by_name` ranks and steps by number. Names
 * are made only for the report, because they are kept until the end. The caller frees the list. */
static struct ordered *sort_groups(const struct stat_views *views, const struct stat *stat, bool by_name)
{
    struct ordered *order = xcalloc(views->count + 1, sizeof *order);
    for (uint32_t i = 0; i < views->count; i++) {
        const struct stat_group *group = &views->groups.list[i];
        order[i] =
            (struct ordered){group, by_name ? stat_groups_name(&views->groups, stat, group) : "", i, 0};
        if (by_name && (views->groups.by == STAT_BY_RANK || views->groups.by == STAT_BY_STEP))
            order[i].place = place_of(order[i].name);
    }
    if (views->count > 1)
        qsort(order, views->count, sizeof *order, compare_groups);
    return order;
}

/* --- a segment --- */

static void make_room(struct stat_views *views, size_t spans)
{
    views->of = xgrow(views->of, &views->of_capacity, spans + 1, sizeof *views->of);
    views->places = xgrow(views->places, &views->place_capacity, spans + 1, sizeof *views->places);
    views->spans = xgrow(views->spans, &views->span_capacity, spans + 1, sizeof *views->spans);
    views->last_child =
        xgrow(views->last_child, &views->child_capacity, spans + 1, sizeof *views->last_child);
}

static void add_views(struct stat_views *views, const struct stat *stat)
{
    enum stat_by by = views->groups.by;
    views->list = xgrow(views->list, &views->capacity, views->groups.count + 1, sizeof *views->list);
    for (; views->count < views->groups.count; views->count++) {
        struct view *view = &views->list[views->count];
        stat_init_group(&view->stat, stat,
                        by != STAT_BY_PROCESS && by != STAT_BY_DEVICE && by != STAT_BY_RANK);
        view->stat.scope = by == STAT_BY_STEP ? STAT_SCOPE_STEP : STAT_SCOPE_PART;
        view->tables = stat_tables_create();
    }
}

/* Sets the group of each span. The segment's own spans come first: margin spans start no groups. */
static void assign(struct stat_views *views, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    for (int margin = 0; margin <= 1; margin++) {
        for (size_t i = 0; i < trace->span_count; i++) {
            if (trace->spans[i].is_margin == margin)
                views->of[i] = stat_groups_take(&views->groups, stat, &trace->spans[i]);
        }
    }
    add_views(views, stat);
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
        if (views->of[i] != STAT_GROUP_NONE)
            firsts[views->of[i] + 1]++;
    }
    for (size_t g = 0; g < views->count; g++)
        firsts[g + 1] += firsts[g];
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->of[i];
        if (group == STAT_GROUP_NONE)
            continue;
        views->places[i] = next[group]++;
        struct trace_span *copy = &views->spans[firsts[group] + views->places[i]];
        *copy = trace->spans[i];
        copy->first_child = copy->next_sibling = TRACE_NONE;
        views->last_child[firsts[group] + views->places[i]] = TRACE_NONE;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->of[i], parent = trace->spans[i].parent;
        if (group == STAT_GROUP_NONE)
            continue;
        bool is_within = parent != TRACE_NONE && views->of[parent] == group;
        link_span(views->spans + firsts[group], views->last_child + firsts[group], views->places[i],
                  is_within ? views->places[parent] : TRACE_NONE);
    }
    free(next);
}

/* Passes a segment to a group, also one without spans in it: its processes may have ended, so that its tables
 * can free memory. */
static void take_view(struct view *view, const struct stat *stat, struct trace_span *spans, size_t count)
{
    struct trace segment = *stat->trace;
    segment.spans = spans;
    segment.span_count = count;
    stat_take(&view->stat, &segment);
    view->stat.now_ns = stat->now_ns;
    stat_tables_take(view->tables, &view->stat);
    view->stat.trace = stat->trace;
}

static void leave_out(struct stat_views *views, const struct stat *stat)
{
    struct ordered *order = sort_groups(views, stat, false);
    bool *is_left_out = xcalloc(views->count, sizeof *is_left_out);
    size_t kept = 0;
    for (size_t i = STAT_GROUPS_MAX / 2; i < views->count; i++) {
        struct view *view = &views->list[order[i].number];
        stat_tables_finish(view->tables, &view->stat, NULL);
        stat_deinit_group(&view->stat);
        is_left_out[order[i].number] = true;
        views->left_out += order[i].group->counted != 0;
    }
    for (size_t i = 0; i < views->count; i++) {
        if (!is_left_out[i])
            views->list[kept++] = views->list[i];
    }
    views->count = kept;
    stat_groups_leave_out(&views->groups, is_left_out);
    free(is_left_out);
    free(order);
}

void stat_views_take(struct stat_views *views, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    make_room(views, trace->span_count);
    assign(views, stat);
    uint32_t *firsts = xcalloc(views->count + 2, sizeof *firsts);
    copy_spans(views, trace, firsts);
    for (size_t i = 0; i < views->count; i++) {
        struct view *view = &views->list[i];
        if (firsts[i + 1] > firsts[i] || !view->stat.is_part)
            take_view(view, stat, views->spans + firsts[i], firsts[i + 1] - firsts[i]);
    }
    free(firsts);
    if (views->count > STAT_GROUPS_MAX)
        leave_out(views, stat);
}

/* --- the report --- */

static struct stat_table with_group(const struct stat_table *of, enum stat_by by)
{
    struct stat_table table = stat_table_of(of->key, of->title, of->note, NULL, of->column_count + 1);
    table.own_columns = xcalloc(table.column_count, sizeof *table.own_columns);
    table.own_columns[0] = (struct stat_column){"group", stat_by_name(by), STAT_TEXT};
    memcpy(table.own_columns + 1, of->columns, of->column_count * sizeof *of->columns);
    table.columns = table.own_columns;
    return table;
}

static void append_rows(struct stat_table *to, const struct stat_table *of, const char *group)
{
    for (size_t r = 0; r < of->row_count; r++) {
        struct stat_value *row = stat_table_add(to);
        row[0] = stat_text(group);
        memcpy(row + 1, of->values + r * of->column_count, of->column_count * sizeof *row);
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
    for (size_t i = 0; i < report->count; i++)
        if (!strcmp(report->tables[i].key, of->key))
            return &report->tables[i];
    return stat_report_add(report, with_group(of, by));
}

static void order_rows(struct stat_report *report, const char *sort)
{
    for (size_t i = 0; sort && i < report->count; i++)
        stat_table_order(&report->tables[i], sort);
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
        struct view *view = &views->list[order[i].number];
        struct stat_report own = {.count = 0};
        view->stat.trace = stat->trace;
        stat_tables_finish(view->tables, &view->stat, order[i].group->counted ? &own : NULL);
        order_rows(&own, sort);
        if (order[i].group->counted)
            append(report, &own, order[i].name, views->groups.by, sort, top, top == 0 || i < top);
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
    stat_groups_deinit(&views->groups);
    free(views->list);
    free(views->of);
    free(views->places);
    free(views->spans);
    free(views->last_child);
    free(views);
}
