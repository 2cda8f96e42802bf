#include "agent/correlate/collective_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/correlate/join/pending.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "model/hang/live_state.h"
#include "model/semconv.h"

#include <stdio.h>

/* The collectives that one kernel or copy runs, added up. */
struct carried {
    const struct collective *first; /* NULL: known by the kernel's name only */
    enum collective_operation operation;
    uint32_t count;
    uint64_t communicator; /* 0: unknown */
    uint64_t ordinal_max;
    uint32_t sends, recvs;
    uint64_t bytes;    /* bytes of all messages */
    double bus_bytes;  /* the same, weighted for busbw */
    bool knows_bytes;  /* the size of each collective is known */
    bool has_one_peer; /* all have the same peer */
    bool goes_on;      /* the end is that of a flush */
    uint64_t send_bytes, recv_bytes, send_ordinal, recv_ordinal;
};

static struct live_name live_name_of(const struct collective *one)
{
    return (struct live_name){one->communicator, one->ordinal, (enum collective_operation)one->operation,
                              one->peer};
}

/* For the live state: the ends of these collectives will be known, and where they were launched. */
static void tell_launch(struct correlate *c, const struct pending_call *call)
{
    const struct code_stack *code = c->calls.code;
    char line[LIVE_LINE_BYTES];
    if (code && code->file && !live_has_code(code->number)) {
        snprintf(line, sizeof line, "%s:%u %s", code->file, code->line, code->function);
        live_note_code(code->number, line);
    }
    for (struct collective *one = collectives_of(c->collectives, call); one;
         one = collectives_next(c->collectives, one)) {
        struct live_name name = live_name_of(one);
        if (one->has & COLLECTIVE_HAS_ORDINAL)
            live_note_launch(&name, code ? code->number : 0);
    }
}

void collective_spans_launch(struct correlate *c, const struct thread_info *thread,
                             const struct call_info *info, const struct call_record *call)
{
    bool is_kernel = info->group == CALL_GROUP_LAUNCH;
    if (call->result != 0 || !call->correlation_id || !info->has_activity ||
        !(is_kernel || info->group == CALL_GROUP_COPY || info->group == CALL_GROUP_FILL))
        return;
    struct pending_call *pending = pending_find(c->pending, call->correlation_id, call->start_ns);
    collectives_launch(c->collectives, thread, pending, is_kernel);
    /* the group's first launch stands for all */
    if (pending && pending->flags & PENDING_COLLECTIVE && !pending->collectives_launch && live_state_is_on())
        tell_launch(c, pending);
}

static enum collective_operation operation_of(const struct collective *one)
{
    return (enum collective_operation)one->operation;
}

/* Whether NCCL may run the operation with kernels of Send and Recv. It does so unless it uses copy engines or
 * symmetric memory. */
static bool may_use_p2p(enum collective_operation operation)
{
    return collective_is_p2p(operation) || operation == COLLECTIVE_ALL_TO_ALL ||
           operation == COLLECTIVE_GATHER || operation == COLLECTIVE_SCATTER;
}

/* Whether a kernel with this name may run the collective. */
static bool fits(const struct collective *one, enum collective_operation kernel)
{
    enum collective_operation operation = operation_of(one);
    return !one->is_taken && (kernel == COLLECTIVE_UNKNOWN || operation == kernel ||
                              collective_is_p2p(kernel) == may_use_p2p(operation));
}

struct choice {
    struct collective *first; /* the list's first collective */
    enum collective_operation kernel;
    bool by_name; /* only collectives of the kernel's operation are chosen */
    uint64_t communicator;
};

static bool is_chosen(const struct choice *choice, const struct collective *one)
{
    return fits(one, choice->kernel) && one->communicator == choice->communicator &&
           (!choice->by_name || operation_of(one) == choice->kernel);
}

/* Returns the n-th communicator of the list (0: fewer), and sets `*count` to the list's number of
 * communicators. */
static uint64_t communicator_at(struct collectives *all, struct collective *first, uint32_t n,
                                uint32_t *count)
{
    uint64_t found = 0;
    *count = 0;
    for (struct collective *one = first; one; one = collectives_next(all, one)) {
        struct collective *earlier = first;
        while (earlier != one && earlier->communicator != one->communicator)
            earlier = collectives_next(all, earlier);
        if (earlier == one && (*count)++ == n)
            found = one->communicator;
    }
    return found;
}

