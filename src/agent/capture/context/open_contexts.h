/* The contexts of one thread: its attached contexts and open ranges. Private to context.c, which implements
 * this, and range.c. Only the thread itself accesses them. */
#pragma once

#include "agent/capture/context/publish.h"
#include "agent/capture/threads/thread_context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attached {
    uint64_t token;
    struct trace_id_pair ids;
    uint8_t flags;
    bool may_be_sampled; /* the context may be sampled, so it keeps capture awake */
    char *state;         /* tracestate, owned; NULL: none */
    const char *lasting; /* copy of `state` for the program (lasting_states.h); NULL: none yet */
};

struct open_range {
    uint64_t id;
    uint32_t domain;
    struct trace_id_pair context; /* the thread's context when the range was opened */
};

/* A range's end that could not be written because the ring was full. */
struct lost_end {
    uint64_t id, ticks;
    uint8_t status;
    uint16_t attrs_dropped;
};

struct open_contexts {
    struct thread_context shared; /* shared with callbacks; must be first */
    uint64_t next_id;
    uint64_t next_token;
    uint32_t attached_count, attached_max, range_count, range_max;
    struct attached *attached;
    struct open_range *ranges;
    uint32_t deeper; /* open NVTX ranges beyond RANGE_DEPTH_MAX */
    uint32_t lost_end_count, lost_end_max;
    struct lost_end *lost_ends; /* the oldest first; written before any other record */
    struct published published;
};

/* Return the calling thread's contexts, owned by the thread. The first returns NULL if there are none yet.
 * The second creates them; NULL: out of memory. */
struct open_contexts *open_contexts_there(void);
struct open_contexts *open_contexts_needed(void);
/* Makes room for one more entry of `size` bytes in `*entries`. False: RANGE_DEPTH_MAX is reached, or out of
 * memory. */
bool open_contexts_grow(void **entries, uint32_t count, uint32_t *max, size_t size);

/* Publishes the active span of the thread's request for external readers. Outside a request it publishes
 * nothing, because the session's trace can end without the thread's involvement. */
void open_contexts_publish(struct open_contexts *contexts);

/* Returns the thread's context: from cuspan.h, else from its SDK, else none (all zero). */
struct trace_id_pair open_contexts_current(const struct thread_context *context, uint8_t *flags);

/* Returns the calling thread's slot; NULL: nothing is captured now. `even_asleep` is for records that create
 * no span, which are also captured while asleep. */
struct host_thread *open_contexts_capturing_thread(bool even_asleep);

/* Writes the records that must precede the thread's next one: its new context and lost ends of ranges. False:
 * the ring is full. */
bool open_contexts_settle(struct host_thread *thread);

/* Keeps a copy of a range's end that could not be written now, so that later work gets the right parent. */
void open_contexts_keep_end(struct open_contexts *contexts, const struct lost_end *end);
