/* The interface of the agent's library for the root span of `cuspan run`. The CLI runs the command and knows
 * how it ended; the library knows the settings, and creates and sends the span. The size verifies that both
 * were built together. */
#pragma once

#include "base/trace_context.h"
#include "model/entries/send_entry.h"
#include "model/entries/zstd_entry.h"

#include <sys/types.h>

/* A command. */
struct root {
    char *const *argv;            /* NULL-terminated */
    struct trace_context context; /* set by begin, for the command's processes */
    const char *accounts_file;    /* the report is written to accounts_file.PID */
    pid_t pid;
    int wait_status; /* from waitpid() */
    uint64_t start_ns, end_ns;
};

/* Returned by ROOT_API_SYMBOL. The first two functions read the environment like an agent. Call begin and
 * then end, once, on one thread. */
struct root_api {
    size_t root_bytes;
    /* Starts a trace and samples it (the sampled flag of `context`). False, without a log line, if no agent
     * would send spans with these settings. */
    bool (*begin)(struct root *root);
    /* Creates and sends the span within exit_deadline_ms. The report has the result. */
    void (*end)(const struct root *root);
    send_fn *send; /* for `cuspan send` (model/entries/send_entry.h), independent of the above */
    const struct zstd_api *zstd; /* for `cuspan export`, independent of the above */
};

#define ROOT_API_SYMBOL "cuspan_root_api"
typedef const struct root_api *root_api_fn(void);
