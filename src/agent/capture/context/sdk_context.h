/* Reads the context that an OpenTelemetry SDK in the host publishes per thread (OTEP 4947): a thread-local
 * pointer named otel_thread_ctx_v1, in the dynamic symbols of the program or a library, to a packed record.
 *
 * A cuspan thread searches for it, also in libraries that are loaded late or privately, and prepares how a
 * callback finds the pointer of its thread: at a fixed distance from the thread pointer, or through the C
 * library's TLS table. A callback then reads two words and calls nothing. */
#pragma once

#include "agent/capture/threads/thread_context.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Whether an SDK's pointer was found. */
extern _Atomic bool sdk_context_is_there;

/* Returns the address of cuspan's own variable for the calling thread, which is not an SDK's; NULL: none
 * (publish_variable()). */
typedef const void *sdk_context_own_fn(void);

/* Searches the libraries loaded since the last call; takes the loader's lock. True: an SDK was just found.
 * Pipeline thread. */
bool sdk_context_poll(sdk_context_own_fn *own);

/* Whether this process has a publisher other than cuspan. Takes the loader's lock and a few microseconds per
 * library. Any thread, but not in a callback. */
bool sdk_context_is_published(sdk_context_own_fn *own);

/* Fills `ids` and `flags` with the calling thread's SDK context; all zero: there is none, or it is invalid.
 */
void sdk_context_read(struct trace_id_pair *ids, uint8_t *flags);
