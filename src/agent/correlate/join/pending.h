/* Calls that a GPU record may still refer to, by correlation ID, with what their children need.
 *
 * CUPTI counts the IDs up, so the ID's low bits are the address: neighbors in time are neighbors in
 * memory. Four slots form a set. A new call takes its own slot, or another one of the set while the slot's
 * call is waiting. Answered calls are evicted before waiting ones, and evicted waiting ones are counted.
 * IDs wrap at 2^32: an entry older than an hour does not match.
 *
 * Entries are never deleted, only replaced, because a call can have many records (graphs). */
#ifndef CUSPAN_AGENT_CORRELATE_JOIN_PENDING_H
#define CUSPAN_AGENT_CORRELATE_JOIN_PENDING_H

#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum pending_flags {
    PENDING_SESSION = 1 << 8,    /* of the session, not of a request */
    PENDING_COLLECTIVE = 1 << 9, /* made by NCCL inside a collective */
    PENDING_EXPECTED = 1 << 16,
    PENDING_ANSWERED = 1 << 17,
    PENDING_UNSAMPLED = 1 << 18,
    PENDING_GRAPH = 1 << 19 /* a graph launch that expects a record */
};
#define PENDING_TRACE_FLAGS  0xff
#define PENDING_STREAM_SHIFT 20 /* 12 bits: index of the stream's name; 0: none */

struct pending_call {
    uint32_t correlation_id; /* 0: free */
    uint32_t flags;          /* W3C flags in the low byte, above them enum pending_flags */
    uint8_t trace_id[16];
    uint8_t span_id[8]; /* the call's; with `summary` the request's */
    uint64_t start_ns;
    const char *trace_state;     /* NUL-terminated or NULL; never freed */
    uint32_t account;            /* handle (accounts.h); 0: none */
    uint32_t collectives;        /* COLLECTIVE: handle of the first of its list (collectives.h) */
    uint32_t collectives_launch; /* COLLECTIVE: kernels of the list launched before */
    uint32_t place;              /* in profiles (code_profile.h); 0: none */
};
static_assert(sizeof(struct pending_call) == CACHE_LINE_BYTES, "a call is in one line");

struct pending_table;

enum status pending_create(uint32_t calls_max, struct pending_table **table) MUST_CHECK;
void pending_destroy(struct pending_table *table);

/* Prefetches the call's slot for pending_insert(). */
void pending_prefetch(const struct pending_table *table, uint32_t correlation_id);

/* Returns the call's entry. The caller fills all but ID and flags at once. NULL: the call expects no
 * record (PENDING_EXPECTED), and all slots of its set are waiting. */
struct pending_call *pending_insert(struct pending_table *table, uint32_t correlation_id, uint32_t flags);

/* The call has a record now. Returns whether it was waiting. */
bool pending_answer(struct pending_table *table, struct pending_call *call);

/* Returns how many calls are waiting. */
uint32_t pending_waiting(const struct pending_table *table);

/* At the end: counts the graph launches that are still waiting (lost_graph_record). */
void pending_finish(struct pending_table *table);

/* Returns the call with this ID if it can have caused work that started at `start_ns`, or NULL. */
struct pending_call *pending_find(struct pending_table *table, uint32_t correlation_id, uint64_t start_ns);

#endif
