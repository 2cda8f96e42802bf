/* The settings: plain data that config fills, that is constant once the first thread starts, and that every
 * stage reads. agent/config/table/settings_list.c has the source, the default and the range of each. The
 * struct owns its strings and lists until settings_deinit. */
#pragma once

#include "base/limits.h"
#include "base/log/log.h"
#include "model/filter.h"
#include "model/metrics/live_stats.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum detail { DETAIL_DEFAULT, DETAIL_SUMMARY, DETAIL_GRAPH_NODES, DETAIL_FULL };

/* Stacks of calls that launch, copy, set or wait (capture.launch_stacks). */
enum launch_stacks { LAUNCH_STACKS_NONE, LAUNCH_STACKS_PYTHON, LAUNCH_STACKS_ALL };
/* Which spans with a stack have its text (capture.code_stacktrace). */
enum code_stacktrace { CODE_STACKTRACE_ONCE, CODE_STACKTRACE_ALWAYS };
/* How code.file.path is written (capture.code_paths). */
enum code_paths { CODE_PATHS_RELATIVE, CODE_PATHS_FULL };
enum cupti_api { CUPTI_API_AUTO, CUPTI_API_CLASSIC, CUPTI_API_SUBSCRIBER };
enum cupti_others { OTHERS_AUTO, OTHERS_HOLD, OTHERS_GIVE_WAY, OTHERS_SHARE };
enum sleep_when { SLEEP_AUTO, SLEEP_NEVER, SLEEP_ALWAYS };
enum steps_traced { STEPS_AUTO, STEPS_ALL, STEPS_SAMPLED };
enum request_ids { REQUEST_IDS_PLAIN, REQUEST_IDS_HASH, REQUEST_IDS_NONE };
enum engine_neighbors { NEIGHBORS_LINKS, NEIGHBORS_COUNTS };
enum hang_watch { HANG_WATCH_AUTO, HANG_WATCH_ON, HANG_WATCH_OFF };
/* The stacks of threads in reports of hangs. */
enum hang_stacks { HANG_STACKS_FULL, HANG_STACKS_FUNCTIONS, HANG_STACKS_NONE };
enum start_on { START_ON_PROCESS, START_ON_CONTROL };
/* IF_SAFE: of an attached agent, not before CUPTI 13.5. */
enum graph_records { GRAPH_RECORDS_WHEN_USED, GRAPH_RECORDS_ALWAYS, GRAPH_RECORDS_IF_SAFE };
enum counters_replay { REPLAY_NONE, REPLAY_KERNEL, REPLAY_LOOP };
enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };
enum exporter_kind { EXPORTER_OTLP_HTTP, EXPORTER_OTLP_GRPC, EXPORTER_FILE, EXPORTER_CONSOLE };
enum otlp_encoding { ENCODING_PROTOBUF, ENCODING_JSON };
enum sampler_kind { SAMPLER_ALWAYS_ON, SAMPLER_ALWAYS_OFF, SAMPLER_TRACE_ID_RATIO };

enum signal { SIGNAL_TRACES, SIGNAL_METRICS, SIGNAL_PROFILES, SIGNAL_LOGS /* reports of hangs */ };
/* low_memory: delta for histograms, cumulative for the rest. */
enum temporality { TEMPORALITY_CUMULATIVE, TEMPORALITY_DELTA, TEMPORALITY_LOW_MEMORY };

struct header { /* an HTTP header; its value is never logged */
    char *name;
    char *value;
};

struct exporter_settings {
    enum exporter_kind kind;
    enum otlp_encoding encoding; /* OTLP_HTTP */
    char *endpoint; /* HTTP: the full URL, path included; GRPC: scheme, host, port; FILE: path, or NULL for
                       stdout */
    enum compression compression;
    uint32_t timeout_ms; /* of one request; 0: none */
    size_t header_count;
    struct header *headers;
    char *ca_file; /* PEM; NULL: those of the system */
    char *client_key_file;
    char *client_certificate_file;
    bool insecure; /* GRPC without a scheme: no TLS */
    bool verify;   /* check the server's certificate (distribution.cuspan.tls_verify) */
};

