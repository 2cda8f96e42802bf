/* From the bytes of an activity buffer to activity records, by one decoder for both of CUPTI's APIs.
 *
 * For each kind a small program says which field lies where; it is made once, from the committed layouts for
 * classic records or from the layouts that CUPTI hands over with user-defined ones. */
#ifndef CUSPAN_CAPTURE_ACTIVITY_DECODE_H
#define CUSPAN_CAPTURE_ACTIVITY_DECODE_H

#include "capture/cupti/cupti.h"
#include "model/record.h"

/* Takes `fields` (bits, by kind) out of classic records of the CUPTI version. */
void decode_init_classic(uint32_t cupti_version, const uint64_t fields[ACTIVITY_KINDS_MAX]);

/* Takes all fields that the layouts show, from their first sight on; called in CUPTI's callback, where they
 * are valid. A kind's layout never changes, since what is selected never does. */
void decode_learn_layouts(struct cupti_record_layout *const *layouts, size_t count);

typedef void decode_visit(void *context, const struct activity_record *record);

/* Visits the records in the buffer, in order; the record is valid during the visit. Returns how many there
 * were. What does not fit a layout ends the buffer and is counted (lost_malformed). */
size_t decode_buffer(const struct cupti *cupti, uint8_t *data, size_t valid, decode_visit *visit,
                     void *context);

#endif
