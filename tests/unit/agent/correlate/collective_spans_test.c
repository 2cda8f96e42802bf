#include "support/correlate_harness.h"
#include "agent/correlate/join/collectives.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/call_spans.h"
#include "agent/correlate/gpu_join.h"
#include "model/hang/live_reader.h"

#define NCCL_ATTRS_MAX 10

/* A range of NCCL, as capture writes it. */
static union {
    struct range_record record;
    char bytes[RANGE_RECORD_BYTES];
} range;
static uint64_t next_range, open_ranges[8];
static uint32_t open_count;
static uint64_t range_time = 500;
static const struct thread_info *on;
static uint64_t communicator, rank_here, ranks_here;

static void add_attr(const char *key, enum attr_type type, const void *value, uint16_t bytes)
{
    struct range_attr_head head = {(uint8_t)type, (uint8_t)strlen(key), bytes};
    char *at = range.record.text + range.record.text_bytes;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, key, head.key_bytes);
    memcpy(at + sizeof head + head.key_bytes, value, bytes);
    range.record.text_bytes += (uint32_t)sizeof head + head.key_bytes + bytes;
    range.record.attr_count++;
}

static void add_text(const char *key, const char *text)
{
    add_attr(key, ATTR_STRING, text, (uint16_t)strlen(text));
}

static void add_int(const char *key, int64_t value)
{
    add_attr(key, ATTR_INT, &value, 8);
}

static void begin_range(const char *name)
{
    memset(&range, 0, sizeof range);
    range.record = (struct range_record){.head = {sizeof range, RECORD_RANGE_BEGIN, 0, 0},
                                         .time_ns = BASE_NS + range_time,
                                         .id = ++next_range,
                                         .flags = RANGE_ON_THREAD,
                                         .name_bytes = (uint16_t)strlen(name),
                                         .text_bytes = (uint32_t)strlen(name)};
    memcpy(range.record.text, name, strlen(name));
    add_text("nvtx.domain", "NCCL");
    open_ranges[open_count++] = next_range;
}

static void send_range(void)
{
    thread_events_range(correlate, on, &range.record);
}

static void pop(void)
{
    say(on, RECORD_RANGE_END, open_ranges[--open_count], range_time + 2500, "", 0, 0);
}

static void push(const char *function)
{
    begin_range(function);
    send_range();
}

/* A call of NCCL up to its launch. `share`: bytes of one rank. */
static void push_call(const char *function, int64_t ordinal, int64_t share, const char *key, int64_t value)
{
    begin_range(function);
    add_int("nvtx.payload.NCCL communicator ID", (int64_t)communicator);
    add_int("nvtx.payload.Message size [bytes]", share);
    if (key)
        add_int(key, value);
    add_int("collective.ordinal", ordinal);
    if (ranks_here) {
        add_int("collective.ranks", (int64_t)ranks_here);
        add_int("collective.rank", (int64_t)rank_here);
    }
    send_range();
}

static void enqueue(const char *function, int64_t ordinal, int64_t share, const char *key, int64_t value)
{
    push_call(function, ordinal, share, key, value);
    pop();
}

static void begin_nccl(void)
{
    begin();
    on = &thread;
    open_count = 0;
    communicator = 0xabc;
    ranks_here = 8;
    rank_here = 3;
}

#define REDUCTION  "nvtx.payload.Reduction operation"
#define ALL_REDUCE "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define SEND_RECV  "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"
#define ALL_GATHER "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"

static const struct kept *named(const char *name, uint32_t n)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, name) == 0 && n-- == 0)
            return &spans[i];
    fail_msg("no span %s", name);
    return NULL;
}

static void expect_pointer(const struct kept *kept, const char *key, uint64_t value)
{
    assert_int_equal(attr(kept, key)->type, ATTR_POINTER);
    assert_int_equal(attr(kept, key)->i, (int64_t)value);
}

static int64_t key_of(const struct kept *kept)
{
    return attr(kept, "collective.key")->i;
}

