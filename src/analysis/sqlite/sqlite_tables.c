#include "analysis/sqlite/sqlite_tables.h"

#include "model/semconv.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

#define COPY_KINDS                                                                                           \
    "Unknown HostToDevice DeviceToHost HostToArray ArrayToHost ArrayToArray ArrayToDevice DeviceToArray "    \
    "DeviceToDevice HostToHost PeerToPeer"
#define MEMORY_KINDS "pageable pinned device array managed device_static managed_static unknown"
#define SYNC_TYPES   "unknown event_synchronize stream_wait_event stream_synchronize context_synchronize"
#define LAUNCH_TYPES "unknown regular cooperative_single_device cooperative_multi_device"
#define APIS         "runtime driver"
/* "span" can end on another thread. */
#define RANGE_TYPES "mark=34 range=59 span=60"

#define BEGIN                                                                                                \
    {"start", "INTEGER NOT NULL", FROM_START, NULL, NULL},                                                   \
    {                                                                                                        \
        "end", "INTEGER NOT NULL", FROM_END, NULL, NULL                                                      \
    }

/* Columns of all GPU work. */
#define WORK                                                                                                 \
    BEGIN, {"deviceId", "INTEGER", FROM_DEVICE, NULL, NULL},                                                 \
        {"contextId", "INTEGER NOT NULL", FROM_INT_OR_0, SEMCONV_CUDA_CONTEXT_ID, NULL},                     \
        {"streamId", "INTEGER NOT NULL", FROM_INT_OR_0, SEMCONV_CUDA_STREAM_ID, NULL},                       \
        {"correlationId", "INTEGER", FROM_INT, SEMCONV_CUDA_CORRELATION_ID, NULL},                           \
        {"globalPid", "INTEGER", FROM_GLOBAL_PID, NULL, NULL},                                               \
    {                                                                                                        \
        "cuspanSpanId", "INTEGER NOT NULL REFERENCES CUSPAN_SPANS(id)", FROM_SPAN, NULL, NULL                \
    }

#define STRING_ID "INTEGER REFERENCES StringIds(id)"

static const struct sqlite_column kernels[] = {
    WORK,
    {"demangledName", STRING_ID, FROM_STRING_ID, SEMCONV_CUDA_KERNEL_NAME, NULL},
    {"shortName", STRING_ID, FROM_NAME_ID, NULL, NULL},
    {"launchType", "INTEGER", FROM_WORD, SEMCONV_CUDA_KERNEL_LAUNCH_TYPE, LAUNCH_TYPES},
    {"registersPerThread", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_REGISTERS, NULL},
    {"gridX", "INTEGER", FROM_X, SEMCONV_CUDA_KERNEL_GRID, NULL},
    {"gridY", "INTEGER", FROM_Y, SEMCONV_CUDA_KERNEL_GRID, NULL},
    {"gridZ", "INTEGER", FROM_Z, SEMCONV_CUDA_KERNEL_GRID, NULL},
    {"blockX", "INTEGER", FROM_X, SEMCONV_CUDA_KERNEL_BLOCK, NULL},
    {"blockY", "INTEGER", FROM_Y, SEMCONV_CUDA_KERNEL_BLOCK, NULL},
    {"blockZ", "INTEGER", FROM_Z, SEMCONV_CUDA_KERNEL_BLOCK, NULL},
    {"staticSharedMemory", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_SHARED_MEMORY_STATIC, NULL},
    {"dynamicSharedMemory", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_SHARED_MEMORY_DYNAMIC, NULL},
    {"localMemoryPerThread", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_LOCAL_MEMORY_PER_THREAD, NULL},
    {"localMemoryTotal", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_LOCAL_MEMORY_TOTAL, NULL},
    {"gridId", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_GRID_ID, NULL},
    {"sharedMemoryExecuted", "INTEGER", FROM_INT, SEMCONV_CUDA_KERNEL_SHARED_MEMORY_EXECUTED, NULL},
    {"graphNodeId", "INTEGER", FROM_INT, SEMCONV_CUDA_GRAPH_NODE_ID, NULL},
};

static const struct sqlite_column copies[] = {
    WORK,
    {"bytes", "INTEGER NOT NULL", FROM_INT_OR_0, SEMCONV_CUDA_MEMCPY_BYTES, NULL},
    {"copyKind", "INTEGER", FROM_WORD, SEMCONV_CUDA_MEMCPY_KIND, COPY_KINDS},
    {"srcKind", "INTEGER", FROM_WORD, SEMCONV_CUDA_MEMCPY_SRC_KIND, MEMORY_KINDS},
    {"dstKind", "INTEGER", FROM_WORD, SEMCONV_CUDA_MEMCPY_DST_KIND, MEMORY_KINDS},
    {"srcDeviceId", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMCPY_SRC_DEVICE_ID, NULL},
    {"srcContextId", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMCPY_SRC_CONTEXT_ID, NULL},
    {"dstDeviceId", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMCPY_DST_DEVICE_ID, NULL},
    {"dstContextId", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMCPY_DST_CONTEXT_ID, NULL},
    {"graphNodeId", "INTEGER", FROM_INT, SEMCONV_CUDA_GRAPH_NODE_ID, NULL},
    {"copyCount", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMCPY_COUNT, NULL},
};

