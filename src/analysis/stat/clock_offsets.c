#include "analysis/stat/clock_offsets.h"

#include "analysis/stat/tables/rank_job.h"
#include "analysis/stat/sections.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct offset {
    char *host;
    uint64_t origin_ns;
    double offset_ns, drift;
};

struct clock_offsets {
    struct offset *list; /* known offsets; the first host is the reference */
    size_t count, unknown;
    double largest_ns; /* absolute */
    uint32_t *of;      /* by resource of the segments: index in `list`, or `count` */
    size_t of_count, of_capacity;
};

struct reading {
    struct stat stat;
    struct rank_job job;
};

static enum status take(void *context, struct trace *segment, struct error *err)
{
    struct reading *reading = context;
    stat_learn(&reading->stat, segment);
    stat_take(&reading->stat, segment);
    for (size_t i = 0; i < segment->span_count; i++)
        if (!segment->spans[i].is_margin)
            rank_job_take(&reading->job, &reading->stat, &segment->spans[i]);
    return STATUS_OK;
}

static struct clock_offsets *offsets_of(struct rank_job *job)
{
    struct clock_offsets *offsets = xcalloc(1, sizeof *offsets);
    struct ranks_report report = {0};
    if (job->ranks)
        ranks_finish(job->ranks, &report);
    offsets->list = xcalloc(report.clock_count + 1, sizeof *offsets->list);
    for (size_t i = 0; i < report.clock_count; i++) {
        const struct ranks_clock_row *row = &report.clocks[i];
        offsets->unknown += !row->is_known;
        if (!row->is_known)
            continue;
        offsets->list[offsets->count++] =
            (struct offset){xstrdup(row->host), row->origin_ns, row->offset_ns, row->drift};
        offsets->largest_ns = fmax(offsets->largest_ns, fabs(row->offset_ns));
    }
    ranks_report_deinit(&report);
    return offsets;
}

static struct reading *begin_reading(void)
{
    struct reading *reading = xcalloc(1, sizeof *reading);
    stat_init(&reading->stat);
    return reading;
}

/* Returns the offsets if `status` is OK. */
static struct clock_offsets *end_reading(struct reading *reading, enum status status)
{
    struct clock_offsets *offsets = status == STATUS_OK ? offsets_of(&reading->job) : NULL;
    rank_job_deinit(&reading->job);
    stat_deinit(&reading->stat);
    free(reading);
    return offsets;
}

enum status clock_offsets_read(const struct trace_input *input, struct clock_offsets **offsets,
                               struct error *err)
{
    struct trace_input all = *input;
    struct reading *reading = begin_reading();
    struct trace trace;
    struct trace_facts facts;
    all.wanted = stat_wanted;
    enum status status = trace_read(&all, &trace, take, reading, &facts, err);
    *offsets = end_reading(reading, status);
    trace_deinit(&trace);
    return status;
}

struct clock_offsets *clock_offsets_of_trace(struct trace *trace)
{
    struct reading *reading = begin_reading();
    enum status status = take(reading, trace, NULL);
    return end_reading(reading, status);
}

void clock_offsets_tell(const struct clock_offsets *offsets, const char *command)
{
    size_t known = offsets->count > 1 ? offsets->count - 1 : 0;
    char largest[TEXT_NUMBER_BYTES];
    text_duration(largest, (uint64_t)offsets->largest_ns, text_locale_is_utf8());
    if (known)
        fprintf(stderr,
                "cuspan %s: the clocks of %zu host%s are aligned with that of the first host, by up to %s\n",
                command, known, known == 1 ? "" : "s", largest);
    if (offsets->unknown)
        fprintf(stderr,
                "cuspan %s: the clocks of %zu host%s are not aligned, because they share too few collectives "
                "with "
                "the others\n",
                command, offsets->unknown, offsets->unknown == 1 ? "" : "s");
    if (!known && !offsets->unknown)
        fprintf(stderr, "cuspan %s: no clocks to align: there is one host, or there are no collectives\n",
                command);
}

/* Learns the hosts of new resources. Resources keep their numbers in all segments. */
static void learn_resources(struct clock_offsets *offsets, const struct trace *trace)
{
    while (offsets->of_count < trace->resource_count) {
        const struct trace_resource *resource = &trace->resources[offsets->of_count];
        const char *host = trace_resource_attr(trace, resource, SEMCONV_HOST_NAME);
        uint32_t at = 0;
        while (at < offsets->count && !(host && !strcmp(offsets->list[at].host, host)))
            at++;
        *XADD(offsets->of, offsets->of_count, offsets->of_capacity) = at;
    }
}

static uint64_t correct(const struct offset *offset, uint64_t time_ns)
{
    double since = (double)(int64_t)(time_ns - offset->origin_ns);
    return time_ns - (uint64_t)(int64_t)(offset->offset_ns + offset->drift * since);
}

void clock_offsets_apply(struct clock_offsets *offsets, struct trace *trace)
{
    learn_resources(offsets, trace);
    for (size_t i = 0; i < trace->span_count; i++) {
        struct trace_span *span = &trace->spans[i];
        uint32_t at = offsets->of[span->resource];
        if (at == offsets->count)
            continue;
        span->start_ns = correct(&offsets->list[at], span->start_ns);
        span->end_ns = correct(&offsets->list[at], span->end_ns);
        for (uint32_t e = span->event_first; e < span->event_first + span->event_count; e++)
            trace->events[e].time_ns = correct(&offsets->list[at], trace->events[e].time_ns);
    }
    trace_finish(trace);
}

void clock_offsets_destroy(struct clock_offsets *offsets)
{
    if (!offsets)
        return;
    for (size_t i = 0; i < offsets->count; i++)
        free(offsets->list[i].host);
    free(offsets->list);
    free(offsets->of);
    free(offsets);
}
