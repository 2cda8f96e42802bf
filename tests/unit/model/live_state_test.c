#include "model/hang/live_reader.h"

#include "base/clock.h"
#include "model/step.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMM    0xf00df00df00df00du
#define NO_SIZE UINT64_MAX

static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
static struct live_view view;

static int begin(void **state)
{
    live_state_reset();
    memset(memory, 0, sizeof memory);
    live_state_begin(memory,
                     &(struct live_identity){.pid = 7, .started_ticks = 8, .rank = 1, .world_size = 4});
    return 0;
}

static void call(const char *name, enum collective_operation operation, uint64_t ordinal, int32_t peer)
{
    live_begin_call(&(struct live_start){.name = name,
                                         .name_bytes = (uint32_t)strlen(name),
                                         .communicator = COMM,
                                         .operation = operation,
                                         .ordinal = ordinal,
                                         .bytes = 1000 + ordinal,
                                         .peer = peer,
                                         .datatype = 8});
}

static void all_reduce(uint64_t ordinal)
{
    call("ncclAllReduce", COLLECTIVE_ALL_REDUCE, ordinal, LIVE_NO_PEER);
}

static void look(void)
{
    struct error err;
    assert_int_equal(live_view_of(memory, memory, sizeof memory, &view, &err), STATUS_OK);
}

static const struct live_communicator_view *communicator(void)
{
    look();
    assert_int_equal(view.communicator_count, 1);
    return &view.communicators[0];
}

static void test_a_call_is_there_before_it_returns(void **state)
{
    live_note_communicator(COMM, 4, 1, 1);
    all_reduce(0);
    const struct live_communicator_view *found = communicator();
    assert_int_equal(found->id, COMM);
    assert_int_equal(found->ranks, 4);
    assert_int_equal(found->rank, 1);
    assert_int_equal(found->local_ranks, 1);
    assert_int_equal(found->enqueued, 1);
    assert_int_equal(found->completed, 0);
    assert_int_equal(found->call_count, 1);
    const struct live_call_view *first = &found->calls[0];
    assert_int_equal(first->number, 0);
    assert_int_equal(first->operation, COLLECTIVE_ALL_REDUCE);
    assert_int_equal(first->bytes, 1000);
    assert_int_equal(first->datatype, 8);
    assert_int_equal(first->peer, LIVE_NO_PEER);
    assert_int_equal(first->flags, 0);
    assert_int_equal(first->thread, syscall(SYS_gettid));
    assert_true(first->enqueued_ns && first->enqueued_ns <= clock_monotonic_ns());
    assert_int_equal(view.nccl_call_count, 1);
    assert_string_equal(view.nccl_calls[0].name, "ncclAllReduce");
    assert_int_equal(view.nccl_calls[0].since_ns, first->enqueued_ns);
    assert_int_equal(view.nccl_calls[0].communicator, COMM);
    live_return_from_call();
    found = communicator();
    assert_int_equal(found->calls[0].flags, LIVE_RETURNED);
    assert_int_equal(view.nccl_call_count, 0);
    assert_int_equal(view.pid, 7);
    assert_int_equal(view.started_ticks, 8);
    assert_int_equal(view.rank, 1);
    assert_int_equal(view.world_size, 4);
}

static void test_the_latest_calls_are_kept_in_order(void **state)
{
    for (uint64_t i = 0; i < 3 * LIVE_ENTRIES / 2; i++) {
        all_reduce(i);
        live_return_from_call();
    }
    const struct live_communicator_view *found = communicator();
    assert_int_equal(found->enqueued, 96);
    assert_int_equal(found->call_count, LIVE_ENTRIES);
    for (uint32_t i = 0; i < LIVE_ENTRIES; i++) {
        assert_int_equal(found->calls[i].number, 32 + i);
        assert_int_equal(found->calls[i].ordinal, 32 + i);
    }
}

