/* `cuspan stat`: tables computed from the spans of a file, which arrive in segments: traces of bounded size,
 * in the order of their starts. Numbers of names, resources, threads and lanes are the same in all segments.
 * Everything else of a segment is invalid after it: attributes, links between spans, pointers to them. Margin
 * spans belong to another segment and are present only because spans of this one refer to them.
 *
 * Each section keeps what its tables need from each segment, and adds the tables to the report at the end. */
#pragma once

#include "analysis/stat/base/samples.h"
#include "analysis/stat/base/stat_table.h"
#include "analysis/trace/trace.h"
#include "model/cuda/calls.h"
#include "model/semconv.h"

#include <string.h>

#define STAT_TABLES_MAX     40
#define STAT_KEPT_BYTES_MAX (128u << 20)

/* X(identifier, attribute) */
#define STAT_KEYS(X)                                                                                         \
    X(KEY_API, SEMCONV_CUDA_API)                                                                             \
    X(KEY_ACTIVITY, SEMCONV_CUDA_ACTIVITY)                                                                   \
    X(KEY_KERNEL_NAME, SEMCONV_CUDA_KERNEL_NAME)                                                             \
    X(KEY_GRID, SEMCONV_CUDA_KERNEL_GRID)                                                                    \
    X(KEY_BLOCK, SEMCONV_CUDA_KERNEL_BLOCK)                                                                  \
    X(KEY_REGISTERS, SEMCONV_CUDA_KERNEL_REGISTERS)                                                          \
    X(KEY_SHARED_STATIC, SEMCONV_CUDA_KERNEL_SHARED_MEMORY_STATIC)                                           \
    X(KEY_SHARED_DYNAMIC, SEMCONV_CUDA_KERNEL_SHARED_MEMORY_DYNAMIC)                                         \
    X(KEY_START_DELAY, SEMCONV_CUDA_START_DELAY)                                                             \
    X(KEY_COPY_BYTES, SEMCONV_CUDA_MEMCPY_BYTES)                                                             \
    X(KEY_COPY_KIND, SEMCONV_CUDA_MEMCPY_KIND)                                                               \
    X(KEY_COPY_FROM, SEMCONV_CUDA_MEMCPY_SRC_KIND)                                                           \
    X(KEY_COPY_TO, SEMCONV_CUDA_MEMCPY_DST_KIND)                                                             \
    X(KEY_STACK, SEMCONV_CODE_STACKTRACE)                                                                    \
    X(KEY_STACK_ID, SEMCONV_CUSPAN_STACK_ID)                                                                 \
    X(KEY_CODE_FUNCTION, SEMCONV_CODE_FUNCTION_NAME)                                                         \
    X(KEY_CODE_FILE, SEMCONV_CODE_FILE_PATH)                                                                 \
    X(KEY_CODE_LINE, SEMCONV_CODE_LINE_NUMBER)                                                               \
    X(KEY_XLA_FRAMES, "nvtx.payload.Source locations")                                                       \
    X(KEY_XLA_FILE, "nvtx.payload.Source file")                                                              \
    X(KEY_XLA_LINE, "nvtx.payload.Source line")                                                              \
    X(KEY_COPY_SOURCE, SEMCONV_CUDA_MEMCPY_SRC_DEVICE_HW_ID)                                                 \
    X(KEY_COPY_TARGET, SEMCONV_CUDA_MEMCPY_DST_DEVICE_HW_ID)                                                 \
    X(KEY_FILL_BYTES, SEMCONV_CUDA_MEMSET_BYTES)                                                             \
    X(KEY_FILL_KIND, SEMCONV_CUDA_MEMSET_MEMORY_KIND)                                                        \
    X(KEY_ARG_BYTES, SEMCONV_CUDA_ARG_BYTES)                                                                 \
    X(KEY_RANGE, SEMCONV_CUDA_RANGE_KIND)                                                                    \
    X(KEY_CONTEXT, SEMCONV_CUDA_CONTEXT_ID)                                                                  \
    X(KEY_GRAPH, SEMCONV_CUDA_GRAPH_ID)                                                                      \
    X(KEY_LOST, SEMCONV_CUDA_SESSION_LOST)                                                                   \
    X(KEY_END_REASON, SEMCONV_CUDA_SESSION_END_REASON)                                                       \
    X(KEY_ARG_PTR, SEMCONV_CUDA_ARG_PTR)                                                                     \
    X(KEY_ARG_POOL, SEMCONV_CUDA_ARG_POOL)                                                                   \
    X(KEY_ARG_HANDLE, SEMCONV_CUDA_ARG_HANDLE)                                                               \
    X(KEY_ARG_ARRAY, SEMCONV_CUDA_ARG_ARRAY)                                                                 \
    X(KEY_ARG_MIPMAPPED_ARRAY, SEMCONV_CUDA_ARG_MIPMAPPED_ARRAY)                                             \
    X(KEY_ARG_PITCH, SEMCONV_CUDA_ARG_PITCH)                                                                 \
    X(KEY_ARG_WIDTH, SEMCONV_CUDA_ARG_WIDTH)                                                                 \
    X(KEY_ARG_HEIGHT, SEMCONV_CUDA_ARG_HEIGHT)                                                               \
    X(KEY_ARG_DEPTH, SEMCONV_CUDA_ARG_DEPTH)                                                                 \
    X(KEY_ARG_LEVELS, SEMCONV_CUDA_ARG_NUM_LEVELS)                                                           \
    X(KEY_ARG_MIPMAP_LEVELS, SEMCONV_CUDA_ARG_NUM_MIPMAP_LEVELS)                                             \
    X(KEY_ARG_FORMAT, SEMCONV_CUDA_ARG_FORMAT)                                                               \
    X(KEY_ARG_CHANNELS, SEMCONV_CUDA_ARG_CHANNELS)                                                           \
    X(KEY_ARG_CHANNEL_X, SEMCONV_CUDA_ARG_CHANNEL_X)                                                         \
    X(KEY_ARG_CHANNEL_Y, SEMCONV_CUDA_ARG_CHANNEL_Y)                                                         \
    X(KEY_ARG_CHANNEL_Z, SEMCONV_CUDA_ARG_CHANNEL_Z)                                                         \
    X(KEY_ARG_CHANNEL_W, SEMCONV_CUDA_ARG_CHANNEL_W)                                                         \
    X(KEY_ARG_LOCATION_TYPE, SEMCONV_CUDA_ARG_LOCATION_TYPE)                                                 \
    X(KEY_ARG_LOCATION_ID, SEMCONV_CUDA_ARG_LOCATION_ID)                                                     \
    X(KEY_ARG_SRC, SEMCONV_CUDA_ARG_SRC)                                                                     \
    X(KEY_ARG_DST, SEMCONV_CUDA_ARG_DST)                                                                     \
    X(KEY_STEP_NUMBER, SEMCONV_TRAINING_STEP_NUMBER)                                                         \
    X(KEY_STEP_KIND, SEMCONV_TRAINING_STEP_KIND)                                                             \
    X(KEY_STEP_BACKLOG, SEMCONV_TRAINING_STEP_GPU_BACKLOG)                                                   \
    X(KEY_STEP_LEFT_OUT, SEMCONV_TRAINING_STEP_LEFT_OUT)                                                     \
    X(KEY_STEP_COMPUTE, SEMCONV_TRAINING_STEP_COMPUTE_TIME)                                                  \
    X(KEY_STEP_EXPOSED, SEMCONV_TRAINING_STEP_EXPOSED_TIME)                                                  \
    X(KEY_STEP_COPY, SEMCONV_TRAINING_STEP_COPY_TIME)                                                        \
    X(KEY_STEP_COPIED, SEMCONV_TRAINING_STEP_COPY)                                                           \
    X(KEY_COLLECTIVE_KEY, SEMCONV_COLLECTIVE_KEY)                                                            \
    X(KEY_COLLECTIVE_OPERATION, SEMCONV_COLLECTIVE_OPERATION)                                                \
    X(KEY_COLLECTIVE_COMMUNICATOR, SEMCONV_COLLECTIVE_COMMUNICATOR)                                          \
    X(KEY_COLLECTIVE_RANKS, SEMCONV_COLLECTIVE_RANKS)                                                        \
    X(KEY_COLLECTIVE_GROUPED, SEMCONV_COLLECTIVE_GROUPED)                                                    \
    X(KEY_COLLECTIVE_PEER, SEMCONV_COLLECTIVE_PEER)                                                          \
    X(KEY_COLLECTIVE_BYTES, SEMCONV_COLLECTIVE_BYTES)                                                        \
    X(KEY_ENGINE_NAME, SEMCONV_ENGINE_NAME)                                                                  \
    X(KEY_ITERATION_NUMBER, SEMCONV_ENGINE_ITERATION_NUMBER)                                                 \
    X(KEY_ITERATION_KIND, SEMCONV_ENGINE_ITERATION_KIND)                                                     \
    X(KEY_ITERATION_SUMMARY, SEMCONV_ENGINE_ITERATION_SUMMARY)                                               \
    X(KEY_ITERATION_REQUESTS, SEMCONV_ENGINE_ITERATION_REQUESTS)                                             \
    X(KEY_ITERATION_PREFILL_TOKENS, SEMCONV_ENGINE_ITERATION_PREFILL_TOKENS)                                 \
    X(KEY_ITERATION_DECODE_TOKENS, SEMCONV_ENGINE_ITERATION_DECODE_TOKENS)                                   \
    X(KEY_ITERATION_PARTS, SEMCONV_ENGINE_ITERATION_PARTS)                                                   \
    X(KEY_REQUEST_ID, SEMCONV_GEN_AI_REQUEST_ID)                                                             \
    X(KEY_REQUEST_END, SEMCONV_ENGINE_REQUEST_END)                                                           \
    X(KEY_REQUEST_PROMPT_TOKENS, SEMCONV_ENGINE_REQUEST_PROMPT_TOKENS)                                       \
    X(KEY_REQUEST_CACHED_TOKENS, SEMCONV_ENGINE_REQUEST_CACHED_TOKENS)                                       \
    X(KEY_REQUEST_GENERATED_TOKENS, SEMCONV_ENGINE_REQUEST_GENERATED_TOKENS)                                 \
    X(KEY_REQUEST_PREFILL_TOKENS, SEMCONV_ENGINE_REQUEST_PREFILL_TOKENS)                                     \
    X(KEY_REQUEST_PREEMPTIONS, SEMCONV_ENGINE_REQUEST_PREEMPTIONS)                                           \
    X(KEY_REQUEST_ITERATIONS, SEMCONV_ENGINE_REQUEST_ITERATIONS)                                             \
    X(KEY_REQUEST_MEASURED, SEMCONV_ENGINE_REQUEST_ITERATIONS_MEASURED)                                      \
    X(KEY_REQUEST_QUEUE, SEMCONV_ENGINE_REQUEST_QUEUE_TIME)                                                  \
    X(KEY_REQUEST_PREFILL, SEMCONV_ENGINE_REQUEST_PREFILL_TIME)                                              \
    X(KEY_REQUEST_PER_TOKEN, SEMCONV_ENGINE_REQUEST_TIME_PER_OUTPUT_TOKEN)                                   \
    X(KEY_REQUEST_GPU_TIME, SEMCONV_ENGINE_REQUEST_GPU_TIME)                                                 \
    X(KEY_REQUEST_SHARE_PREFILL, SEMCONV_ENGINE_REQUEST_GPU_SHARE_PREFILL)                                   \
    X(KEY_REQUEST_SHARE_DECODE, SEMCONV_ENGINE_REQUEST_GPU_SHARE_DECODE)                                     \
    X(KEY_DEVICE_ID, SEMCONV_CUDA_DEVICE_ID)                                                                 \
    X(KEY_TOTAL_GPU_TIME, SEMCONV_CUDA_TOTAL_GPU_TIME)                                                       \
    X(KEY_TOTAL_CALLS, SEMCONV_CUDA_TOTAL_CALLS)                                                             \
    X(KEY_TOTAL_KERNELS, SEMCONV_CUDA_TOTAL_KERNELS)                                                         \
    X(KEY_TOTAL_GRAPHS, SEMCONV_CUDA_TOTAL_GRAPHS)                                                           \
    X(KEY_TOTAL_INCOMPLETE, SEMCONV_CUDA_TOTAL_INCOMPLETE)                                                   \
    X(KEY_OWN_CALLBACKS, SEMCONV_CUSPAN_OWN_CALLBACK_TIME)                                                   \
    X(KEY_OWN_CALLS, SEMCONV_CUSPAN_OWN_CALLBACK_CALLS)                                                      \
    X(KEY_OWN_PIPELINE, SEMCONV_CUSPAN_OWN_PIPELINE_TIME)                                                    \
    X(KEY_OWN_SENDER, SEMCONV_CUSPAN_OWN_SENDER_TIME)                                                        \
    X(KEY_OWN_CONTROL, SEMCONV_CUSPAN_OWN_CONTROL_TIME)                                                      \
    X(KEY_CUPTI_FLUSH, SEMCONV_CUSPAN_CUPTI_FLUSH_TIME)                                                      \
    X(KEY_CUPTI_INSTRUMENTATION, SEMCONV_CUSPAN_CUPTI_INSTRUMENTATION_TIME)                                  \
    X(KEY_CUPTI_RESOURCE, SEMCONV_CUSPAN_CUPTI_RESOURCE_TIME)                                                \
    X(KEY_CUPTI_REQUEST, SEMCONV_CUSPAN_CUPTI_REQUEST_TIME)                                                  \
    X(KEY_CUPTI_OTHER, SEMCONV_CUSPAN_CUPTI_OTHER_TIME)

