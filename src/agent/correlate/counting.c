#include "agent/correlate/counting.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/correlate/names/kernel_names.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/totals/step_stats.h"
#include "agent/correlate/totals/summaries.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define SETTLE_NS                                                                                            \
    (100 * NS_PER_MS) /* tasks of an event loop mostly return to their request within this time */
#define LINGERING_BYTES (1024 * 1024)
#define MAKE_WAY_MAX    64 /* lingering entries emitted early at once */
#define SUMMARY_NAME    "cuda summary"

enum status counting_init(struct counting *counting, bool is_summary,
                          uint32_t (*session_account)(struct correlate *, uint64_t time_ns))
{
    counting->session_account = session_account;
    enum status status = accounts_create(&counting->accounts);
    if (status == STATUS_OK)
        status = entry_queue_create(LINGERING_BYTES, &counting->lingering);
    if (status == STATUS_OK && is_summary)
        status = summaries_create(&counting->summaries);
    return status;
}

void counting_deinit(struct counting *counting)
{
    accounts_destroy(counting->accounts);
    free(counting->lingering);
    free(counting->summaries);
}

static struct account *account_at(struct correlate *c, uint32_t handle)
{
    return accounts_find(c->counting.accounts, handle);
}

void counting_put_error(struct correlate *c, const struct totals *totals)
{
    if (c->is_summary && totals->errors)
        spans_put_error(&c->ended.span, (enum call_domain)totals->first_error_domain, totals->first_error);
}

void counting_emit(struct correlate *c, struct account *account, struct span_event *events,
                   uint32_t events_max)
{
    struct span *span = &c->ended.span;
    totals_write(accounts_pool(c->counting.accounts), &account->totals, &c->devices, span, events,
                 events_max);
    spans_emit(c, span);
}

/* Emits the summary and frees it. A request in which only ranges were opened gets no span. */
static void send_summary(struct correlate *c, struct summary *summary)
{
    struct account *account = account_at(c, summary->account);
    const struct totals *totals = &account->totals;
    bool sent = totals->first_ns != 0;
    if (sent) {
        struct span *span = &c->ended.span;
        span_begin(span, totals->first_ns,
                   totals->last_ns > totals->first_ns ? totals->last_ns : totals->first_ns + 1);
        session_next_span_id(&c->sessions.current, span->span_id);
        spans_put_below(c, span, summary->context, summary->context + 16, summary->flags,
                        summary->trace_state);
        span->name = SUMMARY_NAME;
        span->name_len = strlen(SUMMARY_NAME);
        span_attr_int(span, ATTR(SEMCONV_CUDA_SUMMARY_NUMBER), summary->number);
        counting_put_error(c, totals);
        counter_add_alone(COUNTER_summaries, 1);
        counting_emit(c, account, c->ended.events, SPAN_EVENTS_MAX);
    }
    accounts_close(c->counting.accounts, account);
    summaries_remove(c->counting.summaries, summary, sent);
}

struct lingering {
    counting_emit_ended *emit;
    uint32_t account; /* handle */
    uint64_t body[];
};

static void emit_lingering(struct correlate *c, const struct lingering *lingering)
{
    struct account *account = account_at(c, lingering->account);
    lingering->emit(c, account, lingering->body);
    accounts_close(c->counting.accounts, account);
}

struct making_way {
    struct correlate *c;
    uint32_t count;
};

/* Marks the account and those around it as incomplete if GPU records are due, which will be missing in all of
 * them. */
static void mark_incomplete(struct correlate *c, struct account *account)
{
    if (account->due)
        counter_add(COUNTER_totals_incomplete, 1);
    for (bool is_missing = account->due; account && is_missing; account = account_at(c, account->outer))
        account->totals.is_incomplete = true;
}

static bool leave_early(void *context, const void *entry, uint64_t ended_ns)
{
    const struct lingering *lingering = entry;
    struct making_way *way = context;
    if (way->count == MAKE_WAY_MAX)
        return false;
    way->count++;
    mark_incomplete(way->c, account_at(way->c, lingering->account));
    emit_lingering(way->c, lingering);
    return true;
}

static bool make_way(struct correlate *c)
{
    struct making_way way = {.c = c};
    entry_queue_sweep(c->counting.lingering, leave_early, &way);
    return way.count > 0;
}

