/* The process context that an OpenTelemetry SDK in this process may have published (OTEP 4719): the
 * attributes of its resource, in a mapping named OTEL_CTX. With them, our spans belong to the same service
 * instance as its own. */
#ifndef CUSPAN_AGENT_PROCESS_CONTEXT_H
#define CUSPAN_AGENT_PROCESS_CONTEXT_H

#include "base/status.h"
#include "model/resource.h"

/* Adds to `resource` what it lacks, but for telemetry.*, which says who made the spans. Nothing published, or
 * not whole: nothing is added. */
enum status process_context_add(struct resource *resource) MUST_CHECK;

/* The same from a payload; INVALID, with nothing or a part added, if it isn't a ProcessContext. */
enum status process_context_decode(const uint8_t *payload, size_t bytes,
                                   struct resource *resource) MUST_CHECK;

#endif
