/* NVIDIA's own tools, which need CUPTI for themselves: whether this process was started under one. */
#ifndef CUSPAN_AGENT_TOOLS_H
#define CUSPAN_AGENT_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* False: under none that is known. Else `text` says which, and by what it is known. */
bool nvidia_tools_present(char *text, size_t size);

#endif
