#include "model/metrics/histogram.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEPS        (1 << HISTOGRAM_SCALE_MAX) /* buckets between a value and its double, at that scale */
#define DOUBLE_BIAS  1023
#define DOUBLE_BITS  52
#define NS_IN_SECOND 1e-9

#define US 1000ll
#define DEFAULT_LIMITS(X)                                                                                    \
    X(1 * US), X(2 * US), X(5 * US), X(10 * US), X(20 * US), X(50 * US), X(100 * US), X(200 * US),           \
        X(500 * US), X(1000 * US), X(2000 * US), X(5000 * US), X(10000 * US), X(20000 * US), X(50000 * US),  \
        X(100000 * US), X(200000 * US), X(500000 * US), X(1000000 * US), X(2000000 * US), X(5000000 * US),   \
        X(10000000 * US)
#define AS_NS(ns)      (ns)
#define AS_SECONDS(ns) ((double)(ns) / 1e9)

/* As OpenTelemetry's conventions for generative AI recommend. */
#define MS 1000000ll
#define REQUEST_LIMITS(X)                                                                                    \
    X(10 * MS), X(20 * MS), X(40 * MS), X(80 * MS), X(160 * MS), X(320 * MS), X(640 * MS), X(1280 * MS),     \
        X(2560 * MS), X(5120 * MS), X(10240 * MS), X(20480 * MS), X(40960 * MS), X(81920 * MS)
#define FIRST_TOKEN_LIMITS(X)                                                                                \
    X(1 * MS), X(5 * MS), X(10 * MS), X(20 * MS), X(40 * MS), X(60 * MS), X(80 * MS), X(100 * MS),           \
        X(250 * MS), X(500 * MS), X(750 * MS), X(1000 * MS), X(2500 * MS), X(5000 * MS), X(7500 * MS),       \
        X(10000 * MS)
#define PER_TOKEN_LIMITS(X)                                                                                  \
    X(10 * MS), X(25 * MS), X(50 * MS), X(75 * MS), X(100 * MS), X(150 * MS), X(200 * MS), X(300 * MS),      \
        X(400 * MS), X(500 * MS), X(750 * MS), X(1000 * MS), X(2500 * MS)

#define EXPLICIT(LIMITS)                                                                                     \
    {                                                                                                        \
        .form = HISTOGRAM_EXPLICIT, .records_min_max = true,                                                 \
        .bound_count = sizeof(double[]){LIMITS(AS_SECONDS)} / sizeof(double),                                \
        .bounds = {LIMITS(AS_SECONDS)}, .limits_ns = {                                                       \
            LIMITS(AS_NS)                                                                                    \
        }                                                                                                    \
    }

const struct histogram_shape histogram_default_explicit = EXPLICIT(DEFAULT_LIMITS);
const struct histogram_shape histogram_of_requests = EXPLICIT(REQUEST_LIMITS);
const struct histogram_shape histogram_of_first_tokens = EXPLICIT(FIRST_TOKEN_LIMITS);
const struct histogram_shape histogram_per_token = EXPLICIT(PER_TOKEN_LIMITS);
const struct histogram_shape histogram_default_exponential = {.form = HISTOGRAM_EXPONENTIAL,
                                                              .records_min_max = true,
                                                              .scale_max = HISTOGRAM_SCALE_MAX,
                                                              .buckets_max = HISTOGRAM_BUCKETS_MAX};

/* 2^(i / STEPS): bounds between 1 and 2; and for each step of the mantissa the last bound at or below it.
 * Without libm, because the agent's library links only libc. */
static double powers[STEPS + 1];
static uint16_t guesses[STEPS];

static double square_root(double x)
{
    double root = x;
    for (int i = 0; i < 8; i++) /* Newton's method doubles the digits */
        root = (root + x / root) / 2;
    return root;
}

/* Runs once, from any thread. */
static void make_bounds(void)
{
    double roots[HISTOGRAM_SCALE_MAX], root = 2;
    for (int bit = HISTOGRAM_SCALE_MAX - 1; bit >= 0; bit--)
        roots[bit] = root = square_root(root);
    for (unsigned i = 0; i < STEPS; i++) {
        powers[i] = 1;
        for (int bit = 0; bit < HISTOGRAM_SCALE_MAX; bit++)
            powers[i] *= i >> bit & 1 ? roots[bit] : 1;
    }
    powers[STEPS] = 2;
    for (unsigned i = 0, at = 0; i < STEPS; i++) {
        while (powers[at + 1] <= 1 + (double)i / STEPS)
            at++;
        guesses[i] = (uint16_t)at;
    }
}

/* The same result as with durations in seconds as doubles, which distinguish ns up to half a year. */
static int64_t limit_of(double bound)
{
    double ns = bound * 1e9;
    if (ns < 0)
        return -1;
    if (ns >= (double)INT64_MAX)
        return INT64_MAX;
    int64_t limit = (int64_t)ns;
    while ((double)limit / 1e9 > bound)
        limit--;
    return limit + ((double)(limit + 1) / 1e9 <= bound);
}

enum status histogram_set_bounds(struct histogram_shape *shape, const double *bounds, size_t count)
{
    if (count > HISTOGRAM_BOUNDS_MAX)
        return STATUS_INVALID;
    for (size_t i = 0; i < count; i++) {
        if (!(bounds[i] - bounds[i] == 0) || (i && bounds[i] <= bounds[i - 1])) /* NaN or infinite */
            return STATUS_INVALID;
        shape->bounds[i] = bounds[i];
        shape->limits_ns[i] = limit_of(bounds[i]);
    }
    shape->bound_count = (uint16_t)count;
    return STATUS_OK;
}

