/* Kernel names: the short name, which names the span, and the full one, from CUPTI's mangled name.
 *
 * Demangling takes microseconds, so each name is demangled once and cached. A full cache evicts half of
 * its entries, names that appeared in only one round first. So recurring names stay in the cache, even
 * when there are more than fit. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct kernel_name {
    const char *text; /* short: without arguments, template arguments and return type */
    const char *full; /* demangled */
    uint32_t text_len;
    uint32_t full_len;
    uint64_t number;   /* unique for each entry, also at a reused address */
    uint8_t operation; /* enum collective_operation of a kernel that communicates; else NONE */
};

struct kernel_names;

/* `bytes_max` limits the memory for names. A table of 128 KiB and room for one name are added to it. The
 * caller owns the result: free(). */
enum status kernel_names_create(size_t bytes_max, struct kernel_names **names) MUST_CHECK;

/* Returns the names of the kernel `mangled`, a NUL-terminated string. The cache finds them by its address and
 * compares its text once a round. A name is cut at SPAN_STRING_MAX. The result is never NULL, not owned, and
 * valid until the next call. */
const struct kernel_name *kernel_names_resolve(struct kernel_names *names, const char *mangled);

/* Starts a round of records: an address may hold another name from now on. */
void kernel_names_begin_round(struct kernel_names *names);
