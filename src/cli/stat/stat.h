/* `cuspan stat`: tables computed from the spans of a file. Each section is a function that adds its tables to
 * the report. */
#ifndef CUSPAN_CLI_STAT_STAT_H
#define CUSPAN_CLI_STAT_STAT_H

#include "cli/stat/samples.h"
#include "cli/stat/stat_table.h"
#include "cli/trace/trace.h"
#include "model/cuda/calls.h"

#include <string.h>

#define STAT_TABLES_MAX 40

/* X(identifier, attribute) */
#define STAT_KEYS(X)                                                                                         \
    X(KEY_API, "cuda.api")                                                                                   \
    X(KEY_ACTIVITY, "cuda.activity")                                                                         \
    X(KEY_KERNEL_NAME, "cuda.kernel.name")                                                                   \
    X(KEY_GRID, "cuda.kernel.grid")                                                                          \
    X(KEY_BLOCK, "cuda.kernel.block")                                                                        \
    X(KEY_REGISTERS, "cuda.kernel.registers")                                                                \
    X(KEY_SHARED_STATIC, "cuda.kernel.shared_memory.static")                                                 \
    X(KEY_SHARED_DYNAMIC, "cuda.kernel.shared_memory.dynamic")                                               \
    X(KEY_START_DELAY, "cuda.start_delay")                                                                   \
    X(KEY_COPY_BYTES, "cuda.memcpy.bytes")                                                                   \
    X(KEY_COPY_KIND, "cuda.memcpy.kind")                                                                     \
    X(KEY_COPY_FROM, "cuda.memcpy.src_kind")                                                                 \
    X(KEY_COPY_TO, "cuda.memcpy.dst_kind")                                                                   \
    X(KEY_STACK, "code.stacktrace")                                                                          \
    X(KEY_COPY_SOURCE, "cuda.memcpy.src_device.hw.id")                                                       \
    X(KEY_COPY_TARGET, "cuda.memcpy.dst_device.hw.id")                                                       \
    X(KEY_FILL_BYTES, "cuda.memset.bytes")                                                                   \
    X(KEY_FILL_KIND, "cuda.memset.memory_kind")                                                              \
    X(KEY_ARG_BYTES, "cuda.arg.bytes")                                                                       \
    X(KEY_STREAM, "cuda.stream.id")                                                                          \
    X(KEY_RANGE, "cuda.range")                                                                               \
    X(KEY_CONTEXT, "cuda.context.id")                                                                        \
    X(KEY_GRAPH, "cuda.graph.id")                                                                            \
    X(KEY_LOST, "cuda.session.lost")                                                                         \
    X(KEY_END_REASON, "cuda.session.end_reason")                                                             \
    X(KEY_ARG_PTR, "cuda.arg.ptr")                                                                           \
    X(KEY_ARG_POOL, "cuda.arg.pool")                                                                         \
    X(KEY_ARG_HANDLE, "cuda.arg.handle")                                                                     \
    X(KEY_ARG_ARRAY, "cuda.arg.array")                                                                       \
    X(KEY_ARG_MIPMAPPED_ARRAY, "cuda.arg.mipmapped_array")                                                   \
    X(KEY_ARG_PITCH, "cuda.arg.pitch")                                                                       \
    X(KEY_ARG_WIDTH, "cuda.arg.width")                                                                       \
    X(KEY_ARG_HEIGHT, "cuda.arg.height")                                                                     \
    X(KEY_ARG_DEPTH, "cuda.arg.depth")                                                                       \
    X(KEY_ARG_LEVELS, "cuda.arg.num_levels")                                                                 \
    X(KEY_ARG_MIPMAP_LEVELS, "cuda.arg.num_mipmap_levels")                                                   \
    X(KEY_ARG_FORMAT, "cuda.arg.format")                                                                     \
    X(KEY_ARG_CHANNELS, "cuda.arg.channels")                                                                 \
    X(KEY_ARG_CHANNEL_X, "cuda.arg.channel.x")                                                               \
    X(KEY_ARG_CHANNEL_Y, "cuda.arg.channel.y")                                                               \
    X(KEY_ARG_CHANNEL_Z, "cuda.arg.channel.z")                                                               \
    X(KEY_ARG_CHANNEL_W, "cuda.arg.channel.w")                                                               \
    X(KEY_ARG_LOCATION_TYPE, "cuda.arg.location.type")                                                       \
    X(KEY_ARG_LOCATION_ID, "cuda.arg.location.id")                                                           \
    X(KEY_ARG_SRC, "cuda.arg.src")                                                                           \
    X(KEY_ARG_DST, "cuda.arg.dst")                                                                           \
    X(KEY_ARG_STREAM, "cuda.arg.stream")                                                                     \
    X(KEY_OWN_CALLBACKS, "cuspan.own.callback_time")                                                         \
    X(KEY_OWN_CALLS, "cuspan.own.callback_calls")                                                            \
    X(KEY_OWN_PIPELINE, "cuspan.own.pipeline_time")                                                          \
    X(KEY_OWN_SENDER, "cuspan.own.sender_time")                                                              \
    X(KEY_OWN_CONTROL, "cuspan.own.control_time")                                                            \
    X(KEY_CUPTI_FLUSH, "cuspan.cupti.flush_time")                                                            \
    X(KEY_CUPTI_INSTRUMENTATION, "cuspan.cupti.instrumentation_time")                                        \
    X(KEY_CUPTI_RESOURCE, "cuspan.cupti.resource_time")                                                      \
    X(KEY_CUPTI_REQUEST, "cuspan.cupti.request_time")                                                        \
    X(KEY_CUPTI_OTHER, "cuspan.cupti.other_time")

