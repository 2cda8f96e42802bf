/* Records ranges and marks of the host threads, from cuspan.h and NVTX. As in context.h, all functions run on
 * the host thread. */
#pragma once

#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Text of a range, mark or name; borrowed. */
struct range_text {
    const char *name;
    uint32_t name_bytes;
    uint32_t domain; /* 0: cuspan.h; otherwise NVTX's, numbered from 1 by nvtx.c. Each nests separately */
    uint32_t attr_count;
    uint32_t attrs_dropped;         /* attributes that the caller has already dropped */
    const struct range_attr *attrs; /* model/record.h */
    bool is_loop;                   /* the program repeats the range while range_again() returns true */
};

/* Details given when a range ends; borrowed. */
struct range_end {
    uint8_t status; /* enum span_status */
    uint32_t message_bytes;
    uint32_t attr_count;
    uint32_t attrs_dropped;
    const char *message; /* NULL: none */
    const struct range_attr *attrs;
};

/* Opens a range on this thread, the parent of the calls and ranges that follow. Returns its span ID; 0: not
 * captured. */
uint64_t range_push(const struct range_text *text);
/* Ends the innermost range of this thread in this domain. `end` may be NULL. Returns its span ID; 0: none is
 * open. */
uint64_t range_pop(uint32_t domain, const struct range_end *end);
/* Number of open ranges of this domain on this thread. */
uint32_t range_depth(uint32_t domain);
/* Starts a span that may end on any thread and is no parent. Returns its span ID; 0: not captured. */
uint64_t range_start(const struct range_text *text);

/* Ends a range or span by its ID, on any thread. `end` may be NULL. False: the ID is 0. */
bool range_end(uint64_t id, const struct range_end *end);
/* Whether this loop range must run again because the counters need another pass. */
bool range_again(uint64_t id);

/* Whether ranges and marks of this thread are captured now. If not, their text is not read. */
bool range_is_captured(void);

/* Records a mark, an event at one point in time. False: not captured. */
bool range_mark(const struct range_text *text);
