/* Findings about copies: synchronous, pageable, too small, or back and forth. */
#include "cli/util/xalloc.h"
#include "cli/stat/findings/detectors.h"

#include <stdlib.h>
#include <string.h>

/* The latest copy to a host address. */
struct arrival {
    const struct trace_span *work;
    uint64_t bytes;
};

/* Consecutive copies on a stream in one direction. */
struct row {
    const char *kind;
    const struct trace_span *first;
    uint64_t count, call_ns, saving_ns;
};

struct copies {
    struct findings *findings;
    struct samples pinned; /* ns per GiB of pinned copies, by direction and device */
    struct int_map links;  /* direction and device → number */
    struct tallies waiting, pageable, tiny, trips;
    struct int_map arrivals; /* process and address of the host → arrival */
    struct arrival *arrived;
    size_t arrived_count, arrived_capacity;
    struct row *rows; /* by lane */
};

struct copy {
    const struct trace_span *work;
    const struct trace_span *call;
    const char *kind;
    uint64_t bytes;
    bool to_host, from_host, is_pageable;
};

static bool copy_of(const struct survey *survey, const struct trace_span *work, struct copy *copy)
{
    const struct stat *stat = survey->stat;
    *copy = (struct copy){.work = work,
                          .call = survey_call(survey, work),
                          .kind = stat_attr(stat, work, KEY_COPY_KIND),
                          .bytes = stat_attr_int(stat, work, KEY_COPY_BYTES, 0)};
    if (work->class != CLASS_COPY || !copy->kind || !copy->call || stat_attr(stat, work, KEY_GRAPH))
        return false;
    copy->to_host = stat_is(copy->kind, "DeviceToHost");
    copy->from_host = stat_is(copy->kind, "HostToDevice");
    copy->is_pageable = stat_is(stat_attr(stat, work, KEY_COPY_FROM), "pageable") ||
                        stat_is(stat_attr(stat, work, KEY_COPY_TO), "pageable");
    return true;
}

static uint64_t direction_key(const struct stat *stat, const struct copy *copy)
{
    return (uint64_t)(copy->kind - stat->trace->strings) << 32 | copy->work->resource;
}

/* --- pageable copies --- */

#define NS_OF_GIB(bytes_per_s) (1e9 * 1073741824.0 / (bytes_per_s))

static void measure_pinned(struct copies *copies)
{
    const struct survey *survey = copies->findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct copy copy;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *work = &trace->spans[i];
        if (!copy_of(survey, work, &copy) || copy.is_pageable || copy.bytes < MEASURED_BYTES_MIN)
            continue;
        if (!copy.from_host && !copy.to_host)
            continue;
        double rate = (double)copy.bytes * 1e9 / (double)(stat_duration(work) ? stat_duration(work) : 1);
        samples_add(&copies->pinned, stat_number(&copies->links, direction_key(survey->stat, &copy)),
                    (uint64_t)NS_OF_GIB(rate));
    }
    samples_sort(&copies->pinned);
}

