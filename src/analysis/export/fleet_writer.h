/* Writes spans, by resource and start, as files of docs/fleet-schema.md. A second thread encodes and writes a
 * row group while the next one is collected.
 *
 * A resource is one process's work on one device, so only one file is open at a time. */
#pragma once

#include "analysis/trace/span_store.h"
#include "model/entries/root_span_entry.h"

#define FLEET_FILE_BYTES (64u << 20)

struct fleet_writer;

struct fleet_totals {
    size_t spans, files, resources;
    uint64_t bytes;
    size_t repeated; /* attributes whose name the span or resource already had */
    size_t late;     /* starts after 2262 */
};

/* Creates the folder, or checks one that exists: INVALID if its files are others'. `trace` gets all strings
 * and resources before the first span. `file_bytes`: for tests; 0: FLEET_FILE_BYTES. */
enum status fleet_writer_create(const char *folder, const struct trace *trace, const struct zstd_api *zstd,
                                size_t file_bytes, struct fleet_writer **writer,
                                struct error *err) MUST_CHECK;
/* Removes an unfinished file. */
void fleet_writer_destroy(struct fleet_writer *writer);

/* In order of resource, then of start. An error may be that of an earlier span. */
enum status fleet_writer_add(struct fleet_writer *writer, const struct span_record *record,
                             struct error *err) MUST_CHECK;
/* After the last span: also writes the resources. */
enum status fleet_writer_finish(struct fleet_writer *writer, struct fleet_totals *totals,
                                struct error *err) MUST_CHECK;