static void test_a_call_has_a_span_around_its_kernel(void **state)
{
    begin_nccl();
    push_call("ncclAllReduce", 41, 1000, REDUCTION, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 2500);
    const struct kept *span = only("AllReduce");
    expect_child(span, only("cudaLaunchKernel"));
    expect_child(only("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), span);
    assert_int_equal(span->span.start_ns, BASE_NS + 2000);
    assert_int_equal(span->span.end_ns, BASE_NS + 2500);
    assert_int_equal(span->span.resource, only("ncclDevKernel_AllReduce_Sum_bf16_RING_LL")->span.resource);
    expect_text(span, "cuda.activity", "collective");
    expect_text(span, "collective.operation", "all_reduce");
    expect_text(span, "collective.source", "nvtx");
    expect_text(span, "collective.reduction", "sum");
    expect_pointer(span, "collective.communicator", 0xabc);
    assert_int_equal(attr_int(span, "collective.ordinal"), 41);
    assert_int_equal(attr_int(span, "collective.ranks"), 8);
    assert_int_equal(attr_int(span, "collective.rank"), 3);
    assert_int_equal(attr_int(span, "collective.bytes"), 1000);
    assert_true(attr(span, "collective.algbw")->d == 2e9);
    assert_true(attr(span, "collective.busbw")->d == 3.5e9);
    assert_null(attr(span, "collective.grouped"));
    assert_int_equal(counter_get(COUNTER_collectives), 1);
}

static void mark_of_plugin(const char *function, int64_t ordinal, int64_t peer, const char *datatype)
{
    memset(&range, 0, sizeof range);
    range.record = (struct range_record){.head = {sizeof range, RECORD_MARK, 0, 0},
                                         .time_ns = BASE_NS + 600,
                                         .name_bytes = strlen(NCCL_MARK),
                                         .text_bytes = strlen(NCCL_MARK)};
    memcpy(range.record.text, NCCL_MARK, strlen(NCCL_MARK));
    add_text(NCCL_MARK, function);
    add_int(NCCL_MARK_COMMUNICATOR, (int64_t)communicator);
    add_int(peer < 0 ? NCCL_MARK_ORDINAL : NCCL_MARK_PEER, peer < 0 ? ordinal : peer);
    add_text(NCCL_MARK_DATATYPE, datatype);
    if (peer < 0) {
        add_text(NCCL_MARK_ALGORITHM, "RING");
        add_text(NCCL_MARK_PROTOCOL, "LL128");
    }
    thread_events_range(correlate, on, &range.record);
}

static void test_the_live_state_learns_of_ends(void **state)
{
    static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
    static struct live_view view;
    struct error err;
    settings.capture.launch_stacks = LAUNCH_STACKS_PYTHON;
    begin_nccl();
    live_state_begin(memory, &(struct live_identity){.pid = 1});
    for (uint64_t i = 0; i < 3; i++) {
        live_begin_call(&(struct live_start){
            .communicator = communicator, .operation = COLLECTIVE_ALL_REDUCE, .ordinal = i});
        live_return_from_call();
    }
    live_note_communicator(communicator, 8, 3, 1);
    push_call("ncclAllReduce", 1, 1000, REDUCTION, 0);
    describe_code(71, 9, 0);
    launch(1, 1000);
    mark_of_plugin("AllReduce", 1, -1, "ncclBfloat16");
    pop();
    assert_int_equal(live_view_of(memory, memory, sizeof memory, &view, &err), STATUS_OK);
    assert_int_equal(view.communicators[0].completed, 0);
    assert_int_equal(view.communicators[0].calls[0].flags, LIVE_RETURNED);
    assert_int_equal(view.communicators[0].calls[1].flags, LIVE_RETURNED | LIVE_TRACED);
    assert_int_equal(view.communicators[0].calls[1].datatype, 10);
    assert_int_equal(view.communicators[0].calls[1].code, 71);
    assert_string_equal(live_view_code_line(&view, 71), "graph.py:9 capture");
    kernel(ALL_REDUCE, 1, 2000, 2500);
    assert_int_equal(live_view_of(memory, memory, sizeof memory, &view, &err), STATUS_OK);
    assert_int_equal(view.communicators[0].enqueued, 3);
    assert_int_equal(view.communicators[0].completed, 2); /* the one before was not sampled */
    live_state_reset();
}

static void test_ends_without_spans(void **state)
{
    static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
    begin_nccl();
    live_state_begin(memory, &(struct live_identity){.pid = 1});
    live_begin_call(&(struct live_start){.communicator = communicator, .operation = COLLECTIVE_ALL_REDUCE});
    live_return_from_call();
    attach_flags(on, 5, 0, ""); /* not sampled */
    push_call("ncclAllReduce", 0, 1000, REDUCTION, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 2500);
    struct live_progress progress[LIVE_COMMUNICATORS];
    assert_int_equal(live_get_progress(progress), 1);
    assert_int_equal(progress[0].completed, 1);
    live_state_reset();
}

/* The work that is left after a flush. */

static struct gpu_left left;

static bool flush(void)
{
    return gpu_join_end_flush(correlate, &left);
}

static void test_the_oldest_work_that_has_not_ended(void **state)
{
    begin_nccl();
    gpu_join_begin_flush(correlate);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_NONE);
    launch(1, 1000);
    push_call("ncclAllReduce", 0, 1000, REDUCTION, 0);
    launch(2, 1100);
    pop();
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_KERNEL);
    assert_int_equal(left.start_ns, BASE_NS + 1000);
    kernel("k", 1, 1500, 1600);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_COLLECTIVE);
    struct activity_record record = make_kernel(ALL_REDUCE, 2, 2000, 2500);
    record.start_ns = record.end_ns = 0; /* a forced flush returns it before it has ended */
    gpu_join_add(correlate, &record);
    launch(3, 3000);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_COLLECTIVE);
    assert_int_equal(left.start_ns, BASE_NS + 1100);
    gpu_join_begin_flush(correlate); /* the collective may go on */
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
}

