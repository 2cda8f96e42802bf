/* The kinds and fields of model/cuda/activities.h.
 *
 * Made by tools/gen_cupti_tables.py from the headers of CUDA 12.0 to 13.5; don't edit. */
/* clang-format off */
#include "model/cuda/activities.h"

#define NO_KEY {0x0a, 0, ""}

static const struct enum_name activity_enum_names_1[] = { /* CUfunc_cache */
    {0, "none"}, {1, "shared"}, {2, "l1"}, {3, "equal"},
};

static const struct enum_name activity_enum_names_2[] = { /* CUpti_ActivityLaunchType */
    {0, "regular"}, {1, "cooperative_single_device"}, {2, "cooperative_multi_device"},
    {3, "cbl_commandlist"},
};

static const struct enum_name activity_enum_names_3[] = { /* CUpti_FuncShmemLimitConfig */
    {0, "default"}, {1, "optin"},
};

static const struct enum_name activity_enum_names_4[] = { /* CUpti_ChannelType */
    {0, "invalid"}, {1, "compute"}, {2, "async_memcpy"}, {3, "decomp"},
};

static const struct enum_name activity_enum_names_5[] = { /* CUclusterSchedulingPolicy */
    {0, "default"}, {1, "spread"}, {2, "load_balancing"}, {3, "rubin_dsmem_locality"},
};

static const struct enum_name activity_enum_names_6[] = { /* CUpti_FuncExecutionModel */
    {0, "unknown"}, {1, "simt"}, {2, "tile"}, {3, "hybrid"},
};

static const struct enum_name activity_enum_names_7[] = { /* CUpti_ActivityMemcpyKind */
    {0, "Unknown"}, {1, "HostToDevice"}, {2, "DeviceToHost"}, {3, "HostToArray"}, {4, "ArrayToHost"},
    {5, "ArrayToArray"}, {6, "ArrayToDevice"}, {7, "DeviceToArray"}, {8, "DeviceToDevice"},
    {9, "HostToHost"}, {10, "PeerToPeer"},
};

static const struct enum_name activity_enum_names_8[] = { /* CUpti_ActivityMemoryKind */
    {0, "unknown"}, {1, "pageable"}, {2, "pinned"}, {3, "device"}, {4, "array"}, {5, "managed"},
    {6, "device_static"}, {7, "managed_static"},
};

static const struct enum_name activity_enum_names_9[] = { /* CUpti_DeviceGraphLaunchMode */
    {0, "invalid"}, {1, "fire_and_forget"}, {2, "tail"}, {3, "fire_and_forget_as_sibling"},
};

static const struct enum_name activity_enum_names_10[] = { /* CUpti_ActivityOverheadKind */
    {0, "unknown"}, {1, "driver_compiler"}, {65536, "cupti_buffer_flush"}, {131072, "cupti_instrumentation"},
    {196608, "cupti_resource"}, {262144, "runtime_triggered_module_loading"},
    {327680, "lazy_function_loading"}, {393216, "command_buffer_full"}, {458752, "activity_buffer_request"},
    {524288, "uvm_activity_init"},
};

static const struct enum_name activity_enum_names_11[] = { /* CUpti_ActivityComputeApiKind */
    {0, "unknown"}, {1, "cuda"}, {2, "cuda_mps"},
};

static const struct enum_name activity_enum_names_12[] = { /* CUpti_ContextCigMode */
    {0, "none"}, {1, "cig"}, {2, "cig_fallback"},
};

static const struct enum_name activity_enum_names_13[] = { /* CUpti_ActivityObjectKind */
    {0, "unknown"}, {1, "process"}, {2, "thread"}, {3, "device"}, {4, "context"}, {5, "stream"},
};

static const struct enum_name activity_enum_names_14[] = { /* CUpti_MetricValueKind */
    {0, "double"}, {1, "uint64"}, {2, "percent"}, {3, "throughput"}, {4, "int64"}, {5, "utilization_level"},
    {6, "nvtx_extended_payload"},
};

static const struct enum_name activity_enum_names_15[] = { /* CUpti_ActivityEnvironmentKind */
    {0, "unknown"}, {1, "speed"}, {2, "temperature"}, {3, "power"}, {4, "cooling"},
};

