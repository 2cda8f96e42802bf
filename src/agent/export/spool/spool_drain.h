/* Delivers what a spool or a file holds, on the caller's thread, for `cuspan send`. */
#pragma once

#include "base/status.h"
#include "agent/export/delivery/output.h"
#include "model/entries/root_span_entry.h"
#include "model/settings/settings.h"

/* A destination: the collector for one output's requests. */
struct spool_drain;

enum status spool_drain_create(const struct output_settings *settings,
                               const struct output_environment *environment,
                               struct spool_drain **drain) MUST_CHECK;
void spool_drain_destroy(struct spool_drain *drain);

/* Sends what output number i wrote to drains[i]. If that is NULL, the spool keeps it and a line is logged.
 * `only`: the name of one source, or NULL for all. Adds to the result. Stops when the collector accepts no
 * more. */
enum status spool_drain_folder(struct spool_drain *const drains[OUTPUT_NUMBERS], const char *path,
                               const char *only, const struct send_request *request,
                               struct send_result *result, struct error *err) MUST_CHECK;

/* Sends the lines of a file, which is not changed. */
enum status spool_drain_lines(struct spool_drain *drain, const char *path, const char *name,
                              const struct send_request *request, struct send_result *result,
                              struct error *err) MUST_CHECK;

/* Counts the spans of a request in OTLP JSON without parsing all of it. -1 if the line is not a complete
 * request. */
int64_t json_spans_count(const char *line, size_t bytes);
