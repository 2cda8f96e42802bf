/* Answers for `cuspan doctor`, which loads the library without an agent. */
#ifndef CUSPAN_AGENT_CORE_ENTRY_DOCTOR_ANSWERS_H
#define CUSPAN_AGENT_CORE_ENTRY_DOCTOR_ANSWERS_H

#include "model/entries/doctor_entry.h"

__attribute__((visibility("default"))) const struct doctor_api *cuspan_doctor_api(void);

#endif