static inline bool exporter_is_otlp(const struct exporter_settings *exporter)
{
    return exporter->kind == EXPORTER_OTLP_HTTP || exporter->kind == EXPORTER_OTLP_GRPC;
}

/* An output: a processor of spans with its exporter, or the metric reader with its exporter, whose queue and
 * batches are of data points and which has no schedule. */
struct output_settings {
    enum signal signal;
    uint32_t schedule_delay_ms; /* until a span is sent at the latest; 0 (simple processor): immediately */
    uint32_t export_timeout_ms; /* of one batch, including its retries */
    uint32_t queue_spans_max;   /* more are dropped and counted */
    uint32_t batch_spans_max;   /* spans in one request */
    struct exporter_settings exporter;
    const char *spool_directory; /* that of the settings, for an OTLP exporter; NULL: none. Not owned */
    uint64_t spool_bytes_max;
};

struct view;
struct streams;

struct settings {
    bool disabled; /* OTEL_SDK_DISABLED, disabled: */
    enum log_level log_level;
    struct resource resource; /* from the user; the agent adds detected attributes */

    uint32_t attribute_value_length_limit; /* UINT32_MAX: none. In characters */
    uint32_t attribute_count_limit;
    uint32_t event_count_limit;
    uint32_t link_count_limit;

    enum sampler_kind sampler; /* for roots */
    double sampler_ratio;
    bool sampler_parent_based; /* a parent's sampled flag takes precedence */

    size_t output_count;
    struct output_settings outputs[OUTPUTS_MAX];

    struct {
        bool is_on;
        struct output_settings output; /* valid if is_on */
        uint32_t interval_ms;
        enum temporality temporality;
        enum histogram_form histogram_form;
        enum exemplar_filter exemplar_filter;
        size_t view_count;
        struct view *views;      /* model/metrics/views.h; NULL: none */
        struct streams *streams; /* the views' streams; if is_on */
    } metrics;

