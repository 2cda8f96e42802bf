#include "agent/capture/threads/threads.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Four rings of 32 KiB in the first half, and 8 KiB rings in the second. */
#define RING_BYTES  (40 * 1024) /* rounded down to a power of two */
#define TOTAL_BYTES (256 * 1024)
#define SLOTS       20

struct record {
    uint32_t bytes;
    uint32_t type;
    uint64_t value;
};

static int setup_all(void **state)
{
    return threads_init(RING_BYTES, TOTAL_BYTES) != STATUS_OK;
}

static void run_thread(void *(*body)(void *), void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static bool write_value(struct host_thread *self, uint64_t value)
{
    struct record *record = self ? ring_reserve(&self->ring, sizeof *record) : NULL;
    if (!record)
        return false;
    *record = (struct record){sizeof *record, 1, value};
    ring_commit(&self->ring, sizeof *record);
    return true;
}

struct drained {
    uint64_t count, sum;
    unsigned slots, live, dead;
    uint64_t tids[SLOTS];
    char names[SLOTS][THREAD_NAME_BYTES];
};

static void drain(struct host_thread *thread, void *context)
{
    struct drained *drained = context;
    uint64_t end = ring_published(&thread->ring);
    const struct record *record;
    while ((record = ring_peek(&thread->ring, end)) != NULL) {
        drained->count++;
        drained->sum += record->value;
        ring_release(&thread->ring);
    }
    drained->live += atomic_load(&thread->state) == THREAD_LIVE;
    drained->dead += atomic_load(&thread->state) == THREAD_DEAD;
    if (drained->slots < SLOTS) {
        drained->tids[drained->slots] = thread->info.tid;
        memcpy(drained->names[drained->slots], thread->info.name, THREAD_NAME_BYTES);
    }
    drained->slots++;
}

static struct drained drain_all(void)
{
    struct drained drained = {0};
    threads_visit(drain, &drained);
    return drained;
}

static void *check_own_slot(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    errno = ENOENT;
    struct host_thread *self = thread_current();
    assert_int_equal(errno, ENOENT);
    assert_non_null(self);
    assert_ptr_equal(thread_current(), self);
    assert_int_equal(self->info.tid, syscall(SYS_gettid));
    assert_string_equal(self->info.name, "worker");
    assert_int_equal(self->ring.bytes, 32 * 1024);
    assert_true(write_value(self, 7));
    return unused;
}

static void test_a_dead_thread_s_records_are_drained_before_its_slot_is_free(void **state)
{
    uint64_t seen = counter_get(COUNTER_threads_seen);
    run_thread(check_own_slot, NULL);
    assert_int_equal(counter_get(COUNTER_threads_seen), seen + 1);
    struct drained drained = drain_all();
    assert_int_equal(drained.dead, 1);
    assert_int_equal(drained.sum, 7);
    assert_string_equal(drained.names[0], "worker");
    assert_int_equal(drain_all().slots, 0);
}

static void visit_nothing(struct host_thread *thread, void *unused)
{
    (void)thread, (void)unused;
}

static void *fill_half_a_ring(void *unused)
{
    struct host_thread *self = thread_current();
    while (ring_used(&self->ring) < self->ring.bytes / 2)
        assert_true(write_value(self, 1));
    assert_int_equal(threads_fullest_ring(), 50);
    return unused;
}

static void test_the_fullest_ring_is_told_until_it_is_drained(void **state)
{
    assert_int_equal(threads_fullest_ring(), 0);
    run_thread(fill_half_a_ring, NULL);
    assert_int_equal(threads_fullest_ring(), 50); /* the thread has exited, but its records are not drained */
    drain_all();
    assert_int_equal(threads_fullest_ring(), 0);
}

static void *write_one(void *unused)
{
    assert_true(write_value(thread_current(), 5));
    return unused;
}

static void test_what_is_not_drained_keeps_its_slot(void **state)
{
    run_thread(write_one, NULL);
    threads_visit(visit_nothing, NULL);
    threads_visit(visit_nothing, NULL);
    assert_int_equal(drain_all().sum, 5);
    assert_int_equal(drain_all().slots, 0);
}

static pthread_barrier_t all_registered, may_die, all_dead;

static void *hold_slot(void *ring_bytes)
{
    struct host_thread *self = thread_current();
    *(uint32_t *)ring_bytes = self ? self->ring.bytes : 0;
    pthread_barrier_wait(&all_registered);
    pthread_barrier_wait(&may_die);
    return NULL;
}

static void *try_without_slot(void *first_slot_after)
{
    for (int i = 0; i < 10; i++)
        assert_null(thread_register());
    pthread_barrier_wait(&may_die);
    pthread_barrier_wait(&all_dead); /* the other threads have exited and their slots are free */
    int tries = 1;
    while (!thread_current())
        tries++;
    *(int *)first_slot_after = tries;
    return NULL;
}

static void test_a_thread_without_slot_gets_one_when_another_dies(void **state)
{
    pthread_t threads[SLOTS], late;
    uint32_t ring_bytes[SLOTS];
    int tries = 0;
    pthread_barrier_init(&all_registered, NULL, SLOTS + 1);
    pthread_barrier_init(&may_die, NULL, SLOTS + 1);
    pthread_barrier_init(&all_dead, NULL, 2);
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_slot, &ring_bytes[i]), 0);
    pthread_barrier_wait(&all_registered);
    unsigned large = 0, small = 0;
    for (int i = 0; i < SLOTS; i++) {
        large += ring_bytes[i] == 32 * 1024;
        small += ring_bytes[i] == 8 * 1024;
    }
    assert_int_equal(large, 4);
    assert_int_equal(small, 16);
    assert_int_equal(pthread_create(&late, NULL, try_without_slot, &tries), 0);
    for (int i = 0; i < SLOTS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(drain_all().dead, SLOTS);
    pthread_barrier_wait(&all_dead);
    pthread_join(late, NULL);
    assert_in_range(tries, 1, 64);
    assert_int_equal(drain_all().slots, 1);
    pthread_barrier_destroy(&all_registered);
    pthread_barrier_destroy(&may_die);
    pthread_barrier_destroy(&all_dead);
}

