/* Python that nobody has kept from ending by Ctrl-C ends itself by SIGINT, after its own exit handlers and in
 * the place of C's. */
#ifndef CUSPAN_AGENT_PYTHON_END_H
#define CUSPAN_AGENT_PYTHON_END_H

/* Has `end` called when the interpreter in this process, if there is one, has come to its end. Any thread. */
void python_end_follow(void (*end)(void));

#endif