/* Chooses which collectives of its list a kernel runs: all that its name allows, if the list has one kernel.
 * If it has several, each kernel runs those of one communicator, in the order of the launches, or with one
 * communicator those of its name. False: none fits. */
static bool choose(struct collectives *all, const struct pending_call *call, struct choice *choice)
{
    struct collective *first = choice->first, *fitting = NULL;
    uint32_t communicators;
    uint64_t by_order = communicator_at(all, first, call->collectives_launch, &communicators);
    bool has_order = first->kernels > 1 && communicators == first->kernels;
    for (struct collective *one = first; one; one = collectives_next(all, one)) {
        bool is_in_order = !has_order || one->communicator == by_order;
        fitting = !fitting && is_in_order && fits(one, choice->kernel) ? one : fitting;
        choice->by_name |= first->kernels > 1 && !one->is_taken && operation_of(one) == choice->kernel;
    }
    if (!fitting)
        return false;
    choice->communicator = fitting->communicator;
    return true;
}

static uint32_t ranks_of(const struct collective *one)
{
    return one->has & COLLECTIVE_HAS_RANKS ? one->ranks : 0;
}

static void add_bytes(struct carried *carried, const struct collective *one)
{
    enum collective_operation operation = operation_of(one);
    bool is_known =
        one->has & COLLECTIVE_HAS_BYTES && (ranks_of(one) || !collective_bytes_need_ranks(operation));
    uint64_t bytes = collective_bytes(operation, one->share, ranks_of(one));
    carried->knows_bytes &= is_known;
    carried->bytes += bytes;
    carried->bus_bytes += (double)bytes * collective_bus_factor(operation, ranks_of(one));
    if (operation == COLLECTIVE_SEND)
        carried->send_bytes += bytes;
    if (operation == COLLECTIVE_RECV)
        carried->recv_bytes += bytes;
}

static void add(struct carried *carried, const struct collective *one)
{
    if (!carried->first) {
        *carried = (struct carried){.first = one,
                                    .operation = operation_of(one),
                                    .communicator = one->communicator,
                                    .knows_bytes = true,
                                    .has_one_peer = true,
                                    .goes_on = carried->goes_on};
    }
    carried->count++;
    carried->sends += one->operation == COLLECTIVE_SEND;
    carried->recvs += one->operation == COLLECTIVE_RECV;
    carried->has_one_peer &= one->peer == carried->first->peer;
    *(one->operation == COLLECTIVE_RECV ? &carried->recv_ordinal : &carried->send_ordinal) = one->ordinal;
    if (one->ordinal > carried->ordinal_max)
        carried->ordinal_max = one->ordinal;
    if (one->has & COLLECTIVE_HAS_ORDINAL && !carried->goes_on)
        live_note_end(one->communicator, operation_of(one), one->ordinal, one->peer);
    add_bytes(carried, one);
}

/* Whether `one` is the same collective on another rank of this process, which has a kernel of its own. */
static bool is_of_another_rank(const struct carried *carried, const struct collective *one)
{
    const struct collective *first = carried->first;
    return first && one->operation == first->operation && one->has & COLLECTIVE_HAS_ORDINAL &&
           one->ordinal == first->ordinal && one->peer == first->peer;
}

/* Corrects the totals of sends and receives: each direction moves at most the bytes of the larger part. */
static void settle_p2p(struct carried *carried)
{
    if (!carried->first || carried->sends + carried->recvs != carried->count)
        return;
    if (carried->sends && carried->recvs)
        carried->operation = COLLECTIVE_SEND_RECV;
    carried->bytes = carried->send_bytes > carried->recv_bytes ? carried->send_bytes : carried->recv_bytes;
    carried->bus_bytes = (double)carried->bytes;
}

static struct carried take(struct correlate *c, const struct pending_call *call,
                           enum collective_operation kernel)
{
    struct carried carried = {.operation = kernel, .count = 1, .goes_on = c->join.is_going_on};
    struct choice choice = {.first = collectives_of(c->collectives, call), .kernel = kernel};
    if (!choice.first) { /* the list was overwritten */
        counter_add_alone(COUNTER_collectives_forgotten, 1);
        return carried;
    }
    if (!choose(c->collectives, call, &choice)) {
        carried.communicator = choice.first->communicator; /* a kernel of this group for no collective */
        return carried;
    }
    for (struct collective *one = choice.first; one; one = collectives_next(c->collectives, one)) {
        if (!is_chosen(&choice, one) || is_of_another_rank(&carried, one))
            continue;
        add(&carried, one);
        one->is_taken = true;
    }
    settle_p2p(&carried);
    return carried;
}

