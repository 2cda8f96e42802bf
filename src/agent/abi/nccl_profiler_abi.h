/* The part of NCCL's profiler plugin interface that we use, versions 1 to 6, so that the build needs no
 * NVIDIA headers. NCCL calls the newest version that it and the plugin have: 1 came with NCCL 2.23, 2
 * with 2.24, 3 with 2.26, 4 with 2.27, 5 with 2.28, 6 with 2.29. Members have NCCL's names and order; those
 * behind the last one that we read are left out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nccl_profile_event { NCCL_PROFILE_GROUP = 1, NCCL_PROFILE_COLL = 2, NCCL_PROFILE_P2P = 4 };

/* The start of every descriptor. Versions 1 to 4 have one byte of type, followed by padding. */
struct nccl_event_head {
    union {
        uint8_t type_v1; /* enum nccl_profile_event */
        uint64_t type_v5;
    };
    void *parentObj;
    int rank;
};

/* Version 1 has numbers where later ones have names. */
struct nccl_coll_v1 {
    struct nccl_event_head head;
    const char *name;
    uint64_t commHash;
    uint64_t seqNumber;
    uint8_t func;
    const void *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t op;
    size_t trafficBytes;
    uint8_t nMaxChannels, nWarps, algo, proto;
};
struct nccl_p2p_v1 {
    struct nccl_event_head head;
    const char *name;
    uint64_t commHash;
    uint8_t func;
    void *buff;
    uint8_t datatype;
    size_t count;
    int peer;
};

struct nccl_coll_v2 {
    struct nccl_event_head head;
    const char *name;
    uint64_t commHash;
    uint64_t seqNumber;
    const char *func;
    const void *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    size_t trafficBytes;
    uint8_t nMaxChannels, nWarps;
    const char *algo, *proto;
};
struct nccl_p2p_v2 { /* also version 3 */
    struct nccl_event_head head;
    const char *name;
    uint64_t commHash;
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
};

struct nccl_coll_v3 {
    struct nccl_event_head head;
    const char *name;
    uint64_t commHash;
    uint64_t seqNumber;
    const char *func;
    const void *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nMaxChannels, nWarps;
    const char *algo, *proto;
};

struct nccl_coll_v4 { /* also versions 5 and 6 */
    struct nccl_event_head head;
    uint64_t seqNumber;
    const char *func;
    const void *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nChannels, nWarps;
    const char *algo, *proto;
};
struct nccl_p2p_v4 {
    struct nccl_event_head head;
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
};

/* All functions return ncclResult_t; 0: success. */
#define NCCL_PROFILER(version, INIT)                                                                         \
    struct nccl_profiler_v##version {                                                                        \
        const char *name;                                                                                    \
        int(*init) INIT;                                                                                     \
        int (*startEvent)(void *context, void **handle, void *descriptor);                                   \
        int (*stopEvent)(void *handle);                                                                      \
        int (*recordEventState)(void *handle, int state, void *args);                                        \
        int (*finalize)(void *context);                                                                      \
    }
typedef void nccl_logger(void); /* we do not call it */
NCCL_PROFILER(1, (void **context, int *mask));
NCCL_PROFILER(4, (void **context, int *mask, const char *commName, uint64_t commHash, int nNodes, int nranks,
                  int rank, nccl_logger *logger));
NCCL_PROFILER(5, (void **context, uint64_t commId, int *mask, const char *commName, int nNodes, int nranks,
                  int rank, nccl_logger *logger));
#undef NCCL_PROFILER
