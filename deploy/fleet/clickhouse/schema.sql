-- Tables for the spans of cuspan in ClickHouse 25.8 or later. docs/fleet-clickhouse.md describes them.
-- tools/gen_clickhouse.py generates this file: do not edit it. It can be run again on an existing database.

CREATE DATABASE IF NOT EXISTS cuspan;

-- The version of these tables. Another version is refused: create the tables in a server or database of their own.
CREATE TABLE IF NOT EXISTS cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO cuspan.schema_version SELECT 1 WHERE (SELECT count() FROM cuspan.schema_version) = 0;
SELECT throwIf(min(version) != 1 OR max(version) != 1,
    'the database cuspan has another version of these tables; use a new server, or drop it') FROM cuspan.schema_version;

-- The Collector's exporter inserts into the columns with names like SpanName. EPHEMERAL columns are not stored: the columns
-- below are computed from them at the insert. A span that arrives twice has the same key, so merges remove it.
CREATE TABLE IF NOT EXISTS cuspan.otel_traces
(
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId String EPHEMERAL,
    SpanId String EPHEMERAL,
    ParentSpanId String EPHEMERAL,
    TraceState LowCardinality(String) CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName LowCardinality(String) CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) EPHEMERAL,
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested
    (
        Timestamp DateTime64(9),
        Name LowCardinality(String),
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested
    (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    resource_id UInt64 MATERIALIZED cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) CODEC(ZSTD(1)),
    job LowCardinality(Nullable(String)) MATERIALIZED coalesce(nullIf(ResourceAttributes['slurm.job.id'], ''), nullIf(ResourceAttributes['k8s.job.name'], '')) CODEC(ZSTD(1)),
    host LowCardinality(Nullable(String)) MATERIALIZED nullIf(ResourceAttributes['host.name'], '') CODEC(ZSTD(1)),
    instance LowCardinality(Nullable(String)) MATERIALIZED nullIf(ResourceAttributes['service.instance.id'], '') CODEC(ZSTD(1)),
    pid Nullable(Int64) MATERIALIZED toInt64OrNull(ResourceAttributes['process.pid']) CODEC(ZSTD(1)),
    hw_id LowCardinality(Nullable(String)) MATERIALIZED nullIf(ResourceAttributes['hw.id'], '') CODEC(ZSTD(1)),
    device Nullable(Int64) MATERIALIZED toInt64OrNull(ResourceAttributes['cuda.device.id']) CODEC(ZSTD(1)),
    rank Nullable(Int64) MATERIALIZED toInt64OrNull(ResourceAttributes['cuda.process.rank']) CODEC(ZSTD(1)),
    trace_id FixedString(16) MATERIALIZED unhex(TraceId) CODEC(ZSTD(1)),
    span_id UInt64 MATERIALIZED reinterpretAsUInt64(reverse(unhex(SpanId))) CODEC(ZSTD(1)),
    parent_id Nullable(UInt64) MATERIALIZED if(ParentSpanId = '', NULL, reinterpretAsUInt64(reverse(unhex(ParentSpanId)))) CODEC(ZSTD(1)),
    activity LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['cuda.activity'], '') CODEC(ZSTD(1)),
    api LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['cuda.api'], '') CODEC(ZSTD(1)),
    kernel_full LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['cuda.kernel.name'], '') CODEC(ZSTD(1)),
    error LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['error.type'], '') CODEC(ZSTD(1)),
    context Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.context.id']) CODEC(ZSTD(1)),
    stream Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.stream.id']) CODEC(ZSTD(1)),
    thread Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['thread.id']) CODEC(ZSTD(1)),
    thread_name LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['thread.name'], '') CODEC(ZSTD(1)),
    correlation Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.correlation.id']) CODEC(ZSTD(1)),
    start_delay Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.start_delay']) CODEC(ZSTD(1)),
    copy_kind LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['cuda.memcpy.kind'], '') CODEC(ZSTD(1)),
    copy_bytes Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.memcpy.bytes']) CODEC(ZSTD(1)),
    fill_bytes Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.memset.bytes']) CODEC(ZSTD(1)),
    graph_node Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.graph.node.id']) CODEC(ZSTD(1)),
    step Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.step.number']) CODEC(ZSTD(1)),
    collective_operation LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['cuda.collective.operation'], '') CODEC(ZSTD(1)),
    collective_key Nullable(String) MATERIALIZED nullIf(SpanAttributes['cuda.collective.key'], '') CODEC(ZSTD(1)),
    collective_bytes Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['cuda.collective.bytes']) CODEC(ZSTD(1)),
    code_function LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['code.function.name'], '') CODEC(ZSTD(1)),
    code_file LowCardinality(Nullable(String)) MATERIALIZED nullIf(SpanAttributes['code.file.path'], '') CODEC(ZSTD(1)),
    code_line Nullable(Int64) MATERIALIZED toInt64OrNull(SpanAttributes['code.line.number']) CODEC(ZSTD(1)),
    stack_id Nullable(String) MATERIALIZED nullIf(SpanAttributes['cuspan.stack.id'], '') CODEC(ZSTD(1)),
    attributes Map(LowCardinality(String), String) MATERIALIZED mapFilter((key, value) -> key NOT IN (
        'cuda.activity', 'cuda.api', 'cuda.kernel.name', 'error.type', 'cuda.context.id', 'cuda.stream.id',
        'thread.id', 'thread.name', 'cuda.correlation.id', 'cuda.start_delay', 'cuda.memcpy.kind',
        'cuda.memcpy.bytes', 'cuda.memset.bytes', 'cuda.graph.node.id', 'cuda.step.number',
        'cuda.collective.operation', 'cuda.collective.key', 'cuda.collective.bytes', 'code.function.name',
        'code.file.path', 'code.line.number', 'cuspan.stack.id'), SpanAttributes) CODEC(ZSTD(1)),
    INDEX start_ns toUnixTimestamp64Nano(Timestamp) TYPE minmax GRANULARITY 1,
    INDEX trace_id trace_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toStartOfHour(Timestamp, 'UTC')
