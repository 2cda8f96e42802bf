/* Batches to a collector, by OTLP/HTTP or OTLP/gRPC: compresses, sends, judges the answer, retries. */
#ifndef CUSPAN_EXPORT_SENDER_H
#define CUSPAN_EXPORT_SENDER_H

#include "export/control.h"
#include "export/exporter.h"
#include "export/output.h"

/* Copies what it needs of both. NO_MEMORY only. */
enum status sender_create(const struct output_settings *settings,
                          const struct exporter_environment *environment, struct control *control,
                          struct output **output) MUST_CHECK;

#endif
