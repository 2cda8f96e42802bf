/* The signals that end a program by their default action, by name. */
#ifndef CUSPAN_BASE_PROCESS_SIGNAL_NAMES_H
#define CUSPAN_BASE_PROCESS_SIGNAL_NAMES_H

/* All of them, for a message: "HUP, INT, ...". KILL is not among them: no program hears of it. */
extern const char signal_names_all[];

/* "TERM", "SIGTERM", "term"; 0: not one of them. */
int signal_by_name(const char *name);

/* "SIGTERM"; "a signal" where it is none of them. Static storage. */
const char *signal_name(int number);

#endif
