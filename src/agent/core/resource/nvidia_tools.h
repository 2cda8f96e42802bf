/* Detects whether this process was started under a tool of NVIDIA that needs CUPTI for itself.
 *
 * The agent then logs one line and loads nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: no known tool. Otherwise `text` has the tool and how it was detected. */
bool nvidia_tools_present(char *text, size_t size);
