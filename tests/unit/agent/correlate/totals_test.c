#include "agent/correlate/totals/totals.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define BASE_NS 1700000000000000000ull

static struct totals_pool *pool;
static struct totals totals;
static struct devices devices;
static struct span span;
static struct span_event events[4];

static int setup(void **state)
{
    memset(&totals, 0, sizeof totals);
    memset(&devices, 0, sizeof devices);
    memset(&span, 0, sizeof span);
    assert_int_equal(totals_pool_create(&pool), STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    totals_pool_destroy(pool);
    return 0;
}

static void add_work(struct totals *to, uint16_t kind, uint32_t device, uint64_t start, uint64_t end,
                     uint64_t delay, uint64_t bytes)
{
    struct activity_record record = {
        .kind = kind, .device_id = device, .start_ns = BASE_NS + start, .end_ns = BASE_NS + end};
    struct gpu_work work = {
        .record = &record, .call_start_ns = delay ? record.start_ns - delay : 0, .bytes = bytes};
    totals_add_work(pool, to, &work);
}

static void work_on(uint32_t device, uint64_t start, uint64_t end)
{
    add_work(&totals, ACTIVITY_KERNEL, device, start, end, 0, 0);
}

static uint64_t busy(void)
{
    return totals_gpu_ns(pool, &totals);
}

static const struct span_attr *attr(const char *key)
{
    for (uint32_t i = 0; i < span.attr_count; i++)
        if (strcmp(span.attrs[i].key->name, key) == 0)
            return &span.attrs[i];
    return NULL;
}

static void expect(const char *key, int64_t want)
{
    const struct span_attr *found = attr(key);
    if (!found)
        fail_msg("no %s", key);
    assert_int_equal(found->i, want);
}

static void expect_text(const char *key, const char *want)
{
    const struct span_attr *found = attr(key);
    if (!found)
        fail_msg("no %s", key);
    assert_int_equal(found->len, strlen(want));
    assert_memory_equal(found->s, want, found->len);
}

static void write_span(void)
{
    totals_write(pool, &totals, &devices, &span, events, 4);
}

/* --- the time in which a GPU was busy --- */

static void test_what_overlaps_counts_once(void **state)
{
    work_on(0, 100, 200);
    work_on(0, 150, 250);
    work_on(0, 120, 130);
    assert_int_equal(busy(), 150);
    work_on(0, 300, 400);
    assert_int_equal(busy(), 250);
    work_on(0, 250, 300); /* adjacent to both */
    assert_int_equal(busy(), 300);
    work_on(0, 50, 500);
    assert_int_equal(busy(), 450);
    work_on(0, 10, 20);
    work_on(0, 30, 30);
    assert_int_equal(busy(), 460);
    assert_false(totals.is_estimated);
}

static void test_devices_add_up(void **state)
{
    work_on(0, 100, 200);
    work_on(3, 150, 250);
    work_on(UINT32_MAX, 100, 101);
    assert_int_equal(busy(), 201);
}

/* In any order: compared with an array that has one cell per ns. */
static void test_any_order_has_the_same_union(void **state)
{
    static uint8_t cells[20000];
    srandom(7);
    for (int round = 0; round < 20; round++) {
        uint64_t want = 0;
        memset(cells, 0, sizeof cells);
        for (int i = 0; i < 1500; i++) {
            uint64_t start = (uint64_t)random() % 19000, length = (uint64_t)random() % (round % 2 ? 8 : 60);
            memset(cells + start, 1, length);
            work_on(0, start, start + length);
        }
        for (size_t i = 0; i < sizeof cells; i++)
            want += cells[i];
        assert_int_equal(busy(), want);
        assert_false(totals.is_estimated);
        totals_clear(pool, &totals);
    }
}

/* Far more intervals than fit. */
static void test_in_the_order_of_time_there_is_no_end_to_it(void **state)
{
    for (uint64_t i = 0; i < 100000; i++)
        work_on(0, 10 * i, 10 * i + 3);
    assert_int_equal(busy(), 300000);
    assert_false(totals.is_estimated);
    work_on(0, 10 * 99999 - 5, 10 * 99999 - 1); /* recent enough to be distinguished */
    assert_int_equal(busy(), 300004);
    assert_false(totals.is_estimated);
}

static void test_what_comes_far_too_late_is_an_estimate(void **state)
{
    for (uint64_t i = 0; i < 10000; i++)
        work_on(0, 10 * i, 10 * i + 3);
    work_on(0, 5, 25); /* a part of it was counted, and which part is no longer known */
    assert_int_equal(busy(), 30000);
    assert_true(totals.is_estimated);
    write_span();
    expect("cuda.total.estimated", 1);
    expect("cuda.total.kernels", 10001);
}

/* In reverse order, a new interval is always the oldest. */
static void test_backwards_there_is_no_harm(void **state)
{
    for (uint64_t i = 10000; i > 0; i--)
        work_on(0, 10 * i, 10 * i + 3);
    assert_in_range(busy(), 6000, 30000);
    assert_true(totals.is_estimated || busy() == 30000);
}

static void test_an_empty_pool_serves_who_is_in_order(void **state)
{
    enum { OTHERS = 20 };
    static struct totals others[OTHERS];
    memset(others, 0, sizeof others);
    for (unsigned i = 0; i < OTHERS; i++) {
        for (uint64_t at = 0; at < 2000; at++)
            add_work(&others[i], ACTIVITY_MEMCPY, 0, 10 * at, 10 * at + 2, 0, 1);
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        assert_int_equal(totals_gpu_ns(pool, &others[i]), 4000);
        assert_int_equal(others[i].copied_bytes, 2000);
    }
    work_on(0, 100, 200);
    assert_int_equal(busy(), 100);
    for (unsigned i = 0; i < OTHERS; i++)
        totals_clear(pool, &others[i]);
    totals_clear(pool, &totals);
    test_any_order_has_the_same_union(state); /* all memory was returned */
}

static void test_more_totals_than_devices(void **state)
{
    static struct totals many[8193];
    memset(many, 0, sizeof many);
    for (unsigned i = 0; i < 8193; i++)
        add_work(&many[i], ACTIVITY_KERNEL, 0, 0, 5, 0, 0);
    assert_int_equal(totals_gpu_ns(pool, &many[8191]), 5);
    assert_int_equal(totals_gpu_ns(pool, &many[8192]), 0);
    assert_true(many[8192].is_estimated);
    assert_int_equal(many[8192].kernels, 1);
}

/* --- other totals --- */

static void call(const char *group_of, uint64_t start, uint64_t end, int32_t result)
{
    struct call_record record = {.head = {.domain = CALL_RUNTIME},
                                 .start_ns = BASE_NS + start,
                                 .end_ns = BASE_NS + end,
                                 .result = result};
    for (uint16_t cbid = 1; cbid < call_count_runtime; cbid++) {
        const struct call_info *info = call_info(CALL_RUNTIME, cbid);
        if (info && strcmp(call_name(info), group_of) == 0) {
            totals_add_call(&totals, info, &record);
            return;
        }
    }
    fail_msg("no call %s", group_of);
}

static void test_calls_and_work_are_counted(void **state)
{
    strcpy(devices.ids[0], "GPU-1");
    call("cudaLaunchKernel", 50, 60, 0);
    call("cudaGraphLaunch", 60, 75, 0);
    call("cudaDeviceSynchronize", 80, 180, 0);
    call("cudaMalloc", 200, 207, 2);
    call("cudaMemcpy", 210, 211, 1);
    add_work(&totals, ACTIVITY_MEMCPY_PEER, 0, 500, 600, 450, 4096);
    add_work(&totals, ACTIVITY_MEMSET, 0, 700, 720, 10, 64);
    add_work(&totals, ACTIVITY_GRAPH_TRACE, 0, 800, 900, 0, 0);
    write_span();
    assert_int_equal(totals.first_ns, BASE_NS + 50);
    assert_int_equal(totals.last_ns, BASE_NS + 900);
    assert_int_equal(totals.first_error, 2);
    expect("cuda.total.calls", 5);
    expect("cuda.total.errors", 2);
    expect("cuda.total.call_time", 133);
    expect("cuda.total.launch_time", 25);
    expect("cuda.total.sync_time", 100);
    expect("cuda.total.gpu_time", 220);
    expect("cuda.total.start_delay", 460);
    expect("cuda.total.kernels", 0);
    expect("cuda.total.copies", 1);
    expect("cuda.total.copy_bytes", 4096);
    expect("cuda.total.fills", 1);
    expect("cuda.total.fill_bytes", 64);
    expect("cuda.total.graphs", 1);
    expect("cuda.device.id", 0);
    expect_text("hw.id", "GPU-1");
    assert_null(attr("cuda.total.slowest.kernels"));
    assert_null(attr("cuda.total.estimated"));
    assert_null(attr("cuda.total.incomplete"));
    assert_int_equal(span.event_count, 0);
}

static void test_what_is_zero_is_left_out(void **state)
{
    write_span();
    assert_int_equal(span.attr_count, 0);
    call("cudaMalloc", 200, 207, 0);
    write_span();
    assert_int_equal(span.attr_count, 4); /* calls, their time, the GPU's time, kernels */
}

static void test_several_devices_have_an_event_each(void **state)
{
    strcpy(devices.ids[1], "GPU-b");
    for (uint32_t device = 0; device < 6; device++)
        work_on(device, 100, 110 + device);
    span.event_count = 1; /* the span's own */
    write_span();
    assert_null(attr("cuda.device.id"));
    expect("cuda.total.gpu_time", 75);
    assert_int_equal(span.event_count, 4);
    assert_int_equal(span.events_dropped, 3);
    assert_ptr_equal(span.events, events);
    assert_string_equal(events[2].name, "cuda.device.worked");
    assert_int_equal(events[2].time_ns, BASE_NS + 111);
    assert_int_equal(events[2].attr_count, 3);
    assert_int_equal(events[2].attrs[0].i, 1);
    assert_int_equal(events[2].attrs[1].i, 11);
    assert_string_equal(events[2].attrs[2].s, "GPU-b");
    assert_int_equal(events[1].attr_count, 2); /* no hw.id is known */
}

/* --- the slowest kernels --- */

static void kernel(const char *name, uint64_t duration)
{
    if (totals_wants_kernel(&totals, duration))
        totals_add_kernel(&totals, totals_label(pool, name, (uint32_t)strlen(name)), duration);
}

static void expect_slowest(unsigned place, const char *name, int64_t duration)
{
    const struct span_attr *names = attr("cuda.total.slowest.kernels");
    const struct span_attr *durations = attr("cuda.total.slowest.durations");
    assert_true(names && place <= names->len && durations->len == names->len);
    assert_int_equal(names->items[place - 1].len, strlen(name));
    assert_memory_equal(names->items[place - 1].s, name, strlen(name));
    assert_int_equal(durations->items[place - 1].i, duration);
}

static void test_the_slowest_are_of_different_names(void **state)
{
    work_on(0, 1, 2);
    kernel("a", 10);
    kernel("b", 20);
    write_span();
    expect_slowest(1, "b", 20);
    expect_slowest(2, "a", 10);
    assert_int_equal(attr("cuda.total.slowest.kernels")->len, 2);
    span.attr_count = 0;
    kernel("a", 30); /* moves ahead of b */
    kernel("c", 5);
    kernel("d", 7); /* c is evicted */
    kernel("b", 15);
    kernel("d", 6);
    kernel("c", 25); /* and returns */
    kernel("nothing", 0);
    write_span();
    expect_slowest(1, "a", 30);
    expect_slowest(2, "c", 25);
    expect_slowest(3, "b", 20);
}

/* Compared with all executions. */
static void test_the_slowest_of_many(void **state)
{
    uint64_t longest[40] = {0};
    char name[32];
    srandom(11);
    work_on(0, 1, 2);
    for (int i = 0; i < 5000; i++) {
        unsigned which = (unsigned)random() % 40;
        uint64_t duration = (uint64_t)i * 1000003 % 999983 + 1; /* no two are the same */
        longest[which] = duration > longest[which] ? duration : longest[which];
        snprintf(name, sizeof name, "kernel %u", which);
        kernel(name, duration);
    }
    write_span();
    for (unsigned place = 1; place <= 3; place++) {
        unsigned best = 0;
        for (unsigned i = 1; i < 40; i++)
            best = longest[i] > longest[best] ? i : best;
        snprintf(name, sizeof name, "kernel %u", best);
        expect_slowest(place, name, (int64_t)longest[best]);
        longest[best] = 0;
    }
}

static void test_names_beyond_the_room_have_one_together(void **state)
{
    char name[64];
    uint32_t first = totals_label(pool, "first", 5), last = 0;
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "a kernel of which there is one, %d", i);
        last = totals_label(pool, name, (uint32_t)strlen(name));
    }
    assert_int_equal(totals_label(pool, "first", 5), first);
    assert_int_equal(totals_label(pool, "one more", 8), last);
    work_on(0, 1, 2);
    totals_add_kernel(&totals, last, 9);
    write_span();
    expect_slowest(1, "(other kernels)", 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_overlaps_counts_once),
        TEST(test_devices_add_up),
        TEST(test_any_order_has_the_same_union),
        TEST(test_in_the_order_of_time_there_is_no_end_to_it),
        TEST(test_what_comes_far_too_late_is_an_estimate),
        TEST(test_backwards_there_is_no_harm),
        TEST(test_an_empty_pool_serves_who_is_in_order),
        TEST(test_more_totals_than_devices),
        TEST(test_calls_and_work_are_counted),
        TEST(test_what_is_zero_is_left_out),
        TEST(test_several_devices_have_an_event_each),
        TEST(test_the_slowest_are_of_different_names),
        TEST(test_the_slowest_of_many),
        TEST(test_names_beyond_the_room_have_one_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
