/* Findings about copies: synchronous, pageable, too small, or back and forth. */
#include "cli/util/xalloc.h"
#include "analysis/stat/findings/finding.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define ARRIVALS_MAX 262144  /* host addresses kept; if there are more, all are forgotten */
#define PAGEABLE_MAX 1000000 /* copies that wait for the final rate of pinned copies */

/* The latest copy to a host address. */
struct arrival {
    bool is_there;
    uint64_t end_ns, duration_ns, bytes;
};

#define ROW_ORIGINS_MAX 16 /* places in the program that a row's copies come from */

/* Consecutive copies on a stream in one direction. */
struct row {
    const char *kind; /* kept */
    struct trace_span first;
    uint64_t count, bytes_max, call_ns, saving_ns;
    struct idle_time *idle; /* questions about calls that have not ended, or ended recently */
    size_t idle_count, idle_capacity;
    struct row_origin {
        uint32_t origin;
        uint64_t count;
    } origins[ROW_ORIGINS_MAX];
    size_t origin_count;
};

/* A pageable copy whose saving depends on the rate of pinned copies. */
struct slow_copy {
    uint64_t bytes, duration_ns;
    uint64_t held_ns; /* an asynchronous call was blocked for so long */
    uint32_t tally;
};

struct copies {
    struct samples pinned; /* ns per GiB of pinned copies, by direction and device */
    struct int_map links;  /* direction and device → number */
    struct tallies waiting, pageable, tiny, trips;
    struct slow_copy *slow;
    size_t slow_count, slow_capacity;
    struct int_map arrivals; /* process and address of the host → arrival */
    struct arrival *arrived;
    size_t arrived_count, arrived_capacity;
    struct paged rows; /* by lane */
};

struct copy {
    const struct trace_span *work;
    const struct trace_span *call;
    const char *kind; /* kept */
    uint64_t bytes;
    uint64_t key; /* of the direction on the device */
    uint32_t origin;
    bool to_host, from_host, is_pageable;
};

/* Returns a key for a direction on a device. `kind` is kept, so equal texts are the same pointer. */
static uint64_t direction_key(const char *kind, uint32_t resource)
{
    return int_map_mix((uint64_t)(uintptr_t)kind) ^ resource;
}

static bool copy_of(const struct survey *survey, const struct trace_span *work, struct copy *copy)
{
    const struct stat *stat = survey->stat;
    *copy = (struct copy){.work = work,
                          .call = stat_call_of_work(stat, work),
                          .bytes = stat_attr_int(stat, work, KEY_COPY_BYTES, 0)};
    if (work->class != CLASS_COPY || !copy->call || stat_has(stat, work, KEY_GRAPH))
        return false;
    copy->kind = stat_keep(stat, stat_attr(stat, work, KEY_COPY_KIND));
    if (!copy->kind)
        return false;
    copy->key = direction_key(copy->kind, work->resource);
    copy->origin = survey_origin(survey, work);
    copy->to_host = stat_is(copy->kind, "DeviceToHost");
    copy->from_host = stat_is(copy->kind, "HostToDevice");
    copy->is_pageable = stat_is(stat_attr(stat, work, KEY_COPY_FROM), "pageable") ||
                        stat_is(stat_attr(stat, work, KEY_COPY_TO), "pageable");
    return true;
}

/* --- pageable copies --- */

#define NS_OF_GIB(bytes_per_s) (1e9 * 1073741824.0 / (bytes_per_s))

static void measure_pinned(struct copies *copies, const struct copy *copy)
{
    if (copy->is_pageable || copy->bytes < MEASURED_BYTES_MIN || (!copy->from_host && !copy->to_host))
        return;
    uint64_t duration = stat_duration(copy->work);
    double rate = (double)copy->bytes * 1e9 / (double)(duration ? duration : 1);
    samples_add(&copies->pinned, int_map_number(&copies->links, copy->key), (uint64_t)NS_OF_GIB(rate));
}

