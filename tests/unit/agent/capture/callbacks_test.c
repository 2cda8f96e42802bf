#include "agent/capture/callbacks/callbacks.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/capture/callbacks/callback_time.h"
#include "agent/capture/capture.h"
#include "agent/capture/callbacks/graph_nodes.h"
#include "agent/capture/callbacks/launch_names.h"
#include "agent/abi/params.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/stacks/launch_stacks.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Four large rings and four of 16 KiB. */
#define RING_BYTES  (32 * 1024)
#define TOTAL_BYTES (196 * 1024)

static uint64_t fake_now_ns;
static _Thread_local uint32_t calls_at_clock; /* in progress on this thread when the clock was last read */

static uint64_t fake_clock(void)
{
    calls_at_clock = thread_known() ? thread_calls(thread_known()) : 0;
    return fake_now_ns;
}

struct call {
    enum call_domain domain;
    uint32_t cbid;
    const struct call_info *info;
    int32_t result;
    uint64_t correlation_data;
    _Alignas(8) uint8_t params[256];
    struct cupti_callback_data data;
};

static void find(struct call *call, enum call_domain domain, const char *name, uint32_t correlation_id)
{
    uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    *call = (struct call){.domain = domain};
    for (uint32_t cbid = 1; cbid < count && !call->info; cbid++) {
        const struct call_info *info = call_info(domain, cbid);
        if (info && strcmp(call_name(info), name) == 0) {
            call->info = info;
            call->cbid = cbid;
        }
    }
    assert_non_null(call->info);
    call->data = (struct cupti_callback_data){.functionParams = call->params,
                                              .functionReturnValue = &call->result,
                                              .contextUid = 3,
                                              .correlationData = &call->correlation_data,
                                              .correlationId = correlation_id};
}

static uint8_t param_index(const struct call *call, const char *name)
{
    for (uint8_t i = 0; i < call->info->param_count; i++)
        if (strcmp(call_param_keys[call_params[call->info->param + i].key].name, name) == 0)
            return i;
    fail_msg("no parameter %s", name);
    return 0;
}

static const struct param_source *source_of(const struct call *call, const char *name)
{
    return &param_sources[call->info->param + param_index(call, name)];
}

static void set(struct call *call, const char *name, const void *value, size_t size)
{
    const struct param_source *source = source_of(call, name);
    memcpy(call->params + source->offset, value, size);
}

#define SET(call, name, type, value) set(call, name, &(type){value}, sizeof(type))

static void enter(struct call *call)
{
    call->data.callbackSite = CUPTI_SITE_ENTER;
    callbacks_handle(NULL, call->domain, call->cbid, &call->data);
}

static void leave(struct call *call)
{
    call->data.callbackSite = CUPTI_SITE_EXIT;
    callbacks_handle(NULL, call->domain, call->cbid, &call->data);
}

static const struct record_head *next(void)
{
    return thread_known() ? ring_peek(&thread_known()->ring, ring_published(&thread_known()->ring)) : NULL;
}

static const struct call_record *next_call(void)
{
    const struct record_head *head = next();
    assert_non_null(head);
    assert_int_equal(head->type, RECORD_CALL);
    return (const struct call_record *)head;
}

static void release(void)
{
    ring_release(&thread_known()->ring);
}

/* The words of the parameter; NULL if not in the record. */
static const uint64_t *value_of(const struct call_record *record, const struct call *call, const char *name)
{
    uint8_t wanted = param_index(call, name);
    const uint64_t *words = record->values;
    if (!(record->present >> wanted & 1))
        return NULL;
    for (uint8_t i = 0; i < wanted; i++) {
        if (!(record->present >> i & 1))
            continue;
        uint8_t type = call_params[call->info->param + i].type;
        words += type == PARAM_STRING ? 1 + (words[0] + 7) / 8 : type == PARAM_DIM3 ? 2 : 1;
    }
    assert_true((const uint8_t *)words < (const uint8_t *)record + record->head.bytes);
    return words;
}

static uint64_t integer(const struct call_record *record, const struct call *call, const char *name)
{
    const uint64_t *words = value_of(record, call, name);
    assert_non_null(words);
    return *words;
}

static int setup(void **state)
{
    while (next())
        release();
    counters_reset();
    if (thread_current()) {
        memset(thread_known()->ring.data, 0xee, thread_known()->ring.bytes); /* other records precede it */
        atomic_store(&thread_known()->lost, 0);
        atomic_store(&thread_known()->notes_lost, 0);
        thread_known()->runtime_correlation = 0;
    }
    memset(&callbacks_signals, 0, sizeof callbacks_signals);
    callbacks_on_graph = NULL;
    graph_nodes_id_source = NULL;
    graph_nodes_have_code = false;
    atomic_store(&mode_now, MODE_ON);
    fake_now_ns = 1000000;
    clock_source = fake_clock;
    return callbacks_init(true) != STATUS_OK;
}

static int setup_all(void **state)
{
    return threads_init(RING_BYTES, TOTAL_BYTES) != STATUS_OK;
}

static void test_a_call_becomes_a_record(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaLaunchKernel", 77);
    SET(&call, "cuda.arg.function", uint64_t, 0x7f1234567890);
    set(&call, "cuda.arg.grid", (uint32_t[]){1, 2, 3}, 12);
    set(&call, "cuda.arg.block", (uint32_t[]){256, 0xffffffff, 5}, 12);
    SET(&call, "cuda.arg.shared_memory", uint64_t, 4096);
    SET(&call, "cuda.arg.stream", uint64_t, 0);
    enter(&call);
    assert_null(next());
    fake_now_ns += 2500;
    leave(&call);
    const struct call_record *record = next_call();
    assert_int_equal(record->head.domain, CALL_RUNTIME);
    assert_int_equal(record->head.cbid, call.cbid);
    assert_int_equal(record->head.bytes % 8, 0);
    assert_int_equal(record->head.bytes, 40 + 8 * (1 + 2 + 2 + 1 + 1));
    assert_int_equal(record->start_ns, 1000000);
    assert_int_equal(record->end_ns, 1002500);
    assert_int_equal(record->correlation_id, 77);
    assert_int_equal(record->context_id, 3);
    assert_int_equal(record->result, 0);
    assert_int_equal(record->present, 0x1f);
    assert_int_equal(integer(record, &call, "cuda.arg.function"), 0x7f1234567890);
    assert_int_equal(value_of(record, &call, "cuda.arg.grid")[0], 1 | 2ull << 32);
    assert_int_equal(value_of(record, &call, "cuda.arg.grid")[1], 3);
    assert_int_equal(value_of(record, &call, "cuda.arg.block")[0], 256 | 0xffffffffull << 32);
    assert_int_equal(value_of(record, &call, "cuda.arg.block")[1], 5);
    assert_int_equal(integer(record, &call, "cuda.arg.shared_memory"), 4096);
    assert_int_equal(integer(record, &call, "cuda.arg.stream"), 0);
    release();
    assert_null(next());
    assert_int_equal(call.correlation_data, 0);
    assert_int_equal(thread_known()->runtime_correlation, 0);
}

static void test_small_integers_keep_their_sign(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMemset", 1);
    SET(&call, "cuda.arg.value", int32_t, -2);
    SET(&call, "cuda.arg.bytes", uint64_t, UINT64_MAX);
    enter(&call);
    leave(&call);
    assert_int_equal(integer(next_call(), &call, "cuda.arg.value"), (uint64_t)-2);
    assert_int_equal(integer(next_call(), &call, "cuda.arg.bytes"), UINT64_MAX);
}

