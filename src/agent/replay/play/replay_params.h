/* Rebuilds the functionParams that CUPTI passes to a callback from the values in a call record. */
#pragma once

#include "model/record.h"

#define PARAMS_STRUCT_BYTES  512
#define PARAMS_POINTED_BYTES 512
#define PARAMS_POINTERS_MAX  CALL_PARAMS_MAX
#define PARAMS_UNSET         0xa5 /* unset output parameters, so that reading one is noticed */

struct params {
    uint8_t bytes[PARAMS_STRUCT_BYTES]; /* the struct itself; its pointers refer to the rest */
    uint32_t pointed_count;
    struct {
        uint16_t offset; /* of the pointer in `bytes` */
        _Alignas(8) uint8_t bytes[PARAMS_POINTED_BYTES];
    } pointed[PARAMS_POINTERS_MAX];
    uint32_t text_bytes;
    char texts[CALL_PARAMS_MAX * (CALL_STRING_BYTES + 1)];
};

/* With `is_exit`, output parameters are set if the call succeeded. */
void replay_params_build(struct params *params, const struct call_record *call, int is_exit);
