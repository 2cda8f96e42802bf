/* The symbols that libcuspan-thread-ctx.so exports. */
#pragma once

#include "agent/capture/context/thread_record.h"

#define THREAD_CTX_LIBRARY  "libcuspan-thread-ctx.so"
#define THREAD_CTX_FUNCTION "cuspan_thread_ctx"

extern __attribute__((visibility("default"))) __thread struct thread_record *otel_thread_ctx_v1;

/* Returns the address of the calling thread's pointer. */
__attribute__((visibility("default"))) struct thread_record **cuspan_thread_ctx(void);
