#include "agent/watch/hang_report.h"

#include "agent/encode/log_encoder.h"
#include "base/clock.h"
#include "model/semconv.h"
#include "model/step.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define NOW_NS (1000 * NS_PER_SECOND)

static struct live_view view;
static struct thread_stacks stacks;
static struct stall stall;
static struct hang_report report;
static struct hang_facts facts;

static int begin(void **state)
{
    memset(&view, 0, sizeof view);
    memset(&stacks, 0, sizeof stacks);
    stall = (struct stall){.after_ns = 5 * NS_PER_SECOND,
                           .stalled_ns = NOW_NS - 12 * NS_PER_SECOND,
                           .stalls = 1,
                           .is_alarm = true};
    view.rank = 3;
    view.world_size = 8;
    view.pid = 77;
    view.step_kind = STEP_NONE;
    facts = (struct hang_facts){
        .event = STALL_BEGINS, .stall = &stall, .now_ns = NOW_NS, .time_ns = 5, .view = &view};
    return 0;
}

static struct live_communicator_view *add_communicator(uint64_t id, uint32_t calls, uint64_t latest_ns)
{
    struct live_communicator_view *made = &view.communicators[view.communicator_count++];
    *made = (struct live_communicator_view){.id = id,
                                            .ranks = 8,
                                            .rank = 3,
                                            .local_ranks = 1,
                                            .enqueued = 100,
                                            .completed = 40,
                                            .last_enqueued_ns = latest_ns,
                                            .call_count = calls};
    for (uint32_t i = 0; i < calls; i++)
        made->calls[i] = (struct live_call_view){.number = 100 - calls + i,
                                                 .ordinal = 50 - calls + i,
                                                 .enqueued_ns = latest_ns - (calls - 1 - i) * NS_PER_MS,
                                                 .bytes = 4096,
                                                 .operation = COLLECTIVE_ALL_REDUCE,
                                                 .peer = LIVE_NO_PEER,
                                                 .flags = LIVE_RETURNED};
    return made;
}

static void make(size_t bytes)
{
    hang_report_make(&facts, bytes, &report);
}

static const struct span_attr *attr(const char *key)
{
    for (uint32_t i = 0; i < report.record.attr_count; i++)
        if (strlen(key) == report.attrs[i].key->len &&
            memcmp(report.attrs[i].key->name, key, strlen(key)) == 0)
            return &report.attrs[i];
    return NULL;
}

static const char *json(void)
{
    static char text[HANG_FULL_BYTES + 1];
    const struct span_attr *found = attr(SEMCONV_CUSPAN_HANG_REPORT);
    assert_non_null(found);
    memcpy(text, found->s, found->len);
    text[found->len] = 0;
    return text;
}

#define HAS(text)   assert_non_null(strstr(json(), text))
#define LACKS(text) assert_null(strstr(json(), text))