/* Its record comes once, so that its span ends with the flush, and its end will not be known. */
static void test_a_collective_that_a_flush_takes_has_not_ended(void **state)
{
    static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
    struct live_progress progress[LIVE_COMMUNICATORS];
    begin_nccl();
    live_state_begin(memory, &(struct live_identity){.pid = 1});
    live_begin_call(&(struct live_start){.communicator = communicator, .operation = COLLECTIVE_ALL_REDUCE});
    live_return_from_call();
    push_call("ncclAllReduce", 0, 1000, REDUCTION, 0);
    launch(1, 1000);
    pop();
    gpu_join_begin_flush(correlate);
    struct activity_record record = make_kernel(ALL_REDUCE, 1, 2000, 2500);
    record.start_ns = record.end_ns = 0;
    gpu_join_add(correlate, &record);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_COLLECTIVE);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    assert_int_equal(live_get_progress(progress), 1);
    assert_int_equal(progress[0].completed, 0);
    const struct kept *work = only("ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
    assert_int_equal(attr_int(work, "cuda.unfinished"), 1);
    assert_int_equal(work->span.status, SPAN_STATUS_UNSET);
    assert_true(work->span.start_ns == BASE_NS + 1000 && work->span.end_ns > work->span.start_ns);
    const struct kept *whole = only("AllReduce");
    assert_int_equal(attr_int(whole, "cuda.unfinished"), 1);
    assert_null(attr(whole, "collective.key"));
    assert_null(attr(whole, "collective.algbw"));
    gpu_join_add(correlate, &record); /* beside no flush it is lost */
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
    gpu_join_begin_flush(correlate); /* whether it has ended since is unknown */
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
    launch(2, 3000);
    record = make_kernel("k", 2, 1500, 1600);
    record.start_ns = clock_now_ns() + NS_PER_SECOND; /* the stream goes on, so it has ended */
    record.end_ns = record.start_ns + 100;
    gpu_join_add(correlate, &record);
    gpu_join_begin_flush(correlate);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_NONE);
    live_state_reset();
}

/* Too many streams to remember: whether all have gone on is never known. */
static void test_work_of_many_streams_is_taken(void **state)
{
    struct activity_record record;
    begin_nccl();
    gpu_join_begin_flush(correlate);
    for (uint32_t i = 1; i <= 20; i++) {
        launch(i, 1000 + i);
        record = make_kernel("k", i, 2000, 2500);
        record.stream_id = i;
        record.start_ns = record.end_ns = 0;
        gpu_join_add(correlate, &record);
    }
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_KERNEL);
    for (uint32_t i = 1; i <= 20; i++) {
        launch(20 + i, 3000 + i);
        record = make_kernel("k", 20 + i, 3500, 3600);
        record.stream_id = i;
        record.start_ns = clock_now_ns() + NS_PER_SECOND;
        record.end_ns = record.start_ns + 100;
        gpu_join_add(correlate, &record);
    }
    gpu_join_begin_flush(correlate);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
}

