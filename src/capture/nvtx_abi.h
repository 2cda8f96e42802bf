/* NVTX's injection interface as far as we use it, so that no header of NVIDIA's is needed to build: numbers,
 * and structs with NVTX's own member names and order. It is that of NVTX 3, which has kept it since 2018;
 * what a program hands over says its own size. tests/integration/nvtx_abi_check.c holds this file against the
 * real headers.
 *
 * A program has a copy of NVTX in each of its modules that use it. Each copy has, for each of the modules
 * below, a table of addresses of its function pointers; entry 0 is unused. */
#ifndef CUSPAN_CAPTURE_NVTX_ABI_H
#define CUSPAN_CAPTURE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_ABI_VERSION 3
#define NVTX_NOT_TRACKED (-2) /* what push and pop return where nobody keeps their depth */

enum nvtx_export_table_id { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION_INFO = 3 };

enum nvtx_module {
    NVTX_MODULE_CORE = 1,
    NVTX_MODULE_CUDA = 2,
    NVTX_MODULE_CUDART = 4,
    NVTX_MODULE_CORE2 = 5
};

/* X(function without "nvtx") in the order of their numbers, which begin with 1. */
#define NVTX_CORE_CALLS(X)                                                                                   \
    X(MarkEx)                                                                                                \
    X(MarkA)                                                                                                 \
    X(MarkW)                                                                                                 \
    X(RangeStartEx)                                                                                          \
    X(RangeStartA)                                                                                           \
    X(RangeStartW)                                                                                           \
    X(RangeEnd)                                                                                              \
    X(RangePushEx)                                                                                           \
    X(RangePushA)                                                                                            \
    X(RangePushW)                                                                                            \
    X(RangePop)                                                                                              \
    X(NameCategoryA)                                                                                         \
    X(NameCategoryW)                                                                                         \
    X(NameOsThreadA)                                                                                         \
    X(NameOsThreadW)
#define NVTX_CORE2_CALLS(X)                                                                                  \
    X(DomainMarkEx)                                                                                          \
    X(DomainRangeStartEx)                                                                                    \
    X(DomainRangeEnd)                                                                                        \
    X(DomainRangePushEx)                                                                                     \
    X(DomainRangePop)                                                                                        \
    X(DomainResourceCreate)                                                                                  \
    X(DomainResourceDestroy)                                                                                 \
    X(DomainNameCategoryA)                                                                                   \
    X(DomainNameCategoryW)                                                                                   \
    X(DomainRegisterStringA)                                                                                 \
    X(DomainRegisterStringW)                                                                                 \
    X(DomainCreateA)                                                                                         \
    X(DomainCreateW)                                                                                         \
    X(DomainDestroy)                                                                                         \
    X(Initialize)
#define NVTX_CUDA_CALLS(X)                                                                                   \
    X(NameCuDeviceA)                                                                                         \
    X(NameCuDeviceW)                                                                                         \
    X(NameCuContextA)                                                                                        \
    X(NameCuContextW)                                                                                        \
    X(NameCuStreamA)                                                                                         \
    X(NameCuStreamW)                                                                                         \
    X(NameCuEventA)                                                                                          \
    X(NameCuEventW)
#define NVTX_CUDART_CALLS(X)                                                                                 \
    X(NameCudaDeviceA)                                                                                       \
    X(NameCudaDeviceW)                                                                                       \
    X(NameCudaStreamA)                                                                                       \
    X(NameCudaStreamW)                                                                                       \
    X(NameCudaEventA)                                                                                        \
    X(NameCudaEventW)

#define NVTX_CALL_NUMBER(name) NVTX_CALL_##name,
enum nvtx_core_call { NVTX_CORE_NONE, NVTX_CORE_CALLS(NVTX_CALL_NUMBER) NVTX_CORE_COUNT };
enum nvtx_core2_call { NVTX_CORE2_NONE, NVTX_CORE2_CALLS(NVTX_CALL_NUMBER) NVTX_CORE2_COUNT };
enum nvtx_cuda_call { NVTX_CUDA_NONE, NVTX_CUDA_CALLS(NVTX_CALL_NUMBER) NVTX_CUDA_COUNT };
enum nvtx_cudart_call { NVTX_CUDART_NONE, NVTX_CUDART_CALLS(NVTX_CALL_NUMBER) NVTX_CUDART_COUNT };
#undef NVTX_CALL_NUMBER

typedef void nvtx_function(void); /* of whatever type */

struct nvtx_callbacks_table {
    size_t struct_size;
    /* Not 0: done. `size` counts the unused entry, too. */
    int (*GetModuleFunctionTable)(uint32_t module, nvtx_function ****out_table, unsigned int *out_size);
};

struct nvtx_version_table {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
};

enum nvtx_message_type { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_HANDLE = 3 };

union nvtx_message {
    const char *ascii;
    const wchar_t *unicode;
    const void *registered; /* what RegisterString returned */
};

enum nvtx_payload_type {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64 = 2,
    NVTX_PAYLOAD_F64 = 3,
    NVTX_PAYLOAD_U32 = 4,
    NVTX_PAYLOAD_I32 = 5,
    NVTX_PAYLOAD_F32 = 6
};

struct nvtx_event_attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category; /* 0: none */
    int32_t colorType;
    uint32_t color;
    int32_t payloadType; /* enum nvtx_payload_type; others belong to NVTX's extensions */
    int32_t reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType; /* enum nvtx_message_type */
    union nvtx_message message;
};

/* The class of a resource's type stands in its upper half. */
enum nvtx_resource_type {
    NVTX_RESOURCE_THREAD = 1 << 16 | 3, /* the kernel's ID */
    NVTX_RESOURCE_PTHREAD = 1 << 16 | 4,
    NVTX_RESOURCE_CU_DEVICE = 4 << 16 | 1,
    NVTX_RESOURCE_CU_CONTEXT = 4 << 16 | 2,
    NVTX_RESOURCE_CU_STREAM = 4 << 16 | 3,
    NVTX_RESOURCE_CU_EVENT = 4 << 16 | 4,
    NVTX_RESOURCE_CUDA_DEVICE = 5 << 16 | 0,
    NVTX_RESOURCE_CUDA_STREAM = 5 << 16 | 1,
    NVTX_RESOURCE_CUDA_EVENT = 5 << 16 | 2
};

struct nvtx_resource_attributes {
    uint16_t version;
    uint16_t size;
    int32_t identifierType; /* enum nvtx_resource_type */
    union {
        const void *pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    union nvtx_message message;
};

#endif