static void test_names_the_call_that_has_not_returned(void **state)
{
    add_communicator(0xbeef, 3, NOW_NS - NS_PER_SECOND);
    struct live_communicator_view *open = add_communicator(0xf00d, 3, NOW_NS - 13 * NS_PER_SECOND);
    open->calls[2].flags = 0;
    view.nccl_call_count = 1;
    view.nccl_calls[0] = (struct live_thread_view){.since_ns = NOW_NS - 13 * NS_PER_SECOND,
                                                   .communicator = 0xf00d,
                                                   .thread = 9,
                                                   .name = "ncclAllReduce"};
    view.steps = 30;
    view.step_number = 29;
    view.step_kind = STEP_TRAIN;
    view.step_began_ns = NOW_NS - 14 * NS_PER_SECOND;
    make(HANG_BRIEF_BYTES);
    assert_string_equal(report.body,
                        "rank 3 of 8 has not moved for 12.0 s: all_reduce 49 of communicator 0xf00d (8 "
                        "ranks) has not returned");
    assert_int_equal(report.record.severity, LOG_SEVERITY_WARN);
    assert_string_equal(report.record.event_name, "cuspan.hang");
    assert_memory_equal(attr(SEMCONV_COLLECTIVE_COMMUNICATOR)->s, "0xf00d", 6);
    assert_memory_equal(attr(SEMCONV_COLLECTIVE_OPERATION)->s, "all_reduce", 10);
    assert_int_equal(attr(SEMCONV_COLLECTIVE_ORDINAL)->i, 49);
    assert_int_equal(attr(SEMCONV_COLLECTIVE_BYTES)->i, 4096);
    assert_int_equal(attr(SEMCONV_COLLECTIVE_RANKS)->i, 8);
    assert_int_equal(attr(SEMCONV_TRAINING_STEP_NUMBER)->i, 29);
    assert_memory_equal(attr(SEMCONV_CUSPAN_HANG_STATE)->s, "begins", 6);
    assert_true(attr(SEMCONV_CUSPAN_HANG_DURATION)->d == 12);
    HAS("\"step\":{\"number\":29,\"kind\":\"train\",\"seconds\":14.000000}");
    HAS("{\"thread\":9,\"call\":\"ncclAllReduce\",\"seconds\":13.000000,\"communicator\":\"0xf00d\"}");
    HAS("\"communicators\":[{\"id\":\"0xf00d\"");
    HAS("{\"number\":99,\"ordinal\":49,\"operation\":\"all_reduce\",\"bytes\":4096,\"seconds\":13.000000,"
        "\"thread\":0,"
        "\"returned\":false,\"ended\":false}");
}

static void test_what_a_flush_has_shown(void **state)
{
    struct live_communicator_view *all = add_communicator(0xbeef, 3, NOW_NS - NS_PER_SECOND);
    for (int i = 0; i < 3; i++)
        all->calls[i].flags = LIVE_RETURNED | LIVE_TRACED;
    all->calls[0].flags |= LIVE_ENDED;
    all->calls[2].code = 7;
    view.line_count = 1;
    view.lines[0] = (struct live_line_view){7, "t.py:5 step"};
    make(HANG_FULL_BYTES);
    LACKS("exact_seconds");
    LACKS("oldest_work");
    HAS("\"completed\":40,\"exact\":false");
    HAS("\"ended\":false,\"line\":\"t.py:5 step\"}");
    view.exact_ns = NOW_NS - 500123000;
    view.work = LIVE_WORK_COLLECTIVE;
    view.work_began_ns = NOW_NS - 12000001000;
    make(HANG_BRIEF_BYTES);
    HAS("\"exact_seconds\":0.500123,\"oldest_work\":{\"kind\":\"collective\",\"seconds\":12.000001}");
    HAS("\"completed\":40,\"exact\":true");
    LACKS("t.py");
    view.work = LIVE_WORK_NONE;
    make(HANG_BRIEF_BYTES);
    HAS("\"oldest_work\":{\"kind\":\"none\"}");
}

static void test_gpus_and_children(void **state)
{
    static struct hardware hardware = {.count = 2};
    static struct children children = {.count = 3,
                                       .list = {{.pid = 5, .state = 'S', .name = "pt_data_worker"},
                                                {.pid = 6, .state = 'Z', .name = "pt_data_worker"},
                                                {.pid = 7, .name = "sh", .ended_ns = NOW_NS - 1500000000}}};
    hardware.gpus[0] = (struct gpu_hardware){.id = "GPU-1",
                                             .present = 1u << HARDWARE_XIDS | 1u << HARDWARE_ECC_UNCORRECTED,
                                             .values[HARDWARE_XIDS] = 2,
                                             .values[HARDWARE_DEGRADED] = 1,
                                             .last_xid = 79,
                                             .slowdowns = HARDWARE_SLOW_HW | HARDWARE_SLOW_HW_THERMAL};
    hardware.gpus[1] = (struct gpu_hardware){.id = "GPU-2", .values[HARDWARE_OK] = 1};
    facts.hardware = &hardware;
    facts.children = &children;
    make(HANG_BRIEF_BYTES);
    HAS("\"gpus\":[{\"id\":\"GPU-1\",\"state\":\"degraded\",\"xids\":2,\"ecc_uncorrected\":0,\"last_xid\":79,"
        "\"slowdowns\":[\"hw_slowdown\",\"hw_thermal\"]}],"
        "\"children\":[{\"pid\":6,\"name\":\"pt_data_worker\",\"state\":\"Z\"},"
        "{\"pid\":7,\"name\":\"sh\",\"ended_seconds\":1.500000},"
        "{\"pid\":5,\"name\":\"pt_data_worker\",\"state\":\"S\"}]");
    make(HANG_FULL_BYTES);
    HAS("{\"id\":\"GPU-2\",\"state\":\"ok\"}]"); /* healthy: only in the whole report */
}

