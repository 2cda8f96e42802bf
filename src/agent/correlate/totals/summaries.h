/* Keeps the open summaries of `detail: summary`: those of requests with CUDA calls or ranges that are not
 * sent yet. A bounded table by context (trace and span ID), ordered by last activity.
 *
 * A summary stays open while a thread has its context attached. If an SDK publishes the context, cuspan sees
 * the context's end only at the thread's next call, so the summary is sent after idle_ms. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define SUMMARIES_MAX 4096

struct summary {
    uint8_t context[24];     /* trace and span ID of the request */
    uint32_t flags;          /* as in span.flags, of the request */
    const char *trace_state; /* NUL-terminated or NULL; read through tracestates_valid() */
    uint32_t account;        /* handle (accounts.h), set by the caller */
    uint32_t number;    /* number among the request's summaries, from 1, while the request is remembered */
    uint32_t holders;   /* threads with the context attached */
    uint64_t active_ns; /* last activity */
    uint32_t next_in_bucket, older, newer; /* index + 1 */
};

struct summaries;

/* The caller owns the table: free(). */
enum status summaries_create(struct summaries **summaries) MUST_CHECK;

/* Returns the open summary of this context, or NULL. */
struct summary *summaries_find(struct summaries *summaries, const uint8_t context[24]);
/* Adds a summary whose last activity is now, owned by the table. The caller fills flags, trace_state and
 * account. NULL: the table is full. */
struct summary *summaries_add(struct summaries *summaries, const uint8_t context[24], uint64_t now_ns);
/* Converts between a summary and its index for accounts.h. */
uint32_t summaries_index(const struct summaries *summaries, const struct summary *summary);
struct summary *summaries_at(struct summaries *summaries, uint32_t index);
/* Notes that the summary is active now. `now_ns` must not decrease between calls. */
void summaries_touch(struct summaries *summaries, struct summary *summary, uint64_t now_ns);
/* Return the summary that has been idle for longest, and the one after `summary`; NULL: none. */
struct summary *summaries_idlest(struct summaries *summaries);
struct summary *summaries_next_idle(struct summaries *summaries, const struct summary *summary);
/* Removes the summary. `sent`: it was sent as a span, so the request's next summary gets the next number. */
void summaries_remove(struct summaries *summaries, struct summary *summary, bool sent);

/* Whether the table is half full, so that summaries should be sent sooner. */
bool summaries_are_many(const struct summaries *summaries);
