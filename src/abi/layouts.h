/* Where the fields of an activity record lie, one decoder's table for both of CUPTI's APIs: for the classic
 * records by the version of the loaded CUPTI (generated, layouts_table.c), for user-defined records as CUPTI
 * says with the buffer. */
#ifndef CUSPAN_ABI_LAYOUTS_H
#define CUSPAN_ABI_LAYOUTS_H

#include "base/limits.h"

#include <stdint.h>

struct activity_layout {
    uint16_t bytes; /* of a record; 0: this CUPTI has no such kind */
    struct {
        int16_t offset;            /* -1: this CUPTI has no such field */
        uint8_t size;              /* bytes */
    } fields[ACTIVITY_FIELDS_MAX]; /* by CUPTI's field ID */
};

/* `version` is what cuptiGetVersion answers (12.0: 18; from 13.0 on 130000 and so on). A version newer than
 * the tables gets the newest layout. NULL: the version is older than 12.0, or the kind is unknown to it.
 * Static storage. */
const struct activity_layout *layout_classic(uint32_t version, uint16_t kind);

/* What layout_classic looks in: for each version from `first` on, the index in layout_records by kind; 0:
 * none. */
struct layout_version {
    uint32_t first;
    uint8_t records[ACTIVITY_KINDS_MAX];
};
extern const struct layout_version layout_versions[]; /* oldest first */
extern const uint8_t layout_version_count;
extern const struct activity_layout layout_records[];

/* The newest version that the tables know. */
extern const uint32_t layout_newest_version;

#endif