static void test_out_parameters_are_read_at_exit(void **state)
{
    struct call call;
    uint64_t pointer = 0;
    find(&call, CALL_RUNTIME, "cudaMalloc", 2);
    SET(&call, "cuda.arg.ptr", uint64_t *, &pointer);
    SET(&call, "cuda.arg.bytes", uint64_t, 1024);
    enter(&call);
    pointer = 0x7f00aa000000;
    leave(&call);
    assert_int_equal(integer(next_call(), &call, "cuda.arg.ptr"), 0x7f00aa000000);
    assert_int_equal(integer(next_call(), &call, "cuda.arg.bytes"), 1024);
}

static void test_a_failed_call_has_no_out_parameters(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMalloc", 2);
    SET(&call, "cuda.arg.ptr", uint64_t *, (uint64_t *)8); /* an invalid pointer, which must not be read */
    SET(&call, "cuda.arg.bytes", uint64_t, 1ull << 50);
    enter(&call);
    call.result = 2;
    leave(&call);
    assert_int_equal(next_call()->result, 2);
    assert_null(value_of(next_call(), &call, "cuda.arg.ptr"));
    assert_int_equal(integer(next_call(), &call, "cuda.arg.bytes"), 1ull << 50);
}

static void test_null_pointers_are_absent(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMalloc", 2);
    SET(&call, "cuda.arg.bytes", uint64_t, 5);
    enter(&call);
    leave(&call); /* succeeds without writing through NULL, which must not be read */
    assert_null(value_of(next_call(), &call, "cuda.arg.ptr"));
    assert_int_equal(integer(next_call(), &call, "cuda.arg.bytes"), 5);
    release();
    find(&call, CALL_DRIVER, "cuModuleGetFunction", 3);
    enter(&call);
    leave(&call);
    assert_null(value_of(next_call(), &call, "cuda.arg.function"));
    assert_null(value_of(next_call(), &call, "cuda.arg.name"));
    assert_int_equal(integer(next_call(), &call, "cuda.arg.module"), 0);
}

static void test_members_behind_a_pointer(void **state)
{
    struct call call;
    _Alignas(8) uint8_t config[64] = {0};
    find(&call, CALL_RUNTIME, "cudaLaunchKernelExC", 4);
    memcpy(config + source_of(&call, "cuda.arg.grid")->member, (uint32_t[]){7, 8, 9}, 12);
    memcpy(config + source_of(&call, "cuda.arg.block")->member, (uint32_t[]){10, 11, 12}, 12);
    memcpy(config + source_of(&call, "cuda.arg.num_attributes")->member, &(uint32_t){2}, 4);
    SET(&call, "cuda.arg.grid", void *, config);
    enter(&call);
    leave(&call);
    assert_int_equal(value_of(next_call(), &call, "cuda.arg.grid")[0], 7 | 8ull << 32);
    assert_int_equal(value_of(next_call(), &call, "cuda.arg.grid")[1], 9);
    assert_int_equal(value_of(next_call(), &call, "cuda.arg.block")[1], 12);
    assert_int_equal(integer(next_call(), &call, "cuda.arg.num_attributes"), 2);
}

static void test_a_float_becomes_a_double(void **state)
{
    struct call call;
    float milliseconds = 0.25f;
    double real;
    find(&call, CALL_RUNTIME, "cudaEventElapsedTime", 5);
    SET(&call, "cuda.arg.milliseconds", float *, &milliseconds);
    enter(&call);
    leave(&call);
    memcpy(&real, value_of(next_call(), &call, "cuda.arg.milliseconds"), 8);
    assert_true(real == 0.25);
}

static void expect_text(const char *text, size_t length)
{
    struct call call;
    void *function = (void *)0x55;
    find(&call, CALL_DRIVER, "cuModuleGetFunction", 6);
    SET(&call, "cuda.arg.function", void **, &function);
    SET(&call, "cuda.arg.name", const char *, text);
    memset(thread_current()->ring.data, 0xee,
           RING_BYTES < thread_known()->ring.bytes ? RING_BYTES : thread_known()->ring.bytes);
    enter(&call);
    leave(&call);
    const uint64_t *words = value_of(next_call(), &call, "cuda.arg.name");
    static const uint8_t zeros[8];
    assert_non_null(words);
    assert_int_equal(words[0], length);
    assert_memory_equal(&words[1], text, length);
    assert_memory_equal((const char *)&words[1] + length, zeros, (8 - length % 8) % 8);
    assert_int_equal(next_call()->head.bytes,
                     (const uint8_t *)(words + 1 + (length + 7) / 8) - (const uint8_t *)next_call());
    release();
    assert_null(next());
}

static void test_strings_are_copied_and_cut(void **state)
{
    char text[CALL_STRING_BYTES * 2];
    expect_text("", 0);
    expect_text("k", 1);
    expect_text("kernel_8", 8);
    expect_text("kernel_17_letters", 17);
    memset(text, 'x', sizeof text);
    text[CALL_STRING_BYTES] = 0;
    expect_text(text, CALL_STRING_BYTES);
    text[CALL_STRING_BYTES] = 'x';
    text[sizeof text - 1] = 0;
    expect_text(text, CALL_STRING_BYTES);
}

static void test_parameters_can_be_left_out(void **state)
{
    struct call call;
    assert_int_equal(callbacks_init(false), STATUS_OK);
    find(&call, CALL_RUNTIME, "cudaLaunchKernel", 7);
    call.data.functionParams = (void *)8; /* must not be read */
    enter(&call);
    leave(&call);
    assert_int_equal(next_call()->head.bytes, sizeof(struct call_record));
    assert_int_equal(next_call()->present, 0);
    release();
    assert_int_equal(callbacks_init(true), STATUS_OK);
    call.data.functionParams = NULL;
    call.data.functionReturnValue = NULL;
    enter(&call);
    leave(&call);
    assert_int_equal(next_call()->present, 0);
    assert_int_equal(next_call()->result, 0);
}

/* Every known call, with parameters of zeros and of pointers to zeros, stays within its space. */
static void test_every_call_fits_its_room(void **state)
{
    static uint8_t params[8192], zeros[8192];
    for (size_t i = 0; i < sizeof params; i += 8)
        memcpy(params + i, &(void *){zeros}, 8);
    for (enum call_domain domain = CALL_DRIVER; domain <= CALL_RUNTIME; domain++) {
        uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
        for (uint32_t cbid = 0; cbid < count + 5; cbid++) {
            const struct call_info *info = call_info(domain, cbid);
            struct call call = {.domain = domain, .cbid = cbid};
            for (int pass = 0; pass < 2; pass++) {
                call.data = (struct cupti_callback_data){.functionParams = pass ? params : zeros,
                                                         .functionReturnValue = &call.result,
                                                         .correlationData = &call.correlation_data,
                                                         .correlationId = cbid + 1};
                enter(&call);
                leave(&call);
                if (!info) {
                    assert_null(next());
                    continue;
                }
                const struct call_record *record = next_call();
                assert_in_range(record->head.bytes, sizeof *record, CALL_RECORD_BYTES);
                assert_int_equal(record->head.cbid, cbid);
                release();
            }
        }
    }
    assert_int_equal(counters_lost(), 0);
}

static void test_an_exit_without_enter_is_no_call(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMalloc", 8);
    leave(&call);
    call.correlation_data = 0xdeadbeefdeadbeef; /* not ours */
    leave(&call);
    assert_null(next());
    assert_int_equal(call.correlation_data, 0);
}

static void test_a_clock_set_back_loses_no_call(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaStreamSynchronize", 9);
    enter(&call);
    fake_now_ns -= 500;
    leave(&call);
    assert_int_equal(next_call()->start_ns, 1000000);
    assert_int_equal(next_call()->end_ns, 1000000);
}

static void test_nothing_while_off(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMalloc", 10);
    atomic_store(&mode_now, MODE_OFF);
    enter(&call);
    leave(&call);
    assert_int_equal(call.correlation_data, 0);
    atomic_store(&mode_now, MODE_ON);
    thread_is_ours = true;
    enter(&call);
    leave(&call);
    thread_is_ours = false;
    assert_null(next());
    enter(&call);
    atomic_store(&mode_now, MODE_OFF);
    leave(&call);
    assert_null(next());
}

