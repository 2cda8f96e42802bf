/* Counts work for its range, the ranges around that, and its request or session. Emits summaries, and the
 * spans of ranges and sessions that waited for GPU records after their end.
 *
 * A call may never get a record, for example while a stream is captured. Its ranges and its session
 * then wait for wait_ms plus flush_interval_ms. */
#ifndef CUSPAN_AGENT_CORRELATE_COUNTING_H
#define CUSPAN_AGENT_CORRELATE_COUNTING_H

#include "base/status.h"
#include "agent/correlate/join/entry_queue.h"
#include "agent/correlate/join/gpu_work.h"
#include "agent/correlate/totals/accounts.h"
#include "model/record.h"

#include <stdbool.h>

struct correlate;
struct thread_state;

struct counting;

enum status counting_init(struct counting *counting, bool is_summary,
                          uint32_t (*session_account)(struct correlate *, uint64_t time_ns)) MUST_CHECK;
void counting_deinit(struct counting *counting);

/* Where work belongs, to open a summary for it. */
struct origin {
    const uint8_t *context; /* trace and span ID of the request; NULL: the session's */
    uint32_t flags;
    const char *trace_state;
    uint64_t time_ns;
};

/* Returns an account's handle, or 0. To free one, emits ranges and sessions that have ended and still wait.
 */
uint32_t counting_open(struct correlate *correlate, uint32_t outer);
/* The same for a request or session, which has no account around it. */
uint32_t counting_open_root(struct correlate *correlate);
/* With `summary`: returns the account of the thread's request. The thread holds it from now on. */
uint32_t counting_hold(struct correlate *correlate, struct thread_state *state);
/* The thread leaves its request. */
void counting_release(struct correlate *correlate, struct thread_state *state);

/* `is_due`: its GPU record is still missing. */
void counting_add_call(struct correlate *correlate, uint32_t account, const struct origin *origin,
                       const struct call_info *info, const struct call_record *call, bool is_due);
/* The account is the call's, or the session's if the call is unknown. */
void counting_add_work(struct correlate *correlate, uint32_t account, const struct gpu_work *work);
/* A call, a range or GPU work of this account has no span in the step's trace, because the step has too many.
 */
void counting_note_left_out(struct correlate *correlate, uint32_t account);
/* The same, and it has no span at all. */
void counting_leave_out(struct correlate *correlate, uint32_t account);
/* The first record of a call with this account has come. */
void counting_answer(struct correlate *correlate, uint32_t account);

/* Adds the account's totals to `ended.span` and emits it. `events` holds the span's events and has room
 * for `events_max`. */
void counting_emit(struct correlate *correlate, struct account *account, struct span_event *events,
                   uint32_t events_max);
/* With `summary`: puts the error of the first failed call on `ended.span`. */
void counting_put_error(struct correlate *correlate, const struct totals *totals);
/* A range or session that has ended lingers until its account's GPU records have come; then `emit` makes its
 * span. Returns `bytes` for the caller to fill at once; may evict others. NULL: it is too large. */
typedef void counting_emit_ended(struct correlate *correlate, struct account *account, const void *body);
void *counting_linger(struct correlate *correlate, const struct account *account, size_t bytes,
                      counting_emit_ended *emit);
/* Whether many summaries wait for GPU records; at most once a sweep interval. */
bool counting_wants_records(struct correlate *correlate);

/* Emits what has ended and expects no work, or has waited too long; at the end all. */
void counting_sweep(struct correlate *correlate);

#endif
