/* Accounting. Each captured record became a span, was dropped or lost for one reason, or is still held. Each
 * span was delivered, lost, or is still on its way, at each output.
 *
 * Losses before capture (a full ring, a record that CUPTI dropped) are in no sum. */
#pragma once

#include "base/accounting/counters.h"

#include <stdbool.h>
#include <stddef.h>

/* The counters at one moment, with what is still in progress. Exact if the pipeline thread takes it between
 * two rounds; on another thread it may be off by what happens meanwhile. */
struct balance {
    uint64_t counters[COUNTER_COUNT];
    struct output_fates outputs[OUTPUTS_MAX];
    size_t output_count;
    uint64_t held;                /* captured, and waiting for its call, end, device or time */
    uint64_t on_way[OUTPUTS_MAX]; /* spans in an open batch, in the queue or being sent */
};

/* Fills in everything except `held` and `on_way`. */
void balance_take(struct balance *balance, size_t output_count);
/* The final balance when cuspan's threads are still running at the deadline: what is in progress counts as
 * lost_unmade (`has_spans`: false for a recording), and as lost_deadline at each output. Only the balance
 * changes, not the counters. */
void balance_close(struct balance *balance, size_t output_count, bool has_spans);

/* Records that were captured, and spans that cuspan adds itself. */
uint64_t balance_captured(const struct balance *balance);
/* Of those, the ones that became spans or were dropped or lost. */
uint64_t balance_settled(const struct balance *balance);

/* The sum of all losses. */
uint64_t balance_lost(const struct balance *balance);

/* 0, unless cuspan has a bug. Negative: something was counted twice. */
int64_t balance_unaccounted(const struct balance *balance);
int64_t balance_output_unaccounted(const struct balance *balance, size_t output);

/* The counters on both sides of the first sum, up to COUNTER_COUNT. */
extern const enum counter balance_sources[], balance_fates[];
