/* NCCL's calls in a replay, for the live state: from the attributes that their ranges had, because a replay
 * does not play their NVTX payloads. With a real NCCL, nvtx.c does the same from the payloads. */
#pragma once

#include "agent/abi/cupti_abi.h"

cuspan_replay_nccl_fn nccl_replay_call;