    /* distribution.cuspan */
    enum detail detail;
    struct {
        struct filter
            calls; /* names of calls and groups ("launch", "cudaMalloc*"); empty allow: the default set */
        struct filter activities; /* names of kinds ("kernel", "memcpy") */
        struct filter
            kernels;  /* short or full demangled names; applies to kernel spans, not to their calls */
        bool runtime; /* the domains */
        bool driver;
        bool resource;
        bool parameters;        /* of calls, as attributes */
        bool nvtx;              /* ranges, marks and names */
        bool allocation_stacks; /* of each allocating call, whatever launch_stacks is */
        enum launch_stacks launch_stacks;
        uint32_t launch_stacks_period; /* one call in this many, at random */
        enum code_paths code_paths;
        enum code_stacktrace code_stacktrace;
        bool nvlink;        /* query NVML when GPUs copy to each other */
        bool cuda_profiler; /* only between cudaProfilerStart and cudaProfilerStop */
    } capture;
    struct {
        bool enabled;
        char *endpoint; /* NULL: that of the spans' first OTLP/HTTP exporter, with the path of profiles */
        uint32_t interval_ms;
        struct output_settings output; /* made by the checks, valid if enabled: with the headers, certificates
                                          and compression of that exporter, if it has the same server */
    } profiles;
    struct {
        struct pattern_list metrics; /* names (model/gpu_counter_names.h); none: no hardware counters */
        uint32_t period;             /* one launch in this many is counted */
        struct filter kernels;       /* parts of their names */
        struct pattern_list ranges;  /* names of ranges, instead of kernels */
        enum counters_replay replay;
        uint32_t wait_ms; /* longest wait for a counted kernel */
        struct {
            struct pattern_list metrics; /* as above, of whole GPUs; none: no sampling */
            uint32_t interval_us;
        } sampling;
    } counters;
    struct {
        char *library; /* path; NULL: search */
        enum cupti_api api;
        enum graph_records graph_records;
        enum cupti_others others;
        uint32_t others_wait_ms;  /* before giving way */
        uint32_t others_retry_ms; /* 0: only on request */
        uint32_t flush_interval_ms;
        uint32_t host_buffer_bytes;
        uint32_t host_buffer_count;
        bool per_thread_buffers;
        uint64_t device_buffer_bytes;
        uint32_t device_buffer_limit;       /* per context */
        uint32_t device_buffer_preallocate; /* per context */
        bool device_buffers_pinned;         /* in page-locked host memory instead of device memory */
    } cupti;
    struct {
        uint32_t bytes; /* of a thread's ring */
        uint32_t total_bytes;
    } rings;
    struct {
        uint32_t pending_max; /* maximum calls that wait for their GPU records */
        uint32_t wait_ms;     /* longest time that a GPU record waits for its call */
    } correlation;
    struct {
        char *name; /* NULL: the program's */
        uint32_t spans_max;
        uint32_t age_max_ms;
    } session;
    struct {
        enum steps_traced
            traced; /* whether `ratio` applies; auto: in a job with an identity and several ranks */
        double ratio;
        uint32_t spans_max; /* of a step's trace, over all ranks; 0: no limit */
        char *job_id;       /* NULL: from the launcher's variables */
        char *nvtx_pattern; /* of ranges that begin a step; NULL: none */
        bool collectives;   /* the period of collectives begins steps if nothing else does */
        bool are_limited;   /* not a setting: this process samples only some steps */
    } steps;
    struct {
        enum hang_watch watch; /* auto: in ranks of a job of several ranks */
        uint32_t after_ms;     /* without movement, until it is a stall */
        enum hang_stacks stacks;
        char *endpoint;  /* NULL: that of the spans' first output, with the path of logs */
        bool is_watched; /* not a setting: this process has a hang watch */
        bool has_output;
        struct output_settings output; /* made by the checks, valid if has_output, as that of profiles */
    } hang;
    struct {
        double ratio; /* of the iterations of a serving engine */
        enum request_ids request_ids;
        enum engine_neighbors neighbors;
        struct pattern_list headers; /* names of headers of requests */
    } engine;
    struct {
        uint32_t idle_ms; /* a request's summary is sent after this long without work */
    } summary;
    struct {
        double traces_per_second; /* maximum traces started; 0: no limit */
        enum sleep_when sleep;    /* while no sampled request is in flight */
    } sampling;
    enum start_on start_on; /* immediately, or on request by `cuspan start` or the program */
    struct {
        bool enabled;
        char *directory; /* NULL: in the user's runtime directory, else in /tmp */
    } control;
    struct {
        char *directory;    /* NULL: none */
        uint64_t bytes_max; /* in the directory, by all processes */
    } spool;
    uint64_t memory_bytes_max; /* all memory of cuspan, including CUPTI's buffers */
    bool has_default_memory;   /* not a setting: memory_bytes_max is not set, and grows with what is on */
    uint32_t exit_deadline_ms;
    bool tls_verify;
    bool resource_ip;              /* the host's address is the resource's attribute "ip" */
    bool publish_thread_context;   /* otel_thread_ctx_v1, for readers outside the process */
    struct pattern_list on_signal; /* names of signals to deliver on */
    char *shutdown_report;         /* at exit: its steps, to FILE.PID, or "stderr"; NULL: none */
    char *accounts_file;           /* at exit: counters, trace IDs as JSON; NULL: none */
    char *record_file;             /* NULL: none. Otherwise record instead of exporting */
};

/* As in the settings. */
const char *detail_name(enum detail detail);

/* Safe on zeroed structs, which they leave behind. */
void settings_deinit(struct settings *settings);
void output_settings_deinit(struct output_settings *output);