/* Its launch has not returned, and would always be the oldest work. */
static void test_taken_work_without_a_call_makes_the_oldest_unknown(void **state)
{
    begin_nccl();
    gpu_join_begin_flush(correlate);
    struct activity_record record = make_kernel("k", 9, 2000, 2500);
    record.start_ns = record.end_ns = 0;
    gpu_join_add(correlate, &record);
    assert_true(flush());
    launch(9, 1000);
    gpu_join_begin_flush(correlate);
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
}

static bool has_slept;

static bool slept_between(uint64_t from_ns, uint64_t until_ns)
{
    return has_slept;
}

static void test_what_is_missing_makes_ends_unknown(void **state)
{
    struct correlate_options options = usual_options();
    options.slept_between = slept_between;
    begin_as(&options);
    on = &thread;
    has_slept = true;
    launch(1, 1000);
    assert_true(flush()); /* ends of what was launched are known, but older work may be unknown */
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
    has_slept = false;
    assert_true(flush());
    assert_int_equal(left.kind, LIVE_WORK_KERNEL);
    counter_add(COUNTER_lost_cupti_dropped, 1);
    assert_false(flush());
    assert_int_equal(left.kind, LIVE_WORK_UNKNOWN);
    counters_reset();
    assert_true(flush());
    struct resource_record graph = {.head = {sizeof graph, RECORD_RESOURCE, 0, RESOURCE_EXEC_CREATED}};
    call_spans_resource(correlate, &thread, &graph);
    assert_false(flush());
}

static void test_gathered_bytes_are_those_of_all_ranks(void **state)
{
    begin_nccl();
    push_call("ncclAllGather", 0, 1000, NULL, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_GATHER, 1, 2000, 3000);
    assert_int_equal(attr_int(only("AllGather"), "collective.bytes"), 8000);
    assert_true(attr(only("AllGather"), "collective.busbw")->d == 7e9);
    ranks_here = 0; /* of ncclCommSplit: unknown */
    push_call("ncclReduceScatter", 0, 1000, REDUCTION, 7);
    launch(2, 4000);
    pop();
    kernel("_Z44ncclDevKernel_ReduceScatter_Sum_bf16_RING_LLv", 2, 5000, 6000);
    assert_null(attr(only("ReduceScatter"), "collective.bytes"));
    assert_null(attr(only("ReduceScatter"), "collective.busbw"));
    expect_text(only("ReduceScatter"), "collective.reduction", "custom");
}

