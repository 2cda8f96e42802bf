/* The requests of the detail `summary`: those that have called CUDA, or opened a range, and whose summary has
 * not left yet. A bounded table by the request's context (trace and span ID), in the order of their last
 * activity. */
#ifndef CUSPAN_CORRELATE_SUMMARIES_H
#define CUSPAN_CORRELATE_SUMMARIES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define SUMMARIES_MAX 4096

struct summary {
    uint8_t context[24];     /* trace and span ID of the request */
    uint32_t flags;          /* as in span.flags, of the request */
    const char *trace_state; /* NUL-terminated or NULL; read through tracestates_valid() */
    uint32_t account;        /* handle; of the caller's making */
    uint32_t number;         /* of the summaries of this request, from 1, as far as one is remembered */
    uint32_t holders;        /* threads that have the context attached */
    uint64_t active_ns;      /* something happened last */
    uint32_t next_in_bucket, older, newer; /* index + 1 */
};

struct summaries;

enum status summaries_create(struct summaries **summaries) MUST_CHECK;
void summaries_destroy(struct summaries *summaries);

/* The open one of this context, or NULL. */
struct summary *summaries_find(struct summaries *summaries, const uint8_t context[24]);
/* A new one, active now, of which the caller fills flags, trace_state and account. NULL: the table is full.
 */
struct summary *summaries_add(struct summaries *summaries, const uint8_t context[24], uint64_t now_ns);
/* Its number, for an account; and back. */
uint32_t summaries_index(const struct summaries *summaries, const struct summary *summary);
struct summary *summaries_at(struct summaries *summaries, uint32_t index);
/* Something happened. `now_ns` never goes back. */
void summaries_touch(struct summaries *summaries, struct summary *summary, uint64_t now_ns);
/* The one in which nothing happened for longest, and the one after it; NULL: there is none. */
struct summary *summaries_idlest(struct summaries *summaries);
struct summary *summaries_next_idle(struct summaries *summaries, const struct summary *summary);
/* It has left, `sent` if as a span: a further one of the same request has the next number. */
void summaries_remove(struct summaries *summaries, struct summary *summary, bool sent);

/* The table is half full: it is time to let some leave sooner than they would. */
bool summaries_are_many(const struct summaries *summaries);

#endif
