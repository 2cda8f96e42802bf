/* Names of the signals whose default action ends a program. */
#pragma once

/* All of them, for messages: "HUP, INT, ...". Not KILL, which no program can handle. */
extern const char signal_names_all[];

/* "TERM", "SIGTERM", "term"; 0: not one of them. */
int signal_by_name(const char *name);

/* "SIGTERM"; "a signal" for any other. Static storage. */
const char *signal_name(int number);
