#include "analysis/stat/base/samples.h"

#include "cli/util/int_map.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>

#define CAPACITY_MIN  16 /* a table of `--by` has thousands of these */
#define BITS_AT_FIRST 7  /* 64 values for each power of two: at most 0.8 % from the middle of one */
#define BITS_MIN      2
#define ROUNDED_MIN   1024 /* a table with fewer values is not rounded to leave room for others */

size_t samples_slots_max = SAMPLES_SLOTS_MAX;
static size_t slots; /* slots of all tables together */

/* Returns the middle of all values with the same first bits. */
static uint64_t rounded(uint64_t value, unsigned bits)
{
    unsigned length = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    if (!bits || length <= bits)
        return value;
    unsigned lost = length - bits;
    return (value >> lost << lost) | (1ull << (lost - 1));
}

static struct sample *slot_of(const struct samples *samples, uint32_t group, uint64_t value)
{
    size_t mask = samples->capacity - 1;
    size_t slot = (size_t)int_map_mix(value ^ (uint64_t)group << 40) & mask;
    struct sample *item = &samples->items[slot];
    while (item->count && (item->value != value || item->group != group || item->count == UINT32_MAX)) {
        slot = (slot + 1) & mask;
        item = &samples->items[slot];
    }
    return item;
}

static void count(struct samples *samples, uint32_t group, uint64_t value, uint32_t times)
{
    while (times) {
        struct sample *item = slot_of(samples, group, value);
        uint32_t room = UINT32_MAX - item->count, taken = times < room ? times : room;
        samples->count += item->count == 0;
        *item = (struct sample){value, group, item->count + taken};
        times -= taken;
    }
}

/* Counts everything again in a table of another size, or with shorter values. */
static void rebuild(struct samples *samples, size_t capacity)
{
    struct sample *old = samples->items;
    size_t old_capacity = samples->capacity;
    samples->items = xcalloc(capacity, sizeof *samples->items);
    samples->capacity = capacity;
    samples->count = 0;
    slots += capacity - old_capacity;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].count)
            count(samples, old[i].group, rounded(old[i].value, samples->bits), old[i].count);
    }
    free(old);
}

static void round_more(struct samples *samples)
{
    samples->bits = samples->bits ? samples->bits - 1 : BITS_AT_FIRST;
    rebuild(samples, samples->capacity);
}

static bool is_full(const struct samples *samples)
{
    return samples->count >= samples->capacity / 4 * 3;
}

static void make_room(struct samples *samples)
{
    size_t distinct_max = samples->distinct_max ? samples->distinct_max : SAMPLES_DISTINCT_MAX;
    while (samples->count >= distinct_max && samples->bits != BITS_MIN)
        round_more(samples);
    if (is_full(samples) && !samples->bits && samples->count >= ROUNDED_MIN && slots >= samples_slots_max) {
        round_more(samples);
        size_t capacity = samples->capacity; /* fewer values need fewer slots */
        while (capacity > CAPACITY_MIN && samples->count < capacity / 8 * 3)
            capacity /= 2;
        if (capacity < samples->capacity)
            rebuild(samples, capacity);
    }
    if (is_full(samples))
        rebuild(samples, samples->capacity ? samples->capacity * 2 : CAPACITY_MIN);
}

static void sum_up(struct samples *samples, uint32_t group, uint64_t value)
{
    if (group >= samples->sum_count) {
        samples->sums =
            xgrow(samples->sums, &samples->sum_capacity, (size_t)group + 1, sizeof *samples->sums);
        for (; samples->sum_count <= group; samples->sum_count++)
            samples->sums[samples->sum_count] = (struct spread){.min = UINT64_MAX};
    }
    struct spread *sum = &samples->sums[group];
    sum->count++;
    sum->total += value;
    sum->min = value < sum->min ? value : sum->min;
    sum->max = value > sum->max ? value : sum->max;
}

void samples_add(struct samples *samples, uint32_t group, uint64_t value)
{
    make_room(samples);
    sum_up(samples, group, value);
    count(samples, group, rounded(value, samples->bits), 1);
}

double samples_error(const struct samples *samples)
{
    return samples->bits ? 1 / (double)(1u << samples->bits) : 0;
}

uint64_t samples_total(const struct samples *samples)
{
    uint64_t total = 0;
    for (size_t i = 0; i < samples->sum_count; i++)
        total += samples->sums[i].total;
    return total;
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int order = ORDER(x->group, y->group);
    return order ? order : ORDER(x->value, y->value);
}

void samples_sort(struct samples *samples)
{
    size_t kept = 0;
    for (size_t i = 0; i < samples->capacity; i++) {
        if (samples->items[i].count)
            samples->items[kept++] = samples->items[i];
    }
    slots -= samples->capacity - kept;
    samples->capacity = kept;
    sort_array(samples->items, kept, sizeof *samples->items, compare_samples);
}

static uint64_t value_at(const struct spread *sum, const struct sample *items, uint64_t rank)
{
    uint64_t before = items->count;
    for (; before < rank; before += items->count)
        items++;
    if (items->value < sum->min) /* the middle of rounded values may lie outside */
        return sum->min;
    return items->value > sum->max ? sum->max : items->value;
}

int samples_next(const struct samples *samples, size_t *at, struct spread *spread)
{
    if (*at >= samples->count)
        return 0;
    const struct sample *first = samples->items + *at;
    *spread = samples->sums[first->group];
    spread->group = first->group;
    spread->median = value_at(spread, first, (spread->count * 50 + 99) / 100);
    spread->p99 = value_at(spread, first, (spread->count * 99 + 99) / 100);
    while (*at < samples->count && samples->items[*at].group == spread->group)
        ++*at;
    return 1;
}

struct spread samples_spread(const struct samples *samples, uint32_t group)
{
    size_t low = 0, high = samples->count;
    struct spread spread;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (samples->items[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    if (samples_next(samples, &low, &spread) && spread.group == group)
        return spread;
    return (struct spread){.group = group};
}

uint64_t samples_median(const struct samples *samples, uint32_t group)
{
    struct samples own = {.sums = samples->sums, .sum_count = samples->sum_count};
    own.items = xcalloc(samples->capacity + 1, sizeof *own.items);
    for (size_t i = 0; i < samples->capacity; i++) {
        if (samples->items[i].count && samples->items[i].group == group)
            own.items[own.count++] = samples->items[i];
    }
    own.capacity = own.count; /* the copy is not counted in `slots`, because this function frees it */
    samples_sort(&own);
    uint64_t median = samples_spread(&own, group).median;
    free(own.items);
    return median;
}

void samples_deinit(struct samples *samples)
{
    slots -= samples->capacity;
    free(samples->items);
    free(samples->sums);
    *samples = (struct samples){0};
}
