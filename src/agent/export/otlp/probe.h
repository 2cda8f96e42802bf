/* Sends one export request without spans, to check whether the collector accepts it. */
#pragma once

#include "model/entries/doctor_entry.h"

/* `module_path`: of the export module. Takes at most the exporter's timeout, limited to PROBE_MS_MAX. */
#define PROBE_MS_MAX 10000
void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer);

/* Compresses a NUL-terminated body as the exporter would, to check that the server can decompress it.
 * NO_MEMORY; FULL if the result is larger than `packed`. */
#define PROBE_BYTES_MAX 256
enum status probe_pack(enum compression compression, const char *body, uint8_t packed[PROBE_BYTES_MAX],
                       size_t *packed_bytes) MUST_CHECK;