static void test_all_ranks_have_the_same_key(void **state)
{
    static const struct {
        uint64_t communicator, rank;
        const char *function;
        int64_t ordinal;
        bool same;
    } others[] = {{0xabc, 3, "ncclAllReduce", 5, true},
                  {0xabc, 4, "ncclAllReduce", 5, true},
                  {0xabd, 3, "ncclAllReduce", 5, false},
                  {0xabc, 3, "ncclAllReduce", 6, false},
                  {0xabc, 3, "ncclReduce", 5, false}};
    begin_nccl();
    for (uint32_t i = 0; i < 5; i++) {
        communicator = others[i].communicator;
        rank_here = others[i].rank;
        push_call(others[i].function, others[i].ordinal, 8, REDUCTION, 0);
        launch(1 + i, 1000);
        pop();
        kernel(ALL_REDUCE, 1 + i, 2000, 3000);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(key_of(named("AllReduce", i)) == key_of(named("AllReduce", 0)), others[i].same);
    assert_int_not_equal(key_of(only("Reduce")), key_of(named("AllReduce", 0)));
}

static void test_a_group_is_one_span(void **state)
{
    begin_nccl();
    push("ncclGroupStart");
    pop();
    for (int64_t i = 0; i < 3; i++)
        enqueue("ncclAllReduce", 10 + i, 1000, REDUCTION, 0);
    launch(1, 900); /* the program's, between the calls */
    push("ncclGroupEnd");
    launch(2, 1000);
    pop();
    launch(3, 1100);
    kernel("own", 1, 1900, 2000);
    kernel(ALL_REDUCE, 2, 2000, 3000);
    kernel("own", 3, 3000, 3100);
    const struct kept *span = only("AllReduce");
    assert_int_equal(attr_int(span, "collective.grouped"), 3);
    assert_int_equal(attr_int(span, "collective.ordinal"), 10);
    assert_int_equal(attr_int(span, "collective.bytes"), 3000);
    expect_child(span, named("cudaLaunchKernel", 1));
    expect_child(named("own", 0), named("cudaLaunchKernel", 0));
    expect_child(named("own", 1), named("cudaLaunchKernel", 2));
    assert_int_equal(counter_get(COUNTER_collectives), 1);
}

static void test_a_group_of_both_kinds_has_a_kernel_of_each(void **state)
{
    begin_nccl();
    push("ncclGroupStart");
    pop();
    push("ncclGroupStart"); /* nested */
    pop();
    enqueue("ncclSend", 5, 100, "nvtx.payload.Peer rank", 4);
    enqueue("ncclAllReduce", 10, 1000, REDUCTION, 0);
    enqueue("ncclRecv", 6, 300, "nvtx.payload.Peer rank", 2);
    push("ncclGroupEnd");
    pop();
    push("ncclGroupEnd");
    launch(1, 1000);
    launch(2, 1100);
    pop();
    kernel(SEND_RECV, 2, 2000, 3000);
    kernel(ALL_REDUCE, 1, 2000, 4000);
    assert_int_equal(attr_int(only("AllReduce"), "collective.bytes"), 1000);
    assert_null(attr(only("AllReduce"), "collective.grouped"));
    const struct kept *span = only("SendRecv");
    expect_text(span, "collective.operation", "send_recv");
    assert_int_equal(attr_int(span, "collective.grouped"), 2);
    assert_int_equal(attr_int(span, "collective.bytes"), 300); /* the larger direction */
    assert_true(attr(span, "collective.busbw")->d == 3e8);
    assert_null(attr(span, "collective.peer"));
}

static void test_both_sides_of_a_pair_have_the_same_key(void **state)
{
    begin_nccl();
    rank_here = 3;
    push_call("ncclSend", 9, 100, "nvtx.payload.Peer rank", 4);
    launch(1, 1000);
    pop();
    kernel(SEND_RECV, 1, 2000, 3000);
    rank_here = 4;
    push_call("ncclRecv", 9, 100, "nvtx.payload.Peer rank", 3);
    launch(2, 1000);
    pop();
    kernel(SEND_RECV, 2, 2000, 3000);
    push_call("ncclSend", 9, 100, "nvtx.payload.Peer rank", 3); /* the other direction */
    launch(3, 1000);
    pop();
    kernel(SEND_RECV, 3, 2000, 3000);
    assert_int_equal(key_of(named("Send", 0)), key_of(only("Recv")));
    assert_int_not_equal(key_of(named("Send", 1)), key_of(only("Recv")));
    assert_int_equal(attr_int(only("Recv"), "collective.peer"), 3);
    expect_text(only("Recv"), "collective.operation", "recv");
}

static void exchange(uint64_t rank, int64_t sends, int64_t receives, uint32_t id)
{
    rank_here = rank;
    push("ncclGroupStart");
    pop();
    enqueue("ncclSend", sends, 100, "nvtx.payload.Peer rank", rank == 3 ? 4 : 3);
    enqueue("ncclRecv", receives, 100, "nvtx.payload.Peer rank", rank == 3 ? 4 : 3);
    push("ncclGroupEnd");
    launch(id, 1000);
    pop();
    kernel(SEND_RECV, id, 2000, 3000);
}

static void test_both_sides_of_an_exchange_have_the_same_key(void **state)
{
    begin_nccl();
    exchange(3, 5, 7, 1);
    exchange(4, 7, 5, 2);
    exchange(4, 8, 5, 3);
    assert_int_equal(key_of(named("SendRecv", 0)), key_of(named("SendRecv", 1)));
    assert_int_not_equal(key_of(named("SendRecv", 0)), key_of(named("SendRecv", 2)));
}

static void test_communicators_of_a_group_have_a_kernel_each(void **state)
{
    begin_nccl();
    push("ncclGroupStart");
    pop();
    enqueue("ncclAllReduce", 1, 100, REDUCTION, 0);
    communicator = 0xdef;
    enqueue("ncclAllReduce", 2, 200, REDUCTION, 0);
    push("ncclGroupEnd");
    launch(1, 1000);
    launch(2, 1100);
    pop();
    kernel(ALL_REDUCE, 2, 2000, 3000); /* in any order */
    kernel(ALL_REDUCE, 1, 2000, 3000);
    expect_pointer(named("AllReduce", 0), "collective.communicator", 0xdef);
    assert_int_equal(attr_int(named("AllReduce", 0), "collective.bytes"), 200);
    expect_pointer(named("AllReduce", 1), "collective.communicator", 0xabc);
}

static void test_ranks_of_one_process_have_a_kernel_each(void **state)
{
    begin_nccl();
    push("ncclGroupStart");
    pop();
    enqueue("ncclAllReduce", 1, 100, REDUCTION, 0);
    enqueue("ncclAllReduce", 1, 100, REDUCTION, 0);
    push("ncclGroupEnd");
    launch(1, 1000);
    launch(2, 1100);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 3000);
    kernel(ALL_REDUCE, 2, 2000, 3000);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(attr_int(named("AllReduce", i), "collective.ordinal"), 1);
        assert_null(attr(named("AllReduce", i), "collective.grouped"));
    }
}

