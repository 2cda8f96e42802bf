/* Calls that can still be asked for by a GPU record: what of them a child needs, by correlation ID.
 *
 * CUPTI counts the IDs up, so the table is addressed by the ID's low bits: neighbours in time are neighbours
 * in memory. Four of them are a set: where the call before in a place still waits, another of the set makes
 * room. A call that has had its record goes before one that waits; one given up while waiting is counted. IDs
 * come round after 2^32: an entry older than an hour is no match. */
#ifndef CUSPAN_CORRELATE_PENDING_H
#define CUSPAN_CORRELATE_PENDING_H

#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum pending_flags {
    PENDING_SESSION = 1 << 8, /* it belongs to no request */
    PENDING_EXPECTED = 1 << 16,
    PENDING_ANSWERED = 1 << 17,
    PENDING_UNSAMPLED = 1 << 18,
    PENDING_GRAPH = 1 << 19 /* a graph launch that is to have a record */
};
#define PENDING_TRACE_FLAGS  0xff
#define PENDING_STREAM_SHIFT 20 /* above it, 12 bits: the index of the stream's name; 0: none */

struct pending_call {
    uint32_t correlation_id; /* 0: free */
    uint32_t flags;          /* W3C flags in the low byte, above them enum pending_flags */
    uint8_t trace_id[16];
    uint8_t span_id[8]; /* the call's; where calls have no spans, that of the request */
    uint64_t start_ns;
    const char *trace_state; /* NUL-terminated or NULL; lives as long as the process */
    uint32_t account;        /* handle (accounts.h); 0: none */
    uint32_t reserved[3];
};
static_assert(sizeof(struct pending_call) == CACHE_LINE_BYTES, "a call is in one line");

struct pending_table;

enum status pending_create(uint32_t calls_max, struct pending_table **table) MUST_CHECK;
void pending_destroy(struct pending_table *table);

/* An entry for the call will be wanted soon: its place is fetched from memory meanwhile. */
void pending_foresee(const struct pending_table *table, uint32_t correlation_id);

/* An entry for the call, of which the caller fills at once all but ID and flags. NULL: the call expects no
 * record (PENDING_EXPECTED), and those that have its place still wait for theirs. */
struct pending_call *pending_insert(struct pending_table *table, uint32_t correlation_id, uint32_t flags);

/* The call has had a record. True: it had waited for it. */
bool pending_answer(struct pending_table *table, struct pending_call *call);

/* How many wait for theirs. */
uint32_t pending_waiting(const struct pending_table *table);

/* No more records come: counts the graph launches that still wait (lost_graph_record). */
void pending_finish(struct pending_table *table);

/* The call with this ID that could have caused something that began at `start_ns`, or NULL. */
struct pending_call *pending_find(struct pending_table *table, uint32_t correlation_id, uint64_t start_ns);

#endif
