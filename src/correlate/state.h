/* What the parts of correlate share: its state, and how a span begins and leaves. Seen by these parts alone;
 * correlate.h is for everyone else. */
#ifndef CUSPAN_CORRELATE_STATE_H
#define CUSPAN_CORRELATE_STATE_H

#include "correlate/totals/accounts.h"
#include "correlate/spans/attributes.h"
#include "correlate/trace/context_errors.h"
#include "correlate/correlate.h"
#include "correlate/trace/devices.h"
#include "correlate/totals/program_stats.h"
#include "correlate/join/gpu_counted.h"
#include "correlate/join/graphs.h"
#include "correlate/join/lingering.h"
#include "correlate/spans/kernel_names.h"
#include "correlate/trace/named_objects.h"
#include "correlate/totals/session_overhead.h"
#include "correlate/trace/parent.h"
#include "correlate/join/pending.h"
#include "correlate/trace/ranges.h"
#include "correlate/trace/session.h"
#include "correlate/spans/span_shared.h"
#include "correlate/trace/tracestates.h"
#include "correlate/totals/summaries.h"
#include "correlate/join/waiting.h"
#include "correlate/trace/thread_state.h"

#define RESOURCES_HELD 32

struct held_resource {
    uint64_t tid; /* 0: free */
    struct span_event event;
};

#define DECISIONS_KEPT 1024

struct decision {
    uint8_t trace_id[16];
    bool is_sampled;
};

/* Scratch for ranges, marks, sessions and summaries. They may have to leave in the middle of a call's span,
 * so they don't share its scratch. */
struct ended_span {
    struct span span;
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event events[SPAN_EVENTS_MAX];
    struct range range;
    struct range_events range_events;
    struct attr_key keys[SPAN_ATTRS_MAX];
    char message[RANGE_TEXT_BYTES + 1];
};

struct correlate {
    const struct settings *settings;
    struct correlate_sink sink;
    bool expects_calls, expects_graphs, expects_devices;
    bool (*slept_at)(uint64_t time_ns); /* or NULL */
    uint64_t asked_for_summaries_ns;
    bool lacks_device, has_asked_for_device; /* work waits for its device's description */
    bool is_kind_filtered[ACTIVITY_KINDS_MAX];
    const char *stack; /* of the call that comes next, borrowed; NULL: none */
    bool is_summary;   /* the detail: calls and their work have no spans */
    struct session session;
    struct own_cost own_cost;
    struct pending_table *pending;
    struct waiting_queue *waiting;
    struct workers *workers;
    struct ranges *ranges;
    struct accounts *accounts;
    struct summaries *summaries; /* NULL unless is_summary */
    struct lingering *lingering;
    uint32_t session_account; /* handle; 0: none */
    struct states *states;
    struct objects *objects;
    struct decision decisions[DECISIONS_KEPT]; /* on traces of contexts, where their flags don't decide */
    struct names *names;
    struct shared_table *shared;
    struct devices devices;
    struct context_errors context_errors;
    struct graphs *graphs;
    struct figures_store *figures;
    bool figures_are_on; /* as of the last round */
    struct attribute_plan plan;
    struct gpu_counted *gpu_counted; /* NULL: counters are off */
    uint32_t held_count;
    struct held_resource held[RESOURCES_HELD]; /* events on their way to the call that they happened in */
    uint64_t next_sweep_ns, now_ns;
    struct span span; /* of a call or its GPU work */
    struct span_link link;
    struct span_event call_events[8];
    struct ended_span ended;
};

void correlate_emit(struct correlate *correlate, const struct span *span);
/* The session for work that belongs to nothing else; one that is due is closed before. */
struct session *correlate_session_at(struct correlate *correlate, uint64_t time_ns);

void correlate_begin_span(struct span *span, uint64_t start_ns, uint64_t end_ns);
void correlate_put_below(const struct correlate *correlate, struct span *span, const uint8_t *trace_id,
                         const uint8_t *parent_span_id, uint32_t flags, const char *trace_state);
