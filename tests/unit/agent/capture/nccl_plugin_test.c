/* A stand-in for NCCL calls the plugin as NCCL 2.23 to 2.29 do. */
#include "agent/capture/plugin/nccl_plugin.h"

#include "agent/capture/context/range.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/mode.h"
#include "model/span.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

_Atomic uint8_t mode_now;
static char told[4096];

bool range_is_captured(void)
{
    return mode_now == MODE_ON;
}

bool range_mark(const struct range_text *text)
{
    size_t used = strlen(told);
    used += (size_t)snprintf(told + used, sizeof told - used, "%.*s", (int)text->name_bytes, text->name);
    for (uint32_t i = 0; i < text->attr_count; i++) {
        const struct range_attr *attr = &text->attrs[i];
        const char *key = attr->key;
        int key_bytes = (int)attr->key_bytes;
        if (attr->type == ATTR_STRING)
            used += (size_t)snprintf(told + used, sizeof told - used, " %.*s=%.*s", key_bytes, key,
                                     (int)attr->bytes, attr->s);
        else
            used += (size_t)snprintf(told + used, sizeof told - used, " %.*s=%lld", key_bytes, key,
                                     (long long)attr->i);
    }
    snprintf(told + used, sizeof told - used, "\n");
    return true;
}

#define EXPECTED                                                                                             \
    "nccl nccl=AllReduce c=77 o=5 d=ncclBfloat16 a=RING r=LL128\n"                                           \
    "nccl nccl=Send c=77 p=3 d=ncclFloat32\n"

static int setup(void **state)
{
    mode_now = MODE_ON;
    told[0] = 0;
    return 0;
}

static void expect_told(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = 0;
}

/* NCCL up to 2.27 starts a group's event first, and reports the rest only with its handle. */
static void start_group(int (*start)(void *, void **, void *), void *context)
{
    struct nccl_event_head group = {.type_v1 = NCCL_PROFILE_GROUP};
    void *handle = NULL;
    assert_int_equal(start(context, &handle, &group), 0);
    assert_non_null(handle);
    expect_told("");
}

/* No handle, so NCCL makes no further calls for the event. */
#define START(plugin, context, event)                                                                        \
    do {                                                                                                     \
        void *handle_ = &told;                                                                               \
        assert_int_equal((plugin).startEvent(context, &handle_, &(event)), 0);                               \
        assert_null(handle_);                                                                                \
    } while (0)

static void test_version_1_has_numbers(void **state)
{
    int mask = 0;
    void *context = NULL;
    assert_int_equal(ncclProfiler_v1.init(&context, &mask), 0);
    assert_int_equal(mask, NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P);
    assert_non_null(context);
    struct nccl_coll_v1 coll = {.head = {{.type_v1 = NCCL_PROFILE_COLL}, NULL, 2},
                                .commHash = 77,
                                .seqNumber = 5,
                                .func = 4,
                                .datatype = 9,
                                .algo = 1,
                                .proto = 1};
    struct nccl_p2p_v1 p2p = {.head = {{.type_v1 = NCCL_PROFILE_P2P}, NULL, 2},
                              .commHash = 77,
                              .func = 6,
                              .datatype = 7,
                              .peer = 3};
    start_group(ncclProfiler_v1.startEvent, context);
    START(ncclProfiler_v1, context, coll);
    START(ncclProfiler_v1, context, p2p);
    expect_told(EXPECTED);
    coll.func = coll.datatype = coll.algo = coll.proto = 200; /* unknown */
    START(ncclProfiler_v1, context, coll);
    expect_told("");
    coll.func = 4;
    START(ncclProfiler_v1, context, coll);
    expect_told("nccl nccl=AllReduce c=77 o=5\n");
    assert_int_equal(ncclProfiler_v1.stopEvent(&told), 0);
    assert_int_equal(ncclProfiler_v1.recordEventState(&told, 3, NULL), 0);
    assert_int_equal(ncclProfiler_v1.finalize(context), 0);
}

