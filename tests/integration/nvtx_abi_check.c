/* Holds src/capture/nvtx_abi.h against NVIDIA's own headers; it is compiled, never run:
 *   cc -std=c17 -fsyntax-only -I src -I NVTX_INCLUDE tests/integration/nvtx_abi_check.c */
#include "capture/nvtx_abi.h"

#include "abi_same.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

SAME_NUMBER(NVTX_ABI_VERSION, NVTX_VERSION)
SAME_NUMBER(NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING)
SAME_NUMBER(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS)
SAME_NUMBER(NVTX_TABLE_VERSION_INFO, NVTX_ETID_VERSIONINFO)
SAME_NUMBER(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE)
SAME_NUMBER(NVTX_MODULE_CUDA, NVTX_CB_MODULE_CUDA)
SAME_NUMBER(NVTX_MODULE_CUDART, NVTX_CB_MODULE_CUDART)
SAME_NUMBER(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2)

#define SAME_CORE(name)   SAME_NUMBER(NVTX_CALL_##name, NVTX_CBID_CORE_##name)
#define SAME_CORE2(name)  SAME_NUMBER(NVTX_CALL_##name, NVTX_CBID_CORE2_##name)
#define SAME_CUDA(name)   SAME_NUMBER(NVTX_CALL_##name, NVTX_CBID_CUDA_##name)
#define SAME_CUDART(name) SAME_NUMBER(NVTX_CALL_##name, NVTX_CBID_CUDART_##name)
NVTX_CORE_CALLS(SAME_CORE)
NVTX_CORE2_CALLS(SAME_CORE2)
NVTX_CUDA_CALLS(SAME_CUDA)
NVTX_CUDART_CALLS(SAME_CUDART)
SAME_NUMBER(NVTX_CORE_COUNT, NVTX_CBID_CORE_SIZE)
SAME_NUMBER(NVTX_CORE2_COUNT, NVTX_CBID_CORE2_SIZE)
SAME_NUMBER(NVTX_CUDA_COUNT, NVTX_CBID_CUDA_SIZE)
SAME_NUMBER(NVTX_CUDART_COUNT, NVTX_CBID_CUDART_SIZE)

SAME_SIZE(struct nvtx_callbacks_table, NvtxExportTableCallbacks)
SAME_MEMBER(struct nvtx_callbacks_table, NvtxExportTableCallbacks, GetModuleFunctionTable)
SAME_SIZE(struct nvtx_version_table, NvtxExportTableVersionInfo)
SAME_MEMBER(struct nvtx_version_table, NvtxExportTableVersionInfo, version)
SAME_MEMBER(struct nvtx_version_table, NvtxExportTableVersionInfo, SetInjectionNvtxVersion)

SAME_NUMBER(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII)
SAME_NUMBER(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE)
SAME_NUMBER(NVTX_MESSAGE_HANDLE, NVTX_MESSAGE_TYPE_REGISTERED)
SAME_NUMBER(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
SAME_NUMBER(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64)
SAME_NUMBER(NVTX_PAYLOAD_F64, NVTX_PAYLOAD_TYPE_DOUBLE)
SAME_NUMBER(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
SAME_NUMBER(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32)
SAME_NUMBER(NVTX_PAYLOAD_F32, NVTX_PAYLOAD_TYPE_FLOAT)

SAME_SIZE(struct nvtx_event_attributes, nvtxEventAttributes_t)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, version)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, size)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, category)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, payloadType)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, payload)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, messageType)
SAME_MEMBER(struct nvtx_event_attributes, nvtxEventAttributes_t, message)

SAME_NUMBER(NVTX_RESOURCE_THREAD, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)
SAME_NUMBER(NVTX_RESOURCE_PTHREAD, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX)
SAME_NUMBER(NVTX_RESOURCE_CU_DEVICE, NVTX_RESOURCE_TYPE_CUDA_DEVICE)
SAME_NUMBER(NVTX_RESOURCE_CU_CONTEXT, NVTX_RESOURCE_TYPE_CUDA_CONTEXT)
SAME_NUMBER(NVTX_RESOURCE_CU_STREAM, NVTX_RESOURCE_TYPE_CUDA_STREAM)
SAME_NUMBER(NVTX_RESOURCE_CU_EVENT, NVTX_RESOURCE_TYPE_CUDA_EVENT)
SAME_NUMBER(NVTX_RESOURCE_CUDA_DEVICE, NVTX_RESOURCE_TYPE_CUDART_DEVICE)
SAME_NUMBER(NVTX_RESOURCE_CUDA_STREAM, NVTX_RESOURCE_TYPE_CUDART_STREAM)
SAME_NUMBER(NVTX_RESOURCE_CUDA_EVENT, NVTX_RESOURCE_TYPE_CUDART_EVENT)
SAME_SIZE(struct nvtx_resource_attributes, nvtxResourceAttributes_t)
SAME_MEMBER(struct nvtx_resource_attributes, nvtxResourceAttributes_t, identifierType)
SAME_MEMBER(struct nvtx_resource_attributes, nvtxResourceAttributes_t, identifier)
SAME_MEMBER(struct nvtx_resource_attributes, nvtxResourceAttributes_t, messageType)
SAME_MEMBER(struct nvtx_resource_attributes, nvtxResourceAttributes_t, message)