enum stat_key {
#define STAT_KEY_ID(id, name) id,
    STAT_KEYS(STAT_KEY_ID) KEY_COUNT
};

struct places;
struct ledger;
struct code_book;

/* The meaning of a row in the table of code. In the order of the last words of `--by`
 * (src/command/table/command_table.c). */
enum stat_code_by { STAT_CODE_BY_LINE, STAT_CODE_BY_FUNCTION, STAT_CODE_BY_MODULE };

/* The part of a training job that the spans cover, for the tables across ranks. */
enum stat_scope {
    STAT_SCOPE_JOB,
    STAT_SCOPE_STEP, /* all ranks of one step */
    STAT_SCOPE_PART  /* another part of a job: no tables */
};

struct stat {
    const struct trace *trace; /* the current segment; at the end, the last one, for names and resources */
    bool has_spans;
    uint64_t start_ns, end_ns; /* first start and last end of all spans up to now */
    uint64_t now_ns;           /* start of the segment's last span, also of other groups */
    /* The stat is of a group with a part of a process's spans. Frees may be in other groups, so memory is not
     * reported. */
    bool is_part;
    enum stat_scope scope;
    struct stat_words *words;
    struct places *places;
    struct ledger *ledger;  /* memory; empty if is_part */
    struct code_book *code; /* stacks; shared by all groups, because a stack's text may be in another group */
    enum stat_code_by code_by;
};

