/* Keeps the memory blocks of a trace, from the call that allocates to the call that frees, and failed calls.
 *
 * A block lives from the end of the allocating call to the start of the freeing call. So it always ends
 * before its address is allocated again, even by another thread. Only traced calls are known, not allocations
 * before tracing started, inside graphs, by other processes (IPC) or by the driver for itself.
 *
 * All calls that allocate or free are kept until the end, up to LEDGER_EVENTS_MAX. Later ones are only
 * counted. */
#pragma once

#include "analysis/stat/base/places.h"
#include "cli/util/paged.h"

#define LEDGER_EVENTS_MAX (1u << 21) /* 128 bytes each */

enum memory_kind {
    MEMORY_DEVICE,     /* cudaMalloc and similar calls */
    MEMORY_POOL,       /* stream-ordered: cudaMallocAsync */
    MEMORY_VIRTUAL,    /* cuMemCreate: freed when it is released and no longer mapped */
    MEMORY_ARRAY,      /* cudaMallocArray and mipmapped arrays: the requested size, without padding */
    MEMORY_MANAGED,    /* memory of host and GPUs; its location is unknown */
    MEMORY_PINNED,     /* host memory of cudaHostAlloc and cudaMallocHost */
    MEMORY_REGISTERED, /* the program's memory, pinned by cudaHostRegister */
    MEMORY_KINDS
};

/* A call that allocates or frees. */
struct ledger_call {
    uint64_t start_ns, end_ns;
    uint64_t used_ns; /* start of the GPU work that the process submitted next; UINT64_MAX: none */
    uint64_t address; /* address or handle */
    uint64_t bytes;
    uint64_t mapped;             /* MAP: the handle of the mapped block */
    const char *pool;            /* the handle; NULL: none, or the default one */
    const char *gpu;             /* VIRTUAL: index of the location's GPU; NULL: not on a GPU */
    uint32_t name, error, range; /* strings of the trace; 0: none */
    uint32_t thread, process, context;
    uint32_t order;   /* number among all calls */
    uint32_t origin;  /* an allocation's origin (code_book.h) */
    uint8_t function; /* index in the table of functions (ledger.c) */
    bool is_address;  /* `address` is no handle */
};

struct ledger_block {
    const struct ledger_call *call;
    const struct ledger_call *freed_by; /* NULL: not freed */
    uint64_t bytes;
    uint64_t from_ns;
    uint64_t until_ns; /* UINT64_MAX: live at the end of the trace */
    uint32_t process;  /* number of the process (places.h) */
    uint32_t device;   /* the GPU's resource; TRACE_NONE: unknown, or host memory */
    const char *pool;  /* the handle; NULL: none, or the default one */
    uint32_t maps;     /* VIRTUAL: number of mapped addresses */
    uint8_t kind;      /* enum memory_kind */
    bool is_released;  /* VIRTUAL: the handle was released */
};

enum ledger_wrong {
    LEDGER_TWICE,   /* the address had already been freed; the call failed */
    LEDGER_UNKNOWN, /* unknown address; the call failed */
    LEDGER_FOREIGN  /* unknown address, but the call succeeded: the allocation was not traced */
};

struct ledger_free {
    const struct ledger_call *call;
    uint32_t block; /* TWICE: the block last freed at this address; otherwise TRACE_NONE */
    uint8_t wrong;  /* enum ledger_wrong */
};

/* A zeroed ledger is empty. */
struct ledger {
    struct ledger_call *calls; /* sorted by the time of their effect, after ledger_finish() */
    size_t call_count, call_capacity;
    uint64_t left_out;           /* calls beyond LEDGER_EVENTS_MAX */
    struct paged awaiting;       /* by process: calls whose used_ns is unknown */
    struct int_map text_numbers; /* origin → index in texts, if an allocation had the text of its stack */
    const char **texts;
    size_t text_count, text_capacity;
    /* The members below are set by ledger_finish(). */
    const struct places *places;
    struct int_map latest;       /* space, process and address → latest block there; empty at the end */
    struct ledger_block *blocks; /* sorted by start */
    size_t block_count, block_capacity;
    struct ledger_free *frees; /* invalid frees, sorted by time */
    size_t free_count, free_capacity;
    const struct ledger_call **failed; /* failed allocations, sorted by time */
    size_t failed_count, failed_capacity;
};

/* Takes a span of the current segment. */
void ledger_take(struct ledger *ledger, const struct stat *stat, const struct trace_span *span);
/* Finds the blocks. Call it once all spans were taken. */
void ledger_finish(struct ledger *ledger, const struct stat *stat);
void ledger_deinit(struct ledger *ledger);

/* Returns the text of the allocation's stack; NULL: no allocation had it. Equal texts are the same pointer.
 */
const char *ledger_stack_text(const struct ledger *ledger, const struct ledger_call *call);

/* Returns "device", "pool", "virtual", "array", "managed", "pinned" or "registered". */
const char *ledger_kind_name(enum memory_kind kind);
static inline bool ledger_is_host(enum memory_kind kind)
{
    return kind == MEMORY_PINNED || kind == MEMORY_REGISTERED;
}
enum memory_kind ledger_kind_of(const struct ledger_call *call);
