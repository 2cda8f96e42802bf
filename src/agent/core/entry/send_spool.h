/* `cuspan send`, in the library because it has the settings and the exporters. */
#ifndef CUSPAN_AGENT_CORE_ENTRY_SEND_SPOOL_H
#define CUSPAN_AGENT_CORE_ENTRY_SEND_SPOOL_H

#include "model/entries/send_entry.h"

send_fn agent_send;

#endif
