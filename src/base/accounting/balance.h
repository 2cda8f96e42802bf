/* Whether the counters add up: what was captured has become a span, or was left out or lost for one reason,
 * or is still held; and each span that was made was delivered or lost, or is on its way, at each output.
 *
 * What is lost before it is captured (a full ring, a record that CUPTI dropped) stands in no sum: nobody has
 * seen it. */
#ifndef CUSPAN_BASE_ACCOUNTING_BALANCE_H
#define CUSPAN_BASE_ACCOUNTING_BALANCE_H

#include "base/accounting/counters.h"

#include <stdbool.h>
#include <stddef.h>

/* The counters at one moment, with what is neither here nor there. Taken by the pipeline thread between two
 * rounds it is exact; taken by another it may be off by what happens meanwhile. */
struct balance {
    uint64_t counters[COUNTER_COUNT];
    struct output_fates outputs[OUTPUTS_MAX];
    size_t output_count;
    uint64_t held;                /* captured, and waiting: for its call, its end, its device, its time */
    uint64_t on_way[OUTPUTS_MAX]; /* made, and in an open batch, in the queue or being sent */
};

/* Fills in all but `held` and `on_way`, which are left as they are. */
void balance_take(struct balance *balance, size_t output_count);
/* The last one, where our threads are late and go on counting: what has met no fate is lost, as
 * lost_unmade (`has_spans`: false for a recording) and at each output as lost_deadline. In the balance alone,
 * which adds up; the counters stay as they are. */
void balance_close(struct balance *balance, size_t output_count, bool has_spans);

/* What was captured, or made by ourselves: all that a fate is owed. */
uint64_t balance_captured(const struct balance *balance);
/* Of that, what has met a fate: became a span, was left out, was lost. */
uint64_t balance_settled(const struct balance *balance);

/* The sum of all losses. */
uint64_t balance_lost(const struct balance *balance);

/* What nobody can account for: 0 unless there is a defect. Negative: something was counted twice. */
int64_t balance_unaccounted(const struct balance *balance);
int64_t balance_output_unaccounted(const struct balance *balance, size_t output);

/* The counters on both sides of the first sum, for whoever shows it: 0, 1, ... until COUNTER_COUNT comes. */
enum counter balance_source(size_t index);
enum counter balance_fate(size_t index);

#endif
