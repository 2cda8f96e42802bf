#include "config/settings_table.h"

#define SETTINGS(field) .owner = IN_SETTINGS, .offset = offsetof(struct settings, field)
#define OUTPUT(field, kinds)                                                                                 \
    .owner = IN_OUTPUT, .exporters = (kinds), .offset = offsetof(struct output_settings, field)
#define EXPORTER(field, kinds) OUTPUT(exporter.field, kinds)
#define OWN(name)              .path = SETTING_OWN_PREFIX name
#define BATCH                  "tracer_provider.processors[].batch"
#define RANGE(low, high)       .min = (low), .max = (high)
#define READER                 "meter_provider.readers[].periodic"
#define METRICS(field, kinds)                                                                                \
    .owner = IN_METRICS, .exporters = (kinds), .offset = offsetof(struct output_settings, field)
#define METRICS_EXPORTER(field, kinds) METRICS(exporter.field, kinds)
#define METRICS_ENV(name)              .env = {"OTEL_EXPORTER_OTLP_METRICS_" name, "OTEL_EXPORTER_OTLP_" name}
#define OTLP_ENV(name)         .env = {"OTEL_EXPORTER_OTLP_TRACES_" name, "OTEL_EXPORTER_OTLP_" name}
#define PATTERNS(name, field, text)                                                                          \
    {                                                                                                        \
        OWN(name), SETTINGS(field), .type = SETTING_PATTERNS, .default_text = "[]", .comment = text          \
    }

#define MS_MAX    (24u * 3600 * 1000)
#define MIB       (1024u * 1024)
#define COUNT_MAX 1000000000u

static const struct setting_word log_levels[] = {{"error", LOG_ERROR, false}, {"warn", LOG_WARN, false},
                                                 {"info", LOG_INFO, false},   {"debug", LOG_DEBUG, false},
                                                 {"fatal", LOG_ERROR, true},  {"fatal2", LOG_ERROR, true},
                                                 {"fatal3", LOG_ERROR, true}, {"fatal4", LOG_ERROR, true},
                                                 {"error2", LOG_ERROR, true}, {"error3", LOG_ERROR, true},
                                                 {"error4", LOG_ERROR, true}, {"warn2", LOG_WARN, true},
                                                 {"warn3", LOG_WARN, true},   {"warn4", LOG_WARN, true},
                                                 {"warning", LOG_WARN, true}, {"info2", LOG_INFO, true},
                                                 {"info3", LOG_INFO, true},   {"info4", LOG_INFO, true},
                                                 {"debug2", LOG_DEBUG, true}, {"debug3", LOG_DEBUG, true},
                                                 {"debug4", LOG_DEBUG, true}, {"trace", LOG_DEBUG, true},
                                                 {"trace2", LOG_DEBUG, true}, {"trace3", LOG_DEBUG, true},
                                                 {"trace4", LOG_DEBUG, true}, {NULL, 0, false}};
static const struct setting_word compressions[] = {
    {"none", COMPRESSION_NONE, false}, {"gzip", COMPRESSION_GZIP, false}, {"zstd", COMPRESSION_ZSTD, false}, {NULL, 0, false}};
static const struct setting_word encodings[] = {
    {"protobuf", ENCODING_PROTOBUF, false}, {"json", ENCODING_JSON, false}, {NULL, 0, false}};
static const struct setting_word temporalities[] = {{"cumulative", TEMPORALITY_CUMULATIVE, false},
                                                    {"delta", TEMPORALITY_DELTA, false},
                                                    {"low_memory", TEMPORALITY_LOW_MEMORY, false},
                                                    {"lowmemory", TEMPORALITY_LOW_MEMORY, true},
                                                    {NULL, 0, false}};
static const struct setting_word exemplar_filters[] = {{"trace_based", EXEMPLAR_TRACE_BASED, false},
                                                       {"always_on", EXEMPLAR_ALWAYS_ON, false},
                                                       {"always_off", EXEMPLAR_ALWAYS_OFF, false},
                                                       {NULL, 0, false}};
static const struct setting_word histogram_forms[] = {
    {"explicit_bucket_histogram", HISTOGRAM_EXPLICIT, false},
    {"base2_exponential_bucket_histogram", HISTOGRAM_EXPONENTIAL, false},
    {NULL, 0, false}};
static const struct setting_word details[] = {{"summary", DETAIL_SUMMARY, false},
                                              {"default", DETAIL_DEFAULT, false},
                                              {"graph-nodes", DETAIL_GRAPH_NODES, false},
                                              {"full", DETAIL_FULL, false},
                                              {NULL, 0, false}};
