#include "agent/correlate/trace/step_budget.h"

#include "model/collective.h"

#define RESERVED_SPANS   2 /* the rank's, and (sent by rank 0) the step's; on all ranks: they choose alike */
#define RESERVED_BYTES   2000 /* size of both reserved spans */
#define SPAN_BASE_BYTES  110  /* IDs, times, flags, tracestate */
#define ATTR_BYTES       14   /* an attribute's size without its key and text */
#define POINTER_BYTES    16   /* size of a pointer's text */
#define COLLECTIVE_BYTES 800  /* a collective's span has more attributes than most */
#define MEASURED_MIN     8    /* spans after which their average size counts */
#define LENGTHS_COUNTED  (1u << 20)
#define CLASSES_OF_A_BIT 4
#define COLLECTIVES_USED 0.8
#define ROOM_USED        0.9 /* the rest is kept for a step with more long work than expected */
#define CHOICE_INTERVAL  64  /* GPU work between two choices of the minimum length */

static uint32_t class_of(uint64_t ns)
{
    if (ns < CLASSES_OF_A_BIT)
        return (uint32_t)ns;
    uint32_t bit = 63 - (uint32_t)__builtin_clzll(ns);
    return bit * CLASSES_OF_A_BIT + (uint32_t)(ns >> (bit - 2) & 3);
}

void step_lengths_add(struct step_lengths *lengths, uint64_t ns)
{
    if (lengths->total == LENGTHS_COUNTED) {
        lengths->total = 0;
        for (unsigned i = 0; i < STEP_LENGTHS; i++)
            lengths->total += lengths->count[i] /= 2;
    }
    lengths->count[class_of(ns)]++;
    lengths->total++;
}

void step_budget_init(struct step_budget *budget, uint32_t spans_max)
{
    *budget = (struct step_budget){.spans_max = spans_max, .spans = RESERVED_SPANS, .bytes = RESERVED_BYTES};
}

/* Returns the number of GPU work besides collectives. */
static uint32_t work_of(const struct step_load *load)
{
    return load->work > load->collectives ? load->work - load->collectives : load->work;
}

/* Starts the selection: collectives get up to three quarters of the spans that are left, GPU work the rest.
 * COLLECTIVES_USED leaves a margin, because the number of keys below a hash varies. */
static void begin_selecting(struct step_budget *budget, const struct step_load *load)
{
    uint32_t left = budget->spans_max > budget->spans ? budget->spans_max - budget->spans : 0;
    uint32_t for_collectives = (left - left / 4) * STEP_SPAN_BYTES / COLLECTIVE_BYTES;
    double share = load->collectives ? for_collectives * COLLECTIVES_USED / load->collectives : 1;
    budget->is_selecting = true;
    budget->collectives_max = for_collectives;
    budget->collectives_below = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
    double chosen = share < 1 ? share * load->collectives : load->collectives;
    double for_work = left - chosen * COLLECTIVE_BYTES / STEP_SPAN_BYTES;
    budget->work_max = for_work > 0 ? (uint32_t)for_work : 0;
    budget->work_expected = work_of(load);
}

void step_budget_foresee(struct step_budget *budget, const struct step_load *earlier)
{
    if (!budget->spans_max || !earlier || budget->is_selecting)
        return;
    budget->foreseen = budget->spans + earlier->calls + earlier->work + earlier->collectives;
    if (budget->foreseen > budget->spans_max)
        begin_selecting(budget, earlier);
}

bool step_budget_has_room(const struct step_budget *budget)
{
    return budget->spans < budget->spans_max &&
           budget->bytes + STEP_SPAN_BYTES <= (uint64_t)budget->spans_max * STEP_SPAN_BYTES;
}

/* Whether the step is selected from. If its size was not foreseen, selection starts with the last quarter of
 * its share. */
