/* Counts calls and GPU work for the range around them, the ranges around that one, and the request or
 * session. Emits summaries, and the spans of ended ranges and sessions that waited for GPU records.
 *
 * A call may never get a record, for example while a stream is captured. Its ranges and its session then wait
 * for wait_ms plus flush_interval_ms. */
#pragma once

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

/* The request or session that work belongs to, to open a summary for it. */
struct origin {
    const uint8_t *context; /* trace and span ID of the request; NULL: the session's */
    uint32_t flags;
    const char *trace_state;
    uint64_t time_ns;
};

/* Opens an account inside the account `outer` (0: none) and returns its handle; 0: none is free. If all are
 * used, first emits ended ranges and sessions that still wait for GPU records. */
uint32_t counting_open(struct correlate *correlate, uint32_t outer);
/* Opens the account of a request or session, which has no account around it. Returns as counting_open(). */
uint32_t counting_open_root(struct correlate *correlate);
/* Only with `detail: summary`: returns the account of the thread's request; 0: none is free. The thread holds
 * the request's summary until counting_release(). */
uint32_t counting_hold(struct correlate *correlate, struct thread_state *state);
/* Ends the thread's hold of its request's summary, because its context changes or the thread has ended. */
void counting_release(struct correlate *correlate, struct thread_state *state);

/* Counts a call. `is_due`: the call's GPU record is still to come. */
void counting_add_call(struct correlate *correlate, uint32_t account, const struct origin *origin,
                       const struct call_info *info, const struct call_record *call, bool is_due);
/* Counts GPU work. `account` is that of the work's call, or the session's if the call is unknown. */
void counting_add_work(struct correlate *correlate, uint32_t account, const struct gpu_work *work);
/* Counts a call, a range or GPU work that has no span in the step's trace, because the step has too many. */
void counting_note_left_out(struct correlate *correlate, uint32_t account);
/* Like counting_note_left_out(), for one that has no span in any trace. */
void counting_leave_out(struct correlate *correlate, uint32_t account);
/* Notes that the first GPU record of a call with this account has arrived: one record less is due. */
void counting_answer(struct correlate *correlate, uint32_t account);

/* Adds the account's totals to correlate->ended.span and emits that span. `events` holds the span's events
 * and has room for `events_max`. */
void counting_emit(struct correlate *correlate, struct account *account, struct span_event *events,
                   uint32_t events_max);
/* Only with `detail: summary`: sets the error of correlate->ended.span by the first failed call. */
void counting_put_error(struct correlate *correlate, const struct totals *totals);
/* Keeps an ended range or session until its account's GPU records have arrived. Then `emit` makes its span
 * from the body. Returns the body of `bytes` bytes, which the caller fills at once and the queue owns; NULL:
 * it is too large. Emits other lingering entries early if the queue is full. */
typedef void counting_emit_ended(struct correlate *correlate, struct account *account, const void *body);
void *counting_linger(struct correlate *correlate, const struct account *account, size_t bytes,
                      counting_emit_ended *emit);
/* Whether many summaries wait for GPU records; at most once a sweep interval. */
bool counting_wants_records(struct correlate *correlate);

/* Emits lingering ranges, sessions and summaries that expect no more GPU work or have waited too long; at
 * exit, all. */
void counting_sweep(struct correlate *correlate);