static void test_a_call_that_was_overtaken_marks_no_other(void **state)
{
    all_reduce(0);
    struct live_communicator *raw = (struct live_communicator *)(void *)(memory + LIVE_COMMUNICATORS_AT);
    while (!raw->id)
        raw = (struct live_communicator *)(void *)((uint8_t *)raw + LIVE_COMMUNICATOR_BYTES(LIVE_ENTRIES));
    raw->entries[0].sequence += 2 * LIVE_ENTRIES; /* as 64 calls of other threads do */
    live_return_from_call();
    assert_int_equal(communicator()->calls[0].flags, 0);
}

static void test_calls_nest(void **state)
{
    call("ncclGroupEnd", COLLECTIVE_NONE, 0, 0);
    all_reduce(3);
    call("ncclAllGather", COLLECTIVE_ALL_GATHER, 0, LIVE_NO_PEER); /* inside another one: not noted */
    look();
    assert_string_equal(view.nccl_calls[0].name, "ncclGroupEnd");
    live_return_from_call();
    assert_int_equal(communicator()->calls[0].flags, 0);
    live_return_from_call();
    assert_int_equal(communicator()->enqueued, 1);
    assert_int_equal(communicator()->calls[0].flags, LIVE_RETURNED);
    assert_int_equal(view.nccl_call_count, 1);
    live_return_from_call();
    live_return_from_call(); /* of a call before the state existed */
    look();
    assert_int_equal(view.nccl_call_count, 0);
}

static void test_ends_count_across_operations(void **state)
{
    for (uint64_t i = 0; i < 3; i++) {
        all_reduce(i);
        live_return_from_call();
        call("ncclSend", COLLECTIVE_SEND, i, 2);
        live_return_from_call();
        call("ncclSend", COLLECTIVE_SEND, i, 3);
        live_return_from_call();
    }
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 1,
                  LIVE_NO_PEER); /* the record of the first one was not sampled */
    assert_int_equal(communicator()->completed, 2);
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 0, LIVE_NO_PEER); /* late */
    assert_int_equal(communicator()->completed, 2);
    live_note_end(COMM, COLLECTIVE_SEND, 0, 3);
    assert_int_equal(communicator()->completed, 3);
    assert_true(communicator()->last_ended_ns > 0);
    live_note_end(COMM + 1, COLLECTIVE_SEND, 0, 3); /* unknown */
    live_note_end(0, COLLECTIVE_ALL_REDUCE, 0, 0);
    live_note_look(&(struct live_look){.watch = LIVE_MOVING});
    const struct live_communicator_view *found = communicator();
    for (uint32_t i = 0; i < found->call_count; i++) {
        const struct live_call_view *one = &found->calls[i];
        bool has_ended =
            one->operation == COLLECTIVE_ALL_REDUCE ? one->ordinal <= 1 : one->peer == 3 && one->ordinal == 0;
        assert_int_equal(one->flags, LIVE_RETURNED | (has_ended ? LIVE_ENDED : 0));
    }
}

static void test_ranks_of_one_process_count_together(void **state)
{
    live_note_communicator(COMM, 2, 1, 2);
    for (int rank = 0; rank < 2; rank++) {
        all_reduce(0);
        live_return_from_call();
    }
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 0, LIVE_NO_PEER);
    assert_int_equal(communicator()->enqueued, 2);
    assert_int_equal(communicator()->completed, 2);
}

static void test_too_many_communicators(void **state)
{
    for (uint64_t id = 1; id <= LIVE_COMMUNICATORS + 2; id++) {
        live_begin_call(
            &(struct live_start){.communicator = id, .operation = COLLECTIVE_ALL_REDUCE, .bytes = NO_SIZE});
        live_return_from_call();
    }
    look();
    assert_int_equal(view.communicator_count, LIVE_COMMUNICATORS);
    assert_int_equal(view.left_out_calls, 2);
}

static void *stay_in_call(void *arrived)
{
    all_reduce(0);
    pthread_barrier_wait(arrived);
    pthread_barrier_wait(arrived);
    live_return_from_call();
    return NULL;
}

