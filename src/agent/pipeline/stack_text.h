/* Stacks of addresses as text for people, each distinct one made once (as long as there is room). For the
 * pipeline's thread alone: asking the loader for names may wait for a library that the host is just loading.
 */
#ifndef CUSPAN_AGENT_STACKS_H
#define CUSPAN_AGENT_STACKS_H

#include "base/status.h"
#include "model/record.h"

#define STACKS_SHOWN_MAX  16 /* frames */
#define STACKS_TEXT_BYTES 1024
#define STACKS_KEPT       512 /* distinct stacks; what falls on another's place is made again each time */

/* NO_MEMORY. Takes some half a MiB (SETTINGS_STACKS_BYTES). */
enum status stack_text_init(void) MUST_CHECK;

/* A line for each frame, innermost first: "function+0x1c (module+0x1189)", or "module+0x1189" where the
 * loader knows no name (static functions, stripped programs), demangled. The frames of cuspan, CUPTI and
 * CUDA's libraries at the front are left out, frames beyond STACKS_SHOWN_MAX as well. "" where none is left.
 * Holds until the next call. */
const char *stack_text_of(const struct stack_record *record);

void stack_text_deinit(void);

#endif
