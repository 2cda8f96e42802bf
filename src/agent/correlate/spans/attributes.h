/* Span attributes from a call's parameters and an activity record's fields, by the tables of the model. */
#pragma once

#include "model/cuda/activities.h"
#include "model/profile.h"
#include "model/record.h"
#include "model/settings/settings.h"

/* Which fields of each activity kind become attributes. attributes_init() computes it once. */
struct attribute_plan {
    bool has_start[ACTIVITY_KINDS_MAX]; /* records of this kind have a time; the others are facts */
    bool is_shared[ACTIVITY_KINDS_MAX]; /* records of this kind repeat except for times and IDs */
    uint8_t bytes[ACTIVITY_KINDS_MAX];  /* the field with the bytes that a copy or fill moves; 0: none */
    uint8_t detail[ACTIVITY_KINDS_MAX]; /* the field that names the span, besides the kind; 0: none */
    struct fields {
        uint8_t count;
        uint8_t ids[ACTIVITY_FIELDS_MAX];
    } lasting[ACTIVITY_KINDS_MAX], /* fields that many records have in common */
        own[ACTIVITY_KINDS_MAX],   /* fields that differ in each record */
        key[ACTIVITY_KINDS_MAX];   /* with is_shared: fields that identify the lasting ones */
};

void attributes_init(struct attribute_plan *plan, enum detail detail);

/* Adds the call's parameters that the record holds. */
void attributes_of_call(struct span *span, const struct call_info *info, const struct call_record *call);

/* Reads the first word of the parameter with this attribute key. False: the call has none, or it was not
 * captured. */
bool attributes_param(const struct call_info *info, const struct call_record *call, const char *key,
                      uint64_t *value);

/* Adds the fields that the record holds and the list names. Names, times and device IDs are added
 * elsewhere. */
void attributes_of_activity(struct span *span, const struct fields *fields,
                            const struct activity_record *record);

/* Returns the value of a field that the plan names; 0: the kind or the record does not have it. */
static inline uint64_t attributes_value(const struct activity_record *record, uint8_t field)
{
    return field && record->present >> field & 1 ? record->values[field] : 0;
}

/* Returns the name of a span by its kind; copies are named by direction. Valid until the next call. */
struct profile_string attributes_name(const struct attribute_plan *plan,
                                      const struct activity_record *record);
