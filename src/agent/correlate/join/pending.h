/* Keeps the calls to which a GPU record may still refer, by correlation ID, with the values that their
 * children's spans need.
 *
 * CUPTI counts the IDs up, so the ID's low bits are the address: neighbors in time are neighbors in memory.
 * Four slots form a set. A new call takes its own slot, or another slot of the set if its own holds a waiting
 * call. Answered calls are evicted before waiting ones, and evicted waiting ones are counted. IDs wrap at
 * 2^32: an entry older than an hour does not match.
 *
 * Entries are never deleted, only replaced, because a call can have many records (graphs). */
#pragma once

#include "base/limits.h"
#include "base/status.h"
#include "model/hang/live_state.h"

#include <stdbool.h>
#include <stdint.h>

enum pending_flags {
    PENDING_SESSION = 1 << 8,    /* the call belongs to the session, not to a request */
    PENDING_COLLECTIVE = 1 << 9, /* NCCL made the call inside a collective */
    PENDING_KERNEL = 1 << 10,    /* the call launches a kernel or graph, so that a record must come */
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
    uint8_t span_id[8]; /* the call's; with `detail: summary` the request's */
    uint64_t start_ns;
    const char *trace_state;     /* NUL-terminated or NULL; never freed */
    uint32_t account;            /* handle (accounts.h); 0: none */
    uint32_t collectives;        /* with PENDING_COLLECTIVE: serial of its list's first collective */
    uint32_t collectives_launch; /* with PENDING_COLLECTIVE: its list's earlier kernel launches */
    uint32_t place;              /* its number in profiles (code_profile.h); 0: none */
};
static_assert(sizeof(struct pending_call) == CACHE_LINE_BYTES, "a call is in one line");

/* The oldest launch of a kernel that has not ended. */
struct gpu_left {
    enum live_work kind;
    uint64_t start_ns; /* as in spans */
};

struct pending_table;

enum status pending_create(uint32_t calls_max, struct pending_table **table) MUST_CHECK;
void pending_destroy(struct pending_table *table);

/* Prefetches the call's slot for pending_insert(). */
void pending_prefetch(const struct pending_table *table, uint32_t correlation_id);

/* Adds a call and returns its entry, which the table owns. The caller fills all but ID and flags at once.
 * NULL: the call expects no record (PENDING_EXPECTED is not set), and all slots of its set hold waiting
 * calls. */
struct pending_call *pending_insert(struct pending_table *table, uint32_t correlation_id, uint32_t flags);

/* Notes that a GPU record of the call has arrived. Returns whether the call was waiting. */
bool pending_answer(struct pending_table *table, struct pending_call *call);

/* Returns how many calls are waiting. */
uint32_t pending_waiting(const struct pending_table *table);

/* Returns the oldest call with PENDING_KERNEL that waits; NULL: none. Reads the whole table. */
const struct pending_call *pending_oldest(const struct pending_table *table);

/* Call it at exit: counts the graph launches that are still waiting (lost_graph_record). */
void pending_finish(struct pending_table *table);

/* Returns the call with this ID if it can have caused work that started at `start_ns`, or NULL. */
struct pending_call *pending_find(struct pending_table *table, uint32_t correlation_id, uint64_t start_ns);