static void test_a_stall_that_is_no_alarm_yet(void **state)
{
    stall.is_alarm = false;
    make(HANG_BRIEF_BYTES);
    assert_int_equal(report.record.severity, LOG_SEVERITY_INFO);
    HAS("\"alarm\":false");
    stall.is_alarm = true;
    facts.event = STALL_ALARMS;
    make(HANG_BRIEF_BYTES);
    assert_int_equal(report.record.severity, LOG_SEVERITY_WARN);
    HAS("\"state\":\"lasts\"");
    HAS("\"alarm\":true");
    facts.event = STALL_ENDS;
    make(HANG_BRIEF_BYTES);
    assert_int_equal(report.record.severity, LOG_SEVERITY_INFO);
}

static void test_without_an_open_call_the_latest_one_is_named(void **state)
{
    add_communicator(0xbeef, 3, NOW_NS - 20 * NS_PER_SECOND);
    add_communicator(0xf00d, 3, NOW_NS - 13 * NS_PER_SECOND)->calls[2].flags |= LIVE_ENDED;
    view.cuda_call_count = 1;
    view.cuda_calls[0] =
        (struct live_thread_view){.since_ns = 1, .thread = 9, .cbid = 131, .name = "cudaStreamSynchronize"};
    make(HANG_BRIEF_BYTES);
    assert_string_equal(report.body,
                        "rank 3 of 8 has not moved for 12.0 s: all_reduce 48 of communicator 0xf00d (8 "
                        "ranks) is the latest collective; thread 9 is in cudaStreamSynchronize");
}

static void test_a_call_of_send_has_its_peer(void **state)
{
    struct live_communicator_view *made = add_communicator(1, 1, NOW_NS);
    made->calls[0].operation = COLLECTIVE_SEND;
    made->calls[0].peer = 5;
    made->calls[0].bytes = UINT64_MAX;
    make(HANG_BRIEF_BYTES);
    assert_int_equal(attr(SEMCONV_COLLECTIVE_PEER)->i, 5);
    assert_null(attr(SEMCONV_COLLECTIVE_BYTES));
    HAS("\"operation\":\"send\",\"peer\":5,");
}

static void test_with_nothing_known(void **state)
{
    view.rank = view.world_size = -1;
    make(HANG_BRIEF_BYTES);
    assert_string_equal(report.body, "process 77 has not moved for 12.0 s");
    HAS("\"calls\":[],\"communicators\":[]}");
    view.nccl_call_count = 1;
    view.nccl_calls[0] = (struct live_thread_view){.since_ns = 1, .thread = 9, .name = "ncclCommInitRank"};
    make(HANG_BRIEF_BYTES);
    assert_string_equal(report.body,
                        "process 77 has not moved for 12.0 s: ncclCommInitRank has not returned");
}

