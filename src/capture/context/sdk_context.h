/* The context that an OpenTelemetry SDK in the host publishes for each of its threads (OTEP 4947): a
 * thread-local pointer named otel_thread_ctx_v1 in the dynamic symbols of the program or of a library, to a
 * packed record.
 *
 * Our own thread looks for it, also in libraries that are loaded late or privately, and leaves for callbacks
 * how a thread finds its own: at a fixed distance from the thread pointer, or by the C library's table of
 * thread-local blocks. A callback then reads two words; it calls nothing. */
#ifndef CUSPAN_CAPTURE_CONTEXT_SDK_CONTEXT_H
#define CUSPAN_CAPTURE_CONTEXT_SDK_CONTEXT_H

#include "capture/context/thread_context.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Whether an SDK's record was found. */
extern _Atomic bool sdk_context_is_there;

/* Looks among the libraries that came since the last time; takes the loader's lock. The pipeline thread. */
void sdk_context_look(void);

/* Whether there is a publisher in this process that isn't us. Takes the loader's lock, a few microseconds for
 * each library. Any thread; not in a callback. */
bool sdk_context_is_published(void);

/* The calling thread's context by its SDK: its IDs and flags; all zero: none, or none that is valid. */
void sdk_context_read(struct trace_id_pair *ids, uint8_t *flags);

#endif
