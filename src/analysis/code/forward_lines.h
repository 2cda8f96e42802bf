/* Which forward operator a backward one belongs to, by PyTorch's sequence numbers.
 *
 * A forward operator that makes no node of the graph has the number of the next one that makes a node. So the
 * last operator with a number counts. Each thread has numbers of its own, and backward ranges do not say
 * whose number they have: if several threads of a process use one, it leads nowhere.
 *
 * Backward follows soon after forward, so only the latest numbers are kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FORWARD_LINES_MAX (1u << 18) /* 40 bytes each */

struct forward_op {
    uint64_t number;
    uint64_t start_ns;    /* of the outermost range with the number */
    uint64_t conflict_ns; /* from then on another thread uses the number, too; not for forward_lines_note() */
    uint32_t process, thread;
    uint32_t origin; /* of the first call within it; MAP_NONE: it has made none yet, or they have no line */
};

/* A zeroed one is empty. */
struct forward_lines {
    struct forward_op *ops; /* NULL: none yet */
};

void forward_lines_deinit(struct forward_lines *lines);
/* Ends with an error line if memory is exhausted. */
void forward_lines_note(struct forward_lines *lines, const struct forward_op *op);
/* The origin for a backward range that started at that time, or MAP_NONE. */
uint32_t forward_lines_find(const struct forward_lines *lines, uint32_t process, uint64_t number,
                            uint64_t backward_ns);