static void test_errno_stays(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMalloc", 11);
    errno = EDOM;
    enter(&call);
    leave(&call);
    assert_int_equal(errno, EDOM);
}

static void test_a_driver_call_inside_a_runtime_call_is_no_call(void **state)
{
    struct call outer, inner;
    find(&outer, CALL_RUNTIME, "cudaLaunchKernel", 12);
    find(&inner, CALL_DRIVER, "cuLaunchKernel", 12);
    enter(&outer);
    enter(&inner);
    leave(&inner);
    fake_now_ns += 10;
    leave(&outer);
    assert_int_equal(next_call()->head.domain, CALL_RUNTIME);
    release();
    assert_null(next());
    enter(&inner); /* after the runtime call, its ID is an ordinary one */
    leave(&inner);
    assert_int_equal(next_call()->head.domain, CALL_DRIVER);
}

/* Lets the end of the process count the threads that are still inside a call. */
static void test_a_call_that_is_open_is_known(void **state)
{
    struct call outer, inner, own;
    find(&outer, CALL_RUNTIME, "cudaDeviceSynchronize", 31);
    find(&inner, CALL_DRIVER, "cuCtxSynchronize", 31);
    find(&own, CALL_DRIVER, "cuStreamSynchronize", 32);
    enter(&outer);
    assert_int_equal(thread_known()->runtime_correlation, 31);
    enter(&inner);
    leave(&inner);
    assert_int_equal(thread_known()->runtime_correlation, 31);
    assert_false(thread_known()->is_in_driver_call);
    leave(&outer);
    assert_int_equal(thread_known()->runtime_correlation, 0);
    enter(&own);
    assert_true(thread_known()->is_in_driver_call);
    leave(&own);
    assert_false(thread_known()->is_in_driver_call);
}

/* A stop waits for the calls in progress, and ignores records that are made after it. */
static void test_a_call_is_open_until_its_record_is_made(void **state)
{
    struct call runtime, driver;
    find(&runtime, CALL_RUNTIME, "cudaDeviceSynchronize", 31);
    find(&driver, CALL_DRIVER, "cuStreamSynchronize", 32);
    enter(&runtime);
    calls_at_clock = 0;
    leave(&runtime);
    assert_int_equal(calls_at_clock, 1);
    assert_int_equal(threads_in_call(), 0);
    enter(&driver);
    calls_at_clock = 0;
    leave(&driver);
    assert_int_equal(calls_at_clock, 1);
    assert_int_equal(threads_in_call(), 0);
}

/* A runtime call excluded by name must not reappear as the driver calls nested in it. */
static void test_a_call_that_is_left_out_hides_what_is_inside(void **state)
{
    struct call outer, inner;
    find(&outer, CALL_RUNTIME, "cudaEventRecord", 21);
    find(&inner, CALL_DRIVER, "cuEventRecord", 21);
    callbacks_add_flags(CALL_RUNTIME, outer.cbid, PLAN_NO_SPAN);
    enter(&outer);
    enter(&inner);
    leave(&inner);
    leave(&outer);
    assert_null(next());
    inner.data.correlationId = 22; /* made by the program */
    enter(&inner);
    leave(&inner);
    assert_int_equal(next_call()->head.domain, CALL_DRIVER);
    release();
}

static void test_a_driver_call_of_another_id_is_a_call(void **state)
{
    struct call outer, inner;
    find(&outer, CALL_RUNTIME, "cudaLaunchKernel", 13);
    find(&inner, CALL_DRIVER, "cuLaunchKernel", 14);
    enter(&outer);
    enter(&inner);
    leave(&inner);
    leave(&outer);
    assert_int_equal(next_call()->correlation_id, 14);
    release();
    assert_int_equal(next_call()->correlation_id, 13);
}

/* A stale value in CUPTI's 64 bits must not give the runtime's nested call a span. */
static void test_a_nested_call_clears_what_stood_there(void **state)
{
    struct call outer, inner;
    find(&outer, CALL_RUNTIME, "cudaMalloc", 15);
    find(&inner, CALL_DRIVER, "cuModuleLoad", 15);
    inner.correlation_data = fake_now_ns;
    enter(&outer);
    enter(&inner);
    leave(&inner);
    assert_null(next());
}

static void make(enum call_domain domain, const char *name)
{
    struct call call;
    find(&call, domain, name, 16);
    enter(&call);
    call.result = 1; /* a failed call has no output parameters */
    leave(&call);
}

static _Atomic unsigned announced;

static void count_announced(void)
{
    atomic_fetch_add(&announced, 1);
}

/* How often the calls so far announced a graph. */
static unsigned take_announced(void)
{
    return atomic_exchange(&announced, 0);
}

static void test_each_call_that_makes_a_graph_is_announced(void **state)
{
    callbacks_on_graph = count_announced;
    make(CALL_RUNTIME, "cudaMalloc");
    make(CALL_RUNTIME, "cudaGraphLaunch");
    assert_int_equal(take_announced(), 0);
    make(CALL_RUNTIME, "cudaStreamBeginCapture");
    make(CALL_RUNTIME, "cudaGraphCreate");
    make(CALL_RUNTIME, "cudaGraphInstantiate");
    assert_int_equal(take_announced(), 3);
    make(CALL_DRIVER, "cuStreamBeginCapture");
    make(CALL_DRIVER, "cuGraphCreate");
    make(CALL_DRIVER, "cuGraphInstantiateWithParams");
    assert_int_equal(take_announced(), 3);
}

static void see_no_record(void)
{
    assert_null(next());
    atomic_fetch_add(&announced, 1);
}

static void test_a_graph_is_announced_before_cuda_makes_it(void **state)
{
    struct call call;
    callbacks_on_graph = see_no_record;
    find(&call, CALL_RUNTIME, "cudaStreamBeginCapture", 16);
    enter(&call);
    assert_int_equal(take_announced(), 1);
    leave(&call);
    assert_int_equal(take_announced(), 0);
}

/* So records are also enabled if these calls have no spans. */
static void test_a_graph_is_announced_by_a_call_without_a_span(void **state)
{
    struct call call;
    callbacks_on_graph = count_announced;
    find(&call, CALL_DRIVER, "cuGraphCreate", 16);
    assert_true(callbacks_flags(call.domain, call.cbid) & PLAN_MAKES_GRAPH);
    callbacks_add_flags(call.domain, call.cbid, PLAN_NO_SPAN);
    make(CALL_DRIVER, "cuGraphCreate");
    assert_int_equal(take_announced(), 1);
    assert_null(next());
    find(&call, CALL_RUNTIME, "cudaMalloc", 16);
    assert_false(callbacks_flags(call.domain, call.cbid) & PLAN_MAKES_GRAPH);
}

static void fall_asleep(void)
{
    mode_sleep();
    assert_int_equal(mode_now, MODE_ASLEEP);
}

static void wake_up(void)
{
    fake_now_ns += 1000;
    mode_wake(fake_now_ns);
    assert_int_equal(mode_now, MODE_ON);
}

/* The name of the only call in progress; "": there is none. */
static const char *call_in_progress(bool is_asleep, uint64_t *id)
{
    uint32_t cbid;
    struct thread_call calls[4];
    uint32_t count = threads_calls_in_progress(is_asleep, calls, 4);
    assert_true(count <= 1);
    *id = count ? calls[0].id : 0;
    return count ? callbacks_name_of(calls[0].plan, &cbid) : "";
}

