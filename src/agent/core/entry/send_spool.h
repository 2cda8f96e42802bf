/* `cuspan send`, in the library because it has the settings and the exporters. */
#pragma once

#include "model/entries/send_entry.h"

send_fn agent_send;