/* `source`: the origin of the rate, for the evidence. */
static double link_rate(const struct copies *copies, const struct copy *copy, const char **source)
{
    const struct stat *stat = copies->findings->survey->stat;
    uint32_t link = int_map_get(&copies->links, direction_key(stat, copy));
    double told = stat_device_number(stat, copy->work, "cuda.device.pcie.bandwidth");
    double generation = stat_device_number(stat, copy->work, "cuda.device.compute_capability.major");
    if (link != MAP_NONE) {
        uint64_t median = samples_spread(&copies->pinned, link).median;
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

/* Two savings within the same time: the time a copy takes longer than a pinned one, and the time that an
 * asynchronous call is blocked by it. The larger one counts. */
static void count_pageable(struct copies *copies, const struct copy *copy, uint32_t process)
{
    const struct survey *survey = copies->findings->survey;
    if (!copy->is_pageable || copy->bytes <= PAGEABLE_BYTES_MIN || (!copy->from_host && !copy->to_host))
        return;
    const char *source;
    double pinned = (double)copy->bytes * 1e9 / link_rate(copies, copy, &source);
    double slower = (double)stat_duration(copy->work) - pinned, held = 0;
    if (survey_is_async(survey, copy->call)) {
        uint64_t end = copy->call->end_ns < copy->work->end_ns ? copy->call->end_ns : copy->work->end_ns;
        held = end > copy->work->start_ns ? (double)(end - copy->work->start_ns) - PINNED_CALL_NS : 0;
    }
    double saving = slower > held ? slower : held;
    struct tally *tally =
        tallies_at(&copies->pageable, direction_key(survey->stat, copy), process, copy->work);
    tally->count++;
    tally->ns += stat_duration(copy->work);
    tally->bytes += copy->bytes;
    tally->extra += (uint64_t)pinned;
    tally->saving_ns += saving > 0 ? (uint64_t)saving : 0;
}

static char *pageable_evidence(const struct survey *survey, const struct tally *tally,
                               struct finding *finding, const void *context)
{
    struct copy copy;
    const char *source;
    copy_of(survey, tally->first, &copy);
    double rate = link_rate(context, &copy, &source);
    char time[EVIDENCE_TIME_BYTES], pinned[EVIDENCE_TIME_BYTES];
    finding->where = copy.kind;
    return xasprintf("%llu bytes from or to pageable memory took %s; with pinned memory, at %.1f "
                     "GB/s (%s), they take %s, and asynchronous calls return immediately",
                     (unsigned long long)tally->bytes, evidence_time(time, tally->ns), rate / 1e9, source,
                     evidence_time(pinned, tally->extra));
}

/* --- synchronous copies --- */

/* The saving is the part of the call in which no kernel ran. */
static void count_waiting(struct copies *copies, const struct copy *copy, uint32_t process)
{
    const struct survey *survey = copies->findings->survey;
    if ((!copy->from_host && !copy->to_host) || survey_is_async(survey, copy->call))
        return;
    struct tally *tally =
        tallies_at(&copies->waiting, direction_key(survey->stat, copy) ^ int_map_mix(copy->call->thread),
                   process, copy->work);
    tally->count++;
    tally->ns += stat_duration(copy->call);
    tally->saving_ns += intervals_gaps(&survey->devices[copy->work->resource].kernels, copy->call->start_ns,
                                       copy->call->end_ns);
}

static char *waiting_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                              const void *context)
{
    const struct trace_span *call = survey_call(survey, tally->first);
    char time[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES];
    return xasprintf("%llu calls such as %s blocked thread %s for %s; for %s of that no kernel ran",
                     (unsigned long long)tally->count, trace_string(survey->stat->trace, call->name),
                     places_thread(&survey->places, call), evidence_time(time, tally->ns),
                     evidence_time(idle, tally->saving_ns));
}

/* --- tiny copies --- */

static void end_row(struct copies *copies, struct row *row)
{
    const struct survey *survey = copies->findings->survey;
    if (row->count >= TINY_COPY_ROW) {
        uint64_t key = (uint64_t)(row->kind - survey->stat->trace->strings) << 32 | row->first->lane;
        struct tally *tally =
            tallies_at(&copies->tiny, key, places_process(&survey->places, row->first), row->first);
        tally->count += row->count;
        tally->ns += row->call_ns;
        tally->extra++;
        tally->saving_ns += row->saving_ns;
    }
    *row = (struct row){0};
}

/* The saving is the part of all but the first call of a row in which no kernel ran. */
static void count_tiny(struct copies *copies, const struct copy *copy)
{
    const struct survey *survey = copies->findings->survey;
    struct row *row = &copies->rows[copy->work->lane];
    if (row->kind != copy->kind || copy->bytes > TINY_COPY_BYTES)
        end_row(copies, row);
    if (copy->bytes > TINY_COPY_BYTES)
        return;
    if (row->count++ == 0) {
        row->kind = copy->kind;
        row->first = copy->work;
    } else {
        row->saving_ns += intervals_gaps(&survey->devices[copy->work->resource].kernels, copy->call->start_ns,
                                         copy->call->end_ns);
    }
    row->call_ns += stat_duration(copy->call);
}

static char *tiny_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    char time[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES];
    return xasprintf(
        "%llu copies of at most %d bytes in %llu rows directly after each other on a stream; their "
        "calls took %s, and for %s of those after the first of each row no kernel ran",
        (unsigned long long)tally->count, TINY_COPY_BYTES, (unsigned long long)tally->extra,
        evidence_time(time, tally->ns), evidence_time(idle, tally->saving_ns));
}