static void test_calls_in_progress_have_names(void **state)
{
    struct call runtime, driver, nested;
    uint64_t id, again;
    find(&runtime, CALL_RUNTIME, "cudaStreamSynchronize", 41);
    find(&nested, CALL_DRIVER, "cuStreamSynchronize", 41);
    find(&driver, CALL_DRIVER, "cuCtxSynchronize", 42);
    assert_string_equal(call_in_progress(false, &id), "");
    enter(&runtime);
    enter(&nested);
    assert_string_equal(call_in_progress(false, &id), "cudaStreamSynchronize");
    assert_string_equal(call_in_progress(false, &again), "cudaStreamSynchronize");
    assert_int_equal(id, again);
    leave(&nested);
    leave(&runtime);
    assert_string_equal(call_in_progress(false, &id), "");
    enter(&driver);
    assert_string_equal(call_in_progress(false, &id), "cuCtxSynchronize");
    leave(&driver);
    assert_string_equal(call_in_progress(false, &id), "");
    enter(&driver);
    (void)call_in_progress(false, &again);
    assert_true(id != again); /* another call of the same function */
    leave(&driver);
    struct thread_call none[1];
    assert_int_equal(threads_calls_in_progress(false, none, 0), 0);
}

static void test_asleep_calls_that_wait_are_in_progress(void **state)
{
    struct call wait, launch, copy;
    uint64_t id;
    find(&wait, CALL_RUNTIME, "cudaStreamSynchronize", 51);
    find(&launch, CALL_RUNTIME, "cudaLaunchKernel", 52);
    find(&copy, CALL_DRIVER, "cuMemcpyDtoH", 53);
    (void)thread_current();
    fall_asleep();
    enter(&launch);
    assert_string_equal(call_in_progress(true, &id), "");
    leave(&launch);
    enter(&wait);
    assert_string_equal(call_in_progress(true, &id), "cudaStreamSynchronize");
    leave(&wait);
    assert_string_equal(call_in_progress(true, &id), "");
    enter(&copy);
    assert_string_equal(call_in_progress(true, &id), "cuMemcpyDtoH");
    threads_wake(); /* the call ends while awake, without a start */
    wake_up();
    leave(&copy);
    fall_asleep();
    assert_string_equal(call_in_progress(true, &id), "");
    assert_null(next());
    wake_up();
}

static void test_asleep_only_graphs_are_captured(void **state)
{
    fall_asleep();
    make(CALL_RUNTIME, "cudaLaunchKernel");
    make(CALL_DRIVER, "cuLaunchKernel");
    assert_null(next());
    callbacks_on_graph = count_announced;
    make(CALL_RUNTIME, "cudaStreamBeginCapture");
    assert_int_equal(take_announced(), 1);
    assert_int_equal(next()->type, RECORD_CALL_ASLEEP);
    assert_string_equal(call_name(call_info(CALL_RUNTIME, next()->cbid)), "cudaStreamBeginCapture");
    release();
    wake_up();
    make(CALL_RUNTIME, "cudaLaunchKernel");
    assert_non_null(next_call());
}

static void test_a_call_across_an_edge_of_sleep_has_no_record(void **state)
{
    struct call awake, asleep;
    find(&awake, CALL_RUNTIME, "cudaMalloc", 10);
    find(&asleep, CALL_RUNTIME, "cudaFree", 11);
    enter(&awake);
    fall_asleep();
    leave(&awake);
    enter(&asleep);
    wake_up();
    leave(&asleep);
    assert_null(next());
    awake.correlation_data = 1; /* left in CUPTI's 64 bits by a call while awake earlier */
    leave(&awake);
    assert_null(next());
    enter(&awake);
    leave(&awake);
    assert_non_null(next_call());
}

static void test_a_call_that_is_under_way_has_its_end(void **state)
{
    struct call early, late, inner;
    find(&early, CALL_RUNTIME, "cudaMalloc", 10);
    find(&inner, CALL_DRIVER, "cuMemAlloc", 10);
    find(&late, CALL_RUNTIME, "cudaFree", 11);
    enter(&early);
    enter(&inner);
    assert_int_equal(threads_in_call(), 1);
    mode_end();
    assert_true(mode_is_ending());
    leave(&inner);
    assert_null(next());
    leave(&early);
    assert_int_equal(threads_in_call(), 0);
    assert_non_null(next_call());
    release();
    enter(&late);
    assert_int_equal(threads_in_call(), 0);
    leave(&late);
    assert_null(next());
    fall_asleep();
    wake_up();
}

static void test_a_call_that_ended_in_sleep_is_not_under_way(void **state)
{
    struct call call, next_one;
    find(&call, CALL_RUNTIME, "cudaMalloc", 10);
    find(&next_one, CALL_RUNTIME, "cudaFree", 11);
    enter(&call);
    fall_asleep();
    leave(&call);
    assert_int_equal(threads_in_call(), 1); /* its end was not seen */
    threads_wake();
    wake_up();
    assert_int_equal(threads_in_call(), 0);
    enter(&next_one);
    assert_int_equal(threads_in_call(), 1);
    mode_end();
    fall_asleep();
    mode_wake(0);
    mode_end();
    enter(&call); /* a thread that starts a call is in no other */
    assert_int_equal(threads_in_call(), 0);
    leave(&call);
    assert_null(next());
    fall_asleep();
    wake_up();
}

static void test_off_is_not_woken(void **state)
{
    atomic_store(&mode_now, MODE_OFF);
    mode_wake(0);
    mode_sleep();
    assert_int_equal(mode_now, MODE_OFF);
}

static int begun, ended;

static void note_bound(bool begins)
{
    begun += begins;
    ended += !begins;
}

static void test_the_cuda_profiler_bounds_the_tracing(void **state)
{
    struct call start, stop, other;
    find(&start, CALL_RUNTIME, "cudaProfilerStart", 1);
    find(&stop, CALL_DRIVER, "cuProfilerStop", 2);
    find(&other, CALL_RUNTIME, "cudaMalloc", 3);
    assert_true(callbacks_bound_flags(start.domain, start.cbid) &&
                callbacks_bound_flags(stop.domain, stop.cbid));
    assert_false(callbacks_bound_flags(other.domain, other.cbid));
    callbacks_on_bound = note_bound;
    make(CALL_RUNTIME, "cudaProfilerStart"); /* not enabled */
    assert_int_equal(begun, 0);
    callbacks_add_flags(start.domain, start.cbid, callbacks_bound_flags(start.domain, start.cbid));
    callbacks_add_flags(stop.domain, stop.cbid, callbacks_bound_flags(stop.domain, stop.cbid));
    callbacks_add_flags(start.domain, start.cbid, PLAN_NO_SPAN);
    while (next())
        release();
    fall_asleep();
    enter(&start);
    assert_int_equal(begun, 0);
    leave(&start);
    assert_int_equal(begun, 1); /* the call is over; the next one is traced */
    assert_null(next());
    wake_up();
    enter(&stop);
    assert_int_equal(ended, 1); /* before the call */
    callbacks_on_bound = NULL;
}

static void test_modules_and_contexts(void **state)
{
    struct cupti_module_data module = {.moduleId = 5, .cubinSize = 1ull << 33};
    struct cupti_resource_data data = {.context = (cuda_context_handle)0x1000, .resourceDescriptor = &module};
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED, &data);
    const struct resource_record *record = (const struct resource_record *)next();
    assert_non_null(record);
    assert_int_equal(record->head.type, RECORD_RESOURCE);
    assert_int_equal(record->head.cbid, CUPTI_RESOURCE_MODULE_LOADED);
    assert_int_equal(record->time_ns, 1000000);
    assert_int_equal(record->id, 5);
    assert_int_equal(record->bytes, UINT32_MAX);
    assert_int_equal(record->handle, 0x1000);
    assert_int_equal(record->device_id, UINT32_MAX);
    release();
    data.resourceDescriptor = NULL;
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED, &data);
    assert_int_equal(((const struct resource_record *)next())->id, 0);
    release();
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED, &data);
    assert_false(callbacks_signals.flush_soon);
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
    assert_true(callbacks_signals.flush_soon);
}

static uint32_t node_id(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node + 100;
    return (uintptr_t)node == 66 ? CUPTI_INVALID_PARAMETER : CUPTI_OK;
}

