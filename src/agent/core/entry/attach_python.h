/* Loads Python's hooks in a program that runs already, and was therefore not started with them. */
#pragma once

#include <stdbool.h>

/* Asks the interpreter to import cuspan_auto from python.zip in the agent's folder. It does so as it handles
 * signals: on the main thread, between two instructions of Python, so after the C call that this thread may
 * be in. False: there is no interpreter or no archive, others can write to the archive, or the interpreter's
 * queue of 32 such calls is full. Nothing but what is imported stays in the program. */
bool attach_python(void);