static void send_idlest(struct correlate *c)
{
    counter_add(COUNTER_summaries_early, 1);
    send_summary(c, summaries_idlest(c->counting.summaries));
}

void *counting_linger(struct correlate *c, const struct account *account, size_t bytes,
                      counting_emit_ended *emit)
{
    size_t entry_bytes = sizeof(struct lingering) + bytes;
    struct lingering *lingering = entry_queue_push(c->counting.lingering, entry_bytes, c->now_ns);
    while (!lingering && make_way(c))
        lingering = entry_queue_push(c->counting.lingering, entry_bytes, c->now_ns);
    if (!lingering)
        return NULL;
    *lingering = (struct lingering){.emit = emit, .account = account->handle};
    return lingering->body;
}

uint32_t counting_open(struct correlate *c, uint32_t outer)
{
    struct account *account = accounts_open(c->counting.accounts, outer);
    if (!account && make_way(c))
        account = accounts_open(c->counting.accounts, outer);
    return account ? account->handle : 0;
}

uint32_t counting_open_root(struct correlate *c)
{
    uint32_t handle = counting_open(c, 0);
    if (handle)
        account_at(c, handle)->is_root = true;
    return handle;
}

static struct summary *open_summary(struct correlate *c, const struct origin *origin)
{
    struct summary *summary = summaries_find(c->counting.summaries, origin->context);
    if (summary)
        return summary;
    uint32_t account = counting_open_root(c);
    if (!account)
        return NULL;
    summary = summaries_add(c->counting.summaries, origin->context, c->now_ns);
    if (!summary) {
        send_idlest(c);
        summary = summaries_add(c->counting.summaries, origin->context, c->now_ns);
    }
    summary->flags = origin->flags;
    summary->trace_state = origin->trace_state;
    summary->account = account;
    account_at(c, account)->summary = summaries_index(c->counting.summaries, summary);
    return summary;
}

uint32_t counting_hold(struct correlate *c, struct thread_state *state)
{
    if (account_at(c, state->summary))
        return state->summary;
    struct origin origin = {.context = state->context,
                            .flags = (state->flags & TRACE_FLAG_RANDOM) | TRACE_FLAG_SAMPLED,
                            .trace_state = state->trace_state};
    struct summary *summary = open_summary(c, &origin);
    if (!summary)
        return 0;
    summary->holders++;
    state->summary = summary->account;
    return state->summary;
}

void counting_release(struct correlate *c, struct thread_state *state)
{
    struct account *account = account_at(c, state->summary);
    state->summary = 0;
    if (!account)
        return;
    struct summary *summary = summaries_at(c->counting.summaries, account->summary);
    summary->holders--;
    summaries_touch(c->counting.summaries, summary, c->now_ns);
}

/* Returns the outermost account if the original one has closed: another summary of the request, or the open
 * session's account. NULL: none, and always without `detail: summary`, where calls and GPU work have spans.
 */
static struct account *root_of(struct correlate *c, const struct origin *origin)
{
    if (!c->is_summary)
        return NULL;
    if (!origin->context)
        return account_at(c, c->counting.session_account(c, origin->time_ns));
    struct summary *summary = open_summary(c, origin);
    return summary ? account_at(c, summary->account) : NULL;
}

/* Returns the account around this one; NULL: none. */
static struct account *around(struct correlate *c, struct account *account, const struct origin *origin)
{
    struct account *outer = account_at(c, account->outer);
    if (!outer && !account->is_root && (outer = root_of(c, origin)))
        account->outer = outer->handle;
    return outer;
}

static struct account *innermost(struct correlate *c, uint32_t handle, const struct origin *origin)
{
    struct account *account = account_at(c, handle);
    return account ? account : root_of(c, origin);
}

static void touch(struct correlate *c, const struct account *account)
{
    if (account->summary)
        summaries_touch(c->counting.summaries, summaries_at(c->counting.summaries, account->summary),
                        c->now_ns);
}

void counting_add_call(struct correlate *c, uint32_t handle, const struct origin *origin,
                       const struct call_info *info, const struct call_record *call, bool is_due)
{
    for (struct account *account = innermost(c, handle, origin); account;
         account = around(c, account, origin)) {
        totals_add_call(&account->totals, info, call);
        if (__builtin_expect(account->measured != 0, 0))
            step_stats_add_call(c->step_stats, account->measured, info, call);
        account->due += is_due;
        touch(c, account);
    }
}

