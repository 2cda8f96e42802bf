/* Reports what the agent does while CUPTI calls it on a host thread, to a host that exports
 * cuspan_replay_watch (agent/recording/replay_seam.h). */
#pragma once

/* Looks up the host's function. */
void host_watch_init(void);
/* Marks this thread as a host thread. */
void host_watch_host_thread(void);
/* Around each call into the agent; `what` is a static string. */
void host_watch_begin(const char *what);
void host_watch_end(void);
/* Every call by the agent is reported from now on, because a forked child must make none. */
void host_watch_forked_child(void);
/* The agent has called `function`. */
void host_watch_cupti(const char *function);
