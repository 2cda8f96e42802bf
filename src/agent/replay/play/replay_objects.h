/* Contexts and streams: recorded handles and CUPTI's IDs. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "model/record.h"

/* NULL for 0. */
cuda_context_handle replay_objects_context(uint32_t context_id);
/* Records a resource event. */
void replay_objects_note(const struct resource_record *resource);

/* CUPTI functions; each returns an enum cupti_result. */
uint32_t replay_objects_context_id(cuda_context_handle context, uint32_t *id);
uint32_t replay_objects_device_id(cuda_context_handle context, uint32_t *id);
uint32_t replay_objects_stream_id(cuda_context_handle context, cuda_stream_handle stream, uint32_t *id);
uint32_t replay_objects_graph_id(const void *graph, uint32_t *id);
