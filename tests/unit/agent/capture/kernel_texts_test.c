#include "agent/capture/activity/kernel_texts.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/capture/callbacks/launch_names.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096
#define KEPT_NS    1000000000000ull

static uint64_t fake_now_ns;

static uint64_t fake_clock(void)
{
    return fake_now_ns;
}

/* "": the name that the address has. */
static void note(uint64_t address, uint32_t correlation_id, const char *text)
{
    union {
        struct kernel_name_record record;
        uint8_t bytes[512];
    } name = {.record = {.address = address,
                         .correlation_id = correlation_id,
                         .text_bytes = (uint32_t)strlen(text)}};
    strcpy(name.record.text, text);
    kernel_texts_note(&name.record);
}

static const char *find(uint32_t correlation_id, const char *name, uint64_t node, uint64_t start_ns)
{
    struct activity_record record = {
        .correlation_id = correlation_id, .name = name, .graph_node_id = node, .start_ns = start_ns};
    return kernel_texts_find(&record);
}

static void expect(uint32_t correlation_id, const char *want)
{
    const char *text = find(correlation_id, (const char *)16, 0, fake_now_ns); /* never followed */
    assert_non_null(text);
    assert_string_equal(text, want);
}

static int begin(void **state)
{
    counters_reset();
    fake_now_ns = 1000 * NS_PER_SECOND;
    atomic_store(&launch_names.unloaded, 0);
    return kernel_texts_create(KEPT_NS, true) == STATUS_OK ? 0 : 1;
}

static int end(void **state)
{
    kernel_texts_destroy();
    return 0;
}

static void test_a_launch_has_the_name_of_its_address_at_that_time(void **state)
{
    note(0x100, 1, "one");
    note(0x100, 2, "");
    note(0x200, 3, "other");
    note(0x100, 4, "two"); /* its module was unloaded, and another one has the address */
    note(0x100, 5, "");
    note(0x200, 6, "");
    expect(1, "one");
    expect(2, "one");
    expect(3, "other");
    expect(4, "two");
    expect(5, "two");
    expect(6, "other");
    note(0x300, 8, "late"); /* rings are drained one after the other */
    note(0x300, 20, "new");
    note(0x300, 9, "");
    expect(9, "late");
    note(0x400, 40, "after"); /* of a ring that was drained before */
    note(0x400, 30, "before");
    note(0x400, 50, "");
    note(0x400, 35, "");
    expect(50, "after");
    expect(35, "before");
    assert_int_equal(counter_get(COUNTER_kernels_nameless), 0);
}

static void test_cupti_s_own_kernels_have_the_ids_of_launches(void **state)
{
    note(0x100, 1, "counted");
    assert_string_equal(find(1, "WaitNs", 0, fake_now_ns), "WaitNs");
    expect(1, "counted");
}

static void test_ids_wrap_around(void **state)
{
    note(0x100, UINT32_MAX - 1, "one");
    note(0x100, 3, "");
    expect(3, "one");
    note(0x100, 4, "two");
    note(0x100, UINT32_MAX, "");
    expect(UINT32_MAX, "one");
    note(0x100, 1u << 31, ""); /* long after, without another name */
    expect(1u << 31, "two");
    note(0x100, 3u << 30, "");
    expect(3u << 30, "two");
}

static void test_names_beyond_the_memory_are_unknown_until_it_is_free(void **state)
{
    char text[300];
    kernel_texts_destroy();
    assert_int_equal(kernel_texts_create(0, true), STATUS_OK);
    memset(text, 'k', sizeof text);
    for (uint32_t i = 1; i <= 40000; i++) {
        sprintf(text + 200, "%u", i);
        uint64_t era = atomic_load(&launch_names.era);
        note(0x1000 + i, i, text);
        expect(i, text);
        if (era != atomic_load(&launch_names.era) &&
            i > 5000) { /* a half was emptied: those before are there */
            sprintf(text + 200, "%u", i - 300);
            expect(i - 300, text);
        }
    }
    assert_null(find(1, NULL, 0, fake_now_ns));
    kernel_texts_destroy();
    assert_int_equal(kernel_texts_create(KEPT_NS, true), STATUS_OK);
    for (uint32_t i = 1; i <= 40000; i++) { /* the second half cannot be emptied so soon */
        sprintf(text + 200, "%u", i);
        note(0x1000 + i, i, text);
    }
    sprintf(text + 200, "%u", 1);
    expect(1, text);
    assert_null(find(40000, NULL, 0, fake_now_ns));
}

/* Without a launch of their own, such as nodes of graphs. */
static void test_other_texts_are_read_while_they_are_there(void **state)
{
    char *name = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(name != MAP_FAILED);
    name += PAGE_BYTES - 5; /* the next page is not mapped, or is another one */
    strcpy(name, "node");
    assert_string_equal(find(5, name, 1, fake_now_ns), "node");
    note(0x100, 6, "launched");
    assert_string_equal(find(6, name, 1, fake_now_ns), "node"); /* the launch of a graph is no name */
    fake_now_ns += NS_PER_SECOND;
    launch_names_unload(); /* of another module */
    assert_string_equal(find(7, name, 1, fake_now_ns - NS_PER_MS), "node");
    strcpy(name, "othr"); /* it was of this one, which is only freed now */
    assert_null(find(7, name, 1, fake_now_ns - NS_PER_MS));
    strcpy(name, "node");
    assert_string_equal(find(0, name, 1, fake_now_ns + NS_PER_SECOND), "node");
    launch_names_unload();
    strcpy(name, "othr");
    assert_null(find(8, name, 1, fake_now_ns - NS_PER_MS));
    assert_null(find(8, name, 1, fake_now_ns + NS_PER_MS)); /* CUPTI's clock may be off by so much */
    assert_string_equal(find(9, name, 1, fake_now_ns + NS_PER_SECOND), "othr");
    launch_names_unload();
    munmap(name - PAGE_BYTES + 5, PAGE_BYTES);
    assert_null(find(10, name, 1, fake_now_ns - NS_PER_MS));
    assert_null(find(10, name, 1, fake_now_ns + NS_PER_SECOND));
    assert_int_equal(counter_get(COUNTER_kernels_nameless), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_launch_has_the_name_of_its_address_at_that_time, begin, end),
        cmocka_unit_test_setup_teardown(test_cupti_s_own_kernels_have_the_ids_of_launches, begin, end),
        cmocka_unit_test_setup_teardown(test_ids_wrap_around, begin, end),
        cmocka_unit_test_setup_teardown(test_names_beyond_the_memory_are_unknown_until_it_is_free, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_other_texts_are_read_while_they_are_there, begin, end),
    };
    clock_source = fake_clock;
    clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
