/* The spans that the samples of profiles link to, and what becomes a sample. */
#include "support/correlate_harness.h"

#include "agent/correlate/thread_events.h"

static void begin_with_profiles(void)
{
    settings.profiles.enabled = true;
    begin();
}

/* The link of the only sample, whose time is `ns`. */
static struct profile_link only_link(uint64_t ns)
{
    const struct profile *profile = correlate_end_profile(correlate);
    uint32_t found = 0;
    for (uint32_t i = 1; i < profile->sample_count; i++) {
        if (!profile->values[i])
            continue;
        assert_int_equal(found, 0);
        found = i;
    }
    assert_int_not_equal(found, 0);
    assert_int_equal(profile->values[found], ns);
    return profile->links[profile->samples[found].link];
}

static void test_a_request_is_linked_and_not_its_ranges(void **state)
{
    begin_with_profiles();
    attach(5);
    push_range(100, 900, "range");
    launch(1, 1000);
    kernel("work", 1, 2000, 2100);
    struct profile_link link = only_link(100);
    assert_memory_equal(link.trace_id, (uint8_t[16]){[0 ... 15] = 5}, 16);
    assert_memory_equal(link.span_id, (uint8_t[8]){[0 ... 7] = 5}, 8);
}

static void test_without_a_request_the_session_is_linked(void **state)
{
    begin_with_profiles();
    push_range(100, 900, "range");
    launch(1, 1000);
    end_range(100, 1200);
    kernel("work", 1, 2000, 2100);
    struct profile_link link = only_link(100);
    correlate_finish(correlate);
    assert_memory_equal(link.trace_id, only("program")->span.trace_id, 16);
    assert_memory_equal(link.span_id, only("program")->span.span_id, 8);
}

static void test_what_is_not_sampled_has_no_link(void **state)
{
    static const struct profile_link none;
    begin_with_profiles();
    attach_flags(&thread, 5, 0, "");
    launch(1, 1000);
    kernel("work", 1, 2000, 2100);
    struct profile_link link = only_link(100);
    assert_memory_equal(&link, &none, sizeof link);
    assert_int_equal(span_count, 0);
}

static void test_work_without_a_call_counts(void **state)
{
    static const struct profile_link none;
    begin_with_profiles();
    kernel("work", 9, 2000, 2100);
    tick_after(200);
    struct profile_link link = only_link(100);
    assert_memory_equal(&link, &none, sizeof link);
}

static void test_a_call_without_work_is_no_sample(void **state)
{
    begin_with_profiles();
    launch(1, 1000);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    assert_int_equal(correlate_end_profile(correlate)->samples_of[PROFILE_KERNELS], 0);
}

static void test_intervals(void **state)
{
    begin_with_profiles();
    launch(1, 1000);
    launch(2, 1200);
    kernel("work", 1, 2000, 2100);
    (void)only_link(100);
    correlate_begin_profile(correlate);
    kernel("work", 2, 3000, 3050);
    (void)only_link(50);
}

#define CALLS (8 * PROFILE_LINKS_MAX)

static uint64_t linked_ns; /* of all profiles */
static uint32_t profile_count;

static void add_profile(void *context, const struct profile *profile)
{
    for (uint32_t i = 1; i < profile->sample_count; i++)
        linked_ns += profile->samples[i].link ? profile->values[i] : 0;
    profile_count++;
}

static void drop_span(void *context, const struct span *span) {}

static void attach_request(uint32_t number)
{
    union {
        struct context_record record;
        char bytes[256];
    } context = {.record = {{sizeof context, RECORD_CONTEXT, 0, 0}, .flags = TRACE_FLAG_SAMPLED}};
    memcpy(context.record.trace_id, &number, sizeof number);
    memcpy(context.record.span_id, &number, sizeof number);
    thread_events_context(correlate, &thread, &context.record);
}

/* `a_round`: calls before their work */
static void expect_all_linked(uint32_t a_round)
{
    settings.profiles.enabled = true;
    struct correlate_options options = usual_options();
    options.sink.on_span = drop_span;
    options.sink.on_profile = add_profile;
    begin_as(&options);
    linked_ns = profile_count = 0;
    for (uint32_t made = 0; made < CALLS; made += a_round) {
        for (uint32_t i = made + 1; i <= made + a_round; i++) {
            attach_request(i);
            launch(i, 1000 + i);
        }
        for (uint32_t i = made + 1; i <= made + a_round; i++)
            kernel("work", i, 9000000 + i, 9000100 + i);
    }
    add_profile(NULL, correlate_end_profile(correlate));
    assert_int_equal(linked_ns, 100 * CALLS);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
    assert_in_range(profile_count, CALLS / PROFILE_LINKS_MAX, 4 * CALLS / PROFILE_LINKS_MAX);
}

static void test_a_full_profile_is_sent_between_two_records(void **state)
{
    expect_all_linked(1);
}

static void test_a_full_profile_is_sent_between_a_call_and_its_work(void **state)
{
    expect_all_linked(PROFILE_LINKS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_is_linked_and_not_its_ranges),
        TEST(test_without_a_request_the_session_is_linked),
        TEST(test_what_is_not_sampled_has_no_link),
        TEST(test_work_without_a_call_counts),
        TEST(test_a_call_without_work_is_no_sample),
        TEST(test_intervals),
        TEST(test_a_full_profile_is_sent_between_two_records),
        TEST(test_a_full_profile_is_sent_between_a_call_and_its_work),
    };
    return cmocka_run_group_tests_name("profile_links", tests, NULL, NULL);
}
