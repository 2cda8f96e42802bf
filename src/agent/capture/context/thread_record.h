/* The record of a thread's context and the name of the thread-local pointer to it (OTEP 4947), which
 * sdk_context.c reads and publish.c writes. Only the thread itself writes its record; readers stop the thread
 * first. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_RECORD_SYMBOL "otel_thread_ctx_v1"

/* Packed, in native byte order. Attributes may follow. */
struct thread_record {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid; /* 1: valid; otherwise absent or being written */
    uint8_t flags;
    uint16_t attrs_bytes;
};
static_assert(offsetof(struct thread_record, valid) == 24 &&
                  offsetof(struct thread_record, attrs_bytes) == 26 && sizeof(struct thread_record) == 28,
              "offsets are defined by the OTEP");
