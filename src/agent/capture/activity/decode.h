/* Decodes activity buffers of both CUPTI APIs into activity records.
 *
 * Each kind has a small program that lists the offsets of its fields. It is built once, from the committed
 * layouts for classic records or from the layouts that CUPTI supplies with user-defined records. */
#pragma once

#include "agent/capture/cupti/cupti.h"
#include "model/record.h"

/* Prepares decoding of the fields in `fields` (bit masks, indexed by kind) from classic records of this CUPTI
 * version. */
void decode_init_classic(uint32_t cupti_version, const uint64_t fields[ACTIVITY_KINDS_MAX]);

/* Prepares decoding of all fields that the layouts contain. Call it in CUPTI's callback, where the layouts
 * are valid. The layout of a kind never changes because the selection of fields never changes. */
void decode_learn_layouts(struct cupti_record_layout *const *layouts, size_t count);

/* Returns a lasting copy of a kernel's name; NULL: unknown. Set it if CUPTI may have freed the name that a
 * record points to; otherwise NULL. */
extern const char *(*decode_name)(const struct activity_record *record);

typedef void decode_visit(void *context, const struct activity_record *record);

/* Visits the buffer's records in order; a record is valid during its visit. Returns their number. A malformed
 * record ends the buffer and is counted (lost_malformed). */
size_t decode_buffer(const struct cupti *cupti, uint8_t *data, size_t valid, decode_visit *visit,
                     void *context);