PRIMARY KEY (ServiceName, resource_id, Timestamp)
ORDER BY (ServiceName, resource_id, Timestamp, trace_id, span_id)
TTL toDateTime(Timestamp) + INTERVAL 7 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

-- One row for each process and each of its devices.
CREATE TABLE IF NOT EXISTS cuspan.resource_attributes
(
    resource_id UInt64,
    last_seen DateTime,
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(last_seen)
ORDER BY resource_id
TTL last_seen + INTERVAL 8 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.resource_attributes_of_spans TO cuspan.resource_attributes AS
SELECT resource_id, max(toDateTime(Timestamp)) AS last_seen, any(ResourceAttributes) AS ResourceAttributes
FROM cuspan.otel_traces
GROUP BY resource_id;

-- The columns of docs/fleet-schema.md. FINAL leaves out repeated spans of partitions that are not merged yet.
CREATE OR REPLACE VIEW cuspan.spans AS
SELECT
    resource_id,
    nullIf(ServiceName, '') AS service_name,
    job,
    host,
    instance,
    pid,
    hw_id,
    device,
    rank,
    trace_id,
    span_id,
    parent_id,
    SpanName AS name,
    activity,
    api,
    kernel_full,
    toUnixTimestamp64Nano(Timestamp) AS start_ns,
    greatest(toInt64(Duration), 0) AS duration_ns,
    CAST(transform(SpanKind, ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], [1, 2, 3, 4, 5], NULL), 'Nullable(Int64)') AS span_kind,
    CAST(transform(StatusCode, ['Ok', 'Error'], [1, 2], NULL), 'Nullable(Int64)') AS status,
    nullIf(StatusMessage, '') AS status_message,
    error,
    context,
    stream,
    thread,
    thread_name,
    correlation,
    start_delay,
    copy_kind,
    copy_bytes,
    fill_bytes,
    graph_node,
    step,
    collective_operation,
    collective_key,
    collective_bytes,
    code_function,
    code_file,
    code_line,
    stack_id,
    CAST(NULL, 'Nullable(Int64)') AS flags,
    nullIf(TraceState, '') AS trace_state,
    if(ScopeName = '' AND ScopeVersion = '', NULL, toJSONString(mapFilter((key, value) -> value != '', map('name', toString(ScopeName), 'version', toString(ScopeVersion))))) AS scope,
    CAST(NULL, 'Nullable(Int64)') AS dropped_attributes,
    CAST(NULL, 'Nullable(Int64)') AS dropped_events,
    CAST(NULL, 'Nullable(Int64)') AS dropped_links,
    attributes,
    CAST(NULL, 'Nullable(String)') AS attribute_types,
    if(empty(`Events.Name`), NULL, toJSONString(arrayMap((time_ns, name, attributes) ->
        CAST((toUnixTimestamp64Nano(time_ns), name, attributes), 'Tuple(time_ns Int64, name String, attributes Map(String, String))'),
        `Events.Timestamp`, `Events.Name`, `Events.Attributes`))) AS events,
    if(empty(`Links.TraceId`), NULL, toJSONString(arrayMap((trace_id, span_id, trace_state, attributes) ->
        CAST((trace_id, span_id, trace_state, attributes),
            'Tuple(trace_id String, span_id String, trace_state String, attributes Map(String, String))'),
        `Links.TraceId`, `Links.SpanId`, `Links.TraceState`, `Links.Attributes`))) AS links
FROM cuspan.otel_traces FINAL;

CREATE OR REPLACE VIEW cuspan.resources AS
SELECT
    resource_id,
    nullIf(ResourceAttributes['service.name'], '') AS service_name,
    coalesce(nullIf(ResourceAttributes['slurm.job.id'], ''), nullIf(ResourceAttributes['k8s.job.name'], '')) AS job,
    nullIf(ResourceAttributes['host.name'], '') AS host,
    nullIf(ResourceAttributes['service.instance.id'], '') AS instance,
    toInt64OrNull(ResourceAttributes['process.pid']) AS pid,
    nullIf(ResourceAttributes['hw.id'], '') AS hw_id,
    toInt64OrNull(ResourceAttributes['cuda.device.id']) AS device,
    nullIf(ResourceAttributes['hw.name'], '') AS device_name,
    toInt64OrNull(ResourceAttributes['cuda.process.rank']) AS rank,
    ResourceAttributes AS attributes,
    CAST(NULL, 'Nullable(String)') AS attribute_types
FROM cuspan.resource_attributes FINAL;
