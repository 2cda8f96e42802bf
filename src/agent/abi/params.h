/* Locations of a call's parameters in CUpti_CallbackData.functionParams. Generated together with
 * model/cuda/calls_table.c: param_sources[i] belongs to call_params[i]. */
#pragma once

#include "model/cuda/calls.h"

enum param_how {
    PARAM_SIGNED = 1, /* sign-extend */
    PARAM_DEREF =
        2,          /* `offset` is that of a pointer (NULL: absent); the value is at `member` in its target */
    PARAM_OUT = 4,  /* output: read only if the call succeeded */
    PARAM_TEXT = 8, /* `const char *` (NULL: absent) to a NUL-terminated string */
    PARAM_THREE = 16, /* three 32-bit integers */
    PARAM_REAL = 32   /* float (size 4) or double (size 8) */
};

struct param_source {
    uint16_t offset; /* in functionParams */
    uint16_t member; /* in the pointer's target, with PARAM_DEREF */
    uint8_t size;    /* 1, 2, 4 or 8 bytes; 12 with PARAM_THREE */
    uint8_t how;     /* enum param_how */
};

extern const struct param_source param_sources[];