static const struct enum_name activity_enum_names_16[] = { /* CUpti_ActivityStreamFlag */
    {0, "flag_unknown"}, {1, "flag_default"}, {2, "flag_non_blocking"}, {3, "flag_null"}, {65535, "mask"},
};

static const struct enum_name activity_enum_names_17[] = { /* CUpti_ActivitySynchronizationType */
    {0, "unknown"}, {1, "event_synchronize"}, {2, "stream_wait_event"}, {3, "stream_synchronize"},
    {4, "context_synchronize"},
};

static const struct enum_name activity_enum_names_18[] = { /* CUpti_ExternalCorrelationKind */
    {0, "invalid"}, {1, "unknown"}, {2, "openacc"}, {3, "custom0"}, {4, "custom1"}, {5, "custom2"},
};

static const struct enum_name activity_enum_names_19[] = { /* CUpti_ActivityUnifiedMemoryCounterKind */
    {0, "unknown"}, {1, "bytes_transfer_host_to_device"}, {2, "bytes_transfer_device_to_host"},
    {3, "cpu_page_fault_count"}, {4, "gpu_page_fault"}, {5, "thrashing"}, {6, "throttling"},
    {7, "remote_map"}, {8, "bytes_transfer_device_to_device"},
};

static const struct enum_name activity_enum_names_20[] = { /* CUpti_ActivityMemoryOperationType */
    {0, "invalid"}, {1, "allocation"}, {2, "release"},
};

static const struct enum_name activity_enum_names_21[] = { /* CUpti_ActivityMemoryPoolType */
    {0, "invalid"}, {1, "local"}, {2, "imported"},
};

static const struct enum_name activity_enum_names_22[] = { /* CUpti_ActivityMemoryPoolOperationType */
    {0, "invalid"}, {1, "created"}, {2, "destroyed"}, {3, "trimmed"},
};

static const struct enum_name activity_enum_names_23[] = { /* CUpti_ActivityJitEntryType */
    {0, "invalid"}, {1, "ptx_to_cubin"}, {2, "nvvm_ir_to_ptx"},
};

static const struct enum_name activity_enum_names_24[] = { /* CUpti_ActivityJitOperationType */
    {0, "invalid"}, {1, "cache_load"}, {2, "cache_store"}, {3, "compile"},
};

static const struct enum_name activity_enum_names_25[] = { /* CUpti_ConfidentialComputeRotationEventType */
    {0, "invalid_rotation_event"}, {1, "key_rotation_channel_blocked"}, {2, "key_rotation_channel_drained"},
    {3, "key_rotation_channel_unblocked"},
};

static const struct enum_name activity_enum_names_26[] = { /* CUpti_ComputeEngineCtxSwitchOperationType */
    {0, "invalid"}, {1, "start"}, {2, "end"},
};

const struct enum_names activity_enum_names[] = {
    {0, 0},
    {4, activity_enum_names_1},
    {4, activity_enum_names_2},
    {2, activity_enum_names_3},
    {4, activity_enum_names_4},
    {4, activity_enum_names_5},
    {4, activity_enum_names_6},
    {11, activity_enum_names_7},
    {8, activity_enum_names_8},
    {4, activity_enum_names_9},
    {10, activity_enum_names_10},
    {3, activity_enum_names_11},
    {3, activity_enum_names_12},
    {6, activity_enum_names_13},
    {7, activity_enum_names_14},
    {5, activity_enum_names_15},
    {5, activity_enum_names_16},
    {5, activity_enum_names_17},
    {6, activity_enum_names_18},
    {9, activity_enum_names_19},
    {3, activity_enum_names_20},
    {3, activity_enum_names_21},
    {4, activity_enum_names_22},
    {3, activity_enum_names_23},
    {4, activity_enum_names_24},
    {4, activity_enum_names_25},
    {3, activity_enum_names_26},
};

