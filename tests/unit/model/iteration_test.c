/* Tests the identity and sampling of iterations. */
#include "model/iteration.h"

#include "support/test.h"

#include <string.h>

static void test_ranks_have_the_same_trace_and_spans_of_their_own(void **state)
{
    struct step_identity identity = iteration_identify(7, 3), other = iteration_identify(8, 3),
                         next = iteration_identify(7, 4);
    uint8_t first[8], second[8];
    iteration_rank_span(7, 3, 0, first);
    iteration_rank_span(7, 3, 1, second);
    assert_memory_not_equal(identity.trace_id, other.trace_id, 16);
    assert_memory_not_equal(identity.trace_id, next.trace_id, 16);
    assert_memory_not_equal(first, second, 8);
    assert_memory_not_equal(first, identity.span_id, 8);
    assert_memory_equal(iteration_identify(7, 3).span_id, identity.span_id, 8);
}

static void test_a_ratio_samples_each_nth_and_what_must_be_recorded(void **state)
{
    struct step_rules rules = {.iteration_threshold = (1ull << 56) - (1ull << 50)}; /* 1 of 64 */
    unsigned sampled = 0, watched = 0;
    for (int64_t number = 0; number < 6400; number++) {
        struct iteration iteration = {.seed = 99, .number = number};
        sampled += iteration_is_sampled(&rules, &iteration);
        watched += iteration_is_watched(&rules, &iteration);
        iteration.is_recorded = true;
        assert_true(iteration_is_sampled(&rules, &iteration));
    }
    assert_int_equal(sampled, 100);
    assert_int_equal(watched, 200); /* also the ones before */
    struct iteration any = {.seed = 1, .number = 5};
    assert_true(iteration_is_sampled(&(struct step_rules){0}, &any));
    assert_false(iteration_is_sampled(&(struct step_rules){.iteration_threshold = 1ull << 56}, &any));
}

static void test_names(void **state)
{
    assert_string_equal(iteration_kind_name(ITERATION_WARM_UP), "warm_up");
    assert_string_equal(request_end_name(REQUEST_FAILED), "failed");
}

static void test_text_of_clients(void **state)
{
    char name[HEADER_NAME_BYTES], value[6];
    header_write_name(name, "X-Tenant_2.\x80 b");
    assert_string_equal(name, "x-tenant_2___b");
    header_write_name(name, "a-name-that-is-much-longer-than-39-characters");
    assert_string_equal(name, "a-name-that-is-much-longer-than-39-char");
    client_text_write(value, sizeof value, "a \x1b", false);
    assert_string_equal(value, "a??");
    client_text_write(value, sizeof value, "a \xff\n|too long", true);
    assert_string_equal(value, "a ??|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_have_the_same_trace_and_spans_of_their_own),
        cmocka_unit_test(test_a_ratio_samples_each_nth_and_what_must_be_recorded),
        cmocka_unit_test(test_names), cmocka_unit_test(test_text_of_clients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
