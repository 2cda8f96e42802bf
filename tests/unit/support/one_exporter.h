/* Shorthands of exporter.h for tests with one exporter. */
#pragma once

#include "agent/export/exporter.h"

static inline enum status exporter_flush(struct exporter *exporter, uint64_t deadline_ns)
{
    return exporter_wait(exporter, exporter_state(exporter).submitted, deadline_ns);
}

static inline bool exporter_destroy(struct exporter *exporter, uint64_t deadline_ns)
{
    return exporters_destroy(&exporter, 1, deadline_ns);
}
