/* libcuspan-timed.so: the agent, from the same objects, with a clock around the one entry of its callbacks
 * (callbacks_handle). The linker replaces it with __wrap_callbacks_handle (tests/cmake/bench.cmake), so the
 * agent itself has no instruction for this.
 *
 * Each thread counts in its own histograms, one for each kind of callback, whose buckets are at most 3 %
 * wide. At exit they are added up and written, as JSON, to the file that CUSPAN_TIMED_FILE names. The first
 * callback of a thread is a separate kind: it claims a ring and may take longer by design.
 *
 * Times above OUTLIER_NS are examined: was the thread preempted, or did it touch a page for the first time?
 * getrusage has the answer, but it is a system call, so it is read after a callback that took longer than
 * SUSPECT_NS and, between callbacks, after every LOOKS_EVERY of them: a switch belongs to the outlier or
 * happened at most that many callbacks before. */
#include "base/clock.h"
#include "agent/abi/cupti_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define OUTLIER_NS  50000
#define SUSPECT_NS  20000
#define LOOKS_EVERY 64
#define STEPS_BITS  5 /* buckets for each power of two: 32 */
#define STEPS       (1u << STEPS_BITS)
#define BUCKETS     (STEPS * (32 - STEPS_BITS + 1)) /* up to 2^32 ticks */

enum kind { RUNTIME_ENTER, RUNTIME_EXIT, DRIVER_ENTER, DRIVER_EXIT, OTHER, FIRST, KINDS };
static const char *const kind_names[KINDS] = {"runtime enter", "runtime exit", "driver enter",
                                              "driver exit",   "other",        "first of a thread"};

struct histogram {
    uint64_t count, sum_ticks, most_ticks;
    uint64_t usual, usual_ticks; /* of callbacks up to SUSPECT_NS: the system interrupted longer ones */
    uint64_t outliers, outliers_switched, outliers_faulted;
    uint32_t buckets[BUCKETS];
};

struct thread {
    struct thread *next;
    long switches, faults; /* as last read */
    uint32_t callbacks;    /* since then */
    struct histogram kinds[KINDS];
};

static _Atomic(struct thread *) threads;
static _Thread_local struct thread *mine;
static uint64_t begin_ticks, begin_ns;
/* 0 until the rate of the counter is known from the first millisecond. */
static _Atomic uint64_t suspect_ticks, outlier_ticks;

void __real_callbacks_handle(void *userdata, uint32_t domain, uint32_t cbid, const void *data);
void __wrap_callbacks_handle(void *userdata, uint32_t domain, uint32_t cbid, const void *data);

static double ticks_per_ns(void)
{
    return (double)(clock_read_counter() - begin_ticks) / (double)(clock_monotonic_ns() - begin_ns);
}

/* Below 64, a bucket for each tick; above, 32 buckets for each power of two. */
static uint32_t bucket_of(uint64_t ticks)
{
    if (ticks >> 32)
        return BUCKETS - 1;
    if (ticks < STEPS)
        return (uint32_t)ticks;
    unsigned power = 63 - (unsigned)__builtin_clzll(ticks);
    return (power - STEPS_BITS) * STEPS + (uint32_t)(ticks >> (power - STEPS_BITS));
}

/* The largest number of ticks that falls into the bucket. */
static uint64_t bucket_end(uint32_t bucket)
{
    if (bucket < 2 * STEPS)
        return bucket;
    unsigned shift = bucket / STEPS - 1;
    return (((uint64_t)(bucket % STEPS) + STEPS + 1) << shift) - 1;
}

static bool look(struct thread *thread, bool *is_faulted)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    bool is_switched = usage.ru_nivcsw != thread->switches;
    *is_faulted = usage.ru_minflt + usage.ru_majflt != thread->faults;
    thread->switches = usage.ru_nivcsw;
    thread->faults = usage.ru_minflt + usage.ru_majflt;
    thread->callbacks = 0;
    return is_switched;
}

static void know_the_rate(void)
{
    if (clock_monotonic_ns() - begin_ns < 1000000)
        return;
    atomic_store_explicit(&outlier_ticks, (uint64_t)(OUTLIER_NS * ticks_per_ns()), memory_order_relaxed);
    atomic_store_explicit(&suspect_ticks, (uint64_t)(SUSPECT_NS * ticks_per_ns()), memory_order_relaxed);
}

static struct thread *begin_thread(void)
{
    /* Touched beforehand, so that no page of this causes an outlier. */
    struct thread *thread =
        mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    bool is_faulted;
    if (thread == MAP_FAILED)
        return NULL;
    look(thread, &is_faulted);
    thread->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &thread->next, thread)) {
    }
    return mine = thread;
}

