#include "agent/correlate/trace/steps.h"

#include "agent/correlate/trace/sampler.h"

#include <stdio.h>
#include <string.h>

static struct step *at_index(struct steps *steps, uint64_t index)
{
    return &steps->kept[index % STEPS_KEPT];
}

static const struct step *known_at(const struct steps *steps, uint64_t index)
{
    return &steps->kept[index % STEPS_KEPT];
}

static uint64_t first_index(const struct steps *steps)
{
    return steps->count > STEPS_KEPT ? steps->count - STEPS_KEPT : 0;
}

struct step *steps_oldest(struct steps *steps)
{
    return steps->count >= STEPS_KEPT ? at_index(steps, steps->count) : NULL;
}

struct step *steps_latest(struct steps *steps)
{
    return steps->count ? at_index(steps, steps->count - 1) : NULL;
}

/* Writes the step's tracestate: the threshold that applied, without trailing zeros, and the randomness. */
static void write_state(struct step *step, const struct step_rules *rules)
{
    char threshold[SAMPLER_THRESHOLD_MAX + 1];
    uint64_t value = step_is_certain(rules, step->at.number) ? 0 : rules->threshold;
    sampler_format_threshold(value, threshold);
    if (step->is_iteration)
        sampler_format_threshold(step->is_recorded ? 0 : rules->iteration_threshold, threshold);
    if (step->is_iteration ? rules->iteration_threshold > 0 : rules->is_limited)
        snprintf(step->trace_state, sizeof step->trace_state, "ot=%s;rv:%014llx", threshold,
                 (unsigned long long)step->identity.randomness);
}

#define PARTS_APART_MAX 8 /* boundaries between two parts of a step: evaluations and checkpoints */

static uint64_t find_first_part(struct steps *steps, const struct step_boundary *boundary)
{
    uint64_t first = first_index(steps);
    for (uint64_t i = steps->count; i > first && i + PARTS_APART_MAX > steps->count; i--) {
        const struct step *earlier = at_index(steps, i - 1);
        if (earlier->at.number == boundary->number && earlier->at.kind == boundary->kind &&
            earlier->at.nonce == boundary->nonce)
            return earlier->first_part;
    }
    return steps->count;
}

struct step *steps_first_part(struct steps *steps, struct step *step)
{
    return step->first_part >= first_index(steps) ? at_index(steps, step->first_part) : step;
}

/* The step of an iteration of a serving engine, which all ranks of the engine share. */
static void make_iteration(struct step *step, const struct step_rules *rules,
                           const struct iteration *iteration)
{
    step->is_iteration = true;
    step->is_recorded = iteration->is_recorded;
    step->is_joint = true;
    step->identity = iteration_identify(iteration->seed, iteration->number);
    step->is_sampled = iteration_is_sampled(rules, iteration);
    iteration_rank_span(iteration->seed, iteration->number, iteration->rank, step->span_id);
    uint32_t spans = iteration->ranks > 1 ? rules->spans_max / (uint32_t)iteration->ranks : rules->spans_max;
    step_budget_init(&step->budget, rules->spans_max && !spans ? 1 : spans);
}

struct step *steps_add(struct steps *steps, const struct step_rules *rules,
                       const struct step_boundary *boundary)
{
    const struct engine_event *event = boundary->event;
    uint64_t first_part = event ? steps->count : find_first_part(steps, boundary);
    struct step *step = at_index(steps, steps->count);
    bool is_joint = step_is_joint(rules, boundary->nonce);
    struct step_share share =
        is_joint ? step_share_of(rules, boundary->number) : (struct step_share){.takes_part = true};
    *step = (struct step){.at = *boundary,
                          .index = steps->count++,
                          .identity = step_identify(rules, boundary),
                          .is_sampled =
                              step_is_sampled(rules, boundary->number, boundary->kind) && share.takes_part,
                          .is_joint = is_joint,
                          .is_full_turn = share.is_full_turn,
                          .first_part = first_part};
    step->at.event = NULL;
    step_budget_init(&step->budget, share.spans);
    if (event)
        make_iteration(step, rules, &event->iteration);
    if (step->is_sampled)
        write_state(step, rules);
    return step;
}

/* Before the first boundary there was no step. For times before the oldest boundary kept, it returns that
 * one's step. */
struct step *steps_boundary_before(struct steps *steps, uint64_t time_ns)
{
    uint64_t first = first_index(steps);
    for (uint64_t i = steps->count; i > first; i--)
        if (at_index(steps, i - 1)->at.time <= time_ns)
            return at_index(steps, i - 1);
    return first ? at_index(steps, first) : NULL;
}

struct step *steps_at(struct steps *steps, uint64_t time_ns)
{
    struct step *step = steps_boundary_before(steps, time_ns);
    return step && (step->at.kind != STEP_NONE || step->is_iteration) ? step : NULL;
}

void steps_note_work(struct steps *steps, uint64_t call_ns, uint64_t end_ns)
{
    struct step *step = steps_boundary_before(steps, call_ns);
    if (step && end_ns > step->gpu_until_ns)
        step->gpu_until_ns = end_ns;
}

/* Sleep matters only in the second half of the earlier step: a step's last work on the GPU is that of its
 * last calls. */
