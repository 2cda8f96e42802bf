/* Layouts of activity records, in one form for both of CUPTI's APIs: for classic records generated per CUPTI
 * version (layouts_table.c), for user-defined records supplied by CUPTI with the buffer. */
#pragma once

#include "base/limits.h"

#include <stdint.h>

struct activity_layout {
    uint16_t bytes; /* record size; 0: not in this CUPTI */
    struct {
        int16_t offset;            /* -1: not in this CUPTI */
        uint8_t size;              /* bytes */
    } fields[ACTIVITY_FIELDS_MAX]; /* by CUPTI's field ID */
};

/* `version` is the result of cuptiGetVersion (18 for 12.0, 130000 for 13.0). A version newer than the tables
 * gets the newest layout. NULL: older than 12.0, or an unknown kind. Static storage. */
const struct activity_layout *layout_classic(uint32_t version, uint16_t kind);

/* For layout_classic(): from version `first` on, the index in layout_records by kind; 0: none. */
struct layout_version {
    uint32_t first;
    uint8_t records[ACTIVITY_KINDS_MAX];
};
extern const struct layout_version layout_versions[]; /* oldest first */
extern const uint8_t layout_version_count;
extern const struct activity_layout layout_records[];

/* The newest version in the tables. */
extern const uint32_t layout_newest_version;
