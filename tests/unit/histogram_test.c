#include "model/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

static struct histogram *make(enum histogram_form form)
{
    struct histogram *made;
    assert_int_equal(histogram_create(form, &made), STATUS_OK);
    return made;
}

static void a_bound_belongs_to_the_bucket_below_it(void **state)
{
    (void)state;
    struct histogram *h = make(HISTOGRAM_EXPLICIT);
    histogram_add(h, 0);
    histogram_add(h, 1000);
    histogram_add(h, 1001);
    histogram_add(h, 10000000000ull);
    histogram_add(h, 10000000001ull);
    assert_int_equal(h->buckets[0], 2);
    assert_int_equal(h->buckets[1], 1);
    assert_int_equal(h->buckets[HISTOGRAM_BOUNDS - 1], 1);
    assert_int_equal(h->buckets[HISTOGRAM_BOUNDS], 1);
    assert_int_equal(h->count, 5);
    assert_int_equal(h->sum_ns, 2001 + 20000000001ull);
    assert_int_equal(h->min_ns, 0);
    assert_int_equal(h->max_ns, 10000000001ull);
    free(h);
}

/* By libm, which the code does without. */
static void expect_in_bucket(uint64_t ns)
{
    struct histogram *h = make(HISTOGRAM_EXPONENTIAL);
    histogram_add(h, ns);
    double at = log2((double)ns * 1e-9) * pow(2, h->scale);
    assert_int_equal(h->scale, HISTOGRAM_SCALE_MAX);
    assert_int_equal(h->used, 1);
    if (h->offset > at + 1e-6 || at > h->offset + 1 + 1e-6)
        fail_msg("%llu ns in bucket %d, not around %f", (unsigned long long)ns, h->offset, at);
    free(h);
}

static void an_exponential_bucket_holds_its_durations(void **state)
{
    (void)state;
    for (uint64_t ns = 1; ns < UINT64_MAX / 3; ns += ns / 7 + 1)
        expect_in_bucket(ns);
    expect_in_bucket(1000000000);
    expect_in_bucket(UINT64_MAX);
}

/* One second is 2^0: the upper bound of bucket -1. */
static void an_exponential_bound_belongs_to_the_bucket_below_it(void **state)
{
    (void)state;
    struct histogram *h = make(HISTOGRAM_EXPONENTIAL);
    histogram_add(h, 1000000000);
    assert_int_equal(h->offset, -1);
    histogram_add(h, 1000000001);
    assert_int_equal(h->used, 2);
    assert_int_equal(h->buckets[1], 1);
    free(h);
}

static uint64_t total(const struct histogram *h)
{
    uint64_t sum = h->zeros;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS_MAX; i++)
        sum += h->buckets[i];
    return sum;
}

static void the_scale_goes_down_until_all_fit(void **state)
{
    (void)state;
    struct histogram *h = make(HISTOGRAM_EXPONENTIAL);
    uint64_t values[400];
    unsigned count = 0;
    for (uint64_t ns = 1000; ns < 1000000000; ns += ns / 20)
        values[count++] = ns;
    for (unsigned i = 0; i < count; i++)
        histogram_add(h, values[i * 7919 % count]);
    assert_int_equal(total(h), count);
    assert_in_range(h->used, 80, HISTOGRAM_BUCKETS_MAX);
    assert_int_equal(h->scale, 3); /* 20 doublings in 160 buckets */
    for (unsigned b = 0; b < h->used; b++) {
        double low = exp2((double)(h->offset + (int32_t)b) / 8),
               high = exp2((double)(h->offset + (int32_t)b + 1) / 8);
        unsigned in = 0;
        for (unsigned i = 0; i < count; i++)
            in += (double)values[i] * 1e-9 > low && (double)values[i] * 1e-9 <= high;
        assert_int_equal(h->buckets[b], in);
    }
    free(h);
}

static void no_duration_is_too_short_or_too_long(void **state)
{
    (void)state;
    struct histogram *h = make(HISTOGRAM_EXPONENTIAL);
    histogram_add(h, 0);
    histogram_add(h, UINT64_MAX);
    histogram_add(h, 1);
    histogram_add(h, 1000);
    assert_int_equal(h->zeros, 1);
    assert_int_equal(total(h), 4);
    assert_int_equal(h->scale, 1);
    free(h);
}

static void what_is_reset_begins_anew(void **state)
{
    (void)state;
    struct histogram *h = make(HISTOGRAM_EXPONENTIAL);
    struct exemplar *exemplar = histogram_add(h, 1);
    exemplar->time_ns = 1;
    histogram_add(h, UINT64_MAX);
    histogram_forget_exemplars(h);
    assert_int_equal(exemplar->time_ns, 0);
    assert_int_equal(h->count, 2);
    histogram_reset(h);
    assert_int_equal(total(h), 0);
    assert_int_equal(h->count, 0);
    histogram_add(h, 5000);
    assert_int_equal(h->min_ns, 5000);
    assert_int_equal(h->max_ns, 5000);
    assert_int_equal(h->scale, HISTOGRAM_SCALE_MAX);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_belongs_to_the_bucket_below_it),
        cmocka_unit_test(an_exponential_bucket_holds_its_durations),
        cmocka_unit_test(an_exponential_bound_belongs_to_the_bucket_below_it),
        cmocka_unit_test(the_scale_goes_down_until_all_fit),
        cmocka_unit_test(no_duration_is_too_short_or_too_long),
        cmocka_unit_test(what_is_reset_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
