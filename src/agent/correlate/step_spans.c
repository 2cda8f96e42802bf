#include "agent/correlate/step_spans.h"

#include "base/accounting/counters.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "model/semconv.h"

#include <string.h>

static struct step_budget *joint_budget(struct correlate *c, struct step *step)
{
    return &steps_first_part(&c->sessions.steps, step)->budget;
}

/* Returns the budget of the trace that the step's calls are in. */
static struct step_budget *budget_of(struct correlate *c, struct step *step)
{
    return step->is_detailed ? &step->detail_budget : joint_budget(c, step);
}

void step_spans_open(struct correlate *c, struct step *step)
{
    struct step_budget *budget = joint_budget(c, step);
    struct step_load earlier;
    bool is_known = steps_earlier_load(&c->sessions.steps, step, c->options.slept_between, &earlier);
    step_budget_foresee(budget, is_known ? &earlier : NULL);
    if (!budget->is_selecting || !step->is_full_turn)
        return;
    step->is_detailed = true;
    step_detail_trace(c->options.steps, &step->identity, step->detail_trace_id);
    session_next_span_id(&c->sessions.current, step->detail_span_id);
    step_budget_init(&step->detail_budget, c->options.steps->spans_max);
}

void step_spans_note(struct correlate *c, const struct parent *parent, uint64_t start_ns, bool expects_work,
                     bool is_collective)
{
    struct step *step = parent->is_session && c->sessions.steps.count
                            ? steps_boundary_before(&c->sessions.steps, start_ns)
                            : NULL;
    if (!step)
        return;
    step->load.calls++;
    step->load.work += expects_work;
    step->load.collectives += is_collective;
}

void step_spans_note_work(struct correlate *c, uint64_t ns)
{
    step_lengths_add(&c->sessions.steps.lengths, ns);
}

struct step *step_spans_limit(struct correlate *c, const uint8_t trace_id[16], uint64_t time_ns)
{
    const struct session *current = &c->sessions.current;
    struct steps *steps = &c->sessions.steps;
    if (!steps->count || !c->options.steps->spans_max ||
        (current->is_open && memcmp(trace_id, current->trace_id, 16) == 0))
        return NULL;
    struct step *step = steps_of_trace(steps, trace_id, time_ns);
    return step && step->budget.spans_max ? step : NULL;
}

struct step *step_spans_limit_of(struct correlate *c, const struct parent *parent, uint64_t time_ns)
{
    return parent->is_session && parent->is_sampled ? step_spans_limit(c, parent->trace_id, time_ns) : NULL;
}

/* A failed call gets a span as long as there is room, because it is rare and matters. */
bool step_spans_takes_call(struct correlate *c, struct step *step, bool is_failed)
{
    if (!step)
        return true;
    if (step->is_detailed)
        return step_budget_has_room(&step->detail_budget);
    struct step_budget *budget = joint_budget(c, step);
    return step_budget_takes_call(budget, &step->load) || (is_failed && step_budget_has_room(budget));
}

void step_spans_reserve(struct correlate *c, struct step *step, uint32_t bytes, uint32_t account)
{
    if (!step)
        return;
    step_budget_reserve(budget_of(c, step), bytes);
    if (step->is_detailed)
        counting_note_left_out(c, account);
}

static void emit(struct correlate *c, struct step *step, const struct span *span)
{
    if (step)
        step_budget_spend(budget_of(c, step), span);
    spans_emit(c, span);
}

void step_spans_emit(struct correlate *c, struct step *step, const struct span *span, uint32_t account)
{
    if (step && step->is_detailed)
        counting_note_left_out(c, account);
    emit(c, step, span);
}

/* Emits the span as a child of the rank's span in the trace of all ranks. */
static void emit_joint(struct correlate *c, struct step *step, struct span *span, bool is_copy)
{
    session_next_span_id(&c->sessions.current, span->span_id);
    spans_put_below(c, span, step->identity.trace_id, step->span_id,
                    TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED | SPAN_FLAG_REMOTE_KNOWN,
                    *step->trace_state ? step->trace_state : NULL);
    if (is_copy)
        span_attr_bool(span, ATTR(SEMCONV_TRAINING_STEP_COPY), true);
    step_budget_spend(joint_budget(c, step), span);
    spans_emit(c, span);
}

static void emit_copy(struct correlate *c, struct step *step, struct span *span)
{
    struct span original;
    memcpy(&original, span, offsetof(struct span, attrs));
    emit_joint(c, step, span, true);
    counter_add_alone(COUNTER_step_copies, 1);
    memcpy(span, &original, offsetof(struct span, attrs));
}

bool step_spans_emit_work(struct correlate *c, struct step *step, struct span *span, bool wanted,
                          uint32_t account)
{
    bool is_detailed = step && step->is_detailed;
    bool has_room = !is_detailed || step_budget_has_room(&step->detail_budget);
    if (!has_room && wanted)
        emit_joint(c, step, span, false);
    else if (has_room && (wanted || is_detailed))
        emit(c, step, span);
    if (is_detailed && has_room && wanted)
        emit_copy(c, step, span);
    else if (is_detailed && has_room)
        counting_note_left_out(c, account);
    return wanted || (is_detailed && has_room);
}

bool step_spans_wants_work(struct correlate *c, struct step *step, uint64_t ns)
{
    return !step ||
           step_budget_takes_work(joint_budget(c, step), &step->load, &c->sessions.steps.lengths, ns);
}

bool step_spans_wants_extra(struct correlate *c, struct step *step)
{
    return !step || step_budget_takes_extra(joint_budget(c, step), &step->load);
}

bool step_spans_wants_collective(struct correlate *c, struct step *step, uint64_t key)
{
    return !step || step_budget_takes_collective(joint_budget(c, step), &step->load, key);
}

bool step_spans_is_selecting(struct correlate *c, struct step *step)
{
    return step && joint_budget(c, step)->is_selecting;
}
