/* The output of log records, which are reports of hangs: an exporter of its own, with memory of its own, so
 * that a record waits for no span and no thread but the sender's. It starts with the first record, because
 * most processes never have one.
 *
 * Records go to a collector in brief. To a file, and beside a spool to a file hang-PID-NUMBER.jsonl in its
 * directory, they go in full. One lock guards it, which nobody holds for long. */
#pragma once

#include "agent/export/exporter.h"
#include "model/log_record.h"
#include "model/resource.h"
#include "model/settings/settings.h"

#define LOG_EXPORTERS_MAX 2

/* `settings` must stay valid until log_output_close(). Does nothing if reports have no output. */
void log_output_open(const struct settings *settings, const char *module_path);
void log_output_set_resource(const struct resource *resource);

/* Sends a record in brief or in full. Any thread; does not wait for delivery. False: there is no output, or
 * no more; records that cannot be sent are counted. */
bool log_output_send(const struct log_record *brief, const struct log_record *full);

/* Sends no more, and returns the exporters, which the caller ends with exporters_destroy(). Then it calls
 * log_output_free(), unless a sender still runs. */
void log_output_close(struct exporter *exporters[LOG_EXPORTERS_MAX]);
void log_output_free(void);
