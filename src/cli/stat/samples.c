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

void stretches_add(struct stretches *stretches, uint64_t start_ns, uint64_t end_ns, uint32_t span)
{
    stretches->items =
        xgrow(stretches->items, &stretches->capacity, stretches->count + 1, sizeof *stretches->items);
    stretches->items[stretches->count++] = (struct stretch){start_ns, end_ns, span};
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void stretches_sort(struct stretches *stretches)
{
    if (stretches->count > 1)
        qsort(stretches->items, stretches->count, sizeof *stretches->items, compare_stretches);
}

uint64_t stretches_merge(struct stretches *stretches)
{
    size_t kept = 0;
    uint64_t covered = 0;
    stretches_sort(stretches);
    for (size_t i = 0; i < stretches->count; i++) {
        struct stretch *last = kept ? &stretches->items[kept - 1] : NULL, next = stretches->items[i];
        if (!last || next.start_ns > last->end_ns)
            stretches->items[kept++] = next;
        else if (next.end_ns > last->end_ns)
            last->end_ns = next.end_ns;
    }
    stretches->count = kept;
    for (size_t i = 0; i < kept; i++)
        covered += stretches->items[i].end_ns - stretches->items[i].start_ns;
    return covered;
}

uint64_t stretches_common(const struct stretches *a, const struct stretches *b)
{
    uint64_t common = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct stretch *x = &a->items[i], *y = &b->items[j];
        uint64_t start = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
        uint64_t end = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
        common += end > start ? end - start : 0;
        if (x->end_ns < y->end_ns)
            i++;
        else
            j++;
    }
    return common;
}

void stretches_deinit(struct stretches *stretches)
{
    free(stretches->items);
    *stretches = (struct stretches){0};
}
