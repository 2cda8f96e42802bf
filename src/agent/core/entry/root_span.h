/* Entries for the `cuspan` command, which loads the library without an agent. */
#pragma once

#include "model/entries/doctor_entry.h"
#include "model/entries/root_span_entry.h"

/* `cuspan doctor` */
__attribute__((visibility("default"))) const struct doctor_api *cuspan_doctor_api(void);
/* The root span of `cuspan run`. */
__attribute__((visibility("default"))) const struct root_api *cuspan_root_api(void);
/* `cuspan send`; in the library because it has the settings and the exporters. */
send_fn agent_send;
