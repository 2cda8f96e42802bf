/* What the recorded program said of its work, said again by cuspan.h and NVTX, as any program does. */
#ifndef CUSPAN_REPLAY_PLAY_ANNOTATIONS_H
#define CUSPAN_REPLAY_PLAY_ANNOTATIONS_H

#include "model/record.h"

/* On the thread that plays the recorded one. */
void annotations_play(const struct record_head *said);

#endif
