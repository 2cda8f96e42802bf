/* Every setting, one row each. CONTRIBUTING.md says what else a new one needs. */
#include "agent/config/table/settings_table.h"

/* A row's path, and where its value is stored. */
#define AT(name)  .path = (name)
#define OWN(name) .path = SETTING_OWN_PREFIX #name, .offset = offsetof(struct settings, name)
#define BATCH     "tracer_provider.processors[].batch"
#define READER    "meter_provider.readers[].periodic"
#define IN(field) .offset = offsetof(struct settings, field)
#define OUTPUT(signal, field, kinds)                                                                         \
    .owner = (signal), .exporters = (kinds), .offset = offsetof(struct output_settings, field)
#define SPANS(field, kinds)   OUTPUT(IN_OUTPUT, field, kinds)
#define METRICS(field, kinds) OUTPUT(IN_METRICS, field, kinds)

/* Its type, with the default. */
#define BOOL(value)              .type = SETTING_BOOL, .default_text = (value)
#define UINT32(low, high, value) .type = SETTING_UINT32, .min = (low), .max = (high), .default_text = (value)
#define UINT64(low, high, value) .type = SETTING_UINT64, .min = (low), .max = (high), .default_text = (value)
#define NUMBER(low, high, value) .type = SETTING_NUMBER, .min = (low), .max = (high), .default_text = (value)
#define WORD(list, value)        .type = SETTING_WORD, .words = (list), .default_text = (value)
#define PATTERNS                 .type = SETTING_PATTERNS, .default_text = "[]"

/* Its variables, the one with precedence first. */
#define ENV(name)         .env = {name}
#define SPANS_ENV(name)   .env = {"OTEL_EXPORTER_OTLP_TRACES_" name, "OTEL_EXPORTER_OTLP_" name}
#define METRICS_ENV(name) .env = {"OTEL_EXPORTER_OTLP_METRICS_" name, "OTEL_EXPORTER_OTLP_" name}

#define MS_MAX    (24u * 3600 * 1000)
#define MIB       (1024u * 1024)
#define COUNT_MAX 1000000000u

static const struct setting_word log_levels[] = {{"error", LOG_ERROR},  {"warn", LOG_WARN},
                                                 {"info", LOG_INFO},    {"debug", LOG_DEBUG},
                                                 {"fatal", LOG_ERROR},  {"fatal2", LOG_ERROR},
                                                 {"fatal3", LOG_ERROR}, {"fatal4", LOG_ERROR},
                                                 {"error2", LOG_ERROR}, {"error3", LOG_ERROR},
                                                 {"error4", LOG_ERROR}, {"warn2", LOG_WARN},
                                                 {"warn3", LOG_WARN},   {"warn4", LOG_WARN},
                                                 {"warning", LOG_WARN}, {"info2", LOG_INFO},
                                                 {"info3", LOG_INFO},   {"info4", LOG_INFO},
                                                 {"debug2", LOG_DEBUG}, {"debug3", LOG_DEBUG},
                                                 {"debug4", LOG_DEBUG}, {"trace", LOG_DEBUG},
                                                 {"trace2", LOG_DEBUG}, {"trace3", LOG_DEBUG},
                                                 {"trace4", LOG_DEBUG}, {NULL, 0}};
static const struct setting_word compressions[] = {
    {"none", COMPRESSION_NONE}, {"gzip", COMPRESSION_GZIP}, {"zstd", COMPRESSION_ZSTD}, {NULL, 0}};
static const struct setting_word encodings[] = {
    {"protobuf", ENCODING_PROTOBUF}, {"json", ENCODING_JSON}, {NULL, 0}};
static const struct setting_word temporalities[] = {{"cumulative", TEMPORALITY_CUMULATIVE},
                                                    {"delta", TEMPORALITY_DELTA},
                                                    {"low_memory", TEMPORALITY_LOW_MEMORY},
                                                    {"lowmemory", TEMPORALITY_LOW_MEMORY},
                                                    {NULL, 0}};
static const struct setting_word exemplar_filters[] = {{"trace_based", EXEMPLAR_TRACE_BASED},
                                                       {"always_on", EXEMPLAR_ALWAYS_ON},
                                                       {"always_off", EXEMPLAR_ALWAYS_OFF},
                                                       {NULL, 0}};
static const struct setting_word histogram_forms[] = {
    {"explicit_bucket_histogram", HISTOGRAM_EXPLICIT},
    {"base2_exponential_bucket_histogram", HISTOGRAM_EXPONENTIAL},
    {NULL, 0}};
