/* Records of simulate.py. */
#pragma once

#include <stdint.h>

struct record {
    uint32_t type, rank;
    uint64_t step, start_ns, end_ns, key, communicator;
    uint32_t word, participants;
    uint64_t bytes;
};

enum { RECORD_RANK, RECORD_STEP, RECORD_CALL, RECORD_WORK, RECORD_COLLECTIVE };