static enum kind kind_of(uint32_t domain, const void *data)
{
    if (domain != CUPTI_DOMAIN_RUNTIME && domain != CUPTI_DOMAIN_DRIVER)
        return OTHER;
    bool is_exit = ((const struct cupti_callback_data *)data)->callbackSite == CUPTI_SITE_EXIT;
    return (domain == CUPTI_DOMAIN_RUNTIME ? RUNTIME_ENTER : DRIVER_ENTER) + (is_exit ? 1 : 0);
}

static void count(struct thread *thread, enum kind kind, uint64_t ticks)
{
    struct histogram *histogram = &thread->kinds[kind];
    uint64_t suspect = atomic_load_explicit(&suspect_ticks, memory_order_relaxed);
    bool is_faulted;
    histogram->count++;
    histogram->sum_ticks += ticks;
    histogram->buckets[bucket_of(ticks)]++;
    if (ticks > histogram->most_ticks)
        histogram->most_ticks = ticks;
    if (!suspect || ticks <= suspect) {
        histogram->usual++;
        histogram->usual_ticks += ticks;
    }
    if (!suspect)
        know_the_rate();
    if (++thread->callbacks < LOOKS_EVERY && ticks <= suspect)
        return;
    bool is_switched = look(thread, &is_faulted);
    if (suspect && ticks > atomic_load_explicit(&outlier_ticks, memory_order_relaxed)) {
        histogram->outliers++;
        histogram->outliers_switched += is_switched;
        histogram->outliers_faulted += is_faulted;
    }
}

void __wrap_callbacks_handle(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
    struct thread *thread = mine;
    bool is_first = !thread;
    if (is_first && !(thread = begin_thread())) {
        __real_callbacks_handle(userdata, domain, cbid, data);
        return;
    }
    enum kind kind = is_first ? FIRST : kind_of(domain, data);
    uint64_t begin = clock_read_counter();
    __real_callbacks_handle(userdata, domain, cbid, data);
    count(thread, kind, clock_read_counter() - begin);
}

/* --- the end --- */

static void add(struct histogram *to, const struct histogram *more)
{
    to->count += more->count;
    to->sum_ticks += more->sum_ticks;
    to->usual += more->usual;
    to->usual_ticks += more->usual_ticks;
    to->outliers += more->outliers;
    to->outliers_switched += more->outliers_switched;
    to->outliers_faulted += more->outliers_faulted;
    if (more->most_ticks > to->most_ticks)
        to->most_ticks = more->most_ticks;
    for (uint32_t i = 0; i < BUCKETS; i++)
        to->buckets[i] += more->buckets[i];
}

static double quantile_ns(const struct histogram *histogram, double share, double rate)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->count), seen = 0;
    uint32_t bucket = 0;
    while (bucket < BUCKETS && (seen += histogram->buckets[bucket]) <= wanted)
        bucket++;
    uint64_t ticks = bucket_end(bucket);
    return (double)(ticks < histogram->most_ticks ? ticks : histogram->most_ticks) / rate;
}

static void write_kind(FILE *file, const struct histogram *histogram, const char *name, double rate)
{
    fprintf(file,
            "\"%s\": {\"count\": %llu, \"mean_ns\": %.1f, \"usual_mean_ns\": %.1f, \"p50_ns\": %.1f, "
            "\"p99_ns\": %.1f, "
            "\"p999_ns\": %.1f, \"max_ns\": %.1f, \"over_50us\": %llu, \"over_50us_switched\": %llu, "
            "\"over_50us_faulted\": %llu}",
            name, (unsigned long long)histogram->count,
            (double)histogram->sum_ticks / (double)histogram->count / rate,
            (double)histogram->usual_ticks / (double)(histogram->usual ? histogram->usual : 1) / rate,
            quantile_ns(histogram, 0.5, rate), quantile_ns(histogram, 0.99, rate),
            quantile_ns(histogram, 0.999, rate), (double)histogram->most_ticks / rate,
            (unsigned long long)histogram->outliers, (unsigned long long)histogram->outliers_switched,
            (unsigned long long)histogram->outliers_faulted);
}

__attribute__((constructor)) static void begin(void)
{
    begin_ticks = clock_read_counter();
    begin_ns = clock_monotonic_ns();
}

/* Threads may still make calls; what they count from now on is not in the file. */
__attribute__((destructor)) static void end(void)
{
    static struct histogram kinds[KINDS];
    const char *path = getenv("CUSPAN_TIMED_FILE"), *separator = "";
    FILE *file = path ? fopen(path, "w") : NULL;
    double rate = ticks_per_ns();
    if (!file)
        return;
    for (const struct thread *thread = atomic_load(&threads); thread; thread = thread->next)
        for (int kind = 0; kind < KINDS; kind++)
            add(&kinds[kind], &thread->kinds[kind]);
    fputc('{', file);
    for (int kind = 0; kind < KINDS; kind++) {
        if (!kinds[kind].count)
            continue;
        fputs(separator, file);
        write_kind(file, &kinds[kind], kind_names[kind], rate);
        separator = ", ";
    }
    fputs("}\n", file);
    fclose(file);
}
