/* The function that `cuspan attach` calls in a running process, on a thread that it has created there. */
#pragma once

#include <stddef.h>

/* Starts the agent with variables "NAME=VALUE", one a line, which go before those of the environment. The
 * environment itself does not change. 0: it traces; 1: the process has an agent already; -1: it cannot.
 * `message` becomes the version of CUPTI ("13.5"; with " nodes" if graphs have a span per node, and " hooks"
 * if Python will load its hooks), the state of that agent, or the reason. */
__attribute__((visibility("default"))) int cuspan_agent_attach(const char *lines, char *message,
                                                               size_t bytes);
