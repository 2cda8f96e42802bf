/* The process context that an OpenTelemetry SDK in this process may have published (OTEP 4719): the
 * attributes of its resource, in a mapping named OTEL_CTX. With them, our spans belong to the same service
 * instance as its own. It may come at any time, change, and go. */
#ifndef CUSPAN_AGENT_PROCESS_CONTEXT_H
#define CUSPAN_AGENT_PROCESS_CONTEXT_H

#include "base/status.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

/* What is known of it. All zero at first. */
struct process_context {
    uint64_t address;      /* of its mapping; 0: none is known */
    uint64_t published_ns; /* of what was read last */
    uint64_t own_address;  /* of a mapping that isn't an SDK's but ours; 0: none */
    bool names_threads;    /* it says how its threads publish theirs (OTEP 4947) */
};

/* Looks for it among the process's mappings, if none is known, and sets `address`. Takes some microsecond for
 * each mapping, so it calls `meanwhile` (NULL: nothing) every PROCESS_CONTEXT_LINES of them. */
#define PROCESS_CONTEXT_LINES 512
void process_context_find(struct process_context *context, void (*meanwhile)(void));

/* Reads what is published at `address` if that isn't what was read last. True: `resource`, empty before, has
 * it, but for telemetry.*, which says who made the spans; the caller's to free. False: nothing new, not whole
 * just now, or not what we know; it is gone if `address` is 0 then. Two system calls where nothing is new. */
bool process_context_read(struct process_context *context, struct resource *resource);

/* The attributes of a payload, as far as `resource` lacks them; INVALID, with nothing or a part added, if it
 * isn't a ProcessContext. */
enum status process_context_decode(const uint8_t *payload, size_t bytes,
                                   struct resource *resource) MUST_CHECK;

#endif