static void test_too_many_threads_in_calls(void **state)
{
    pthread_t threads[LIVE_NCCL_CALLS + 2];
    pthread_barrier_t arrived;
    pthread_barrier_init(&arrived, NULL, LIVE_NCCL_CALLS + 3);
    for (int i = 0; i < LIVE_NCCL_CALLS + 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, stay_in_call, &arrived), 0);
    pthread_barrier_wait(&arrived);
    look();
    assert_int_equal(view.nccl_call_count, LIVE_NCCL_CALLS);
    assert_int_equal(communicator()->enqueued, LIVE_NCCL_CALLS + 2);
    pthread_barrier_wait(&arrived);
    for (int i = 0; i < LIVE_NCCL_CALLS + 2; i++)
        pthread_join(threads[i], NULL);
    look();
    assert_int_equal(view.nccl_call_count, 0);
    pthread_barrier_destroy(&arrived);
}

static void test_a_look(void **state)
{
    struct live_look of = {
        .watch = LIVE_STALLED,
        .looked_ns = 5,
        .moved_ns = 3,
        .stalls = 2,
        .stalled_ns = 4,
        .gpu_ended_ns = 9,
        .cuda_call_count = 1,
        .cuda_calls = {{.since_ns = 1, .thread = 12, .cbid = 131, .name = "cuda\x01Sync"}}};
    live_note_step(17, STEP_TRAIN);
    live_note_look(&of);
    look();
    assert_true(view.has_look);
    assert_int_equal(view.watch, LIVE_STALLED);
    assert_int_equal(view.stalls, 2);
    assert_int_equal(view.gpu_ended_ns, 9);
    assert_int_equal(view.cuda_call_count, 1);
    assert_string_equal(view.cuda_calls[0].name, "cuda?Sync");
    assert_int_equal(view.cuda_calls[0].cbid, 131);
    assert_int_equal(view.steps, 1);
    assert_int_equal(view.step_number, 17);
    ((struct live_header *)(void *)memory)->sequence++; /* while the watch thread writes */
    look();
    assert_false(view.has_look);
    assert_int_equal(view.cuda_call_count, 0);
}

/* After a flush. */

static bool is_exact(void)
{
    const struct live_communicator_view *found = communicator();
    return live_view_is_exact(&view, found);
}

static void store_look(void)
{
    live_note_look(&(struct live_look){.watch = LIVE_STALLED});
}

static const struct live_name first_call = {COMM, 0, COLLECTIVE_ALL_REDUCE, LIVE_NO_PEER};

static void flush(enum live_work work)
{
    live_note_flush(
        &(struct live_flush){.began_ns = clock_monotonic_ns(), .work = work, .work_began_ns = 70});
}

static void test_ends_are_exact_after_a_flush(void **state)
{
    all_reduce(0);
    live_return_from_call();
    live_note_launch(&first_call, 0);
    store_look();
    assert_false(is_exact()); /* no flush */
    flush(LIVE_WORK_KERNEL);
    assert_false(is_exact()); /* no look has marked the ends since */
    store_look();
    assert_true(is_exact());
    assert_int_equal(view.work, LIVE_WORK_KERNEL);
    assert_int_equal(view.work_began_ns, 70);
    assert_int_equal(view.communicators[0].calls[0].flags, LIVE_RETURNED | LIVE_TRACED);
    flush(LIVE_WORK_NONE);
    store_look();
    assert_false(is_exact()); /* it has not ended, but all work has */
    flush(LIVE_WORK_COLLECTIVE);
    store_look();
    assert_true(is_exact());
    all_reduce(1); /* later than the flush */
    assert_false(is_exact());
    live_note_flush(&(struct live_flush){0}); /* launches are missing */
    store_look();
    assert_false(is_exact());
    assert_int_equal(view.work, LIVE_WORK_UNKNOWN);
}