static const struct sqlite_column fills[] = {
    WORK,
    {"value", "INTEGER", FROM_INT, SEMCONV_CUDA_MEMSET_VALUE, NULL},
    {"bytes", "INTEGER NOT NULL", FROM_INT_OR_0, SEMCONV_CUDA_MEMSET_BYTES, NULL},
    {"graphNodeId", "INTEGER", FROM_INT, SEMCONV_CUDA_GRAPH_NODE_ID, NULL},
    {"memKind", "INTEGER", FROM_WORD, SEMCONV_CUDA_MEMSET_MEMORY_KIND, MEMORY_KINDS},
};

static const struct sqlite_column graphs[] = {
    WORK,
    {"graphId", "INTEGER", FROM_INT, SEMCONV_CUDA_GRAPH_ID, NULL},
};

static const struct sqlite_column synchronizations[] = {
    WORK,
    {"syncType", "INTEGER", FROM_WORD, SEMCONV_CUDA_SYNCHRONIZATION_TYPE, SYNC_TYPES},
};

static const struct sqlite_column calls[] = {
    BEGIN,
    {"eventClass", "INTEGER", FROM_WORD, SEMCONV_CUDA_API, APIS},
    {"globalTid", "INTEGER", FROM_GLOBAL_TID, NULL, NULL},
    {"correlationId", "INTEGER", FROM_INT, SEMCONV_CUDA_CORRELATION_ID, NULL},
    {"nameId", STRING_ID " NOT NULL", FROM_NAME_ID, NULL, NULL},
    {"returnValue", "INTEGER NOT NULL", FROM_INT_OR_0, SEMCONV_CUDA_ERROR_CODE, NULL},
    {"cuspanSpanId", "INTEGER NOT NULL REFERENCES CUSPAN_SPANS(id)", FROM_SPAN, NULL, NULL},
};

static const struct sqlite_column ranges[] = {
    {"start", "INTEGER NOT NULL", FROM_START, NULL, NULL},
    {"end", "INTEGER", FROM_END_OR_NULL, NULL, NULL},
    {"eventType", "INTEGER", FROM_WORD, SEMCONV_CUDA_RANGE_KIND, RANGE_TYPES},
    {"text", "TEXT", FROM_NAME, NULL, NULL},
    {"textId", STRING_ID, FROM_NAME_ID, NULL, NULL},
    {"globalTid", "INTEGER", FROM_GLOBAL_TID, NULL, NULL},
    {"domain", "TEXT", FROM_TEXT, SEMCONV_NVTX_DOMAIN, NULL},
    {"category", "TEXT", FROM_TEXT, SEMCONV_NVTX_CATEGORY, NULL},
    {"cuspanSpanId", "INTEGER NOT NULL REFERENCES CUSPAN_SPANS(id)", FROM_SPAN, NULL, NULL},
};

const struct sqlite_table sqlite_tables[EXPORT_KIND_COUNT] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", kernels, COUNT(kernels)},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", copies, COUNT(copies)},
    {"CUPTI_ACTIVITY_KIND_MEMSET", fills, COUNT(fills)},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphs, COUNT(graphs)},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", synchronizations, COUNT(synchronizations)},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", calls, COUNT(calls)},
    {"NVTX_EVENTS", ranges, COUNT(ranges)},
};

#define ENUM(name, rows)                                                                                     \
    "CREATE TABLE " name " (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"                        \
    "INSERT INTO " name " VALUES " rows ";"

const char *const sqlite_enums = ENUM(
    "ENUM_CUDA_MEMCPY_OPER",
    "(0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),"
    "(2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),(3,'CUDA_MEMCPY_KIND_HTOA','Host-to-Array'),"
    "(4,'CUDA_MEMCPY_KIND_ATOH','Array-to-Host'),(5,'CUDA_MEMCPY_KIND_ATOA','Array-to-Array'),"
    "(6,'CUDA_MEMCPY_KIND_ATOD','Array-to-Device'),(7,'CUDA_MEMCPY_KIND_DTOA','Device-to-Array'),"
    "(8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),(9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'),"
    "(10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer')")
    ENUM("ENUM_CUDA_MEM_KIND",
         "(0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),"
         "(2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device'),(3,'CUDA_MEMOPR_MEMORY_KIND_ARRAY','Array'),"
         "(4,'CUDA_MEMOPR_MEMORY_KIND_MANAGED','Managed'),"
         "(5,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'),"
         "(6,'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC','Managed Static'),"
         "(7,'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN','Unknown')")
        ENUM("ENUM_NSYS_EVENT_CLASS", "(0,'TRACE_PROCESS_EVENT_CUDA_RUNTIME','CUDA runtime'),"
                                      "(1,'TRACE_PROCESS_EVENT_CUDA_DRIVER','CUDA driver')")
            ENUM("ENUM_NSYS_EVENT_TYPE",
                 "(34,'NvtxMark','NvtxMark'),(59,'NvtxPushPopRange','NvtxPushPopRange'),"
                 "(60,'NvtxStartEndRange','NvtxStartEndRange')")
                ENUM("ENUM_CUPTI_SYNC_TYPE",
                     "(0,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN','Unknown'),"
                     "(1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event sync'),"
                     "(2,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT','Stream wait sync'),"
                     "(3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream sync'),"
                     "(4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context sync')");
