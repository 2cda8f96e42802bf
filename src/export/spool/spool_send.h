/* Delivers what lies on a disk, on the caller's thread: for `cuspan send`. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_SEND_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_SEND_H

#include "export/exporter.h"
#include "model/send_entry.h"

/* One for each output that something may be for. */
struct spool_drain;

enum status spool_drain_create(const struct output_settings *settings,
                               const struct exporter_environment *environment,
                               struct spool_drain **spool_drain) MUST_CHECK;
void spool_drain_destroy(struct spool_drain *spool_drain);

/* What output number i has written goes to spool_drains[i]; NULL: it stays, and that is said. `only`: the
 * name of one of the sources, or NULL. Adds to the result. Stops where nothing is accepted any more. */
enum status spool_send_folder(struct spool_drain *const spool_drains[OUTPUT_NUMBERS], const char *path,
                              const char *only, const struct send_request *request,
                              struct send_result *result, struct error *err) MUST_CHECK;

/* The lines of a file. It stays as it is. */
enum status spool_send_lines(struct spool_drain *spool_drain, const char *path,
                             const struct send_request *request, struct send_result *result,
                             struct error *err) MUST_CHECK;

/* How many spans a request in OTLP JSON has; -1 where it isn't one, or not whole. */
int64_t spool_json_spans(const char *line, size_t bytes);

#endif
