#include "support/correlate_harness.h"
#include "agent/correlate/thread_events.h"

static void test_ranges_nest(void **state)
{
    begin();
    attach(5);
    push_range(100, 900, "outer");
    push_range(200, 950, "inner");
    launch(1, 1000);
    end_range(200, 1200);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    end_range(100, 1500);
    assert_int_equal(span_count, 2); /* both ranges wait for their kernel */
    kernel("work", 1, 2000, 2100);
    tick_after(20);
    expect_below(only("outer"), 5, SPAN_OF(5));
    expect_below(only("inner"), 5, 100);
    expect_below(only("cudaLaunchKernel"), 5, 200);
    expect_below(only("cudaMalloc"), 5, 100);
    expect_child(only("work"), only("cudaLaunchKernel"));
    assert_int_equal(only("outer")->span.start_ns, BASE_NS + 900);
    assert_int_equal(only("outer")->span.end_ns, BASE_NS + 1500);
    expect_text(only("outer"), "cuda.range.kind", "range");
    assert_int_equal(attr_int(only("outer"), "cuspan.thread.id"), 42);
}

static void test_a_range_counts_while_its_context_is_there(void **state)
{
    begin();
    attach(5);
    push_range(100, 900, "of five");
    attach(6);
    launch(1, 1000);
    expect_below(only("cudaLaunchKernel"), 6, SPAN_OF(6));
    push_range(200, 1100, "of six");
    attach(5);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    expect_below(only("cudaMalloc"), 5, 100); /* the inner range is from another context */
}

static void test_ranges_without_a_context_are_the_sessions(void **state)
{
    begin();
    push_range(100, 900, "range");
    launch(1, 1000);
    end_range(100, 1200);
    correlate_finish(correlate);
    expect_child(only("range"), only("program"));
    expect_child(only("cudaLaunchKernel"), only("range"));
    assert_int_equal(attr_int(only("program"), "cuda.session.spans"), 2);
    assert_int_equal(only("program")->span.start_ns, BASE_NS + 900);
}

static void test_ranges_may_end_in_any_order_and_place(void **state)
{
    begin();
    attach(5);
    push_range(100, 900, "outer");
    push_range(200, 950, "inner");
    end_range(100, 1000);
    launch(1, 1100);
    expect_below(only("cudaLaunchKernel"), 5, 200);
    say(&other_thread, RECORD_RANGE_END, 200, 1200, "", 0, 0);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    expect_below(only("cudaMalloc"), 5, SPAN_OF(5));
    say(&other_thread, RECORD_RANGE_END, 300, 1500, "", 0, 0); /* arrives before its start */
    say(&thread, RECORD_RANGE_BEGIN, 300, 1450, "span", 0, 0);
    assert_int_equal(only("span")->span.end_ns, BASE_NS + 1500);
    expect_text(only("span"), "cuda.range.kind", "span");
    end_range(999, 1600); /* no such range */
    correlate_finish(correlate);
    assert_int_equal(span_count, 5);
}

static void test_what_nobody_ends_says_so(void **state)
{
    begin();
    push_range(100, 900, "of the process");
    say(&other_thread, RECORD_RANGE_BEGIN, 200, 950, "of a thread", RANGE_ON_THREAD, 0);
    say(&next_thread, RECORD_MARK, 0, 1000, "next", 0, 0);
    assert_int_equal(attr(only("of a thread"), "cuda.range.unended")->i, 1);
    assert_int_equal(attr(only("next"), "cuda.instant")->i, 1);
    correlate_finish(correlate);
    assert_int_equal(attr(only("of the process"), "cuda.range.unended")->i, 1);
}

static void test_ranges_have_attributes_status_and_events(void **state)
{
    begin();
    say(&thread, RECORD_RANGE_BEGIN, 100, 900, "range", RANGE_ON_THREAD, 42);
    say(&thread, RECORD_MARK, 0, 950, "half", 0, 43);
    for (unsigned i = 0; i < 40; i++)
        say(&thread, RECORD_MARK, 0, 960 + i, "more", 0, 0);
    struct range_record failed = {.head = {sizeof failed, RECORD_RANGE_END, 0, 0},
                                  .id = 100,
                                  .time_ns = BASE_NS + 1500,
                                  .status = SPAN_STATUS_ERROR};
    thread_events_range(correlate, &thread, &failed);
    const struct kept *range = only("range");
    assert_int_equal(attr_int(range, "answer"), 42);
    assert_int_equal(range->span.status, SPAN_STATUS_ERROR);
    assert_null(range->span.status_message);
    assert_string_equal(range->events[0].name, "half");
    assert_int_equal(range->events[0].attrs[0].i, 43);
    assert_int_equal(range->events[0].time_ns, BASE_NS + 950);
    assert_int_equal(range->span.event_count + range->span.events_dropped, 41);
}

