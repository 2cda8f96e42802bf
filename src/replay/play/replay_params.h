/* Makes again what CUPTI hands to a callback as functionParams, from the values in a call record. */
#ifndef CUSPAN_REPLAY_PLAY_REPLAY_PARAMS_H
#define CUSPAN_REPLAY_PLAY_REPLAY_PARAMS_H

#include "model/record.h"

#define PARAMS_STRUCT_BYTES  512
#define PARAMS_POINTED_BYTES 512
#define PARAMS_POINTERS_MAX  CALL_PARAMS_MAX
#define PARAMS_UNSET         0xa5 /* out-parameters before the call has set them: whoever reads one stands out */

struct params {
    uint8_t bytes[PARAMS_STRUCT_BYTES]; /* the struct itself; pointers in it lead into the rest */
    uint32_t pointed_count;
    struct {
        uint16_t offset; /* of the pointer in `bytes` */
        _Alignas(8) uint8_t bytes[PARAMS_POINTED_BYTES];
    } pointed[PARAMS_POINTERS_MAX];
    uint32_t text_bytes;
    char texts[CALL_PARAMS_MAX * (CALL_STRING_BYTES + 1)];
};

/* `is_exit`: what the call sets is set, if it succeeded. */
void replay_params_build(struct params *params, const struct call_record *call, int is_exit);

#endif
