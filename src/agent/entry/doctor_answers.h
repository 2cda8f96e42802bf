/* The answers to `cuspan doctor`: the library in its process, in place of an agent. */
#ifndef CUSPAN_AGENT_DOCTOR_H
#define CUSPAN_AGENT_DOCTOR_H

#include "model/doctor_entry.h"

__attribute__((visibility("default"))) const struct doctor_api *cuspan_doctor_api(void);

#endif