static bool is_selecting(struct step_budget *budget, const struct step_load *load)
{
    uint64_t bytes_max = (uint64_t)budget->spans_max * STEP_SPAN_BYTES;
    bool is_late = budget->spans - budget->extras >= budget->foreseen &&
                   (budget->spans >= budget->spans_max - budget->spans_max / 4 ||
                    budget->bytes >= bytes_max - bytes_max / 4);
    if (is_late && !budget->is_selecting)
        begin_selecting(budget, load);
    return budget->is_selecting;
}

bool step_budget_takes_call(struct step_budget *budget, const struct step_load *load)
{
    return !is_selecting(budget, load);
}

bool step_budget_takes_extra(struct step_budget *budget, const struct step_load *load)
{
    if (is_selecting(budget, load) ||
        (budget->foreseen && budget->extras >= budget->spans_max - budget->foreseen))
        return false;
    budget->extras++;
    return true;
}

bool step_budget_takes_collective(struct step_budget *budget, const struct step_load *load, uint64_t key)
{
    uint64_t hash = collective_mix(0, key);
    if (!is_selecting(budget, load))
        return step_budget_has_room(budget);
    if (hash > budget->collectives_below || budget->collectives == budget->collectives_max)
        return false;
    budget->collectives++;
    return step_budget_has_room(budget);
}

/* Returns the average size of a span so far, at least STEP_SPAN_BYTES: smaller spans leave no room for more,
 * because their number is limited, too. */
static double bytes_of_chosen(const struct step_budget *budget)
{
    uint32_t spans = budget->spans - RESERVED_SPANS;
    double average = spans < MEASURED_MIN ? 0 : (double)(budget->bytes - RESERVED_BYTES) / spans;
    return average > STEP_SPAN_BYTES ? average : STEP_SPAN_BYTES;
}

/* Sets the minimum length: chooses classes from the longest on, as many as there is room for if this step's
 * work is distributed like the histogram. */
static void choose_length(struct step_budget *budget, const struct step_load *load,
                          const struct step_lengths *lengths)
{
    uint32_t expected = budget->work_seen > budget->work_expected ? budget->work_seen : budget->work_expected;
    expected = work_of(load) > expected ? work_of(load) : expected;
    double room = budget->work_max * ROOM_USED / bytes_of_chosen(budget) * STEP_SPAN_BYTES;
    budget->class_min = 0;
    budget->class_share = 1;
    for (uint32_t at = STEP_LENGTHS; at-- > 0 && lengths->total;) {
        double count = (double)lengths->count[at] / lengths->total * expected;
        if (count > room) {
            budget->class_min = at;
            budget->class_share = room / count;
            return;
        }
        room -= count;
    }
}

bool step_budget_takes_work(struct step_budget *budget, const struct step_load *load,
                            const struct step_lengths *lengths, uint64_t ns)
{
    uint32_t class = class_of(ns);
    if (!is_selecting(budget, load))
        return step_budget_has_room(budget);
    if (budget->work_seen++ % CHOICE_INTERVAL == 0)
        choose_length(budget, load, lengths);
    if (class < budget->class_min)
        return false;
    if (class == budget->class_min) {
        budget->class_carry += budget->class_share;
        if (budget->class_carry < 1)
            return false;
        budget->class_carry -= 1;
    }
    return step_budget_has_room(budget);
}

static uint32_t bytes_of(const struct span *span)
{
    uint32_t bytes = SPAN_BASE_BYTES + span->name_len;
    for (uint32_t i = 0; i < span_attr_total(span); i++) {
        const struct span_attr *attr = span_attr_at(span, i);
        bytes += ATTR_BYTES + attr->key->len;
        bytes += attr->type == ATTR_STRING ? attr->len : attr->type == ATTR_POINTER ? POINTER_BYTES : 0;
    }
    return bytes;
}

void step_budget_spend(struct step_budget *budget, const struct span *span)
{
    if (budget->spans_max)
        step_budget_reserve(budget, bytes_of(span));
}

void step_budget_reserve(struct step_budget *budget, uint32_t bytes)
{
    budget->spans++;
    budget->bytes += bytes;
}