static void test_a_further_kernel_of_a_group_has_its_communicator(void **state)
{
    begin_nccl();
    push_call("ncclAllReduce", 1, 100, REDUCTION, 0);
    launch(1, 1000);
    launch(2, 1100);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 3000);
    kernel(ALL_REDUCE, 2, 3000, 4000);
    expect_text(named("AllReduce", 1), "collective.source", "kernel");
    expect_pointer(named("AllReduce", 1), "collective.communicator", 0xabc);
    assert_null(attr(named("AllReduce", 1), "collective.key"));
}

static void test_a_group_whose_end_was_missed_ends(void **state)
{
    begin_nccl();
    push("ncclGroupStart");
    pop();
    enqueue("ncclAllGather", 1, 100, NULL, 0); /* then capture sleeps */
    push_call("ncclAllReduce", 2, 100, REDUCTION, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 3000);
    assert_int_equal(attr_int(only("AllReduce"), "collective.ordinal"), 2);
    assert_null(attr(only("AllReduce"), "collective.grouped"));
    push_call("ncclAllReduce", 3, 100, REDUCTION, 0);
    launch(2, 1000);
    pop();
    kernel(ALL_REDUCE, 2, 2000, 3000);
    assert_int_equal(attr_int(named("AllReduce", 1), "collective.ordinal"), 3);
}

static void copy(uint32_t id, uint64_t start)
{
    struct activity_record record = make(ACTIVITY_MEMCPY, id, start, start + 100);
    gpu_join_add(correlate, &record);
}

static void test_copies_run_a_collective_without_a_kernel(void **state)
{
    begin_nccl();
    push_call("ncclAllReduce", 1, 100, REDUCTION, 0);
    call_full(CALL_RUNTIME, "cudaMemcpyAsync", 1, 1000, 1100, 0);
    launch(2, 1200);
    pop();
    copy(1, 2000); /* NCCL's own, before the kernel */
    kernel(ALL_REDUCE, 2, 3000, 4000);
    assert_int_equal(counter_get(COUNTER_collectives), 1);
    push_call("ncclAllGather", 1, 100, NULL, 0); /* copy engines, or one rank */
    call_full(CALL_RUNTIME, "cudaMemcpyAsync", 3, 5000, 5100, 0);
    pop();
    copy(3, 6000);
    assert_int_equal(only("AllGather")->span.start_ns, BASE_NS + 6000);
    expect_child(only("AllGather"), named("cudaMemcpyAsync", 1));
    assert_int_equal(attr_int(only("AllGather"), "collective.ordinal"), 1);
}

static void test_kernels_alone_are_named(void **state)
{
    static const struct {
        const char *kernel, *span, *operation;
    } kernels[] = {
        {"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LLv", "AllReduce", "all_reduce"},
        {"_Z38ncclKernel_SendRecv_RING_SIMPLE_Sum_i8v", "SendRecv", "send_recv"},
        {"ncclSymkDevKernel_ReduceScatter_LL_Sum_f32", "ReduceScatter", "reduce_scatter"},
        {"ncclDevKernel_Generic", "Generic", NULL},
        {"_ZN4vllm26cross_device_reduce_1stageI6__halfLi8EEEvv", "AllReduce", "all_reduce"},
        {"_ZN6sglang26cross_device_reduce_2stageI6__halfLi8EEEvv", "AllReduce", "all_reduce"},
        {"_ZN7deep_ep9intranode8dispatchILi8EEEvv", "AlltoAll", "all_to_all"},
        {"_ZN7deep_ep12internode_ll7combineEv", "AlltoAll", "all_to_all"},
        {"nvshmemi_alltoall_kernel", "AlltoAll", "all_to_all"},
    };
    for (uint32_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        begin_nccl();
        span_count = 0;
        launch(1, 1000);
        kernel(kernels[i].kernel, 1, 2000, 3000);
        const struct kept *span = only(kernels[i].span);
        expect_child(span, only("cudaLaunchKernel"));
        expect_text(span, "collective.source", "kernel");
        if (kernels[i].operation)
            expect_text(span, "collective.operation", kernels[i].operation);
        else
            assert_null(attr(span, "collective.operation"));
        assert_int_equal(span_count, 3);
        correlate_destroy(correlate);
        correlate = NULL;
    }
}

