/* Sends one export request without spans, to check whether the collector accepts it. */
#ifndef CUSPAN_EXPORT_OTLP_PROBE_H
#define CUSPAN_EXPORT_OTLP_PROBE_H

#include "model/doctor_entry.h"

/* `module_path`: of the export module. Takes at most the exporter's timeout, limited to PROBE_MS_MAX. */
#define PROBE_MS_MAX 10000
void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer);

/* Stores `body`, of less than 256 bytes, in a gzip member or zstd frame without compressing it: enough to
 * check that the server can decompress. `packed` has space for body_bytes + PROBE_PACKED_MORE. Returns its
 * size. */
#define PROBE_PACKED_MORE 32
size_t probe_pack(enum compression compression, const uint8_t *body, size_t body_bytes, uint8_t *packed);

#endif
