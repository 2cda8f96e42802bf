/* Durations of exports by result: bounded, and read while others note. */
#include "agent/export/delivery/operations.h"

#include "agent/export/delivery/output.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct operations *operations;
static struct streams *streams;

static enum status make(enum exemplar_filter exemplars)
{
    return operations_create(&streams->of[METRIC_OPERATION_DURATION], exemplars, &operations);
}

static int setup(void **state)
{
    if (streams_create(NULL, 0, HISTOGRAM_EXPLICIT, &streams) != STATUS_OK)
        return -1;
    return make(EXEMPLAR_TRACE_BASED) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    operations_destroy(operations);
    free(streams);
    return 0;
}

static void note(unsigned output, int http_status, const char *error, uint64_t duration_ns)
{
    struct delivery delivery = {.began_ns = 1000, .http_status = http_status};
    snprintf(delivery.error, sizeof delivery.error, "%s", error);
    operations_note(operations, output, &delivery, 1000 + duration_ns);
}

static void test_each_end_of_each_output_has_its_own(void **state)
{
    uint32_t count;
    note(0, 200, "", 5000);
    note(0, 503, "503", 70000);
    note(0, 200, "", 6000);
    note(METRICS_OUTPUT, 200, "", 1);
    const struct operation *items = operations_lock(operations, &count);
    assert_int_equal(count, 3);
    assert_int_equal(items[0].output, 0);
    assert_int_equal(items[0].http_status, 200);
    assert_string_equal(items[0].error, "");
    assert_int_equal(items[0].histogram->count, 2);
    assert_int_equal(items[0].histogram->sum_ns, 11000);
    assert_string_equal(items[1].error, "503");
    assert_int_equal(items[1].histogram->sum_ns, 70000);
    assert_int_equal(items[2].output, METRICS_OUTPUT);
    operations_unlock(operations, false);
}

static void test_without_a_request_there_is_nothing_to_note(void **state)
{
    uint32_t count;
    operations_note(operations, 0, &(struct delivery){.error = "deadline"}, 5000);
    operations_note(NULL, 0, &(struct delivery){.began_ns = 1}, 5000);
    operations_lock(operations, &count);
    assert_int_equal(count, 0);
    operations_unlock(operations, false);
}

static void test_a_delta_begins_anew(void **state)
{
    uint32_t count;
    note(0, 200, "", 5000);
    operations_lock(operations, &count);
    operations_unlock(operations, false);
    const struct operation *items = operations_lock(operations, &count);
    assert_int_equal(items[0].histogram->count, 1);
    operations_unlock(operations, true);
    items = operations_lock(operations, &count);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].histogram->count, 0);
    operations_unlock(operations, true);
}

static void test_too_many_ends_are_one(void **state)
{
    uint32_t count;
    for (int status = 400; status < 400 + OPERATIONS_MAX + 10; status++)
        note(1, status, "4xx", 1);
    const struct operation *items = operations_lock(operations, &count);
    assert_int_equal(count, OPERATIONS_MAX);
    assert_int_equal(items[OPERATIONS_MAX - 2].output, 1);
    assert_int_equal(items[OPERATIONS_MAX - 1].output, OPERATIONS_NO_OUTPUT);
    assert_int_equal(items[OPERATIONS_MAX - 1].histogram->count, 11);
    operations_unlock(operations, false);
}

static void test_exemplars_are_on_request(void **state)
{
    uint32_t count;
    note(0, 200, "", 5000);
    assert_int_equal(operations_lock(operations, &count)[0].histogram->exemplars[2].time_ns, 0);
    operations_unlock(operations, false);
    operations_destroy(operations);
    assert_int_equal(make(EXEMPLAR_ALWAYS_ON), STATUS_OK);
    note(0, 200, "", 5000);
    const struct exemplar *exemplar = &operations_lock(operations, &count)[0].histogram->exemplars[2];
    assert_int_equal(exemplar->value_ns, 5000);
    assert_true(exemplar->time_ns > 1000000000ull * 1000000000);
    assert_false(exemplar_has_span(exemplar));
    operations_unlock(operations, false);
}

#define ROUNDS 20000

static void *note_many(void *output)
{
    for (int i = 0; i < ROUNDS; i++)
        note(*(const unsigned *)output, 200, "", 3);
    return NULL;
}

static void test_nothing_is_missed_between_intervals(void **state)
{
    static const unsigned outputs[] = {0, 1};
    pthread_t threads[2];
    uint64_t seen = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_many, (void *)(uintptr_t)&outputs[i]), 0);
    for (int round = 0; seen < 2 * ROUNDS && round < 100000000; round++) {
        uint32_t count;
        const struct operation *items = operations_lock(operations, &count);
        for (uint32_t i = 0; i < count; i++)
            seen += items[i].histogram->count;
        operations_unlock(operations, true);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(seen, 2 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_end_of_each_output_has_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_request_there_is_nothing_to_note, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_delta_begins_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many_ends_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exemplars_are_on_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_missed_between_intervals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
