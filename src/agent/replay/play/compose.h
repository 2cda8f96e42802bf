/* Lays out an activity record as CUPTI does: as the classic struct of a version, or with the selected
 * fields. */
#pragma once

#include "base/limits.h"
#include "agent/abi/cupti_abi.h"
#include "model/record.h"

#include <stdbool.h>
#include <stddef.h>

struct composition {
    struct cupti_record_layout layout;
    struct cupti_field_layout entries[ACTIVITY_FIELDS_MAX];
};

/* False: this CUPTI version has no such kind. */
bool compose_classic(struct composition *composition, uint32_t version, uint32_t kind);
/* Interprets a selection like cuptiActivityEnable_v2. False: invalid. */
bool compose_selected(struct composition *composition, uint32_t kind,
                      const struct cupti_field_selection *selection);
/* Writes the record, except fields that were not recorded. */
void compose_record(const struct composition *composition, const struct activity_record *record, uint8_t *to);