/* Returns the rate of the tally's link. `*source` becomes the origin of the rate, for the evidence. */
static double link_rate(const struct copies *copies, const struct stat *stat, const struct tally *tally,
                        const char **source)
{
    uint32_t resource = tally->first.resource;
    uint32_t link = int_map_get(&copies->links, direction_key(tally->text, resource));
    double told = stat_device_number(stat, resource, SEMCONV_CUDA_DEVICE_PCIE_BANDWIDTH);
    uint64_t generation = stat_device_of(stat, resource)->major;
    if (link != MAP_NONE) {
        uint64_t median = samples_median(&copies->pinned, link);
        *source = "median of this run's pinned copies";
        return NS_OF_GIB((double)(median ? median : 1));
    }
    *source = "two thirds of the PCIe link's peak";
    if (told > 0)
        return PCIE_SHARE * told;
    *source = "assumed for this GPU";
    if (generation >= 9)
        return PCIE5_BYTES_PER_S;
    return generation >= 8 ? PCIE4_BYTES_PER_S : PCIE3_BYTES_PER_S;
}

/* Adds the savings of pageable copies. A copy has two within the same time: the time that it takes longer
 * than a pinned one, and the time that it blocks an asynchronous call. The larger one counts. */
static void settle_slow(struct copies *copies, const struct stat *stat)
{
    double *rates = xcalloc(copies->pageable.count + 1, sizeof *rates);
    const char *source;
    for (size_t i = 0; i < copies->pageable.count; i++)
        rates[i] = link_rate(copies, stat, &copies->pageable.items[i], &source);
    for (size_t i = 0; i < copies->slow_count; i++) {
        const struct slow_copy *copy = &copies->slow[i];
        struct tally *tally = &copies->pageable.items[copy->tally];
        double pinned = (double)copy->bytes * 1e9 / rates[copy->tally];
        double slower = (double)copy->duration_ns - pinned;
        double saving = slower > (double)copy->held_ns ? slower : (double)copy->held_ns;
        tally->extra += (uint64_t)pinned;
        tally->saving_ns += (uint64_t)saving;
    }
    free(rates);
    copies->slow_count = 0;
}

/* Returns how many ns an asynchronous call waited for its copy. */
static uint64_t held_ns(const struct stat *stat, const struct copy *copy)
{
    if (!stat_call_of(stat, copy->call).is_async)
        return 0;
    uint64_t end = copy->call->end_ns < copy->work->end_ns ? copy->call->end_ns : copy->work->end_ns;
    uint64_t start = copy->work->start_ns + PINNED_CALL_NS;
    return end > start ? end - start : 0;
}

static void count_pageable(struct copies *copies, const struct survey *survey, const struct copy *copy)
{
    const struct stat *stat = survey->stat;
    if (!copy->is_pageable || copy->bytes <= PAGEABLE_BYTES_MIN || (!copy->from_host && !copy->to_host))
        return;
    struct tally *tally = tallies_count(&copies->pageable, survey, copy->key, copy->work, copy->origin);
    tally->text = copy->kind;
    tally->ns += stat_duration(copy->work);
    tally->bytes += copy->bytes;
    if (copies->slow_count == PAGEABLE_MAX)
        settle_slow(copies, stat);
    *XADD(copies->slow, copies->slow_count, copies->slow_capacity) =
        (struct slow_copy){copy->bytes, stat_duration(copy->work), held_ns(stat, copy),
                           tallies_number(&copies->pageable, tally)};
}

static char *pageable_evidence(const struct survey *survey, const struct tally *tally,
                               struct finding *finding, const void *context)
{
    const char *source;
    double rate = link_rate(context, survey->stat, tally, &source);
    finding->where = tally->text;
    return xasprintf("%llu bytes from or to pageable memory took %s; with pinned memory, at %.1f "
                     "GB/s (%s), they take %s, and asynchronous calls return immediately",
                     (unsigned long long)tally->bytes, EVIDENCE_TIME(tally->ns), rate / 1e9, source,
                     EVIDENCE_TIME(tally->extra));
}

/* --- synchronous copies --- */

/* Returns the question that gives a copy's saving: the part of its call in which no kernel ran. */
static struct idle_time idle_of(const struct copy *copy)
{
    return (struct idle_time){copy->call->start_ns, copy->call->end_ns, copy->work->resource, true};
}

