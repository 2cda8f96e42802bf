-- Tables for the spans of cuspan in ClickHouse. docs/fleet-clickhouse.md describes them.
-- tools/gen_clickhouse.py generates this file: do not edit it. It can be run again on an existing database.

CREATE DATABASE IF NOT EXISTS cuspan;

-- The version of these tables. Another version is refused: create the tables in another server, or drop the database.
CREATE TABLE IF NOT EXISTS cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY ();
INSERT INTO cuspan.schema_version SELECT 1 WHERE (SELECT count() FROM cuspan.schema_version) = 0;
SELECT throwIf(min(version) != 1 OR max(version) != 1,
    'the database cuspan has another version of these tables; use another server, or drop the database')
FROM cuspan.schema_version;

-- The Collector's exporter inserts here. Nothing is stored in this table: the views below fill the others from it, with the
-- rights of the user who runs this file, so that the exporter's user needs INSERT on this table only.
CREATE TABLE IF NOT EXISTS cuspan.otel_traces
(
    Timestamp DateTime64(9),
    TraceId String,
    SpanId String,
    ParentSpanId String,
    TraceState String,
    SpanName LowCardinality(String),
    SpanKind LowCardinality(String),
    ServiceName LowCardinality(String),
    ResourceAttributes Map(LowCardinality(String), String),
    ScopeName String,
    ScopeVersion String,
    SpanAttributes Map(LowCardinality(String), String),
    Duration UInt64,
    StatusCode LowCardinality(String),
    StatusMessage String,
    `Events.Timestamp` Array(DateTime64(9)),
    `Events.Name` Array(LowCardinality(String)),
    `Events.Attributes` Array(Map(LowCardinality(String), String)),
    `Links.TraceId` Array(String),
    `Links.SpanId` Array(String),
    `Links.TraceState` Array(String),
    `Links.Attributes` Array(Map(LowCardinality(String), String))
)
ENGINE = Null;

