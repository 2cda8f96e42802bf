#include "model/metrics/histogram.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

static struct histogram *make_shaped(const struct histogram_shape *shape)
{
    struct histogram *made;
    assert_int_equal(histogram_create(&shape, 1, &made), STATUS_OK);
    return made;
}

static struct histogram *make(enum histogram_form form)
{
    return make_shaped(form == HISTOGRAM_EXPLICIT ? &histogram_default_explicit
                                                  : &histogram_default_exponential);
}

static void test_a_bound_belongs_to_the_bucket_below_it(void **state)
{
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

/* With libm, which the code does not use. */
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

static void test_an_exponential_bucket_holds_its_durations(void **state)
{
    for (uint64_t ns = 1; ns < UINT64_MAX / 3; ns += ns / 7 + 1)
        expect_in_bucket(ns);
    expect_in_bucket(1000000000);
    expect_in_bucket(UINT64_MAX);
}

/* One second is 2^0: the upper bound of bucket -1. */
static void test_an_exponential_bound_belongs_to_the_bucket_below_it(void **state)
{
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

static void test_the_scale_goes_down_until_all_fit(void **state)
{
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

static void test_no_duration_is_too_short_or_too_long(void **state)
{
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

static void test_what_is_reset_begins_anew(void **state)
{
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

static struct histogram_shape shape_of(const double *bounds, size_t count)
{
    struct histogram_shape shape = histogram_default_explicit;
    assert_int_equal(histogram_set_bounds(&shape, bounds, count), STATUS_OK);
    return shape;
}

static void test_bounds_of_ones_own_are_seconds(void **state)
{
    static const double bounds[] = {-1, 0, 1.5e-9, 0.1, 0.3, 1e300};
    struct histogram_shape shape = shape_of(bounds, 6);
    struct histogram *h = make_shaped(&shape);
    static const uint64_t values[] = {0, 1, 2, 100000000, 100000001, 300000000, 300000001, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        histogram_add(h, values[i]);
    static const uint64_t expected[] = {0, 1, 1, 2, 2, 1, 1};
    assert_memory_equal(h->buckets, expected, sizeof expected);
    assert_int_equal(h->count, 8);
    free(h);
}

static void test_all_decimal_bounds_are_met_to_the_ns(void **state)
{
    for (int64_t ns = 1; ns < 4000000000000000; ns = ns * 3 + 1) {
        char text[40];
        double bound;
        snprintf(text, sizeof text, "%lld.%09lld", (long long)(ns / 1000000000),
                 (long long)(ns % 1000000000));
        bound = strtod(text, NULL);
        assert_int_equal(shape_of(&bound, 1).limits_ns[0], ns);
    }
}

static void test_bounds_that_do_not_rise_are_refused(void **state)
{
    struct histogram_shape shape = histogram_default_explicit;
    double many[HISTOGRAM_BOUNDS_MAX + 1];
    for (int i = 0; i <= HISTOGRAM_BOUNDS_MAX; i++)
        many[i] = i;
    assert_int_equal(histogram_set_bounds(&shape, many, HISTOGRAM_BOUNDS_MAX), STATUS_OK);
    assert_int_equal(histogram_set_bounds(&shape, many, HISTOGRAM_BOUNDS_MAX + 1), STATUS_INVALID);
    assert_int_equal(histogram_set_bounds(&shape, (double[]){1, 1}, 2), STATUS_INVALID);
    assert_int_equal(histogram_set_bounds(&shape, (double[]){(double)NAN}, 1), STATUS_INVALID);
    assert_int_equal(histogram_set_bounds(&shape, (double[]){(double)INFINITY}, 1), STATUS_INVALID);
    assert_int_equal(histogram_set_bounds(&shape, NULL, 0), STATUS_OK);
}

/* In the order of their buckets, each within the available space. */
static void test_more_buckets_than_exemplars_share_them(void **state)
{
    double many[HISTOGRAM_BOUNDS_MAX];
    for (int i = 0; i < HISTOGRAM_BOUNDS_MAX; i++)
        many[i] = (i + 1) * 1e-6;
    struct histogram_shape shape = shape_of(many, HISTOGRAM_BOUNDS_MAX);
    struct histogram *h = make_shaped(&shape);
    const struct exemplar *before = h->exemplars;
    for (uint64_t us = 1; us <= HISTOGRAM_BOUNDS_MAX + 1; us++) {
        const struct exemplar *at = histogram_add(h, us * 1000);
        assert_true(at == before || at == before + 1);
        before = at;
    }
    assert_ptr_equal(before, &h->exemplars[HISTOGRAM_EXEMPLARS - 1]);
    free(h);
}

static void test_a_small_exponential_one_keeps_its_size(void **state)
{
    for (uint16_t size = 2; size < 40; size++) {
        struct histogram_shape shape = histogram_default_exponential;
        shape.buckets_max = size;
        shape.scale_max = 2;
        struct histogram *h = make_shaped(&shape);
        assert_int_equal(h->scale, 2);
        uint64_t count = 0;
        for (uint64_t ns = 1; ns < UINT64_MAX / 3; ns += ns / 2 + 1, count++)
            histogram_add(h, ns);
        histogram_add(h, UINT64_MAX);
        assert_in_range(h->used, 2, size);
        assert_int_equal(total(h), count + 1);
        free(h);
    }
}

/* Merging gives the same result as counting into one histogram. */
static void expect_merged(const struct histogram_shape *shape, uint64_t seed)
{
    struct histogram *parts[2] = {make_shaped(shape), make_shaped(shape)}, *all = make_shaped(shape);
    for (unsigned i = 0; i < 300; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t ns = (seed >> 20) % (i % 2 ? 5000 : 5000000000);
        histogram_add(parts[seed >> 63], ns);
        histogram_add(all, ns);
    }
    histogram_merge(parts[0], parts[1]);
    assert_int_equal(parts[0]->count, all->count);
    assert_int_equal(parts[0]->sum_ns, all->sum_ns);
    assert_int_equal(parts[0]->min_ns, all->min_ns);
    assert_int_equal(parts[0]->max_ns, all->max_ns);
    assert_int_equal(parts[0]->zeros, all->zeros);
    assert_int_equal(parts[0]->scale, all->scale);
    assert_int_equal(parts[0]->used, all->used);
    assert_int_equal(parts[0]->offset, all->offset);
    assert_memory_equal(parts[0]->buckets, all->buckets, sizeof all->buckets);
    free(all);
    free(parts[0]);
    free(parts[1]);
}

static void test_merging_is_counting_together(void **state)
{
    struct histogram_shape small = histogram_default_exponential;
    small.buckets_max = 7;
    for (uint64_t seed = 0; seed < 200; seed++) {
        expect_merged(&histogram_default_explicit, seed);
        expect_merged(&histogram_default_exponential, seed);
        expect_merged(&small, seed);
    }
}

static void test_merging_into_an_empty_one_is_a_copy(void **state)
{
    struct histogram *from = make(HISTOGRAM_EXPONENTIAL), *to = make(HISTOGRAM_EXPONENTIAL);
    histogram_merge(to, from);
    assert_int_equal(to->count, 0);
    assert_int_equal(to->min_ns, 0);
    histogram_add(from, 1000)->time_ns = 5;
    histogram_add(from, UINT64_MAX);
    histogram_merge(to, from);
    assert_memory_equal(to, from, sizeof *to);
    free(from);
    free(to);
}

static void test_exemplars_with_a_span_stay(void **state)
{
    struct histogram *to = make(HISTOGRAM_EXPLICIT), *from = make(HISTOGRAM_EXPLICIT);
    histogram_add(from, 1);
    to->exemplars[0] = (struct exemplar){.time_ns = 5, .span_id = {1}};
    from->exemplars[0] = (struct exemplar){.time_ns = 9};
    to->exemplars[1] = (struct exemplar){.time_ns = 9};
    from->exemplars[1] = (struct exemplar){.time_ns = 5, .span_id = {1}};
    to->exemplars[2] = (struct exemplar){.time_ns = 5};
    from->exemplars[2] = (struct exemplar){.time_ns = 9};
    to->exemplars[3] = (struct exemplar){.time_ns = 9};
    from->exemplars[3] = (struct exemplar){.time_ns = 5};
    to->exemplars[4] = (struct exemplar){.time_ns = 9};
    histogram_merge(to, from);
    assert_int_equal(to->exemplars[0].time_ns, 5);
    assert_int_equal(to->exemplars[1].time_ns, 5);
    assert_int_equal(to->exemplars[2].time_ns, 9);
    assert_int_equal(to->exemplars[3].time_ns, 9);
    assert_int_equal(to->exemplars[4].time_ns, 9);
    free(to);
    free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bound_belongs_to_the_bucket_below_it),
        cmocka_unit_test(test_an_exponential_bucket_holds_its_durations),
        cmocka_unit_test(test_an_exponential_bound_belongs_to_the_bucket_below_it),
        cmocka_unit_test(test_the_scale_goes_down_until_all_fit),
        cmocka_unit_test(test_no_duration_is_too_short_or_too_long),
        cmocka_unit_test(test_what_is_reset_begins_anew),
        cmocka_unit_test(test_bounds_of_ones_own_are_seconds),
        cmocka_unit_test(test_all_decimal_bounds_are_met_to_the_ns),
        cmocka_unit_test(test_bounds_that_do_not_rise_are_refused),
        cmocka_unit_test(test_more_buckets_than_exemplars_share_them),
        cmocka_unit_test(test_a_small_exponential_one_keeps_its_size),
        cmocka_unit_test(test_merging_is_counting_together),
        cmocka_unit_test(test_merging_into_an_empty_one_is_a_copy),
        cmocka_unit_test(test_exemplars_with_a_span_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