/* The names of all attributes that the tables use, for trace_read(); NULL-terminated. */
extern const char *const stat_wanted[];

struct stat_report {
    struct stat_table tables[STAT_TABLES_MAX];
    size_t count;
};

/* Keeps the names of attributes and calls, and texts. All groups share one, which stat_words_destroy() frees.
 */
struct stat_words *stat_words_create(void);
void stat_words_learn(struct stat_words *words, const struct trace *segment);
void stat_words_destroy(struct stat_words *words);
void stat_make_current(struct stat *stat, const struct trace *segment);

/* Returns the attribute's text, valid as long as the segment; NULL: the span lacks it. Slow for numbers. */
const char *stat_attr(const struct stat *stat, const struct trace_span *span, enum stat_key key);
/* Returns the span's attribute, valid as long as the segment; NULL: the span lacks it. */
const struct trace_attr *stat_find(const struct stat *stat, const struct trace_span *span, enum stat_key key);
/* Whether any span up to now can have the attribute. */
bool stat_knows(const struct stat *stat, enum stat_key key);
static inline bool stat_has(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    return stat_find(stat, span, key) != NULL;
}
/* Returns the attribute as a number, or the number that its text starts with; `otherwise`: the span lacks it.
 */
uint64_t stat_attr_int(const struct stat *stat, const struct trace_span *span, enum stat_key key,
                       uint64_t otherwise);
