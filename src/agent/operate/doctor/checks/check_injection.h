/* Finding the program that cuspan doctor checks. */
#ifndef CUSPAN_AGENT_OPERATE_DOCTOR_CHECKS_CHECK_INJECTION_H
#define CUSPAN_AGENT_OPERATE_DOCTOR_CHECKS_CHECK_INJECTION_H

/* Searches PATH like execvp; allocated, or NULL with errno. */
char *doctor_find_program(const char *name);

#endif