/* How memory_bytes_max is divided. These come first:
 * - the stages' fixed needs (kernel names, waiting records, statistics, collectives, steps, the pipeline
 * thread's stack, the libraries' variables). In MiB: kernel names 1.5, open ranges 4, totals 3, waiting
 * records 2, shared attributes 2, variables 2, ended ranges 1, contexts of threads 1, live statistics 0.5,
 * collectives 0.3, steps 0.3
 * - each output's sender (its stack; for OTLP the compressor and its output, libcurl, TLS, a response)
 * - CUPTI's buffers, the rings and the table of pending calls
 * The rest is for the queues of spans. config rejects settings that leave less than SETTINGS_QUEUE_BYTES_MIN.
 * Four OTLP outputs need more than the default.
 * tests/integration/agent/bounds_test.py compares these with real allocations. */
#define SETTINGS_NAMES_BYTES                                                                                 \
    (1536 * 1024) /* of the fixed needs, with CUPTI before 13.5: names that it frees */
#define SETTINGS_FIXED_BYTES (38 * 512 * 1024)
#ifdef CUSPAN_GZIP_GATHERS /* libdeflate needs the body in one piece */
#define SETTINGS_SENDER_BYTES (7 * 1024 * 1024)
#else
#define SETTINGS_SENDER_BYTES (4 * 1024 * 1024) /* of an OTLP output */
#endif
#define SETTINGS_WRITER_BYTES      (1280 * 1024)     /* of an output to a file or stream */
#define SETTINGS_PENDING_BYTES     64                /* of one pending call */
#define SETTINGS_GRAPH_NODES_BYTES (2 * 1024 * 1024) /* with graph nodes: the calls that captured them */
#define SETTINGS_SPOOL_BYTES       (3 * 1024 * 1024) /* with a spool, for each OTLP output: a body read from it */
#define SETTINGS_QUEUE_BYTES_MIN   (1024 * 1024)
#define SETTINGS_ENGINE_BYTES                                                                                \
    (1536 * 1024) /* requests and iterations of serving engines, if there is room                            \
                   */
#define SETTINGS_METRICS_BYTES                                                                               \
    (2 * 1024 * 1024) /* with metrics: their histograms, and the stack of the thread that queries NVML */
#define SETTINGS_SUMMARIES_BYTES (1024 * 1024)      /* with detail summary: open requests */
#define SETTINGS_CODE_BYTES      (6 * 1024 * 1024)  /* with stacks of calls: known stacks and their text */
#define SETTINGS_NATIVE_BYTES    (11 * 1024 * 1024) /* with native ones: symbols of libraries, unwind rules */
/* Whether calls have stacks: those of launches or of allocations. Summaries have no calls. */
bool settings_have_stacks(const struct settings *settings);
/* With a hang watch: the live state, two looks at all threads, and during a stall the sender of reports,
 * which does not compress. */
#define SETTINGS_HANG_BYTES     (5 * 512 * 1024)
#define SETTINGS_PROFILES_BYTES (6 * 1024 * 1024) /* with profiles: tables, frames of stacks */
bool settings_have_launch_stacks(const struct settings *settings);
/* Whether some of them are native. */
bool settings_have_native_stacks(const struct settings *settings);
/* Whether graph nodes are captured instead of whole executions. */
bool settings_have_graph_nodes(const struct settings *settings);
uint64_t settings_buffer_bytes(const struct settings *settings);
/* Whether metrics or profiles count unsampled work, so that capture does not sleep. In a job that samples
 * only some steps, they count those steps, and metrics the durations of all. */
static inline bool settings_keep_awake(const struct settings *settings)
{
    return (settings->metrics.is_on || settings->profiles.enabled) && !settings->steps.are_limited;
}
/* Whether there is an exporter. */
bool settings_have_output(const struct settings *settings);
/* Sets hang.is_watched: hang.watch asks for it, and there is room. Raises the default of memory_bytes_max.
 * `world_size`: ranks of the job. False: it asks, and there is no room. */
bool settings_set_hang_watch(struct settings *settings, int64_t world_size);
uint64_t settings_queue_bytes(const struct settings *settings);
/* Whether SETTINGS_ENGINE_BYTES are set aside for serving engines: if enough is left for the queues. */
bool settings_have_room_for_engines(const struct settings *settings);