static inline bool stat_is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}
/* Returns the full name of a kernel, if known, or else the span's name. */
const char *stat_kernel_name(const struct stat *stat, const struct trace_span *kernel);
/* Returns a key that is equal for kernels of the same full name. */
uint64_t stat_kernel_key(const struct stat *stat, const struct trace_span *kernel);
/* Fills five columns: average, median, p99, min and max. */
void stat_fill_spread(struct stat_value *cells, const struct spread *spread);
/* Returns the product of a list such as "[32,8,1]"; 0: `list` is NULL. */
uint64_t stat_product(const char *list);
/* Properties of a call, by its name. */
struct stat_call {
    enum call_group group;
    bool is_async; /* the call returns before its work is done */
    bool waits;    /* the call waits for the GPU */
    bool submits;  /* the call submits GPU work: a launch, copy or fill */
};
struct stat_call stat_call_of(const struct stat *stat, const struct trace_span *span);
static inline uint64_t stat_duration(const struct trace_span *span)
{
    return span->end_ns - span->start_ns;
}
/* Whether the span is work on a GPU. With `detail: full` there are records of GPUs without work. */
bool stat_is_work(const struct stat *stat, const struct trace_span *span);
/* Returns the call that submitted the work; NULL: unknown. */
const struct trace_span *stat_call_of_work(const struct stat *stat, const struct trace_span *work);
/* Returns a numeric attribute of a resource; 0: unknown. */
double stat_device_number(const struct stat *stat, uint32_t resource, const char *attribute);
/* Adds a table to the report, which takes ownership, and returns it. */
struct stat_table *stat_report_add(struct stat_report *report, struct stat_table table);
/* Adds a new table with the columns of an array, and returns it. */
#define STAT_ADD_TABLE(report, key, title, note, columns)                                                    \
    stat_report_add(report, stat_table_of(key, title, note, columns, sizeof(columns) / sizeof *(columns)))