static void test_the_end(void **state)
{
    add_communicator(0xbeef, 3, NOW_NS);
    facts.event = STALL_ENDS;
    make(HANG_BRIEF_BYTES);
    assert_string_equal(report.body, "rank 3 of 8 moves again after 12.0 s");
    assert_int_equal(report.record.severity, LOG_SEVERITY_INFO);
    assert_memory_equal(attr(SEMCONV_CUSPAN_HANG_STATE)->s, "ended", 5);
    assert_null(attr(SEMCONV_COLLECTIVE_ORDINAL));
    LACKS("0xbeef");
    facts.event = STALL_REPEATS;
    make(HANG_BRIEF_BYTES);
    assert_memory_equal(attr(SEMCONV_CUSPAN_HANG_STATE)->s, "lasts", 5);
}

/* Threads. */

static uint32_t add_string(const char *text)
{
    uint32_t at = stacks.text_bytes ? stacks.text_bytes : 1;
    strcpy(stacks.text + at, text);
    stacks.text_bytes = at + (uint32_t)strlen(text) + 1;
    return at;
}

static void add_thread(int32_t tid, const char *file, uint32_t line, uint64_t cpu_ms)
{
    struct thread_stack *made = &stacks.threads[stacks.count++];
    *made = (struct thread_stack){
        .tid = tid, .state = 'S', .name = "python", .used_ns = cpu_ms * NS_PER_MS, .is_still = cpu_ms == 0};
    facts.stacks = &stacks;
    if (!file)
        return;
    stacks.codes[stacks.code_count] =
        (struct stack_code){.file = add_string(file), .name = add_string("step")};
    made->python_first = stacks.python_total;
    made->python_count = 1;
    stacks.python_frames[stacks.python_total++] =
        (struct stack_python_frame){.line = line, .function = stacks.code_count++};
}

static void test_the_line_of_a_thread_is_the_programs(void **state)
{
    struct thread_stack thread = {.python_first = 1, .python_count = 2};
    char line[200] = "";
    stacks.code_count = 2;
    stacks.codes[0] = (struct stack_code){.file = add_string("/usr/lib/python3/dist-packages/torch/nn.py"),
                                          .name = add_string("f")};
    stacks.codes[1] = (struct stack_code){.file = add_string("/srv/train.py"), .name = add_string("T.step")};
    stacks.python_frames[1] = (struct stack_python_frame){.line = 5, .function = 0};
    stacks.python_frames[2] = (struct stack_python_frame){.line = 9, .function = 1};
    assert_true(hang_report_line(&stacks, &thread, line, sizeof line));
    assert_string_equal(line, "/srv/train.py:9 T.step");
    thread.python_count = 1; /* only a package's */
    assert_true(hang_report_line(&stacks, &thread, line, sizeof line));
    assert_string_equal(line, "/usr/lib/python3/dist-packages/torch/nn.py:5 f");
    thread.python_count = 0;
    assert_false(hang_report_line(&stacks, &thread, line, sizeof line));
}

static void test_waiting_threads_then_busy_ones(void **state)
{
    add_thread(11, NULL, 0, 0);
    add_thread(12, NULL, 0, 300);
    add_thread(13, "train.py", 88, 0);
    add_thread(14, NULL, 0, 0);
    view.cuda_call_count = 1;
    view.cuda_calls[0] =
        (struct live_thread_view){.since_ns = 1, .thread = 14, .cbid = 1, .name = "cudaFree"};
    stacks.threads[0].is_ours = true;
    make(HANG_BRIEF_BYTES);
    const char *text = json(), *first = strstr(text, "{\"thread\":14,\"name\"");
    const char *second = strstr(text, "{\"thread\":13,\"name\""),
               *third = strstr(text, "{\"thread\":12,\"name\"");
    assert_true(first && second && third && first < second && second < third);
    HAS("\"python\":[\"train.py:88 step\"]");
    HAS("\"cpu_ms\":300.000");
    LACKS("{\"thread\":11,"); /* ours */
    LACKS("threads_left_out");
}

