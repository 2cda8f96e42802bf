/* Kernel names: from the mangled name that CUPTI gives to the short one that names a span and the full one.
 *
 * Demangling costs microseconds, so it is done once for each name and kept. The cache is bounded; when it is
 * full, half of it makes way: first names that were seen in one round alone. So names that come again
 * and again stay, however many pass by once, and of more names than it holds, in turn, those that are in it
 * do. */
#ifndef CUSPAN_CORRELATE_NAMES_H
#define CUSPAN_CORRELATE_NAMES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct kernel_name {
    const char *text; /* short: no arguments, no template arguments, no return type */
    const char *full; /* demangled */
    uint32_t text_len;
    uint32_t full_len;
    uint64_t number; /* another one for each name that is filled in, so for another name at an old address */
};

struct kernel_names;

/* `bytes_max`: of the names; a fixed table of 128 KiB and room for one name come on top. */
enum status kernel_names_create(size_t bytes_max, struct kernel_names **names) MUST_CHECK;
void kernel_names_destroy(struct kernel_names *names);

/* `mangled` is NUL-terminated; its address is the key, checked against its text once a round. A name is cut
 * at SPAN_STRING_MAX. The answer is valid until the next call. */
const struct kernel_name *kernel_names_resolve(struct kernel_names *names, const char *mangled);

/* A round of records begins: what lies at an address may be another name from now on. */
void kernel_names_begin_round(struct kernel_names *names);

#endif