static const struct setting_word launch_stacks[] = {
    {"none", LAUNCH_STACKS_NONE}, {"python", LAUNCH_STACKS_PYTHON}, {"all", LAUNCH_STACKS_ALL}, {NULL, 0}};
static const struct setting_word code_paths[] = {
    {"relative", CODE_PATHS_RELATIVE}, {"full", CODE_PATHS_FULL}, {NULL, 0}};
static const struct setting_word code_stacktraces[] = {
    {"once", CODE_STACKTRACE_ONCE}, {"always", CODE_STACKTRACE_ALWAYS}, {NULL, 0}};
static const struct setting_word details[] = {{"summary", DETAIL_SUMMARY},
                                              {"default", DETAIL_DEFAULT},
                                              {"graph-nodes", DETAIL_GRAPH_NODES},
                                              {"full", DETAIL_FULL},
                                              {NULL, 0}};
static const struct setting_word cupti_apis[] = {{"auto", CUPTI_API_AUTO},
                                                 {"classic", CUPTI_API_CLASSIC},
                                                 {"subscriber", CUPTI_API_SUBSCRIBER},
                                                 {NULL, 0}};
static const struct setting_word cupti_others[] = {{"auto", OTHERS_AUTO},
                                                   {"hold", OTHERS_HOLD},
                                                   {"give-way", OTHERS_GIVE_WAY},
                                                   {"share", OTHERS_SHARE},
                                                   {NULL, 0}};
static const struct setting_word sleep_whens[] = {
    {"auto", SLEEP_AUTO}, {"never", SLEEP_NEVER}, {"always", SLEEP_ALWAYS}, {NULL, 0}};
static const struct setting_word request_ids[] = {
    {"plain", REQUEST_IDS_PLAIN}, {"hash", REQUEST_IDS_HASH}, {"none", REQUEST_IDS_NONE}, {NULL, 0}};
static const struct setting_word engine_neighbors[] = {
    {"links", NEIGHBORS_LINKS}, {"counts", NEIGHBORS_COUNTS}, {NULL, 0}};
static const struct setting_word steps_traced[] = {
    {"auto", STEPS_AUTO}, {"all", STEPS_ALL}, {"sampled", STEPS_SAMPLED}, {NULL, 0}};
static const struct setting_word hang_watches[] = {
    {"auto", HANG_WATCH_AUTO}, {"on", HANG_WATCH_ON}, {"off", HANG_WATCH_OFF}, {NULL, 0}};
static const struct setting_word hang_stacks[] = {
    {"full", HANG_STACKS_FULL}, {"functions", HANG_STACKS_FUNCTIONS}, {"none", HANG_STACKS_NONE}, {NULL, 0}};
static const struct setting_word start_ons[] = {
    {"process", START_ON_PROCESS}, {"control", START_ON_CONTROL}, {NULL, 0}};
static const struct setting_word counters_replays[] = {
    {"none", REPLAY_NONE}, {"kernel", REPLAY_KERNEL}, {"loop", REPLAY_LOOP}, {NULL, 0}};
static const struct setting_word graph_records[] = {
    {"when-used", GRAPH_RECORDS_WHEN_USED}, {"always", GRAPH_RECORDS_ALWAYS}, {NULL, 0}};

/* Both OTLP exporters of metrics. */
#define AGGREGATION_ROWS(exporter)                                                                           \
    {AT(READER ".exporter." exporter ".temporality_preference"),                                             \
     IN(metrics.temporality),                                                                                \
     WORD(temporalities, "cumulative"),                                                                      \
     .flags = SETTING_ALTERNATIVE,                                                                           \
     ENV("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"),                                               \
     .comment = "cumulative, delta, or low_memory (delta for histograms, cumulative for the rest)"},         \
    {                                                                                                        \
        AT(READER ".exporter." exporter ".default_histogram_aggregation"), IN(metrics.histogram_form),       \
            WORD(histogram_forms, "explicit_bucket_histogram"),                                              \
            .flags = SETTING_ALTERNATIVE, ENV("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"),   \
            .comment = "explicit_bucket_histogram or base2_exponential_bucket_histogram"                     \
    }

/* Both OTLP exporters of spans and of metrics. `more` has the flags of an exporter that the example comments
 * out. */