bool steps_gpu_ready(const struct steps *steps, uint64_t index,
                     bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), uint64_t *ready_ns)
{
    uint64_t first = first_index(steps), before = index;
    do {
        if (before <= first)
            return false;
        before--;
    } while (!known_at(steps, before)->gpu_until_ns);
    uint64_t begin_ns = known_at(steps, before)->at.time, end_ns = known_at(steps, before + 1)->at.time;
    if (slept_between && slept_between(begin_ns + (end_ns - begin_ns) / 2, known_at(steps, index)->at.time))
        return false;
    *ready_ns = 0;
    for (uint64_t i = first; i <= before; i++)
        if (known_at(steps, i)->gpu_until_ns > *ready_ns)
            *ready_ns = known_at(steps, i)->gpu_until_ns;
    return true;
}

static bool has_trace(const struct step *step, const uint8_t trace_id[16])
{
    return memcmp(step->identity.trace_id, trace_id, 16) == 0 ||
           (step->is_detailed && memcmp(step->detail_trace_id, trace_id, 16) == 0);
}

struct step *steps_of_trace(struct steps *steps, const uint8_t trace_id[16], uint64_t time_ns)
{
    struct step *likely = steps_boundary_before(steps, time_ns);
    uint64_t first = first_index(steps);
    if (likely && has_trace(likely, trace_id))
        return likely;
    for (uint64_t i = steps->count; i > first; i--)
        if (has_trace(at_index(steps, i - 1), trace_id))
            return at_index(steps, i - 1);
    return NULL;
}

/* Capture wakes up just before a step, by another clock, so sleep in the step's first part is tolerated. */
#define AWAKE_SLACK 16 /* this part is 1/16 of the step's time */

/* Adds up the load of all parts of the step whose last part has the index `last`. Returns the first part's
 * index. */
static uint64_t add_parts(const struct steps *steps, uint64_t last, struct step_load *load)
{
    const struct step *step = known_at(steps, last);
    uint64_t first = last;
    *load = (struct step_load){0};
    for (uint64_t i = last + 1; i > first_index(steps); i--) {
        const struct step *part = known_at(steps, i - 1);
        if (part->at.number != step->at.number)
            break;
        if (part->at.kind != step->at.kind)
            continue; /* an evaluation or a checkpoint in between */
        load->calls += part->load.calls;
        load->work += part->load.work;
        load->collectives += part->load.collectives;
        first = i - 1;
    }
    return first;
}

bool steps_earlier_load(const struct steps *steps, const struct step *step,
                        bool (*slept_between)(uint64_t from_ns, uint64_t until_ns), struct step_load *load)
{
    for (uint64_t i = step->index; i > first_index(steps); i--) {
        const struct step *earlier = known_at(steps, i - 1);
        if (earlier->at.kind != step->at.kind || earlier->at.number == step->at.number)
            continue;
        uint64_t begin_ns = known_at(steps, add_parts(steps, i - 1, load))->at.time;
        uint64_t end_ns = known_at(steps, i)->at.time;
        begin_ns += (end_ns - begin_ns) / AWAKE_SLACK;
        if (load->calls && !(slept_between && slept_between(begin_ns, end_ns)))
            return true;
    }
    return false;
}

struct session *steps_free_session(struct steps *steps)
{
    for (unsigned i = 0; i < STEPS_OPEN_MAX; i++)
        if (!steps->sessions[i].is_open)
            return &steps->sessions[i];
    return NULL;
}

struct session *steps_session_of(struct steps *steps, const uint8_t trace_id[16])
{
    for (unsigned i = 0; i < STEPS_OPEN_MAX; i++)
        if (steps->sessions[i].is_open && memcmp(steps->sessions[i].trace_id, trace_id, 16) == 0)
            return &steps->sessions[i];
    return NULL;
}

bool steps_is_over(const struct steps *steps, const struct step *step, uint64_t time_ns)
{
    return step->index + 1 < steps->count &&
           time_ns > known_at(steps, step->index + 1)->at.time + STEPS_GRACE_NS;
}

/* A boundary in the future is old, because the clock was set back. */
void steps_end_round(struct steps *steps, uint64_t now_ns)
{
    steps->settled = steps->seen;
    while (steps->seen < steps->count && now_ns - at_index(steps, steps->seen)->at.time > STEPS_GRACE_NS)
        steps->seen++;
}

struct step *steps_oldest_session(struct steps *steps)
{
    uint64_t i = first_index(steps);
    while (i < steps->count && !at_index(steps, i)->session)
        i++;
    return i < steps->count ? at_index(steps, i) : NULL;
}

static struct step *oldest_open(struct steps *steps, uint64_t end)
{
    for (uint64_t i = first_index(steps); i < end; i++)
        if (at_index(steps, i)->session || at_index(steps, i)->iteration)
            return at_index(steps, i);
    return NULL;
}

struct step *steps_next_ended(struct steps *steps)
{
    return steps->settled ? oldest_open(steps, steps->settled - 1)
                          : NULL; /* the last of these steps is still in progress */
}

struct step *steps_oldest_open(struct steps *steps)
{
    return oldest_open(steps, steps->count);
}
