#include "agent/capture/nccl/collective_period.h"

/* Returns a hash of the collective. Its lowest bit is set if the collective reduces, as the sum of gradients
 * does. */
static uint32_t describe(enum collective_operation operation, uint64_t bytes)
{
    bool sums = operation == COLLECTIVE_ALL_REDUCE || operation == COLLECTIVE_REDUCE_SCATTER ||
                operation == COLLECTIVE_REDUCE;
    return ((uint32_t)collective_mix(bytes, operation) & ~1u) | sums;
}

static bool reduces(uint32_t collective)
{
    return collective & 1;
}

static uint32_t kept_at(const struct collective_period *period, uint64_t index)
{
    return period->kept[index % PERIOD_KEPT];
}

/* Extends the window by the latest collective. Returns its shortest period. */
static uint32_t extend(struct collective_period *period, uint32_t collective)
{
    uint16_t *borders = period->window.border;
    uint64_t start = period->window.start;
    uint32_t length = period->window.length++;
    uint32_t border = length ? borders[length - 1] : 0;
    while (border && kept_at(period, start + border) != collective)
        border = borders[border - 1];
    if (length && kept_at(period, start + border) == collective)
        border++;
    borders[length] = (uint16_t)border;
    return length + 1 - border;
}

static bool has_reduction(const struct collective_period *period, uint64_t first, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (reduces(kept_at(period, first + i)))
            return true;
    return false;
}

static uint32_t proof_of(const struct collective_period *period)
{
    return period->proof ? period->proof : PERIOD_PROOF;
}

/* Whether the window proves that its period is a step. A step has PERIOD_MAX collectives at most, because the
 * window holds three times as many. */
static bool is_step(const struct collective_period *period, uint32_t length)
{
    uint32_t proof = proof_of(period), repeated = PERIOD_REPETITIONS * length;
    return length > 0 && period->window.length == (repeated > proof ? repeated : proof) &&
           has_reduction(period, period->window.start, length);
}

/* Returns the index of the repeated collective that starts a step: the first one of the longest series that
 * reduces nothing. With sharded parameters, that series is the forward pass. Without such a series, returns
 * 0. */
static uint32_t find_begin(const struct collective_period *period, uint64_t first, uint32_t length)
{
    uint32_t begin = 0, longest = 0, series = 0;
    for (uint32_t i = 0; i < 2 * length; i++) { /* twice, because a series may continue at the start */
        series = reduces(kept_at(period, first + i % length)) ? 0 : series + 1;
        if (series > longest) {
            longest = series;
            begin = (i + 1 - series) % length;
        }
    }
    return begin;
}

/* Sets the period that the window has. Returns whether a step starts with the window's last collective. */
static bool find(struct collective_period *period, uint32_t length)
{
    uint64_t last = period->count - 1, first = period->window.start;
    uint64_t oldest = period->count > PERIOD_KEPT ? period->count - PERIOD_KEPT : 0;
    while (first > oldest && kept_at(period, first - 1) == kept_at(period, first - 1 + length))
        first--;
    first += find_begin(period, first, length);
    period->length = length;
    period->hash = 0;
    for (uint32_t i = 0; i < length; i++)
        period->hash += period->step[i] = kept_at(period, first + i);
    bool begins = (last - first) % length == 0;
    period->at = (uint32_t)((last + 1 - first) % length);
    if (!period->has_number)
        period->next_number = (int64_t)((last - first) / length) + !begins;
    period->has_number = true;
    period->is_lost = false;
    period->matched = period->others = period->window.length = 0;
    return begins;
}

/* Ends the window, unless it repeats. */
static void end_window(struct collective_period *period, uint32_t length)
{
    uint32_t window = period->window.length, max = period->window.length_max;
    if (window < max || (2 * length <= window && window < PERIOD_WINDOW_MAX))
        return;
    period->window.length = 0;
    period->window.length_max = 2 * max > PERIOD_WINDOW_MAX ? PERIOD_WINDOW_MIN : 2 * max;
}

/* Searches for a period. Returns whether one was found and a step starts with the latest collective. */
static bool search(struct collective_period *period, uint32_t collective)
{
    if (period->window.length == 0)
        period->window.start = period->count - 1;
    if (period->window.length_max == 0)
        period->window.length_max = PERIOD_WINDOW_MIN;
    uint32_t length = extend(period, collective);
    if (is_step(period, length))
        return find(period, length);
    end_window(period, length);
    return false;
}

/* Whether the period has repeated for longer than the longest step, so that it is not only a part of a step.
 */
static bool is_certain(const struct collective_period *period)
{
    return period->matched + proof_of(period) > PERIOD_MAX;
}

/* Loses the period. A short-lived one was only a part of a step, so it is forgotten and the next one needs
 * more proof. Others may go on. */
static void lose(struct collective_period *period)
{
    if (!is_certain(period)) {
        uint32_t proof = 2 * proof_of(period);
        period->proof = proof < PERIOD_WINDOW_MAX ? proof : PERIOD_WINDOW_MAX;
        period->length = 0;
    }
    period->is_lost = true;
    period->at = 0;
    period->window.length = period->window.length_max = 0;
}

/* Follows a lost period, which goes on after one complete repetition. */
static void resume(struct collective_period *period, uint32_t collective)
{
    if (collective != period->step[period->at])
        period->at = 0;
    if (collective == period->step[period->at])
        period->at++;
    if (period->at < period->length)
        return;
    period->at = period->others = 0;
    period->is_lost = false;
    period->window.length = 0;
}

static enum period_event begin_step(struct collective_period *period, int64_t *number)
{
    *number = period->next_number++;
    return PERIOD_STEP;
}

/* Compares the next collective with a known period. */
static enum period_event follow(struct collective_period *period, uint32_t collective, int64_t *number)
{
    bool begins = period->at == 0;
    if (collective == period->step[period->at]) {
        period->at = period->at + 1 < period->length ? period->at + 1 : 0;
        period->matched++;
        period->others = 0;
        return begins ? begin_step(period, number) : PERIOD_NOTHING;
    }
    if (begins && is_certain(period) && period->others < PERIOD_OTHERS_MAX) {
        period->others++;
        return PERIOD_NOTHING;
    }
    lose(period);
    return PERIOD_LOST;
}

enum period_event collective_period_note(struct collective_period *period,
                                         enum collective_operation operation, uint64_t bytes, int64_t *number)
{
    uint32_t collective = describe(operation, bytes);
    enum period_event event = PERIOD_NOTHING;
    period->kept[period->count++ % PERIOD_KEPT] = collective;
    if (period->length && !period->is_lost) {
        event = follow(period, collective, number);
        if (event != PERIOD_LOST)
            return event;
    }
    if (search(period, collective))
        return begin_step(period, number);
    if (period->length && period->is_lost)
        resume(period, collective);
    return event;
}