/* Returns a key that all ranks of the collective compute alike. A single Send or Recv, or a pair of them with
 * one peer, has the same key on both sides. Other groups of Send and Recv have the same key on all ranks that
 * have exchanged in the same pattern equally often. */
static uint64_t key_of(const struct carried *carried)
{
    const struct collective *first = carried->first;
    uint64_t key = collective_mix(0, carried->communicator);
    if (!collective_is_p2p(carried->operation))
        return collective_mix(collective_mix(key, carried->operation), first->ordinal);
    bool is_pair = carried->has_one_peer && carried->sends <= 1 && carried->recvs <= 1 &&
                   first->has & COLLECTIVE_HAS_RANK && first->has & COLLECTIVE_HAS_PEER;
    key = collective_mix(key, COLLECTIVE_SEND_RECV);
    if (!is_pair)
        return collective_mix(key, carried->ordinal_max);
    uint32_t rank = first->rank, peer = (uint32_t)first->peer;
    if (carried->sends + carried->recvs == 1) { /* from, to, number */
        key = collective_mix(key, carried->sends ? rank : peer);
        key = collective_mix(key, carried->sends ? peer : rank);
        return collective_mix(key, first->ordinal);
    }
    bool is_lower = rank < peer; /* the lower rank, the higher rank, numbers of both directions */
    key = collective_mix(key, is_lower ? rank : peer);
    key = collective_mix(key, is_lower ? peer : rank);
    key = collective_mix(key, is_lower ? carried->send_ordinal : carried->recv_ordinal);
    return collective_mix(key, is_lower ? carried->recv_ordinal : carried->send_ordinal);
}

static void put_identity(struct span *span, const struct carried *carried)
{
    const struct collective *first = carried->first;
    if (carried->communicator)
        span_attr_pointer(span, ATTR(SEMCONV_COLLECTIVE_COMMUNICATOR), carried->communicator);
    if (!first)
        return;
    if (first->has & COLLECTIVE_HAS_ORDINAL) {
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_ORDINAL), (int64_t)first->ordinal);
        if (!carried->goes_on) /* other ranks have times */
            span_attr_pointer(span, ATTR(SEMCONV_COLLECTIVE_KEY), key_of(carried));
    }
    if (first->has & COLLECTIVE_HAS_RANKS)
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_RANKS), first->ranks);
    if (first->has & COLLECTIVE_HAS_RANK)
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_RANK), first->rank);
    if (first->has & COLLECTIVE_HAS_PEER && carried->has_one_peer)
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_PEER), first->peer);
    if (first->has & COLLECTIVE_HAS_ROOT)
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_ROOT), first->root);
    if (carried->count > 1)
        span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_GROUPED), carried->count);
}

static void put_bytes(struct span *span, const struct carried *carried)
{
    double seconds = (double)(span->end_ns - span->start_ns) / NS_PER_SECOND;
    if (!carried->first || !carried->knows_bytes)
        return;
    span_attr_int(span, ATTR(SEMCONV_COLLECTIVE_BYTES), (int64_t)carried->bytes);
    if (carried->goes_on)
        return;
    span_attr_double(span, ATTR(SEMCONV_COLLECTIVE_ALGBW), (double)carried->bytes / seconds);
    if (ranks_of(carried->first) || collective_is_p2p(carried->operation))
        span_attr_double(span, ATTR(SEMCONV_COLLECTIVE_BUSBW), carried->bus_bytes / seconds);
}

static const char *reduction_name(int32_t number)
{
    static const char *const names[] = {"sum", "prod", "max", "min", "avg"};
    return number >= 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : "custom";
}

static void put_how(const struct correlate *c, struct span *span, const struct carried *carried)
{
    const struct collective *first = carried->first;
    if (!first)
        return;
    const char *datatype = collectives_word(c->collectives, first->datatype);
    const char *algorithm = collectives_word(c->collectives, first->algorithm);
    const char *protocol = collectives_word(c->collectives, first->protocol);
    if (first->has & COLLECTIVE_HAS_REDUCTION)
        span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_REDUCTION), reduction_name(first->reduction));
    if (datatype)
        span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_DATATYPE), datatype);
    if (algorithm)
        span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_ALGORITHM), algorithm);
    if (protocol)
        span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_PROTOCOL), protocol);
}

