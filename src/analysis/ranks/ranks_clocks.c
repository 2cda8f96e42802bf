/* Estimates offsets and drift of the hosts' clocks. In a collective where all ranks need the data of all, all
 * ranks end at nearly the same time, however late one of them started. So the difference of two hosts' end
 * times is the offset of their clocks, give or take the last hop. The middle of the bounds [start_i - end_j,
 * end_i - start_j] is not used: a rank that is always late moves it. The bounds check the result. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_SAMPLES_MAX 1024
#define FIT_SAMPLES_MAX  256 /* samples of a fit, which compares each two: 32,640 slopes */
#define FIT_SAMPLES_MIN  16  /* with fewer samples, a slope is noise: no drift */
#define HOST_SAMPLES_MIN 3
#define GPU_CLOCK_NS     1000 /* permanent difference of CUPTI's times of two GPUs of one host */

static struct host_pair *pair_at(struct ranks *ranks, uint32_t first, uint32_t second)
{
    uint64_t key = (uint64_t)first << 32 | second;
    uint32_t at = int_map_get(&ranks->pair_numbers, key);
    if (at != MAP_NONE)
        return &ranks->pairs[at];
    if (ranks->pair_count >= ranks->limits.host_pairs_max) {
        ranks->losses.host_pairs++;
        return NULL;
    }
    int_map_set(&ranks->pair_numbers, key, (uint32_t)ranks->pair_count);
    struct host_pair *pair = XADD(ranks->pairs, ranks->pair_count, ranks->pair_capacity);
    *pair = (struct host_pair){.first = first, .second = second};
    return pair;
}

static void add_sample(struct host_pair *pair, struct clock_sample sample)
{
    sample.tag = (uint32_t)int_map_mix(++pair->seen);
    while (!(sample.tag & pair->mask) && pair->count == PAIR_SAMPLES_MAX) {
        size_t kept = 0;
        pair->mask = pair->mask << 1 | 1;
        for (size_t i = 0; i < pair->count; i++)
            if (!(pair->samples[i].tag & pair->mask))
                pair->samples[kept++] = pair->samples[i];
        pair->count = kept;
    }
    if (!(sample.tag & pair->mask))
        *XADD(pair->samples, pair->count, pair->capacity) = sample;
}

/* Returns the difference of two times, exact as a double, because times of hosts differ by far less than 2^53
 * ns. */
static double minus(uint64_t a, uint64_t b)
{
    return (double)(int64_t)(a - b);
}

/* The first arrival on each host stands for the host, and is compared with that on the host that was added
 * first. The arrivals are sorted by rank. */
void ranks_clocks_add(struct ranks *ranks, const struct instance *instance, double shortest_ns)
{
    const struct arrival *first = instance->arrivals;
    ranks->marks++;
    for (size_t i = 1; i < instance->count; i++)
        if (ranks->ranks[instance->arrivals[i].rank].host < ranks->ranks[first->rank].host)
            first = &instance->arrivals[i];
    uint32_t host = ranks->ranks[first->rank].host;
    (void)ranks_mark_host(ranks, first);
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *other = &instance->arrivals[i];
        struct host_pair *pair =
            ranks_mark_host(ranks, other) ? pair_at(ranks, host, ranks->ranks[other->rank].host) : NULL;
        if (pair)
            add_sample(pair, (struct clock_sample){
                                 .time_ns = first->end_ns,
                                 .difference_ns = minus(other->end_ns, first->end_ns),
                                 .low_ns = minus(other->end_ns - other->duration_ns, first->end_ns),
                                 .high_ns = minus(other->end_ns, first->end_ns - first->duration_ns),
                                 .shortest_ns = shortest_ns,
                             });
    }
}

struct fit {
    uint64_t origin_ns;
    double offset_ns, drift, uncertainty_ns;
};

static int compare_shortest(const void *a, const void *b)
{
    const struct clock_sample *x = a, *y = b;
    return ORDER(x->shortest_ns, y->shortest_ns);
}

/* Returns the drift by Theil and Sen: the median of all slopes. */
static double slope_of(const struct clock_sample *samples, size_t count)
{
    size_t slopes = 0;
    double *values = xcalloc(count * count / 2 + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            double time = minus(samples[j].time_ns, samples[i].time_ns);
            if (time != 0)
                values[slopes++] = (samples[j].difference_ns - samples[i].difference_ns) / time;
        }
    double slope = sort_median(values, slopes);
    free(values);
    return slope;
}

/* Returns the uncertainty of the line at its worse end, as a share of the noise's variance. The chosen
 * samples are the first ones, and may all be from a part of the job. */
static double leverage_of(const struct host_pair *pair, size_t chosen)
{
    const struct clock_sample *samples = pair->samples;
    double middle = 0, squares = 0, farthest = 0;
    for (size_t i = 0; i < chosen; i++)
        middle += minus(samples[i].time_ns, samples[0].time_ns) / (double)chosen;
    for (size_t i = 0; i < pair->count; i++) {
        double distance = minus(samples[i].time_ns, samples[0].time_ns) - middle;
        squares += i < chosen ? distance * distance : 0;
        farthest = fmax(farthest, distance * distance);
    }
    return 1 / (double)chosen + (squares > 0 ? farthest / squares : 0);
}

