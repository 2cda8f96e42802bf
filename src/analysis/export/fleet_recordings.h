/* Recordings that are already in an export: each replay gives its spans new IDs, so a second export would
 * double them. */
#pragma once

#include "base/status.h"

#include <stddef.h>

/* INVALID: one of the recordings among the paths is in the folder. */
enum status fleet_recordings_check(const char *folder, const char *const *paths, size_t count,
                                   struct error *err) MUST_CHECK;
/* After the export. */
enum status fleet_recordings_note(const char *folder, const char *const *paths, size_t count,
                                  struct error *err) MUST_CHECK;