static const struct activity_field kernel_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.kernel.cache.requested"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 1, 1}, /* CACHE_CONFIG_REQUESTED */
    {ATTR_KEY("cuda.kernel.cache.executed"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 1, 1}, /* CACHE_CONFIG_EXECUTED */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 1, 0}, /* SHARED_MEMORY_CONFIG */
    {ATTR_KEY("cuda.kernel.registers"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 2, 0}, /* REGISTERS_PER_THREAD */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PARTITIONED_GLOBAL_CACHE_REQUESTED */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PARTITIONED_GLOBAL_CACHE_EXECUTED */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.kernel.completed"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* COMPLETED */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 8, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 8, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.kernel.grid"), FIELD_DIM3_X, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* GRID_X */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* GRID_Y */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* GRID_Z */
    {ATTR_KEY("cuda.kernel.block"), FIELD_DIM3_X, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* BLOCK_X */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* BLOCK_Y */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* BLOCK_Z */
    {ATTR_KEY("cuda.kernel.shared_memory.static"), FIELD_INT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* STATIC_SHARED_MEMORY */
    {ATTR_KEY("cuda.kernel.shared_memory.dynamic"), FIELD_INT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* DYNAMIC_SHARED_MEMORY */
    {ATTR_KEY("cuda.kernel.local_memory.per_thread"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* LOCAL_MEMORY_PER_THREAD */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.kernel.grid_id"), FIELD_INT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* GRID_ID */
    {ATTR_KEY("cuda.kernel.name"), FIELD_STRING, ACTIVITY_ALWAYS, ROLE_NAME, 8, 0}, /* NAME */
    {ATTR_KEY("cuda.kernel.queued"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* QUEUED */
    {ATTR_KEY("cuda.kernel.submitted"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SUBMITTED */
    {ATTR_KEY("cuda.kernel.launch_type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 1, 2}, /* LAUNCH_TYPE */
    {ATTR_KEY("cuda.kernel.shared_memory.carveout_requested"), FIELD_BOOL, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* IS_SHARED_MEMORY_CARVEOUT_REQUESTED */
    {ATTR_KEY("cuda.kernel.shared_memory.carveout"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* SHARED_MEMORY_CARVEOUT_REQUESTED */
    {ATTR_KEY("cuda.kernel.shared_memory.executed"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* SHARED_MEMORY_EXECUTED */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {ATTR_KEY("cuda.kernel.shared_memory.limit"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 3}, /* SHMEM_LIMIT_CONFIG */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {NO_KEY, FIELD_POINTER, ACTIVITY_NEVER, ROLE_NONE, 8, 0}, /* ACCESS_POLICY_WINDOW */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
    {ATTR_KEY("cuda.kernel.cluster.size"), FIELD_DIM3_X, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CLUSTER_X */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CLUSTER_Y */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CLUSTER_Z */
    {ATTR_KEY("cuda.kernel.cluster.scheduling_policy"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 5}, /* CLUSTER_SCHEDULING_POLICY */
    {ATTR_KEY("cuda.kernel.local_memory.total"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* LOCAL_MEMORY_TOTAL */
    {ATTR_KEY("cuda.kernel.cluster.max_potential_size"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* MAX_POTENTIAL_CLUSTER_SIZE */
    {ATTR_KEY("cuda.kernel.cluster.max_active"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* MAX_ACTIVE_CLUSTERS */
    {ATTR_KEY("cuda.kernel.device_launched"), FIELD_BOOL, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* IS_DEVICE_LAUNCHED */
    {ATTR_KEY("cuda.kernel.priority"), FIELD_INT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* LAUNCH_PRIORITY */
    {ATTR_KEY("cuda.kernel.execution_model"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 6}, /* EXECUTION_MODEL */
    {ATTR_KEY("cuda.graph.source.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* SOURCE_GRAPH_ID */
    {ATTR_KEY("cuda.graph.source.node.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SOURCE_GRAPH_NODE_ID */
};

static const struct activity_field memcpy_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.memcpy.kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 7}, /* COPY_KIND */
    {ATTR_KEY("cuda.memcpy.src_kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 8}, /* SRC_KIND */
    {ATTR_KEY("cuda.memcpy.dst_kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 8}, /* DST_KIND */
    {ATTR_KEY("cuda.memcpy.flags"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* FLAGS */
    {ATTR_KEY("cuda.memcpy.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* BYTES */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
    {ATTR_KEY("cuda.memcpy.device_launched"), FIELD_BOOL, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* IS_DEVICE_LAUNCHED */
    {ATTR_KEY("cuda.memcpy.count"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* COPY_COUNT */
    {ATTR_KEY("cuda.graph.source.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* SOURCE_GRAPH_ID */
    {ATTR_KEY("cuda.graph.source.node.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SOURCE_GRAPH_NODE_ID */
};

static const struct activity_field memcpy_peer_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.memcpy.kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 7}, /* COPY_KIND */
    {ATTR_KEY("cuda.memcpy.src_kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 8}, /* SRC_KIND */
    {ATTR_KEY("cuda.memcpy.dst_kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 1, 8}, /* DST_KIND */
    {ATTR_KEY("cuda.memcpy.flags"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* FLAGS */
    {ATTR_KEY("cuda.memcpy.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* BYTES */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.memcpy.src_device.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* SRC_DEVICE_ID */
    {ATTR_KEY("cuda.memcpy.src_context.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* SRC_CONTEXT_ID */
    {ATTR_KEY("cuda.memcpy.dst_device.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* DST_DEVICE_ID */
    {ATTR_KEY("cuda.memcpy.dst_context.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* DST_CONTEXT_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
};

static const struct activity_field memset_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.memset.value"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* VALUE */
    {ATTR_KEY("cuda.memset.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* BYTES */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.memset.flags"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 2, 0}, /* FLAGS */
    {ATTR_KEY("cuda.memset.memory_kind"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 2, 8}, /* MEMORY_KIND */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
    {ATTR_KEY("cuda.memset.device_launched"), FIELD_BOOL, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* IS_DEVICE_LAUNCHED */
    {ATTR_KEY("cuda.graph.source.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* SOURCE_GRAPH_ID */
    {ATTR_KEY("cuda.graph.source.node.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SOURCE_GRAPH_NODE_ID */
};

static const struct activity_field graph_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.graph.end_device.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* END_DEVICE_ID */
    {ATTR_KEY("cuda.graph.end_context.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* END_CONTEXT_ID */
};

static const struct activity_field device_graph_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.graph.launcher.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* LAUNCHER_GRAPH_ID */
    {ATTR_KEY("cuda.graph.launch_mode"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 9}, /* DEVICE_LAUNCH_MODE */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 8, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 8, 0}, /* STREAM_ID */
};

static const struct activity_field mem_decompress_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.mem_decompress.operations"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* NUMBER_OF_OPERATIONS */
    {ATTR_KEY("cuda.mem_decompress.source_bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* SOURCE_BYTES */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
};

static const struct activity_field overhead_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.overhead.kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 10}, /* OVERHEAD_KIND */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* THREAD_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {NO_KEY, FIELD_POINTER, ACTIVITY_NEVER, ROLE_NONE, 8, 0}, /* OVERHEAD_DATA */
};

static const struct activity_field device_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* FLAGS */
    {ATTR_KEY("cuda.device.memory.bandwidth"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 8, 0}, /* GLOBAL_MEMORY_BANDWIDTH */
    {ATTR_KEY("cuda.device.memory.bytes"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 8, 0}, /* GLOBAL_MEMORY_SIZE */
    {ATTR_KEY("cuda.device.constant_memory.bytes"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* CONSTANT_MEMORY_SIZE */
    {ATTR_KEY("cuda.device.l2_cache.bytes"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* L2_CACHE_SIZE */
    {ATTR_KEY("cuda.device.warp.threads"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUM_THREADS_PER_WARP */
    {ATTR_KEY("cuda.device.clock"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* CORE_CLOCK_RATE */
    {ATTR_KEY("cuda.device.copy_engines"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUM_MEMCPY_ENGINES */
    {ATTR_KEY("cuda.device.multiprocessors"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUM_MULTIPROCESSORS */
    {ATTR_KEY("cuda.device.max_ipc"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_IPC */
    {ATTR_KEY("cuda.device.multiprocessor.max_warps"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_WARPS_PER_MULTIPROCESSOR */
    {ATTR_KEY("cuda.device.multiprocessor.max_blocks"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    {ATTR_KEY("cuda.device.multiprocessor.max_shared_memory"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
    {ATTR_KEY("cuda.device.multiprocessor.max_registers"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_REGISTERS_PER_MULTIPROCESSOR */
    {ATTR_KEY("cuda.device.block.max_registers"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_REGISTERS_PER_BLOCK */
    {ATTR_KEY("cuda.device.block.max_shared_memory"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_SHARED_MEMORY_PER_BLOCK */
    {ATTR_KEY("cuda.device.block.max_threads"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_THREADS_PER_BLOCK */
    {ATTR_KEY("cuda.device.block.max"), FIELD_DIM3_X, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_BLOCK_DIM_X */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_BLOCK_DIM_Y */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_BLOCK_DIM_Z */
    {ATTR_KEY("cuda.device.grid.max"), FIELD_DIM3_X, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_GRID_DIM_X */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_GRID_DIM_Y */
    {NO_KEY, FIELD_DIM3_YZ, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* MAX_GRID_DIM_Z */
    {ATTR_KEY("cuda.device.compute_capability.major"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* COMPUTE_CAPABILITY_MAJOR */
    {ATTR_KEY("cuda.device.compute_capability.minor"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* COMPUTE_CAPABILITY_MINOR */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* ID */
    {ATTR_KEY("cuda.device.ecc"), FIELD_BOOL, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* ECC_ENABLED */
    {ATTR_KEY("cuda.device.uuid"), FIELD_BYTES, ACTIVITY_ALWAYS, ROLE_NONE, 16, 0}, /* UUID */
    {ATTR_KEY("cuda.device.name"), FIELD_STRING, ACTIVITY_ALWAYS, ROLE_NAME, 8, 0}, /* NAME */
    {ATTR_KEY("cuda.device.visible"), FIELD_BOOL, ACTIVITY_ALWAYS, ROLE_NONE, 1, 0}, /* IS_CUDA_VISIBLE */
    {ATTR_KEY("cuda.device.mig.enabled"), FIELD_BOOL, ACTIVITY_ALWAYS, ROLE_NONE, 1, 0}, /* IS_MIG_ENABLED */
    {ATTR_KEY("cuda.device.mig.gpu_instance.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* GPU_INSTANCE_ID */
    {ATTR_KEY("cuda.device.mig.compute_instance.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* COMPUTE_INSTANCE_ID */
    {ATTR_KEY("cuda.device.mig.uuid"), FIELD_BYTES, ACTIVITY_ALWAYS, ROLE_NONE, 16, 0}, /* MIG_UUID */
    {ATTR_KEY("cuda.device.numa.is_node"), FIELD_BOOL, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* IS_NUMA_NODE */
    {ATTR_KEY("cuda.device.numa.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUMA_ID */
    {ATTR_KEY("cuda.device.tpcs"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUM_TPCS */
};

static const struct activity_field context_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.api"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 2, 11}, /* COMPUTE_API_KIND */
    {ATTR_KEY("cuda.context.null_stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NULL_STREAM_ID */
    {ATTR_KEY("cuda.context.parent.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* PARENT_CONTEXT_ID */
    {ATTR_KEY("cuda.context.green"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 1, 0}, /* IS_GREEN_CONTEXT */
    {ATTR_KEY("cuda.context.multiprocessors"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 2, 0}, /* NUM_MULTIPROCESSORS */
    {ATTR_KEY("cuda.context.cig_mode"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 4, 12}, /* CIG_MODE */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
};

static const struct activity_field green_context_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.context.parent.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* PARENT_CONTEXT_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.multiprocessors"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 2, 0}, /* NUM_MULTIPROCESSORS */
    {ATTR_KEY("cuda.context.tpcs"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* NUM_TPCS */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 1, 0}, /* LOGICAL_TPC_MASK_SIZE */
    {NO_KEY, FIELD_BYTES, ACTIVITY_NEVER, ROLE_NONE, 128, 0}, /* LOGICAL_TPC_MASK */
    {ATTR_KEY("cuda.context.workqueue.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* WORKQUEUE_RESOURCE_ID */
    {ATTR_KEY("cuda.context.workqueue.concurrency"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* WORKQUEUE_CONCURRENCY_LIMIT */
    {ATTR_KEY("cuda.context.workqueue.sharing_scope"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* WORKQUEUE_SHARING_SCOPE */
    {ATTR_KEY("cuda.context.workqueue.channels"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* WORKQUEUE_CHANNEL_COUNT */
    {NO_KEY, FIELD_BYTES, ACTIVITY_NEVER, ROLE_NONE, 128, 0}, /* WORKQUEUE_CHANNEL_IDS */
};

static const struct activity_field name_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.name.object_kind"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 4, 13}, /* OBJECT_KIND */
    {NO_KEY, FIELD_BYTES, ACTIVITY_ALWAYS, ROLE_NONE, 12, 0}, /* OBJECT_ID */
    {ATTR_KEY("cuda.name.name"), FIELD_STRING, ACTIVITY_ALWAYS, ROLE_NAME, 8, 0}, /* NAME */
};

static const struct activity_field marker_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.marker.flags"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* FLAGS */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
    {ATTR_KEY("cuda.marker.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 8, 0}, /* THREAD_ID */
    {ATTR_KEY("cuda.marker.name"), FIELD_STRING, ACTIVITY_ALWAYS, ROLE_NAME, 8, 0}, /* NAME */
    {ATTR_KEY("cuda.marker.domain"), FIELD_STRING, ACTIVITY_ALWAYS, ROLE_NONE, 8, 0}, /* DOMAIN */
};

static const struct activity_field marker_data_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.marker.flags"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* FLAGS */
    {ATTR_KEY("cuda.marker.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* ID */
    {ATTR_KEY("cuda.marker.payload_kind"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 14}, /* PAYLOAD_KIND */
    {ATTR_KEY("cuda.marker.payload"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* PAYLOAD */
    {ATTR_KEY("cuda.marker.color"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* COLOR */
    {ATTR_KEY("cuda.marker.category"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CATEGORY */
    {ATTR_KEY("cuda.marker.domain.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CUPTI_DOMAIN_ID */
};

static const struct activity_field environment_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
    {ATTR_KEY("cuda.environment.kind"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 4, 15}, /* ENVIRONMENT_KIND */
    {NO_KEY, FIELD_BYTES, ACTIVITY_ALWAYS, ROLE_NONE, 20, 0}, /* ENVIRONMENT_KIND_DATA */
};

static const struct activity_field stream_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.stream.priority"), FIELD_INT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* PRIORITY */
    {ATTR_KEY("cuda.stream.flag"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 4, 16}, /* FLAG */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
};

static const struct activity_field synchronization_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.synchronization.type"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 17}, /* TYPE */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.event.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* CUDA_EVENT_ID */
    {ATTR_KEY("cuda.event.sync_id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* CUDA_EVENT_SYNC_ID */
    {ATTR_KEY("cuda.synchronization.result"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* RETURN_VALUE */
};

static const struct activity_field cuda_event_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.event.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* EVENT_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.event.device_timestamp"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* DEVICE_TIMESTAMP */
    {ATTR_KEY("cuda.event.sync_id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* CUDA_EVENT_SYNC_ID */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.graph.source.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* SOURCE_GRAPH_ID */
    {ATTR_KEY("cuda.graph.source.node.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SOURCE_GRAPH_NODE_ID */
};

static const struct activity_field external_correlation_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.external_correlation.kind"), FIELD_ENUM, ACTIVITY_ALWAYS, ROLE_NONE, 4, 18}, /* EXTERNAL_KIND */
    {ATTR_KEY("cuda.external_correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 8, 0}, /* EXTERNAL_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
};

static const struct activity_field unified_memory_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.unified_memory.kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 19}, /* COUNTER_KIND */
    {ATTR_KEY("cuda.unified_memory.value"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* VALUE */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.unified_memory.address"), FIELD_POINTER, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* ADDRESS */
    {ATTR_KEY("cuda.unified_memory.src.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* SRC_ID */
    {ATTR_KEY("cuda.unified_memory.dst.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* DST_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuda.unified_memory.flags"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* FLAGS */
    {NO_KEY, FIELD_BYTES, ACTIVITY_NEVER, ROLE_NONE, 40, 0}, /* PROCESSORS */
};

static const struct activity_field memory_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.memory.operation"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 20}, /* OPERATION_TYPE */
    {ATTR_KEY("cuda.memory.kind"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 8}, /* MEMORY_KIND */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.memory.address"), FIELD_POINTER, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* ADDRESS */
    {ATTR_KEY("cuda.memory.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* BYTES */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.memory.async"), FIELD_BOOL, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* IS_ASYNC */
    {ATTR_KEY("cuda.memory_pool.type"), FIELD_ENUM, ACTIVITY_FULL, ROLE_NONE, 4, 21}, /* POOL_TYPE */
    {ATTR_KEY("cuda.memory_pool.address"), FIELD_POINTER, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* POOL_ADDRESS */
    {ATTR_KEY("cuda.memory_pool.release_threshold"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* POOL_RELEASE_THRESHOLD */
    {ATTR_KEY("cuda.memory_pool.bytes"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* POOL_SIZE */
    {ATTR_KEY("cuda.memory_pool.process.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* POOL_PROCESS_ID */
    {ATTR_KEY("cuda.memory_pool.used_bytes"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* POOL_UTILIZED_SIZE */
    {ATTR_KEY("cuda.memory.source"), FIELD_STRING, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* SOURCE */
};

static const struct activity_field memory_pool_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.memory_pool.operation"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 22}, /* OPERATION_TYPE */
    {ATTR_KEY("cuda.memory_pool.type"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 21}, /* POOL_TYPE */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.memory_pool.min_bytes_to_keep"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* MIN_BYTES_TO_KEEP */
    {ATTR_KEY("cuda.memory_pool.address"), FIELD_POINTER, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* ADDRESS */
    {ATTR_KEY("cuda.memory_pool.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* SIZE */
    {ATTR_KEY("cuda.memory_pool.release_threshold"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* RELEASE_THRESHOLD */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
    {ATTR_KEY("cuda.memory_pool.used_bytes"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* UTILIZED_SIZE */
    {ATTR_KEY("cuda.memory_pool.managed"), FIELD_BOOL, ACTIVITY_FULL, ROLE_NONE, 1, 0}, /* IS_MANAGED_POOL */
};

static const struct activity_field jit_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.jit.entry"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 23}, /* ENTRY_TYPE */
    {ATTR_KEY("cuda.jit.operation"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 24}, /* OPERATION_TYPE */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.jit.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* OPERATION_CORRELATION_ID */
    {ATTR_KEY("cuda.jit.cache.bytes"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* CACHE_SIZE */
    {ATTR_KEY("cuda.jit.cache.path"), FIELD_STRING, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* CACHE_PATH */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 8, 0}, /* THREAD_ID */
};

static const struct activity_field graph_host_node_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.graph.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH, 4, 0}, /* GRAPH_ID */
    {ATTR_KEY("cuda.graph.node.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_GRAPH_NODE, 8, 0}, /* GRAPH_NODE_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* THREAD_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
};

static const struct activity_field host_launch_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.stream.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_STREAM, 4, 0}, /* STREAM_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* THREAD_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
};

static const struct activity_field internal_launch_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.internal_launch.callback_id"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* CBID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* START */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_END, 8, 0}, /* END */
    {NO_KEY, FIELD_UINT, ACTIVITY_NEVER, ROLE_NONE, 4, 0}, /* PROCESS_ID */
    {ATTR_KEY("cuspan.thread.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 8, 0}, /* THREAD_ID */
    {ATTR_KEY("cuda.correlation.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CORRELATION, 8, 0}, /* CORRELATION_ID */
    {ATTR_KEY("cuda.internal_launch.result"), FIELD_UINT, ACTIVITY_FULL, ROLE_NONE, 4, 0}, /* RETURN_VALUE */
};

static const struct activity_field confidential_compute_rotation_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.confidential_compute_rotation.event"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 25}, /* EVENT_TYPE */
    {ATTR_KEY("cuda.device.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_DEVICE, 4, 0}, /* DEVICE_ID */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {ATTR_KEY("cuda.channel.id"), FIELD_UINT, ACTIVITY_DEFAULT, ROLE_NONE, 4, 0}, /* CHANNEL_ID */
    {ATTR_KEY("cuda.channel.type"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 4}, /* CHANNEL_TYPE */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
};

static const struct activity_field compute_engine_context_switch_fields[] = {
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_NONE, 4, 0}, /* KIND */
    {ATTR_KEY("cuda.context.id"), FIELD_UINT, ACTIVITY_ALWAYS, ROLE_CONTEXT, 4, 0}, /* CONTEXT_ID */
    {NO_KEY, FIELD_UINT, ACTIVITY_ALWAYS, ROLE_START, 8, 0}, /* TIMESTAMP */
    {ATTR_KEY("cuda.compute_engine_context_switch.operation"), FIELD_ENUM, ACTIVITY_DEFAULT, ROLE_NONE, 4, 26}, /* OPERATION_TYPE */
};

const struct activity_info activity_table[ACTIVITY_KINDS_MAX] = {
    [1] = {"memcpy", memcpy_fields, 20, ACTIVITY_DEFAULT, 1, 1},
    [2] = {"memset", memset_fields, 18, ACTIVITY_DEFAULT, 1, 1},
    [3] = {"kernel_serial", kernel_fields, 49, ACTIVITY_NEVER, 1, 1},
    [8] = {"device", device_fields, 38, ACTIVITY_DEFAULT, 0, 0},
    [9] = {"context", context_fields, 10, ACTIVITY_DEFAULT, 0, 0},
    [10] = {"kernel", kernel_fields, 49, ACTIVITY_DEFAULT, 1, 1},
    [11] = {"name", name_fields, 4, ACTIVITY_FULL, 0, 0},
    [12] = {"marker", marker_fields, 8, ACTIVITY_FULL, 0, 0},
    [13] = {"marker_data", marker_data_fields, 8, ACTIVITY_FULL, 0, 0},
    [17] = {"overhead", overhead_fields, 8, ACTIVITY_DEFAULT, 0, 1},
    [20] = {"environment", environment_fields, 5, ACTIVITY_FULL, 0, 0},
    [22] = {"memcpy_peer", memcpy_peer_fields, 20, ACTIVITY_DEFAULT, 1, 1},
    [25] = {"unified_memory", unified_memory_fields, 12, ACTIVITY_FULL, 0, 1},
    [36] = {"cuda_event", cuda_event_fields, 12, ACTIVITY_FULL, 0, 0},
    [37] = {"stream", stream_fields, 6, ACTIVITY_FULL, 0, 0},
    [38] = {"synchronization", synchronization_fields, 10, ACTIVITY_FULL, 0, 1},
    [39] = {"external_correlation", external_correlation_fields, 4, ACTIVITY_FULL, 0, 0},
    [48] = {"internal_launch", internal_launch_fields, 8, ACTIVITY_FULL, 0, 1},
    [49] = {"memory", memory_fields, 19, ACTIVITY_FULL, 0, 0},
    [50] = {"memory_pool", memory_pool_fields, 13, ACTIVITY_FULL, 0, 0},
    [51] = {"graph", graph_fields, 10, ACTIVITY_DEFAULT, 1, 1},
    [52] = {"jit", jit_fields, 12, ACTIVITY_FULL, 0, 1},
    [53] = {"device_graph", device_graph_fields, 9, ACTIVITY_FULL, 1, 1},
    [54] = {"mem_decompress", mem_decompress_fields, 11, ACTIVITY_FULL, 1, 1},
    [55] = {"confidential_compute_rotation", confidential_compute_rotation_fields, 7, ACTIVITY_FULL, 0, 0},
    [56] = {"graph_host_node", graph_host_node_fields, 11, ACTIVITY_FULL, 0, 1},
    [57] = {"compute_engine_context_switch", compute_engine_context_switch_fields, 4, ACTIVITY_FULL, 0, 0},
    [58] = {"host_launch", host_launch_fields, 9, ACTIVITY_FULL, 0, 1},
    [59] = {"green_context", green_context_fields, 13, ACTIVITY_FULL, 0, 0},
};