static struct fit fit_pair(struct host_pair *pair)
{
    /* Short collectives are best, because their last hop is short, too. */
    qsort(pair->samples, pair->count, sizeof *pair->samples, compare_shortest);
    size_t count = pair->count / 4 > FIT_SAMPLES_MIN ? pair->count / 4 : FIT_SAMPLES_MIN;
    count = count < pair->count ? count : pair->count;
    count = count < FIT_SAMPLES_MAX ? count : FIT_SAMPLES_MAX;
    struct fit fit = {.origin_ns = pair->samples[0].time_ns};
    double *values = xcalloc(count, sizeof *values);
    if (count >= FIT_SAMPLES_MIN)
        fit.drift = slope_of(pair->samples, count);
    for (size_t i = 0; i < count; i++)
        values[i] =
            pair->samples[i].difference_ns - fit.drift * minus(pair->samples[i].time_ns, fit.origin_ns);
    fit.offset_ns = sort_median(values, count); /* sorts them */
    double range = values[count - 1] - values[0];
    /* 1.48 MAD is the standard deviation of normal noise; the last hop is a part of it. Few samples say
     * little about their spread. */
    double deviation = 1.4826 * (1 + 2 / sqrt((double)count)) * sort_mad(values, count, fit.offset_ns);
    deviation *= sqrt(1 + (fit.drift != 0 ? leverage_of(pair, count) : 0));
    fit.uncertainty_ns = 2 * sqrt(deviation * deviation + 2.0 * GPU_CLOCK_NS * GPU_CLOCK_NS);
    if (count < FIT_SAMPLES_MIN) /* the clocks may drift by as much before and after */
        fit.uncertainty_ns = fmax(fit.uncertainty_ns, 2 * range);
    free(values);
    return fit;
}

/* Computes the clock of `to` from that of `from`, which is known, through the pair. All rows have the same
 * origin. */
static void extend(struct ranks_report *report, struct host_pair *pair, uint32_t from, uint32_t to)
{
    struct fit fit = fit_pair(pair);
    struct ranks_clock_row *known = &report->clocks[from], *row = &report->clocks[to];
    double sign = pair->first == from ? 1 : -1;
    double at_origin = fit.offset_ns + fit.drift * minus(known->origin_ns, fit.origin_ns);
    row->is_known = true;
    row->origin_ns = known->origin_ns;
    row->offset_ns = known->offset_ns + sign * at_origin;
    row->drift = known->drift + sign * fit.drift;
    row->uncertainty_ns = known->uncertainty_ns + fit.uncertainty_ns;
    row->samples = pair->seen;
    for (size_t i = 0; i < pair->count; i++) {
        const struct clock_sample *sample = &pair->samples[i];
        double offset = fit.offset_ns + fit.drift * minus(sample->time_ns, fit.origin_ns);
        row->contradictions +=
            offset < sample->low_ns - fit.uncertainty_ns || offset > sample->high_ns + fit.uncertainty_ns;
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const struct host_pair *x = a, *y = b;
    return ORDER(y->seen, x->seen);
}

/* Extends the known clocks by one host, through the pair with the most samples that joins a known and an
 * unknown clock. False: there is none. */
static bool extend_once(struct ranks *ranks, struct ranks_report *report)
{
    for (size_t i = 0; i < ranks->pair_count; i++) {
        struct host_pair *pair = &ranks->pairs[i];
        bool first = report->clocks[pair->first].is_known, second = report->clocks[pair->second].is_known;
        if (first == second || pair->count < HOST_SAMPLES_MIN)
            continue;
        extend(report, pair, first ? pair->first : pair->second, first ? pair->second : pair->first);
        return true;
    }
    return false;
}

void ranks_clocks_report(struct ranks *ranks, struct ranks_report *report)
{
    report->clocks = xcalloc(ranks->host_count + 1, sizeof *report->clocks);
    report->clock_count = ranks->host_count;
    for (size_t i = 0; i < ranks->host_count; i++)
        report->clocks[i].host = ranks->hosts[i].name;
    if (!ranks->host_count)
        return;
    report->clocks[0].is_known = true;
    report->clocks[0].origin_ns = ranks->pair_count ? UINT64_MAX : 0;
    for (size_t i = 0; i < ranks->pair_count; i++)
        for (size_t j = 0; j < ranks->pairs[i].count; j++)
            if (ranks->pairs[i].samples[j].time_ns < report->clocks[0].origin_ns)
                report->clocks[0].origin_ns = ranks->pairs[i].samples[j].time_ns;
    sort_array(ranks->pairs, ranks->pair_count, sizeof *ranks->pairs, compare_pairs);
    while (extend_once(ranks, report))
        ;
}
