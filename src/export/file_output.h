/* JSON Lines to a file or to standard output: one request a line. */
#ifndef CUSPAN_EXPORT_FILE_OUTPUT_H
#define CUSPAN_EXPORT_FILE_OUTPUT_H

#include "base/status.h"
#include "export/delivery_control.h"
#include "export/output.h"

#include <stdint.h>

/* `path` is copied; NULL: standard output. The file is opened on the exporter's thread, created 0600 and
 * appended to. NO_MEMORY only. */
enum status file_output_create(const char *path, struct delivery_control *control,
                               struct output **output) MUST_CHECK;

/* Of all files, those that are open now. Any thread. */
uint32_t file_descriptors_open(void);

#endif
