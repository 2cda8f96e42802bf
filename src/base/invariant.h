/* What must hold in our own threads, whatever the host, CUPTI or a collector does. Where it doesn't,
 * something of ours is wrong, and a guest doesn't kill its host: a debug build aborts; a release build counts
 * it, says so once, and has the agent put to sleep. So whoever asks goes on, and on a way that is safe:
 *
 *     if (!INVARIANT(chunk->end <= CHUNK_BYTES))
 *         return STATUS_CORRUPT;
 *
 * What others do wrong (a record that fits no layout, an answer that is no protobuf) breaks no invariant: it
 * is refused and counted where it is read. A fault of the processor's (SIGSEGV) in a thread of ours is not
 * caught: that takes a handler, and the agent sets none. */
#ifndef CUSPAN_BASE_INVARIANT_H
#define CUSPAN_BASE_INVARIANT_H

#include <stdbool.h>

#ifndef __FILE_NAME__ /* gcc has it from 12 on */
#define __FILE_NAME__ __FILE__
#endif

/* A library for tests: CUSPAN_BREAK names the file whose invariants don't hold, "pending.c", or "pending.c:9"
 * where the ninth question is the first that is answered so. */
#ifdef CUSPAN_BREAKABLE
bool invariant_broken_on_request(const char *file);
#else
#define invariant_broken_on_request(file) false
#endif

#define INVARIANT(condition)                                                                                 \
    (__builtin_expect((condition) && !invariant_broken_on_request(__FILE_NAME__), 1) ||                      \
     invariant_failed(#condition, __FILE_NAME__, __LINE__))

/* Returns NULL from a function that is called for each record: as its last call, so that the question costs
 * it no registers (INVARIANT made ring_peek 10 instructions longer). */
#define INVARIANT_OR_NULL(condition)                                                                         \
    do {                                                                                                     \
        if (__builtin_expect(!(condition) || invariant_broken_on_request(__FILE_NAME__), 0))                 \
            return invariant_failed_null(#condition, __FILE_NAME__, __LINE__);                               \
    } while (0)

/* Any thread. They return false and NULL. */
bool invariant_failed(const char *condition, const char *file, int line) __attribute__((cold));
void *invariant_failed_null(const char *condition, const char *file, int line) __attribute__((cold));

/* Whether one was: from then on nothing new may be begun. */
bool invariant_any_failed(void);

/* Called with the first one, on whatever thread it happens: makes callbacks on the host's threads return at
 * once. */
void invariant_on_failure(void (*stop)(void));

#endif
