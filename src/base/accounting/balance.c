#include "base/accounting/balance.h"

/* cuspan adds sessions, summaries, collectives, root spans and requests of engines itself, so they count on
 * both sides. */
const enum counter balance_sources[] = {COUNTER_calls_captured,
                                        COUNTER_activities_captured,
                                        COUNTER_ranges_captured,
                                        COUNTER_marks_captured,
                                        COUNTER_sessions,
                                        COUNTER_summaries,
                                        COUNTER_collectives,
                                        COUNTER_roots,
                                        COUNTER_engine_request_spans,
                                        COUNTER_iteration_summaries,
                                        COUNTER_step_copies,
                                        COUNTER_COUNT};

/* Losses of spans in outputs. */
static const enum counter losses_of_outputs[] = {
    COUNTER_lost_queue_full,    COUNTER_lost_too_large, COUNTER_lost_rejected, COUNTER_lost_refused,
    COUNTER_lost_unreachable,   COUNTER_lost_deadline,  COUNTER_lost_output,   COUNTER_lost_spool_full,
    COUNTER_lost_spool_damaged, COUNTER_COUNT};

/* The possible outcomes of a captured record. Losses before capture or in an output are not included. */
const enum counter balance_fates[] = {COUNTER_spans_created,
                                      COUNTER_spans_filtered,
                                      COUNTER_spans_unsampled,
                                      COUNTER_sessions_unsampled,
                                      COUNTER_spans_summed,
                                      COUNTER_spans_left_out,
                                      COUNTER_marks_as_events,
                                      COUNTER_facts,
                                      COUNTER_asleep_records,
                                      COUNTER_lost_backwards,
                                      COUNTER_lost_zero_timestamps,
                                      COUNTER_lost_context_error,
                                      COUNTER_lost_unmade,
                                      COUNTER_lost_broken,
                                      COUNTER_COUNT};

static uint64_t sum(const struct balance *balance, const enum counter *counters)
{
    uint64_t total = 0;
    for (; *counters != COUNTER_COUNT; counters++)
        total += balance->counters[*counters];
    return total;
}

/* Other threads go on counting. Reading the sources last ensures that nothing is settled without its source.
 */
void balance_take(struct balance *balance, size_t output_count)
{
    balance->output_count = output_count;
    for (unsigned i = 0; i < output_count; i++)
        balance->outputs[i] = counter_output_get(i);
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        balance->counters[i] = counter_get(i);
    balance->counters[COUNTER_spans_created] = counter_get(COUNTER_spans_created);
    balance->counters[COUNTER_points_made] = counter_get(COUNTER_points_made);
    balance->counters[COUNTER_profile_samples_made] = counter_get(COUNTER_profile_samples_made);
    balance->counters[COUNTER_hang_reports_made] = counter_get(COUNTER_hang_reports_made);
    for (size_t i = 0; balance_sources[i] != COUNTER_COUNT; i++)
        balance->counters[balance_sources[i]] = counter_get(balance_sources[i]);
}

/* The records of a buffer count as captured only after all of it is decoded. */
static void settle_captured(struct balance *balance)
{
    int64_t unmade = balance_unaccounted(balance);
    if (unmade < 0)
        balance->counters[COUNTER_activities_captured] += (uint64_t)-unmade;
    else
        balance->counters[COUNTER_lost_unmade] += (uint64_t)unmade;
}

/* A sender may have counted a loss or a delivery by reason but not yet for its output. */
static void settle_outputs(struct balance *balance)
{
    uint64_t lost = 0, delivered = 0, lost_by_reason = sum(balance, losses_of_outputs);
    for (size_t i = 0; i < balance->output_count; i++) {
        int64_t left = balance_output_unaccounted(balance, i);
        balance->outputs[i].lost += left > 0 ? (uint64_t)left : 0;
        lost += balance->outputs[i].lost;
        delivered += balance->outputs[i].delivered;
    }
    balance->counters[COUNTER_spans_delivered] = delivered;
    if (lost > lost_by_reason)
        balance->counters[COUNTER_lost_deadline] += lost - lost_by_reason;
}

/* Points of metrics, samples of profiles, or reports of hangs. */
static void settle_kind(struct balance *balance, enum counter made, enum counter lost, uint64_t kept)
{
    if (balance->counters[made] > kept + balance->counters[lost])
        balance->counters[lost] = balance->counters[made] - kept;
}

void balance_close(struct balance *balance, size_t output_count, bool has_spans)
{
    *balance = (struct balance){.held = 0};
    balance_take(balance, output_count);
    const uint64_t *counters = balance->counters;
    settle_kind(balance, COUNTER_points_made, COUNTER_lost_points,
                counters[COUNTER_points_delivered] + counters[COUNTER_points_spooled_left]);
    settle_kind(balance, COUNTER_profile_samples_made, COUNTER_lost_profile_samples,
                counters[COUNTER_profile_samples_delivered]);
    settle_kind(balance, COUNTER_hang_reports_made, COUNTER_lost_hang_reports,
                counters[COUNTER_hang_reports_delivered]);
    if (!has_spans)
        return;
    settle_captured(balance);
    settle_outputs(balance);
}

uint64_t balance_lost(const struct balance *balance)
{
    uint64_t total = 0;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        total += counter_is_loss(i) ? balance->counters[i] : 0;
    return total;
}

uint64_t balance_captured(const struct balance *balance)
{
    return sum(balance, balance_sources);
}

uint64_t balance_settled(const struct balance *balance)
{
    return sum(balance, balance_fates);
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