#define OTLP_ROWS(signal, SIGNAL_ENV, below, kinds, more)                                                    \
    {AT(below ".tls.ca_file"),                                                                               \
     OUTPUT(signal, exporter.ca_file, kinds),                                                                \
     .type = SETTING_PATH,                                                                                   \
     .flags = (more),                                                                                        \
     SIGNAL_ENV("CERTIFICATE"),                                                                              \
     .comment = "PEM file with the certificates that verify the server; default: the system's"},             \
        {AT(below ".tls.key_file"), OUTPUT(signal, exporter.client_key_file, kinds),                         \
         .type = SETTING_PATH,      .flags = (more),                                                         \
         SIGNAL_ENV("CLIENT_KEY"),  .comment = "PEM file with the client's private key"},                    \
        {AT(below ".tls.cert_file"),                                                                         \
         OUTPUT(signal, exporter.client_certificate_file, kinds),                                            \
         .type = SETTING_PATH,                                                                               \
         .flags = (more),                                                                                    \
         SIGNAL_ENV("CLIENT_CERTIFICATE"),                                                                   \
         .comment = "PEM file with the client's certificate"},                                               \
        {AT(below ".headers"),                                                                               \
         OUTPUT(signal, exporter.headers, kinds),                                                            \
         .type = SETTING_STRUCTURE,                                                                          \
         .flags = SETTING_ALTERNATIVE | SETTING_SECRET,                                                      \
         .example = "[{name: api-key, value: \"${API_KEY}\"}]",                                              \
         .comment = "headers of each request; their values are never logged"},                               \
        {AT(below ".headers_list"),                                                                          \
         OUTPUT(signal, exporter.headers, kinds),                                                            \
         .type = SETTING_PAIRS,                                                                              \
         .flags = (more) | SETTING_SECRET,                                                                   \
         SIGNAL_ENV("HEADERS"),                                                                              \
         .comment = "headers as text, name=value,name=value; headers takes precedence"},                     \
        {AT(below ".compression"),                                                                           \
         OUTPUT(signal, exporter.compression, kinds),                                                        \
         WORD(compressions, "gzip"),                                                                         \
         .flags = (more) | SETTING_OPEN_WORD,                                                                \
         SIGNAL_ENV("COMPRESSION"),                                                                          \
         .comment =                                                                                          \
             "none, gzip or zstd (Collector and Jaeger accept zstd); OpenTelemetry's default is none"},      \
    {                                                                                                        \
        AT(below ".timeout"), OUTPUT(signal, exporter.timeout_ms, kinds), UINT32(0, MS_MAX, "10000"),        \
            .flags = (more) | SETTING_ZERO_IS_NONE, SIGNAL_ENV("TIMEOUT"),                                   \
            .comment = "timeout of one request in ms; 0: none"                                               \
    }

