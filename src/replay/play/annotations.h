/* Replays the recorded program's annotations through cuspan.h and NVTX, as a real program would. */
#ifndef CUSPAN_REPLAY_PLAY_ANNOTATIONS_H
#define CUSPAN_REPLAY_PLAY_ANNOTATIONS_H

#include "model/record.h"

/* On the thread that plays the recorded one. */
void annotations_play(const struct record_head *annotation);

#endif
