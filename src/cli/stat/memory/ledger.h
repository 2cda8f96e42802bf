/* What was allocated and freed, as a trace's calls tell it: a block for each allocation, from the call that
 * made it to the one that freed it, and what went wrong.
 *
 * An allocation holds from its call's end and a free from its call's begin: so a block always ends before its
 * address is given again, whichever threads they are. Only blocks whose call is in the trace are known: what
 * was allocated before the tracing began, inside of graphs, by another process (IPC) or by the driver for
 * itself is not. */
#ifndef CUSPAN_CLI_STAT_MEMORY_LEDGER_H
#define CUSPAN_CLI_STAT_MEMORY_LEDGER_H

#include "cli/stat/tables/places.h"

enum memory_kind {
    MEMORY_DEVICE,     /* cudaMalloc and its kin */
    MEMORY_POOL,       /* stream-ordered: cudaMallocAsync */
    MEMORY_VIRTUAL,    /* cuMemCreate: gone when it was released and nothing is mapped to it any more */
    MEMORY_ARRAY,      /* cudaMallocArray, mipmapped ones too: what was asked for, without padding */
    MEMORY_MANAGED,    /* of host and GPUs: where it lies, nobody tells */
    MEMORY_PINNED,     /* of the host: cudaHostAlloc, cudaMallocHost */
    MEMORY_REGISTERED, /* the program's own, pinned by cudaHostRegister */
    MEMORY_KINDS
};

struct ledger_block {
    const struct trace_span *call;
    const struct trace_span *freed_by; /* NULL: nobody */
    uint64_t bytes;
    uint64_t from_ns;
    uint64_t until_ns; /* UINT64_MAX: still there when the trace ends */
    uint32_t process;  /* of places */
    uint32_t device;   /* resource of the GPU; TRACE_NONE: unknown, or memory of the host */
    uint32_t pool;     /* string: the handle; 0: none, or the default one */
    uint32_t maps;     /* VIRTUAL: addresses that stand for it */
    uint8_t kind;      /* enum memory_kind */
    bool is_released;  /* VIRTUAL */
};

enum ledger_wrong {
    LEDGER_TWICE,   /* the address had been freed: the call failed */
    LEDGER_UNKNOWN, /* never seen: the call failed */
    LEDGER_FOREIGN  /* never seen, but the call succeeded: it was allocated where the trace doesn't look */
};

struct ledger_free {
    const struct trace_span *call;
    uint32_t block; /* TWICE: that which had been freed last at this address; else TRACE_NONE */
    uint8_t wrong;  /* enum ledger_wrong */
};

struct ledger {
    const struct places *places;
    struct ledger_block *blocks; /* in the order of their begins */
    size_t block_count, block_capacity;
    struct ledger_free *frees; /* wrong ones, in the order of time */
    size_t free_count, free_capacity;
    const struct trace_span **failed; /* allocations, likewise */
    size_t failed_count, failed_capacity;
    uint64_t reused; /* blocks whose free is not in the trace: their address was given again */
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
/* True for calls that allocate memory by themselves; its kind, and the bytes that were asked for. */
bool ledger_allocates(const struct stat *stat, const struct trace_span *call, enum memory_kind *kind,
                      uint64_t *bytes);

#endif