static void test_too_many_open_ranges_are_counted(void **state)
{
    begin();
    attach(5);
    for (uint64_t id = 1; id <= RANGES_OPEN_MAX + 3; id++)
        push_range(id, 900, "range");
    assert_int_equal(counter_get(COUNTER_lost_range), 3);
    launch(1, 1000); /* deeper than RANGE_PARENTS_MAX */
    expect_below(only("cudaLaunchKernel"), 5, RANGE_PARENTS_MAX);
    end_range(RANGES_OPEN_MAX, 1100);
    push_range(9999, 1200, "again");
    assert_int_equal(counter_get(COUNTER_lost_range), 3);
    end_range(9999, 1300);
    only("again");
}

/* Threads are drained one after the other. */
static void test_many_spans_end_before_their_start_is_seen(void **state)
{
    enum { ROUNDS = 5, SPANS = RANGES_OPEN_MAX / 2 };
    begin();
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t id = 1; id <= SPANS; id++)
            say(&other_thread, RECORD_RANGE_END, round * SPANS + id, 1000, "done", 0, 0);
        for (uint64_t id = 1; id <= SPANS; id++) {
            span_count = 0;
            say(&thread, RECORD_RANGE_BEGIN, round * SPANS + id, 900, "span", 0, 0);
            assert_int_equal(only("span")->span.end_ns, BASE_NS + 1000);
            assert_null(attr(only("span"), "cuda.range.unended"));
        }
    }
    assert_int_equal(counter_get(COUNTER_lost_range), 0);
    assert_int_equal(counter_get(COUNTER_range_ends_lost), 0);
}

/* As long as more of them are open than there are slots, which are counted. */
static void test_ends_of_ranges_without_a_slot_take_none(void **state)
{
    begin();
    for (int round = 0; round < 3; round++) {
        for (uint64_t id = 1; id <= 2 * RANGES_OPEN_MAX; id++)
            say(&thread, RECORD_RANGE_BEGIN, id, 900, "span", 0, 0);
        for (uint64_t id = 2 * RANGES_OPEN_MAX; id > 0; id--) {
            span_count = 0;
            say(&other_thread, RECORD_RANGE_END, id, 1000, "", 0, 0);
            assert_int_equal(span_count, id <= RANGES_OPEN_MAX);
        }
        assert_int_equal(counter_get(COUNTER_lost_range), (round + 1) * RANGES_OPEN_MAX);
    }
    assert_int_equal(counter_get(COUNTER_range_ends_lost), 0);
}

/* Ranges that no thread can end any more give way to later ones. */
static void test_ranges_whose_ends_are_lost_give_way(void **state)
{
    begin();
    for (uint64_t id = 1; id <= RANGES_OPEN_MAX; id++)
        say(&thread, RECORD_RANGE_BEGIN, id, 900 + id, "span", 0, 0);
    counter_add(COUNTER_range_ends_lost, 1);
    span_count = 0;
    say(&thread, RECORD_RANGE_BEGIN, 9998, 9000, "later", 0, 0);
    assert_int_equal(only("span")->span.start_ns, BASE_NS + 901);
    assert_int_equal(attr_int(only("span"), "cuda.range.unended"), 1);
    say(&thread, RECORD_RANGE_BEGIN, 9999, 9001, "too many", 0, 0);
    assert_int_equal(counter_get(COUNTER_lost_range), 1);
    end_range(9998, 9100);
    only("later");
    for (uint64_t id = 1; id <= RANGES_OPEN_MAX; id++) {
        span_count = 0; /* the test keeps only a few */
        end_range(id, 9200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ranges_nest),
        TEST(test_many_spans_end_before_their_start_is_seen),
        TEST(test_ends_of_ranges_without_a_slot_take_none),
        TEST(test_ranges_whose_ends_are_lost_give_way),
        TEST(test_a_range_counts_while_its_context_is_there),
        TEST(test_ranges_without_a_context_are_the_sessions),
        TEST(test_ranges_may_end_in_any_order_and_place),
        TEST(test_what_nobody_ends_says_so),
        TEST(test_ranges_have_attributes_status_and_events),
        TEST(test_too_many_open_ranges_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
