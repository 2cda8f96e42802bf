"""The SQL that all questions share, and what differs between the engines.

A question is one file, written once. It calls the functions below, which become the SQL of the engine, and the words
that start with @. Values of users are parameters, $name. Nothing that a user or a span says enters a query's text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cuspan.fleet._columns import KEYS

# The same for all engines. {0} is the first argument, {all} are all of them.
_COMMON = {
    "work_of": """CASE WHEN {0} = 'collective' THEN 'comm' WHEN has_text({0}, 'kernel') THEN 'kernel'
        WHEN has_text({0}, 'memcpy') OR has_text({0}, 'copy') THEN 'copy'
        WHEN has_text({0}, 'memset') OR has_text({0}, 'fill') THEN 'fill' ELSE 'gpu' END""",
    "known_service": """CASE WHEN begins_with({0}, 'unknown_service:') THEN substring({0}, 17)
        WHEN begins_with({0}, 'unknown_service') THEN '' ELSE {0} END""",
    "process_of": """CASE WHEN rank IS NULL AND pid IS NULL
        THEN coalesce(nullif(known_service(service_name), ''), host, '')
        ELSE CASE WHEN rank IS NOT NULL THEN 'rank ' || text_of(rank)
            ELSE coalesce(nullif(known_service(service_name), ''), 'process') || ' ' || text_of(pid) END
        || CASE WHEN rank IS NOT NULL AND coalesce(known_service(service_name), '') <> ''
            THEN ' (' || coalesce(nullif(host, '') || ', ', '') || known_service(service_name) || ')'
            WHEN coalesce(host, '') <> '' THEN ' (' || host || ')' ELSE '' END
        END""",
    # The middle of a logarithmic bucket of 1 %, for quantiles of very many distinct values.
    "bucket": """CASE WHEN {0} < 1 THEN {0}
        ELSE CAST(round(pow(1.01, floor(ln({0}) / ln(1.01)) + 0.5)) AS BIGINT) END""",
    "nearest_rank": "quotient({0} * {1} + 99, 100)",
    "clamp": "least(greatest({0}, {1}), {2})",
}
# quantiles_of(COLUMNS) defines values_of, one row for each key of `picked`, which has the columns key and value: the number of values,
# their sum, mean, quantiles and extremes, and the given columns, which are aggregates. In DuckDB by counted values, which is exact and
# merges; up to $distinct_max distinct values of a key.
_QUANTILES = """counted AS MATERIALIZED (
    SELECT key, value, count(*) AS n FROM picked GROUP BY key, value
),
sized AS (
    SELECT key, value, n, count(*) OVER (PARTITION BY key) AS distinct_values FROM counted
),
bins AS (
    SELECT key, CASE WHEN distinct_values > $distinct_max THEN bucket(value) ELSE value END AS bin, sum(n) AS n,
        sum(wide(value) * n) AS total, min(value) AS least_value, max(value) AS most_value,
        max(distinct_values) AS distinct_values
    FROM sized GROUP BY 1, 2
),
ranked AS (
    SELECT key, bin, n, total, least_value, most_value, distinct_values,
        sum(n) OVER (PARTITION BY key ORDER BY bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto,
        sum(n) OVER (PARTITION BY key) AS rows_of_key
    FROM bins
),
statistics AS (
    SELECT key, CAST(sum(n) AS BIGINT) AS count, sum(total) AS total,
        quotient(sum(total), CAST(sum(n) AS BIGINT)) AS mean,
        clamp(min(bin) FILTER (WHERE upto >= nearest_rank(rows_of_key, 50)), min(least_value), max(most_value))
            AS median,
        clamp(min(bin) FILTER (WHERE upto >= nearest_rank(rows_of_key, 99)), min(least_value), max(most_value)) AS p99,
        min(least_value) AS least_value, max(most_value) AS most_value, max(distinct_values) > $distinct_max AS is_rough
    FROM ranked GROUP BY key
),
names AS (
    SELECT key, {all} FROM picked GROUP BY key
),
values_of AS (
    SELECT * FROM statistics JOIN names USING (key)
)"""
# In ClickHouse always exact, and in one scan.
_EXACT_QUANTILES = """values_of AS (
    SELECT key, CAST(count(*) AS BIGINT) AS count, sum(value) AS total, quotient(sum(value), CAST(count(*) AS BIGINT)) AS mean,
        quantileExactWeighted(0.5)(value, 1) AS median, quantileExactWeighted(0.99)(value, 1) AS p99,
        min(value) AS least_value, max(value) AS most_value, false AS is_rough, {all}
    FROM picked GROUP BY key
)"""
_DUCKDB = {
    "quantiles_of": _QUANTILES,
    "quotient": "(({0}) // ({1}))",
    "text_of": "CAST({0} AS VARCHAR)",
    "number_of": "TRY_CAST({0} AS BIGINT)",
    "attribute": "nullif(attributes[{0}], '')",
    "has_text": "contains({0}, {1})",
    "begins_with": "starts_with({0}, {1})",
    "among": "list_contains({1}, {0})",
    "place_in": "list_position({1}, {0})",
    "element": "({0})[{1}]",
    "hash_of": "hash({all})",
    "wide": "CAST({0} AS HUGEINT)",
    "day_of": "strftime(make_timestamp({0} // 1000), '%Y-%m-%d')",
    "hour_of": "strftime(make_timestamp({0} // 1000), '%Y-%m-%d %H:00')",
    "at_least": "arg_min({0}, {1})",
    "at_most": "arg_max({0}, {1})",
    "middle": "quantile_cont({0}, 0.5)",
    "median_of": "list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL))[nearest_rank(count({0}), 50)]",
    "p99_of": "list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL))[nearest_rank(count({0}), 99)]",
    "sorted_of": "list_sort(list({0}))",
    # Running maxima without a sort by the window, which takes most of the time: rows are in order already.
    "previous": "lag({0}) OVER ()",
    "most_before": "max({0}) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
}
_CLICKHOUSE = {
    "quantiles_of": _EXACT_QUANTILES,
    "quotient": "intDiv({0}, {1})",
    "text_of": "toString({0})",
    "number_of": "toInt64OrNull({0})",
    "attribute": "nullIf(attributes[{0}], '')",
    "has_text": "(position({0}, {1}) > 0)",
    "begins_with": "startsWith({0}, {1})",
    "among": "has({1}, {0})",
    "place_in": "indexOf({1}, {0})",
    "element": "arrayElement({0}, {1})",
    "hash_of": "sipHash64(tuple({all}))",
    "wide": "({0})",
    "day_of": "formatDateTime(fromUnixTimestamp64Nano({0}, 'UTC'), '%Y-%m-%d')",
    "hour_of": "formatDateTime(fromUnixTimestamp64Nano({0}, 'UTC'), '%Y-%m-%d %H:00')",
    "at_least": "argMin({0}, {1})",
    "at_most": "argMax({0}, {1})",
    "middle": "quantileExactInclusive(0.5)({0})",
    "median_of": "quantileExactWeighted(0.5)({0}, 1)",
    "p99_of": "quantileExactWeighted(0.99)({0}, 1)",
    "sorted_of": "arraySort(groupArray({0}))",
    "previous": "{0}",
    "most_before": "max({0}) OVER (ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
}


GROUPS = {
    "service": "coalesce(service_name, '(no service)')",
    "job": "coalesce(job, '(no job)')",
    "host": "coalesce(host, '(no host)')",
    "gpu": "coalesce(hw_id, text_of(device), '(no gpu)')",
    "rank": "coalesce(text_of(rank), '(no rank)')",
    "process": "process",
    "day": "day_of(start_ns)",
    "hour": "hour_of(start_ns)",
    "release": "coalesce(by_value, '(no release)')",
}
RELEASE = "service.version"
# By an attribute of the span or its resource, whose key is the parameter $by_key.
_BY_KEY = "coalesce({}, by_value, '(no ' || $by_key || ')')"
_BY_VALUES = """by_values AS @inline (
    SELECT resource_id AS by_resource, any_value(attribute($by_key)) AS by_value FROM @resources GROUP BY resource_id
),"""


def key_of(by: str | None) -> str | None:
    """The key of the attribute that groups spans; None: something else does."""
    return RELEASE if by == "release" else by if by and by not in GROUPS else None


def _group_of(by: str | None) -> str:
    if not by:
        return "''"
    if by in GROUPS:
        return GROUPS[by]
    column = KEYS.get(by)
    return _BY_KEY.format(f"text_of({column})" if column else "attribute($by_key)")


_FILTERS = {
    "since": "start_ns >= $since",
    "until": "start_ns < $until",
    "service": "service_name = $service",
    "job": "job = $job",
    "host": "host = $host",
    "gpu": "(hw_id = $gpu OR text_of(device) = $gpu)",
    "rank": "rank = $rank",
    "release": "resource_id IN (SELECT resource_id FROM @resources WHERE attributes['service.version'] = $release)",
}
# As the columns of the spans say. Questions about one kind use the simple conditions, because engines apply these to
# dictionaries and statistics of the files.
_CLASS = """CASE WHEN device IS NOT NULL OR (stream IS NOT NULL AND work_of(activity) <> 'gpu') THEN work_of(activity)
    WHEN api IS NOT NULL THEN 'call' ELSE 'span' END"""
_IS_WORK = """((device IS NOT NULL OR (stream IS NOT NULL AND work_of(activity) <> 'gpu'))
    AND coalesce(activity <> 'collective', true))"""
_IS_KERNEL = "((device IS NOT NULL OR stream IS NOT NULL) AND coalesce(has_text(activity, 'kernel'), false))"
_IS_MOVE = """((device IS NOT NULL OR stream IS NOT NULL) AND coalesce(NOT has_text(activity, 'kernel') AND (
    has_text(activity, 'copy') OR has_text(activity, 'memcpy') OR has_text(activity, 'memset')
    OR has_text(activity, 'fill')), false))"""
_IS_CALL = "(api IS NOT NULL AND device IS NULL AND (stream IS NULL OR work_of(activity) = 'gpu'))"
RESOURCES = """resources AS @inline (
    SELECT *, process_of() AS process FROM @resources
    QUALIFY row_number() OVER (PARTITION BY resource_id ORDER BY resource_id) = 1
)"""
# The time of each rank's step on its GPU, and the time that its host works for the step, as src/analysis/ranks/ranks_steps.c
# counts it: up to the end of the last call, without calls that wait for the GPU, and without what other calls block beyond 50 us.
# It is unknown for steps without all of their calls.
_STEP_TIMES = """
rank_steps AS @once (
    SELECT grp, trace_id, step, coalesce(nullif(step_kind, 'train'), '') AS kind, coalesce(instance, process) AS who, process,
        coalesce(rank, 0) AS rank, host, start_ns, duration_ns, number_of(attribute('training.step.gpu_backlog')) AS backlog_ns,
        attribute('cuda.session.end_reason') AS reason, number_of(attribute('training.step.exposed_time')) AS exposed_ns,
        coalesce(number_of(attribute('training.step.left_out')), 0) AS left_out
    FROM spans WHERE step IS NOT NULL AND NOT begins_with(name, 'step ')
),
call_times AS @once (
    SELECT grp, trace_id, coalesce(instance, process) AS who, max(end_ns) AS until_ns,
        sum(CASE WHEN has_text(name, 'Synchronize') THEN duration_ns ELSE greatest(duration_ns - 50000, 0) END) AS blocked_ns
    FROM spans WHERE class = 'call' AND trace_id IN (SELECT trace_id FROM rank_steps) GROUP BY grp, trace_id, coalesce(instance, process)
),
step_times AS @once (
    SELECT rank_steps.grp AS grp, rank_steps.trace_id AS trace_id, step, kind, rank_steps.who AS who, process, rank, host, backlog_ns,
        reason, exposed_ns, left_out, greatest(duration_ns - coalesce(backlog_ns, 0), 0) AS duration_ns,
        CASE WHEN backlog_ns IS NULL OR left_out > 0 THEN 0
            ELSE greatest(coalesce(until_ns - start_ns - blocked_ns, 0), 0) END AS host_ns
    FROM rank_steps LEFT JOIN call_times ON call_times.grp = rank_steps.grp AND call_times.trace_id = rank_steps.trace_id
        AND call_times.who = rank_steps.who
)"""


@dataclass(frozen=True)
class Dialect:
    """An engine's names of functions, and the words that start with @."""

    functions: dict[str, str]
    words: dict[str, str]
    settings: dict[str, str]  # with which SQL means the same as in DuckDB


DUCKDB = Dialect(
    {**_COMMON, **_DUCKDB},
    {
        "spans": "read_parquet($files, hive_partitioning = false, union_by_name = $by_name)",
        "earlier_spans": "read_parquet($earlier_files, hive_partitioning = false, union_by_name = $by_name)",
        "resources": "read_parquet($resource_files, hive_partitioning = false, union_by_name = $by_name)",
        "step_times": _STEP_TIMES.strip(),
        "once": "MATERIALIZED",
        "inline": "NOT MATERIALIZED",
    },
    {},
)
CLICKHOUSE = Dialect(
    {**_COMMON, **_CLICKHOUSE},
    {
        "spans": "{database:Identifier}.spans",
        "earlier_spans": "{database:Identifier}.spans",
        "resources": "{database:Identifier}.resources",
        "step_times": _STEP_TIMES.strip(),
        "once": "",
        "inline": "",
    },
    {
        "prefer_column_name_to_alias": "1",
        "join_use_nulls": "1",
        "aggregate_functions_null_for_empty": "1",
        "transform_null_in": "0",
        "union_default_mode": "ALL",
    },
)


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    """Those of the call whose parenthesis opens at `at`, and where it ends."""
    found, begin, depth, is_quoted = [], at + 1, 0, False
    for i in range(at, len(text)):
        character = text[i]
        if character == "'":
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        if depth == 0 or (depth == 1 and character == ","):
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            return found, i + 1
    raise ValueError(f"no end of a call: {text[at : at + 40]}")


def expand(text: str, dialect: Dialect) -> str:
    """The text in the engine's SQL."""
    while re.search(r"@\w", text):  # words can stand for others
        text = re.sub(r"@(\w+)", lambda found: dialect.words[found.group(1)], text)
    call = re.compile(rf"\b({'|'.join(dialect.functions)})\(")
    parts, at = [], 0
    while found := call.search(text, at):
        arguments, end = _arguments(text, found.end() - 1)
        arguments = [expand(argument, dialect) for argument in arguments]
        template = expand(dialect.functions[found.group(1)], dialect)  # functions of it are those of this table, too
        parts += [text[at : found.start()], template.format(*arguments, all=", ".join(arguments))]
        at = end
    return "".join([*parts, text[at:]])


def view(by: str | None, distinct: bool, filters: Iterable[str]) -> str:
    """The common table expressions `spans` and `resources`. The filters' values are parameters of their names. Spans of
    a rank's step that are repeated for the step of all ranks do not count."""
    conditions = ["step_copy IS NULL", *(_FILTERS[name] for name in filters)]
    once = "QUALIFY row_number() OVER (PARTITION BY trace_id, span_id ORDER BY start_ns) = 1" if distinct else ""
    values, join = "", ""
    if key_of(by):
        values, join = _BY_VALUES, "LEFT JOIN by_values ON by_values.by_resource = all_spans.resource_id"
    return f"""
{values}
all_spans AS @inline (
    SELECT *, start_ns + least(duration_ns, 9223372036854775807 - start_ns) AS end_ns,
        process_of() AS process, {_CLASS} AS class,
        coalesce(error, CASE WHEN status = 2 THEN status_message END) AS error_text
    FROM @spans
    WHERE {" AND ".join(conditions)}
    {once}
),
spans AS @inline (
    SELECT *, {_group_of(by)} AS grp, {_IS_WORK} AS is_work, {_IS_KERNEL} AS is_kernel,
        {_IS_MOVE} AS is_move, {_IS_CALL} AS is_call
    FROM all_spans {join}
),
{RESOURCES}"""


def question(sql: str, by: str | None, distinct: bool, filters: Iterable[str], dialect: Dialect) -> str:
    """The query of a question."""
    separator = ",\n" if re.match(r"\s*(@\w+,|\w+ AS (@\w+ )?\()", sql) else "\n"
    return expand(f"WITH {view(by, distinct, filters)}{separator}{sql}", dialect)
