/* All of libcuspan-thread-ctx.so: the thread-local pointer that readers from outside look for (OTEP 4947), in
 * a library of its own, because libcuspan.so exports nothing that a host could take for its own SDK's. It is
 * loaded on request alone (publish.c). */
#include "capture/context/thread_ctx_symbol.h"

__thread struct thread_record *otel_thread_ctx_v1;

/* It is referred to by its name, as readers expect it: if the program's own SDK has one that all can see,
 * this is the SDK's, and publish.c sees that it is. */
struct thread_record **cuspan_thread_ctx(void)
{
    return &otel_thread_ctx_v1;
}