static void test_versions_2_and_3_have_names(void **state)
{
    int mask = 0;
    void *context = NULL;
    struct nccl_coll_v2 coll_v2 = {.head = {{.type_v1 = NCCL_PROFILE_COLL}, NULL, 2},
                                   .commHash = 77,
                                   .seqNumber = 5,
                                   .func = "AllReduce",
                                   .datatype = "ncclBfloat16",
                                   .algo = "RING",
                                   .proto = "LL128"};
    struct nccl_coll_v3 coll_v3 = {.head = coll_v2.head,
                                   .commHash = 77,
                                   .seqNumber = 5,
                                   .func = "AllReduce",
                                   .datatype = "ncclBfloat16",
                                   .algo = "RING",
                                   .proto = "LL128"};
    struct nccl_p2p_v2 p2p = {.head = {{.type_v1 = NCCL_PROFILE_P2P}, NULL, 2},
                              .commHash = 77,
                              .func = "Send",
                              .datatype = "ncclFloat32",
                              .peer = 3};
    assert_int_equal(ncclProfiler_v2.init(&context, &mask), 0);
    start_group(ncclProfiler_v2.startEvent, context);
    START(ncclProfiler_v2, context, coll_v2);
    START(ncclProfiler_v2, context, p2p);
    expect_told(EXPECTED);
    assert_int_equal(ncclProfiler_v3.init(&context, &mask), 0);
    start_group(ncclProfiler_v3.startEvent, context);
    START(ncclProfiler_v3, context, coll_v3);
    START(ncclProfiler_v3, context, p2p);
    expect_told(EXPECTED);
}

static struct nccl_coll_v4 coll = {.head = {{.type_v5 = NCCL_PROFILE_COLL}, NULL, 2},
                                   .seqNumber = 5,
                                   .func = "AllReduce",
                                   .datatype = "ncclBfloat16",
                                   .algo = "RING",
                                   .proto = "LL128"};
static struct nccl_p2p_v4 p2p = {
    .head = {{.type_v5 = NCCL_PROFILE_P2P}, NULL, 2}, .func = "Send", .datatype = "ncclFloat32", .peer = 3};

static void test_version_4_has_the_communicator_at_init(void **state)
{
    int mask = 0;
    void *context = NULL, *other = NULL;
    assert_int_equal(ncclProfiler_v4.init(&context, &mask, "name", 77, 1, 8, 2, NULL), 0);
    assert_int_equal(ncclProfiler_v4.init(&other, &mask, NULL, 78, 1, 8, 2, NULL), 0);
    start_group(ncclProfiler_v4.startEvent, context);
    START(ncclProfiler_v4, context, coll);
    START(ncclProfiler_v4, context, p2p);
    expect_told(EXPECTED);
    START(ncclProfiler_v4, other, coll);
    assert_non_null(strstr(told, " c=78 "));
    ncclProfiler_v4.finalize(context);
    ncclProfiler_v4.finalize(other);
}

static void start_with(const struct nccl_profiler_v5 *plugin)
{
    int mask = 0;
    void *context = NULL;
    assert_int_equal(plugin->init(&context, 77, &mask, NULL, 1, 8, 2, NULL), 0);
    assert_true(mask & NCCL_PROFILE_COLL);
    START(*plugin, context, coll);
    START(*plugin, context, p2p);
    expect_told(EXPECTED);
    for (int bit = 3; bit < 64; bit++) { /* calls of the API, kernels, proxies, copy engines */
        struct nccl_event_head other = {.type_v5 = 1ull << bit};
        START(*plugin, context, other);
    }
    struct nccl_event_head mixed = {.type_v5 = 1 << 12 | NCCL_PROFILE_COLL};
    START(*plugin, context, mixed);
    expect_told("");
    plugin->finalize(context);
    START(*plugin, context, coll); /* too late */
    expect_told("");
}

static void test_versions_5_and_6(void **state)
{
    start_with(&ncclProfiler_v5);
    start_with(&ncclProfiler_v6);
}

