/* What a span says: attributes from a call's parameters and from an activity's fields, by the tables of the
 * model. */
#ifndef CUSPAN_CORRELATE_ATTRIBUTES_H
#define CUSPAN_CORRELATE_ATTRIBUTES_H

#include "model/activities.h"
#include "model/record.h"
#include "model/settings.h"

/* Which fields of each kind become attributes, worked out once. */
struct attribute_plan {
    bool has_start[ACTIVITY_KINDS_MAX]; /* kinds that happen at some time; the others are facts */
    uint8_t count[ACTIVITY_KINDS_MAX];
    uint8_t bytes[ACTIVITY_KINDS_MAX]; /* the field that says how many a copy or fill moves; 0: none */
    uint8_t fields[ACTIVITY_KINDS_MAX][ACTIVITY_FIELDS_MAX];
};

void attributes_init(struct attribute_plan *plan, enum detail detail);

/* The parameters that the record holds. */
void attributes_of_call(struct span *span, const struct call_info *info, const struct call_record *call);

/* The fields that the record holds and the detail asks for; names, times and IDs of the device go elsewhere.
 */
void attributes_of_activity(struct span *span, const struct attribute_plan *plan,
                            const struct activity_record *record);

/* The value of a field of this name's kind, for names of spans: "HostToDevice". NULL where it has none. */
const char *attributes_enum_value(const struct activity_record *record, const char *key);

#endif
