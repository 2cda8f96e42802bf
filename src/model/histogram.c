#include "model/histogram.h"

#include <stdlib.h>
#include <string.h>

#define STEPS        (1 << HISTOGRAM_SCALE_MAX) /* buckets between a value and its double, at that scale */
#define DOUBLE_BIAS  1023
#define DOUBLE_BITS  52
#define NS_IN_SECOND 1e-9

/* 2^(i / STEPS): bounds between 1 and 2; and for each step of the mantissa the last bound at or below it. No
 * libm: the agent's library needs libc alone. */
static double bounds[STEPS + 1];
static uint16_t guesses[STEPS];

static double square_root(double x)
{
    double root = x;
    for (int i = 0; i < 8; i++) /* Newton's: twice the digits each time */
        root = (root + x / root) / 2;
    return root;
}

static void make_bounds(void)
{
    double roots[HISTOGRAM_SCALE_MAX], root = 2;
    for (int bit = HISTOGRAM_SCALE_MAX - 1; bit >= 0; bit--)
        roots[bit] = root = square_root(root);
    for (unsigned i = 0; i < STEPS; i++) {
        bounds[i] = 1;
        for (int bit = 0; bit < HISTOGRAM_SCALE_MAX; bit++)
            bounds[i] *= i >> bit & 1 ? roots[bit] : 1;
    }
    bounds[STEPS] = 2;
    for (unsigned i = 0, at = 0; i < STEPS; i++) {
        while (bounds[at + 1] <= 1 + (double)i / STEPS)
            at++;
        guesses[i] = (uint16_t)at;
    }
}

enum status histogram_create(enum histogram_form form, struct histogram **histogram)
{
    struct histogram *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    if (bounds[STEPS] == 0)
        make_bounds();
    made->form = (uint8_t)form;
    histogram_reset(made);
    *histogram = made;
    return STATUS_OK;
}

void histogram_reset(struct histogram *histogram)
{
    uint8_t form = histogram->form;
    memset(histogram, 0, sizeof *histogram);
    histogram->form = form;
    histogram->scale = HISTOGRAM_SCALE_MAX;
}

void histogram_exemplify(struct exemplar *exemplar, uint64_t value_ns, uint64_t time_ns)
{
    if (!exemplar_has_span(exemplar))
        *exemplar = (struct exemplar){.time_ns = time_ns, .value_ns = value_ns};
}

void histogram_forget_exemplars(struct histogram *histogram)
{
    memset(histogram->exemplars, 0, sizeof histogram->exemplars);
}

/* The bucket at the finest scale; a bound belongs to the bucket below it. */
static int32_t finest_bucket(uint64_t duration_ns)
{
    double seconds = (double)duration_ns * NS_IN_SECOND;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    int32_t exponent = (int32_t)(bits >> DOUBLE_BITS) - DOUBLE_BIAS;
    uint32_t at = guesses[bits >> (DOUBLE_BITS - HISTOGRAM_SCALE_MAX) & (STEPS - 1)];
    bits = (bits & ((1ull << DOUBLE_BITS) - 1)) | (uint64_t)DOUBLE_BIAS << DOUBLE_BITS;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    while (mantissa > bounds[at + 1])
        at++;
    return exponent * STEPS + (int32_t)at - (mantissa <= bounds[at]);
}

/* Rounds down, for numbers below zero, too. */
static int32_t halve(int32_t at)
{
    return (at - (at & 1)) / 2;
}

static void halve_scale(struct histogram *histogram)
{
    uint64_t merged[HISTOGRAM_BUCKETS_MAX] = {0};
    int32_t offset = halve(histogram->offset), last = halve(histogram->offset + histogram->used - 1);
    for (int32_t i = 0; i < histogram->used; i++)
        merged[halve(histogram->offset + i) - offset] += histogram->buckets[i];
    memcpy(histogram->buckets, merged, sizeof merged);
    histogram->offset = offset;
    histogram->used = (uint16_t)(last - offset + 1);
    histogram->scale--;
}

/* Buckets beyond those in use are 0. */
static void add_exponential(struct histogram *histogram, uint64_t duration_ns)
{
    int32_t at = finest_bucket(duration_ns);
    for (int8_t scale = HISTOGRAM_SCALE_MAX; scale > histogram->scale; scale--)
        at = halve(at);
    if (!histogram->used) {
        histogram->offset = at;
        histogram->used = 1;
    }
    for (;;) {
        int32_t first = at < histogram->offset ? at : histogram->offset;
        int32_t last = histogram->offset + histogram->used - 1;
        last = at > last ? at : last;
        if (last - first < HISTOGRAM_BUCKETS_MAX)
            break;
        halve_scale(histogram);
        at = halve(at);
    }
    if (at < histogram->offset) {
        uint32_t more = (uint32_t)(histogram->offset - at);
        memmove(histogram->buckets + more, histogram->buckets, histogram->used * sizeof *histogram->buckets);
        memset(histogram->buckets, 0, more * sizeof *histogram->buckets);
        histogram->offset = at;
        histogram->used = (uint16_t)(histogram->used + more);
    } else if (at >= histogram->offset + histogram->used) {
        histogram->used = (uint16_t)(at - histogram->offset + 1);
    }
    histogram->buckets[at - histogram->offset]++;
}

static uint32_t explicit_bucket(uint64_t duration_ns)
{
    uint32_t low = 0, high = HISTOGRAM_BOUNDS;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (duration_ns <= histogram_bounds_ns[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct exemplar *histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
    uint32_t bucket = explicit_bucket(duration_ns);
    if (!histogram->count || duration_ns < histogram->min_ns)
        histogram->min_ns = duration_ns;
    if (duration_ns > histogram->max_ns)
        histogram->max_ns = duration_ns;
    histogram->count++;
    histogram->sum_ns += duration_ns;
    if (histogram->form == HISTOGRAM_EXPLICIT)
        histogram->buckets[bucket]++;
    else if (duration_ns == 0)
        histogram->zeros++;
    else
        add_exponential(histogram, duration_ns);
    return &histogram->exemplars[bucket];
}
