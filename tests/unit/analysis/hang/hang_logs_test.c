#include "analysis/hang/hang_read.h"

#include "agent/encode/log_encoder.h"
#include "agent/watch/hang_report.h"
#include "base/clock.h"
#include "model/step.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define NOW_NS (1000 * NS_PER_SECOND)

static struct live_view view;
static struct thread_stacks looks[2];
static struct hang_report report;
static struct hang_model model;
static struct chunk_pool *pool;
static struct log_encoder encoder;

static int begin(void **state)
{
    memset(&view, 0, sizeof view);
    memset(looks, 0, sizeof looks);
    view.rank = 3;
    view.world_size = 8;
    view.pid = 77;
    view.steps = 9;
    view.step_number = 8;
    view.step_kind = STEP_TRAIN;
    view.communicator_count = 1;
    struct live_communicator_view *made = &view.communicators[0];
    *made = (struct live_communicator_view){.id = 0xf00df00df00df00d,
                                            .ranks = 8,
                                            .rank = 3,
                                            .local_ranks = 1,
                                            .enqueued = 100,
                                            .completed = 98,
                                            .call_count = 3};
    for (uint32_t i = 0; i < 3; i++)
        made->calls[i] =
            (struct live_call_view){.number = 97 + i,
                                    .ordinal = 50 + i,
                                    .enqueued_ns = NOW_NS - (3 - i) * NS_PER_SECOND,
                                    .bytes = i == 1 ? UINT64_MAX : 4096,
                                    .thread = 77,
                                    .operation = i == 1 ? COLLECTIVE_SEND : COLLECTIVE_ALL_REDUCE,
                                    .datatype = i == 2 ? 8 : 0,
                                    .peer = i == 1 ? 5 : LIVE_NO_PEER,
                                    .flags = i == 2 ? 0 : LIVE_RETURNED | LIVE_ENDED};
    return chunk_pool_create(2, &pool);
}

static int clean(void **state)
{
    hang_deinit(&model);
    chunk_pool_destroy(pool);
    return 0;
}

/* The line that the agent sends. */
static void take(enum stall_event event, uint64_t time_ns, size_t bytes)
{
    struct stall stall = {
        .after_ns = 5 * NS_PER_SECOND, .stalled_ns = NOW_NS - 12 * NS_PER_SECOND, .stalls = 1};
    struct hang_facts facts = {.event = event,
                               .stall = &stall,
                               .now_ns = NOW_NS,
                               .time_ns = time_ns,
                               .view = &view,
                               .stacks = looks[1].count ? &looks[1] : NULL};
    struct error err = {""};
    hang_report_make(&facts, bytes, &report);
    log_encoder_init(&encoder, true, pool, "", "");
    struct batch *batch = log_encoder_make(&encoder, &report.record);
    assert_non_null(batch);
    char *line = calloc(1, CHUNK_BYTES + 1);
    memcpy(line, batch->chunks->data + batch->chunks->begin, batch->chunks->end - batch->chunks->begin);
    if (hang_read_json(&model, line, strlen(line), &err) != STATUS_OK)
        fail_msg("%s", err.text);
    free(line);
    batch_release(batch);
}

static void test_a_report_has_the_live_state(void **state)
{
    take(STALL_BEGINS, 5 * NS_PER_SECOND, HANG_FULL_BYTES);
    assert_int_equal(model.rank_count, 1);
    const struct hang_rank *rank = &model.ranks[0];
    assert_int_equal(rank->rank, 3);
    assert_int_equal(rank->world_size, 8);
    assert_int_equal(rank->pid, 77);
    assert_int_equal(rank->step, 8);
    assert_int_equal(rank->watch, LIVE_STALLED);
    assert_int_equal(rank->stalled_ns, 12 * NS_PER_SECOND);
    assert_int_equal(rank->where, HANG_HOST);
    assert_int_equal(rank->seat_count, 1);
    const struct hang_seat *seat = &rank->seats[0];
    assert_true(seat->id == 0xf00df00df00df00d);
    assert_int_equal(seat->size, 8);
    assert_int_equal(seat->rank, 3);
    assert_int_equal(seat->enqueued, 100);
    assert_int_equal(seat->completed, 98);
    assert_int_equal(seat->call_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct live_call_view *call = &seat->calls[i];
        const struct live_call_view *sent = &view.communicators[0].calls[i];
        assert_int_equal(call->number, sent->number);
        assert_int_equal(call->ordinal, sent->ordinal);
        assert_int_equal(call->operation, sent->operation);
        assert_true(call->bytes == sent->bytes);
        assert_int_equal(call->peer, sent->peer);
        assert_int_equal(call->datatype, sent->datatype);
        assert_int_equal(call->flags, sent->flags);
        assert_int_equal(call->thread, 77);
        assert_int_equal(call->enqueued_ns, (2 + i) * NS_PER_SECOND);
    }
}