void counting_answer(struct correlate *c, uint32_t handle)
{
    for (struct account *account = account_at(c, handle); account; account = account_at(c, account->outer))
        account->due -= account->due > 0;
}

void counting_note_left_out(struct correlate *c, uint32_t handle)
{
    struct account *account = account_at(c, handle);
    while (account && account_at(c, account->outer))
        account = account_at(c, account->outer);
    if (account)
        account->left_out++;
}

void counting_leave_out(struct correlate *c, uint32_t handle)
{
    counting_note_left_out(c, handle);
    counter_add_alone(COUNTER_spans_left_out, 1);
}

static uint32_t label_of(struct correlate *c, const struct activity_record *record)
{
    const struct kernel_name *name = kernel_names_resolve(c->names, record->name);
    return totals_label(accounts_pool(c->counting.accounts), name->text, name->text_len);
}

void counting_add_work(struct correlate *c, uint32_t handle, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    const struct pending_call *call = work->call;
    struct origin origin = {.time_ns = record->start_ns};
    uint64_t length_ns = record->end_ns - record->start_ns;
    uint8_t context[24];
    uint32_t label = 0;
    if (call && !(call->flags & PENDING_SESSION)) {
        memcpy(context, call->trace_id, 16);
        memcpy(context + 16, call->span_id, 8);
        origin.context = context;
        origin.flags = call->flags & PENDING_TRACE_FLAGS;
        origin.trace_state = call->trace_state;
    }
    for (struct account *account = innermost(c, handle, &origin); account;
         account = around(c, account, &origin)) {
        totals_add_work(accounts_pool(c->counting.accounts), &account->totals, work);
        if (account->measured)
            step_stats_add_work(c->step_stats, account->measured, work);
        if (record->kind == ACTIVITY_KERNEL && record->name &&
            totals_wants_kernel(&account->totals, length_ns)) {
            label = label ? label : label_of(c, record);
            totals_add_kernel(&account->totals, label, length_ns);
        }
        touch(c, account);
    }
}

static bool leave_if_due(void *context, const void *entry, uint64_t ended_ns)
{
    struct correlate *c = context;
    const struct lingering *lingering = entry;
    uint64_t wait_ns =
        ((uint64_t)c->options.settings->correlation.wait_ms + c->options.settings->cupti.flush_interval_ms) *
        NS_PER_MS;
    if (!c->is_finishing && account_at(c, lingering->account)->due && c->now_ns < ended_ns + wait_ns)
        return false;
    emit_lingering(c, lingering);
    return true;
}

/* Whether to send the summary: no thread holds it and no GPU record is due, or it has been idle for long.
 * While a record is due, that time includes the one for which CUPTI keeps records. */
static bool summary_is_due(struct correlate *c, const struct summary *summary)
{
    uint32_t due = account_at(c, summary->account)->due;
    uint64_t idle_ms = (uint64_t)c->options.settings->summary.idle_ms +
                       (due ? c->options.settings->cupti.flush_interval_ms : 0);
    return c->is_finishing || (!summary->holders && !due) ||
           c->now_ns >= summary->active_ns + idle_ms * NS_PER_MS;
}

static void sweep_summaries(struct correlate *c)
{
    struct summary *summary = summaries_idlest(c->counting.summaries), *next;
    uint64_t settle_ns = c->is_finishing || summaries_are_many(c->counting.summaries) ? 0 : SETTLE_NS;
    for (; summary && c->now_ns >= summary->active_ns + settle_ns; summary = next) {
        next = summaries_next_idle(c->counting.summaries, summary);
        if (summary_is_due(c, summary))
            send_summary(c, summary);
    }
}

void counting_sweep(struct correlate *c)
{
    entry_queue_sweep(c->counting.lingering, leave_if_due, c);
    if (c->counting.summaries)
        sweep_summaries(c);
}

bool counting_wants_records(struct correlate *c)
{
    struct counting *counting = &c->counting;
    if (!counting->summaries || !summaries_are_many(counting->summaries) ||
        c->now_ns < counting->asked_for_records_ns + SWEEP_INTERVAL_NS)
        return false;
    counting->asked_for_records_ns = c->now_ns;
    return true;
}
