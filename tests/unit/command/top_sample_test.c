#include "command/top/top_sample.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct top_sample before, now, difference;

static bool read_text(const char *text, struct top_sample *sample)
{
    cJSON *answer = cJSON_Parse(text);
    assert_non_null(answer);
    bool is_read = top_sample_read(answer, sample);
    cJSON_Delete(answer);
    return is_read;
}

static void test_an_answer(void **state)
{
    assert_true(read_text(
        "{\"time_ns\":5000,\"since_ns\":1000,\"is_on\":true,\"calls\":{\"count\":7,\"total_ns\":70,"
        "\"errors\":1,"
        "\"waiting_ns\":30},\"launches\":3,\"devices\":[{\"index\":2,\"uuid\":\"GPU-a\",\"name\":\"H200\","
        "\"busy_ns\":40,\"kernels\":3,\"kernel_ns\":35,\"copies\":2,\"copy_bytes\":4096,\"fills\":1,"
        "\"memory_live\":8192,\"memory_peak\":9000}],\"kernels\":[{\"name\":\"k\",\"count\":2,\"total_ns\":"
        "30}],"
        "\"kernels_other\":{\"count\":1,\"total_ns\":5},\"own\":{\"spans\":9,\"lost\":4,\"cost\":{"
        "\"callback_ns\":11,\"pipeline_ns\":1,\"sender_ns\":2,\"control_ns\":3,\"cupti_flush_ns\":10,"
        "\"cupti_resource_ns\":20}}}",
        &now));
    assert_true(now.is_on && now.has_callbacks);
    assert_int_equal(now.calls, 7);
    assert_int_equal(now.waiting_ns, 30);
    assert_int_equal(now.launches, 3);
    assert_int_equal(now.device_count, 1);
    assert_string_equal(now.devices[0].id, "GPU-a");
    assert_int_equal(now.devices[0].copy_bytes, 4096);
    assert_int_equal(now.kernel_count, 1);
    assert_int_equal(now.others_ns, 5);
    assert_int_equal(now.lost, 4);
    assert_int_equal(now.callback_ns, 11);
    assert_int_equal(now.threads_ns, 6);
    assert_int_equal(now.cupti_ns, 30);
}

static void test_the_steps_of_a_rank(void **state)
{
    static const char *const texts[] = {"{\"time_ns\":5000,\"since_ns\":1000,\"is_on\":true,\"calls\":{},"
                                        "\"steps\":{\"job\":\"00ff\",\"rank\":3,"
                                        "\"world_size\":8,\"number\":64,\"kind\":\"train\",\"count\":10,"
                                        "\"total_ns\":1000,\"last_ns\":90,\"sampled\":[]}}",
                                        "{\"time_ns\":9000,\"since_ns\":1000,\"is_on\":true,\"calls\":{},"
                                        "\"steps\":{\"job\":\"00ff\",\"rank\":3,"
                                        "\"world_size\":8,\"number\":66,\"count\":12,\"total_ns\":1300,"
                                        "\"last_ns\":120,\"sampled\":[{\"number\":64,"
                                        "\"compute_ns\":50,\"exposed_communication_ns\":20,\"copies_ns\":5,"
                                        "\"idle_ns\":25,\"communication_ns\":30}]}}"};
    assert_true(read_text(texts[0], &before) && read_text(texts[1], &now));
    assert_true(top_sample_difference(&before, &now, &difference));
    const struct top_steps *steps = &difference.steps;
    assert_true(steps->is_there);
    assert_string_equal(steps->job, "00ff");
    assert_string_equal(steps->kind, "");
    assert_int_equal(steps->rank, 3);
    assert_int_equal(steps->number, 66);
    assert_int_equal(steps->count, 2);
    assert_int_equal(steps->total_ns, 300);
    assert_int_equal(steps->sampled_count, 1);
    assert_int_equal(steps->sampled[0].number, 64);
    assert_int_equal(steps->sampled[0].exposed_ns, 20);
    assert_int_equal(steps->sampled[0].communication_ns, 30);
}

static void test_no_answer(void **state)
{
    assert_false(read_text("{\"answer\":\"failed\"}", &now));
    assert_false(read_text("{\"time_ns\":\"x\",\"calls\":{}}", &now));
    assert_true(read_text("{\"time_ns\":1,\"calls\":{\"count\":-5,\"errors\":\"x\"},\"devices\":7}", &now));
    assert_int_equal(now.calls, 0);
}

static int setup(void **state)
{
    memset(&before, 0, sizeof before);
    memset(&now, 0, sizeof now);
    before.is_on = now.is_on = true;
    before.since_ns = now.since_ns = 1000;
    before.time_ns = 2000;
    now.time_ns = 4500;
    before.calls = 10;
    now.calls = 25;
    return 0;
}

