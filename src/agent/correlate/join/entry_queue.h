/* A bounded queue of entries of any size, the oldest first. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry_queue;

/* The caller owns the queue: free(). */
enum status entry_queue_create(size_t bytes, struct entry_queue **queue) MUST_CHECK;

/* Adds an entry and returns its `bytes` bytes, aligned to 8, which the caller fills at once; NULL: the queue
 * is full. The queue owns it. */
void *entry_queue_push(struct entry_queue *queue, size_t bytes, uint64_t now_ns);

/* Visits each entry, the oldest first, and removes those for which `visit` returns true. `visit` must not
 * push. */
typedef bool entry_queue_visit(void *context, const void *entry, uint64_t pushed_ns);
void entry_queue_sweep(struct entry_queue *queue, entry_queue_visit *visit, void *context);

uint32_t entry_queue_count(const struct entry_queue *queue);
