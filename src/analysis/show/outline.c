#include "analysis/show/outline.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum merging { MERGE_NONE, MERGE_RUNS, MERGE_ALL };

struct builder {
    const struct trace *trace;
    enum merging merging;
    size_t rows;
};

static void free_group(struct outline_group *group)
{
    for (size_t i = 0; i < group->child_count; i++)
        free_group(&group->children[i]);
    free(group->children);
    free(group->members);
}

void outline_deinit(struct outline *outline)
{
    free_group(&outline->root);
    free(outline->rows);
    *outline = (struct outline){0};
}

/* Equal spans have equal keys. Names and errors are numbers below 2^30 in any trace that fits in memory with
 * its spans; threads have the bit above the class to themselves. */
static uint64_t key_of(const struct trace_span *span, enum outline_kind kind)
{
    if (kind == OUTLINE_THREAD)
        return (uint64_t)span->thread << 4 | 1u << 3;
    return (uint64_t)span->name << 34 | (uint64_t)span->error << 4 | span->class;
}

static_assert(CLASS_COUNT <= 1 << 3, "a class and the mark of a thread fit into four bits");

static struct outline_group *add_child(struct outline_group *parent, enum outline_kind kind)
{
    struct outline_group *child = XADD(parent->children, parent->child_count, parent->child_capacity);
    *child = (struct outline_group){.kind = kind};
    return child;
}

/* The children of all members, in order of time. */
static uint32_t *gather_children(const struct trace *trace, const struct outline_group *group, size_t *count)
{
    size_t capacity = 0;
    uint32_t *found = NULL;
    *count = 0;
    for (size_t i = 0; i < group->count; i++) {
        uint32_t child = trace->spans[group->members[i]].first_child;
        for (; child != TRACE_NONE; child = trace->spans[child].next_sibling)
            *XADD(found, *count, capacity) = child;
    }
    return found;
}

static int compare_indices(const void *a, const void *b)
{
    return ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Merges spans with equal keys into one child each (MERGE_RUNS: only while they are adjacent). */
static void distribute(const struct builder *builder, struct outline_group *parent, const uint32_t *spans,
                       size_t count, enum outline_kind kind, enum merging merging)
{
    struct int_map groups = {0};
    uint64_t last_key = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trace_span *span = &builder->trace->spans[spans[i]];
        enum outline_kind own = kind == OUTLINE_THREAD && span->thread == TRACE_NONE ? OUTLINE_SPANS : kind;
        uint64_t key = key_of(span, own);
        uint32_t index = merging == MERGE_ALL ? int_map_get(&groups, key) : MAP_NONE;
        if (merging == MERGE_RUNS && i > 0 && key == last_key)
            index = (uint32_t)parent->child_count - 1;
        if (index == MAP_NONE) {
            add_child(parent, own);
            index = (uint32_t)parent->child_count - 1;
            if (merging == MERGE_ALL)
                int_map_set(&groups, key, index);
        }
        struct outline_group *group = &parent->children[index];
        *XADD(group->members, group->count, group->capacity) = spans[i];
        last_key = key;
    }
    int_map_deinit(&groups);
}

static bool has_several_threads(const struct trace *trace, const uint32_t *spans, size_t count)
{
    uint32_t first = TRACE_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = trace->spans[spans[i]].thread;
        if (thread == TRACE_NONE)
            continue;
        if (first != TRACE_NONE && thread != first)
            return true;
        first = thread;
    }
    return false;
}

static void build_children(struct builder *builder, struct outline_group *group, unsigned depth);

static void weigh(const struct trace *trace, struct outline_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct trace_span *span = &trace->spans[group->members[i]];
        group->total_ns += span->end_ns - span->start_ns;
        group->has_error |= group->kind == OUTLINE_SPANS && span->error != 0;
    }
    group->weight_ns = group->total_ns;
    for (size_t i = 0; i < group->child_count; i++) {
        if (group->children[i].weight_ns > group->weight_ns)
            group->weight_ns = group->children[i].weight_ns;
        group->has_error |= group->children[i].has_error;
    }
}

static void build_from(struct builder *builder, struct outline_group *group, const uint32_t *spans,
                       size_t count, unsigned depth)
{
    enum merging merging = builder->merging;
    bool is_one_family = group->count <= 1 || group->kind == OUTLINE_THREAD;
    if (merging == MERGE_RUNS && !is_one_family)
        merging = MERGE_ALL; /* the children of several spans: their order across parents has no meaning */
    bool by_thread = depth == 1 && group->kind == OUTLINE_SPANS && merging != MERGE_NONE &&
                     has_several_threads(builder->trace, spans, count);
    distribute(builder, group, spans, count, by_thread ? OUTLINE_THREAD : OUTLINE_SPANS,
               by_thread ? MERGE_ALL : merging);
    builder->rows += group->child_count;
    for (size_t i = 0; i < group->child_count; i++) {
        build_children(builder, &group->children[i], depth + 1);
        weigh(builder->trace, &group->children[i]);
    }
}

