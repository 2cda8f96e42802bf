/* All of libcuspan-thread-ctx.so: the thread-local pointer that external readers look for (OTEP 4947). It is
 * in its own library because libcuspan.so must not export symbols that a host could mistake for its SDK's.
 * Loaded only on request (publish.c). */
#include "agent/capture/context/thread_ctx_symbol.h"

__thread struct thread_record *otel_thread_ctx_v1;

/* Refers to the variable by name, so that the loader resolves it to the program's own SDK if that exports it
 * globally. publish.c detects this. */
struct thread_record **cuspan_thread_ctx(void)
{
    return &otel_thread_ctx_v1;
}
