/* Replays the recorded program's annotations through cuspan.h and NVTX, as a real program would. */
#ifndef CUSPAN_AGENT_REPLAY_PLAY_ANNOTATIONS_H
#define CUSPAN_AGENT_REPLAY_PLAY_ANNOTATIONS_H

#include "model/record.h"
#include "model/step.h"

/* On the thread that plays the recorded one. */
void annotations_play(const struct record_head *annotation);
/* Begins the step, as by its recorded source. */
void annotations_step(const struct step_boundary *step);

#endif
