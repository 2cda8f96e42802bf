#include "cli/stat/by.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* The spans sorted by group, in the order of the groups in the output. */
struct views {
    struct stat_groups groups;
    uint32_t *order;          /* of the groups */
    struct trace_span *spans; /* copies; their indexes refer to spans of the same group */
};

static const struct stat_group *sorted_groups; /* qsort takes no context; this program has one thread */
static const struct trace *sorted_trace;

static int compare_groups(const void *a, const void *b)
{
    const struct stat_group *x = &sorted_groups[*(const uint32_t *)a],
                            *y = &sorted_groups[*(const uint32_t *)b];
    if (!x->counted != !y->counted)
        return x->counted ? -1 : 1;
    if (x->gpu_ns != y->gpu_ns)
        return x->gpu_ns > y->gpu_ns ? -1 : 1;
    if (x->call_ns != y->call_ns)
        return x->call_ns > y->call_ns ? -1 : 1;
    return strcmp(trace_string(sorted_trace, x->name), trace_string(sorted_trace, y->name));
}

static void sort_groups(struct views *views, const struct trace *trace)
{
    views->order = xcalloc(views->groups.count + 1, sizeof *views->order);
    for (uint32_t i = 0; i < views->groups.count; i++)
        views->order[i] = i;
    sorted_groups = views->groups.list;
    sorted_trace = trace;
    if (views->groups.count > 1)
        qsort(views->order, views->groups.count, sizeof *views->order, compare_groups);
}

/* Children are linked again, because some of a span's children may be in other groups. */
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

static void copy_spans(struct views *views, const struct trace *trace)
{
    size_t group_count = views->groups.count;
    uint32_t *begins = xcalloc(group_count + 1, sizeof *begins);       /* of each group, by its number */
    uint32_t *places = xcalloc(trace->span_count + 1, sizeof *places); /* within the group */
    uint32_t *next = xcalloc(group_count + 1, sizeof *next);
    uint32_t *last_child = xcalloc(trace->span_count + 1, sizeof *last_child);
    views->spans = xcalloc(trace->span_count + 1, sizeof *views->spans);
    for (uint32_t i = 0, begin = 0; i < group_count; i++) {
        begins[views->order[i]] = begin;
        begin += views->groups.list[views->order[i]].spans;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->groups.of[i];
        places[i] = next[group]++;
        struct trace_span *copy = &views->spans[begins[group] + places[i]];
        *copy = trace->spans[i];
        copy->first_child = copy->next_sibling = TRACE_NONE;
        last_child[begins[group] + places[i]] = TRACE_NONE;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t group = views->groups.of[i], parent = trace->spans[i].parent;
        bool is_within = parent != TRACE_NONE && views->groups.of[parent] == group;
        link_span(views->spans + begins[group], last_child + begins[group], places[i],
                  is_within ? places[parent] : TRACE_NONE);
    }
    free(begins);
    free(places);
    free(next);
    free(last_child);
}

static struct trace view_of(const struct trace *trace, struct trace_span *spans, size_t count)
{
    struct trace view = *trace;
    view.spans = spans;
    view.span_count = count;
    view.start_ns = count ? spans[0].start_ns : 0;
    view.end_ns = view.start_ns;
    for (size_t i = 0; i < count; i++)
        view.end_ns = spans[i].end_ns > view.end_ns ? spans[i].end_ns : view.end_ns;
    return view;
}

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
    if (!to->note)
        to->note = of->note;
}

static void append(struct stat_report *to, struct stat_report *of, const char *group, enum stat_by by,
                   size_t top, bool is_shown)
{
    if (to->count == 0) {
        for (size_t i = 0; i < of->count; i++)
            stat_report_add(to, with_group(&of->tables[i], by));
    }
    for (size_t i = 0; i < of->count; i++) {
        struct stat_table *table = &of->tables[i];
        stat_table_keep(table, top);
        if (!is_shown) {
            table->left_out += table->row_count;
            table->row_count = 0;
        }
        append_rows(&to->tables[i], table, group);
        stat_table_adopt(&to->tables[i], table);
    }
}

void stat_by_compute(struct stat *stat, struct trace *trace, enum stat_by by, stat_compute_fn *compute,
                     size_t top, struct stat_report *report)
{
    struct views views = {0};
    stat->is_part = by != STAT_BY_PROCESS && by != STAT_BY_DEVICE;
    stat_groups_init(&views.groups, trace, by);
    sort_groups(&views, trace);
    copy_spans(&views, trace);
    struct trace_span *spans = views.spans;
    for (size_t i = 0; i < views.groups.count; i++) {
        const struct stat_group *group = &views.groups.list[views.order[i]];
        if (group->counted == 0) /* and so are all that follow */
            break;
        struct trace view = view_of(trace, spans, group->spans);
        struct stat_report own = {.count = 0};
        stat->trace = &view;
        compute(stat, &own);
        append(report, &own, trace_string(trace, group->name), by, top, top == 0 || i < top);
        stat_report_deinit(&own);
        spans += group->spans;
    }
    stat->trace = trace;
    stat_groups_deinit(&views.groups);
    free(views.order);
    free(views.spans);
}