-- One row for each span. A span that arrives twice has the same key, so merges remove it. An insert that the exporter repeats
-- is recognized among the last 10,000. When a partition has not changed for an hour, the server merges it to one part.
CREATE TABLE IF NOT EXISTS cuspan.stored_spans
(
    service LowCardinality(String) CODEC(ZSTD(1)),
    resource_id UInt64 CODEC(ZSTD(1)),
    time DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    trace_id FixedString(16) CODEC(ZSTD(1)),
    span_id UInt64 CODEC(ZSTD(1)),
    parent_id Nullable(UInt64) CODEC(ZSTD(1)),
    name LowCardinality(String) CODEC(ZSTD(1)),
    duration_ns Int64 CODEC(ZSTD(1)),
    kind_text LowCardinality(String) CODEC(ZSTD(1)),
    status_text LowCardinality(String) CODEC(ZSTD(1)),
    status_message_text LowCardinality(String) CODEC(ZSTD(1)),
    trace_state_text LowCardinality(String) CODEC(ZSTD(1)),
    scope_name LowCardinality(String) CODEC(ZSTD(1)),
    scope_version LowCardinality(String) CODEC(ZSTD(1)),
    event_times Array(DateTime64(9)) CODEC(ZSTD(1)),
    event_names Array(LowCardinality(String)) CODEC(ZSTD(1)),
    event_attributes Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    link_trace_ids Array(String) CODEC(ZSTD(1)),
    link_span_ids Array(String) CODEC(ZSTD(1)),
    link_trace_states Array(String) CODEC(ZSTD(1)),
    link_attributes Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    job LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    host LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    instance LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    pid Nullable(Int64) CODEC(ZSTD(1)),
    hw_id LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    device Nullable(Int64) CODEC(ZSTD(1)),
    rank Nullable(Int64) CODEC(ZSTD(1)),
    activity LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    api LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    kernel_full LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    error LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    context Nullable(Int64) CODEC(ZSTD(1)),
    stream Nullable(Int64) CODEC(ZSTD(1)),
    thread Nullable(Int64) CODEC(ZSTD(1)),
    thread_name LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    correlation Nullable(Int64) CODEC(Delta(8), ZSTD(1)),
    start_delay Nullable(Int64) CODEC(ZSTD(1)),
    copy_kind LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    copy_source LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    copy_target LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    copy_bytes Nullable(Int64) CODEC(ZSTD(1)),
    fill_target LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    fill_bytes Nullable(Int64) CODEC(ZSTD(1)),
    graph_node Nullable(Int64) CODEC(ZSTD(1)),
    session_spans Nullable(Int64) CODEC(ZSTD(1)),
    step Nullable(Int64) CODEC(ZSTD(1)),
    step_kind LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    step_copy Nullable(Int64) CODEC(ZSTD(1)),
    engine_name LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    engine_iteration Nullable(Int64) CODEC(ZSTD(1)),
    engine_request_end LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    collective_operation LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    collective_key Nullable(String) CODEC(ZSTD(1)),
    collective_communicator LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    collective_ranks Nullable(Int64) CODEC(ZSTD(1)),
    collective_bytes Nullable(Int64) CODEC(ZSTD(1)),
    code_function LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    code_file LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    code_line Nullable(Int64) CODEC(ZSTD(1)),
    stack_id Nullable(String) CODEC(ZSTD(1)),
    attributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    INDEX start_ns toUnixTimestamp64Nano(time) TYPE minmax GRANULARITY 1,
    INDEX trace_id trace_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toStartOfHour(time, 'UTC')
PRIMARY KEY (service, resource_id, time)
ORDER BY (service, resource_id, time, trace_id, span_id)
TTL toDateTime(time) + INTERVAL 7 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

-- In tables of an earlier release: columns that are new, null in older rows.
ALTER TABLE cuspan.stored_spans
    ADD COLUMN IF NOT EXISTS job LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS host LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS instance LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS pid Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS hw_id LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS device Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rank Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS activity LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS api LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS kernel_full LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS error LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS context Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS stream Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS thread Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS thread_name LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS correlation Nullable(Int64) CODEC(Delta(8), ZSTD(1)),
    ADD COLUMN IF NOT EXISTS start_delay Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS copy_kind LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS copy_source LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS copy_target LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS copy_bytes Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS fill_target LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS fill_bytes Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS graph_node Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS session_spans Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS step Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS step_kind LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS step_copy Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS engine_name LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS engine_iteration Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS engine_request_end LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS collective_operation LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS collective_key Nullable(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS collective_communicator LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS collective_ranks Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS collective_bytes Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS code_function LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS code_file LowCardinality(Nullable(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS code_line Nullable(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS stack_id Nullable(String) CODEC(ZSTD(1));

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.store_spans TO cuspan.stored_spans DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT
    ServiceName AS service,
    cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) AS resource_id,
    Timestamp AS time,
    toFixedString(unhex(TraceId), 16) AS trace_id,
    reinterpretAsUInt64(reverse(unhex(SpanId))) AS span_id,
    if(ParentSpanId = '', NULL, reinterpretAsUInt64(reverse(unhex(ParentSpanId)))) AS parent_id,
    SpanName AS name,
    greatest(toInt64(Duration), 0) AS duration_ns,
    SpanKind AS kind_text,
    StatusCode AS status_text,
    StatusMessage AS status_message_text,
    TraceState AS trace_state_text,
    ScopeName AS scope_name,
    ScopeVersion AS scope_version,
    `Events.Timestamp` AS event_times,
    `Events.Name` AS event_names,
    `Events.Attributes` AS event_attributes,
    `Links.TraceId` AS link_trace_ids,
    `Links.SpanId` AS link_span_ids,
    `Links.TraceState` AS link_trace_states,
    `Links.Attributes` AS link_attributes,
    coalesce(nullIf(ResourceAttributes['slurm.job.id'], ''), nullIf(ResourceAttributes['k8s.job.name'], '')) AS job,
    nullIf(ResourceAttributes['host.name'], '') AS host,
    nullIf(ResourceAttributes['service.instance.id'], '') AS instance,
    toInt64OrNull(ResourceAttributes['process.pid']) AS pid,
    nullIf(ResourceAttributes['hw.id'], '') AS hw_id,
    toInt64OrNull(ResourceAttributes['cuda.device.id']) AS device,
    toInt64OrNull(ResourceAttributes['cuda.process.rank']) AS rank,
    nullIf(SpanAttributes['cuda.activity'], '') AS activity,
    nullIf(SpanAttributes['cuda.api'], '') AS api,
    nullIf(SpanAttributes['cuda.kernel.name'], '') AS kernel_full,
    nullIf(SpanAttributes['error.type'], '') AS error,
    toInt64OrNull(SpanAttributes['cuda.context.id']) AS context,
    toInt64OrNull(SpanAttributes['cuda.stream.id']) AS stream,
    coalesce(toInt64OrNull(SpanAttributes['cuspan.thread.id']), toInt64OrNull(SpanAttributes['thread.id'])) AS thread,
    nullIf(SpanAttributes['thread.name'], '') AS thread_name,
    toInt64OrNull(SpanAttributes['cuda.correlation.id']) AS correlation,
    toInt64OrNull(SpanAttributes['cuda.start_delay']) AS start_delay,
    nullIf(SpanAttributes['cuda.memcpy.kind'], '') AS copy_kind,
    nullIf(SpanAttributes['cuda.memcpy.src_kind'], '') AS copy_source,
    nullIf(SpanAttributes['cuda.memcpy.dst_kind'], '') AS copy_target,
    toInt64OrNull(SpanAttributes['cuda.memcpy.bytes']) AS copy_bytes,
    nullIf(SpanAttributes['cuda.memset.memory_kind'], '') AS fill_target,
    toInt64OrNull(SpanAttributes['cuda.memset.bytes']) AS fill_bytes,
    toInt64OrNull(SpanAttributes['cuda.graph.node.id']) AS graph_node,
    toInt64OrNull(SpanAttributes['cuda.session.spans']) AS session_spans,
    coalesce(toInt64OrNull(SpanAttributes['training.step.number']), toInt64OrNull(SpanAttributes['cuda.step.number'])) AS step,
    coalesce(nullIf(SpanAttributes['training.step.kind'], ''), nullIf(SpanAttributes['cuda.step.kind'], '')) AS step_kind,
    coalesce(CAST(transform(SpanAttributes['training.step.copy'], ['true', 'false'], [1, 0], NULL), 'Nullable(Int64)'), CAST(transform(SpanAttributes['cuda.step.copy'], ['true', 'false'], [1, 0], NULL), 'Nullable(Int64)')) AS step_copy,
    nullIf(SpanAttributes['engine.name'], '') AS engine_name,
    toInt64OrNull(SpanAttributes['engine.iteration.number']) AS engine_iteration,
    nullIf(SpanAttributes['engine.request.end'], '') AS engine_request_end,
    coalesce(nullIf(SpanAttributes['collective.operation'], ''), nullIf(SpanAttributes['cuda.collective.operation'], '')) AS collective_operation,
    coalesce(nullIf(SpanAttributes['collective.key'], ''), nullIf(SpanAttributes['cuda.collective.key'], '')) AS collective_key,
    coalesce(nullIf(SpanAttributes['collective.communicator'], ''), nullIf(SpanAttributes['cuda.collective.communicator'], '')) AS collective_communicator,
    coalesce(toInt64OrNull(SpanAttributes['collective.ranks']), toInt64OrNull(SpanAttributes['cuda.collective.ranks'])) AS collective_ranks,
    coalesce(toInt64OrNull(SpanAttributes['collective.bytes']), toInt64OrNull(SpanAttributes['cuda.collective.bytes'])) AS collective_bytes,
    nullIf(SpanAttributes['code.function.name'], '') AS code_function,
    nullIf(SpanAttributes['code.file.path'], '') AS code_file,
    toInt64OrNull(SpanAttributes['code.line.number']) AS code_line,
    nullIf(SpanAttributes['cuspan.stack.id'], '') AS stack_id,
    mapFilter((key, value) -> NOT ((value != '' AND key IN (
        'cuda.activity', 'cuda.api', 'cuda.kernel.name', 'error.type', 'thread.name', 'cuda.memcpy.kind',
        'cuda.memcpy.src_kind', 'cuda.memcpy.dst_kind', 'cuda.memset.memory_kind', 'training.step.kind',
        'cuda.step.kind', 'engine.name', 'engine.request.end', 'collective.operation',
        'cuda.collective.operation', 'collective.key', 'cuda.collective.key', 'collective.communicator',
        'cuda.collective.communicator', 'code.function.name', 'code.file.path', 'cuspan.stack.id'))
    OR (key IN (
        'cuda.context.id', 'cuda.stream.id', 'cuspan.thread.id', 'thread.id', 'cuda.correlation.id',
        'cuda.start_delay', 'cuda.memcpy.bytes', 'cuda.memset.bytes', 'cuda.graph.node.id',
        'cuda.session.spans', 'training.step.number', 'cuda.step.number', 'engine.iteration.number',
        'collective.ranks', 'cuda.collective.ranks', 'collective.bytes', 'cuda.collective.bytes',
        'code.line.number')
    AND toInt64OrNull(value) IS NOT NULL)
    OR (key IN ('training.step.copy', 'cuda.step.copy') AND value IN ('true', 'false'))), SpanAttributes) AS attributes
FROM cuspan.otel_traces;

-- The same in the view of an earlier release.
ALTER TABLE cuspan.store_spans MODIFY QUERY
SELECT
    ServiceName AS service,
    cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) AS resource_id,
    Timestamp AS time,
    toFixedString(unhex(TraceId), 16) AS trace_id,
    reinterpretAsUInt64(reverse(unhex(SpanId))) AS span_id,
    if(ParentSpanId = '', NULL, reinterpretAsUInt64(reverse(unhex(ParentSpanId)))) AS parent_id,
    SpanName AS name,
    greatest(toInt64(Duration), 0) AS duration_ns,
    SpanKind AS kind_text,
    StatusCode AS status_text,
    StatusMessage AS status_message_text,
    TraceState AS trace_state_text,
    ScopeName AS scope_name,
    ScopeVersion AS scope_version,
    `Events.Timestamp` AS event_times,
    `Events.Name` AS event_names,
    `Events.Attributes` AS event_attributes,
    `Links.TraceId` AS link_trace_ids,
    `Links.SpanId` AS link_span_ids,
    `Links.TraceState` AS link_trace_states,
    `Links.Attributes` AS link_attributes,
    coalesce(nullIf(ResourceAttributes['slurm.job.id'], ''), nullIf(ResourceAttributes['k8s.job.name'], '')) AS job,
    nullIf(ResourceAttributes['host.name'], '') AS host,
    nullIf(ResourceAttributes['service.instance.id'], '') AS instance,
    toInt64OrNull(ResourceAttributes['process.pid']) AS pid,
    nullIf(ResourceAttributes['hw.id'], '') AS hw_id,
    toInt64OrNull(ResourceAttributes['cuda.device.id']) AS device,
    toInt64OrNull(ResourceAttributes['cuda.process.rank']) AS rank,
    nullIf(SpanAttributes['cuda.activity'], '') AS activity,
    nullIf(SpanAttributes['cuda.api'], '') AS api,
    nullIf(SpanAttributes['cuda.kernel.name'], '') AS kernel_full,
    nullIf(SpanAttributes['error.type'], '') AS error,
    toInt64OrNull(SpanAttributes['cuda.context.id']) AS context,
    toInt64OrNull(SpanAttributes['cuda.stream.id']) AS stream,
    coalesce(toInt64OrNull(SpanAttributes['cuspan.thread.id']), toInt64OrNull(SpanAttributes['thread.id'])) AS thread,
    nullIf(SpanAttributes['thread.name'], '') AS thread_name,
    toInt64OrNull(SpanAttributes['cuda.correlation.id']) AS correlation,
    toInt64OrNull(SpanAttributes['cuda.start_delay']) AS start_delay,
    nullIf(SpanAttributes['cuda.memcpy.kind'], '') AS copy_kind,
    nullIf(SpanAttributes['cuda.memcpy.src_kind'], '') AS copy_source,
    nullIf(SpanAttributes['cuda.memcpy.dst_kind'], '') AS copy_target,
    toInt64OrNull(SpanAttributes['cuda.memcpy.bytes']) AS copy_bytes,
    nullIf(SpanAttributes['cuda.memset.memory_kind'], '') AS fill_target,
    toInt64OrNull(SpanAttributes['cuda.memset.bytes']) AS fill_bytes,
    toInt64OrNull(SpanAttributes['cuda.graph.node.id']) AS graph_node,
    toInt64OrNull(SpanAttributes['cuda.session.spans']) AS session_spans,
    coalesce(toInt64OrNull(SpanAttributes['training.step.number']), toInt64OrNull(SpanAttributes['cuda.step.number'])) AS step,
    coalesce(nullIf(SpanAttributes['training.step.kind'], ''), nullIf(SpanAttributes['cuda.step.kind'], '')) AS step_kind,
    coalesce(CAST(transform(SpanAttributes['training.step.copy'], ['true', 'false'], [1, 0], NULL), 'Nullable(Int64)'), CAST(transform(SpanAttributes['cuda.step.copy'], ['true', 'false'], [1, 0], NULL), 'Nullable(Int64)')) AS step_copy,
    nullIf(SpanAttributes['engine.name'], '') AS engine_name,
    toInt64OrNull(SpanAttributes['engine.iteration.number']) AS engine_iteration,
    nullIf(SpanAttributes['engine.request.end'], '') AS engine_request_end,
    coalesce(nullIf(SpanAttributes['collective.operation'], ''), nullIf(SpanAttributes['cuda.collective.operation'], '')) AS collective_operation,
    coalesce(nullIf(SpanAttributes['collective.key'], ''), nullIf(SpanAttributes['cuda.collective.key'], '')) AS collective_key,
    coalesce(nullIf(SpanAttributes['collective.communicator'], ''), nullIf(SpanAttributes['cuda.collective.communicator'], '')) AS collective_communicator,
    coalesce(toInt64OrNull(SpanAttributes['collective.ranks']), toInt64OrNull(SpanAttributes['cuda.collective.ranks'])) AS collective_ranks,
    coalesce(toInt64OrNull(SpanAttributes['collective.bytes']), toInt64OrNull(SpanAttributes['cuda.collective.bytes'])) AS collective_bytes,
    nullIf(SpanAttributes['code.function.name'], '') AS code_function,
    nullIf(SpanAttributes['code.file.path'], '') AS code_file,
    toInt64OrNull(SpanAttributes['code.line.number']) AS code_line,
    nullIf(SpanAttributes['cuspan.stack.id'], '') AS stack_id,
    mapFilter((key, value) -> NOT ((value != '' AND key IN (
        'cuda.activity', 'cuda.api', 'cuda.kernel.name', 'error.type', 'thread.name', 'cuda.memcpy.kind',
        'cuda.memcpy.src_kind', 'cuda.memcpy.dst_kind', 'cuda.memset.memory_kind', 'training.step.kind',
        'cuda.step.kind', 'engine.name', 'engine.request.end', 'collective.operation',
        'cuda.collective.operation', 'collective.key', 'cuda.collective.key', 'collective.communicator',
        'cuda.collective.communicator', 'code.function.name', 'code.file.path', 'cuspan.stack.id'))
    OR (key IN (
        'cuda.context.id', 'cuda.stream.id', 'cuspan.thread.id', 'thread.id', 'cuda.correlation.id',
        'cuda.start_delay', 'cuda.memcpy.bytes', 'cuda.memset.bytes', 'cuda.graph.node.id',
        'cuda.session.spans', 'training.step.number', 'cuda.step.number', 'engine.iteration.number',
        'collective.ranks', 'cuda.collective.ranks', 'collective.bytes', 'cuda.collective.bytes',
        'code.line.number')
    AND toInt64OrNull(value) IS NOT NULL)
    OR (key IN ('training.step.copy', 'cuda.step.copy') AND value IN ('true', 'false'))), SpanAttributes) AS attributes
FROM cuspan.otel_traces;

-- One row for each process and each of its devices.
CREATE TABLE IF NOT EXISTS cuspan.stored_resources
(
    resource_id UInt64,
    last_seen DateTime,
    resource_attributes Map(LowCardinality(String), String) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(last_seen)
ORDER BY resource_id
TTL last_seen + INTERVAL 8 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.store_resources TO cuspan.stored_resources DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) AS resource_id,
    max(toDateTime(Timestamp)) AS last_seen, any(ResourceAttributes) AS resource_attributes
FROM cuspan.otel_traces
GROUP BY resource_id;

-- The columns of docs/fleet-schema.md, and the start as a time. FINAL leaves out repeated spans of partitions that are not merged to one part yet.
CREATE OR REPLACE VIEW cuspan.spans AS
SELECT
    resource_id,
    nullIf(service, '') AS service_name,
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
    name,
    activity,
    api,
    kernel_full,
    toUnixTimestamp64Nano(time) AS start_ns,
    duration_ns,
    CAST(transform(kind_text, ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], [1, 2, 3, 4, 5], NULL), 'Nullable(Int64)') AS span_kind,
    CAST(transform(status_text, ['Ok', 'Error'], [1, 2], NULL), 'Nullable(Int64)') AS status,
    nullIf(status_message_text, '') AS status_message,
    error,
    context,
    stream,
    thread,
    thread_name,
    correlation,
    start_delay,
    copy_kind,
    copy_source,
    copy_target,
    copy_bytes,
    fill_target,
    fill_bytes,
    graph_node,
    session_spans,
    step,
    step_kind,
    step_copy,
    engine_name,
    engine_iteration,
    engine_request_end,
    collective_operation,
    collective_key,
    collective_communicator,
    collective_ranks,
    collective_bytes,
    code_function,
    code_file,
    code_line,
    stack_id,
    CAST(NULL, 'Nullable(Int64)') AS flags,
    nullIf(trace_state_text, '') AS trace_state,
    if(scope_name = '' AND scope_version = '', NULL, toJSONString(mapFilter((key, value) -> value != '',
        map('name', toString(scope_name), 'version', toString(scope_version))))) AS scope,
    CAST(NULL, 'Nullable(Int64)') AS dropped_attributes,
    CAST(NULL, 'Nullable(Int64)') AS dropped_events,
    CAST(NULL, 'Nullable(Int64)') AS dropped_links,
    attributes,
    CAST(NULL, 'Nullable(String)') AS attribute_types,
    if(empty(event_names), NULL, toJSONString(arrayMap((time_ns, name, attributes) ->
        CAST((toUnixTimestamp64Nano(time_ns), name, attributes),
            'Tuple(time_ns Int64, name String, attributes Map(String, String))'),
        event_times, event_names, event_attributes))) AS events,
    if(empty(link_trace_ids), NULL, toJSONString(arrayMap((trace_id, span_id, trace_state, attributes) ->
        CAST((trace_id, span_id, trace_state, attributes),
            'Tuple(trace_id String, span_id String, trace_state String, attributes Map(String, String))'),
        link_trace_ids, link_span_ids, link_trace_states, link_attributes))) AS links,
    time
FROM cuspan.stored_spans FINAL;

-- For the dashboards: what `cuspan fleet` derives from the columns. class: kernel, copy, fill, gpu (other work), comm
-- (collectives), call, span.
CREATE OR REPLACE VIEW cuspan.dashboard_spans AS
SELECT *, start_ns + least(duration_ns, 9223372036854775807 - start_ns) AS end_ns,
    coalesce(error, CASE WHEN status = 2 THEN status_message END) AS error_text,
    CASE WHEN device IS NOT NULL OR (stream IS NOT NULL AND CASE WHEN activity = 'collective' THEN 'comm' WHEN (position(activity, 'kernel') > 0) THEN 'kernel' WHEN (position(activity, 'memcpy') > 0) OR (position(activity, 'copy') > 0) THEN 'copy' WHEN (position(activity, 'memset') > 0) OR (position(activity, 'fill') > 0) THEN 'fill' ELSE 'gpu' END <> 'gpu') THEN CASE WHEN activity = 'collective' THEN 'comm' WHEN (position(activity, 'kernel') > 0) THEN 'kernel' WHEN (position(activity, 'memcpy') > 0) OR (position(activity, 'copy') > 0) THEN 'copy' WHEN (position(activity, 'memset') > 0) OR (position(activity, 'fill') > 0) THEN 'fill' ELSE 'gpu' END WHEN api IS NOT NULL THEN 'call' ELSE 'span' END AS class,
    CASE WHEN rank IS NULL AND pid IS NULL THEN coalesce(nullif(CASE WHEN startsWith(service_name, 'unknown_service:') THEN substring(service_name, 17) WHEN startsWith(service_name, 'unknown_service') THEN '' ELSE service_name END, ''), host, '') ELSE CASE WHEN rank IS NOT NULL THEN 'rank ' || toString(rank) ELSE coalesce(nullif(CASE WHEN startsWith(service_name, 'unknown_service:') THEN substring(service_name, 17) WHEN startsWith(service_name, 'unknown_service') THEN '' ELSE service_name END, ''), 'process') || ' ' || toString(pid) END || CASE WHEN rank IS NOT NULL AND coalesce(CASE WHEN startsWith(service_name, 'unknown_service:') THEN substring(service_name, 17) WHEN startsWith(service_name, 'unknown_service') THEN '' ELSE service_name END, '') <> '' THEN ' (' || coalesce(nullif(host, '') || ', ', '') || CASE WHEN startsWith(service_name, 'unknown_service:') THEN substring(service_name, 17) WHEN startsWith(service_name, 'unknown_service') THEN '' ELSE service_name END || ')' WHEN coalesce(host, '') <> '' THEN ' (' || host || ')' ELSE '' END END AS process
FROM cuspan.spans
WHERE step_copy IS NULL;

CREATE OR REPLACE VIEW cuspan.resources AS
SELECT
    resource_id,
    nullIf(resource_attributes['service.name'], '') AS service_name,
    coalesce(nullIf(resource_attributes['slurm.job.id'], ''), nullIf(resource_attributes['k8s.job.name'], '')) AS job,
    nullIf(resource_attributes['host.name'], '') AS host,
    nullIf(resource_attributes['service.instance.id'], '') AS instance,
    toInt64OrNull(resource_attributes['process.pid']) AS pid,
    nullIf(resource_attributes['hw.id'], '') AS hw_id,
    toInt64OrNull(resource_attributes['cuda.device.id']) AS device,
    nullIf(resource_attributes['hw.name'], '') AS device_name,
    toInt64OrNull(resource_attributes['cuda.process.rank']) AS rank,
    resource_attributes AS attributes,
    CAST(NULL, 'Nullable(String)') AS attribute_types
FROM cuspan.stored_resources FINAL;
