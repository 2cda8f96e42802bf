/* The names that the recorded program gave to its objects, given again by NVTX, as any program does. */
#ifndef CUSPAN_REPLAY_PLAY_REPLAY_NAMES_H
#define CUSPAN_REPLAY_PLAY_REPLAY_NAMES_H

#include "model/record.h"

/* Nothing happens where there is no agent, or one that hears no NVTX. Any thread. */
void replay_names_play(const struct name_record *name);

#endif
