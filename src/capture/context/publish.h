/* Publishes, on request, what each thread works for, for readers outside of the process such as eBPF
 * profilers: by the record of OTEP 4947, in the thread-local pointer otel_thread_ctx_v1. libcuspan.so has no
 * such symbol: libcuspan-thread-ctx.so beside it does, and is loaded, privately, by the first request. It
 * stays then, because the threads' pointers lie in it.
 *
 * A thread has one record for good, and says by `valid` whether it counts. context.c keeps it. */
#ifndef CUSPAN_CAPTURE_CONTEXT_PUBLISH_H
#define CUSPAN_CAPTURE_CONTEXT_PUBLISH_H

#include "base/status.h"
#include "capture/context/thread_record.h"
#include "capture/callbacks/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether threads publish. */
extern _Atomic bool publish_is_on;

/* From now on threads publish; each begins with its next attach, detach or range. `folder`: where
 * libcuspan-thread-ctx.so lies. Loads it: not in a callback. Any thread, any number of times.
 * UNAVAILABLE: an SDK in this process publishes already, and there must be one publisher only. NOT_FOUND: the
 * library can't be loaded. */
enum status publish_begin(const char *folder, struct error *err) MUST_CHECK;

/* The threads' records stop to count, each with its thread's next attach, detach or range. */
void publish_end(void);

/* The calling thread's pointer in our library, or NULL: not loaded. Not in a callback. */
const void *publish_variable(void);

/* Of one thread, in memory that it owns. All zero at first. */
struct published {
    struct thread_record record;
    struct thread_record *volatile *variable; /* the thread's pointer; NULL: it has never published */
};

/* The calling thread's: writes it, or makes it count no more. */
void publish_write(struct published *published, const struct trace_id_pair *ids, uint8_t flags);
void publish_clear(struct published *published);
/* Before the record's memory goes; on its thread. */
void publish_deinit(struct published *published);

#endif