static void test_threads_that_do_not_fit_are_counted_by_place(void **state)
{
    for (int i = 0; i < 300; i++)
        add_thread(1000 + i, i % 3 ? "loader.py" : "worker.py", i % 3 ? 10 : 20, 0);
    make(HANG_BRIEF_BYTES);
    assert_true(strlen(json()) <= HANG_BRIEF_BYTES);
    uint32_t written = 0, loaders = 0, workers = 0;
    for (const char *at = json(); (at = strstr(at, "{\"thread\":")); at++)
        written++;
    assert_int_equal(sscanf(strstr(json(), "\"groups\":["),
                            "\"groups\":[{\"threads\":%u,\"at\":\"%*[^\"]\"},{\"threads\":%u", &loaders,
                            &workers),
                     2);
    assert_true(written > 0);
    assert_int_equal(written + loaders + workers, 300);
    stacks.left_out = 7;
    make(HANG_BRIEF_BYTES);
    HAS("\"threads_left_out\":7");
}

static void test_a_report_has_a_limit(void **state)
{
    char long_name[64];
    for (uint64_t i = 0; i < LIVE_COMMUNICATORS; i++)
        add_communicator(0xfffffffffffff000 + i, LIVE_ENTRIES, NOW_NS - i);
    for (uint32_t i = 0; i < LIVE_NCCL_CALLS; i++) {
        view.nccl_calls[i] =
            (struct live_thread_view){.since_ns = 1, .communicator = UINT64_MAX, .thread = 4000000 + i};
        memset(view.nccl_calls[i].name, 'x', LIVE_NAME_BYTES - 1);
    }
    view.nccl_call_count = LIVE_NCCL_CALLS;
    for (int i = 0; i < 200; i++) {
        snprintf(long_name, sizeof long_name, "file_with_a_long_name_%d.py", i); /* each at another place */
        add_thread(1000 + i, long_name, 10, 0);
    }
    for (int round = 0; round < 2; round++) {
        size_t limit = round ? HANG_FULL_BYTES : HANG_BRIEF_BYTES;
        make(limit);
        assert_true(strlen(json()) <= limit);
        assert_true(strlen(json()) > limit / 2);
        assert_int_equal(json()[strlen(json()) - 1], '}');
        HAS("left_out\":");
    }
}

/* With the rest of the record, in both encodings. */
static void test_a_brief_record_takes_at_most_4_kib(void **state)
{
    static struct log_encoder encoders[2];
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(1, &pool), STATUS_OK);
    test_a_report_has_a_limit(state);
    view.step_kind = STEP_TRAIN;
    view.steps = 1;
    for (int is_json = 0; is_json < 2; is_json++) {
        log_encoder_init(&encoders[is_json], is_json, pool, "", "");
        make(HANG_BRIEF_BYTES);
        struct batch *batch = log_encoder_make(&encoders[is_json], &report.record);
        assert_non_null(batch);
        assert_in_range(batch->bytes, HANG_BRIEF_BYTES / 2, 4096);
        batch_release(batch);
        make(HANG_FULL_BYTES);
        batch = log_encoder_make(&encoders[is_json], &report.record);
        assert_non_null(batch); /* it fits into a chunk, also with JSON's escapes */
        batch_release(batch);
    }
    chunk_pool_destroy(pool);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_the_call_that_has_not_returned),
        TEST(test_without_an_open_call_the_latest_one_is_named),
        TEST(test_what_a_flush_has_shown),
        TEST(test_a_stall_that_is_no_alarm_yet),
        TEST(test_gpus_and_children),
        TEST(test_the_line_of_a_thread_is_the_programs),
        TEST(test_a_call_of_send_has_its_peer),
        TEST(test_with_nothing_known),
        TEST(test_the_end),
        TEST(test_waiting_threads_then_busy_ones),
        TEST(test_threads_that_do_not_fit_are_counted_by_place),
        TEST(test_a_report_has_a_limit),
        TEST(test_a_brief_record_takes_at_most_4_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
