/* Finding the program that cuspan doctor checks. */
#pragma once

/* Searches PATH like execvp; allocated, or NULL with errno. */
char *doctor_find_program(const char *name);
