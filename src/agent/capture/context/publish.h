/* Publishes each thread's context, on request, for readers outside the process such as eBPF profilers: as
 * the record of OTEP 4947 in the thread-local pointer otel_thread_ctx_v1. libcuspan.so does not export that
 * symbol. libcuspan-thread-ctx.so does, and the first request loads it privately and permanently because the
 * threads' pointers live in it.
 *
 * A thread keeps one record and marks it valid or invalid. context.c owns it. */
#pragma once

#include "base/status.h"
#include "agent/capture/context/thread_record.h"
#include "agent/capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether threads publish their contexts. */
extern _Atomic bool publish_is_on;

/* Makes threads publish, each from its next attach, detach or range on. `folder` is that of
 * libcuspan-thread-ctx.so, which this function loads; do not call it in a callback. Any thread, any number of
 * times. UNAVAILABLE: an SDK in this process already publishes, and only one publisher is allowed. NOT_FOUND:
 * the library cannot be loaded. */
enum status publish_begin(const char *folder, struct error *err) MUST_CHECK;

/* Ends publishing: each thread marks its record invalid at its next attach, detach or range. */
void publish_end(void);
/* Ends publishing because an SDK publishes now: only one publisher is allowed, and the SDK knows more. */
void publish_give_way(void);

/* Call it in a forked child, because another thread may have been loading the library at the fork. */
void publish_forget(void);

/* Returns the address of the calling thread's pointer in our library; NULL: not loaded. Do not call it in a
 * callback. */
const void *publish_variable(void);

/* Publishing state of one thread, which owns it; initially zero. */
struct published {
    struct thread_record record;
    struct thread_record *volatile *variable; /* the thread's pointer; NULL: never published */
};

/* Write the calling thread's record, or mark it invalid. */
void publish_write(struct published *published, const struct trace_id_pair *ids, uint8_t flags);
void publish_clear(struct published *published);
/* Clears the thread's pointer to its record. Call it on the owning thread, before the record's memory is
 * freed. */
void publish_deinit(struct published *published);