static void *rename_late(void *unused)
{
    thread_current();
    pthread_setname_np(pthread_self(), "named-late");
    threads_refresh_names();
    return unused;
}

static void test_late_names_are_seen(void **state)
{
    run_thread(rename_late, NULL);
    assert_string_equal(drain_all().names[0], "named-late");
}

static int recorded_identity(uint64_t *tid, char name[THREAD_NAME_BYTES])
{
    *tid = 424242;
    strcpy(name, "recorded");
    return 1;
}

static int no_identity(uint64_t *tid, char name[THREAD_NAME_BYTES])
{
    (void)tid, (void)name;
    return 0;
}

static void *be_someone(void *unused)
{
    assert_non_null(thread_current());
    threads_refresh_names(); /* names from a recording are not read from the kernel */
    return unused;
}

static void test_a_replay_says_who_a_thread_is(void **state)
{
    threads_set_identity(recorded_identity);
    run_thread(be_someone, NULL);
    struct drained drained = drain_all();
    assert_int_equal(drained.tids[0], 424242);
    assert_string_equal(drained.names[0], "recorded");
    threads_set_identity(no_identity);
    run_thread(check_own_slot, NULL); /* not a player: identified by the kernel */
    threads_set_identity(NULL);
    drain_all();
}

/* A thread-exit hook of the host may make calls after ours has run. */
static pthread_key_t host_key;

static void host_hook(void *round)
{
    if (round == &host_key)
        pthread_setspecific(host_key, (char *)round + 1); /* runs again, after ours */
    else
        write_value(thread_known() ? NULL : thread_current(),
                    100); /* the old slot may be in use by another thread */
}

static void *die_with_hook(void *unused)
{
    write_value(thread_current(), 1);
    pthread_setspecific(host_key, &host_key);
    return unused;
}

static void test_calls_in_exit_hooks_are_kept(void **state)
{
    assert_int_equal(pthread_key_create(&host_key, host_hook), 0);
    run_thread(die_with_hook, NULL);
    struct drained drained = drain_all();
    assert_int_equal(drained.sum, 101);
    assert_int_equal(drained.live, 0);
    assert_int_equal(drain_all().slots, 0);
    pthread_key_delete(host_key);
}

#define PARENTS  8
#define CHILDREN 100
#define RECORDS  50

static atomic_bool producers_done;
static _Atomic uint64_t written, given_up;

static void *short_life(void *unused)
{
    for (uint64_t i = 1; i <= RECORDS; i++) {
        struct host_thread *self = thread_current();
        if (self && write_value(self, i))
            atomic_fetch_add(&written, i);
        else
            atomic_fetch_add(&given_up, i);
    }
    return unused;
}

static void *bear_children(void *unused)
{
    for (int i = 0; i < CHILDREN; i++) {
        pthread_t child;
        if (pthread_create(&child, NULL, short_life, NULL) == 0)
            pthread_join(child, NULL);
    }
    return unused;
}

static void *consume(void *context)
{
    struct drained *drained = context;
    while (!atomic_load(&producers_done)) {
        threads_visit(drain, drained);
        threads_refresh_names();
        sched_yield();
    }
    return NULL;
}

static void test_masses_of_threads(void **state)
{
    pthread_t parents[PARENTS], consumer;
    static struct drained drained;
    assert_int_equal(pthread_create(&consumer, NULL, consume, &drained), 0);
    for (int i = 0; i < PARENTS; i++)
        assert_int_equal(pthread_create(&parents[i], NULL, bear_children, NULL), 0);
    for (int i = 0; i < PARENTS; i++)
        pthread_join(parents[i], NULL);
    atomic_store(&producers_done, true);
    pthread_join(consumer, NULL);
    threads_visit(drain, &drained);
    assert_int_equal(drained.sum, written);
    assert_int_equal(written + given_up, (uint64_t)PARENTS * CHILDREN * RECORDS * (RECORDS + 1) / 2);
    assert_true(written > 0);
    assert_int_equal(drain_all().slots, 0);
}

/* Must be last: allocates again. */
static void test_no_memory(void **state)
{
    assert_int_equal(threads_init(RING_BYTES, 0), STATUS_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dead_thread_s_records_are_drained_before_its_slot_is_free),
        cmocka_unit_test(test_the_fullest_ring_is_told_until_it_is_drained),
        cmocka_unit_test(test_what_is_not_drained_keeps_its_slot),
        cmocka_unit_test(test_a_thread_without_slot_gets_one_when_another_dies),
        cmocka_unit_test(test_late_names_are_seen),
        cmocka_unit_test(test_a_replay_says_who_a_thread_is),
        cmocka_unit_test(test_calls_in_exit_hooks_are_kept),
        cmocka_unit_test(test_masses_of_threads),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