/* --- round trips --- */

static uint64_t host_key(const struct stat *stat, const struct copy *copy, enum stat_key key,
                         uint32_t process)
{
    const char *address = stat_attr(stat, copy->call, key);
    return address ? int_map_mix(strtoull(address, NULL, 0)) ^ process : 0;
}

static void record_arrival(struct copies *copies, const struct copy *copy, uint32_t process)
{
    uint64_t key = host_key(copies->findings->survey->stat, copy, KEY_ARG_DST, process);
    if (!key)
        return;
    uint32_t number = int_map_get(&copies->arrivals, key);
    if (number == MAP_NONE) {
        number = (uint32_t)copies->arrived_count;
        copies->arrived = xgrow(copies->arrived, &copies->arrived_capacity, copies->arrived_count + 1,
                                sizeof *copies->arrived);
        copies->arrived_count++;
        int_map_set(&copies->arrivals, key, number);
    }
    copies->arrived[number] = (struct arrival){copy->work, copy->bytes};
}

/* The data came from a GPU, and the host had no time to rewrite all of it. */
static void count_return(struct copies *copies, const struct copy *copy, uint32_t process)
{
    const struct survey *survey = copies->findings->survey;
    uint32_t number = int_map_get(&copies->arrivals, host_key(survey->stat, copy, KEY_ARG_SRC, process));
    struct arrival *arrival = number == MAP_NONE ? NULL : &copies->arrived[number];
    if (!arrival || !arrival->work || arrival->bytes != copy->bytes)
        return;
    double gap = (double)copy->call->start_ns - (double)arrival->work->end_ns;
    if (gap < (double)copy->bytes * 1e9 / HOST_WRITE_BYTES_PER_S) {
        struct tally *tally = tallies_at(&copies->trips, copy->work->lane, process, copy->work);
        tally->count++;
        tally->bytes += copy->bytes;
        tally->saving_ns += stat_duration(copy->work) + stat_duration(arrival->work);
    }
    arrival->work = NULL;
}

static char *trip_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    char time[EVIDENCE_TIME_BYTES];
    return xasprintf("%llu times a host buffer was copied from the GPU and copied back completely before one "
                     "core could have rewritten it: %llu bytes each way, %s for both copies",
                     (unsigned long long)tally->count, (unsigned long long)tally->bytes,
                     evidence_time(time, tally->saving_ns));
}

/* --- scan --- */

static void scan(struct copies *copies)
{
    const struct survey *survey = copies->findings->survey;
    const struct trace *trace = survey->stat->trace;
    struct copy copy;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *work = &trace->spans[i];
        if (!trace_class_is_gpu(work->class))
            continue;
        if (!copy_of(survey, work, &copy)) {
            end_row(copies, &copies->rows[work->lane]);
            continue;
        }
        uint32_t process = places_process(&survey->places, work);
        count_pageable(copies, &copy, process);
        count_waiting(copies, &copy, process);
        count_tiny(copies, &copy);
        if (copy.to_host)
            record_arrival(copies, &copy, process);
        else if (copy.from_host)
            count_return(copies, &copy, process);
    }
    for (size_t lane = 0; lane < trace->lane_count; lane++)
        end_row(copies, &copies->rows[lane]);
}

void find_copies(struct findings *findings)
{
    struct copies copies = {.findings = findings};
    copies.rows = xcalloc(findings->survey->stat->trace->lane_count + 1, sizeof *copies.rows);
    measure_pinned(&copies);
    scan(&copies);
    findings_offer(findings, FINDING_SYNC_COPIES, &copies.waiting, REPEATED_MIN, waiting_evidence, NULL);
    findings_offer(findings, FINDING_PAGEABLE, &copies.pageable, 1, pageable_evidence, &copies);
    findings_offer(findings, FINDING_TINY_COPIES, &copies.tiny, TINY_COPY_RUNS, tiny_evidence, NULL);
    findings_offer(findings, FINDING_ROUND_TRIPS, &copies.trips, REPEATED_MIN, trip_evidence, NULL);
    samples_deinit(&copies.pinned);
    int_map_deinit(&copies.links);
    int_map_deinit(&copies.arrivals);
    free(copies.arrived);
    free(copies.rows);
}
