#include "analysis/show/outline.h"

#include "cli/util/xalloc.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/* Adds a span; `parent` is the index of its parent + 1, or 0. IDs are indices + 1. */
static struct trace_span *add(struct trace *trace, const char *name, size_t parent, uint64_t start,
                              uint64_t end)
{
    uint32_t string = trace_intern(trace, name);
    struct trace_span *span = trace_add_span(trace);
    span->id = trace->span_count;
    span->parent_id = parent;
    span->name = string;
    span->start_ns = start;
    span->end_ns = end;
    return span;
}

static void begin(struct trace *trace)
{
    trace_init(trace);
    struct trace_resource resource = {0};
    trace_add_resource(trace, &resource);
}

/* "name*count" of each row, by depth of dots. */
static void check(const struct trace *trace, size_t rows_max, const char *expected)
{
    struct outline outline;
    char text[4096] = "";
    size_t used = 0;
    outline_build(&outline, trace, rows_max);
    for (size_t i = 0; i < outline.row_count; i++) {
        const struct outline_group *group = outline.rows[i].group;
        const char *name = group->kind == OUTLINE_MORE ? "more"
                           : group->kind == OUTLINE_THREAD
                               ? "thread"
                               : trace_string(trace, trace->spans[group->members[0]].name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s%s*%zu", i ? " " : "",
                                 (int)outline.rows[i].depth, "......", name, group->count);
    }
    outline_deinit(&outline);
    assert_string_equal(text, expected);
}

static void test_few_spans_are_a_row_each(void **state)
{
    struct trace trace;
    begin(&trace);
    add(&trace, "root", 0, 0, 100);
    add(&trace, "a", 1, 10, 20);
    add(&trace, "a", 1, 30, 40);
    add(&trace, "b", 2, 12, 14);
    trace_finish(&trace);
    check(&trace, 10, "root*1 .a*1 ..b*1 .a*1");
    check(&trace, 0, "root*1 .a*1 ..b*1 .a*1");
    trace_deinit(&trace);
}

static void test_runs_are_merged_before_all_equals_are(void **state)
{
    struct trace trace;
    begin(&trace);
    add(&trace, "root", 0, 0, 100);
    add(&trace, "a", 1, 10, 11);
    add(&trace, "a", 1, 12, 13);
    add(&trace, "b", 1, 14, 15);
    add(&trace, "a", 1, 16, 17);
    add(&trace, "k", 2, 10, 11);
    add(&trace, "l", 3, 12, 13);
    add(&trace, "k", 3, 13, 14);
    trace_finish(&trace);
    check(&trace, 8, "root*1 .a*1 ..k*1 .a*1 ..l*1 ..k*1 .b*1 .a*1");
    check(&trace, 7, "root*1 .a*2 ..k*2 ..l*1 .b*1 .a*1");
    check(&trace, 5, "root*1 .a*3 ..k*2 ..l*1 .b*1");
    trace_deinit(&trace);
}

static void test_failed_spans_stand_apart(void **state)
{
    struct trace trace;
    begin(&trace);
    add(&trace, "root", 0, 0, 100);
    for (uint64_t i = 0; i < 10; i++)
        add(&trace, "a", 1, 10 + i, 11 + i)->error = i == 5 ? trace_intern(&trace, "bad") : 0;
    trace_finish(&trace);
    check(&trace, 3, "root*1 .a*9 .a*1");
    trace_deinit(&trace);
}

static void test_several_threads_get_a_row_each(void **state)
{
    struct trace trace;
    begin(&trace);
    uint32_t threads[2] = {trace_add_thread(&trace, 0, trace_intern(&trace, "1")),
                           trace_add_thread(&trace, 0, trace_intern(&trace, "2"))};
    add(&trace, "root", 0, 0, 100);
    for (uint64_t i = 0; i < 10; i++)
        add(&trace, "a", 1, 10 + i, 11 + i)->thread = threads[i % 2];
    add(&trace, "free", 1, 90, 91);
    trace_finish(&trace);
    check(&trace, 6, "root*1 .thread*5 ..a*5 .thread*5 ..a*5 .free*1");
    trace_deinit(&trace);
}

static void test_what_took_least_is_summed_up(void **state)
{
    struct trace trace;
    char name[16];
    begin(&trace);
    add(&trace, "root", 0, 0, 100000);
    for (uint64_t i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "n%u", (unsigned)i);
        add(&trace, name, 1, i * 100, i * 100 + 50 - i);
    }
    trace_finish(&trace);
    trace.spans[40].error = trace_intern(&trace, "bad");
    check(&trace, 5, "root*1 .n0*1 .n1*1 .n2*1 .n39*1 .more*46");
    trace_deinit(&trace);
}

static void test_families_that_are_all_too_light_have_no_row(void **state)
{
    struct trace trace;
    begin(&trace);
    add(&trace, "root", 0, 0, 100000);
    add(&trace, "heavy", 1, 0, 50000);
    add(&trace, "x", 2, 0, 1);
    add(&trace, "y", 2, 1, 2);
    trace_finish(&trace);
    check(&trace, 2, "root*1 .heavy*1");
    trace_deinit(&trace);
}

static void test_very_deep_trees_end_at_a_depth(void **state)
{
    struct trace trace;
    struct outline outline;
    begin(&trace);
    for (size_t i = 0; i < 5000; i++)
        add(&trace, "deep", i, i, 100000 - i);
    trace_finish(&trace);
    outline_build(&outline, &trace, 0);
    assert_int_equal(outline.row_count, OUTLINE_DEPTH_MAX);
    outline_deinit(&outline);
    trace_deinit(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_spans_are_a_row_each),
        cmocka_unit_test(test_runs_are_merged_before_all_equals_are),
        cmocka_unit_test(test_failed_spans_stand_apart),
        cmocka_unit_test(test_several_threads_get_a_row_each),
        cmocka_unit_test(test_what_took_least_is_summed_up),
        cmocka_unit_test(test_families_that_are_all_too_light_have_no_row),
        cmocka_unit_test(test_very_deep_trees_end_at_a_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
