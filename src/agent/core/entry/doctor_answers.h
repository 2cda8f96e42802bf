/* Answers for `cuspan doctor`, which loads the library without an agent. */
#pragma once

#include "model/entries/doctor_entry.h"

__attribute__((visibility("default"))) const struct doctor_api *cuspan_doctor_api(void);
