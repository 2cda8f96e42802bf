#include "agent/correlate/observers.h"

#include "base/accounting/counters.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/join/graphs.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/stacks/code_profile.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "agent/correlate/totals/allocations.h"
#include "agent/correlate/totals/program_stats.h"

void observers_add_call(struct correlate *c, const struct call_info *info, const struct call_record *call)
{
    if (__builtin_expect(call->result != 0, 0))
        context_errors_note(&c->context_errors, call);
    if (info->group == CALL_GROUP_ALLOC || info->group == CALL_GROUP_FREE)
        allocations_note(c->allocations, info, call);
    if (c->stats_are_on)
        program_stats_add_call(c->stats, info, call);
}

/* Returns the place of a graph's node in profiles: the code that captured the node, and the span that its
 * launch worked for. */
__attribute__((noinline)) static uint32_t place_of_node(struct correlate *c,
                                                        const struct activity_record *record, uint32_t place)
{
    uint64_t code = 0;
    struct span_link unused;
    if (c->code && graphs_link_nodes(c->graphs))
        (void)graphs_capture_of(c->graphs, record->graph_node_id, &unused, &code);
    if (!code)
        return place;
    const struct code_stack *stack = code_stacks_of_nodes(c->code, code);
    counter_add(COUNTER_profile_unplaced, !stack);
    return code_profile_place_with(c->profile, place, stack);
}

__attribute__((noinline)) static void add_to_profile(struct correlate *c, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    const struct kernel_name *kernel =
        record->kind == ACTIVITY_KERNEL && record->name ? kernel_names_resolve(c->names, record->name) : NULL;
    bool is_copy = c->plan.bytes[record->kind] != 0;
    struct profile_string name =
        kernel ? (struct profile_string){kernel->text, kernel->text_len} : attributes_name(&c->plan, record);
    uint32_t place = work->call ? work->call->place : 0;
    if (record->graph_node_id)
        place = place_of_node(c, record, place);
    code_profile_add(spans_profile(c), place, is_copy ? PROFILE_COPIES : PROFILE_KERNELS, name,
                     kernel ? kernel->number : 0, record->end_ns - record->start_ns);
}

/* Not inlined, because few programs have steps. */
__attribute__((noinline)) static void add_to_step(struct correlate *c, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    const struct pending_call *call = work->call;
    steps_note_work(&c->sessions.steps, call->start_ns, record->end_ns);
    if (!(call->flags & PENDING_COLLECTIVE))
        step_spans_note_work(c, record->end_ns - record->start_ns);
}

void observers_add_work(struct correlate *c, const struct gpu_work *work, bool is_sampled, uint32_t account)
{
    if (!work->is_on_gpu)
        return;
    if (c->stats_are_on)
        program_stats_add_work(c->stats, work);
    if (__builtin_expect(c->profile != NULL, 0))
        add_to_profile(c, work);
    if (__builtin_expect(c->sessions.steps.count != 0, 0) && work->call)
        add_to_step(c, work);
    if (is_sampled || account)
        counting_add_work(c, account, work);
}