/* Returns the table with this key; NULL: there is none. */
struct stat_table *stat_report_find(struct stat_report *report, const char *key);
/* Sorts each table by the column of numbers with this key or title, if it has one; NULL: none. */
void stat_report_sort(struct stat_report *report, const char *column);
void stat_report_deinit(struct stat_report *report);

/* Returns a copy of `text` that stays valid until the report is deleted. Equal texts are the same pointer.
 * NULL for NULL. */
const char *stat_keep(const struct stat *stat, const char *text);
/* Like stat_keep(), for texts of which there may be very many, such as stacks of calls: returns "(other)"
 * beyond STAT_KEPT_BYTES_MAX. */
const char *stat_keep_some(const struct stat *stat, const char *text);

/* A section of the report. The sections are declared in the order of the output. */
struct stat_section {
    size_t bytes; /* size of the state, which starts zeroed */
    /* Takes a span of the current segment. Spans come in their order in it. */
    void (*take)(void *state, const struct stat *stat, const struct trace_span *span);
    void (*end_segment)(void *state, const struct stat *stat); /* NULL: nothing to do */
    /* Adds the tables to `report` and frees what the state refers to. `report` NULL: only frees it. */
    void (*finish)(void *state, const struct stat *stat, struct stat_report *report);
};
extern const struct stat_section stat_headline, stat_calls, stat_kernels, stat_code, stat_counters,
    stat_copies, stat_devices, stat_latency, stat_memory, stat_own, stat_findings, stat_ranks,
    stat_iterations, stat_engine_requests;

/* How a kernel was launched. */
struct stat_launch {
    uint64_t threads; /* threads of a block */
    uint64_t registers;
    uint64_t shared_bytes; /* bytes of a block, static and dynamic */
    double occupancy;      /* theoretical, 0 to 1; negative: unknown */
};
struct stat_launch stat_launch_of(const struct stat *stat, const struct trace_span *kernel);
/* Returns the theoretical occupancy from registers, shared memory, block size and the device's limits by
 * CUDA's rules; negative: one of them is unknown. */
double stat_occupancy(const struct stat *stat, uint32_t resource, const struct stat_launch *launch);

/* Attributes of a GPU's resource; 0: unknown. */
struct stat_device {
    bool is_known; /* the other members were read */
    uint64_t multiprocessors, max_warps, max_blocks, registers, shared_bytes, warp_threads, major;
};
const struct stat_device *stat_device_of(const struct stat *stat, uint32_t resource);
