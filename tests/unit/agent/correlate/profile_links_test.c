/* The spans that the samples of profiles link to, and what becomes a sample. */
#include "support/correlate_harness.h"

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
    assert_false(correlate_profile_is_full(correlate));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_is_linked_and_not_its_ranges), TEST(test_without_a_request_the_session_is_linked),
        TEST(test_what_is_not_sampled_has_no_link),        TEST(test_work_without_a_call_counts),
        TEST(test_a_call_without_work_is_no_sample),       TEST(test_intervals),
    };
    return cmocka_run_group_tests_name("profile_links", tests, NULL, NULL);
}
