/* Keeps the texts of kernels' names, where CUPTI does not keep them (callbacks/launch_names.h). Pipeline
 * thread.
 *
 * A launch names its kernel by the address of a text, which an earlier record contains. An address can have
 * another text after its module was unloaded, so a text is valid from one launch on: correlation IDs count
 * up. Texts are kept in two halves. A full half replaces the other one, whose texts are forgotten and taken
 * again at the next launches. */
#pragma once

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

/* `kept_ns`: a text remains valid for at least this time after kernel_texts_find(). `has_counters`: CUPTI's
 * own kernels, which have the correlation IDs of the launches around which they run, keep their name. Fails
 * with NO_MEMORY only. */
enum status kernel_texts_create(uint64_t kept_ns, bool has_counters) MUST_CHECK;
void kernel_texts_destroy(void); /* for tests */

void kernel_texts_note(const struct kernel_name_record *record);

/* Returns the name of the record's kernel; the record's `name` is CUPTI's pointer. A kernel without a launch
 * of its own, such as a node of a graph, gets the text at that pointer, if it surely still exists. NULL:
 * unknown, and counted (kernels_nameless). */
const char *kernel_texts_find(const struct activity_record *record);
