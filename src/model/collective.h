/* Collectives: NCCL's communication between GPUs, in the terms of OpenTelemetry attributes. */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum collective_operation {
    COLLECTIVE_NONE,
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_SEND,
    COLLECTIVE_RECV,
    COLLECTIVE_SEND_RECV,
    COLLECTIVE_UNKNOWN, /* NCCL's, but its name does not say which */
    COLLECTIVE_COUNT
};

#define NCCL_DOMAIN "NCCL" /* of NVTX */

/* Keys of the marks of NCCL's profiler plugin, which become no event or span. They are short, because the
 * program's thread copies them. The first one marks them. */
#define NCCL_MARK              "nccl"
#define NCCL_MARK_COMMUNICATOR "c" /* NCCL_MARK has the function, such as "AllReduce" */
#define NCCL_MARK_ORDINAL      "o"
#define NCCL_MARK_PEER         "p"
#define NCCL_MARK_DATATYPE     "d"
#define NCCL_MARK_ALGORITHM    "a"
#define NCCL_MARK_PROTOCOL     "r"

/* The operation of an NCCL function, such as "AllReduce" (without "nccl"); NONE: not a collective. */
enum collective_operation collective_of_function(const char *name, size_t bytes);
/* The operation of a kernel, by its demangled name without arguments; NONE: not a collective. NCCL's names do
 * not tell algorithm, protocol, reduction or datatype reliably. */
enum collective_operation collective_of_kernel(const char *name);

/* The span's name, such as "AllReduce". */
const char *collective_name(enum collective_operation operation);
/* The value of collective.operation, such as "all_reduce"; NULL: unknown. */
const char *collective_text(enum collective_operation operation);

/* The names of ncclDataType_t, such as "bfloat16"; NULL: unknown. */
const char *collective_datatype(uint32_t number);
/* The number + 1 of a name; 0: unknown. */
uint8_t collective_datatype_of(const char *name);

/* Send, receive, or both. */
static inline bool collective_is_p2p(enum collective_operation operation)
{
    return operation >= COLLECTIVE_SEND && operation <= COLLECTIVE_SEND_RECV;
}

/* Bytes of the whole message, as nccl-tests count them, of which NCCL gives one rank's share. */
uint64_t collective_bytes(enum collective_operation operation, uint64_t share, uint32_t ranks);
/* Whether collective_bytes() needs the number of ranks. */
bool collective_bytes_need_ranks(enum collective_operation operation);
/* busbw / algbw of `ranks` ranks, as nccl-tests define it. */
double collective_bus_factor(enum collective_operation operation, uint32_t ranks);

/* Mixes a number into a hash, for keys that all ranks compute alike. */
static inline uint64_t collective_mix(uint64_t hash, uint64_t number)
{
    return hash_mix(hash ^ number);
}
