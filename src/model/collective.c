#include "model/collective.h"

#include <string.h>

static const struct {
    const char *name; /* NCCL's function, and the span's name */
    const char *text;
} operations[COLLECTIVE_COUNT] = {
    [COLLECTIVE_NONE] = {"", NULL},
    [COLLECTIVE_ALL_REDUCE] = {"AllReduce", "all_reduce"},
    [COLLECTIVE_ALL_GATHER] = {"AllGather", "all_gather"},
    [COLLECTIVE_REDUCE_SCATTER] = {"ReduceScatter", "reduce_scatter"},
    [COLLECTIVE_BROADCAST] = {"Broadcast", "broadcast"},
    [COLLECTIVE_REDUCE] = {"Reduce", "reduce"},
    [COLLECTIVE_ALL_TO_ALL] = {"AlltoAll", "all_to_all"},
    [COLLECTIVE_GATHER] = {"Gather", "gather"},
    [COLLECTIVE_SCATTER] = {"Scatter", "scatter"},
    [COLLECTIVE_SEND] = {"Send", "send"},
    [COLLECTIVE_RECV] = {"Recv", "recv"},
    [COLLECTIVE_SEND_RECV] = {"SendRecv", "send_recv"},
    [COLLECTIVE_UNKNOWN] = {"Generic", NULL}, /* NCCL's name for kernels that run any function */
};

enum collective_operation collective_of_function(const char *name, size_t bytes)
{
    for (unsigned i = COLLECTIVE_NONE + 1; i < COLLECTIVE_COUNT; i++)
        if (strlen(operations[i].name) == bytes && memcmp(operations[i].name, name, bytes) == 0)
            return (enum collective_operation)i;
    return COLLECTIVE_NONE;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclKernel_AllReduce_..., ncclSymkDevKernel_AllReduce_... */
static enum collective_operation of_nccl_kernel(const char *name)
{
    static const char *const prefixes[] = {"ncclDevKernel_", "ncclKernel_", "ncclSymDevKernel_",
                                           "ncclSymkDevKernel_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *function = name + strlen(prefixes[i]);
        if (starts_with(name, prefixes[i])) {
            enum collective_operation operation = collective_of_function(function, strcspn(function, "_"));
            return operation ? operation : COLLECTIVE_UNKNOWN;
        }
    }
    return starts_with(name, "ncclSym") || starts_with(name, "oneRankReduce") ? COLLECTIVE_UNKNOWN
                                                                              : COLLECTIVE_NONE;
}

/* Libraries that communicate without NCCL: a prefix of the kernel's name, and a word in it. The first that
 * matches decides. */
static enum collective_operation of_other_kernel(const char *name)
{
    static const struct {
        const char *prefix, *word;
        enum collective_operation operation;
    } others[] = {
        {"vllm::cross_device_reduce", "", COLLECTIVE_ALL_REDUCE},
        {"sglang::cross_device_reduce", "", COLLECTIVE_ALL_REDUCE},
        {"deep_ep::", "notify", COLLECTIVE_NONE},
        {"deep_ep::", "layout", COLLECTIVE_NONE},
        {"deep_ep::", "dispatch", COLLECTIVE_ALL_TO_ALL},
        {"deep_ep::", "combine", COLLECTIVE_ALL_TO_ALL},
        {"nvshmem", "alltoall", COLLECTIVE_ALL_TO_ALL},
        {"nvshmem", "fcollect", COLLECTIVE_ALL_GATHER},
        {"nvshmem", "broadcast", COLLECTIVE_BROADCAST},
        {"nvshmem", "reducescatter", COLLECTIVE_REDUCE_SCATTER},
        {"nvshmem", "reduce", COLLECTIVE_ALL_REDUCE},
        {"nvshmem", "put", COLLECTIVE_SEND},
        {"nvshmem", "get", COLLECTIVE_RECV},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (starts_with(name, others[i].prefix) && strstr(name, others[i].word))
            return others[i].operation;
    return COLLECTIVE_NONE;
}

enum collective_operation collective_of_kernel(const char *name)
{
    enum collective_operation operation = of_nccl_kernel(name);
    return operation ? operation : of_other_kernel(name);
}

const char *collective_name(enum collective_operation operation)
{
    return operations[operation].name;
}

const char *collective_text(enum collective_operation operation)
{
    return operations[operation].text;
}

static const char *const datatypes[] = {"int8",    "uint8",    "int32",      "uint32",
                                        "int64",   "uint64",   "float16",    "float32",
                                        "float64", "bfloat16", "float8e4m3", "float8e5m2"};
#define DATATYPES (sizeof datatypes / sizeof *datatypes)

const char *collective_datatype(uint32_t number)
{
    return number < DATATYPES ? datatypes[number] : NULL;
}

uint8_t collective_datatype_of(const char *name)
{
    for (size_t i = 0; i < DATATYPES; i++)
        if (strcmp(datatypes[i], name) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

bool collective_bytes_need_ranks(enum collective_operation operation)
{
    return operation == COLLECTIVE_ALL_GATHER || operation == COLLECTIVE_REDUCE_SCATTER ||
           operation == COLLECTIVE_ALL_TO_ALL || operation == COLLECTIVE_GATHER ||
           operation == COLLECTIVE_SCATTER;
}

uint64_t collective_bytes(enum collective_operation operation, uint64_t share, uint32_t ranks)
{
    return collective_bytes_need_ranks(operation) ? share * ranks : share;
}

double collective_bus_factor(enum collective_operation operation, uint32_t ranks)
{
    double others = ranks ? (double)(ranks - 1) / ranks : 0;
    if (operation == COLLECTIVE_ALL_REDUCE)
        return 2 * others;
    return collective_bytes_need_ranks(operation) ? others : 1;
}
