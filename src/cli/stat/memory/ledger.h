/* Memory blocks of a trace, from the call that allocates to the call that frees, and failed calls.
 *
 * A block lives from the end of the allocating call to the start of the freeing call. So it always ends
 * before its address is allocated again, even by another thread. Only traced calls are known, not allocations
 * before tracing started, inside graphs, by other processes (IPC) or by the driver for itself. */
#ifndef CUSPAN_CLI_STAT_MEMORY_LEDGER_H
#define CUSPAN_CLI_STAT_MEMORY_LEDGER_H

#include "cli/stat/tables/places.h"

enum memory_kind {
    MEMORY_DEVICE,     /* cudaMalloc and similar calls */
    MEMORY_POOL,       /* stream-ordered: cudaMallocAsync */
    MEMORY_VIRTUAL,    /* cuMemCreate: freed when it is released and no longer mapped */
    MEMORY_ARRAY,      /* cudaMallocArray and mipmapped arrays: the requested size, without padding */
    MEMORY_MANAGED,    /* of host and GPUs; its location is unknown */
    MEMORY_PINNED,     /* of the host: cudaHostAlloc, cudaMallocHost */
    MEMORY_REGISTERED, /* the program's memory, pinned by cudaHostRegister */
    MEMORY_KINDS
};

struct ledger_block {
    const struct trace_span *call;
    const struct trace_span *freed_by; /* NULL: not freed */
    uint64_t bytes;
    uint64_t from_ns;
    uint64_t until_ns; /* UINT64_MAX: live at the end of the trace */
    uint32_t process;  /* of places */
    uint32_t device;   /* resource of the GPU; TRACE_NONE: unknown, or host memory */
    uint32_t pool;     /* string: the handle; 0: none, or the default one */
    uint32_t maps;     /* VIRTUAL: number of mapped addresses */
    uint8_t kind;      /* enum memory_kind */
    bool is_released;  /* VIRTUAL */
};

enum ledger_wrong {
    LEDGER_TWICE,   /* the address had already been freed; the call failed */
    LEDGER_UNKNOWN, /* unknown address; the call failed */
    LEDGER_FOREIGN  /* unknown address, but the call succeeded: the allocation was not traced */
};

struct ledger_free {
    const struct trace_span *call;
    uint32_t block; /* TWICE: the block last freed at this address; otherwise TRACE_NONE */
    uint8_t wrong;  /* enum ledger_wrong */
};

struct ledger {
    const struct places *places;
    struct ledger_block *blocks; /* sorted by start */
    size_t block_count, block_capacity;
    struct ledger_free *frees; /* invalid ones, sorted by time */
    size_t free_count, free_capacity;
    const struct trace_span **failed; /* failed allocations, sorted by time */
    size_t failed_count, failed_capacity;
    uint64_t reused; /* blocks without a traced free whose address was allocated again */
};

/* Reads all calls of the trace; `places` is borrowed. */
void ledger_init(struct ledger *ledger, const struct places *places);
void ledger_deinit(struct ledger *ledger);

/* "device", "pool", "virtual", "array", "managed", "pinned" or "registered". */
const char *ledger_kind_name(enum memory_kind kind);
static inline bool ledger_is_host(enum memory_kind kind)
{
    return kind == MEMORY_PINNED || kind == MEMORY_REGISTERED;
}
/* True for calls that allocate memory; sets its kind and the requested bytes. */
bool ledger_allocates(const struct stat *stat, const struct trace_span *call, enum memory_kind *kind,
                      uint64_t *bytes);

#endif
