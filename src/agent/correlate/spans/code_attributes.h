/* The attributes of the code that made a call, or captured a graph's node. */
#ifndef CUSPAN_AGENT_CORRELATE_SPANS_CODE_ATTRIBUTES_H
#define CUSPAN_AGENT_CORRELATE_SPANS_CODE_ATTRIBUTES_H

#include "model/settings/settings.h"
#include "model/span.h"

struct code_stack;

/* By default the text of a stack is sent once, and the other spans refer to it by its ID. `code` remembers
 * that. */
void code_attributes_put(const struct settings *settings, struct span *span, struct code_stack *code);

#endif
