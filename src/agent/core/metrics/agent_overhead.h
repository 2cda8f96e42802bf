/* cuspan's own overhead, as measured by the parts that cause it. */
#pragma once

#include "base/accounting/balance.h"
#include "base/text/json_writer.h"
#include "model/metrics/tracing_overhead.h"

/* Any thread of ours, and of the host at exit. */
void agent_overhead_take(struct agent_overhead *figures);

/* Writes the current overhead as a JSON object, which includes the overhead that CUPTI reports. */
void agent_overhead_write(struct json_writer *json, const char *key, const struct balance *balance);