static void test_the_latest_end_of_gpu_work(void **state)
{
    const struct live_header *header = (const struct live_header *)(const void *)memory;
    live_note_gpu_end(7);
    live_note_gpu_end(5); /* another stream's, and of work that has not ended: 0 */
    live_note_gpu_end(0);
    assert_int_equal(header->gpu_end_ns, 7);
    live_note_gpu_end(8);
    assert_int_equal(header->gpu_end_ns, 8);
    live_state_forget();
    live_note_gpu_end(9);
    assert_int_equal(header->gpu_end_ns, 8);
}

static void test_a_call_without_a_known_launch_is_not_exact(void **state)
{
    all_reduce(0);
    flush(LIVE_WORK_NONE);
    store_look();
    assert_true(is_exact()); /* NCCL has not returned, so it has not ended */
    live_return_from_call();
    assert_false(is_exact());
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 0, LIVE_NO_PEER);
    store_look();
    assert_true(is_exact());
}

static void test_forgotten_calls_may_not_have_ended(void **state)
{
    for (uint64_t i = 0; i < LIVE_ENTRIES + 1; i++) {
        all_reduce(i);
        live_return_from_call();
        live_note_launch(&(struct live_name){COMM, i, COLLECTIVE_ALL_REDUCE, LIVE_NO_PEER}, 0);
    }
    flush(LIVE_WORK_COLLECTIVE);
    store_look();
    assert_false(is_exact());
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 0, LIVE_NO_PEER);
    store_look();
    assert_true(is_exact());
}

static void test_facts_of_a_launch(void **state)
{
    all_reduce(0);
    live_return_from_call();
    call("ncclSend", COLLECTIVE_SEND, 0, 2);
    live_return_from_call();
    live_note_launch(&(struct live_name){COMM, 0, COLLECTIVE_SEND, 3}, 5); /* another peer */
    live_note_launch(&first_call, 77);
    live_note_datatype(&first_call, 10);
    live_note_launch(&(struct live_name){COMM + 1, 0, COLLECTIVE_SEND, 2}, 5);
    const struct live_communicator_view *found = communicator();
    assert_int_equal(found->calls[0].flags, LIVE_RETURNED | LIVE_TRACED);
    assert_int_equal(found->calls[0].code, 77);
    assert_int_equal(found->calls[0].datatype, 10);
    assert_int_equal(found->calls[1].flags, LIVE_RETURNED);
    assert_int_equal(found->calls[1].code, 0);
}

static void test_lines(void **state)
{
    char text[LIVE_LINE_BYTES + 9];
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 10, "train.py:7", 10);
    text[sizeof text - 1] = 0;
    live_note_thread(3, 42, "a.py:1 \x01main\xff\xc3\xa9");
    live_note_thread(4, 43, text);
    look();
    assert_string_equal(live_view_thread_line(&view, 42), "a.py:1 main\xc3\xa9");
    assert_int_equal(strlen(live_view_thread_line(&view, 43)), LIVE_LINE_BYTES - 1);
    assert_non_null(strstr(live_view_thread_line(&view, 43), "aatrain.py:"));
    assert_null(live_view_thread_line(&view, 44));
    assert_null(live_view_code_line(&view, 42)); /* of a thread */
    live_note_thread(3, 0, "");
    look();
    assert_null(live_view_thread_line(&view, 42));
    for (uint64_t code = 1; code <= LIVE_CODE_LINES + 1; code++)
        live_note_code(1000 + code, "b.py:2 step");
    assert_false(live_has_code(1001)); /* the oldest has gone */
    assert_true(live_has_code(1002));
    look();
    assert_string_equal(live_view_code_line(&view, 1000 + LIVE_CODE_LINES + 1), "b.py:2 step");
    assert_null(live_view_code_line(&view, 1001));
    assert_null(live_view_thread_line(&view, 1002));
}

