/* Replays the recorded program's annotations through cuspan.h and NVTX, as a real program would. */
#pragma once

#include "model/record.h"
#include "model/step.h"

/* On the thread that plays the recorded one. */
void annotations_play(const struct record_head *annotation);
/* Begins the step, as by its recorded source. */
void annotations_step(const struct step_boundary *step);
