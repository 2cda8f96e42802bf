/* The agent's control socket: PID.sock in a folder of the user's own, and the thread that answers there.
 *
 * A client sends one line, "VERB [ARGUMENT]\n", and gets one line of JSON; then the connection ends. Clients
 * are served one after the other, each in bounded time, and only those of the agent's own user, or root:
 * others get nothing. Nobody asks: the thread sleeps in poll(2) and costs nothing.
 *
 * A host may close every descriptor, and be given their numbers again: so the socket is used only after a
 * look at whether it still is the one that was made. If it isn't, the control is over, and nothing is
 * touched. */
#ifndef CUSPAN_AGENT_CONTROL_SOCKET_H
#define CUSPAN_AGENT_CONTROL_SOCKET_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

struct control_verb {
    const char *name;
    /* Writes one object of JSON. `argument`: what stood behind the verb, perhaps "". May take its time: the
     * client says how long it waits. */
    void (*answer)(FILE *to, const char *argument);
};

/* Makes the socket and starts the thread. `folder` NULL: in the user's runtime directory, else in /tmp. A
 * process with another user's rights has none, and no error. Once. */
enum status control_socket_open(const char *folder, const struct control_verb *verbs, size_t count,
                                struct error *err) MUST_CHECK;

/* Removes it and ends the thread, unless that is busy. Again and again, on any thread; not in a child of the
 * process that opened it. */
void control_socket_close(void);

/* For a signal's handler: nobody finds it any more. */
void control_socket_hide(void);

/* In a forked child, which has the descriptors and not the thread. Async-signal-safe. */
void control_socket_forget(void);

/* Where it is, or NULL. */
const char *control_socket_path(void);

#endif