static const struct setting_word cupti_apis[] = {{"auto", CUPTI_API_AUTO, false},
                                                 {"classic", CUPTI_API_CLASSIC, false},
                                                 {"subscriber", CUPTI_API_SUBSCRIBER, false},
                                                 {NULL, 0, false}};

static const struct setting_word cupti_others[] = {{"hold", OTHERS_HOLD, false},
                                                   {"give-way", OTHERS_GIVE_WAY, false},
                                                   {"share", OTHERS_SHARE, false},
                                                   {NULL, 0, false}};

static const struct setting_word sleep_whens[] = {{"auto", SLEEP_AUTO, false},
                                                  {"never", SLEEP_NEVER, false},
                                                  {"always", SLEEP_ALWAYS, false},
                                                  {NULL, 0, false}};

static const struct setting_word start_ons[] = {
    {"process", START_ON_PROCESS, false}, {"control", START_ON_CONTROL, false}, {NULL, 0, false}};

static const struct setting_word counters_replays[] = {
    {"none", REPLAY_NONE, false}, {"kernel", REPLAY_KERNEL, false}, {"loop", REPLAY_LOOP, false}, {NULL, 0, false}};

static const struct setting_word graph_records[] = {{"when-used", GRAPH_RECORDS_WHEN_USED, false},
                                                    {"at-once", GRAPH_RECORDS_AT_ONCE, false},
                                                    {"always", GRAPH_RECORDS_ALWAYS, false},
                                                    {NULL, 0, false}};

