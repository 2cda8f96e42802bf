/* The training job that this process belongs to, by the variables of its launcher: torchrun, Slurm, PMIx,
 * Ray. */
#pragma once

#include "agent/core/resource/deployment.h"
#include "model/settings/settings.h"
#include "model/step.h"

#include <stddef.h>

#define TRAINING_JOB_BYTES 512

/* Writes what identifies this start of the job on all of its ranks and differs from other jobs; "": unknown.
 * `job_id`: the setting, or NULL. Without the launcher's variables, this text as CUSPAN_JOB_ID gives the same
 * text again: a replay takes the job of its recording that way. */
void training_job_identity(const struct deployment *from, const char *job_id, char text[TRAINING_JOB_BYTES]);

/* The rules for steps. `is_limited` is set where only some steps are sampled. */
struct step_rules training_job_rules(const struct deployment *from, const struct settings *settings);