static void test_without_a_state(void **state)
{
    assert_true(live_state_is_on());
    all_reduce(0);
    struct live_header *before = live_state_forget();
    assert_ptr_equal(before, memory);
    assert_false(live_state_is_on());
    live_return_from_call(); /* in a forked child: its parent's entry stays as it is */
    all_reduce(1);
    live_note_communicator(COMM, 2, 0, 1);
    live_note_end(COMM, COLLECTIVE_ALL_REDUCE, 0, LIVE_NO_PEER);
    live_note_step(1, STEP_TRAIN);
    live_note_look(&(struct live_look){.watch = LIVE_OVER});
    assert_int_equal(communicator()->enqueued, 1);
    assert_int_equal(communicator()->calls[0].flags, 0);
    assert_int_equal(view.steps, 0);
}

/* Hostile and damaged states. */

static void refuse(size_t bytes, const char *why)
{
    struct error err = {""};
    assert_int_equal(live_view_of(memory, memory, bytes, &view, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, why));
}

static void test_what_is_no_state(void **state)
{
    struct live_header *header = (struct live_header *)(void *)memory;
    refuse(sizeof *header - 8, "not a live state");
    refuse(0, "not a live state");
    header->version = 2;
    refuse(sizeof memory, "version 2");
    header->version = 1;
    header->magic[0]++;
    refuse(sizeof memory, "not a live state");
}

#define SPOIL(field, value)                                                                                  \
    do {                                                                                                     \
        begin(state);                                                                                        \
        ((struct live_header *)(void *)memory)->field = value;                                               \
        refuse(sizeof memory, "damaged");                                                                    \
    } while (0)

static void test_sizes_that_do_not_fit(void **state)
{
    SPOIL(header_bytes, 8);
    SPOIL(entry_bytes, 8);
    SPOIL(entry_bytes, 68);
    SPOIL(entry_bytes, UINT32_MAX);
    SPOIL(entry_count, 0);
    SPOIL(entry_count, LIVE_ENTRIES + 1);
    SPOIL(communicator_bytes, 128);
    SPOIL(communicator_bytes, UINT32_MAX - 7);
    SPOIL(communicator_count, LIVE_COMMUNICATORS + 1);
    SPOIL(communicators_at, sizeof memory - 8);
    SPOIL(communicators_at, 4);
    SPOIL(nccl_calls_at, UINT32_MAX - 7);
    SPOIL(nccl_call_bytes, 16);
    SPOIL(nccl_call_count, UINT32_MAX);
    SPOIL(cuda_calls_at, sizeof memory);
    SPOIL(cuda_call_bytes, 0);
    SPOIL(cuda_call_count, LIVE_CUDA_CALLS + 1);
    SPOIL(line_bytes, 184);
    SPOIL(line_count, LIVE_LINES + 1);
    SPOIL(thread_line_count, LIVE_LINES + 1);
    SPOIL(lines_at, sizeof memory - 8);
    begin(state);
    struct live_header *header = (struct live_header *)(void *)memory;
    header->entry_count = 1; /* they would fit into the memory, but not into the reader's */
    header->communicator_bytes = LIVE_COMMUNICATOR_BYTES(1);
    header->communicator_count = LIVE_COMMUNICATORS + 1;
    refuse(sizeof memory, "damaged");
    begin(state);
    header->nccl_call_bytes = sizeof(struct live_nccl_call);
    header->nccl_call_count = LIVE_NCCL_CALLS + 1;
    refuse(sizeof memory, "damaged");
    begin(state);
    refuse(sizeof memory - 8, "damaged"); /* cut */
}

