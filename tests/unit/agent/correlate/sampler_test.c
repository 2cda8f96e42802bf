#include "agent/correlate/trace/sampler.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull

static struct sampler sampler;
static char after[TRACE_STATE_MAX];

static void begin(enum sampler_kind kind, double ratio, bool parent_based, double traces_per_second)
{
    struct settings settings = {.sampler = kind,
                                .sampler_ratio = ratio,
                                .sampler_parent_based = parent_based,
                                .sampling.traces_per_second = traces_per_second};
    sampler_init(&sampler, &settings);
}

static bool decide_root(uint64_t randomness)
{
    uint8_t trace_id[16];
    memset(trace_id, 0xa5, sizeof trace_id); /* the first nine bytes are ignored */
    for (unsigned i = 0; i < 7; i++)
        trace_id[15 - i] = (uint8_t)(randomness >> 8 * i);
    return sampler_decide(&sampler, NULL, trace_id, 1, after);
}

/* A trace whose randomness is 0x80000000000000. */
static bool decide_remote(const char *flags, const char *trace_state)
{
    struct trace_context context;
    char parent[64];
    snprintf(parent, sizeof parent, "00-0af7651916cd43dd8480000000000000-b7ad6b7169203331-%s", flags);
    assert_true(trace_context_parse(parent, trace_state, &context));
    assert_true(!trace_state || !*trace_state || *context.trace_state);
    memset(after, 'x', sizeof after);
    return sampler_decide(&sampler, &context, context.trace_id, 1, after);
}

/* From the specification's table, at full precision. */
static void test_thresholds_of_ratios(void **state)
{
    assert_true(sampler_threshold(1) == 0);
    assert_true(sampler_threshold(0.5) == 0x80000000000000);
    assert_true(sampler_threshold(0.25) == 0xc0000000000000);
    assert_true(sampler_threshold(0.1) == 0xe6666666666666);
    assert_true(sampler_threshold(0.01) == 0xfd70a3d70a3d71);
    assert_true(sampler_threshold(0) == SAMPLER_NEVER);
    assert_true(sampler_threshold(1.0 / (double)SAMPLER_NEVER) == SAMPLER_NEVER - 1);
    assert_true(sampler_threshold(0.5 / (double)SAMPLER_NEVER) == SAMPLER_NEVER); /* a tie: rounds to even */
    assert_true(sampler_threshold(1.5 / (double)SAMPLER_NEVER) == SAMPLER_NEVER - 2);
}

static void test_the_threshold_divides_the_traces(void **state)
{
    begin(SAMPLER_TRACE_ID_RATIO, 0.5, false, 0);
    assert_false(decide_root(0));
    assert_string_equal(after, "");
    assert_false(decide_root(0x7fffffffffffff));
    assert_true(decide_root(0x80000000000000));
    assert_string_equal(after, "ot=th:8");
    assert_string_equal(sampler_root_state(&sampler), "ot=th:8");
    begin(SAMPLER_TRACE_ID_RATIO, 0.01, false, 0);
    assert_false(decide_root(0xfd70a3d70a3d70));
    assert_true(decide_root(0xfd70a3d70a3d71));
    assert_string_equal(after, "ot=th:fd70a3d70a3d71");
    begin(SAMPLER_TRACE_ID_RATIO, 1, false, 0);
    assert_true(decide_root(0));
    assert_string_equal(after, "ot=th:0");
    begin(SAMPLER_TRACE_ID_RATIO, 0, false, 0);
    assert_false(decide_root(UINT64_MAX));
    assert_null(sampler_root_state(&sampler));
}

static void test_always_on_and_off(void **state)
{
    begin(SAMPLER_ALWAYS_ON, 0.25, false, 0);
    assert_true(decide_root(0));
    assert_string_equal(after, "");
    assert_null(sampler_root_state(&sampler));
    assert_true(decide_remote("00", "a=1"));
    assert_string_equal(after, "a=1");
    begin(SAMPLER_ALWAYS_OFF, 0.25, false, 0);
    assert_false(decide_root(UINT64_MAX));
    assert_false(decide_remote("01", NULL));
}

static void test_the_parent_s_flag_decides(void **state)
{
    begin(SAMPLER_ALWAYS_OFF, 0, true, 0.001);
    for (int i = 0; i < 5; i++) /* also no limit */
        assert_true(decide_remote("01", "a=1,ot=th:8;x:y"));
    assert_string_equal(after, "a=1,ot=th:8;x:y");
    assert_false(decide_root(UINT64_MAX));
    begin(SAMPLER_ALWAYS_ON, 1, true, 0);
    assert_false(decide_remote("02", "a=1"));
    assert_string_equal(after, "a=1");
    assert_true(decide_remote("01", NULL));
    assert_string_equal(after, "");
    assert_true(sampler_decide(&sampler, NULL, (const uint8_t[16]){1}, 1, NULL));
}

/* A backend that counts traces by their threshold must not get one that did not decide their sampling. */
static void test_a_parent_s_wrong_threshold_is_taken_out(void **state)
{
    begin(SAMPLER_ALWAYS_ON, 1, true, 0);
    assert_true(decide_remote("01", "a=1,ot=x:y;th:80000000000001,b=2"));
    assert_string_equal(after, "ot=x:y,a=1,b=2");
    assert_true(decide_remote("01", "a=1,ot=th:9"));
    assert_string_equal(after, "a=1");
    assert_true(decide_remote("01", "ot=th:9;rv:90000000000000"));
    assert_string_equal(after, "ot=th:9;rv:90000000000000");
    assert_true(decide_remote("01", "vendor=th:f"));
    assert_string_equal(after, "vendor=th:f");
}

