/* The calls of the CUDA runtime and driver API, by CUPTI's callback ID: name, group, parameters.
 * tools/gen_cupti_tables.py generates calls_table.c from NVIDIA's headers of 12.0 to 13.5. The offsets of
 * parameters in CUPTI's structs are in agent/abi/params.h, in the same order.
 *
 * Names, groups and types are here, for filters, attributes and recordings, and offsets in src/agent/abi, for
 * CUPTI only. */
#pragma once

#include "model/cuda/enum_names.h"
#include "model/span.h"

#include <stdbool.h>
#include <stdint.h>

enum call_domain { CALL_DRIVER = 1, CALL_RUNTIME = 2 }; /* CUPTI's own numbers */

enum call_group {
    CALL_GROUP_OTHER, /* not in the default set: getters and other minor calls */
    CALL_GROUP_LAUNCH,
    CALL_GROUP_COPY,
    CALL_GROUP_FILL,
    CALL_GROUP_ALLOC,
    CALL_GROUP_FREE,
    CALL_GROUP_SYNC,
    CALL_GROUP_STREAM,
    CALL_GROUP_EVENT,
    CALL_GROUP_GRAPH,
    CALL_GROUP_MODULE,
    CALL_GROUP_PEER,
    CALL_GROUP_IPC,
    CALL_GROUP_COUNT
};

enum param_type {
    PARAM_INT,  /* signed */
    PARAM_UINT, /* unsigned, sizes and flags */
    PARAM_BOOL,
    PARAM_DOUBLE,
    PARAM_POINTER, /* addresses and handles */
    PARAM_DIM3,
    PARAM_STRING,
    PARAM_ENUM /* an integer with names */
};

struct call_param {
    uint16_t key;  /* index into call_param_keys */
    uint8_t type;  /* enum param_type */
    uint8_t names; /* PARAM_ENUM: index into call_enum_names */
};

/* How many words of a call's record the parameter takes; `value` is the first. */
static inline size_t call_param_words(const struct call_param *param, const uint64_t *value)
{
    if (param->type == PARAM_STRING)
        return 1 + (size_t)(value[0] + 7) / 8;
    return param->type == PARAM_DIM3 ? 2 : 1;
}

struct call_info {
    uint32_t name;  /* offset into call_names: without version suffix, "_ptsz" kept; 0: no such call */
    uint16_t param; /* index of the first parameter in call_params */
    uint8_t param_count;
    uint8_t group;       /* enum call_group */
    bool is_default;     /* in the default set */
    bool has_activity;   /* CUPTI may report GPU work for it */
    bool launches_graph; /* an executable one */
};

extern const char call_names[];
extern const struct attr_key call_param_keys[]; /* "cuda.arg.NAME" */
extern const struct call_param call_params[];
extern const struct enum_names call_enum_names[];
extern const struct call_info call_table_runtime[], call_table_driver[];
extern const uint16_t call_count_runtime, call_count_driver; /* highest callback ID + 1 */

/* NULL if this build does not know the ID. */
static inline const struct call_info *call_info(enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = NULL;
    if (domain == CALL_RUNTIME && cbid < call_count_runtime)
        info = &call_table_runtime[cbid];
    else if (domain == CALL_DRIVER && cbid < call_count_driver)
        info = &call_table_driver[cbid];
    return info && info->name ? info : NULL;
}

static inline const char *call_name(const struct call_info *info)
{
    return call_names + info->name;
}

/* "launch", "copy", ...; as in the settings. */
const char *call_group_name(enum call_group group);
/* "cudaErrorInvalidValue" or "CUDA_ERROR_INVALID_VALUE"; NULL if unknown. */
const char *call_result_name(enum call_domain domain, int32_t result);
