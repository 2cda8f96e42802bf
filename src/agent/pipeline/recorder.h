/* Recording in place of exporting: capture's records go to a file as they come. */
#ifndef CUSPAN_AGENT_TAPE_H
#define CUSPAN_AGENT_TAPE_H

#include "base/status.h"
#include "capture/capture.h"
#include "model/links.h"

struct tape;

/* Creates the recording at `path`, or, where another process has already created it, at `path`.PID. */
enum status tape_create(const char *path, struct tape **tape, struct error *err) MUST_CHECK;
struct capture_sink tape_sink(struct tape *tape);
/* Writes what the recording is of. */
void tape_describe(struct tape *tape, const struct capture_info *info, const char *program,
                   const struct settings *settings);
/* Writes what is known of a device's links; what was written of it before holds no longer. */
void tape_links(struct tape *tape, const struct device_links *links);
const char *tape_path(const struct tape *tape);
/* Writes the end, with what was lost before. Returns the number of events. The tape stays allocated, and its
 * path valid. */
uint64_t tape_close(struct tape *tape);

#endif
