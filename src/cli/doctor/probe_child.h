/* A question that is answered in a child process: what loads a driver, a CUPTI or a resolver may crash, hang,
 * or leave threads behind. */
#ifndef CUSPAN_CLI_DOCTOR_PROBE_CHILD_H
#define CUSPAN_CLI_DOCTOR_PROBE_CHILD_H

#include <stddef.h>

enum child_end { CHILD_ANSWERED, CHILD_DIED, CHILD_LATE };

/* Calls work(question, answer) in a child, with its output thrown away, and copies the `bytes` of `answer`
 * over. Unless ANSWERED, `answer` is zeroed and `how` (64 bytes) says what became of the child. */
enum child_end probe_child_ask(void (*work)(const void *question, void *answer), const void *question,
                               void *answer, size_t bytes, unsigned timeout_ms, char how[64]);

#endif