static void test_random_bytes_do_no_harm(void **state)
{
    struct error err;
    srandom(1);
    for (int round = 0; round < 2000; round++) {
        begin(state);
        all_reduce(0);
        live_return_from_call();
        for (int i = 0; i < 200; i++)
            memory[random() % (round % 2 ? LIVE_STATE_BYTES : sizeof(struct live_header))] =
                (uint8_t)random();
        if (live_view_of(memory, memory, sizeof memory, &view, &err) != STATUS_OK)
            continue;
        assert_true(view.communicator_count <= LIVE_COMMUNICATORS && view.cuda_call_count <= LIVE_CUDA_CALLS);
        for (uint32_t i = 0; i < view.communicator_count; i++)
            for (uint32_t n = 0; n < view.communicators[i].call_count; n++)
                assert_true(view.communicators[i].calls[n].operation < COLLECTIVE_COUNT);
    }
}

static void test_a_part_that_changes_is_left_out(void **state)
{
    static _Alignas(64) uint8_t later[LIVE_STATE_BYTES];
    struct error err;
    all_reduce(0);
    memcpy(later, memory, sizeof later);
    live_return_from_call();
    assert_int_equal(live_view_of(memory, later, sizeof memory, &view, &err), STATUS_OK);
    assert_int_equal(view.communicators[0].enqueued, 1);
    assert_int_equal(view.communicators[0].call_count, 0);
}

static void test_reads_a_file(void **state)
{
    struct error err;
    int fd = memfd_create("state", MFD_CLOEXEC);
    assert_int_equal(live_view_read(fd, &view, &err), STATUS_INVALID); /* empty */
    all_reduce(0);
    assert_int_equal(pwrite(fd, memory, sizeof memory, 0), sizeof memory);
    assert_int_equal(live_view_read(fd, &view, &err), STATUS_OK);
    assert_int_equal(view.communicators[0].call_count, 1);
    assert_int_equal(ftruncate(fd, 5000), 0);
    assert_int_equal(live_view_read(fd, &view, &err), STATUS_INVALID);
    assert_int_equal(ftruncate(fd, LIVE_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(live_view_read(fd, &view, &err), STATUS_INVALID);
    close(fd);
    assert_int_equal(live_view_read(-1, &view, &err), STATUS_IO);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(live_view_read(null, &view, &err), STATUS_INVALID);
    close(null);
}

/* Threads that share a communicator, as ranks of one process do, and a reader: no call is torn. */

static void *call_often(void *communicator_id)
{
    for (uint64_t i = 0; i < 20000; i++) {
        live_begin_call(&(struct live_start){.communicator = COMM,
                                             .operation = COLLECTIVE_ALL_REDUCE,
                                             .ordinal = i,
                                             .bytes = i,
                                             .peer = LIVE_NO_PEER});
        live_return_from_call();
    }
    return NULL;
}

static void test_a_reader_sees_no_torn_call(void **state)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    for (int round = 0; round < 200; round++) {
        look();
        for (uint32_t i = 0; view.communicator_count && i < view.communicators[0].call_count; i++)
            assert_int_equal(view.communicators[0].calls[i].ordinal, view.communicators[0].calls[i].bytes);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(communicator()->enqueued, 40000);
    assert_int_equal(communicator()->call_count, LIVE_ENTRIES);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_is_there_before_it_returns),
        TEST(test_the_latest_calls_are_kept_in_order),
        TEST(test_a_call_that_was_overtaken_marks_no_other),
        TEST(test_calls_nest),
        TEST(test_ends_count_across_operations),
        TEST(test_ranks_of_one_process_count_together),
        TEST(test_too_many_communicators),
        TEST(test_too_many_threads_in_calls),
        TEST(test_a_look),
        TEST(test_ends_are_exact_after_a_flush),
        TEST(test_the_latest_end_of_gpu_work),
        TEST(test_a_call_without_a_known_launch_is_not_exact),
        TEST(test_forgotten_calls_may_not_have_ended),
        TEST(test_facts_of_a_launch),
        TEST(test_lines),
        TEST(test_without_a_state),
        TEST(test_what_is_no_state),
        TEST(test_sizes_that_do_not_fit),
        TEST(test_random_bytes_do_no_harm),
        TEST(test_a_part_that_changes_is_left_out),
        TEST(test_reads_a_file),
        TEST(test_a_reader_sees_no_torn_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
