/* Loads the agent into a running process and starts it, as `cuspan attach` does:
 *
 *   check without stopping -> choose a thread that sleeps safely -> stop it alone, give it memory, let it
 * create a thread, restore it -> the new thread loads the agent and calls cuspan_agent_attach() -> report */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_request {
    pid_t pid;
    const char *library;  /* its path, as the target sees it */
    const char *copied;   /* a folder to copy to CONTAINER_FOLDER first, where the library then is; or NULL */
    const char *settings; /* lines "NAME=VALUE" */
    uint32_t timeout_ms;  /* for finding a thread, and again for the agent's start */
};

struct attach_result {
    char program[64];
    pid_t thread;         /* the one that was stopped; 0: none, Python loaded the agent */
    uint64_t stopped_ns;  /* for how long */
    uint64_t start_ns;    /* how long the agent needed, with the creation of its thread */
    bool has_graph_nodes; /* graphs have a span for each node with its CUPTI */
    bool has_driver;      /* the process had loaded the CUDA driver */
    bool is_python;
    bool has_hooks; /* Python loads its hooks when its main thread next runs */
};

/* Not OK: `err` says why, what to do, and if more than files in a container has changed. */
enum status attach_process(const struct attach_request *request, struct attach_result *result,
                           struct error *err) MUST_CHECK;
