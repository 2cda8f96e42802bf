/* The trace of a command: `cuspan run` sets a TRACEPARENT if there is none, and sends the root span when the
 * command has ended, so that all processes are in one trace. The agent library does this in the process of
 * `cuspan run`.
 *
 * It is sent only if the agents' reports show that spans have arrived: a collector that is down then delays
 * the command only once. */
#pragma once

#include "agent/operate/run/injection.h"
#include "model/entries/root_span_entry.h"

struct outcome;

struct command_root {
    const struct root_api *api; /* NULL: no root span is sent */
    struct root root;
    char *accounts_file; /* owned */
};

/* The agent library's functions for root spans and `cuspan send`; NULL: err says why there are none. */
const struct root_api *root_api_open(const char *library, struct error *err);

/* Call before the command starts and after injection_apply(). Creates the trace, and sets TRACEPARENT and
 * TRACESTATE. Does nothing if TRACEPARENT is valid or the agents will send no spans. */
void command_root_begin(struct command_root *root, const struct injection *injection, char *const *argv);

/* Whether the command is not sampled, so that its processes are not traced. */
bool command_root_is_left_out(const struct command_root *root);

/* Call after the end. Sends the root span if spans of the command were delivered, because a root without
 * children is useless. Then reads all reports again. */
void command_root_end(struct command_root *root, const struct injection *injection, struct outcome *outcome);

/* Safe on a zeroed struct. */
void command_root_deinit(struct command_root *root);
