#include "base/accounting/counters.h"

_Atomic uint64_t counter_values[COUNTER_COUNT];

static struct {
    _Atomic uint64_t delivered;
    _Atomic uint64_t lost;
    _Atomic uint64_t spooled;
} outputs[OUTPUT_NUMBERS];

static const struct {
    const char *name;
    const char *help;
    bool is_loss;
} descriptions[COUNTER_COUNT] = {
#define COUNTER_DESCRIPTION(id, is_loss, text) {#id, text, is_loss},
    COUNTERS(COUNTER_DESCRIPTION)
#undef COUNTER_DESCRIPTION
};

void counter_max(enum counter counter, uint64_t value)
{
    uint64_t seen = counter_get(counter);
    while (seen < value &&
           !atomic_compare_exchange_weak_explicit(&counter_values[counter], &seen, value,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

const char *counter_name(enum counter counter)
{
    return descriptions[counter].name;
}

const char *counter_help(enum counter counter)
{
    return descriptions[counter].help;
}

bool counter_is_loss(enum counter counter)
{
    return descriptions[counter].is_loss;
}

uint64_t counters_lost(void)
{
    uint64_t sum = 0;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (descriptions[i].is_loss)
            sum += counter_get(i);
    return sum;
}

/* By the output's signal. */
static enum counter choose(unsigned output, enum counter spans, const enum counter others[3])
{
    return output < METRICS_OUTPUT ? spans : others[output - METRICS_OUTPUT];
}

void counter_output_delivered(unsigned output, uint64_t spans)
{
    static const enum counter others[] = {COUNTER_points_delivered, COUNTER_profile_samples_delivered,
                                          COUNTER_hang_reports_delivered};
    counter_add(choose(output, COUNTER_spans_delivered, others), spans);
    atomic_fetch_add_explicit(&outputs[output].delivered, spans, memory_order_relaxed);
}

void counter_output_lost(unsigned output, enum counter reason, uint64_t spans)
{
    static const enum counter others[] = {COUNTER_lost_points, COUNTER_lost_profile_samples,
                                          COUNTER_lost_hang_reports};
    counter_add(choose(output, reason, others), spans);
    atomic_fetch_add_explicit(&outputs[output].lost, spans, memory_order_relaxed);
}

void counter_output_spooled(unsigned output, int64_t spans)
{
    bool is_metrics = output == METRICS_OUTPUT;
    if (spans > 0)
        counter_add(is_metrics ? COUNTER_points_spooled : COUNTER_spans_spooled, (uint64_t)spans);
    counter_add(is_metrics ? COUNTER_points_spooled_left : COUNTER_spans_spooled_left, (uint64_t)spans);
    atomic_fetch_add_explicit(&outputs[output].spooled, (uint64_t)spans, memory_order_relaxed);
}

struct output_fates counter_output_get(unsigned output)
{
    return (struct output_fates){
        .delivered = atomic_load_explicit(&outputs[output].delivered, memory_order_relaxed),
        .lost = atomic_load_explicit(&outputs[output].lost, memory_order_relaxed),
        .spooled = atomic_load_explicit(&outputs[output].spooled, memory_order_relaxed),
    };
}

void counters_reset(void)
{
    for (unsigned i = 0; i < OUTPUT_NUMBERS; i++)
        outputs[i].delivered = outputs[i].lost = outputs[i].spooled = 0;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        atomic_store_explicit(&counter_values[i], 0, memory_order_relaxed);
}
