/* The process context of an OpenTelemetry SDK in this process (OTEP 4719): the attributes of its resource,
 * in a mapping named OTEL_CTX. With them, our spans belong to the same service instance. It may appear,
 * change and disappear at any time. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROCESS_CONTEXT_NAME    "OTEL_CTX" /* of the mapping, and its signature */
#define PROCESS_CONTEXT_VERSION 2

/* The start of the mapping. */
struct process_context_header {
    char signature[8];
    uint32_t version, payload_bytes;
    _Atomic uint64_t published_ns; /* by CLOCK_BOOTTIME; 0: being changed */
    uint64_t payload;              /* its address */
};

/* Initialize it with zeros. */
struct process_context {
    uint64_t address;      /* of the mapping; 0: unknown */
    uint64_t published_ns; /* of the last payload read */
    uint64_t own_address;  /* of our own mapping, to be ignored; 0: none */
    bool names_threads;    /* it describes how threads publish their contexts (OTEP 4947) */
};

/* Searches the mappings of the process if none is known, and sets `address`. Takes about a microsecond per
 * mapping, so it calls `meanwhile` (or NULL) every PROCESS_CONTEXT_LINES of them. */
#define PROCESS_CONTEXT_LINES 512
void process_context_find(struct process_context *context, void (*meanwhile)(void));

/* Reads the context at `address` if it has changed. True: the attributes are in `resource`, which was empty
 * and which the caller frees, without telemetry.* (those describe who made the spans). False: unchanged,
 * being changed, or unknown; if `address` is 0 then, it is gone. Two system calls if unchanged. */
bool process_context_read(struct process_context *context, struct resource *resource);

/* Adds the attributes of a payload that `resource` lacks. INVALID, with some or none added, if it is not a
 * ProcessContext. */
enum status process_context_decode(const uint8_t *payload, size_t bytes,
                                   struct resource *resource) MUST_CHECK;

/* Our own process context (OTEP 4719). Readers of thread contexts (agent/capture/context/publish.h) look for
 * those only if a process context announces them. So we publish one while our threads publish and no SDK has
 * published a process context; there should be only one. */

/* Publishes a copy of `resource` for this process, not for forked children. One thread calls these
 * functions. NO_MEMORY, UNAVAILABLE. */
enum status published_context_begin(const struct resource *resource) MUST_CHECK;
/* Its address; 0: none. */
uint64_t published_context_address(void);
/* Removes it, if there is one. */
void published_context_end(void);
