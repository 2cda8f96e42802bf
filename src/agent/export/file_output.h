/* The output for a file or standard output: JSON Lines, one request per line. */
#pragma once

#include "base/status.h"
#include "agent/export/delivery/delivery_control.h"
#include "agent/export/delivery/output.h"

#include <stdint.h>

/* `path` is copied; NULL: standard output. The exporter's thread opens the file for appending and creates it
 * with mode 0600. NO_MEMORY only. */
enum status file_output_create(const char *path, struct delivery_control *control,
                               struct output **output) MUST_CHECK;

/* The number of files open now, in the process. Any thread. */
uint32_t file_output_open_count(void);
