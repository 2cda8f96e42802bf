/* Adds the attributes of the code that made a call, or captured a graph's node. */
#pragma once

#include "model/settings/settings.h"
#include "model/span.h"

struct code_stack;

/* By default only the first span of a stack gets the stack's text, and the others refer to it by its ID. Sets
 * code->is_sent when the text is added. */
void code_attributes_put(const struct settings *settings, struct span *span, struct code_stack *code);