static const char *source_of(const struct carried *carried)
{
    const struct collective *first = carried->first;
    if (!first || !(first->has & COLLECTIVE_HAS_COMMUNICATOR))
        return "kernel";
    return first->datatype ? "plugin" : "nvtx";
}

/* Whether the step's trace has the collective. Without a key it is chosen like other GPU work. */
static bool is_wanted(struct correlate *c, struct step *step, const struct carried *carried)
{
    bool has_key = carried->first && carried->first->has & COLLECTIVE_HAS_ORDINAL;
    return has_key ? step_spans_wants_collective(c, step, key_of(carried))
                   : step_spans_wants_work(c, step, c->span.end_ns - c->span.start_ns);
}

static void emit(struct correlate *c, const struct activity_record *record, const struct carried *carried,
                 struct step *step)
{
    struct span *span = &c->ended.span;
    struct session *session = &c->sessions.current;
    const char *text = collective_text(carried->operation);
    span_begin(span, c->span.start_ns, c->span.end_ns);
    memcpy(span->trace_id, c->span.trace_id, sizeof span->trace_id);
    memcpy(span->parent_span_id, c->span.parent_span_id, sizeof span->parent_span_id);
    session_next_span_id(session, span->span_id);
    span->flags = c->span.flags;
    span->trace_state = c->span.trace_state;
    span->resource = c->span.resource;
    span->name = collective_name(carried->operation);
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, ATTR(SEMCONV_CUDA_ACTIVITY), "collective");
    span_attr_int(span, ATTR(SEMCONV_CUDA_CONTEXT_ID), record->context_id);
    span_attr_int(span, ATTR(SEMCONV_CUDA_STREAM_ID), record->stream_id);
    if (text)
        span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_OPERATION), text);
    put_identity(span, carried);
    put_bytes(span, carried);
    put_how(c, span, carried);
    if (carried->goes_on)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_UNFINISHED), true);
    span_attr_string(span, ATTR(SEMCONV_COLLECTIVE_SOURCE), source_of(carried));
    if (!step_spans_emit_work(c, step, span, is_wanted(c, step, carried), 0))
        return;
    counter_add_alone(COUNTER_collectives, 1);
    if (session->is_open && memcmp(span->trace_id, session->trace_id, sizeof span->trace_id) == 0)
        session_cover(session, span->start_ns, span->end_ns);
    memcpy(c->span.parent_span_id, span->span_id, sizeof span->span_id);
}

/* Whether the call's copy runs a collective: NCCL's call has returned without launching a kernel, because it
 * used copy engines or has one rank. Before a kernel, NCCL also copies data of its own. */
static bool is_copy_of_collective(struct correlate *c, const struct pending_call *call)
{
    const struct collective *first = collectives_of(c->collectives, call);
    return first && first->is_closed && first->kernels == 0 && !first->is_taken;
}

bool collective_spans_communicates(struct correlate *c, const struct activity_record *record,
                                   const struct pending_call *call, enum collective_operation kernel)
{
    return kernel || (record->kind != ACTIVITY_KERNEL && call && call->flags & PENDING_COLLECTIVE &&
                      is_copy_of_collective(c, call));
}

void collective_spans_note_end(struct correlate *c, const struct activity_record *record,
                               const struct pending_call *call)
{
    bool is_kernel = record->kind == ACTIVITY_KERNEL && record->name;
    if (!call || !(call->flags & PENDING_COLLECTIVE) || !live_state_is_on())
        return;
    enum collective_operation kernel =
        is_kernel ? (enum collective_operation)kernel_names_resolve(c->names, record->name)->operation
                  : COLLECTIVE_NONE;
    if (collective_spans_communicates(c, record, call, kernel))
        (void)take(c, call, kernel ? kernel : COLLECTIVE_UNKNOWN);
}

bool collective_spans_wrap(struct correlate *c, const struct activity_record *record,
                           const struct pending_call *call, enum collective_operation kernel,
                           struct step *step)
{
    if (!collective_spans_communicates(c, record, call, kernel))
        return false;
    struct carried carried = {.operation = kernel, .count = 1};
    if (call && call->flags & PENDING_COLLECTIVE)
        carried = take(c, call, kernel ? kernel : COLLECTIVE_UNKNOWN);
    emit(c, record, &carried, step);
    return true;
}
