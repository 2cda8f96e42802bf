/* Ranges and sessions that have ended while GPU records of their calls are still missing: a bounded queue
 * in the order of their ends. Each entry brings the function that turns it into a span. */
#ifndef CUSPAN_CORRELATE_LINGERING_H
#define CUSPAN_CORRELATE_LINGERING_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;

/* Emits the span of an entry. */
typedef void lingering_emit(void *context, struct account *account, const void *body);

struct lingering_head {
    uint32_t bytes;   /* of the body */
    uint32_t account; /* its handle */
    uint64_t since_ns;
    lingering_emit *emit;
};

struct lingering;

enum status lingering_create(size_t bytes, struct lingering **lingering) MUST_CHECK;
void lingering_destroy(struct lingering *lingering);

/* Returns an entry's body of `head->bytes`, aligned to 8, to be filled at once; NULL: the queue is full. */
void *lingering_push(struct lingering *lingering, const struct lingering_head *head);

/* Visits each entry, the oldest first, and removes those for which `visit` returns true. `visit` must not
 * push. */
typedef bool lingering_visit(void *context, const struct lingering_head *head, const void *body);
void lingering_sweep(struct lingering *lingering, lingering_visit *visit, void *context);

uint32_t lingering_count(const struct lingering *lingering);
bool lingering_is_empty(const struct lingering *lingering);

#endif