static void graph_event(uint32_t cbid, uintptr_t node, uintptr_t original, uintptr_t exec)
{
    struct cupti_graph_data graph = {
        .node = (void *)node, .originalNode = (void *)original, .graphExec = (void *)exec};
    struct cupti_resource_data data = {.context = NULL, .resourceDescriptor = &graph};
    fake_now_ns += 10;
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, cbid, &data);
}

static void created(uintptr_t node)
{
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CREATED, node, 0, 0);
}

static void cloned(uintptr_t node, uintptr_t original)
{
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CLONED, node, original, 0);
}

static const struct resource_record *next_of(uint32_t cbid)
{
    const struct record_head *head = next();
    assert_non_null(head);
    assert_int_equal(head->type, RECORD_RESOURCE);
    assert_int_equal(head->cbid, cbid);
    return (const struct resource_record *)head;
}

static void expect_run(uint32_t cbid, uint64_t first, uint32_t nodes, uint64_t original)
{
    const struct resource_record *run = next_of(cbid);
    assert_int_equal(run->handle, first);
    assert_int_equal(run->nodes, nodes);
    assert_int_equal(run->original, original);
    release();
}

static void expect_exec(uint64_t exec, uint32_t nodes)
{
    const struct resource_record *record = next_of(CUPTI_RESOURCE_GRAPHEXEC_CREATED);
    assert_int_equal(record->handle, exec);
    assert_int_equal(record->nodes, nodes);
    release();
}

static void test_an_executable_graph_has_as_many_nodes_as_were_cloned(void **state)
{
    struct call call;
    cloned(1, 2); /* in another call: the program clones a graph */
    find(&call, CALL_RUNTIME, "cudaGraphInstantiate", 20);
    enter(&call);
    for (uintptr_t i = 0; i < 3; i++)
        cloned(10 + i, 20 + i);
    graph_event(CUPTI_RESOURCE_GRAPHEXEC_CREATED, 0, 0, 0xe0);
    leave(&call);
    expect_exec(0xe0, 3);
    assert_int_equal(next_call()->correlation_id, 20);
    release();
    graph_event(CUPTI_RESOURCE_GRAPHEXEC_CREATED, 0, 0, 0xe1);
    expect_exec(0xe1, 0);
    assert_null(next());
}

static void test_nodes_come_in_runs_before_their_call(void **state)
{
    struct call call;
    graph_nodes_id_source = node_id;
    find(&call, CALL_RUNTIME, "cudaGraphInstantiate", 21);
    enter(&call);
    for (uintptr_t i = 0; i < 1000; i++) { /* far more than fit into a ring */
        created(10000 + i);
        cloned(10000 + i, 20000 + i);
    }
    cloned(11000, 30000);
    cloned(11002, 30001);
    cloned(66, 30002); /* its ID is not available */
    graph_event(CUPTI_RESOURCE_GRAPHEXEC_CREATED, 0, 0, 0xe0);
    leave(&call);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CLONED, 10100, 1000, 20100);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CLONED, 11100, 1, 30100);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 10100, 1000, 0);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CLONED, 11102, 1, 30101);
    expect_exec(0xe0, 1003);
    assert_int_equal(next_call()->correlation_id, 21);
    release();
    assert_null(next());
    assert_int_equal(counters_lost(), 0);
}

/* Consecutive nodes of two calls are two runs, and nodes created between calls belong to neither. */
static void test_a_run_ends_with_its_call(void **state)
{
    struct call call;
    graph_nodes_id_source = node_id;
    for (uint32_t i = 0; i < 2; i++) {
        find(&call, CALL_RUNTIME, "cudaLaunchKernel", 30 + i);
        enter(&call);
        created(1 + 2 * i);
        leave(&call);
        created(2 + 2 * i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct resource_record *run = next_of(CUPTI_RESOURCE_GRAPHNODE_CREATED);
        uint64_t time_ns = run->time_ns;
        expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 101 + 2 * i, 1, 0);
        assert_in_range(time_ns, next_call()->start_ns, next_call()->end_ns);
        uint64_t end_ns = next_call()->end_ns;
        release();
        if (i == 0) {
            assert_true(next_of(CUPTI_RESOURCE_GRAPHNODE_CREATED)->time_ns > end_ns);
            expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 102, 1, 0);
        }
    }
    assert_null(next()); /* the last run waits for the thread's next call */
    graph_nodes_flush(thread_known());
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 104, 1, 0);
}

#define PLACE       0x7000000000
#define OTHER_PLACE 0x8000000000

static union {
    struct code_record record;
    uint8_t bytes[64];
} program_code; /* where the program is now. ID 0: in no Python code */

static const struct code_record *code_of_program(void)
{
    return program_code.record.id ? &program_code.record : NULL;
}

static void take_code_of_nodes(void)
{
    static const struct settings settings = {
        .capture = {.launch_stacks = LAUNCH_STACKS_PYTHON, .launch_stacks_period = 1}};
    program_code.record = (struct code_record){
        .head = {.bytes = 48, .type = RECORD_CODE}, .frame_count = 1, .flags = CODE_IS_DESCRIBED};
    graph_nodes_id_source = node_id;
    graph_nodes_have_code = true;
    assert_int_equal(launch_stacks_start(&settings, code_of_program), STATUS_OK);
}

static void created_at(uintptr_t node, uint64_t code)
{
    program_code.record.id = code;
    created(node);
}

static void expect_code_of_nodes(uint64_t id)
{
    const struct code_record *code = (const struct code_record *)next();
    assert_non_null(code);
    assert_int_equal(code->head.type, RECORD_CODE);
    assert_int_equal(code->head.bytes, 48);
    assert_int_equal(code->id, id);
    assert_int_equal(code->flags, CODE_IS_DESCRIBED | CODE_IS_OF_NODES);
    release();
}

static void test_nodes_have_the_code_of_the_call_that_makes_them(void **state)
{
    struct call call;
    take_code_of_nodes();
    for (uint32_t i = 0; i < 2; i++) { /* from the same place */
        find(&call, CALL_RUNTIME, "cudaLaunchKernel", 30 + i);
        enter(&call);
        created_at(1 + 2 * i, PLACE);
        created_at(2 + 2 * i, PLACE);
        leave(&call);
    }
    expect_code_of_nodes(PLACE);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 101, 2, PLACE);
    assert_int_equal(next_call()->correlation_id, 30);
    release();
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 103, 2, PLACE); /* it was described before */
    assert_int_equal(next_call()->correlation_id, 31);
    release();
    assert_null(next());
}

/* Their calls have no callbacks, so the code may change from node to node. */
static void test_each_node_outside_a_call_has_its_code(void **state)
{
    take_code_of_nodes();
    created_at(1, PLACE);
    created_at(2, OTHER_PLACE);
    created_at(3, OTHER_PLACE);
    created_at(4, 0);
    created_at(5, PLACE);
    graph_nodes_flush(thread_known());
    expect_code_of_nodes(PLACE);
    expect_code_of_nodes(OTHER_PLACE);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 101, 1, PLACE);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 102, 2, OTHER_PLACE);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 104, 1, 0);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 105, 1, PLACE);
    assert_null(next());
}

static void test_a_call_with_the_number_of_an_earlier_one(void **state)
{
    struct call call;
    take_code_of_nodes();
    for (uint32_t i = 0; i < 2; i++) {
        find(&call, CALL_RUNTIME, "cudaLaunchKernel", 30);
        enter(&call);
        created_at(1 + i, i ? OTHER_PLACE : PLACE);
        leave(&call);
        expect_code_of_nodes(i ? OTHER_PLACE : PLACE);
        expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 101 + i, 1, i ? OTHER_PLACE : PLACE);
        release();
    }
}

