/* Names of folders from foreign text. */
#pragma once

#include "cli/util/text.h"

#define FLEET_NO_SERVICE  "__HIVE_DEFAULT_PARTITION__"
#define FLEET_SERVICE_MAX 180 /* bytes; a file name has 255 */

/* Adds "date=2026-11-26/hour=03/service=NAME". `hour`: since 1970. `service`: NULL: none. */
void fleet_path_add_partition(struct text *path, uint64_t hour, const char *service);