enum status histogram_create(const struct histogram_shape *const *shapes, unsigned count,
                             struct histogram **histogram)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct histogram *first = NULL, **end = &first;
    pthread_once(&once, make_bounds);
    for (unsigned i = 0; i < count; i++, end = &(*end)->next) {
        *end = calloc(1, sizeof **end);
        if (!*end) {
            histogram_destroy(first);
            return STATUS_NO_MEMORY;
        }
        (*end)->shape = shapes[i];
    }
    histogram_reset(first);
    *histogram = first;
    return STATUS_OK;
}

void histogram_destroy(struct histogram *histogram)
{
    while (histogram) {
        struct histogram *next = histogram->next;
        free(histogram);
        histogram = next;
    }
}

void histogram_reset(struct histogram *histogram)
{
    for (; histogram; histogram = histogram->next)
        *histogram = (struct histogram){
            .shape = histogram->shape, .next = histogram->next, .scale = histogram->shape->scale_max};
}

void histogram_exemplify(struct exemplar *exemplar, uint64_t value_ns, uint64_t time_ns)
{
    if (!exemplar_has_span(exemplar))
        *exemplar = (struct exemplar){.time_ns = time_ns, .value_ns = value_ns};
}

void histogram_forget_exemplars(struct histogram *histogram)
{
    for (; histogram; histogram = histogram->next)
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
    while (mantissa > powers[at + 1])
        at++;
    return exponent * STEPS + (int32_t)at - (mantissa <= powers[at]);
}

/* Rounds down, also below zero. */
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

/* Whether this bucket and those in use exceed the maximum. */
static bool is_too_wide(const struct histogram *histogram, int32_t at)
{
    int32_t first = at < histogram->offset ? at : histogram->offset;
    int32_t last = histogram->offset + histogram->used - 1;
    return (at > last ? at : last) - first >= histogram->shape->buckets_max;
}

/* Adds to bucket `at` of `scale`, which is at least the histogram's. Unused buckets are 0. */
static void add_exponential(struct histogram *histogram, int32_t at, int8_t scale, uint64_t count)
{
    for (; scale > histogram->scale; scale--)
        at = halve(at);
    if (!histogram->used) {
        histogram->offset = at;
        histogram->used = 1;
    }
    for (; is_too_wide(histogram, at); at = halve(at))
        halve_scale(histogram);
    if (at < histogram->offset) {
        uint32_t more = (uint32_t)(histogram->offset - at);
        memmove(histogram->buckets + more, histogram->buckets, histogram->used * sizeof *histogram->buckets);
        memset(histogram->buckets, 0, more * sizeof *histogram->buckets);
        histogram->offset = at;
        histogram->used = (uint16_t)(histogram->used + more);
    } else if (at >= histogram->offset + histogram->used) {
        histogram->used = (uint16_t)(at - histogram->offset + 1);
    }
    histogram->buckets[at - histogram->offset] += count;
}

static uint32_t explicit_bucket(const struct histogram_shape *shape, uint64_t duration_ns)
{
    uint32_t low = 0, high = shape->bound_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (shape->limits_ns[middle] >= 0 && duration_ns <= (uint64_t)shape->limits_ns[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Adjacent buckets share an exemplar if there are more buckets than exemplars. */
static struct exemplar *exemplar_of(struct histogram *histogram, uint32_t bucket, uint64_t duration_ns)
{
    uint32_t count = histogram->shape->bound_count + 1u;
    if (histogram->shape->form == HISTOGRAM_EXPONENTIAL)
        bucket = explicit_bucket(&histogram_default_explicit, duration_ns);
    else if (count > HISTOGRAM_EXEMPLARS)
        bucket = bucket * HISTOGRAM_EXEMPLARS / count;
    return &histogram->exemplars[bucket];
}

struct exemplar *histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
    uint32_t bucket = 0;
    if (!histogram->count || duration_ns < histogram->min_ns)
        histogram->min_ns = duration_ns;
    if (duration_ns > histogram->max_ns)
        histogram->max_ns = duration_ns;
    histogram->count++;
    histogram->sum_ns += duration_ns;
    if (histogram->shape->form == HISTOGRAM_EXPLICIT)
        histogram->buckets[bucket = explicit_bucket(histogram->shape, duration_ns)]++;
    else if (duration_ns == 0)
        histogram->zeros++;
    else
        add_exponential(histogram, finest_bucket(duration_ns), HISTOGRAM_SCALE_MAX, 1);
    return exemplar_of(histogram, bucket, duration_ns);
}

static void merge_exemplars(struct histogram *to, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_EXEMPLARS; i++) {
        struct exemplar *old = &to->exemplars[i];
        const struct exemplar *new = &from->exemplars[i];
        bool has_span = exemplar_has_span(old), gets_span = exemplar_has_span(new);
        if (new->time_ns && (has_span == gets_span ? new->time_ns >= old->time_ns : gets_span))
            *old = *new;
    }
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    if (!from->count)
        return;
    if (!to->count || from->min_ns < to->min_ns)
        to->min_ns = from->min_ns;
    if (from->max_ns > to->max_ns)
        to->max_ns = from->max_ns;
    to->count += from->count;
    to->sum_ns += from->sum_ns;
    to->zeros += from->zeros;
    while (from->shape->form == HISTOGRAM_EXPONENTIAL && to->scale > from->scale)
        to->used ? halve_scale(to) : (void)to->scale--; /* nothing to halve without buckets */
    for (int32_t i = 0; i < HISTOGRAM_BUCKETS_MAX; i++) {
        if (from->shape->form == HISTOGRAM_EXPLICIT)
            to->buckets[i] += from->buckets[i];
        else if (from->buckets[i])
            add_exponential(to, from->offset + i, from->scale, from->buckets[i]);
    }
    merge_exemplars(to, from);
}
