/* The walk of Python frames as a library for ctypes (tests/integration/agent/python_frames_test.py,
 * tests/bench/python_frames.py). ctypes.CDLL calls it without the GIL, ctypes.PyDLL with it. */
#include "agent/capture/stacks/python_find.h"
#include "agent/capture/stacks/python_frames.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MAX 64

int walker_find(char *text, size_t size);
int walker_stack(char *to, size_t size, uint32_t max, uint64_t *hash);
int walker_narrow(char *to, size_t size, size_t file_max, size_t name_max);
int walker_identify(char *to, size_t size, uint64_t identity[2]);
int walker_elsewhere(void);
void walker_call_elsewhere(void (*callback)(void));
void walker_repeat(void);
int walker_time(uint32_t walks, uint32_t max, int what, double *ns, double *instructions);

static struct python python;

/* enum status; the reason is in `text`. */
int walker_find(char *text, size_t size)
{
    struct error err = {.text = ""};
    enum status status = python_find(&python, &err);
    snprintf(text, size, "%s", err.text);
    return (int)status;
}

/* One line a frame, innermost first: file, name, line and first line with tabs between. Returns enum
 * python_stack, and adds 100 if the stack is cut. */
int walker_stack(char *to, size_t size, uint32_t max, uint64_t *hash)
{
    struct python_frame frames[FRAMES_MAX];
    struct python_walk walk;
    size_t used = 0;
    python_frames_walk(&python, frames, max < FRAMES_MAX ? max : FRAMES_MAX, &walk);
    to[0] = '\0';
    for (uint32_t i = 0; i < walk.count; i++) {
        char file[4096], name[1024];
        struct python_frame_text text = {
            .file = file, .name = name, .file_max = sizeof file, .name_max = sizeof name};
        python_frame_describe(&python, &frames[i], &text);
        int length = snprintf(to + used, size - used, "%.*s\t%.*s\t%u\t%u\n", (int)text.file_length, file,
                              (int)text.name_length, name, text.line, text.first_line);
        if (length < 0 || (size_t)length >= size - used)
            break;
        used += (size_t)length;
    }
    if (hash)
        *hash = walk.hash;
    return (int)walk.stack + (walk.is_cut ? 100 : 0);
}

/* As walker_stack(), with buffers of this size for file and name. */
int walker_narrow(char *to, size_t size, size_t file_max, size_t name_max)
{
    struct python_frame frame;
    struct python_walk walk;
    char file[4096], name[1024];
    python_frames_walk(&python, &frame, 1, &walk);
    struct python_frame_text text = {.file = file, .name = name, .file_max = file_max, .name_max = name_max};
    python_frame_describe(&python, &frame, &text);
    snprintf(to, size, "%.*s\t%.*s", (int)text.file_length, file, (int)text.name_length, name);
    return (int)walk.stack;
}

/* The innermost frame's identity and, as text, its name. */
int walker_identify(char *to, size_t size, uint64_t identity[2])
{
    struct python_frame frame;
    struct python_walk walk;
    char file[1024], name[1024];
    python_frames_walk(&python, &frame, 1, &walk);
    struct python_frame_text text = {
        .file = file, .name = name, .file_max = sizeof file, .name_max = sizeof name};
    python_frame_describe(&python, &frame, &text);
    snprintf(to, size, "%.*s", (int)text.name_length, name);
    identity[0] = frame.code;
    identity[1] = frame.identity;
    return (int)walk.stack;
}

/* A thread that Python does not know. */
static void *walk_elsewhere(void *result)
{
    struct python_frame frames[1];
    struct python_walk walk;
    python_frames_walk(&python, frames, 1, &walk);
    *(int *)result = (int)walk.stack;
    return NULL;
}

int walker_elsewhere(void)
{
    pthread_t thread;
    int stack = -1;
    if (pthread_create(&thread, NULL, walk_elsewhere, &stack) == 0)
        pthread_join(thread, NULL);
    return stack;
}

static void *call_callback(void *callback)
{
    void (*function)(void) = NULL;
    *(void **)&function = callback;
    function();
    return NULL;
}

/* Python code on a thread that Python knows only during the callback. Without the GIL. */
void walker_call_elsewhere(void (*callback)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_callback, *(void **)&callback) == 0)
        pthread_join(thread, NULL);
}

/* Walks until the process ends, as a daemon thread at the interpreter's exit. Writes "other" to standard
 * output if a walk has another result than the first one, apart from those of an exit. */
void walker_repeat(void)
{
    struct python_frame frames[FRAMES_MAX];
    struct python_walk first, walk;
    python_frames_walk(&python, frames, FRAMES_MAX, &first);
    for (;;) {
        python_frames_walk(&python, frames, FRAMES_MAX, &walk);
        if (walk.hash != first.hash && walk.stack != PYTHON_STACK_FINALIZING &&
            walk.stack != PYTHON_STACK_NO_THREAD)
            break;
    }
    (void)!write(STDOUT_FILENO, "other\n", 6);
}

/* ---- Times ---- */

static int open_counter(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double read_counter(int counter)
{
    uint64_t value = 0;
    return counter >= 0 && read(counter, &value, sizeof value) == sizeof value ? (double)value : 0;
}

enum what { WALK, WALK_AND_DESCRIBE, WALK_WITH_COLD_CACHES };

#define CACHE_BYTES (64 << 20) /* more than the caches of one processor core */

static double elapsed_ns(const struct timespec *start, const struct timespec *end)
{
    return (double)(end->tv_sec - start->tv_sec) * 1e9 + (double)(end->tv_nsec - start->tv_nsec);
}

/* Fills the caches with other data. */
static void empty_caches(void)
{
    static volatile char data[CACHE_BYTES];
    for (size_t i = 0; i < sizeof data; i += 64)
        data[i]++;
}

/* Nanoseconds and instructions (0: cannot be counted) of one walk. Returns the frames of the stack. */
int walker_time(uint32_t walks, uint32_t max, int what, double *ns, double *instructions)
{
    struct python_frame frames[FRAMES_MAX];
    struct python_walk walk = {.count = 0};
    struct timespec start, end;
    uint64_t sum = 0;
    double cold_ns = 0;
    int counter = open_counter();
    double before = read_counter(counter);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    for (uint32_t i = 0; i < walks; i++) {
        if (what == WALK_WITH_COLD_CACHES) {
            empty_caches();
            clock_gettime(CLOCK_MONOTONIC, &start);
        }
        python_frames_walk(&python, frames, max, &walk);
        if (what == WALK_WITH_COLD_CACHES) {
            clock_gettime(CLOCK_MONOTONIC, &end);
            cold_ns += elapsed_ns(&start, &end);
        }
        sum += walk.hash;
        for (uint32_t j = 0; what == WALK_AND_DESCRIBE && j < walk.count; j++) {
            char file[256], name[256];
            struct python_frame_text text = {
                .file = file, .name = name, .file_max = sizeof file, .name_max = sizeof name};
            python_frame_describe(&python, &frames[j], &text);
            sum += text.line;
        }
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    *ns = (what == WALK_WITH_COLD_CACHES ? cold_ns : elapsed_ns(&start, &end)) / walks;
    *instructions = what == WALK_WITH_COLD_CACHES ? 0 : (read_counter(counter) - before) / walks;
    if (counter >= 0)
        close(counter);
    return sum == 1 ? -1 : (int)walk.count;
}
