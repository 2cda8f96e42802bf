/* Keeps a detector's sums of its matches, by process, place and name. */
#pragma once

#include "analysis/stat/base/stat.h"

/* A detector's sums of the matches with one key. */
struct tally {
    uint32_t process;
    /* The earliest match, typical of the others: a copy of its span, without attributes, parents and
     * children. */
    struct trace_span first;
    struct trace_span call; /* the call of `first`, if the detector sets it */
    const char *text;       /* meaning by detector */
    uint64_t count;
    uint64_t ns; /* meaning by detector */
    uint64_t bytes;
    uint64_t saving_ns;
    uint64_t extra;
};

struct tallies {
    struct tally *items;
    size_t count, capacity;
    struct int_map numbers;
    /* The places in the program (analysis/code/code_book.h) that a tally's matches come from. */
    struct tally_origin {
        uint32_t tally, origin;
        uint64_t count;
    } * origins;
    size_t origin_capacity;
    struct int_map origin_numbers;
};

#define TALLY_ORIGINS_MAX (1u << 18) /* origins of all tallies; later ones are not counted */

/* Returns the tally of the key, created for its first span. The pointer is valid until the next call; the
 * number that tallies_number() returns stays valid. */
struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span);
static inline uint32_t tallies_number(const struct tallies *tallies, const struct tally *tally)
{
    return (uint32_t)(tally - tallies->items);
}
/* Notes that `count` of the tally's matches come from this origin. */
void tallies_add_origin(struct tallies *tallies, uint32_t tally, uint32_t origin, uint64_t count);
void tallies_deinit(struct tallies *tallies);