static void count_waiting(struct copies *copies, struct survey *survey, const struct copy *copy)
{
    if ((!copy->from_host && !copy->to_host) || stat_call_of(survey->stat, copy->call).is_async)
        return;
    struct tally *tally = tallies_count(&copies->waiting, survey, copy->key ^ int_map_mix(copy->call->thread),
                                        copy->work, copy->origin);
    if (tally->count == 1)
        tally->call = *copy->call;
    tally->ns += stat_duration(copy->call);
    struct idle_time idle = idle_of(copy);
    survey_ask(survey, &idle, &copies->waiting, tallies_number(&copies->waiting, tally));
}

static char *waiting_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    const struct trace_span *call = &tally->call;
    return xasprintf("%llu calls such as %s blocked thread %s for %s; for %s of that no kernel ran",
                     (unsigned long long)tally->count, trace_string(survey->stat->trace, call->name),
                     places_thread(survey->stat->places, call->thread), EVIDENCE_TIME(tally->ns),
                     EVIDENCE_TIME(tally->saving_ns));
}

/* --- tiny copies --- */

static void end_row(struct copies *copies, struct survey *survey, struct row *row)
{
    if (row->count >= TINY_COPY_ROW) {
        struct tally *tally = tallies_at(&copies->tiny, direction_key(row->kind, row->first.lane),
                                         places_process(survey->stat->places, &row->first), &row->first);
        tally->count += row->count;
        tally->ns += row->call_ns;
        tally->bytes = row->bytes_max > tally->bytes ? row->bytes_max : tally->bytes;
        tally->extra++;
        tally->saving_ns += row->saving_ns;
        uint32_t number = tallies_number(&copies->tiny, tally);
        for (size_t i = 0; i < row->idle_count; i++)
            survey_ask(survey, &row->idle[i], &copies->tiny, number);
        for (size_t i = 0; i < row->origin_count; i++)
            tallies_add_origin(&copies->tiny, tally, row->origins[i].origin, row->origins[i].count);
    }
    *row = (struct row){.idle = row->idle, .idle_capacity = row->idle_capacity};
}

static void add_origin(struct row *row, uint32_t origin)
{
    size_t i = 0;
    while (i < row->origin_count && row->origins[i].origin != origin)
        i++;
    if (i == ROW_ORIGINS_MAX)
        return;
    if (i == row->origin_count)
        row->origins[row->origin_count++] = (struct row_origin){origin, 0};
    row->origins[i].count++;
}

/* Counts a tiny copy in its row. The row's saving is the part of all but its first call in which no kernel
 * ran. */
static void count_tiny(struct copies *copies, struct survey *survey, const struct copy *copy)
{
    struct row *row = paged_at(&copies->rows, copy->work->lane, sizeof *row);
    if (row->kind != copy->kind || copy->bytes > TINY_COPY_BYTES)
        end_row(copies, survey, row);
    if (copy->bytes > TINY_COPY_BYTES)
        return;
    if (row->count++ == 0) {
        row->kind = copy->kind;
        row->first = *copy->work;
    } else {
        *XADD(row->idle, row->idle_count, row->idle_capacity) = idle_of(copy);
    }
    row->call_ns += stat_duration(copy->call);
    row->bytes_max = copy->bytes > row->bytes_max ? copy->bytes : row->bytes_max;
    add_origin(row, copy->origin);
}

/* Adds up the idle times of rows that are known already, because a row can be long. */
static void end_segment(void *state, struct survey *survey)
{
    struct copies *copies = state;
    struct row *row;
    for (size_t lane = 0; (row = paged_next(&copies->rows, &lane, sizeof *row)); lane++) {
        size_t kept = 0;
        for (size_t i = 0; i < row->idle_count; i++) {
            if (row->idle[i].until_ns <= survey->now_ns)
                row->saving_ns += survey_idle(survey, &row->idle[i]);
            else
                row->idle[kept++] = row->idle[i];
        }
        row->idle_count = kept;
    }
}

static char *tiny_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    return xasprintf(
        "%llu copies of at most %llu bytes in %llu rows directly after each other on a stream; their "
        "calls took %s, and for %s of those after the first of each row no kernel ran",
        (unsigned long long)tally->count, (unsigned long long)tally->bytes, (unsigned long long)tally->extra,
        EVIDENCE_TIME(tally->ns), EVIDENCE_TIME(tally->saving_ns));
}

