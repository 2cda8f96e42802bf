/* The texts of kernels' names, where CUPTI does not keep them (callbacks/launch_names.h). Pipeline thread.
 *
 * A launch names its kernel by the address of a text, which an earlier record has. An address has another
 * text after its module was unloaded, so a text counts from a launch on: correlation IDs count up. Texts are
 * kept in two halves. A full half replaces the other one, whose texts are forgotten and taken again at the
 * next launches. */
#ifndef CUSPAN_AGENT_CAPTURE_ACTIVITY_KERNEL_TEXTS_H
#define CUSPAN_AGENT_CAPTURE_ACTIVITY_KERNEL_TEXTS_H

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

/* `kept_ns`: how long a text remains valid at least after kernel_texts_find(). `has_counters`: CUPTI's own
 * kernels, which have the correlation IDs of the launches around which they run, keep their name. NO_MEMORY.
 */
enum status kernel_texts_create(uint64_t kept_ns, bool has_counters) MUST_CHECK;
void kernel_texts_destroy(void); /* for tests */

void kernel_texts_note(const struct kernel_name_record *record);

/* The name of the kernel with this record, whose `name` is CUPTI's pointer. Without a launch of its own, as a
 * node of a graph, it is read if the text is surely still there. NULL: unknown, and counted
 * (kernels_nameless). */
const char *kernel_texts_find(const struct activity_record *record);

#endif
