/* The root span of a command, for `cuspan run`, which loads the library without an agent. */
#pragma once

#include "model/entries/root_span_entry.h"

__attribute__((visibility("default"))) const struct root_api *cuspan_root_api(void);