static void test_a_ratio_without_parents_writes_its_threshold(void **state)
{
    begin(SAMPLER_TRACE_ID_RATIO, 0.5, false, 0);
    assert_true(decide_remote("00", NULL));
    assert_string_equal(after, "ot=th:8");
    assert_true(decide_remote("00", "a=1 , b=2"));
    assert_string_equal(after, "ot=th:8,a=1,b=2");
    assert_true(decide_remote("00", "a=1,ot=th:c;x:y,b=2"));
    assert_string_equal(after, "ot=th:8;x:y,a=1,b=2");
    begin(SAMPLER_TRACE_ID_RATIO, 0.25, false, 0);
    assert_false(decide_remote("01", "a=1,ot=th:8"));
    assert_string_equal(after, "a=1");
}

static void test_explicit_randomness_goes_before_the_trace_id(void **state)
{
    begin(SAMPLER_TRACE_ID_RATIO, 0.5, false, 0);
    assert_false(decide_remote("01", "ot=rv:7fffffffffffff"));
    assert_string_equal(after, "ot=rv:7fffffffffffff");
    begin(SAMPLER_TRACE_ID_RATIO, 0.25, false, 0);
    assert_true(decide_remote("01", "ot=rv:c0000000000000"));
    assert_string_equal(after, "ot=th:c;rv:c0000000000000");
    /* A value without 14 digits is ignored, and the ID is used. */
    assert_false(decide_remote("01", "ot=rv:ffffffffffffg0"));
    assert_false(decide_remote("01", "ot=rv:fffffffffffff"));
    assert_false(decide_remote("01", "ot=rv:fffffffffffffff"));
    assert_false(decide_remote("01", "ot=rv:"));
    assert_false(decide_remote("01", "at=rv:ffffffffffffff"));
    assert_true(decide_remote("01", "ot=rv:FFFFFFFFFFFFFF"));
}

static void test_a_tracestate_stays_within_its_bounds(void **state)
{
    char text[TRACE_STATE_MAX] = "", want[TRACE_STATE_MAX] = "ot=th:8";
    begin(SAMPLER_TRACE_ID_RATIO, 0.5, false, 0);
    for (int i = 0; i < 32; i++) {
        sprintf(text + strlen(text), "%sa%d=1", i ? "," : "", i);
        if (i < 31)
            sprintf(want + strlen(want), ",a%d=1", i);
    }
    assert_true(decide_remote("01", text));
    assert_string_equal(after, want);
    memset(text, 'v', sizeof text - 1);
    memcpy(text, "a=", 2);
    memcpy(text + 250, ",b=", 3);
    text[500] = 0;
    assert_true(decide_remote("01", text)); /* 500 and 8 fit, with the NUL */
    assert_int_equal(strlen(after), 508);
    memcpy(text + 500, "vvvv", 5);
    assert_true(decide_remote("01", text));
    assert_int_equal(strlen(after), 7 + 1 + 250);
    memset(text, 'x', 3 + 256);
    memcpy(text, "ot=x:", 5);
    text[3 + 256] = 0;
    assert_true(decide_remote("01", text));
    assert_string_equal(after, text); /* the threshold does not fit */
}

static unsigned admitted(uint64_t from_ns, uint64_t step_ns, unsigned count)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < count; i++)
        taken += sampler_admits(&sampler, from_ns + i * step_ns);
    return taken;
}

static void test_the_limit_is_kept(void **state)
{
    begin(SAMPLER_ALWAYS_ON, 1, true, 5);
    assert_int_equal(admitted(1000 * SECOND, 0, 20), 5);             /* the limit of one second at once */
    assert_int_equal(admitted(1000 * SECOND, SECOND / 64, 641), 50); /* and then five a second */
    assert_int_equal(admitted(900 * SECOND, SECOND / 100, 1000), 0); /* this time has been counted */
    assert_int_equal(admitted(2000 * SECOND, 0, 20), 5);             /* unused traces do not accumulate */
    begin(SAMPLER_ALWAYS_ON, 1, true, 0.1);
    assert_int_equal(admitted(1000 * SECOND, SECOND, 100), 10);
    begin(SAMPLER_ALWAYS_ON, 1, true, 0);
    assert_int_equal(admitted(1000 * SECOND, 0, 1000), 1000);
}

static void test_the_limit_holds_for_what_the_sampler_takes(void **state)
{
    begin(SAMPLER_TRACE_ID_RATIO, 0.5, true, 1);
    assert_false(decide_root(0)); /* does not count toward the limit */
    assert_true(decide_root(0x80000000000000));
    assert_string_equal(after, ""); /* the ratio is unknown */
    assert_false(decide_root(0x80000000000000));
    assert_null(sampler_root_state(&sampler));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds_of_ratios),
        cmocka_unit_test(test_the_threshold_divides_the_traces),
        cmocka_unit_test(test_always_on_and_off),
        cmocka_unit_test(test_the_parent_s_flag_decides),
        cmocka_unit_test(test_a_parent_s_wrong_threshold_is_taken_out),
        cmocka_unit_test(test_a_ratio_without_parents_writes_its_threshold),
        cmocka_unit_test(test_explicit_randomness_goes_before_the_trace_id),
        cmocka_unit_test(test_a_tracestate_stays_within_its_bounds),
        cmocka_unit_test(test_the_limit_is_kept),
        cmocka_unit_test(test_the_limit_holds_for_what_the_sampler_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
