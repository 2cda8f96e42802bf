/* Shared by the makers of samples. */
#pragma once

#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint16_t find_call(enum call_domain domain, const char *name)
{
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint16_t cbid = 0; cbid < count; cbid++) {
        const struct call_info *info = call_info(domain, cbid);
        if (info && strcmp(call_name(info), name) == 0)
            return cbid;
    }
    fprintf(stderr, "sample: there is no %s\n", name);
    abort();
}

/* Fills in the fields that have a member of their own; those of graphs, if the work is of one. */
static inline void set_fields_with_roles(struct activity_record *record)
{
    const uint64_t of_role[] = {[ROLE_START] = record->start_ns,
                                [ROLE_END] = record->end_ns,
                                [ROLE_CORRELATION] = record->correlation_id,
                                [ROLE_CONTEXT] = record->context_id,
                                [ROLE_STREAM] = record->stream_id,
                                [ROLE_NAME] = (uint64_t)(uintptr_t)record->name,
                                [ROLE_GRAPH] = record->graph_id,
                                [ROLE_GRAPH_NODE] = record->graph_node_id};
    const struct activity_info *info = &activity_table[record->kind];
    record->values[0] = record->kind;
    record->present |= 1;
    for (unsigned f = 1; f < info->field_count; f++) {
        unsigned role = info->fields[f].role;
        if (role != ROLE_NONE && (role < ROLE_GRAPH || record->graph_id)) {
            record->values[f] = of_role[role];
            record->present |= 1ull << f;
        }
    }
}
