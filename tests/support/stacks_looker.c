/* Looks at the threads of a Python process, as a library for ctypes
 * (tests/integration/agent/thread_stacks_test.py, tests/bench/thread_stacks.py). The looks run on a thread
 * that Python does not know. ctypes.CDLL calls these functions without the GIL, ctypes.PyDLL with it. */
#include "agent/watch/stacks/thread_stacks.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int looker_begin(unsigned pause_ms, int detail, int waits_for_hold);
int looker_end(char *to, size_t size);
int looker_load(unsigned looks, unsigned pause_us, uint64_t totals[6]);
int looker_hold(void);
int looker_nested(unsigned ms);
int looker_spin(const volatile int *until);
double looker_time(unsigned looks, int detail);

static struct thread_stacks looks[2];
static pthread_t looker;
static sem_t held, looked;
static struct {
    unsigned pause_ms;
    enum stack_detail detail;
    bool waits_for_hold;
} plan;

static void sleep_us(uint64_t us)
{
    struct timespec time = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&time, &time) != 0)
        continue;
}

static void *look_twice(void *unused)
{
    pthread_setname_np(pthread_self(), "cuspan/looker");
    if (plan.waits_for_hold) {
        sem_wait(&held);
        sleep_us(10000); /* the holder goes to sleep */
    }
    thread_stacks_look(&looks[0], plan.detail);
    sleep_us((uint64_t)plan.pause_ms * 1000);
    thread_stacks_look(&looks[1], plan.detail);
    thread_stacks_compare(&looks[1], &looks[0]);
    sem_post(&looked);
    return NULL;
}

int looker_begin(unsigned pause_ms, int detail, int waits_for_hold)
{
    sem_init(&held, 0, 0);
    sem_init(&looked, 0, 0);
    plan.waits_for_hold = waits_for_hold;
    plan.pause_ms = pause_ms;
    plan.detail = (enum stack_detail)detail;
    memset(looks, 0xa5, sizeof looks);
    return pthread_create(&looker, NULL, look_twice, NULL);
}

static size_t write_thread(const struct thread_stacks *from, const struct thread_stack *thread, char *to,
                           size_t size)
{
    size_t used = (size_t)snprintf(
        to, size, "T\t%d\t%s\t%c\t%lld\t%s\t%llu\t%d\t%d\t%s%s%s%s%s\n", thread->tid, thread->name,
        thread->state, (long long)thread->call, thread->wait, (unsigned long long)thread->cpu_ns,
        (int)thread->python, (int)thread->native, thread->is_ours ? "o" : "", thread->is_torn ? "t" : "",
        thread->holds_gil ? "g" : "", thread->is_same ? "e" : "", thread->is_still ? "s" : "");
    for (uint32_t i = 0; i < thread->python_count && used < size; i++) {
        const struct stack_python_frame *frame = &from->python_frames[thread->python_first + i];
        const struct stack_code *code =
            frame->function == STACK_NO_CODE ? NULL : &from->codes[frame->function];
        used += (size_t)snprintf(
            to + used, size - used, "P\t%s\t%u\t%s\t%u\n", code ? thread_stacks_text(from, code->file) : "?",
            frame->line, code ? thread_stacks_text(from, code->name) : "?", code ? code->first_line : 0);
    }
    for (uint32_t i = 0; i < thread->native_count && used < size; i++) {
        const struct stack_native_frame *frame = &from->native_frames[thread->native_first + i];
        used += (size_t)snprintf(
            to + used, size - used, "N\t%s\t%s\t%llu\t%d\n", thread_stacks_text(from, frame->library),
            thread_stacks_text(from, frame->symbol), (unsigned long long)frame->offset, frame->is_guessed);
    }
    return used;
}

/* The second look, after it is over: a line for each thread, with its frames behind it. */
int looker_end(char *to, size_t size)
{
    pthread_join(looker, NULL);
    const struct thread_stacks *from = &looks[1];
    size_t used =
        (size_t)snprintf(to, size, "L\t%u\t%u\t%u\t%d\t%llu\n", from->count, from->left_out,
                         from->python_minor, from->is_incomplete, (unsigned long long)from->look_ns);
    for (uint32_t i = 0; i < from->count && used < size; i++)
        used += write_thread(from, &from->threads[i], to + used, size - used);
    return used < size ? (int)used : -1;
}

struct load {
    unsigned looks, pause_us;
    uint64_t *totals;
};

static void *look_often(void *context)
{
    const struct load *load = context;
    for (unsigned i = 0; i < load->looks; i++) {
        struct thread_stacks *now = &looks[i & 1];
        thread_stacks_look(now, STACK_DETAIL_FULL);
        if (i > 0)
            thread_stacks_compare(now, &looks[~i & 1]);
        load->totals[0] += now->count;
        load->totals[1] += now->python_total;
        load->totals[2] += now->native_total;
        load->totals[3] += now->is_incomplete;
        for (uint32_t k = 0; k < now->count; k++) {
            const struct thread_stack *thread = &now->threads[k];
            load->totals[4] += thread->is_torn;
            load->totals[5] += thread->python == STACK_PYTHON_UNREADABLE && !thread->is_torn;
            if (thread->python_first + thread->python_count > STACK_FRAMES_TOTAL)
                abort();
        }
        for (uint32_t k = 0; k < now->code_count; k++)
            if (now->codes[k].name >= now->text_bytes || now->codes[k].file >= now->text_bytes)
                abort();
        sleep_us(load->pause_us);
    }
    return NULL;
}

/* Adds up: threads, frames of Python and native ones, incomplete looks, torn stacks, unreadable stacks that
 * are not torn. */
int looker_load(unsigned count, unsigned pause_us, uint64_t totals[6])
{
    struct load load = {count, pause_us, totals};
    pthread_t thread;
    if (pthread_create(&thread, NULL, look_often, &load) != 0)
        return -1;
    pthread_join(thread, NULL);
    return 0;
}

/* Mean ns of CPU time of a look, on the calling thread. */
double looker_time(unsigned count, int detail)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (unsigned i = 0; i < count; i++)
        thread_stacks_look(&looks[0], (enum stack_detail)detail);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / count;
}

/* Returns after the looks, which wait for it. */
int looker_hold(void)
{
    sem_post(&held);
    while (sem_wait(&looked) != 0)
        continue;
    return 0;
}

__attribute__((noinline)) static int innermost(unsigned ms)
{
    sleep_us((uint64_t)ms * 1000);
    __asm__ volatile("" ::: "memory");
    return 1;
}

__attribute__((noinline)) static int middle(unsigned ms)
{
    int result = innermost(ms);
    __asm__ volatile("" ::: "memory");
    return result + 1;
}

int looker_nested(unsigned ms)
{
    int result = middle(ms);
    __asm__ volatile("" ::: "memory");
    return result + 1;
}

int looker_spin(const volatile int *until)
{
    int count = 0;
    while (!*until)
        count++;
    return count;
}
