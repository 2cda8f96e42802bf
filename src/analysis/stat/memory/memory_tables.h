/* The tables of memory: usage in memory_tables.c, leaks and errors in memory_faults.c, lines of code in
 * memory_code.c. */
#pragma once

#include "analysis/stat/memory/ledger.h"

#define MEMORY_HOST (TRACE_NONE - 1) /* stands for host memory where a GPU's resource is expected */

/* Returns the resource of the block's GPU, TRACE_NONE if it is unknown, or MEMORY_HOST. */
static inline uint32_t memory_device(const struct ledger_block *block)
{
    return ledger_is_host((enum memory_kind)block->kind) ? MEMORY_HOST : block->device;
}

/* Returns the GPU's index, "unknown" or "host". */
static inline const char *memory_device_name(const struct places *places, uint32_t device)
{
    return device == MEMORY_HOST ? "host" : places_device_name(places, device);
}

/* Whether the block counts in the sum of all kinds. Managed memory does not: it may be on the host, and
 * larger than the memory of a GPU. */
static inline bool memory_is_of_all(const struct ledger_block *block)
{
    return block->kind != MEMORY_MANAGED;
}

/* An allocation or a free. Lists of changes are in order of time. */
struct memory_change {
    uint64_t time_ns;
    const struct ledger_block *block;
    bool is_free;
};

/* Adds the table of memory by the line, function or module that allocated it. */
void stat_memory_code(const struct stat *stat, const struct memory_change *changes, size_t count,
                      struct stat_report *report);

struct memory_process {
    bool has_pytorch;
    bool has_ended; /* it exited, so its remaining blocks were never freed */
};

/* Adds the tables of leaks, invalid frees and failed allocations. `processes`: struct memory_process by
 * number. */
void stat_memory_faults(const struct stat *stat, const struct paged *processes, struct stat_report *report);