static void test_events_may_come_out_of_order(void **state)
{
    int mask = 0;
    void *contexts[3];
    for (uint64_t i = 0; i < 3; i++)
        ncclProfiler_v5.init(&contexts[i], 100 + i, &mask, NULL, 1, 8, 2, NULL);
    ncclProfiler_v5.stopEvent(&told); /* before any start */
    ncclProfiler_v5.finalize(contexts[1]);
    START(ncclProfiler_v5, contexts[2], coll);
    assert_non_null(strstr(told, " c=102 "));
    START(ncclProfiler_v5, contexts[0], coll);
    assert_non_null(strstr(told, " c=100 "));
    ncclProfiler_v5.finalize(contexts[0]);
    ncclProfiler_v5.finalize(contexts[0]);
    void *again;
    ncclProfiler_v5.init(&again, 103, &mask, NULL, 1, 8, 2, NULL);
    START(ncclProfiler_v5, again, p2p);
    assert_non_null(strstr(told, " c=103 "));
    ncclProfiler_v5.finalize(again);
    ncclProfiler_v5.finalize(contexts[2]);
    START(ncclProfiler_v5, NULL, coll);
}

static void test_too_many_communicators_have_no_events(void **state)
{
    static void *contexts[NCCL_COMMUNICATORS_MAX + 1];
    int mask = 0;
    for (uint64_t i = 0; i <= NCCL_COMMUNICATORS_MAX; i++)
        assert_int_equal(ncclProfiler_v5.init(&contexts[i], 1000 + i, &mask, NULL, 1, 8, 2, NULL), 0);
    START(ncclProfiler_v5, contexts[NCCL_COMMUNICATORS_MAX], coll);
    expect_told("");
    for (uint64_t i = 0; i <= NCCL_COMMUNICATORS_MAX; i++)
        ncclProfiler_v5.finalize(contexts[i]);
}

static void test_tells_ranks(void **state)
{
    int mask = 0;
    void *context;
    struct range_attr attrs[NCCL_CALL_ATTRS_MAX];
    struct nccl_values values = {.present = 1u << NCCL_COMMUNICATOR};
    values.value[NCCL_COMMUNICATOR] = 0xf00;
    ncclProfiler_v5.init(&context, 0xf00, &mask, NULL, 1, 16, 9, NULL); /* of ncclCommSplit */
    assert_int_equal(nccl_note_call("ncclAllReduce", 13, &values, attrs, NULL), 3);
    assert_int_equal(attrs[1].i, 16);
    assert_int_equal(attrs[2].i, 9);
    ncclProfiler_v5.finalize(context);
}

static void test_is_silent_without_the_agent(void **state)
{
    int mask = -1;
    void *context;
    mode_now = MODE_OFF;
    assert_int_equal(ncclProfiler_v1.init(&context, &mask), 0);
    assert_int_equal(mask, 0);
    mask = -1;
    assert_int_equal(ncclProfiler_v6.init(&context, 77, &mask, NULL, 1, 8, 2, NULL), 0);
    assert_int_equal(mask, 0);
    START(ncclProfiler_v6, context, coll);
    mode_now = MODE_ASLEEP;
    ncclProfiler_v6.finalize(context);
    assert_int_equal(ncclProfiler_v6.init(&context, 77, &mask, NULL, 1, 8, 2, NULL), 0);
    assert_int_not_equal(mask, 0); /* it may wake up */
    START(ncclProfiler_v6, context, coll);
    expect_told("");
    ncclProfiler_v6.finalize(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_version_1_has_numbers, setup),
        cmocka_unit_test_setup(test_versions_2_and_3_have_names, setup),
        cmocka_unit_test_setup(test_version_4_has_the_communicator_at_init, setup),
        cmocka_unit_test_setup(test_versions_5_and_6, setup),
        cmocka_unit_test_setup(test_events_may_come_out_of_order, setup),
        cmocka_unit_test_setup(test_tells_ranks, setup),
        cmocka_unit_test_setup(test_too_many_communicators_have_no_events, setup),
        cmocka_unit_test_setup(test_is_silent_without_the_agent, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
