#include "analysis/code/forward_lines.h"

#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

#define ORIGIN_FREE 0 /* ORIGIN_NOT_SAMPLED, which no line has */

/* Successive numbers of a process have successive places. */
static struct forward_op *place_of(const struct forward_lines *lines, uint32_t process, uint64_t number)
{
    return &lines->ops[(int_map_mix(process) + number) % FORWARD_LINES_MAX];
}

static bool is_of(const struct forward_op *op, uint32_t process, uint64_t number)
{
    return op->origin != ORIGIN_FREE && op->process == process && op->number == number;
}

static void set(struct forward_op *known, const struct forward_op *op, uint64_t conflict_ns)
{
    *known = *op;
    known->conflict_ns = conflict_ns;
}

void forward_lines_deinit(struct forward_lines *lines)
{
    free(lines->ops);
    *lines = (struct forward_lines){0};
}

void forward_lines_note(struct forward_lines *lines, const struct forward_op *op)
{
    if (!lines->ops)
        lines->ops = xcalloc(FORWARD_LINES_MAX, sizeof *lines->ops);
    struct forward_op *known = place_of(lines, op->process, op->number);
    if (!is_of(known, op->process, op->number))
        set(known, op, UINT64_MAX);
    else if (known->thread != op->thread)
        known->conflict_ns = op->start_ns < known->conflict_ns ? op->start_ns : known->conflict_ns;
    else if (known->start_ns < op->start_ns)
        set(known, op, known->conflict_ns);
    else if (known->origin == MAP_NONE && known->start_ns == op->start_ns)
        known->origin = op->origin;
}

uint32_t forward_lines_find(const struct forward_lines *lines, uint32_t process, uint64_t number,
                            uint64_t backward_ns)
{
    if (!lines->ops)
        return MAP_NONE;
    const struct forward_op *known = place_of(lines, process, number);
    return is_of(known, process, number) && backward_ns < known->conflict_ns ? known->origin : MAP_NONE;
}
