/* Recording in place of exporting: capture's records go to a file as they come. */
#ifndef CUSPAN_AGENT_TAPE_H
#define CUSPAN_AGENT_TAPE_H

#include "base/status.h"
#include "capture/capture.h"
#include "model/links.h"

struct recorder;

/* Creates the recording at `path`, or, where another process has already created it, at `path`.PID. */
enum status recorder_create(const char *path, struct recorder **recorder, struct error *err) MUST_CHECK;
struct capture_sink recorder_sink(struct recorder *recorder);
/* Writes what the recording is of. */
void recorder_describe(struct recorder *recorder, const struct capture_info *info, const char *program,
                       const struct settings *settings);
/* Writes what is known of a device's links; what was written of it before holds no longer. */
void recorder_links(struct recorder *recorder, const struct device_links *links);
const char *recorder_path(const struct recorder *recorder);
/* Writes the end, with what was lost before. Returns the number of events. The recorder stays allocated, and
 * its path valid. */
uint64_t recorder_close(struct recorder *recorder);

#endif