static void test_the_latest_report_of_a_process_counts(void **state)
{
    take(STALL_BEGINS, 5, HANG_BRIEF_BYTES);
    take(STALL_ENDS, 7, HANG_BRIEF_BYTES);
    take(STALL_REPEATS, 6, HANG_BRIEF_BYTES);
    assert_int_equal(model.rank_count, 1);
    assert_int_equal(model.ranks[0].watch, LIVE_MOVING);
    view.pid = 78;
    take(STALL_REPEATS, 6, HANG_BRIEF_BYTES);
    assert_int_equal(model.rank_count, 2);
    assert_int_equal(model.ranks[1].seats[0].call_count, 2); /* a brief one has the latest calls */
}

static void add_thread(int32_t tid, const char *file, const char *name, uint32_t line, const char *wait)
{
    static const char texts[] = "\0/app/train.py\0step\0/torch/dataloader.py\0next";
    memcpy(looks[1].text, texts, sizeof texts);
    struct thread_stack *thread = &looks[1].threads[looks[1].count++];
    *thread = (struct thread_stack){.tid = tid, .state = 'S', .python_count = file != NULL, .is_still = true};
    snprintf(thread->wait, sizeof thread->wait, "%s", wait);
    thread->python_first = looks[1].python_total;
    if (!file)
        return;
    for (uint32_t at = 1; at < sizeof texts; at += (uint32_t)strlen(texts + at) + 1) {
        if (strcmp(texts + at, file) == 0)
            looks[1].codes[looks[1].code_count].file = at;
        if (strcmp(texts + at, name) == 0)
            looks[1].codes[looks[1].code_count].name = at;
    }
    looks[1].python_frames[looks[1].python_total++] =
        (struct stack_python_frame){.function = looks[1].code_count++, .line = line};
}

static void expect_place(enum hang_where where, const char *function, const char *line)
{
    take(STALL_BEGINS, 5, HANG_FULL_BYTES);
    const struct hang_rank *rank = &model.ranks[0];
    assert_int_equal(rank->where, where);
    assert_true(!function == !rank->function && (!function || strcmp(function, rank->function) == 0));
    assert_true(!line == !rank->line && (!line || strcmp(line, rank->line) == 0));
}

static void test_the_main_thread_is_in_a_lock(void **state)
{
    add_thread(70, NULL, NULL, 0, "do_poll");
    add_thread(77, "/app/train.py", "step", 9, "futex_wait_queue");
    expect_place(HANG_LOCK, "step", "/app/train.py:9");
}

static void test_the_main_thread_is_in_the_loader(void **state)
{
    add_thread(77, "/torch/dataloader.py", "next", 5, "do_poll");
    expect_place(HANG_LOADER, "next", "/torch/dataloader.py:5");
}

static void test_a_call_in_progress_comes_before_the_stack(void **state)
{
    view.cuda_call_count = 2;
    view.cuda_calls[0] =
        (struct live_thread_view){.since_ns = 1, .thread = 99, .cbid = 1, .name = "cudaMalloc"};
    view.cuda_calls[1] =
        (struct live_thread_view){.since_ns = 1, .thread = 77, .cbid = 1, .name = "cudaStreamSynchronize"};
    add_thread(77, "/app/train.py", "step", 9, "futex_wait_queue");
    expect_place(HANG_SYNC, "cudaStreamSynchronize", "/app/train.py:9");
}

static void test_other_signals_and_reports_that_are_none(void **state)
{
    struct error err;
    char text[] =
        "{\"resourceSpans\":[]}{\"resourceLogs\":[{\"resource\":7,\"scopeLogs\":[{\"logRecords\":[{},"
        "{\"attributes\":[{\"key\":\"cuspan.hang.report\",\"value\":{\"stringValue\":\"{no\"}}]}]}]}]}";
    assert_int_equal(hang_read_json(&model, text, strlen(text), &err), STATUS_OK);
    assert_int_equal(model.rank_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_a_report_has_the_live_state),
                                       TEST(test_the_latest_report_of_a_process_counts),
                                       TEST(test_the_main_thread_is_in_a_lock),
                                       TEST(test_the_main_thread_is_in_the_loader),
                                       TEST(test_a_call_in_progress_comes_before_the_stack),
                                       TEST(test_other_signals_and_reports_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
