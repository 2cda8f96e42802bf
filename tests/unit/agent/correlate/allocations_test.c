#include "agent/correlate/totals/allocations.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024ull * 1024)

static struct allocations *a;

static int setup(void **state)
{
    counters_reset();
    assert_int_equal(allocations_create(&a), STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    allocations_destroy(a);
    return 0;
}

/* The newest call of this name: earlier versions have other parameters. */
static uint32_t find(enum call_domain domain, const char *name)
{
    uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint32_t id = count; id-- > 0;) {
        const struct call_info *info = call_info(domain, id);
        if (info && strcmp(call_name(info), name) == 0)
            return id;
    }
    fail_msg("there is no %s", name);
    return 0;
}

/* All parameters except the last `missing`. These calls have no dim3 and no strings. */
static void call_with(const char *name, uint32_t context, int32_t result, const uint64_t *values,
                      unsigned count)
{
    static union {
        struct call_record call;
        uint8_t room[CALL_RECORD_BYTES];
    } record;
    enum call_domain domain = strncmp(name, "cuda", 4) == 0 ? CALL_RUNTIME : CALL_DRIVER;
    uint32_t id = find(domain, name);
    memset(&record, 0, sizeof record);
    record.call.head.domain = (uint8_t)domain;
    record.call.head.cbid = (uint16_t)id;
    record.call.context_id = context;
    record.call.result = result;
    record.call.present = (1u << count) - 1;
    memcpy(record.call.values, values, count * sizeof *values);
    allocations_note(a, call_info(domain, id), &record.call);
}
#define CALL(name, context, ...)                                                                             \
    call_with(name, context, 0, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static struct memory_use use_of(uint32_t device, enum memory_kind kind)
{
    const struct device_memory *memory = allocations_of_device(a, device);
    return kind == MEMORY_KINDS ? memory->total : memory->kinds[kind];
}

static void expect(uint32_t device, enum memory_kind kind, uint64_t live, uint64_t peak)
{
    assert_int_equal(use_of(device, kind).live, live);
    assert_int_equal(use_of(device, kind).peak, peak);
}

static void test_each_kind_is_told_apart(void **state)
{
    allocations_learn(a, 1, 3);
    CALL("cudaMalloc", 1, 0x1000, 100);
    CALL("cuMemAlloc", 1, 0x2000, 50);
    CALL("cudaMallocManaged", 1, 0x3000, 10, 1);
    CALL("cudaMallocAsync", 1, 0x4000, 7, 0);
    CALL("cudaMallocFromPoolAsync", 1, 0x5000, 3, 1, 0);
    CALL("cuMemCreate", 1, 0x99, 1000, 1, 0, 1, 3, 0);
    CALL("cudaHostAlloc", 1, 0x6000, 5000, 0);
    CALL("cudaMallocPitch", 1, 0x7000, 512, 400, 10);
    CALL("cudaHostRegister", 1, 0x8000, 1 << 20, 0);
    expect(3, MEMORY_DEVICE, 5270, 5270);
    expect(3, MEMORY_MANAGED, 10, 10);
    expect(3, MEMORY_POOL, 10, 10);
    expect(3, MEMORY_PHYSICAL, 1000, 1000);
    expect(3, MEMORY_KINDS, 6290, 6290);
    assert_int_equal(allocations_pinned(a).live, 5000);
    CALL("cudaFree", 1, 0x1000);
    CALL("cudaFreeAsync", 1, 0x4000, 0);
    CALL("cuMemRelease", 1, 0x99);
    CALL("cudaFreeHost", 1, 0x6000);
    CALL("cudaFree", 1, 0);
    CALL("cudaFree", 1, 0xdead);
    expect(3, MEMORY_DEVICE, 5170, 5270);
    expect(3, MEMORY_POOL, 3, 10);
    expect(3, MEMORY_PHYSICAL, 0, 1000);
    expect(3, MEMORY_KINDS, 5183, 6290);
    assert_int_equal(allocations_pinned(a).live, 0);
    assert_int_equal(allocations_pinned(a).peak, 5000);
}

static void test_what_failed_or_has_no_parameters_does_not_count(void **state)
{
    allocations_learn(a, 1, 0);
    call_with("cudaMalloc", 1, 2, (uint64_t[]){0x1000, 100}, 2);
    call_with("cudaMalloc", 1, 0, (uint64_t[]){0x1000}, 1);
    call_with("cudaMalloc", 1, 0, (uint64_t[]){0}, 0);
    expect(0, MEMORY_KINDS, 0, 0);
}

static void test_an_address_that_is_given_again_counts_once(void **state)
{
    allocations_learn(a, 1, 0);
    CALL("cudaMalloc", 1, 0x1000, 100);
    CALL("cudaMalloc", 1, 0x1000, 30);
    expect(0, MEMORY_DEVICE, 30, 100);
}

static void test_memory_finds_its_device_later(void **state)
{
    CALL("cudaMalloc", 0, 0x1000, 100); /* it creates the context */
    CALL("cudaMalloc", 1, 0x2000, 50);
    CALL("cudaFree", 1, 0x2000);
    expect(2, MEMORY_DEVICE, 0, 0);
    allocations_learn(a, 1, 2);
    expect(2, MEMORY_DEVICE, 100, 100 > 50 ? 100 : 50);
    CALL("cudaMalloc", 1, 0x3000, 7);
    CALL("cudaFree", 1, 0x1000);
    expect(2, MEMORY_DEVICE, 7, 107);
}

static void test_a_context_takes_its_memory_along(void **state)
{
    allocations_learn(a, 1, 0);
    allocations_learn(a, 2, 0);
    for (uint64_t i = 1; i <= 600; i++)
        CALL("cudaMalloc", i % 2 ? 1u : 2u, i * 512, 10);
    CALL("cudaHostAlloc", 1, 0x99000000, 5000, 0);
    allocations_end_context(a, 1);
    expect(0, MEMORY_DEVICE, 3000, 6000);
    assert_int_equal(allocations_pinned(a).live, 5000);
    for (uint64_t i = 2; i <= 600; i += 2)
        CALL("cudaFree", 2, i * 512);
    expect(0, MEMORY_DEVICE, 0, 6000);
}

/* Compares with a plain list, in an order that causes collisions. */
static void test_random_allocations_add_up(void **state)
{
    static uint64_t sizes[4000];
    uint64_t live = 0, peak = 0, seed = 1;
    memset(sizes, 0, sizeof sizes);
    allocations_learn(a, 1, 0);
    for (unsigned i = 0; i < 60000; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t at = (seed >> 33) % 4000, address = 0x7f0000000000 + at * 2 * MIB;
        if (sizes[at]) {
            CALL("cudaFree", 1, address);
            live -= sizes[at];
            sizes[at] = 0;
        } else {
            sizes[at] = (seed >> 20) % 100000 + 1;
            CALL("cudaMalloc", 1, address, sizes[at]);
            live += sizes[at];
        }
        peak = live > peak ? live : peak;
    }
    expect(0, MEMORY_DEVICE, live, peak);
    assert_int_equal(counter_get(COUNTER_allocations_untracked), 0);
}

static void test_what_finds_no_place_is_counted(void **state)
{
    allocations_learn(a, 1, 0);
    for (uint64_t i = 1; i <= ALLOCATIONS_MAX + 10; i++)
        CALL("cudaMalloc", 1, i * 256, 1);
    assert_int_equal(counter_get(COUNTER_allocations_untracked), 10);
    expect(0, MEMORY_DEVICE, ALLOCATIONS_MAX, ALLOCATIONS_MAX);
    for (uint64_t i = 1; i <= ALLOCATIONS_MAX + 10; i++)
        CALL("cudaFree", 1, i * 256);
    expect(0, MEMORY_DEVICE, 0, ALLOCATIONS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_kind_is_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_failed_or_has_no_parameters_does_not_count, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_an_address_that_is_given_again_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_finds_its_device_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_context_takes_its_memory_along, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_allocations_add_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_finds_no_place_is_counted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