/* Its end is not seen, so nodes of other calls may follow. */
static void test_a_call_across_an_edge_of_sleep_has_no_code_for_all(void **state)
{
    struct call call;
    take_code_of_nodes();
    find(&call, CALL_RUNTIME, "cudaLaunchKernel", 30);
    enter(&call);
    created_at(1, PLACE);
    fall_asleep();
    created_at(2, OTHER_PLACE);
    created_at(3, PLACE);
    threads_wake();
    wake_up();
    created_at(4, OTHER_PLACE);
    created_at(5, PLACE);
    graph_nodes_flush(thread_known());
    expect_code_of_nodes(PLACE);
    expect_code_of_nodes(OTHER_PLACE);
    for (uint32_t i = 1; i <= 5; i++)
        expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 100 + i, 1, i % 2 ? PLACE : OTHER_PLACE);
    assert_null(next());
}

static void test_code_without_room_in_the_ring_is_unknown(void **state)
{
    struct call call;
    take_code_of_nodes();
    find(&call, CALL_RUNTIME, "cudaLaunchKernel", 30);
    enter(&call);
    for (struct record_head *head; (head = ring_reserve(&thread_known()->ring, 40)) != NULL;) {
        *head = (struct record_head){.bytes = 40, .type = RECORD_NAME};
        ring_commit(&thread_known()->ring, 40);
    }
    created_at(1, PLACE);
    assert_int_equal(atomic_load(&thread_known()->notes_lost), 1);
    while (next())
        release();
    leave(&call);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 101, 1, 0);
    release();
    created_at(2, PLACE);
    graph_nodes_flush(thread_known());
    expect_code_of_nodes(PLACE);
    expect_run(CUPTI_RESOURCE_GRAPHNODE_CREATED, 102, 1, PLACE);
}

static void test_a_full_ring_leaves_nodes_out_and_loses_nothing(void **state)
{
    graph_nodes_id_source = node_id;
    for (uintptr_t i = 1; i < RING_BYTES / sizeof(struct resource_record) + 10; i++)
        created(2 * i); /* never consecutive */
    graph_event(CUPTI_RESOURCE_GRAPHEXEC_CREATED, 0, 0, 0xe0);
    struct cupti_resource_data data = {.context = NULL};
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPHEXEC_CREATED, &data);
    assert_int_equal(atomic_load(&thread_known()->lost), 0);
    while (next())
        release();
    assert_false(thread_known()->graphs.has_runs);
}

static void test_a_fatal_error_switches_off_and_keeps_its_text(void **state)
{
    char text[1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    struct cupti_state_data data = {.result = CUPTI_UNKNOWN, .message = text};
    callbacks_handle(NULL, CUPTI_DOMAIN_STATE, CUPTI_STATE_ERROR, &data);
    assert_false(callbacks_signals.fatal);
    callbacks_handle(NULL, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR, &data);
    assert_true(callbacks_signals.fatal);
    assert_int_equal(mode_now, MODE_OFF);
    assert_int_equal(strlen(callbacks_signals.fatal_message), sizeof callbacks_signals.fatal_message - 1);
    memset(&callbacks_signals, 0, sizeof callbacks_signals);
    atomic_store(&mode_now, MODE_ON);
    callbacks_handle(NULL, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR, NULL);
    assert_string_equal(callbacks_signals.fatal_message, "no reason given");
}

static void test_a_full_ring_is_counted(void **state)
{
    struct call call;
    uint64_t taken = 0;
    find(&call, CALL_RUNTIME, "cudaStreamSynchronize", 17);
    for (int i = 0; i < 2000; i++) {
        enter(&call);
        leave(&call);
    }
    struct cupti_resource_data data = {.context = NULL};
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED, &data);
    for (; next(); release())
        taken++;
    assert_true(taken > 100 && taken < 2000);
    assert_int_equal(thread_known()->lost, 2000 - taken);
    assert_int_equal(thread_known()->notes_lost, 1); /* the context, which is not a span */
}

static const struct settings allocation_stacks = {
    .capture = {.allocation_stacks = true, .launch_stacks_period = 1u << 30}};

static const struct code_record *large_stack(void)
{
    static union {
        struct code_record record;
        uint8_t bytes[1024];
    } large = {.record = {.head = {.bytes = sizeof large, .type = RECORD_CODE}, .id = 1}};
    return &large.record;
}

static void test_an_allocation_comes_with_its_stack(void **state)
{
    struct call call;
    assert_int_equal(launch_stacks_start(&allocation_stacks, NULL), STATUS_OK);
    find(&call, CALL_RUNTIME, "cudaMalloc", 19);
    callbacks_add_flags(CALL_RUNTIME, call.cbid, PLAN_TAKES_CODE | PLAN_TAKES_EACH);
    enter(&call);
    fake_now_ns += 700;
    leave(&call);
    const struct record_head *head = next();
    assert_int_equal(head->type, RECORD_CODE);
    assert_true(head->bytes > sizeof(struct code_record) && head->bytes % 8 == 0);
    assert_true(((const struct code_record *)(const void *)head)->flags & CODE_IS_NATIVE);
    release();
    assert_int_equal(next_call()->correlation_id, 19);
    assert_int_equal(next_call()->end_ns - next_call()->start_ns,
                     700); /* the call's duration does not include the stack walk */
    release();
    make(CALL_RUNTIME, "cudaFree");
    assert_non_null(next_call()); /* other calls have none */
    release();
    assert_null(next());
    struct call launch;
    find(&launch, CALL_RUNTIME, "cudaLaunchKernel", 20);
    callbacks_add_flags(CALL_RUNTIME, launch.cbid, PLAN_TAKES_CODE);
    make(CALL_RUNTIME, "cudaLaunchKernel");
    assert_int_equal(next()->type, RECORD_CALL); /* not sampled */
    release();
    atomic_store(&mode_now, MODE_ASLEEP);
    enter(&call);
    leave(&call);
    assert_null(next());
}

static void test_without_room_for_its_stack_a_call_goes_alone(void **state)
{
    struct call allocation, small;
    find(&allocation, CALL_RUNTIME, "cudaMalloc", 19);
    find(&small, CALL_RUNTIME, "cudaStreamSynchronize", 17);
    callbacks_add_flags(CALL_RUNTIME, allocation.cbid, PLAN_TAKES_CODE | PLAN_TAKES_EACH);
    assert_int_equal(launch_stacks_start(&allocation_stacks, large_stack), STATUS_OK);
    uint64_t bytes = thread_known()->ring.bytes;
    while (ring_used(&thread_known()->ring) + 2 * sizeof(struct call_record) < bytes - 72) {
        enter(&small);
        leave(&small);
    }
    enter(&allocation);
    leave(&allocation);
    unsigned stacks = 0, allocations = 0;
    for (; next(); release()) {
        stacks += next()->type == RECORD_CODE;
        allocations += next()->type == RECORD_CALL && next()->cbid == allocation.cbid;
    }
    assert_int_equal(stacks, 0);
    assert_int_equal(allocations, 1);
    assert_int_equal(thread_known()->lost, 0);
    assert_int_equal(thread_known()->notes_lost, 1);
    atomic_store(&thread_known()->notes_lost, 0);
    assert_int_equal(launch_stacks_start(&allocation_stacks, NULL), STATUS_OK);
}

/* Before the work can start. The text comes with the first launch of each function. */
static void expect_name(const struct call *call, bool is_new)
{
    const char *symbol = call->data.symbolName;
    const struct kernel_name_record *name = (const struct kernel_name_record *)(const void *)next();
    assert_non_null(name);
    assert_int_equal(name->head.type, RECORD_KERNEL_NAME);
    assert_int_equal(name->head.bytes % 8, 0);
    assert_int_equal(name->correlation_id, call->data.correlationId);
    assert_int_equal(name->address, (uintptr_t)symbol);
    assert_int_equal(name->text_bytes, is_new ? strlen(symbol) : 0);
    assert_string_equal(name->text, is_new ? symbol : "");
    release();
    assert_null(next());
}

