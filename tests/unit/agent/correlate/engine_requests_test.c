/* Tests the table of a serving engine's requests, and which iterations a request links to. */
#include "agent/correlate/trace/engine_requests.h"

#include "support/test.h"

#include <string.h>

static struct engine_requests *requests;

static int setup(void **state)
{
    return engine_requests_create(&requests) != STATUS_OK;
}

static int teardown(void **state)
{
    engine_requests_destroy(requests);
    return 0;
}

static struct request *add(uint64_t number)
{
    return engine_requests_add(requests, number, (const char[REQUEST_ID_BYTES]){"r"});
}

static void test_requests_are_found_until_they_are_removed(void **state)
{
    for (uint64_t number = 1; number <= 2000; number++)
        assert_non_null(add(number));
    for (uint64_t number = 1; number <= 2000; number += 2)
        engine_requests_remove(requests, engine_requests_find(requests, number));
    for (uint64_t number = 1; number <= 2000; number++)
        assert_int_equal(engine_requests_find(requests, number) != NULL, number % 2 == 0);
    assert_null(engine_requests_find(requests, 0));
}

static void test_the_table_is_bounded(void **state)
{
    for (uint64_t number = 1; number <= ENGINE_REQUESTS_MAX; number++)
        assert_non_null(add(number));
    assert_null(add(ENGINE_REQUESTS_MAX + 1));
    engine_requests_remove(requests, engine_requests_find(requests, 17));
    assert_non_null(add(ENGINE_REQUESTS_MAX + 1));
}

static void test_traces_are_bounded_and_found_at_the_end(void **state)
{
    unsigned found = 0;
    for (uint64_t number = 1; number <= ENGINE_REQUESTS_TRACED_MAX; number++)
        assert_non_null(engine_requests_trace(requests, add(number)));
    assert_null(engine_requests_trace(requests, add(9999)));
    for (struct request *any; (any = engine_requests_any(requests)) != NULL; found++)
        engine_requests_remove(requests, any);
    assert_int_equal(found, ENGINE_REQUESTS_TRACED_MAX);
    assert_non_null(engine_requests_find(requests, 9999));
}

static bool has(const int64_t *links, uint32_t count, int64_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (links[i] == number)
            return true;
    return false;
}

static uint32_t note(struct request_trace *trace, int64_t first, int64_t last, uint16_t phase)
{
    for (int64_t number = first; number <= last; number++) {
        bool is_slow = number % 250 == 0;
        struct iteration_link link = {.number = number, .duration_ns = is_slow ? 1000000 : 1000};
        request_trace_note(trace, &link, phase);
    }
    return trace->recorded;
}

static void test_few_iterations_are_all_linked(void **state)
{
    struct request_trace trace = {0};
    int64_t links[REQUEST_LINKS_MAX];
    assert_int_equal(request_trace_links(&trace, links), 0);
    note(&trace, 1, 2, REQUEST_PREFILL);
    note(&trace, 3, 30, REQUEST_DECODE);
    assert_int_equal(request_trace_links(&trace, links), 30);
    for (int64_t i = 0; i < 30; i++)
        assert_int_equal(links[i], i + 1);
}

/* 2,000 tokens: at most 64 links, to the chunks of the prompt, the first and the last token, and the slowest.
 */
static void test_of_many_iterations_the_telling_ones_are_linked(void **state)
{
    struct request_trace trace = {0};
    int64_t links[REQUEST_LINKS_MAX];
    note(&trace, 1, 20, REQUEST_PREFILL);
    note(&trace, 21, 2020, REQUEST_DECODE);
    uint32_t count = request_trace_links(&trace, links);
    assert_in_range(count, 40, REQUEST_LINKS_MAX);
    for (int64_t number = 1; number <= REQUEST_LINKS_PREFILL; number++)
        assert_true(has(links, count, number));
    assert_true(has(links, count, 21) && has(links, count, 2020));
    for (int64_t i = 0; i < REQUEST_LINKS_SLOWEST; i++) /* a viewer shows the slowest ones first */
        assert_int_equal(links[i], 250 * (i + 1));
    int64_t gap = 0;
    for (uint32_t i = REQUEST_LINKS_SLOWEST + 1; i < count; i++) {
        assert_true(links[i] > links[i - 1]);
        gap = links[i] - links[i - 1] > gap ? links[i] - links[i - 1] : gap;
    }
    assert_in_range(gap, 1, 128); /* the rest evenly */
}

/* They come late, so that none of them is the last iteration. */
static void test_the_slowest_summaries_are_linked(void **state)
{
    struct request_trace trace = {0};
    int64_t links[REQUEST_LINKS_MAX];
    note(&trace, 1, 200, REQUEST_DECODE);
    for (int64_t i = 0; i < 18; i++)
        request_trace_note_summary(&trace,
                                   &(struct iteration_link){.number = -i, .duration_ns = 10 + (uint64_t)i});
    uint32_t count = request_trace_links(&trace, links);
    for (int64_t i = 0; i < 18; i++)
        assert_int_equal(has(links, count, -i), i > 1);  /* 16 of them, though those recorded are longer */
    assert_int_equal(links[REQUEST_LINKS_SLOWEST], -17); /* the longest first */
    assert_int_equal(links[count - 1], 200);
    assert_int_equal(trace.recorded, 200);
    note(&trace, 201, 216, REQUEST_PREFILL);
    note(&trace, 217, 240, REQUEST_DECODE);
    assert_in_range(request_trace_links(&trace, links), 50, REQUEST_LINKS_MAX);
    assert_int_equal(trace.summarized, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_are_found_until_they_are_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_table_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_traces_are_bounded_and_found_at_the_end, setup, teardown),
        cmocka_unit_test(test_few_iterations_are_all_linked),
        cmocka_unit_test(test_of_many_iterations_the_telling_ones_are_linked),
        cmocka_unit_test(test_the_slowest_summaries_are_linked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