void correlate_put_below_parent(const struct correlate *correlate, struct span *span,
                                const struct parent *parent);
/* The thread's ID and name; the name that the program itself gave goes before the kernel's. */
void correlate_put_thread(const struct correlate *correlate, struct span *span,
                          const struct thread_info *thread);

/* Status, message and error.type by what the call returned. */
void correlate_put_error(struct span *span, enum call_domain domain, int32_t result);

/* The name that the program gave the context, by CUPTI's number of it. */
void correlate_put_context_name(const struct correlate *correlate, struct span *span, uint32_t context_id);

/* work.c: what a thread works for. What a dead thread left open is closed when its slot is the next one's. */
struct worker *work_of(struct correlate *correlate, const struct thread_info *thread, uint64_t now_ns);
/* The innermost open range, as long as the context in which it began is still the thread's; NULL. */
struct range *work_innermost_range(const struct correlate *correlate, const struct worker *worker);
/* The first that exists: the innermost open range, the thread's context, the session. */
struct parent work_parent(struct correlate *correlate, struct worker *worker, uint64_t time_ns);
/* The session spans what belongs to its trace. Unsampled ones count, too: sessions end after as many spans.
 */
void work_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns, uint64_t end_ns);

/* counting.c: work is counted for its range, the ranges around that, and its request or session. */
struct origin {
    const uint8_t *context; /* trace and span ID of the request; NULL: the session's */
    uint32_t flags;
    const char *trace_state;
    uint64_t time_ns;
};
/* An account, or 0. What has ended and still waits may leave early for it. */
uint32_t counting_open(struct correlate *correlate, uint32_t outer);
/* The same for a request or a session, around which there is nothing. */
uint32_t counting_open_root(struct correlate *correlate);
/* With `summary`: the account of the request that the thread works for, which it holds from now on. */
uint32_t counting_hold(struct correlate *correlate, struct worker *worker);
/* The thread turns to another request, or to none. */
void counting_release(struct correlate *correlate, struct worker *worker);
/* `is_due`: its GPU record is still to come. */
void counting_add_call(struct correlate *correlate, uint32_t account, const struct origin *origin,
                       const struct call_info *info, const struct call_record *call, bool is_due);
/* `call` NULL: it is not known, and the session's account has the work. */
void counting_add_work(struct correlate *correlate, const struct activity_record *record,
                       const struct pending_call *call);
/* The first record of a call with this account has come. */
void counting_answer(struct correlate *correlate, uint32_t account);
/* Adds the account's totals to `ended.span` and emits it. `events` has room for `events_max`, and holds the
 * span's. */
void counting_emit(struct correlate *correlate, struct account *account, struct span_event *events,
                   uint32_t events_max);
/* Where calls have no spans, theirs is the error of the first that failed. */
void counting_put_error(struct correlate *correlate, const struct totals *totals);
/* What has ended goes, if it waits for nothing any more or has waited long enough; or all. */
void counting_sweep(struct correlate *correlate);
void counting_finish(struct correlate *correlate);
/* A body for lingering.h, for which others may have to go early; NULL: it is too large. */
void *counting_linger(struct correlate *correlate, const struct lingering_head *head);

/* range_spans.c: `end` NULL: nobody ended it. The range's place is free afterwards. */
void range_spans_close(struct correlate *correlate, struct range *range, uint64_t end_ns,
                       const struct range_record *end);
/* All that are still open. */
void range_spans_finish(struct correlate *correlate);

/* activity_spans.c: lets waiting records find their calls, and gives up those that have waited long enough,
 * or all. */
void activity_spans_sweep(struct correlate *correlate);
void activity_spans_finish(struct correlate *correlate);
/* Tells the outputs of a device again that bears another name now, if they know it. */
void activity_spans_name_device(struct correlate *correlate, uint64_t device);

#endif