static void expect_launch(struct call *call, const char *symbol, bool is_new)
{
    call->data.symbolName = symbol;
    call->data.correlationId++;
    enter(call);
    expect_name(call, is_new);
    leave(call);
    assert_int_equal(next_call()->correlation_id, call->data.correlationId);
    release();
    assert_null(next());
}

static void unload(uint32_t cbid)
{
    struct cupti_module_data module = {.moduleId = 1};
    struct cupti_resource_data data = {.resourceDescriptor = &module};
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, cbid, &data);
}

static _Atomic uint64_t known_names[LAUNCH_NAMES_BYTES / sizeof(uint64_t)];

static void test_names_are_taken_at_the_first_launch(void **state)
{
    launch_names_start(known_names);
    static char one[] = "_Z3onei", other[] = "_Z5otheri";
    struct call call;
    find(&call, CALL_DRIVER, "cuLaunchCooperativeKernel", 30);
    callbacks_add_flags(CALL_DRIVER, call.cbid, PLAN_TAKES_NAME);
    callbacks_add_flags(CALL_DRIVER, call.cbid, PLAN_TAKES_NAME); /* once more changes nothing */
    expect_launch(&call, one, true);
    expect_launch(&call, other, true);
    expect_launch(&call, one, false);
    expect_launch(&call, other, false);
    unload(CUPTI_RESOURCE_MODULE_UNLOAD_STARTING); /* the address may have another name now, or the same */
    expect_launch(&call, strcpy(one, "_Z3twoi"), true);
    expect_launch(&call, other, true);
    expect_launch(&call, one, false);
    atomic_store(&mode_now, MODE_ASLEEP); /* also of modules that are unloaded in sleep */
    unload(CUPTI_RESOURCE_MODULE_UNLOAD_STARTING);
    atomic_store(&mode_now, MODE_ON);
    expect_launch(&call, one, true);
    call.data.symbolName = NULL;
    enter(&call);
    leave(&call);
    assert_int_equal(next()->type, RECORD_CALL);
    release();
}

/* A launch without a span still names its kernel. */
static void test_names_of_excluded_launches_are_taken(void **state)
{
    static char symbol[] = "_Z3onei";
    struct call call;
    find(&call, CALL_DRIVER, "cuLaunchCooperativeKernel_ptsz", 40);
    callbacks_add_flags(CALL_DRIVER, call.cbid, PLAN_TAKES_NAME | PLAN_NO_SPAN);
    call.data.symbolName = symbol;
    for (int i = 0; i < 3; i++) {
        enter(&call);
        expect_name(&call, i == 0);
        leave(&call);
        assert_null(next());
    }
}

/* Then the next launch names the function. */
static void test_a_name_that_finds_the_ring_full_is_taken_later(void **state)
{
    static char symbol[2000];
    struct call call, small;
    memset(symbol, 'k', sizeof symbol - 1);
    find(&call, CALL_DRIVER, "cuLaunchCooperativeKernel", 50);
    find(&small, CALL_RUNTIME, "cudaStreamSynchronize", 17);
    callbacks_add_flags(CALL_DRIVER, call.cbid, PLAN_TAKES_NAME);
    while (ring_used(&thread_known()->ring) + 1000 < thread_known()->ring.bytes) {
        enter(&small);
        leave(&small);
    }
    uint64_t lost = thread_known()->notes_lost;
    call.data.symbolName = symbol;
    enter(&call);
    leave(&call);
    assert_int_equal(thread_known()->notes_lost, lost + 1);
    atomic_store(&thread_known()->notes_lost, lost);
    while (next())
        release();
    expect_launch(&call, symbol, true);
}

static pthread_barrier_t barrier, late_barrier;

static void *hold_a_ring(void *unused)
{
    assert_non_null(thread_current());
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void work(uint64_t ns)
{
    uint64_t end_ns = clock_monotonic_ns() + ns;
    while (ns && clock_monotonic_ns() < end_ns) {
    }
}

/* Timing must not change the captured calls. Returns the total duration in ns; each call takes `call_ns`. */
static uint64_t make_timed_calls(uint32_t count, uint64_t call_ns)
{
    struct call launch, inner;
    find(&launch, CALL_RUNTIME, "cudaLaunchKernel", 0);
    find(&inner, CALL_DRIVER, "cuLaunchKernel", 0);
    callback_time_reset();
    uint64_t begin_ns = clock_monotonic_ns();
    for (uint32_t i = 1; i <= count; i++) {
        launch.data.correlationId = inner.data.correlationId = i;
        enter(&launch);
        enter(&inner);
        work(call_ns);
        leave(&inner);
        leave(&launch);
        const struct call_record *record = next_call();
        assert_int_equal(record->head.domain, CALL_RUNTIME);
        assert_int_equal(record->correlation_id, i);
        release();
        assert_null(next());
    }
    return clock_monotonic_ns() - begin_ns;
}

/* Timing adds a few ns (the counter readings), which is visible where there is nothing but callbacks. */
static void test_timed_calls_are_captured_like_others(void **state)
{
    static const struct {
        uint64_t call_ns, times;
    } cases[] = {{0, 3},
                 {1000, 1}}; /* a launch takes at least 2.5 us, so the estimate never exceeds the whole */
    const uint32_t count = 20000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t whole_ns = make_timed_calls(count, cases[i].call_ns);
        struct callback_time_sum sum = callback_time_get();
        assert_in_range(sum.timed_calls, 10, 60);
        assert_true(sum.call_ns > 0);
#ifndef __SANITIZE_THREAD__ /* TSan slows down the timed path much more than the other */
        assert_true(sum.call_ns * count < cases[i].times * whole_ns);
#else
        (void)whole_ns;
#endif
    }
}

static void *call_without_ring(void *unused)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaStreamSynchronize", 18);
    for (int i = 0; i < 5; i++) {
        enter(&call);
        leave(&call);
    }
    assert_null(thread_known());
    callbacks_on_graph = count_announced;
    struct call capture;
    find(&capture, CALL_RUNTIME, "cudaStreamBeginCapture", 20);
    enter(&capture);
    callbacks_on_graph = NULL;
    struct cupti_resource_data data = {.context = NULL};
    callbacks_handle(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED, &data);
    /* A ring becomes free between entry and exit. */
    enter(&call);
    pthread_barrier_wait(&late_barrier);
    pthread_barrier_wait(&late_barrier);
    while (!thread_current()) {
    }
    leave(&call);
    assert_null(next());
    enter(&call);
    leave(&call);
    assert_non_null(next());
    release();
    return unused;
}

static void forget(struct host_thread *thread, void *unused)
{
    (void)unused;
    while (ring_peek(&thread->ring, ring_published(&thread->ring)))
        ring_release(&thread->ring);
}

static void test_calls_without_a_ring_are_counted_once(void **state)
{
    pthread_t holders[64], late;
    unsigned count = 0;
    struct call call;
    find(&call, CALL_RUNTIME, "cudaStreamSynchronize", 19);
    enter(&call); /* this thread has a ring, too */
    leave(&call);
    unsigned slots = 0;
    for (uint64_t used = 0; used + RING_BYTES <= TOTAL_BYTES / 2; used += RING_BYTES)
        slots++;
    slots += (TOTAL_BYTES - slots * RING_BYTES) / RING_BYTES_MIN;
    pthread_barrier_init(&barrier, NULL, slots);
    while (count < slots - 1)
        assert_int_equal(pthread_create(&holders[count++], NULL, hold_a_ring, NULL), 0);
    pthread_barrier_wait(&barrier); /* every thread has a ring */
    counters_reset();
    pthread_barrier_wait(&barrier); /* let the holders exit */
    for (unsigned i = 0; i < count; i++)
        pthread_join(holders[i], NULL);
    /* Their slots are still in use until they are drained. */
    pthread_barrier_init(&late_barrier, NULL, 2);
    assert_int_equal(pthread_create(&late, NULL, call_without_ring, NULL), 0);
    pthread_barrier_wait(&late_barrier);
    assert_int_equal(counter_get(COUNTER_lost_no_ring), 5);
    assert_int_equal(counter_get(COUNTER_notes_lost), 1);
    assert_int_equal(take_announced(), 1);
    threads_visit(forget, NULL);
    pthread_barrier_wait(&late_barrier);
    pthread_join(late, NULL);
    assert_int_equal(counter_get(COUNTER_lost_no_ring), 6);
    pthread_barrier_destroy(&barrier);
    pthread_barrier_destroy(&late_barrier);
    threads_visit(forget, NULL);
}