const struct setting settings_table[] = {
    {AT("disabled"), IN(disabled), BOOL("false"), ENV("OTEL_SDK_DISABLED"),
     .comment = "true: cuspan does not trace this process"},
    {AT("log_level"), IN(log_level), WORD(log_levels, "warn"), ENV("OTEL_LOG_LEVEL"),
     .comment = "least severe messages on standard error: error, warn, info or debug"},

    {AT("resource.attributes_list"), .type = SETTING_PAIRS, ENV("OTEL_RESOURCE_ATTRIBUTES"),
     .comment = "resource attributes as text, key=value,key=value; attributes takes precedence",
     .variable_note = "percent-encoded"},
    {AT("resource.schema_url"), IN(resource.schema_url), .type = SETTING_TEXT, .max = SCHEMA_URL_MAX,
     .comment = "schema URL of the resource; default: that of the semantic conventions cuspan follows"},
    {AT("resource.attributes"), .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE,
     ENV("OTEL_SERVICE_NAME"), .example = "[{name: service.name, value: my-service}]",
     .comment = "resource attributes; the default service.name is unknown_service:PROGRAM",
     .variable_note = "the service.name"},

    {AT("attribute_limits.attribute_value_length_limit"), IN(attribute_value_length_limit),
     UINT32(0, UINT32_MAX - 1, NULL), .flags = SETTING_NULL_IS_NONE,
     .env = {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"},
     .comment = "longest string value in characters; never more than 32 KiB"},
    {AT("attribute_limits.attribute_count_limit"), IN(attribute_count_limit), UINT32(0, UINT32_MAX, "128"),
     .env = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"},
     .comment = "maximum attributes per span"},

    {AT(BATCH ".schedule_delay"), SPANS(schedule_delay_ms, FOR_ALL), UINT32(0, MS_MAX, "1000"),
     ENV("OTEL_BSP_SCHEDULE_DELAY"), .comment = "longest time in ms that a span waits for its batch to fill"},
    {AT(BATCH ".export_timeout"), SPANS(export_timeout_ms, FOR_ALL), UINT32(0, MS_MAX, "30000"),
     .flags = SETTING_ZERO_IS_NONE, ENV("OTEL_BSP_EXPORT_TIMEOUT"),
     .comment = "timeout of a batch in ms, including its retries; 0: none"},
    {AT(BATCH ".max_queue_size"), SPANS(queue_spans_max, FOR_ALL), UINT32(1, COUNT_MAX, "262144"),
     ENV("OTEL_BSP_MAX_QUEUE_SIZE"),
     .comment = "maximum spans in the queue; further spans are dropped and counted"},
    {AT(BATCH ".max_export_batch_size"), SPANS(batch_spans_max, FOR_ALL), UINT32(1, COUNT_MAX, "8192"),
     ENV("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), .comment = "maximum spans per request"},
    {AT(BATCH ".exporter.otlp_http.endpoint"), SPANS(exporter.endpoint, FOR_HTTP), .type = SETTING_ENDPOINT,
     .default_text = "http://localhost:4318/v1/traces", SPANS_ENV("ENDPOINT"),
     .comment = "complete URL that spans are sent to",
     .variable_note = "v1/traces is appended to the second"},
    {AT(BATCH ".exporter.otlp_http.encoding"), SPANS(exporter.encoding, FOR_HTTP),
     WORD(encodings, "protobuf"), SPANS_ENV("PROTOCOL"), .comment = "protobuf or json",
     .variable_note = "http/protobuf, http/json or grpc"},
    OTLP_ROWS(IN_OUTPUT, SPANS_ENV, BATCH ".exporter.otlp_http", FOR_HTTP, 0),
    {AT(BATCH ".exporter.otlp_grpc.endpoint"), SPANS(exporter.endpoint, FOR_GRPC), .type = SETTING_ENDPOINT,
     .flags = SETTING_ALTERNATIVE, .default_text = "http://localhost:4317", SPANS_ENV("ENDPOINT"),
     .comment = "instead of otlp_http: scheme, host and port"},
    {AT(BATCH ".exporter.otlp_grpc.tls.insecure"), SPANS(exporter.insecure, FOR_GRPC), BOOL("false"),
     .flags = SETTING_ALTERNATIVE, SPANS_ENV("INSECURE"),
     .comment = "true: no TLS if the endpoint has no scheme"},
    OTLP_ROWS(IN_OUTPUT, SPANS_ENV, BATCH ".exporter.otlp_grpc", FOR_GRPC, SETTING_ALTERNATIVE),
    {AT(BATCH ".exporter.otlp_file/development.output_stream"), SPANS(exporter.endpoint, FOR_FILE),
     .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE, .default_text = "stdout",
     .example = "file:///var/log/traces.jsonl",
     .comment = "instead of otlp_http: lines of OTLP JSON to a file or to stdout"},
    {AT(BATCH ".exporter.console"), .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE,
     ENV("OTEL_TRACES_EXPORTER"), .comment = "instead of otlp_http: lines of OTLP JSON to standard output",
     .variable_note = "otlp, otlp/stdout, console or none"},

    {AT("tracer_provider.limits.attribute_value_length_limit"), IN(attribute_value_length_limit),
     UINT32(0, UINT32_MAX - 1, NULL), .flags = SETTING_NULL_IS_OTHER,
     .comment = "takes precedence over the limit of the same name in attribute_limits"},
    {AT("tracer_provider.limits.attribute_count_limit"), IN(attribute_count_limit),
     UINT32(0, UINT32_MAX, NULL), .flags = SETTING_NULL_IS_OTHER,
     .comment = "takes precedence over the limit of the same name in attribute_limits"},
    {AT("tracer_provider.limits.event_count_limit"), IN(event_count_limit), UINT32(0, UINT32_MAX, "128"),
     ENV("OTEL_SPAN_EVENT_COUNT_LIMIT"), .comment = "maximum events per span"},
    {AT("tracer_provider.limits.link_count_limit"), IN(link_count_limit), UINT32(0, UINT32_MAX, "128"),
     ENV("OTEL_SPAN_LINK_COUNT_LIMIT"), .comment = "maximum links per span"},
    {AT("tracer_provider.sampler.parent_based.root.always_on"), .type = SETTING_STRUCTURE,
     ENV("OTEL_TRACES_SAMPLER"),
     .comment = "sampler of root spans; other spans follow their parent's sampled flag",
     .variable_note = "parentbased_always_on, always_off, traceidratio and so on"},
    {AT("tracer_provider.sampler.parent_based.root.trace_id_ratio_based.ratio"), IN(sampler_ratio),
     NUMBER(0, 1, "1.0"), .flags = SETTING_ALTERNATIVE, .example = "0.1", ENV("OTEL_TRACES_SAMPLER_ARG"),
     .comment = "instead of always_on: the fraction of root spans to sample"},

    {AT("meter_provider.exemplar_filter"), IN(metrics.exemplar_filter), WORD(exemplar_filters, "trace_based"),
     .flags = SETTING_ALTERNATIVE, ENV("OTEL_METRICS_EXEMPLAR_FILTER"),
     .comment = "exemplars of: sampled spans (trace_based), all work (always_on), or none (always_off)"},
    {AT("meter_provider.views"), .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE,
     .example = "[{selector: {instrument_name: \"cuda.call.*\"}, stream: {aggregation: {drop: }}}]",
     .comment = "select, rename, aggregate or drop metrics"},
    {AT(READER ".interval"), IN(metrics.interval_ms), UINT32(0, MS_MAX, "60000"),
     .flags = SETTING_ALTERNATIVE, ENV("OTEL_METRIC_EXPORT_INTERVAL"),
     .comment = "export interval of metrics in ms; without a reader, cuspan sends no metrics"},
    {AT(READER ".timeout"), METRICS(export_timeout_ms, FOR_ALL), UINT32(0, MS_MAX, "30000"),
     .flags = SETTING_ALTERNATIVE | SETTING_ZERO_IS_NONE, ENV("OTEL_METRIC_EXPORT_TIMEOUT"),
     .comment = "timeout of an export in ms, including its retries; 0: none"},
    {AT(READER ".exporter.otlp_http.endpoint"), METRICS(exporter.endpoint, FOR_HTTP),
     .type = SETTING_ENDPOINT, .flags = SETTING_ALTERNATIVE,
     .default_text = "http://localhost:4318/v1/metrics", METRICS_ENV("ENDPOINT"),
     .comment = "complete URL that metrics are sent to",
     .variable_note = "v1/metrics is appended to the second"},
    {AT(READER ".exporter.otlp_http.encoding"), METRICS(exporter.encoding, FOR_HTTP),
     WORD(encodings, "protobuf"), .flags = SETTING_ALTERNATIVE, METRICS_ENV("PROTOCOL"),
     .comment = "protobuf or json", .variable_note = "http/protobuf, http/json or grpc"},
    AGGREGATION_ROWS("otlp_http"),
    OTLP_ROWS(IN_METRICS, METRICS_ENV, READER ".exporter.otlp_http", FOR_HTTP, SETTING_ALTERNATIVE),
    {AT(READER ".exporter.otlp_grpc.endpoint"), METRICS(exporter.endpoint, FOR_GRPC),
     .type = SETTING_ENDPOINT, .flags = SETTING_ALTERNATIVE, .default_text = "http://localhost:4317",
     METRICS_ENV("ENDPOINT"), .comment = "instead of otlp_http: scheme, host and port"},
    AGGREGATION_ROWS("otlp_grpc"),
    {AT(READER ".exporter.otlp_grpc.tls.insecure"), METRICS(exporter.insecure, FOR_GRPC), BOOL("false"),
     .flags = SETTING_ALTERNATIVE, METRICS_ENV("INSECURE"),
     .comment = "true: no TLS if the endpoint has no scheme"},
    OTLP_ROWS(IN_METRICS, METRICS_ENV, READER ".exporter.otlp_grpc", FOR_GRPC, SETTING_ALTERNATIVE),
    {AT(READER ".exporter.otlp_file/development.output_stream"), METRICS(exporter.endpoint, FOR_FILE),
     .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE, .default_text = "stdout",
     .example = "file:///var/log/metrics.jsonl",
     .comment = "instead of otlp_http: lines of OTLP JSON to a file or to stdout"},
    {AT(READER ".exporter.console"), .type = SETTING_STRUCTURE, .flags = SETTING_ALTERNATIVE,
     ENV("OTEL_METRICS_EXPORTER"), .comment = "instead of otlp_http: lines of OTLP JSON to standard output",
     .variable_note = "otlp, otlp/stdout, console or none; default: none"},

    {OWN(detail), WORD(details, "default"),
     .comment = "summary: one span per request; default: calls and GPU work; graph-nodes: also nodes of CUDA "
                "graphs; full: all"},
    {OWN(capture.calls.allow), PATTERNS,
     .comment = "calls to capture, by name, pattern (cudaMalloc*) or group (launch); empty: the default set"},
    {OWN(capture.calls.deny), PATTERNS, .comment = "calls not to capture; takes precedence over allow"},
    {OWN(capture.activities.allow), PATTERNS,
     .comment = "kinds of GPU work to capture (kernel, memcpy); empty: those of the detail level"},
    {OWN(capture.activities.deny), PATTERNS,
     .comment = "kinds of GPU work not to capture; takes precedence over allow"},
    {OWN(capture.kernels.allow), PATTERNS,
     .comment = "kernels to capture, by short or full name; empty: all"},
    {OWN(capture.kernels.deny), PATTERNS,
     .comment = "kernels whose spans are dropped; their launch calls remain"},
    {OWN(capture.runtime), BOOL("true"), .comment = "capture calls of the CUDA runtime API"},
    {OWN(capture.driver), BOOL("true"),
     .comment = "capture calls of the driver API that the program makes itself (Triton, JAX, cuBLAS do)"},
    {OWN(capture.resource), BOOL("true"), .comment = "capture the creation of contexts, modules and graphs"},
    {OWN(capture.parameters), BOOL("true"), .comment = "capture the parameters of calls as attributes"},
    {OWN(capture.nvtx), BOOL("true"), .comment = "capture NVTX ranges, marks and names"},
    {OWN(capture.allocation_stacks), BOOL("false"),
     .comment = "the stack of each call that allocates, whatever launch_stacks is; native where there is no "
                "Python; not in summaries"},
    {OWN(capture.launch_stacks), WORD(launch_stacks, "none"),
     .comment = "stacks of calls that launch, copy, set, wait or allocate; all: also the native caller of "
                "Python, and "
                "the native stack where there is no Python; not in summaries"},
    {OWN(capture.launch_stacks_period), UINT32(1, COUNT_MAX, "1"),
     .comment = "take one stack in this many calls, at random"},
    {OWN(capture.code_paths), WORD(code_paths, "relative"),
     .comment =
         "paths of source files: relative to the working directory or the folder of packages, or full"},
    {OWN(capture.code_stacktrace), WORD(code_stacktraces, "once"),
     .comment =
         "send all frames (code.stacktrace) on one span of each stack (once), or on every span that has "
         "a stack (always)"},
    {OWN(capture.nvlink), BOOL("true"),
     .comment = "query NVML for the links between GPUs, at the first copy from one GPU to another"},
    {OWN(capture.cuda_profiler), BOOL("false"),
     .comment = "trace only from cudaProfilerStart to cudaProfilerStop"},

    {OWN(profiles.enabled), BOOL("false"),
     .comment =
         "send GPU time by stack as OTLP profiles (an alpha signal); set capture.launch_stacks as well"},
    {OWN(profiles.endpoint), .type = SETTING_ENDPOINT,
     .comment = "complete URL that profiles are sent to; default: that of spans, with the path "
                "v1development/profiles"},
    {OWN(profiles.interval_ms), UINT32(1000, 3600000, "10000"),
     .comment = "longest time that a profile covers"},

    {OWN(counters.metrics), PATTERNS,
     .comment =
         "hardware counters of kernels (dram.read, dram__bytes_read.sum); `cuspan counters` lists them"},
    {OWN(counters.period), UINT32(1, COUNT_MAX, "100"),
     .comment = "count one launch in this many; a counted launch waits for its kernel"},
    {OWN(counters.kernels.allow), PATTERNS, .comment = "kernels to count, by part of their name; empty: all"},
    {OWN(counters.kernels.deny), PATTERNS,
     .comment = "kernels not to count; those of NCCL and similar libraries are never counted"},
    {OWN(counters.ranges), PATTERNS,
     .comment = "names of ranges (NVTX, cuspan.h) to count instead of kernels"},
    {OWN(counters.replay), WORD(counters_replays, "none"),
     .comment = "for counters that need several passes: kernel runs each kernel in kernels.allow several "
                "times (CUPTI 13.2), loop repeats the cuspan.h loops named in ranges"},
    {OWN(counters.wait_ms), UINT32(1, MS_MAX, "1000"),
     .comment = "a counted kernel that takes longer ends counting"},
    {OWN(counters.sampling.metrics), PATTERNS,
     .comment = "hardware counters of whole GPUs over time, exported as metrics (dram.read)"},
    {OWN(counters.sampling.interval_us), UINT32(1000, 1000000, "10000"),
     .comment = "length of a sample in us"},

    {OWN(cupti.library), .type = SETTING_TEXT,
     .comment = "path of libcupti; default: the newest one found that the driver supports"},
    {OWN(cupti.api), WORD(cupti_apis, "auto"),
     .comment = "classic, subscriber (CUPTI 13.3 and later), or auto: the best available"},
    {OWN(cupti.graph_records), WORD(graph_records, "when-used"),
     .comment = "enable graph records when the program makes its first graph (when-used), or always"},
    {OWN(cupti.others), WORD(cupti_others, "auto"),
     .comment =
         "if another tool uses CUPTI: give-way, share (CUPTI 13.3), hold (refuse it), or auto: share if "
         "graphs show nodes, else give-way"},
    {OWN(cupti.others_wait_ms), UINT32(0, 60000, "1000"),
     .comment = "before giving way, wait this long for calls and GPU work in progress"},
    {OWN(cupti.others_retry_ms), UINT32(0, 3600000, "1000"),
     .comment = "after giving way, try to use CUPTI again this often; 0: only on request"},
    {OWN(cupti.flush_interval_ms), UINT32(1, 3600000, "1000"),
     .comment = "flush CUPTI's buffers at least this often"},
    {OWN(cupti.host_buffer_bytes), UINT32(ACTIVITY_BUFFER_BYTES_MIN, ACTIVITY_BUFFER_BYTES_MAX, "65536"),
     .comment = "size of an activity buffer in host memory"},
    {OWN(cupti.host_buffer_count), UINT32(2, ACTIVITY_HOST_BUFFERS_MAX, "256"),
     .comment = "number of activity buffers in host memory"},
    {OWN(cupti.per_thread_buffers), BOOL("false"),
     .comment = "one activity buffer per thread; flushing them can crash the program"},
    {OWN(cupti.device_buffer_bytes), UINT64(64 * 1024, 1024ull * MIB, "3200000"),
     .comment = "size of an activity buffer in GPU memory"},
    {OWN(cupti.device_buffer_limit), UINT32(1, 100000, "32"),
     .comment = "maximum number of activity buffers in GPU memory per CUDA context"},
    {OWN(cupti.device_buffer_preallocate), UINT32(0, 100000, "3"),
     .comment = "number of activity buffers in GPU memory that a CUDA context starts with"},
    {OWN(cupti.device_buffers_pinned), BOOL("false"),
     .comment = "allocate the GPU's activity buffers in page-locked host memory instead of GPU memory"},

    {OWN(rings.bytes), UINT32(RING_BYTES_MIN, RING_BYTES_MAX, "262144"), .flags = SETTING_POWER_OF_TWO,
     .comment = "ring buffer for the calls of one host thread, a power of two; a full ring drops calls"},
    {OWN(rings.total_bytes), UINT32(RING_BYTES_MIN, 1024 * MIB, "8388608"),
     .comment = "ring buffers of all threads; threads beyond this limit are counted but not traced"},
    {OWN(correlation.pending_max), UINT32(1024, 16 * MIB, "131072"),
     .comment = "maximum number of calls that wait for their GPU work"},
    {OWN(correlation.wait_ms), UINT32(1, 600000, "2000"),
     .comment = "longest time that GPU work waits for its call"},
    {OWN(session.name), .type = SETTING_TEXT,
     .comment = "name of the session span; default: that of the program"},
    {OWN(session.spans_max), UINT32(1, COUNT_MAX, "10000"),
     .comment = "start a new trace after this many spans"},
    {OWN(session.age_max_ms), UINT32(1, MS_MAX, "60000"), .comment = "start a new trace after this time"},
    {OWN(steps.traced), WORD(steps_traced, "auto"),
     .comment =
         "steps of a training job that have a trace: all, sampled (steps.ratio of them), or auto (sampled "
         "in a job with an identity and several ranks, else all)"},
    {OWN(steps.ratio), NUMBER(0, 1, "0.015625"),
     .comment = "share of the steps that are sampled, besides steps 3 and 4; the same steps on all ranks"},
    {OWN(steps.spans_max), UINT32(0, COUNT_MAX, "8000"),
     .comment =
         "maximum spans of a step's trace over all ranks; each rank sends its share, and totals of the "
         "rest; 0: no limit"},
    {OWN(steps.job_id), .type = SETTING_TEXT,
     .comment = "identity of the training job, the same on all ranks (also CUSPAN_JOB_ID); default: that of "
                "torchrun, "
                "Slurm, PMIx or Ray"},
    {OWN(steps.nvtx_pattern), .type = SETTING_TEXT,
     .comment = "NVTX ranges whose names match begin a step (ProfilerStep#*)"},
    {OWN(steps.collectives), BOOL("true"),
     .comment =
         "in a job of several ranks that reports no steps, find them by the period of NCCL's collectives"},
    {OWN(hang.watch), WORD(hang_watches, "auto"),
     .comment =
         "look once a second whether the process stands still, and report it as a log: on, off, or auto "
         "(in ranks of a job of several ranks)"},
    {OWN(hang.after_ms), UINT32(50, 600000, "5000"),
     .comment = "report after this long without movement, or four times the longest usual pause"},
    {OWN(hang.stacks), WORD(hang_stacks, "full"),
     .comment = "stacks of threads in reports: functions, files and lines (full), functions, or none"},
    {OWN(hang.endpoint), .type = SETTING_ENDPOINT,
     .comment = "complete URL that reports are sent to; default: that of spans, with the path v1/logs"},
    {OWN(engine.ratio), NUMBER(0, 1, "0.015625"),
     .comment =
         "share of a serving engine's iterations that have a trace, the same on all ranks; also those that "
         "begin with a sampled request"},
    {OWN(engine.request_ids), WORD(request_ids, "plain"),
     .comment = "IDs of an engine's requests in spans: plain, hash, or none"},
    {OWN(engine.neighbors), WORD(engine_neighbors, "links"),
     .comment = "other requests in an iteration: links (to their spans, with their parts), or counts alone"},
    {OWN(engine.headers), PATTERNS,
     .comment = "at most 8 headers of requests, which become attributes (engine.request.header.NAME)"},
    {OWN(summary.idle_ms), UINT32(1, MS_MAX, "1000"),
     .comment = "detail summary: send the span of a request after this long without work; later work gets "
                "another span"},
    {OWN(sampling.traces_per_second), NUMBER(0, 1000000, "0"), .flags = SETTING_ZERO_IS_NONE,
     .comment = "maximum traces started per second, applied after the sampler; 0: no limit"},
    {OWN(sampling.sleep), WORD(sleep_whens, "auto"),
     .comment = "sleep while no sampled context is attached: always, never, or auto (once a context is not "
                "sampled)"},

    {OWN(start_on), WORD(start_ons, "process"),
     .comment = "process: trace from the first CUDA call; control: load nothing until `cuspan start`"},
    {OWN(control.enabled), BOOL("true"),
     .comment = "open a socket for `cuspan ps`, status, start, stop and flush"},
    {OWN(control.directory), .type = SETTING_TEXT, .max = 200,
     .comment =
         "directory of the socket; default: cuspan in the user's runtime directory, or /tmp/cuspan-UID"},
    {OWN(spool.directory), .type = SETTING_PATH,
     .comment = "keep requests here until a collector accepts them, even if the program is killed; default: "
                "in memory"},
    {OWN(spool.bytes_max), UINT64(4 * MIB, 1024ull * 1024 * MIB, "2147483648"),
     .comment = "maximum size of the spool, for all processes; further requests are dropped and counted"},

    {OWN(memory_bytes_max), UINT64(MEMORY_BYTES_MIN, 64ull * 1024 * MIB, "67108864"),
     .comment =
         "all memory that cuspan allocates, including CUPTI's buffers; the default is 6 MiB more "
         "with stacks, 17 MiB with native ones, another 10 MiB with profiles, and 2.5 MiB with a hang watch"},
    {OWN(exit_deadline_ms), UINT32(0, 600000, "5000"),
     .comment = "longest time that the program's exit waits for delivery"},
    {OWN(on_signal), PATTERNS,
     .comment =
         "deliver before these signals (TERM, INT, ...) end the program; `cuspan run`: TERM, INT, HUP"},
    {OWN(shutdown_report), .type = SETTING_TEXT,
     .comment = "FILE: write the steps of the shutdown to FILE.PID; stderr: to standard error"},
    {OWN(tls_verify), BOOL("true"), .comment = "false: accept any server certificate (for tests)"},
    {OWN(resource_ip), BOOL("true"),
     .comment = "send the host's address as attribute ip, from which Jaeger knows that clocks are the same"},
    {OWN(publish_thread_context), BOOL("false"),
     .comment = "publish each thread's trace context (cuspan.h) to eBPF profilers, in otel_thread_ctx_v1"},
    {.path = SETTING_OWN_PREFIX "report_file",
     .offset = offsetof(struct settings, accounts_file),
     .type = SETTING_TEXT},
    {OWN(accounts_file), .type = SETTING_TEXT,
     .comment = "FILE: write counters and trace IDs as JSON to FILE.PID, during the run and at exit"},
    {OWN(record_file), .type = SETTING_TEXT,
     .comment = "FILE: record to it instead of sending spans; to FILE.PID if FILE exists"},

    {.type = SETTING_PAIRS,
     .flags = SETTING_ENV_ONLY,
     .env = {"CUSPAN_CONFIG_FILE", "OTEL_CONFIG_FILE"},
     .comment = "the configuration file; with one, OTEL_* variables count only if it refers to them"},
    {.type = SETTING_PAIRS,
     .flags = SETTING_ENV_ONLY,
     ENV("CUSPAN_SET"),
     .comment =
         "settings on top of file and variables: key=value, separated by ';' or newlines; a key is one "
         "below distribution.cuspan, or endpoint, protocol, compression, service_name, output_file, console"},
};
const size_t settings_count = sizeof settings_table / sizeof *settings_table;