static void test_other_kernels_are_not_collectives(void **state)
{
    begin_nccl();
    launch(1, 1000);
    kernel("_ZN7deep_ep9intranode15notify_dispatchILi8EEEvv", 1, 2000, 3000);
    launch(2, 1000);
    kernel("reduce_kernel", 2, 2000, 3000);
    assert_int_equal(counter_get(COUNTER_collectives), 0);
}

static void test_unsampled_work_has_none(void **state)
{
    begin_nccl();
    attach_flags(&thread, 5, 0, "");
    push_call("ncclAllReduce", 1, 100, REDUCTION, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 3000);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_collectives), 0);
}

/* `peer` -1: a collective with a number. */
static void test_the_plugin_adds_how(void **state)
{
    begin_nccl();
    mark_of_plugin("AllReduce", 0, -1, "ncclInt8"); /* before the first range */
    push_call("ncclAllReduce", 41, 1000, REDUCTION, 0);
    launch(1, 1000);
    communicator = 0xabd;
    mark_of_plugin("AllReduce", 41, -1, "ncclInt8"); /* of another communicator */
    communicator = 0xabc;
    mark_of_plugin("AllReduce", 41, -1, "ncclBfloat16");
    pop();
    kernel(ALL_REDUCE, 1, 2000, 2500);
    const struct kept *span = only("AllReduce");
    expect_text(span, "collective.source", "plugin");
    expect_text(span, "collective.datatype", "bfloat16");
    expect_text(span, "collective.algorithm", "RING");
    expect_text(span, "collective.protocol", "LL128");
    push_call("ncclAllReduce", 42, 1000, REDUCTION, 0);
    launch(2, 1000);
    mark_of_plugin("Reduce", 0, -1, "ncclInt8");
    pop();
    kernel(ALL_REDUCE, 2, 2000, 2500);
    assert_null(attr(named("AllReduce", 1), "collective.datatype"));
    assert_int_equal(counter_get(COUNTER_facts), 4);
    assert_int_equal(counter_get(COUNTER_marks_captured), 4);
}

static void test_the_plugin_may_number_otherwise_and_late(void **state)
{
    begin_nccl();
    push_call("ncclAllReduce", 41, 1000, REDUCTION, 0);
    launch(1, 1000);
    pop();
    mark_of_plugin("AllReduce", 7, -1, "ncclFloat32"); /* captured ones have no number; after the range */
    kernel(ALL_REDUCE, 1, 2000, 2500);
    expect_text(only("AllReduce"), "collective.datatype", "float32");
    push("ncclGroupStart");
    pop();
    enqueue("ncclSend", 0, 100, "nvtx.payload.Peer rank", 4);
    enqueue("ncclSend", 0, 100, "nvtx.payload.Peer rank", 5);
    push("ncclGroupEnd");
    launch(2, 1000);
    mark_of_plugin("Send", 0, 5, "ncclInt32");
    mark_of_plugin("Send", 0, 4, "ncclUint8");
    pop();
    kernel(SEND_RECV, 2, 2000, 2500);
    expect_text(only("Send"), "collective.datatype", "uint8"); /* that of the first */
}

static void test_many_collectives_in_flight(void **state)
{
    begin_nccl();
    for (uint32_t i = 0; i < COLLECTIVES_MAX + 10; i++) {
        push_call("ncclAllReduce", i, 1000, REDUCTION, 0);
        launch(1 + i, 1000);
        pop();
        span_count = 0;
    }
    kernel(ALL_REDUCE, 5, 2000, 3000);                    /* overwritten */
    kernel(ALL_REDUCE, COLLECTIVES_MAX + 10, 2000, 3000); /* the last */
    expect_text(named("AllReduce", 0), "collective.source", "kernel");
    assert_int_equal(counter_get(COUNTER_collectives_forgotten), 1);
    assert_int_equal(attr_int(named("AllReduce", 1), "collective.ordinal"), COLLECTIVES_MAX + 9);
}

