/* One activity record as CUPTI would lay it out: the classic struct of a version, or the fields that were
 * asked for. */
#ifndef CUSPAN_REPLAY_PLAY_COMPOSE_H
#define CUSPAN_REPLAY_PLAY_COMPOSE_H

#include "base/limits.h"
#include "abi/cupti_abi.h"
#include "model/record.h"

#include <stdbool.h>
#include <stddef.h>

struct composition {
    struct cupti_record_layout layout;
    struct cupti_field_layout entries[ACTIVITY_FIELDS_MAX];
};

/* False: CUPTI of this version has no such kind. */
bool compose_classic(struct composition *composition, uint32_t version, uint32_t kind);
/* As cuptiActivityEnable_v2 reads the selection. False: it is wrong. */
bool compose_selected(struct composition *composition, uint32_t kind,
                      const struct cupti_field_selection *selection);
/* Writes the record; what wasn't recorded is left as it is. */
void compose_record(const struct composition *composition, const struct activity_record *record, uint8_t *to);

#endif
