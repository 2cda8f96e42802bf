#include "base/balance.h"

/* Sessions, summaries and root spans are captured from nobody: they are made, and count on both sides. */
static const enum counter sources[] = {
    COUNTER_calls_captured, COUNTER_activities_captured, COUNTER_ranges_captured, COUNTER_marks_captured,
    COUNTER_sessions,       COUNTER_summaries,           COUNTER_roots,           COUNTER_COUNT};

/* What a captured record can come to. A loss that is counted before capture, or by an output, isn't here. */
static const enum counter fates[] = {
    COUNTER_spans_created,  COUNTER_spans_filtered,       COUNTER_spans_unsampled, COUNTER_sessions_unsampled,
    COUNTER_spans_summed,   COUNTER_marks_as_events,      COUNTER_facts,           COUNTER_asleep_records,
    COUNTER_lost_backwards, COUNTER_lost_zero_timestamps, COUNTER_lost_unmade,     COUNTER_lost_broken,
    COUNTER_COUNT};

void balance_take(struct balance *balance, size_t output_count)
{
    balance->output_count = output_count;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        balance->counters[i] = counter_get(i);
    for (unsigned i = 0; i < output_count; i++)
        balance->outputs[i] = counter_output_get(i);
}

static uint64_t sum(const struct balance *balance, const enum counter *counters)
{
    uint64_t total = 0;
    for (; *counters != COUNTER_COUNT; counters++)
        total += balance->counters[*counters];
    return total;
}

uint64_t balance_captured(const struct balance *balance)
{
    return sum(balance, sources);
}

uint64_t balance_settled(const struct balance *balance)
{
    return sum(balance, fates);
}

int64_t balance_unaccounted(const struct balance *balance)
{
    return (int64_t)(balance_captured(balance) - balance_settled(balance) - balance->held);
}

int64_t balance_output_unaccounted(const struct balance *balance, size_t output)
{
    const struct output_fates *fate = &balance->outputs[output];
    return (int64_t)(balance->counters[COUNTER_spans_created] - fate->delivered - fate->lost - fate->spooled -
                     balance->on_way[output]);
}

enum counter balance_source(size_t index)
{
    return index < sizeof sources / sizeof *sources ? sources[index] : COUNTER_COUNT;
}

enum counter balance_fate(size_t index)
{
    return index < sizeof fates / sizeof *fates ? fates[index] : COUNTER_COUNT;
}