#define IN_A_STEP 40

static void step_of_collectives(int64_t number)
{
    struct step_boundary at = {.time = BASE_NS + (uint64_t)number * 100000, .number = number};
    session_spans_step(correlate, &at);
    for (uint32_t i = 0; i < IN_A_STEP; i++) {
        range_time = (uint64_t)number * 100000 + 500 + i;
        push_call("ncclAllReduce", number * IN_A_STEP + i, 1000, REDUCTION, 0);
        launch((uint32_t)number * 1000 + i, range_time);
        pop();
    }
    tick_after(1);
}

/* Which collectives of the second step are in its trace: bits, by order in the step. */
static uint64_t chosen_by(int64_t rank)
{
    static struct step_rules rules;
    struct correlate_options options = usual_options();
    rules = (struct step_rules){.job = 7, .rank = rank, .world_size = 8, .spans_max = 8 * 32};
    options.steps = &rules;
    begin_as(&options);
    on = &thread;
    open_count = span_count = 0;
    communicator = 0xabc;
    ranks_here = 8;
    rank_here = (uint64_t)rank;
    step_of_collectives(1);
    step_of_collectives(2);
    span_count = 0; /* those of the first step */
    for (uint32_t i = 0; i < IN_A_STEP; i++)
        kernel(ALL_REDUCE, 2000 + i, 250000 + 100 * i, 250050 + 100 * i);
    uint64_t chosen = 0;
    for (uint32_t i = 0; i < span_count; i++) {
        assert_string_equal(spans[i].name, "AllReduce"); /* without kernels and calls */
        chosen |= 1ull << (attr_int(&spans[i], "collective.ordinal") - 2 * IN_A_STEP);
    }
    correlate_destroy(correlate);
    correlate = NULL;
    range_time = 500;
    return chosen;
}

static void test_ranks_of_a_large_step_choose_the_same(void **state)
{
    uint64_t first = chosen_by(1), second = chosen_by(3);
    assert_int_equal(first, second);
    assert_in_range(__builtin_popcountll(first), 5, 23);
}

static void test_a_summary_has_no_collectives(void **state)
{
    settings.detail = DETAIL_SUMMARY;
    begin_nccl();
    push_call("ncclAllReduce", 1, 100, REDUCTION, 0);
    launch(1, 1000);
    pop();
    kernel(ALL_REDUCE, 1, 2000, 3000);
    assert_int_equal(counter_get(COUNTER_collectives), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_has_a_span_around_its_kernel),
        TEST(test_the_live_state_learns_of_ends),
        TEST(test_ends_without_spans),
        TEST(test_the_oldest_work_that_has_not_ended),
        TEST(test_a_collective_that_a_flush_takes_has_not_ended),
        TEST(test_work_of_many_streams_is_taken),
        TEST(test_taken_work_without_a_call_makes_the_oldest_unknown),
        TEST(test_what_is_missing_makes_ends_unknown),
        TEST(test_gathered_bytes_are_those_of_all_ranks),
        TEST(test_all_ranks_have_the_same_key),
        TEST(test_ranks_of_a_large_step_choose_the_same),
        TEST(test_a_group_is_one_span),
        TEST(test_a_group_of_both_kinds_has_a_kernel_of_each),
        TEST(test_both_sides_of_a_pair_have_the_same_key),
        TEST(test_both_sides_of_an_exchange_have_the_same_key),
        TEST(test_communicators_of_a_group_have_a_kernel_each),
        TEST(test_ranks_of_one_process_have_a_kernel_each),
        TEST(test_a_further_kernel_of_a_group_has_its_communicator),
        TEST(test_a_group_whose_end_was_missed_ends),
        TEST(test_copies_run_a_collective_without_a_kernel),
        TEST(test_kernels_alone_are_named),
        TEST(test_other_kernels_are_not_collectives),
        TEST(test_unsampled_work_has_none),
        TEST(test_the_plugin_adds_how),
        TEST(test_the_plugin_may_number_otherwise_and_late),
        TEST(test_many_collectives_in_flight),
        TEST(test_a_summary_has_no_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