/* --- round trips --- */

static uint64_t host_key(const struct stat *stat, const struct copy *copy, enum stat_key key)
{
    const char *address = stat_attr(stat, copy->call, key);
    return address ? int_map_mix(strtoull(address, NULL, 0)) ^ places_process(stat->places, copy->work) : 0;
}

static void record_arrival(struct copies *copies, const struct stat *stat, const struct copy *copy)
{
    uint64_t key = host_key(stat, copy, KEY_ARG_DST);
    if (!key)
        return;
    if (copies->arrived_count == ARRIVALS_MAX) {
        int_map_deinit(&copies->arrivals);
        copies->arrived_count = 0;
    }
    uint32_t number = int_map_number(&copies->arrivals, key);
    if (number == copies->arrived_count)
        (void)XADD(copies->arrived, copies->arrived_count, copies->arrived_capacity);
    copies->arrived[number] =
        (struct arrival){true, copy->work->end_ns, stat_duration(copy->work), copy->bytes};
}

/* Counts a copy back to the GPU if its data came from a GPU, and the host had no time to rewrite all of them.
 */
static void count_return(struct copies *copies, const struct survey *survey, const struct copy *copy)
{
    uint32_t number = int_map_get(&copies->arrivals, host_key(survey->stat, copy, KEY_ARG_SRC));
    struct arrival *arrival = number == MAP_NONE ? NULL : &copies->arrived[number];
    if (!arrival || !arrival->is_there || arrival->bytes != copy->bytes)
        return;
    double gap = (double)copy->call->start_ns - (double)arrival->end_ns;
    if (gap < (double)copy->bytes * 1e9 / HOST_WRITE_BYTES_PER_S) {
        struct tally *tally =
            tallies_count(&copies->trips, survey, copy->work->lane, copy->work, copy->origin);
        tally->bytes += copy->bytes;
        tally->saving_ns += stat_duration(copy->work) + arrival->duration_ns;
    }
    arrival->is_there = false;
}

static char *trip_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    return xasprintf("%llu times a host buffer was copied from the GPU and copied back completely before one "
                     "core could have rewritten it: %llu bytes each way, %s for both copies",
                     (unsigned long long)tally->count, (unsigned long long)tally->bytes,
                     EVIDENCE_TIME(tally->saving_ns));
}

/* --- the detector --- */

static void take(void *state, struct survey *survey, const struct trace_span *work)
{
    struct copies *copies = state;
    struct copy copy;
    if (!trace_class_is_gpu(work->class))
        return;
    if (!copy_of(survey, work, &copy)) {
        end_row(copies, survey, paged_at(&copies->rows, work->lane, sizeof(struct row)));
        return;
    }
    measure_pinned(copies, &copy);
    count_pageable(copies, survey, &copy);
    count_waiting(copies, survey, &copy);
    count_tiny(copies, survey, &copy);
    if (copy.to_host)
        record_arrival(copies, survey->stat, &copy);
    else if (copy.from_host)
        count_return(copies, survey, &copy);
}

static void finish(void *state, struct findings *findings)
{
    struct copies *copies = state;
    struct row *row;
    for (size_t lane = 0; (row = paged_next(&copies->rows, &lane, sizeof *row)); lane++) {
        if (findings)
            end_row(copies, findings->survey, row);
        free(row->idle);
    }
    if (findings)
        settle_slow(copies, findings->survey->stat);
    findings_offer(findings, FINDING_SYNC_COPIES, &copies->waiting, REPEATED_MIN, waiting_evidence, NULL);
    findings_offer(findings, FINDING_PAGEABLE, &copies->pageable, 1, pageable_evidence, copies);
    findings_offer(findings, FINDING_TINY_COPIES, &copies->tiny, TINY_COPY_RUNS, tiny_evidence, NULL);
    findings_offer(findings, FINDING_ROUND_TRIPS, &copies->trips, REPEATED_MIN, trip_evidence, NULL);
    samples_deinit(&copies->pinned);
    int_map_deinit(&copies->links);
    int_map_deinit(&copies->arrivals);
    paged_deinit(&copies->rows);
    free(copies->arrived);
    free(copies->slow);
}

const struct detector find_copies = {sizeof(struct copies), take, end_segment, finish};
