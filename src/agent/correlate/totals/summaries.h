/* Open requests with `detail: summary`: requests with CUDA calls or ranges whose summary is not sent yet.
 * A bounded table by context (trace and span ID), ordered by last activity.
 *
 * A summary stays open while a thread has its context attached. If an SDK publishes the context, its end is
 * not seen before the thread's next call, so the summary is sent after idle_ms. */
#ifndef CUSPAN_AGENT_CORRELATE_TOTALS_SUMMARIES_H
#define CUSPAN_AGENT_CORRELATE_TOTALS_SUMMARIES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define SUMMARIES_MAX 4096

struct summary {
    uint8_t context[24];     /* trace and span ID of the request */
    uint32_t flags;          /* as in span.flags, of the request */
    const char *trace_state; /* NUL-terminated or NULL; read through tracestates_valid() */
    uint32_t account;        /* filled by the caller */
    uint32_t number;         /* of this request's summaries, from 1, while the request is remembered */
    uint32_t holders;        /* threads with the context attached */
    uint64_t active_ns;      /* last activity */
    uint32_t next_in_bucket, older, newer; /* index + 1 */
};

struct summaries;

enum status summaries_create(struct summaries **summaries) MUST_CHECK;
void summaries_destroy(struct summaries *summaries);

/* Returns the open summary of this context, or NULL. */
struct summary *summaries_find(struct summaries *summaries, const uint8_t context[24]);
/* Adds a summary, active now. The caller fills flags, trace_state and account. NULL: the table is full. */
struct summary *summaries_add(struct summaries *summaries, const uint8_t context[24], uint64_t now_ns);
/* Converts between a summary and its index for accounts.h. */
uint32_t summaries_index(const struct summaries *summaries, const struct summary *summary);
struct summary *summaries_at(struct summaries *summaries, uint32_t index);
/* Notes activity. `now_ns` never decreases. */
void summaries_touch(struct summaries *summaries, struct summary *summary, uint64_t now_ns);
/* The summary that is idle for longest, and the next one; NULL: none. */
struct summary *summaries_idlest(struct summaries *summaries);
struct summary *summaries_next_idle(struct summaries *summaries, const struct summary *summary);
/* Removes the summary. `sent`: as a span, so the request's next summary gets the next number. */
void summaries_remove(struct summaries *summaries, struct summary *summary, bool sent);

/* The table is half full: summaries should leave sooner. */
bool summaries_are_many(const struct summaries *summaries);

#endif
