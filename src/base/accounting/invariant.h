/* INVARIANT(): a condition that can be false only through a bug of cuspan, whatever the host, CUPTI or a
 * collector does. A debug build aborts. A release build counts the failure, logs the first one and ends
 * tracing, because the agent must not kill its host. The caller must continue safely:
 *
 *     if (!INVARIANT(chunk->end <= CHUNK_BYTES))
 *         return STATUS_CORRUPT;
 *
 * Bad input (an activity record without a known layout, a response that is not protobuf) is no failed
 * invariant: its reader rejects and counts it. The agent does not catch SIGSEGV in its threads. */
#pragma once

#include <stdbool.h>

#ifndef __FILE_NAME__ /* before gcc 12 */
#define __FILE_NAME__ __FILE__
#endif

/* In the test library, CUSPAN_BREAK names the file whose invariants fail: "pending.c", or "pending.c:9" from
 * the ninth check on. */
#ifdef CUSPAN_BREAKABLE
bool invariant_broken_on_request(const char *file);
#else
#define invariant_broken_on_request(file) false
#endif

#define INVARIANT(condition)                                                                                 \
    (__builtin_expect((condition) && !invariant_broken_on_request(__FILE_NAME__), 1) ||                      \
     invariant_failed(#condition, __FILE_NAME__, __LINE__))

/* Returns NULL from the calling function if the condition is false. The tail call saves registers in
 * functions that run for each record (INVARIANT made ring_peek 10 instructions longer). */
#define INVARIANT_OR_NULL(condition)                                                                         \
    do {                                                                                                     \
        if (__builtin_expect(!(condition) || invariant_broken_on_request(__FILE_NAME__), 0))                 \
            return invariant_failed_null(#condition, __FILE_NAME__, __LINE__);                               \
    } while (0)

/* Any thread. They return false and NULL. */
bool invariant_failed(const char *condition, const char *file, int line) __attribute__((cold));
void *invariant_failed_null(const char *condition, const char *file, int line) __attribute__((cold));

/* Whether an invariant failed; the agent then starts nothing new. */
bool invariant_any_failed(void);

/* Sets the function to call at the first failure, on any thread; it makes callbacks on the host's threads
 * return immediately. */
void invariant_on_failure(void (*stop)(void));
