/* Stacks of addresses as text. Each distinct stack is formatted once, as long as there is room. Only for the
 * pipeline thread: looking up names in the loader may wait for a library that the host is loading. */
#ifndef CUSPAN_AGENT_PIPELINE_STACK_TEXT_H
#define CUSPAN_AGENT_PIPELINE_STACK_TEXT_H

#include "base/status.h"
#include "model/record.h"

#define STACKS_SHOWN_MAX  16 /* frames */
#define STACKS_TEXT_BYTES 1024
#define STACKS_KEPT       512 /* distinct stacks; on a collision the text is formatted again each time */

/* NO_MEMORY. Takes about 0.5 MiB (SETTINGS_STACKS_BYTES). */
enum status stack_text_init(void) MUST_CHECK;

/* A line per frame, innermost first: "function+0x1c (module+0x1189)", or "module+0x1189" if the loader knows
 * no name (static functions, stripped programs). Names are demangled. Leading frames of cuspan, CUPTI and
 * CUDA libraries and frames beyond STACKS_SHOWN_MAX are omitted. "" if none is left. Valid until the next
 * call. */
const char *stack_text_of(const struct stack_record *record);

#endif