/* `depth` is the depth of the children. */
static void build_children(struct builder *builder, struct outline_group *group, unsigned depth)
{
    if (depth >= OUTLINE_DEPTH_MAX)
        return;
    if (group->kind == OUTLINE_THREAD) {
        build_from(builder, group, group->members, group->count, depth);
        return;
    }
    size_t count;
    uint32_t *children = gather_children(builder->trace, group, &count);
    if (group->count > 1)
        sort_array(children, count, sizeof *children, compare_indices);
    if (count)
        build_from(builder, group, children, count, depth);
    free(children);
}

static size_t build_all(struct outline_group *root, const struct trace *trace, enum merging merging)
{
    struct builder builder = {.trace = trace, .merging = merging};
    size_t count = 0;
    uint32_t *roots = xcalloc(trace->span_count, sizeof *roots);
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace->spans[i].parent == TRACE_NONE)
            roots[count++] = (uint32_t)i;
    }
    *root = (struct outline_group){.kind = OUTLINE_SPANS};
    build_from(&builder, root, roots, count, 0);
    free(roots);
    return builder.rows;
}

static void collect_weights(const struct outline_group *group, uint64_t *weights, size_t *count)
{
    for (size_t i = 0; i < group->child_count; i++) {
        weights[(*count)++] = group->children[i].has_error ? UINT64_MAX : group->children[i].weight_ns;
        collect_weights(&group->children[i], weights, count);
    }
}

static int compare_falling(const void *a, const void *b)
{
    return ORDER(*(const uint64_t *)b, *(const uint64_t *)a);
}

/* A parent weighs at least as much as its children, so the selection is a tree. */
static uint64_t least_weight(const struct outline_group *root, size_t rows, size_t rows_max)
{
    uint64_t *weights = xcalloc(rows, sizeof *weights);
    size_t count = 0;
    collect_weights(root, weights, &count);
    qsort(weights, count, sizeof *weights, compare_falling);
    uint64_t least = weights[rows_max - 1];
    if (least == UINT64_MAX) /* a limit even for failures, so that they stay readable */
        least = 0;
    free(weights);
    return least;
}

static void merge_into_more(struct outline_group *more, struct outline_group *group)
{
    more->members = xgrow(more->members, &more->capacity, more->count + group->count, sizeof *more->members);
    memcpy(more->members + more->count, group->members, group->count * sizeof *group->members);
    more->count += group->count;
    more->total_ns += group->total_ns;
    more->hidden++;
    free_group(group);
}

/* Replaces the children that weigh less with one line that stands for them. */
static void prune(struct outline_group *group, uint64_t least_ns, size_t siblings_max)
{
    struct outline_group more = {.kind = OUTLINE_MORE};
    size_t kept = 0, light = 0;
    for (size_t i = 0; i < group->child_count; i++)
        light += !group->children[i].has_error && group->children[i].weight_ns < least_ns;
    for (size_t i = 0; i < group->child_count; i++) {
        struct outline_group *child = &group->children[i];
        bool is_light = light > 1 && !child->has_error && child->weight_ns < least_ns;
        if (is_light || kept >= siblings_max) {
            merge_into_more(&more, child);
            continue;
        }
        prune(child, least_ns, siblings_max);
        group->children[kept++] = *child;
    }
    group->child_count = kept;
    if (kept == 0) { /* the parent's own line is sufficient */
        free_group(&more);
    } else if (more.hidden) {
        qsort(more.members, more.count, sizeof *more.members, compare_indices);
        *add_child(group, OUTLINE_MORE) = more;
    }
}

static void add_rows(struct outline *outline, const struct outline_group *group, uint32_t depth,
                     uint64_t guides)
{
    for (size_t i = 0; i < group->child_count; i++) {
        bool is_last = i + 1 == group->child_count;
        uint64_t own = is_last ? guides : guides | 1ull << depth;
        *XADD(outline->rows, outline->row_count, outline->row_capacity) =
            (struct outline_row){&group->children[i], depth, own};
        add_rows(outline, &group->children[i], depth + 1, own);
    }
}

void outline_build(struct outline *outline, const struct trace *trace, size_t rows_max)
{
    *outline = (struct outline){0};
    size_t rows = 0;
    for (int merging = MERGE_NONE; merging <= MERGE_ALL; merging++) {
        free_group(&outline->root);
        if (merging == MERGE_NONE && rows_max && trace->span_count > rows_max)
            outline->root = (struct outline_group){0};
        else
            rows = build_all(&outline->root, trace, (enum merging)merging);
        if (rows && (rows_max == 0 || rows <= rows_max))
            break;
    }
    if (rows_max && rows > rows_max)
        prune(&outline->root, least_weight(&outline->root, rows, rows_max), rows_max);
    add_rows(outline, &outline->root, 0, 0);
}
