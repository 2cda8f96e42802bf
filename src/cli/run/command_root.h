/* The trace of a whole command: `cuspan run` makes a TRACEPARENT where none is set, and sends the root span
 * when the command has ended, so that all its processes are one trace. The agent's library does the work, in
 * this process. */
#ifndef CUSPAN_CLI_RUN_COMMAND_ROOT_H
#define CUSPAN_CLI_RUN_COMMAND_ROOT_H

#include "cli/run/injection.h"
#include "model/root_span_entry.h"

struct outcome;

struct command_root {
    const struct root_api *api; /* NULL: there is no root to send */
    struct root root;
    char *report_file; /* owned */
};

/* Before the command starts, with the injection's environment applied: makes the trace and sets TRACEPARENT
 * and TRACESTATE for the command. Does nothing where a valid TRACEPARENT is set, or the agents will send no
 * spans. */
void command_root_begin(struct command_root *root, const struct injection *injection, char *const *argv);

/* Whether the sampler has left the command out: its processes are not traced, then. */
bool command_root_is_left_out(const struct command_root *root);

/* After its end: sends the root span, and reads its report, where `outcome` shows that spans of the command
 * have arrived. A root without children would be of no use to anybody. */
void command_root_end(struct command_root *root, const struct injection *injection, struct outcome *outcome);

/* Safe on a zeroed one. */
void command_root_deinit(struct command_root *root);

#endif
