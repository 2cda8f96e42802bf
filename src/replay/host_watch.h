/* What the agent does while CUPTI calls it on a thread of the host's, for a host that wants to know: one that
 * exports cuspan_replay_watch (recording/replay.h). */
#ifndef CUSPAN_REPLAY_HOST_WATCH_H
#define CUSPAN_REPLAY_HOST_WATCH_H

/* Looks for the host's function. */
void host_watch_init(void);
/* This thread is one of the host's from here on. */
void host_watch_host_thread(void);
/* Around each call into the agent; `what` is a static string. */
void host_watch_begin(const char *what);
void host_watch_end(void);
/* From here on each call of the agent's is told, for there must be none at all. */
void host_watch_forked_child(void);
/* The agent has called `function`. */
void host_watch_cupti(const char *function);

#endif
