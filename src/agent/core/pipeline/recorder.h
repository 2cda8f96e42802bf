/* Writes captured records to a recording instead of exporting spans. */
#pragma once

#include "base/status.h"
#include "agent/capture/capture.h"
#include "model/metrics/links.h"
#include "model/resource.h"

struct recorder;

/* Creates the recording at `path`, or at `path`.PID if another process has created `path`. */
enum status recorder_create(const char *path, struct recorder **recorder, struct error *err) MUST_CHECK;
struct capture_sink recorder_sink(struct recorder *recorder);
/* Writes the header: program, CUPTI and settings. */
void recorder_describe(struct recorder *recorder, const struct capture_info *info, const char *program,
                       const struct settings *settings);
/* Writes which process of which job this is; `job`: its identity (agent/core/resource/training_job.h), or "".
 */
void recorder_describe_job(struct recorder *recorder, const struct resource *resource, const char *job,
                           const struct settings *settings);
/* Writes the links of a device, which replace those written before. */
void recorder_links(struct recorder *recorder, const struct device_links *links);
const char *recorder_path(const struct recorder *recorder);
/* The file is complete as of now, and continues. */
void recorder_checkpoint(struct recorder *recorder);
/* Writes the end and the losses. Returns the number of events. The recorder stays allocated and its path
 * valid. */
uint64_t recorder_close(struct recorder *recorder);
