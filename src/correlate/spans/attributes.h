/* What a span says: attributes from a call's parameters and from an activity's fields, by the tables of the
 * model. */
#ifndef CUSPAN_CORRELATE_ATTRIBUTES_H
#define CUSPAN_CORRELATE_ATTRIBUTES_H

#include "model/cuda/activities.h"
#include "model/record.h"
#include "model/settings.h"

/* Which fields of each kind become attributes, worked out once. */
struct attribute_plan {
    bool has_start[ACTIVITY_KINDS_MAX]; /* kinds that happen at some time; the others are facts */
    bool is_shared[ACTIVITY_KINDS_MAX]; /* records of this kind are alike, but for their times and IDs */
    uint8_t bytes[ACTIVITY_KINDS_MAX];  /* the field that says how many a copy or fill moves; 0: none */
    uint8_t detail[ACTIVITY_KINDS_MAX]; /* the field that, beside the kind, names the span; 0: none */
    struct fields {
        uint8_t count;
        uint8_t ids[ACTIVITY_FIELDS_MAX];
    } lasting[ACTIVITY_KINDS_MAX], /* those that are alike in many records */
        own[ACTIVITY_KINDS_MAX],   /* those that each record has for itself */
        key[ACTIVITY_KINDS_MAX];   /* is_shared: all that the lasting ones say */
};

void attributes_init(struct attribute_plan *plan, enum detail detail);

/* The parameters that the record holds. */
void attributes_of_call(struct span *span, const struct call_info *info, const struct call_record *call);

/* Of the fields that the record holds and the detail asks for, those of the plan's list; names, times and IDs
 * of the device go elsewhere. */
void attributes_of_activity(struct span *span, const struct fields *fields,
                            const struct activity_record *record);

/* What the kind's field `detail` says, for names of spans: "HostToDevice". NULL where it has none. */
const char *attributes_detail(const struct attribute_plan *plan, const struct activity_record *record);

#endif
