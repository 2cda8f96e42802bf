/* The root span of a command: what `cuspan run` and the agent's library tell each other. `cuspan run` runs
 * the command and knows how it ended; the library knows the settings, and makes and sends the span. Both are
 * built together, which the size shows. */
#ifndef CUSPAN_MODEL_ROOT_SPAN_ENTRY_H
#define CUSPAN_MODEL_ROOT_SPAN_ENTRY_H

#include "base/trace_context.h"
#include "model/send_entry.h"

#include <sys/types.h>

/* A command, from before it starts until after its end. */
struct root {
    char *const *argv;            /* of the command, with NULL at its end */
    struct trace_context context; /* begin makes it: what the command's processes are told */
    const char *report_file;      /* the report goes to report_file.PID */
    pid_t pid;
    int wait_status; /* waitpid's */
    uint64_t start_ns, end_ns;
};

/* What ROOT_API_SYMBOL gives. Both take settings and variables from the environment, as an agent does, and
 * are called on one thread, begin once before end. */
struct root_api {
    size_t root_bytes;
    /* Makes a trace and decides by the sampler whether it is recorded (the sampled flag of `context`). False
     * if no agent would send spans with these settings: then there is no trace to make. It says nothing: the
     * agents do. */
    bool (*begin)(struct root *root);
    /* Makes the span and sends it, within exit_deadline_ms. What became of it stands in the report. */
    void (*end)(const struct root *root);
    send_fn *send; /* for `cuspan send` (model/send.h), by itself */
};

#define ROOT_API_SYMBOL "cuspan_root_api"
typedef const struct root_api *root_api_fn(void);

#endif
