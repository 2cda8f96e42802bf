/* Replays the names of the recorded program's objects through NVTX, as a real program would. */
#pragma once

#include "model/record.h"

/* No effect without an agent that uses NVTX. Any thread. */
void replay_names_play(const struct name_record *name);