static void put_kernel(struct top_sample *sample, const char *name, uint64_t count, uint64_t total_ns)
{
    struct top_kernel *kernel = &sample->kernels[sample->kernel_count++];
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->count = count;
    kernel->total_ns = total_ns;
}

static void test_what_has_happened_between(void **state)
{
    before.device_count = now.device_count = 1;
    strcpy(before.devices[0].id, "a");
    strcpy(now.devices[0].id, "a");
    before.devices[0].busy_ns = 100;
    now.devices[0].busy_ns = 350;
    before.devices[0].memory_live = 5;
    now.devices[0].memory_live = 3;
    put_kernel(&before, "k", 1, 10);
    put_kernel(&now, "k", 4, 50);
    put_kernel(&now, "new", 2, 20);
    assert_true(top_sample_difference(&before, &now, &difference));
    assert_int_equal(difference.window_ns, 2500);
    assert_int_equal(difference.calls, 15);
    assert_int_equal(difference.devices[0].busy_ns, 250);
    assert_int_equal(difference.devices[0].memory_live, 3);
    assert_int_equal(difference.kernel_count, 2);
    assert_int_equal(difference.kernels[0].count, 3);
    assert_int_equal(difference.kernels[0].total_ns, 40);
    assert_int_equal(difference.kernels[1].count, 2);
}

/* The lease expired in between, or the first answer started the counting. */
static void test_counting_that_began_anew(void **state)
{
    now.since_ns = 3500;
    before.lost = 3;
    now.lost = 5;
    assert_true(top_sample_difference(&before, &now, &difference));
    assert_int_equal(difference.window_ns, 1000);
    assert_int_equal(difference.calls, 25);
    assert_int_equal(difference.lost, 2); /* always counted */
    before.is_on = false;
    now.since_ns = 2000;
    assert_true(top_sample_difference(&before, &now, &difference));
    assert_int_equal(difference.window_ns, 2500);
}

static void test_nothing_to_tell(void **state)
{
    now.is_on = false;
    assert_false(top_sample_difference(&before, &now, &difference));
    now.is_on = true;
    now.time_ns = before.time_ns; /* the clock has stopped or was set back */
    assert_false(top_sample_difference(&before, &now, &difference));
}

/* Its time before the first answer is unknown and does not belong to this interval. */
static void test_a_kernel_that_comes_up_from_below(void **state)
{
    char name[32];
    for (int i = 0; i < TOP_KERNELS_MAX; i++) {
        snprintf(name, sizeof name, "k%d", i);
        put_kernel(&before, name, 1, 1000);
        put_kernel(&now, i ? name : "risen", 2, i ? 1500 : 99999);
    }
    before.device_count = now.device_count = 1;
    now.devices[0].kernels = 70;
    now.devices[0].kernel_ns = 40000;
    assert_true(top_sample_difference(&before, &now, &difference));
    assert_int_equal(difference.kernel_count, TOP_KERNELS_MAX - 1);
    for (size_t i = 0; i < difference.kernel_count; i++)
        assert_string_not_equal(difference.kernels[i].name, "risen");
    assert_int_equal(difference.others_count, 70 - (TOP_KERNELS_MAX - 1));
    assert_int_equal(difference.others_ns, 40000 - 500 * (TOP_KERNELS_MAX - 1));
}

static void test_agents_add_up(void **state)
{
    static struct top_sample sum, other;
    memset(&sum, 0, sizeof sum);
    memset(&other, 0, sizeof other);
    other.window_ns = 100;
    other.calls = 5;
    other.device_count = 1;
    strcpy(other.devices[0].id, "a");
    other.devices[0].memory_live = 7;
    put_kernel(&other, "k", 2, 20);
    top_sample_add(&sum, &other);
    other.window_ns = 90;
    put_kernel(&other, "l", 1, 1);
    top_sample_add(&sum, &other);
    strcpy(other.devices[0].id, "b");
    top_sample_add(&sum, &other);
    assert_int_equal(sum.window_ns, 100);
    assert_int_equal(sum.calls, 15);
    assert_int_equal(sum.device_count, 2);
    assert_int_equal(sum.devices[0].memory_live, 14);
    assert_int_equal(sum.kernel_count, 2);
    assert_int_equal(sum.kernels[0].count, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer),
        cmocka_unit_test(test_the_steps_of_a_rank),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test_setup(test_what_has_happened_between, setup),
        cmocka_unit_test_setup(test_counting_that_began_anew, setup),
        cmocka_unit_test_setup(test_nothing_to_tell, setup),
        cmocka_unit_test_setup(test_a_kernel_that_comes_up_from_below, setup),
        cmocka_unit_test_setup(test_agents_add_up, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