/* What metrics alone have there. */
#define METRICS_OTLP_ROWS(name)                                                                              \
    {.path = READER ".exporter." name ".temporality_preference",                                             \
     SETTINGS(metrics.temporality),                                                                          \
     .type = SETTING_WORD,                                                                                   \
     .flags = SETTING_ALTERNATIVE,                                                                           \
     .words = temporalities,                                                                                 \
     .default_text = "cumulative",                                                                           \
     .env = {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"},                                           \
     .comment = "cumulative, delta, or low_memory: histograms as delta, all else cumulative"},               \
    {                                                                                                        \
        .path = READER ".exporter." name ".default_histogram_aggregation",                                   \
        SETTINGS(metrics.histogram_form), .type = SETTING_WORD, .flags = SETTING_ALTERNATIVE,                \
        .words = histogram_forms, .default_text = "explicit_bucket_histogram",                               \
        .env = {"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"},                                 \
        .comment = "explicit_bucket_histogram, or base2_exponential_bucket_histogram"                        \
    }

/* What both OTLP exporters have. `more` marks the rows of the one that the example leaves commented out. */
#define OTLP_ROWS(below, EXPORTER_OF, ENV, name, kinds, more)                                                                         \
    {.path = below ".exporter." name ".tls.ca_file",                                                         \
     EXPORTER_OF(ca_file, kinds),                                                                               \
     .type = SETTING_PATH,                                                                                   \
     .flags = (more),                                                                                        \
     ENV("CERTIFICATE"),                                                                                \
     .comment = "PEM file to check the server by; unset: the system's"},                                     \
        {.path = below ".exporter." name ".tls.key_file",                                                    \
         EXPORTER_OF(client_key_file, kinds),                                                                   \
         .type = SETTING_PATH,                                                                               \
         .flags = (more),                                                                                    \
         ENV("CLIENT_KEY"),                                                                             \
         .comment = "PEM file with the client's private key"},                                               \
        {.path = below ".exporter." name ".tls.cert_file",                                                   \
         EXPORTER_OF(client_certificate_file, kinds),                                                           \
         .type = SETTING_PATH,                                                                               \
         .flags = (more),                                                                                    \
         ENV("CLIENT_CERTIFICATE"),                                                                     \
         .comment = "PEM file with the client's certificate"},                                               \
        {.path = below ".exporter." name ".headers",                                                         \
         EXPORTER_OF(headers, kinds),                                                                           \
         .type = SETTING_STRUCTURE,                                                                          \
         .flags = SETTING_ALTERNATIVE | SETTING_SECRET,                                                      \
         .example = "[{name: api-key, value: \"${API_KEY}\"}]",                                              \
         .comment = "of each request; values reach no log"},                                                 \
        {.path = below ".exporter." name ".headers_list",                                                    \
         EXPORTER_OF(headers, kinds),                                                                           \
         .type = SETTING_PAIRS,                                                                              \
         .flags = (more) | SETTING_SECRET,                                                                   \
         ENV("HEADERS"),                                                                                \
         .comment = "the same as text: name=value,name=value; headers goes first"},                          \
        {.path = below ".exporter." name ".compression",                                                     \
         EXPORTER_OF(compression, kinds),                                                                       \
         .type = SETTING_WORD,                                                                               \
         .flags = (more) | SETTING_OPEN_WORD,                                                                \
         .words = compressions,                                                                              \
         .default_text = "gzip",                                                                             \
         ENV("COMPRESSION"),                                                                            \
         .comment = "none, gzip, or zstd for Collector and Jaeger; unset: gzip, in OpenTelemetry none"},                           \
    {                                                                                                        \
        .path = below ".exporter." name ".timeout", EXPORTER_OF(timeout_ms, kinds), .type = SETTING_UINT32,     \
        .flags = (more) | SETTING_ZERO_IS_NONE, RANGE(0, MS_MAX), .default_text = "10000",                   \
        ENV("TIMEOUT"), .comment = "ms that one request may take; 0: no limit"                          \
    }

const struct setting settings_table[] = {
    {.path = "disabled",
     SETTINGS(disabled),
     .type = SETTING_BOOL,
     .default_text = "false",
     .env = {"OTEL_SDK_DISABLED"},
     .comment = "true: cuspan stays asleep"},
    {.path = "log_level",
     SETTINGS(log_level),
     .type = SETTING_WORD,
     .words = log_levels,
     .default_text = "warn",
     .env = {"OTEL_LOG_LEVEL"},
     .comment = "what cuspan says on standard error: error, warn, info or debug"},

    {.path = "resource.attributes_list",
     .type = SETTING_PAIRS,
     .env = {"OTEL_RESOURCE_ATTRIBUTES"},
     .comment = "the same as text: key=value,key=value; attributes goes first",
     .variable_note = "percent-encoded"},
    {.path = "resource.schema_url",
     SETTINGS(resource.schema_url),
     .type = SETTING_TEXT,
     .max = SCHEMA_URL_MAX,
     .comment = "of the resource; unset: that of the conventions cuspan follows"},
    {.path = "resource.attributes",
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .env = {"OTEL_SERVICE_NAME"},
     .example = "[{name: service.name, value: my-service}]",
     .comment = "who the spans come from; without service.name, unknown_service:PROGRAM",
     .variable_note = "the service.name"},

    {.path = "attribute_limits.attribute_value_length_limit",
     SETTINGS(attribute_value_length_limit),
     .type = SETTING_UINT32,
     .flags = SETTING_NULL_IS_NONE,
     RANGE(0, UINT32_MAX - 1),
     .env = {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"},
     .comment = "characters after which a string value is cut; 32 KiB is the most, set or unset"},
    {.path = "attribute_limits.attribute_count_limit",
     SETTINGS(attribute_count_limit),
     .type = SETTING_UINT32,
     RANGE(0, UINT32_MAX),
     .default_text = "128",
     .env = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"},
     .comment = "attributes of a span"},

    {.path = BATCH ".schedule_delay",
     OUTPUT(schedule_delay_ms, FOR_ALL),
     .type = SETTING_UINT32,
     RANGE(0, MS_MAX),
     .default_text = "1000",
     .env = {"OTEL_BSP_SCHEDULE_DELAY"},
     .comment = "ms that a span waits for others at most"},
    {.path = BATCH ".export_timeout",
     OUTPUT(export_timeout_ms, FOR_ALL),
     .type = SETTING_UINT32,
     .flags = SETTING_ZERO_IS_NONE,
     RANGE(0, MS_MAX),
     .default_text = "30000",
     .env = {"OTEL_BSP_EXPORT_TIMEOUT"},
     .comment = "ms for a batch with all its retries; 0: no limit"},
    {.path = BATCH ".max_queue_size",
     OUTPUT(queue_spans_max, FOR_ALL),
     .type = SETTING_UINT32,
     RANGE(1, COUNT_MAX),
     .default_text = "262144",
     .env = {"OTEL_BSP_MAX_QUEUE_SIZE"},
     .comment = "spans that wait at most; more are dropped and counted"},
    {.path = BATCH ".max_export_batch_size",
     OUTPUT(batch_spans_max, FOR_ALL),
     .type = SETTING_UINT32,
     RANGE(1, COUNT_MAX),
     .default_text = "8192",
     .env = {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"},
     .comment = "spans in one request"},
    {.path = BATCH ".exporter.otlp_http.endpoint",
     EXPORTER(endpoint, FOR_HTTP),
     .type = SETTING_ENDPOINT,
     .default_text = "http://localhost:4318/v1/traces",
     OTLP_ENV("ENDPOINT"),
     .comment = "where spans go: the whole URL",
     .variable_note = "v1/traces is appended to the second"},
    {.path = BATCH ".exporter.otlp_http.encoding",
     EXPORTER(encoding, FOR_HTTP),
     .type = SETTING_WORD,
     .words = encodings,
     .default_text = "protobuf",
     OTLP_ENV("PROTOCOL"),
     .comment = "protobuf or json",
     .variable_note = "http/protobuf, http/json or grpc"},
    OTLP_ROWS(BATCH, EXPORTER, OTLP_ENV, "otlp_http", FOR_HTTP, 0),
    {.path = BATCH ".exporter.otlp_grpc.endpoint",
     EXPORTER(endpoint, FOR_GRPC),
     .type = SETTING_ENDPOINT,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "http://localhost:4317",
     OTLP_ENV("ENDPOINT"),
     .comment = "in place of otlp_http: scheme, host and port"},
    {.path = BATCH ".exporter.otlp_grpc.tls.insecure",
     EXPORTER(insecure, FOR_GRPC),
     .type = SETTING_BOOL,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "false",
     OTLP_ENV("INSECURE"),
     .comment = "no TLS where the endpoint has no scheme"},
    OTLP_ROWS(BATCH, EXPORTER, OTLP_ENV, "otlp_grpc", FOR_GRPC, SETTING_ALTERNATIVE),
    {.path = BATCH ".exporter.otlp_file/development.output_stream",
     EXPORTER(endpoint, FOR_FILE),
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "stdout",
     .example = "file:///var/log/traces.jsonl",
     .comment = "in place of otlp_http: lines of OTLP JSON, to a file or to stdout"},
    {.path = BATCH ".exporter.console",
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .env = {"OTEL_TRACES_EXPORTER"},
     .comment = "in place of otlp_http: OTLP JSON lines on standard output",
     .variable_note = "otlp, otlp/stdout, console or none"},

    {.path = "tracer_provider.limits.attribute_value_length_limit",
     SETTINGS(attribute_value_length_limit),
     .type = SETTING_UINT32,
     .flags = SETTING_NULL_IS_OTHER,
     RANGE(0, UINT32_MAX - 1),
     .comment = "goes before the one in attribute_limits, where set"},
    {.path = "tracer_provider.limits.attribute_count_limit",
     SETTINGS(attribute_count_limit),
     .type = SETTING_UINT32,
     .flags = SETTING_NULL_IS_OTHER,
     RANGE(0, UINT32_MAX),
     .comment = "goes before the one in attribute_limits, where set"},
    {.path = "tracer_provider.limits.event_count_limit",
     SETTINGS(event_count_limit),
     .type = SETTING_UINT32,
     RANGE(0, UINT32_MAX),
     .default_text = "128",
     .env = {"OTEL_SPAN_EVENT_COUNT_LIMIT"},
     .comment = "events of a span"},
    {.path = "tracer_provider.limits.link_count_limit",
     SETTINGS(link_count_limit),
     .type = SETTING_UINT32,
     RANGE(0, UINT32_MAX),
     .default_text = "128",
     .env = {"OTEL_SPAN_LINK_COUNT_LIMIT"},
     .comment = "links of a span"},
    {.path = "tracer_provider.sampler.parent_based.root.always_on",
     .type = SETTING_STRUCTURE,
     .env = {"OTEL_TRACES_SAMPLER"},
     .comment = "for roots; elsewhere the sampled flag of the parent decides",
     .variable_note = "parentbased_always_on, always_off, traceidratio and so on"},
    {.path = "tracer_provider.sampler.parent_based.root.trace_id_ratio_based.ratio",
     SETTINGS(sampler_ratio),
     .type = SETTING_NUMBER,
     .flags = SETTING_ALTERNATIVE,
     RANGE(0, 1),
     .default_text = "1.0",
     .example = "0.1",
     .env = {"OTEL_TRACES_SAMPLER_ARG"},
     .comment = "in place of always_on: the share of roots that are sampled"},

    {.path = "meter_provider.exemplar_filter",
     SETTINGS(metrics.exemplar_filter),
     .type = SETTING_WORD,
     .flags = SETTING_ALTERNATIVE,
     .words = exemplar_filters,
     .default_text = "trace_based",
     .env = {"OTEL_METRICS_EXEMPLAR_FILTER"},
     .comment = "trace_based: exemplars are of sampled spans; always_on: of all work; or always_off"},
    {.path = "meter_provider.views",
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .example = "[{selector: {instrument_name: \"cuda.call.*\"}, stream: {aggregation: {drop: }}}]",
     .comment = "which metrics leave, and how: docs/metrics.md"},
    {.path = READER ".interval",
     SETTINGS(metrics.interval_ms),
     .type = SETTING_UINT32,
     .flags = SETTING_ALTERNATIVE,
     RANGE(0, MS_MAX),
     .default_text = "60000",
     .env = {"OTEL_METRIC_EXPORT_INTERVAL"},
     .comment = "with a reader, metrics are sent: so often, in ms"},
    {.path = READER ".timeout",
     METRICS(export_timeout_ms, FOR_ALL),
     .type = SETTING_UINT32,
     .flags = SETTING_ALTERNATIVE | SETTING_ZERO_IS_NONE,
     RANGE(0, MS_MAX),
     .default_text = "30000",
     .env = {"OTEL_METRIC_EXPORT_TIMEOUT"},
     .comment = "ms for an export with all its retries; 0: no limit"},
    {.path = READER ".exporter.otlp_http.endpoint",
     METRICS_EXPORTER(endpoint, FOR_HTTP),
     .type = SETTING_ENDPOINT,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "http://localhost:4318/v1/metrics",
     METRICS_ENV("ENDPOINT"),
     .comment = "where metrics go: the whole URL",
     .variable_note = "v1/metrics is appended to the second"},
    {.path = READER ".exporter.otlp_http.encoding",
     METRICS_EXPORTER(encoding, FOR_HTTP),
     .type = SETTING_WORD,
     .flags = SETTING_ALTERNATIVE,
     .words = encodings,
     .default_text = "protobuf",
     METRICS_ENV("PROTOCOL"),
     .comment = "protobuf or json",
     .variable_note = "http/protobuf, http/json or grpc"},
    METRICS_OTLP_ROWS("otlp_http"),
    OTLP_ROWS(READER, METRICS_EXPORTER, METRICS_ENV, "otlp_http", FOR_HTTP, SETTING_ALTERNATIVE),
    {.path = READER ".exporter.otlp_grpc.endpoint",
     METRICS_EXPORTER(endpoint, FOR_GRPC),
     .type = SETTING_ENDPOINT,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "http://localhost:4317",
     METRICS_ENV("ENDPOINT"),
     .comment = "in place of otlp_http: scheme, host and port"},
    METRICS_OTLP_ROWS("otlp_grpc"),
    {.path = READER ".exporter.otlp_grpc.tls.insecure",
     METRICS_EXPORTER(insecure, FOR_GRPC),
     .type = SETTING_BOOL,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "false",
     METRICS_ENV("INSECURE"),
     .comment = "no TLS where the endpoint has no scheme"},
    OTLP_ROWS(READER, METRICS_EXPORTER, METRICS_ENV, "otlp_grpc", FOR_GRPC, SETTING_ALTERNATIVE),
    {.path = READER ".exporter.otlp_file/development.output_stream",
     METRICS_EXPORTER(endpoint, FOR_FILE),
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .default_text = "stdout",
     .example = "file:///var/log/metrics.jsonl",
     .comment = "in place of otlp_http: lines of OTLP JSON, to a file or to stdout"},
    {.path = READER ".exporter.console",
     .type = SETTING_STRUCTURE,
     .flags = SETTING_ALTERNATIVE,
     .env = {"OTEL_METRICS_EXPORTER"},
     .comment = "in place of otlp_http: OTLP JSON lines on standard output",
     .variable_note = "otlp, otlp/stdout, console or none; unset: none"},

    {OWN("detail"), SETTINGS(detail), .type = SETTING_WORD, .words = details, .default_text = "default",
     .comment = "summary: one span a request; default: calls and GPU work; graph-nodes: CUDA graphs' nodes too; full: all"},
    PATTERNS("capture.calls.allow", capture.calls.allow,
             "calls by name, pattern (cudaMalloc*) or group (launch); empty: the default profile"),
    PATTERNS("capture.calls.deny", capture.calls.deny, "calls left out; goes before allow"),
    PATTERNS("capture.activities.allow", capture.activities.allow,
             "kinds of GPU work (kernel, memcpy); empty: those of the detail"),
    PATTERNS("capture.activities.deny", capture.activities.deny, "kinds left out; goes before allow"),
    PATTERNS("capture.kernels.allow", capture.kernels.allow, "kernels by short or full name; empty: all"),
    PATTERNS("capture.kernels.deny", capture.kernels.deny,
             "kernels whose spans are left out (not their calls)"),
    {OWN("capture.runtime"), SETTINGS(capture.runtime), .type = SETTING_BOOL, .default_text = "true",
     .comment = "calls of CUDA's runtime API"},
    {OWN("capture.driver"), SETTINGS(capture.driver), .type = SETTING_BOOL, .default_text = "true",
     .comment = "calls of the driver API that the program makes itself (Triton, JAX, cuBLAS do)"},
    {OWN("capture.resource"), SETTINGS(capture.resource), .type = SETTING_BOOL, .default_text = "true",
     .comment = "contexts, modules and graphs that come into being"},
    {OWN("capture.parameters"), SETTINGS(capture.parameters), .type = SETTING_BOOL, .default_text = "true",
     .comment = "parameters of calls as attributes"},
    {OWN("capture.nvtx"), SETTINGS(capture.nvtx), .type = SETTING_BOOL, .default_text = "true",
     .comment = "ranges, marks and names that the program gives by NVTX"},
    {OWN("capture.allocation_stacks"), SETTINGS(capture.allocation_stacks), .type = SETTING_BOOL,
     .default_text = "false",
     .comment = "call stacks of allocations, walked on the program's threads (some us each); not in recordings or summaries"},
    {OWN("capture.nvlink"), SETTINGS(capture.nvlink), .type = SETTING_BOOL, .default_text = "true",
     .comment = "ask NVML for the links between GPUs, once the first copy between two of them comes"},
    {OWN("capture.cuda_profiler"), SETTINGS(capture.cuda_profiler), .type = SETTING_BOOL, .default_text = "false",
     .comment = "trace only from cudaProfilerStart to cudaProfilerStop"},

    PATTERNS("counters.metrics", counters.metrics,
             "hardware counters of kernels (dram.read, dram__bytes_read.sum; cuspan counters lists them)"),
    {OWN("counters.period"), SETTINGS(counters.period), .type = SETTING_UINT32, RANGE(1, COUNT_MAX), .default_text = "100",
     .comment = "one launch in so many is counted, which waits for its kernel"},
    PATTERNS("counters.kernels.allow", counters.kernels.allow, "parts of names of kernels that are counted; empty: all"),
    PATTERNS("counters.kernels.deny", counters.kernels.deny,
             "kernels that aren't; those of NCCL and its like never are"),
    PATTERNS("counters.ranges", counters.ranges, "names of ranges (NVTX, cuspan.h) that are counted in place of kernels"),
    {OWN("counters.replay"), SETTINGS(counters.replay), .type = SETTING_WORD, .words = counters_replays,
     .default_text = "none",
     .comment = "for more metrics than one pass takes, kernel: runs the kernels of kernels.allow again; loop: loops of cuspan.h that ranges names"},
    {OWN("counters.wait_ms"), SETTINGS(counters.wait_ms), .type = SETTING_UINT32, RANGE(1, MS_MAX), .default_text = "1000",
     .comment = "a kernel that takes longer ends the counting"},
    PATTERNS("counters.sampling.metrics", counters.sampling.metrics,
             "hardware counters of whole GPUs over time, which leave as metrics (dram.read)"),
    {OWN("counters.sampling.interval_us"), SETTINGS(counters.sampling.interval_us), .type = SETTING_UINT32,
     RANGE(1000, 1000000), .default_text = "10000", .comment = "how long a sample is"},

    {OWN("cupti.library"), SETTINGS(cupti.library), .type = SETTING_TEXT,
     .comment = "path of libcupti; unset: the newest found that the driver can take"},
    {OWN("cupti.api"), SETTINGS(cupti.api), .type = SETTING_WORD, .words = cupti_apis, .default_text = "auto",
     .comment = "classic, subscriber (CUPTI 13.3 and later) or auto: the best there is"},
    {OWN("cupti.graph_records"), SETTINGS(cupti.graph_records), .type = SETTING_WORD, .words = graph_records,
     .default_text = "when-used",
     .comment = "on when-used: once a graph is begun; at-once: before that call goes on; or always"},
    {OWN("cupti.others"), SETTINGS(cupti.others), .type = SETTING_WORD, .words = cupti_others, .default_text = "hold",
     .comment = "other users of CUPTI in the process: hold it, give-way to them, or share it (CUPTI 13.3; cuspan run --share)"},
    {OWN("cupti.others_wait_ms"), SETTINGS(cupti.others_wait_ms), .type = SETTING_UINT32, RANGE(0, 60000),
     .default_text = "1000", .comment = "how long giving way waits for calls and GPU work that are under way"},
    {OWN("cupti.others_retry_ms"), SETTINGS(cupti.others_retry_ms), .type = SETTING_UINT32, RANGE(0, 3600000),
     .default_text = "1000", .comment = "how often is tried to come back after giving way; 0: only when asked to"},
    {OWN("cupti.flush_interval_ms"), SETTINGS(cupti.flush_interval_ms), .type = SETTING_UINT32,
     RANGE(1, 3600000), .default_text = "1000",
     .comment = "how long GPU work stays in CUPTI's buffers at most"},
    {OWN("cupti.host_buffer_bytes"), SETTINGS(cupti.host_buffer_bytes), .type = SETTING_UINT32,
     RANGE(ACTIVITY_BUFFER_BYTES_MIN, ACTIVITY_BUFFER_BYTES_MAX), .default_text = "65536",
     .comment = "size of a buffer that CUPTI fills"},
    {OWN("cupti.host_buffer_count"), SETTINGS(cupti.host_buffer_count), .type = SETTING_UINT32,
     RANGE(2, ACTIVITY_HOST_BUFFERS_MAX), .default_text = "256", .comment = "how many there are; a thread that calls CUDA needs up to two"},
    {OWN("cupti.per_thread_buffers"), SETTINGS(cupti.per_thread_buffers), .type = SETTING_BOOL,
     .default_text = "true",
     .comment = "a buffer for each thread, so that threads don't wait for each other"},
    {OWN("cupti.device_buffer_bytes"), SETTINGS(cupti.device_buffer_bytes), .type = SETTING_UINT64,
     RANGE(64 * 1024, 1024ull * MIB), .default_text = "3200000", .comment = "size of a buffer in GPU memory"},
    {OWN("cupti.device_buffer_limit"), SETTINGS(cupti.device_buffer_limit), .type = SETTING_UINT32,
     RANGE(1, 100000), .default_text = "32", .comment = "how many of them a context may have"},
    {OWN("cupti.device_buffer_preallocate"), SETTINGS(cupti.device_buffer_preallocate),
     .type = SETTING_UINT32, RANGE(0, 100000), .default_text = "3",
     .comment = "how many of them a context starts with"},
    {OWN("cupti.device_buffers_pinned"), SETTINGS(cupti.device_buffers_pinned), .type = SETTING_BOOL,
     .default_text = "false", .comment = "put them into page-locked host memory"},

    {OWN("rings.bytes"), SETTINGS(rings.bytes), .type = SETTING_UINT32, RANGE(RING_BYTES_MIN, RING_BYTES_MAX),
     .flags = SETTING_POWER_OF_TWO, .default_text = "262144",
     .comment = "for the calls of one host thread, a power of two; a full one loses calls"},
    {OWN("rings.total_bytes"), SETTINGS(rings.total_bytes), .type = SETTING_UINT32,
     RANGE(RING_BYTES_MIN, 1024 * MIB), .default_text = "8388608",
     .comment = "of all threads; threads beyond it are not traced, and counted"},
    {OWN("correlation.pending_max"), SETTINGS(correlation.pending_max), .type = SETTING_UINT32,
     RANGE(1024, 16 * MIB), .default_text = "131072", .comment = "calls that can wait for their GPU work"},
    {OWN("correlation.wait_ms"), SETTINGS(correlation.wait_ms), .type = SETTING_UINT32, RANGE(1, 600000),
     .default_text = "2000", .comment = "how long GPU work waits for its call"},
    {OWN("session.name"), SETTINGS(session.name), .type = SETTING_TEXT,
     .comment = "name of the session's span; unset: the program's"},
    {OWN("session.spans_max"), SETTINGS(session.spans_max), .type = SETTING_UINT32, RANGE(1, COUNT_MAX),
     .default_text = "10000", .comment = "spans after which a new trace begins"},
    {OWN("session.age_max_ms"), SETTINGS(session.age_max_ms), .type = SETTING_UINT32, RANGE(1, MS_MAX),
     .default_text = "60000", .comment = "age at which a new trace begins"},
    {OWN("summary.idle_ms"), SETTINGS(summary.idle_ms), .type = SETTING_UINT32, RANGE(1, MS_MAX),
     .default_text = "1000",
     .comment = "detail summary: an idle request's span is sent after this; more work makes a further one"},
    {OWN("sampling.traces_per_second"), SETTINGS(sampling.traces_per_second), .type = SETTING_NUMBER,
     RANGE(0, 1000000), .flags = SETTING_ZERO_IS_NONE, .default_text = "0",
     .comment = "traces that are begun in a second at most, after the sampler; 0: no limit"},
    {OWN("sampling.sleep"), SETTINGS(sampling.sleep), .type = SETTING_WORD, .words = sleep_whens,
     .default_text = "auto",
     .comment = "while no sampled context is attached: auto, once some are not sampled; always; or never"},

    {OWN("start_on"), SETTINGS(start_on), .type = SETTING_WORD, .words = start_ons, .default_text = "process",
     .comment = "process: trace from the first CUDA call on; control: wait for cuspan start, with nothing loaded"},
    {OWN("control.enabled"), SETTINGS(control.enabled), .type = SETTING_BOOL, .default_text = "true",
     .comment = "a socket by which cuspan ps, status, start, stop and flush reach the process"},
    {OWN("control.directory"), SETTINGS(control.directory), .type = SETTING_TEXT,
     .max = 200, .comment = "folder of that socket; unset: cuspan in the user's runtime directory, or /tmp/cuspan-UID"},
    {OWN("spool.directory"), SETTINGS(spool.directory), .type = SETTING_PATH,
     .comment = "requests lie here until a collector has them, also when the program is killed; unset: in memory"},
    {OWN("spool.bytes_max"), SETTINGS(spool.bytes_max), .type = SETTING_UINT64,
     RANGE(4 * MIB, 1024ull * 1024 * MIB), .default_text = "2147483648",
     .comment = "of all that lies there, of all processes; what comes then is lost and counted"},

    {OWN("memory_bytes_max"), SETTINGS(memory_bytes_max), .type = SETTING_UINT64,
     RANGE(MEMORY_BYTES_MIN, 64ull * 1024 * MIB), .default_text = "67108864",
     .comment = "all that cuspan allocates, buffers lent to CUPTI included"},
    {OWN("exit_deadline_ms"), SETTINGS(exit_deadline_ms), .type = SETTING_UINT32, RANGE(0, 600000),
     .default_text = "5000", .comment = "how long the program's exit may wait for delivery"},
    PATTERNS("on_signal", on_signal,
             "TERM, INT, ...: deliver first where the program leaves the signal to end it; cuspan run: TERM, INT, HUP"),
    {OWN("shutdown_report"), SETTINGS(shutdown_report), .type = SETTING_TEXT,
     .comment = "FILE: at exit, each step of the shutdown goes to FILE.PID; or stderr"},
    {OWN("tls_verify"), SETTINGS(tls_verify), .type = SETTING_BOOL, .default_text = "true",
     .comment = "false: take any server's certificate (for tests)"},
    {OWN("publish_thread_context"), SETTINGS(publish_thread_context), .type = SETTING_BOOL,
     .default_text = "false",
     .comment = "show eBPF profilers each thread's trace context (cuspan.h), in otel_thread_ctx_v1"},
    {OWN("report_file"), SETTINGS(report_file), .type = SETTING_TEXT,
     .comment = "FILE: counters and trace IDs as JSON go to FILE.PID, while the process runs and at exit"},
    {OWN("record_file"), SETTINGS(record_file), .type = SETTING_TEXT,
     .comment = "file to record to, in place of sending spans; FILE.PID if FILE is there"},

    {.type = SETTING_PAIRS,
     .flags = SETTING_ENV_ONLY,
     .env = {"CUSPAN_CONFIG_FILE", "OTEL_CONFIG_FILE"},
     .comment = "the configuration file; with one, the OTEL_* variables count only where it names them"},
    {.type = SETTING_PAIRS,
     .flags = SETTING_ENV_ONLY,
     .env = {"CUSPAN_SET"},
     .comment =
         "settings on top of file and variables: key=value, separated by ';' or new lines; keys as below "
         "distribution.cuspan, or endpoint, protocol, compression, service_name, output_file, console"},
};
const size_t settings_count = sizeof settings_table / sizeof *settings_table;
