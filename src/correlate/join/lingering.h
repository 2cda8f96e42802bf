/* Ranges and sessions that have ended while GPU records of their calls are still to come: a bounded queue in
 * the order of their ends. Whoever puts one in says how it becomes a span. */
#ifndef CUSPAN_CORRELATE_LINGERING_H
#define CUSPAN_CORRELATE_LINGERING_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;

/* Makes the span of what has ended. */
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

/* Room for a body of `head->bytes`, aligned to 8, for the caller to fill at once. NULL: there is none. */
void *lingering_push(struct lingering *lingering, const struct lingering_head *head);

/* Calls `visit` for each, the oldest first. One for which it returns true is gone. It pushes nothing. */
typedef bool lingering_visit(void *context, const struct lingering_head *head, const void *body);
void lingering_sweep(struct lingering *lingering, lingering_visit *visit, void *context);

uint32_t lingering_count(const struct lingering *lingering);
bool lingering_is_empty(const struct lingering *lingering);

#endif
