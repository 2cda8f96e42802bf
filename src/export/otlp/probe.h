/* One export request without spans, outside of any exporter: does the collector take ours? */
#ifndef CUSPAN_EXPORT_OTLP_PROBE_H
#define CUSPAN_EXPORT_OTLP_PROBE_H

#include "model/doctor_entry.h"

/* `module_path`: of the export module. Takes as long as the exporter's timeout, PROBE_MS_MAX at most. */
#define PROBE_MS_MAX 10000
void probe_collector(const struct exporter_settings *exporter, const char *module_path,
                     struct doctor_answer *answer);

/* `body` as one gzip member or zstd frame that stores it as it is: what is asked is whether the server
 * unpacks it. Returns its bytes; `packed` has room for body_bytes and PROBE_PACKED_MORE. `body_bytes` below
 * 256. */
#define PROBE_PACKED_MORE 32
size_t probe_pack(enum compression compression, const uint8_t *body, size_t body_bytes, uint8_t *packed);

#endif