#define THREADS 6
#define CALLS   20000

static atomic_int producers_left;

static void *call_much(void *number)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaMemcpyAsync", 0);
    for (uint32_t i = 1; i <= CALLS; i++) {
        call.data.correlationId = (uint32_t)(uintptr_t)number << 24 | i;
        SET(&call, "cuda.arg.bytes", uint64_t, i);
        enter(&call);
        leave(&call);
        if (i % 64 == 0)
            sched_yield();
    }
    atomic_fetch_sub(&producers_left, 1);
    return NULL;
}

struct tally {
    uint64_t calls, lost, wrong;
    uint32_t last[THREADS + 2];
};

static void drain(struct host_thread *thread, void *context)
{
    struct tally *tally = context;
    uint64_t end = ring_published(&thread->ring);
    const struct call_record *record;
    while ((record = ring_peek(&thread->ring, end)) != NULL) {
        uint32_t number = record->correlation_id >> 24, i = record->correlation_id & 0xffffff;
        tally->wrong += number >= THREADS + 2 || i <= tally->last[number] || record->values[2] != i;
        tally->last[number % (THREADS + 2)] = i;
        tally->calls++;
        ring_release(&thread->ring);
    }
    uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);
    tally->lost += lost - thread->lost_seen;
    thread->lost_seen = lost;
}

static void test_threads_call_while_one_drains(void **state)
{
    pthread_t threads[THREADS];
    struct tally tally = {0};
    threads_visit(drain, &tally); /* left by previous tests */
    tally = (struct tally){0};
    counters_reset();
    atomic_store(&producers_left, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_much, (void *)(i + 1)), 0);
    while (atomic_load(&producers_left))
        threads_visit(drain, &tally);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    threads_visit(drain, &tally);
    assert_int_equal(tally.wrong, 0);
    assert_int_equal(tally.calls + tally.lost + counter_get(COUNTER_lost_no_ring), THREADS * CALLS);
    assert_true(tally.calls > 0);
}

/* Must be last: nothing is captured afterwards. */
static void test_calls_that_are_open_at_the_end_are_counted(void **state)
{
    struct call call;
    find(&call, CALL_RUNTIME, "cudaDeviceSynchronize", 41);
    enter(&call);
    leave(&call);
    enter(&call);
    capture_stop();
    capture_end();
    assert_int_equal(counter_get(COUNTER_lost_in_flight), 1);
    leave(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_call_becomes_a_record, setup),
        cmocka_unit_test_setup(test_small_integers_keep_their_sign, setup),
        cmocka_unit_test_setup(test_out_parameters_are_read_at_exit, setup),
        cmocka_unit_test_setup(test_a_failed_call_has_no_out_parameters, setup),
        cmocka_unit_test_setup(test_null_pointers_are_absent, setup),
        cmocka_unit_test_setup(test_members_behind_a_pointer, setup),
        cmocka_unit_test_setup(test_a_float_becomes_a_double, setup),
        cmocka_unit_test_setup(test_strings_are_copied_and_cut, setup),
        cmocka_unit_test_setup(test_parameters_can_be_left_out, setup),
        cmocka_unit_test_setup(test_every_call_fits_its_room, setup),
        cmocka_unit_test_setup(test_an_exit_without_enter_is_no_call, setup),
        cmocka_unit_test_setup(test_a_clock_set_back_loses_no_call, setup),
        cmocka_unit_test_setup(test_nothing_while_off, setup),
        cmocka_unit_test_setup(test_asleep_only_graphs_are_captured, setup),
        cmocka_unit_test_setup(test_a_call_across_an_edge_of_sleep_has_no_record, setup),
        cmocka_unit_test_setup(test_a_call_that_is_under_way_has_its_end, setup),
        cmocka_unit_test_setup(test_a_call_that_ended_in_sleep_is_not_under_way, setup),
        cmocka_unit_test_setup(test_off_is_not_woken, setup),
        cmocka_unit_test_setup(test_the_cuda_profiler_bounds_the_tracing, setup),
        cmocka_unit_test_setup(test_errno_stays, setup),
        cmocka_unit_test_setup(test_a_driver_call_inside_a_runtime_call_is_no_call, setup),
        cmocka_unit_test_setup(test_a_call_that_is_open_is_known, setup),
        cmocka_unit_test_setup(test_a_call_is_open_until_its_record_is_made, setup),
        cmocka_unit_test_setup(test_a_call_that_is_left_out_hides_what_is_inside, setup),
        cmocka_unit_test_setup(test_a_driver_call_of_another_id_is_a_call, setup),
        cmocka_unit_test_setup(test_a_nested_call_clears_what_stood_there, setup),
        cmocka_unit_test_setup(test_each_call_that_makes_a_graph_is_announced, setup),
        cmocka_unit_test_setup(test_a_graph_is_announced_before_cuda_makes_it, setup),
        cmocka_unit_test_setup(test_a_graph_is_announced_by_a_call_without_a_span, setup),
        cmocka_unit_test_setup(test_modules_and_contexts, setup),
        cmocka_unit_test_setup(test_an_executable_graph_has_as_many_nodes_as_were_cloned, setup),
        cmocka_unit_test_setup(test_nodes_come_in_runs_before_their_call, setup),
        cmocka_unit_test_setup(test_a_run_ends_with_its_call, setup),
        cmocka_unit_test_setup(test_nodes_have_the_code_of_the_call_that_makes_them, setup),
        cmocka_unit_test_setup(test_each_node_outside_a_call_has_its_code, setup),
        cmocka_unit_test_setup(test_a_call_with_the_number_of_an_earlier_one, setup),
        cmocka_unit_test_setup(test_a_call_across_an_edge_of_sleep_has_no_code_for_all, setup),
        cmocka_unit_test_setup(test_code_without_room_in_the_ring_is_unknown, setup),
        cmocka_unit_test_setup(test_a_full_ring_leaves_nodes_out_and_loses_nothing, setup),
        cmocka_unit_test_setup(test_a_fatal_error_switches_off_and_keeps_its_text, setup),
        cmocka_unit_test_setup(test_a_full_ring_is_counted, setup),
        cmocka_unit_test_setup(test_an_allocation_comes_with_its_stack, setup),
        cmocka_unit_test_setup(test_without_room_for_its_stack_a_call_goes_alone, setup),
        cmocka_unit_test_setup(test_names_are_taken_at_the_first_launch, setup),
        cmocka_unit_test_setup(test_names_of_excluded_launches_are_taken, setup),
        cmocka_unit_test_setup(test_a_name_that_finds_the_ring_full_is_taken_later, setup),
        cmocka_unit_test_setup(test_calls_in_progress_have_names, setup),
        cmocka_unit_test_setup(test_asleep_calls_that_wait_are_in_progress, setup),
        cmocka_unit_test_setup(test_calls_without_a_ring_are_counted_once, setup),
        cmocka_unit_test_setup(test_threads_call_while_one_drains, setup),
        cmocka_unit_test_setup(test_calls_that_are_open_at_the_end_are_counted, setup),
        cmocka_unit_test_setup(test_timed_calls_are_captured_like_others, setup),
    };
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
