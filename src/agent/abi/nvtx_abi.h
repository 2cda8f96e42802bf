/* The part of NVTX's injection interface that we use, so that the build needs no NVIDIA headers: constants,
 * and structs with NVTX's member names and order. This is NVTX 3, stable since 2018; structs passed by
 * programs contain their size. tests/integration/project/nvtx_abi_check.c checks this file against the real
 * headers.
 *
 * Each module of a program that uses NVTX has its own copy. Each copy has, for each NVTX module below, a
 * table of addresses of its function pointers; entry 0 is unused. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_ABI_VERSION 3
#define NVTX_NOT_TRACKED (-2) /* returned by push and pop if nobody tracks the depth */

enum nvtx_export_table_id { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION_INFO = 3 };

enum nvtx_module {
    NVTX_MODULE_CORE = 1,
    NVTX_MODULE_CUDA = 2,
    NVTX_MODULE_CUDART = 4,
    NVTX_MODULE_CORE2 = 5
};

/* X(function without "nvtx"), in the order of their numbers, from 1. */
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

typedef void nvtx_function(void); /* any function type */

struct nvtx_callbacks_table {
    size_t struct_size;
    /* Returns nonzero on success. `size` includes the unused entry. */
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
    const void *registered; /* result of RegisterString */
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
    int32_t payloadType; /* enum nvtx_payload_type; others belong to extensions */
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

/* NVTX's payload extension: structured payloads. */

#define NVTX_PAYLOAD_EXT          ((int32_t)0xDFBD0009) /* a payloadType: payload.ullValue is the data's address */
#define NVTX_EXT_MODULE_PAYLOAD   2
#define NVTX_SCHEMA_ID_STATIC     (1u << 24)
#define NVTX_SCHEMA_ID_DYNAMIC    (1ull << 32)
#define NVTX_PAYLOAD_REFERENCED   1022 /* referenced by other payloads of the same event */
#define NVTX_PAYLOAD_SIZE_UNKNOWN SIZE_MAX

/* Describes a copy of the extension: its module, and its functions from slot 0 on. */
struct nvtx_ext_segment {
    size_t segmentId;
    size_t slotCount;
    intptr_t *functionSlots;
};
struct nvtx_ext_module {
    uint16_t nvtxVer;
    uint16_t structSize;
    uint16_t moduleId;
    uint16_t compatId;
    size_t segmentsCount;
    struct nvtx_ext_segment *segments;
    void (*getExportFunction)(void);
    const void *extInfo;
};

/* X(function without "nvtx"), in the order of their slots. */
#define NVTX_PAYLOAD_CALLS(X)                                                                                \
    X(PayloadSchemaRegister)                                                                                 \
    X(PayloadEnumRegister)                                                                                   \
    X(MarkPayload)                                                                                           \
    X(RangePushPayload)                                                                                      \
    X(RangePopPayload)                                                                                       \
    X(RangeStartPayload)                                                                                     \
    X(RangeEndPayload)
#define NVTX_SLOT_NUMBER(name) NVTX_SLOT_##name,
enum nvtx_payload_slot { NVTX_PAYLOAD_CALLS(NVTX_SLOT_NUMBER) NVTX_PAYLOAD_SLOTS };
#undef NVTX_SLOT_NUMBER

struct nvtx_payload_data {
    uint64_t schemaId; /* registered, or the type of an entry */
    size_t size;
    const void *payload;
};

enum nvtx_entry_type {
    NVTX_ENTRY_CHAR = 1,
    NVTX_ENTRY_UCHAR,
    NVTX_ENTRY_SHORT,
    NVTX_ENTRY_USHORT,
    NVTX_ENTRY_INT,
    NVTX_ENTRY_UINT,
    NVTX_ENTRY_LONG,
    NVTX_ENTRY_ULONG,
    NVTX_ENTRY_LONGLONG,
    NVTX_ENTRY_ULONGLONG,
    NVTX_ENTRY_INT8,
    NVTX_ENTRY_UINT8,
    NVTX_ENTRY_INT16,
    NVTX_ENTRY_UINT16,
    NVTX_ENTRY_INT32,
    NVTX_ENTRY_UINT32,
    NVTX_ENTRY_INT64,
    NVTX_ENTRY_UINT64,
    NVTX_ENTRY_FLOAT,
    NVTX_ENTRY_DOUBLE,
    NVTX_ENTRY_SIZE = 22,
    NVTX_ENTRY_ADDRESS,
    NVTX_ENTRY_BYTE = 32,
    NVTX_ENTRY_FLOAT32 = 43,
    NVTX_ENTRY_FLOAT64 = 44,
    NVTX_ENTRY_CATEGORY = 68,
    NVTX_ENTRY_CSTRING = 75,
    NVTX_ENTRY_CSTRING_UTF8 = 76,
    NVTX_ENTRY_STRING_HANDLE = 80
};

enum nvtx_entry_flag {
    NVTX_ENTRY_POINTER = 1 << 1,
    NVTX_ENTRY_OFFSETS = 1 << 2 | 1 << 3, /* from the payload's start, from the entry's end */
    NVTX_ENTRY_ARRAY = 7 << 4,            /* mask of the array type */
    NVTX_ENTRY_FIXED_ARRAY = 1 << 4,
    NVTX_ENTRY_ZERO_ARRAY = 2 << 4, /* zero-terminated */
    NVTX_ENTRY_DEEP_COPY = 1 << 8,
    NVTX_ENTRY_HIDE = 1 << 9,
    NVTX_ENTRY_ROLE = 3 << 10, /* mask of the role */
    NVTX_ENTRY_MESSAGE = 1 << 10
};

struct nvtx_schema_entry {
    uint64_t flags;
    uint64_t type; /* enum nvtx_entry_type, or the ID of a registered schema or enum */
    const char *name;
    const char *description;
    uint64_t arrayOrUnionDetail; /* length of an array or string */
    uint64_t offset;             /* 0: after the previous entry, aligned */
    const void *semantics;
    const void *reserved;
};

enum nvtx_schema_type { NVTX_SCHEMA_STATIC = 1, NVTX_SCHEMA_DYNAMIC = 2 };

enum nvtx_schema_field {
    NVTX_SCHEMA_HAS_TYPE = 1 << 2,
    NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
    NVTX_SCHEMA_HAS_COUNT = 1 << 5,
    NVTX_SCHEMA_HAS_SIZE = 1 << 6,
    NVTX_SCHEMA_HAS_ALIGNMENT = 1 << 7,
    NVTX_SCHEMA_HAS_ID = 1 << 8
};

struct nvtx_schema_attributes {
    uint64_t fieldMask; /* enum nvtx_schema_field: the members that are set */
    const char *name;
    uint64_t type; /* enum nvtx_schema_type, or a union's */
    uint64_t flags;
    const struct nvtx_schema_entry *entries;
    size_t numEntries;
    size_t payloadStaticSize;
    size_t packAlign;
    uint64_t schemaId;
    void *extension;
};

enum nvtx_enum_field { NVTX_ENUM_HAS_SIZE = 1 << 4, NVTX_ENUM_HAS_ID = 1 << 5 };

struct nvtx_enum_attributes {
    uint64_t fieldMask; /* enum nvtx_enum_field */
    const char *name;
    const void *entries;
    size_t numEntries;
    size_t sizeOfEnum;
    uint64_t schemaId;
    void *extension;
};

/* The upper half of a resource's type is its class. */
enum nvtx_resource_type {
    NVTX_RESOURCE_THREAD = 1 << 16 | 3, /* kernel thread ID */
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