enum stat_key {
#define STAT_KEY_ID(id, name) id,
    STAT_KEYS(STAT_KEY_ID)
#undef STAT_KEY_ID
        KEY_COUNT
};

struct stat {
    const struct trace *trace;
    /* A group of a process's spans: its frees may belong to other groups, so memory is not reported. */
    bool is_part;
    uint32_t keys[KEY_COUNT];   /* strings of the trace, MAP_NONE: no span has it */
    struct int_map call_groups; /* string of a call's name → enum call_group */
};

struct stat_report {
    struct stat_table tables[STAT_TABLES_MAX];
    size_t count;
};

void stat_init(struct stat *stat, const struct trace *trace);
void stat_deinit(struct stat *stat);

/* The attribute's text, or NULL. */
const char *stat_attr(const struct stat *stat, const struct trace_span *span, enum stat_key key);
/* As a number; `otherwise` if the span lacks the attribute. */
uint64_t stat_attr_int(const struct stat *stat, const struct trace_span *span, enum stat_key key,
                       uint64_t otherwise);
static inline bool stat_is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}
/* The full name of a kernel, if known. */
const char *stat_kernel_name(const struct stat *stat, const struct trace_span *kernel);
/* Five columns: average, median, p99, min and max. */
void stat_fill_spread(struct stat_value *cells, const struct spread *spread);
/* The product of a list such as "[32,8,1]"; of NULL: 0. */
uint64_t stat_product(const char *list);
/* The group of a call span. */
enum call_group stat_call_group(const struct stat *stat, const struct trace_span *span);
static inline uint64_t stat_duration(const struct trace_span *span)
{
    return span->end_ns - span->start_ns;
}
/* A numeric resource attribute of a GPU span's device; 0: unknown. */
double stat_device_number(const struct stat *stat, const struct trace_span *span, const char *attribute);
/* The next table of the report. */
struct stat_table *stat_report_add(struct stat_report *report, struct stat_table table);
/* A new table with the columns of an array. */
#define STAT_ADD_TABLE(report, key, title, note, columns)                                                    \
    stat_report_add(report, stat_table_of(key, title, note, columns, sizeof(columns) / sizeof *(columns)))
void stat_report_deinit(struct stat_report *report);

/* Assigns dense numbers from 0 to 64-bit keys, in the order of their first appearance. */
uint32_t stat_number(struct int_map *numbers, uint64_t key);

/* The sections. */
void stat_headline(const struct stat *stat, struct stat_report *report);
void stat_calls(const struct stat *stat, struct stat_report *report);
void stat_kernels(const struct stat *stat, struct stat_report *report);
void stat_counters(const struct stat *stat, struct stat_report *report);
void stat_copies(const struct stat *stat, struct stat_report *report);
void stat_devices(const struct stat *stat, struct stat_report *report);
void stat_latency(const struct stat *stat, struct stat_report *report);
void stat_memory(const struct stat *stat, struct stat_report *report);
void stat_findings(const struct stat *stat, struct stat_report *report);
void stat_own(const struct stat *stat, struct stat_report *report);

/* The theoretical occupancy of a kernel, 0 to 1, from its registers, shared memory, block size and device
 * limits by CUDA's rules; negative if one of them is unknown. */
struct stat_launch {
    uint64_t threads; /* of a block */
    uint64_t registers;
    uint64_t shared_bytes; /* of a block, static and dynamic */
};
struct stat_launch stat_launch_of(const struct stat *stat, const struct trace_span *kernel);
double stat_occupancy(const struct stat *stat, const struct trace_span *kernel,
                      const struct stat_launch *launch);

#endif
