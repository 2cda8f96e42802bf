#include "cli/stat/samples.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

void samples_add(struct samples *samples, uint32_t group, uint64_t value)
{
    samples->items = xgrow(samples->items, &samples->capacity, samples->count + 1, sizeof *samples->items);
    samples->items[samples->count++] = (struct sample){group, value};
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

void samples_sort(struct samples *samples)
{
    if (samples->count > 1)
        qsort(samples->items, samples->count, sizeof *samples->items, compare_samples);
}

static uint64_t rank(const struct sample *items, size_t count, unsigned percent)
{
    return items[(count * percent + 99) / 100 - 1].value;
}

int samples_next(const struct samples *samples, size_t *at, struct spread *spread)
{
    if (*at >= samples->count)
        return 0;
    const struct sample *first = samples->items + *at;
    size_t count = 0;
    uint64_t total = 0;
    while (*at + count < samples->count && first[count].group == first->group)
        total += first[count++].value;
    *spread = (struct spread){
        first->group,          count, total, first->value, rank(first, count, 50), rank(first, count, 99),
        first[count - 1].value};
    *at += count;
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

void samples_deinit(struct samples *samples)
{
    free(samples->items);
    *samples = (struct samples){0};
}
