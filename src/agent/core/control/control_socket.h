/* The agent's control socket, PID.sock in the user's runtime directory, and the thread that serves it.
 *
 * A client sends one line, "VERB [ARGUMENT]\n", and gets one line of JSON; then the connection ends. Clients
 * are served one after the other, each in bounded time, and only those of the agent's user or root. Otherwise
 * the thread sleeps in poll(2).
 *
 * The host may close all descriptors and reuse their numbers. So the socket is checked before each use, and
 * if it is not the one that was created, the control ends. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

/* Writes one JSON object. `argument`: the text after the verb, maybe "". May take long: the client says how
 * long it waits. */
typedef void control_answer_fn(FILE *to, const char *argument);

struct control_verb {
    const char *name;
    control_answer_fn *answer;
};

/* Sets the verbs; the table stays valid. Called before the socket opens. */
void control_socket_serve(const struct control_verb *verbs, size_t count);

/* Creates the socket and starts the thread. Call once. `folder` NULL: the user's runtime directory, else one
 * in /tmp. In a setuid process it creates no socket and succeeds. */
enum status control_socket_open(const char *folder, struct error *err) MUST_CHECK;

/* Removes the socket and ends the thread unless it is serving a client. Any thread, any number of times;
 * does nothing in a forked child. */
void control_socket_close(void);

/* Removes the socket's name. Async-signal-safe. */
void control_socket_hide(void);

/* In a forked child, which inherits the descriptors but not the thread. Async-signal-safe. */
void control_socket_forget(void);
