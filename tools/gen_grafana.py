#!/usr/bin/env python3
"""Generates the Grafana dashboards in deploy/fleet/grafana/dashboards from the panels below.

    tools/gen_grafana.py             writes them
    tools/gen_grafana.py --check     fails and prints the difference if one of them is out of date

Values of variables reach SQL in one form only: percent-encoded within quotes, as the argument of decodeURLComponent(). All other
forms of Grafana leave a backslash as it is, which ends a string of ClickHouse early. tests/fleet/dashboards_test.py runs all
queries."""

import difflib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from cuspan.fleet import _fleet, _sql  # noqa: E402

FOLDER = ROOT / "deploy/fleet/grafana/dashboards"
SOURCE = {"type": "grafana-clickhouse-datasource", "uid": "cuspan"}
TABLE, SERIES, TRACE = 1, 0, 3  # of the plugin
WIDTH = 24
ROWS = 200  # of a table
# Traces with a session of cuspan or an iteration of an engine, which are no requests.
SESSIONS = """(
    SELECT trace_id, session_spans, engine_iteration FROM cuspan.stored_spans WHERE time > $__fromTime - INTERVAL 1 DAY AND time <= $__toTime
)"""
DIALECT = replace(_sql.CLICKHOUSE, words=_sql.CLICKHOUSE.words | {"resources": "cuspan.resources", "earlier_spans": SESSIONS})


def literal(parameter):
    return f"[{', '.join(repr(each) for each in parameter)}]" if isinstance(parameter, list) else str(parameter)


# Of questions, and columns of theirs that Grafana shows in a form of its own.
PARAMETERS = {name: literal(each) for name, each in {**_fleet.call_lists(), "distinct_max": _fleet.DISTINCT_MAX, "top": ROWS}.items()}
EXPRESSIONS = {"start": "fromUnixTimestamp64Nano(start_unix_ns) AS start"}


def value(name):
    return f"decodeURLComponent('${{{name}:percentencode}}')"


def chosen(name, column):
    """All spans if nothing or * is chosen."""
    return f"({value(name)} IN ('', '*') OR {column} = {value(name)})"


FILTERS = {
    "service": chosen("service", "service_name"),
    "host": chosen("host", "host"),
    "job": chosen("job", "job"),
    "gpu": chosen("gpu", "hw_id"),
}
WORK = "class IN ('kernel', 'copy', 'fill', 'gpu')"
KINDS = f"{WORK} AS is_work, class = 'kernel' AS is_kernel, class IN ('copy', 'fill') AS is_move, class = 'call' AS is_call"


def spans(names, *conditions):
    """The spans of the time range, of the variables and of these conditions. A query of its own, because a name that a query
    gives to a column of its answer also counts in its WHERE."""
    filters = "\n        AND ".join(["$__timeFilter(time)", *(FILTERS[name] for name in names), *conditions])
    return f"FROM\n    (\n        SELECT * FROM cuspan.dashboard_spans\n        WHERE {filters}\n    ) AS spans"


# ---- Queries. Those with the name of a question have the rows of `cuspan fleet`. ----------------------------------


def count_of(what, names, *conditions):
    return f"SELECT {what} AS value\n{spans(names, *conditions)}"


def busy_over_time(names, label, each):
    """The share of each interval in which a GPU has any work. A span is divided at the ends of intervals."""
    return f"""WITH toInt64($__interval_s) * 1000000000 AS step_ns,
parts AS (
    SELECT {label} AS label, {each} AS each,
        toInt64(arrayJoin(range(toUInt64(intDiv(start_ns, step_ns)), toUInt64(intDiv(greatest(end_ns - 1, start_ns), step_ns)) + 1)))
            AS number,
        greatest(start_ns, number * step_ns) AS from_ns, least(end_ns, (number + 1) * step_ns) AS to_ns
    {spans(names, WORK)}
),
busy AS (
    SELECT label, each, number, intervalLengthSum(from_ns, to_ns) AS busy_ns FROM parts GROUP BY label, each, number
),
found AS (
    SELECT label, uniqExact(each) AS each_count FROM busy GROUP BY label
)
SELECT toDateTime(intDiv(number * step_ns, 1000000000)) AS time, busy.label AS label,
    sum(busy_ns) / (step_ns * any(each_count)) AS utilization
FROM busy JOIN found ON found.label = busy.label
GROUP BY number, busy.label
ORDER BY time, label"""


def latency_over_time(names):
    return f"""SELECT $__timeInterval(time) AS time, quantileExactWeighted(0.5)(greatest(start_delay, 0), 1) AS median,
    quantileExactWeighted(0.99)(greatest(start_delay, 0), 1) AS p99
FROM (SELECT spans.time AS time, start_delay {spans(names, WORK, "start_delay IS NOT NULL")})
GROUP BY time
ORDER BY time"""


def rate(names, label, what, *conditions):
    return f"""SELECT $__timeInterval(time) AS time, label, sum(value) / $__interval_s AS rate
FROM (SELECT spans.time AS time, {label} AS label, {what} AS value {spans(names, *conditions)})
GROUP BY time, label
ORDER BY time, label"""


def with_spans(names, body):
    """A query of the language of `cuspan fleet`, whose spans are those of the range of time and of the variables."""
    resources = f"{_sql.RESOURCES},\n" if re.search(r"\bresources\b", body) else ""
    text = f"""WITH spans AS @inline (
    SELECT *, '' AS grp, {KINDS}
    {spans(names)}
),
{resources}{body}"""
    return re.sub(r"\$(\w+)", lambda found: PARAMETERS.get(found.group(1), found.group()), _sql.expand(text, DIALECT))


def of_question(name, names, columns):
    """The rows of a question of `cuspan fleet`, from the same text, with these columns."""
    asked = _fleet.questions()[name]
    chosen = ", ".join(EXPRESSIONS.get(column, f"`{column}`") for column in columns)
    order = f"{asked.order}{'' if asked.is_ascending else ' DESC'}"
    return f"""SELECT {chosen}
FROM (
{with_spans(names, asked.sql)}
)
ORDER BY {order}
LIMIT {ROWS}
SETTINGS {", ".join(f"{name} = '{value}'" for name, value in DIALECT.settings.items())}"""


def step_times(names):
    body = with_spans(names, "@step_times")
    return f"""{body}
SELECT fromUnixTimestamp64Nano(start_ns) AS time, process AS label, greatest(duration_ns - coalesce(backlog_ns, 0), 0) AS duration
FROM rank_steps WHERE kind = ''
ORDER BY time
LIMIT 20000"""


def request_times(names):
    return f"""SELECT $__timeInterval(time) AS time, quantileExactWeighted(0.5)(wall_ns, 1) AS median,
    quantileExactWeighted(0.99)(wall_ns, 1) AS p99, max(wall_ns) AS max
FROM
(
    SELECT fromUnixTimestamp64Nano(min(start_ns)) AS time, max(end_ns) - min(start_ns) AS wall_ns
    {spans(names, f"trace_id NOT IN (SELECT trace_id FROM {SESSIONS} WHERE session_spans IS NOT NULL OR engine_iteration IS NOT NULL)")}
    GROUP BY trace_id
)
GROUP BY time
ORDER BY time"""


WANTED_TRACE = f"""trace_id = toFixedString(unhex(if(match({value('trace')}, '^[0-9a-fA-F]{{32}}$'), {value('trace')}, '')), 16)"""


def trace(_names):
    return f"""SELECT lower(hex(trace_id)) AS traceID, lower(hex(span_id)) AS spanID, lower(hex(parent_id)) AS parentSpanID,
    coalesce(service_name, '') AS serviceName, name AS operationName, start_ns / 1e6 AS startTime, duration_ns / 1e6 AS duration,
    arrayMap(key -> map('key', key, 'value', attributes[key]), mapKeys(attributes)) AS tags,
    [map('key', 'process', 'value', coalesce(process, ''))] AS serviceTags, if(status = 2, 2, 0) AS statusCode
{spans((), WANTED_TRACE)}
ORDER BY start_ns
LIMIT 10000"""


def trace_spans(_names):
    return f"""SELECT start_ns - min(start_ns) OVER () AS offset_ns, name, class, duration_ns, process, device, stream, copy_bytes,
    start_delay, error_text AS error, coalesce(code_file || ':' || toString(code_line), code_file) AS place
{spans((), WANTED_TRACE)}
ORDER BY start_ns
LIMIT 10000"""


def options(column):
    """The values of a variable, and one for all."""
    return f"""SELECT '*' AS value, 'All' AS text
UNION ALL
SELECT value, value AS text FROM (SELECT DISTINCT toString({column}) AS value FROM cuspan.stored_spans
    WHERE $__timeFilter(time) AND {column} != '' ORDER BY value LIMIT 5000)"""


# ---- Dashboards ----------------------------------------------------------------------------------------------------

UNITS = {"_ns": "ns", "bytes": "bytes", "busbw": "Bps", "bytes_per_s": "Bps", "share": "percentunit"}
NUMBERS = {"count", "runs", "calls", "errors", "kernels", "steps", "processes", "ranks"}


def unit_of(column):
    return next((unit for ending, unit in sorted(UNITS.items(), key=lambda item: -len(item[0])) if column.endswith(ending)), None)


def stat(title, description, sql, unit="short"):
    return {"type": "stat", "title": title, "description": description, "size": (6, 4), "format": TABLE, "sql": sql,
            "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
            "options": {"reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""}, "colorMode": "none",
                        "graphMode": "none"}}


def series(title, description, sql, unit, label=None, most=None, width=24, points=False):
    defaults = {"unit": unit, "min": 0, "custom": {"drawStyle": "points" if points else "line", "fillOpacity": 0 if points else 10,
                                                   "spanNulls": False, "showPoints": "always" if points else "auto"}}
    if most is not None:
        defaults["max"] = most
    if label:
        defaults["displayName"] = "${__field.labels.label}"
    return {"type": "timeseries", "title": title, "description": description, "size": (width, 8), "format": SERIES, "sql": sql,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": {"legend": {"showLegend": True, "displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}}


def table(title, description, sql, columns, width=24, height=8, links=None, question=None):
    """columns: {column: heading}."""
    overrides = []
    for name, heading in columns.items():
        properties = [{"id": "displayName", "value": heading}]
        if unit := unit_of(name):
            properties.append({"id": "unit", "value": unit})
        if name in (links or {}):
            properties.append({"id": "links", "value": [links[name]]})
        overrides.append({"matcher": {"id": "byName", "options": name}, "properties": properties})
    return {"type": "table", "title": title, "description": description, "size": (width, height), "format": TABLE, "sql": sql,
            "question": question, "fieldConfig": {"defaults": {"custom": {"filterable": True}}, "overrides": overrides},
            "options": {"showHeader": True, "cellHeight": "sm"}}


def answer(title, description, names, question, columns, **options):
    """The table of a question of `cuspan fleet`."""
    return table(title, description, of_question(question, names, columns), columns, question=question, **options)


TIMES = {"avg_ns": "average", "median_ns": "median", "p99_ns": "99th percentile", "min_ns": "shortest", "max_ns": "longest"}
KERNELS = {"name": "kernel", "count": "runs", "total_ns": "GPU time", "share": "share of GPU time", **TIMES, "full_name": "full name"}
CALLS_COLUMNS = {"name": "call", "api": "API", "count": "calls", "errors": "failed", "total_ns": "host time", "share": "share of host time", **TIMES}
COPIES = {"kind": "direction", "from": "from memory", "to": "to memory", "count": "copies", "bytes": "bytes", "total_ns": "GPU time",
          "bytes_per_s": "throughput", "avg_bytes": "average size", "median_ns": "median time"}
LATENCY = {"work": "work", "count": "runs", **TIMES}
GPUS = {"process": "process", "device": "device", "name": "GPU", "hw_id": "UUID", "count": "work items",
        "window_ns": "from first to last", "busy_ns": "busy", "utilization_share": "utilization", "kernel_ns": "kernels",
        "copy_ns": "copies and fills", "overlap_share": "copies under kernels", "concurrency": "concurrency"}
STEPS = {"step": "step", "kind": "kind", "processes": "ranks", "min_ns": "fastest rank", "max_ns": "slowest rank", "slowest": "slowest rank's process",
         "calls": "calls", "call_ns": "host time in calls", "errors": "failed calls", "kernels": "kernels", "kernel_ns": "kernel time",
         "move_ns": "time of copies"}
RANKS = {"rank": "rank", "process": "process", "host": "host", "steps": "steps", "calls": "calls", "call_ns": "host time in calls",
         "errors": "failed calls", "kernels": "kernels", "kernel_ns": "kernel time", "move_ns": "time of copies",
         "collective_ns": "time in collectives"}
COLLECTIVES = {"operation": "operation", "communicator": "communicator", "ranks": "ranks", "from_bytes": "from size", "count": "count",
               "bytes": "bytes", "transfer_ns": "transfer", "busbw": "bus bandwidth", "wait_ns": "wait", "skew_ns": "skew",
               "last": "most often last", "last_share": "how often"}
STRAGGLERS = {"rank": "rank", "process": "process", "host": "host", "ranks": "ranks", "steps": "steps", "late_steps": "late in",
              "collectives": "collectives", "last_share": "last in", "lateness_ns": "lateness", "own_ns": "own time",
              "peers_own_ns": "of its peers", "delay_ns": "delay"}
REQUESTS = {"trace_id": "trace", "name": "first span", "process": "process", "start": "start", "wall_ns": "duration", "calls": "calls",
            "call_ns": "host time in calls", "errors": "failed calls", "kernels": "kernels", "kernel_ns": "kernel time",
            "move_ns": "time of copies"}
ITERATIONS = {"engine": "engine", "work": "work", "count": "iterations", "total_ns": "total", "median_ns": "median",
              "p99_ns": "99th percentile", "max_ns": "longest", "mean_requests": "mean requests", "prefill_tokens": "prefill tokens",
              "decode_tokens": "decode tokens", "gpu_ns": "GPU time", "gpu_share": "GPU busy", "median_gap_ns": "median gap",
              "kernels": "kernels", "graphs": "graphs", "graph_share": "with graphs"}
ENGINE_REQUESTS = {"engine": "engine", "count": "requests", "finished": "finished", "aborted": "aborted", "failed": "failed",
                   "queue_median_ns": "queue", "queue_p99_ns": "queue p99", "first_token_median_ns": "first token",
                   "first_token_p99_ns": "first token p99", "per_token_median_ns": "per token", "per_token_p99_ns": "per token p99",
                   "duration_median_ns": "duration", "duration_p99_ns": "duration p99", "prompt_tokens": "prompt tokens",
                   "generated_tokens": "generated tokens", "preemptions": "preemptions", "gpu_ns": "GPU time", "gpu_share": "GPU share"}
TRACE_SPANS = {"offset_ns": "after the start", "name": "span", "class": "class", "duration_ns": "duration", "process": "process",
               "device": "device", "stream": "stream", "copy_bytes": "bytes", "start_delay": "launch latency", "error": "error",
               "place": "line"}

BUSY_TEXT = "The share of time in which a GPU has any work: kernels, copies, fills or graphs. Work that overlaps counts once."
KERNEL_TEXT = ("Kernels by full name, the most GPU time first. GPU time adds up: two kernels at the same time count twice. Quantiles are "
               "values that occur.")
LATENCY_TEXT = "The time from the start of a CUDA call to the start of its work on the GPU. Long times mean that the GPU has a queue of work."

ALL_SERVICES = ("service", "host")
IN_JOB = ("service", "job")
ON_GPU = ("gpu",)
OF_SERVICE = ("service",)

DASHBOARDS = {
    "fleet": ("cuspan: fleet", "All GPUs of the range of time: how busy they are, what they run, and what fails.", ("service", "host"), [
        stat("GPUs with work", "GPUs, by UUID, that did any work in the range of time.", count_of("uniqExact(hw_id)", ALL_SERVICES, WORK)),
        stat("Processes", "Processes that sent spans.", count_of("uniqExact(instance)", ALL_SERVICES)),
        stat("Spans", "Spans that start in the range of time. Repeated ones count once.", count_of("count()", ALL_SERVICES)),
        stat("Failed CUDA calls", "Calls that returned an error. The table below names them.",
             count_of("count()", ALL_SERVICES, "class = 'call'", "error_text IS NOT NULL")),
        series("GPU utilization by host", BUSY_TEXT + " A line is the mean over the host's GPUs that did work in the range of time.",
               busy_over_time(ALL_SERVICES, "coalesce(host, '(no host)')", "coalesce(hw_id, toString(device), '')"), "percentunit", True, 1),
        answer("GPUs", "One row for each process on each GPU. Utilization: busy time divided by the time from the start of the first work to "
              "the end of the last. Concurrency: total time of all work divided by busy time.", ALL_SERVICES, "utilization", GPUS,
              links={"hw_id": {"title": "Dashboard of this GPU", "url": "/d/cuspan-gpu?var-gpu=${__value.text:percentencode}&${__url_time_range}"}}),
        answer("Kernels", KERNEL_TEXT, ALL_SERVICES, "kernels", KERNELS),
        answer("CUDA calls", "Calls of the CUDA APIs by host time, summed over threads. Quantiles are values that occur.", ALL_SERVICES, "calls", CALLS_COLUMNS),
        answer("Waiting for the GPU", "Calls that wait for the GPU, a stream or an event: time in which the host's thread does nothing else.", ALL_SERVICES, "waits", CALLS_COLUMNS, width=12),
        answer("Copies and fills", "By direction and kind of memory. Copies from pageable memory are slower than from pinned memory.", ALL_SERVICES, "copies", COPIES, width=12),
        answer("Launch latency", LATENCY_TEXT, ALL_SERVICES, "launch_latency", LATENCY, width=12),
        answer("Failed calls", "By call and error.", ALL_SERVICES, "errors", {"name": "call", "error": "error", "count": "failures"}, width=12),
        series("Spans by service", "Spans in each second, by the service that sent them.",
               rate(ALL_SERVICES, "coalesce(service_name, '(no service)')", "1"), "cps", True),
    ]),
    "job": ("cuspan: job", "One training job: steps, ranks, collectives, and the lines of code behind the work.", ("service", "job"), [
        stat("Ranks", "Ranks that sent spans.", count_of("uniqExact(rank)", IN_JOB)),
        stat("Steps", "Training steps with a number.", count_of("uniqExact(step)", IN_JOB)),
        stat("Median step", "Median duration of a rank's step.",
             count_of("quantileExactWeighted(0.5)(duration_ns, 1)", IN_JOB, "step IS NOT NULL"), "ns"),
        stat("Failed CUDA calls", "Calls that returned an error.", count_of("count()", IN_JOB, "class = 'call'", "error_text IS NOT NULL")),
        series("Duration of steps by rank", "One point for each step of each rank. A rank far above the others is late.", step_times(IN_JOB),
               "ns", True, points=True),
        answer("Steps", "Work of all ranks together. Fastest and slowest rank: from when the GPU has finished earlier steps to the last work of the step.", IN_JOB, "steps", STEPS),
        answer("Ranks", "Sums over the range of time. Ranks of the same job should have similar sums.", IN_JOB, "ranks", RANKS),
        answer("Late ranks", "Delay: how much longer than that of its peers a rank's own time is, without communication that nothing overlaps. Late in: "
              "the number of steps in which it is late. Lateness: how much later than the median rank it arrives in the collectives of a step. "
              "Medians over the steps; the first, the last and cut ones do not count.", IN_JOB, "stragglers", STRAGGLERS),
        answer("Collectives", "By operation, communicator and size, from this power of two to the next one. Those of which a rank is missing do not "
              "count. Transfer: median of the shortest duration over the ranks. Wait: mean time beyond it.", IN_JOB, "collectives", COLLECTIVES),
        answer("Lines of code", "GPU time by the line of the program that launched the work. Needs `capture.code`.", IN_JOB, "code_lines", {"place": "line", "function": "function", "self_ns": "GPU time", "share": "share"}, width=12),
        answer("Kernels", KERNEL_TEXT, IN_JOB, "kernels", KERNELS, width=12),
        series("GPU utilization by host", BUSY_TEXT, busy_over_time(IN_JOB, "coalesce(host, '(no host)')", "coalesce(hw_id, toString(device), '')"),
               "percentunit", True, 1),
    ]),
    "gpu": ("cuspan: GPU", "One GPU: what it does when, and for which processes.", ("gpu",), [
        stat("Processes", "Processes with work on this GPU.", count_of("uniqExact(instance)", ON_GPU, WORK)),
        stat("Kernels", "Kernels that ran.", count_of("count()", ON_GPU, "class = 'kernel'")),
        stat("Bytes copied", "By copies between host and device, or devices.", count_of("sum(copy_bytes)", ON_GPU, "class = 'copy'"), "bytes"),
        stat("Median launch latency", LATENCY_TEXT,
             count_of("quantileExactWeighted(0.5)(greatest(start_delay, 0), 1)", ON_GPU, WORK, "start_delay IS NOT NULL"), "ns"),
        series("Utilization by kind of work", "The share of time with kernels, copies, fills or graphs. Kinds overlap, so that the lines can add up "
               "to more than 100 %.", busy_over_time(ON_GPU, "class", "coalesce(hw_id, toString(device), '')"), "percentunit", True, 1),
        series("Utilization by process", BUSY_TEXT, busy_over_time(ON_GPU, "process", "coalesce(hw_id, toString(device), '')"),
               "percentunit", True, 1, width=12),
        series("Launch latency", LATENCY_TEXT, latency_over_time(ON_GPU), "ns", width=12),
        series("Copied bytes by direction", "Bytes in each second.",
               rate(ON_GPU, "coalesce(copy_kind, 'other')", "coalesce(copy_bytes, 0)", "class = 'copy'"), "Bps", True),
        answer("Processes on this GPU", "Utilization: busy time divided by the time from the start of the first work to the end of the last.", ON_GPU, "utilization", GPUS),
        answer("Kernels", KERNEL_TEXT, ON_GPU, "kernels", KERNELS),
        answer("Copies and fills", "By direction and kind of memory.", ON_GPU, "copies", COPIES),
    ]),
    "request": ("cuspan: requests", "Requests of services: the slowest ones, and the spans of one of them.", ("service", "trace"), [
        series("Duration of requests", "From the start of the first span of a request to the end of the last. Requests are traces that began in the "
               "program or came to it from outside.", request_times(OF_SERVICE), "ns"),
        answer("Slowest requests", "Select a trace to see its spans below.", OF_SERVICE, "slow_requests", REQUESTS,
              links={"trace_id": {"title": "Spans of this request", "url": "/d/cuspan-request?var-trace=${__value.text:percentencode}&${service:queryparam}&${__url_time_range}"}}),
        {"type": "traces", "title": "Trace", "description": "The spans of the chosen request.", "size": (24, 12), "format": TRACE,
         "sql": trace(()), "fieldConfig": {"defaults": {}, "overrides": []}, "options": {}},
        table("Spans", "The spans of the chosen request in order of their start.", trace_spans(()), TRACE_SPANS, height=10),
    ]),
    "engine": ("cuspan: serving engines", "Recorded iterations of serving engines, and their sampled requests.", ALL_SERVICES, [
        answer("Iterations", "By what they compute. GPU time, kernels and graphs are those of the first rank. Gap: time to the next iteration, if both "
               "are recorded.", ALL_SERVICES, "iterations", ITERATIONS),
        answer("Requests", "First token: queue and prefill. GPU time: the estimated part of the requests in the GPU time of their iterations.",
               ALL_SERVICES, "engine_requests", ENGINE_REQUESTS),
    ]),
}
COLUMNS = {"service": "service", "host": "host", "job": "job", "gpu": "hw_id"}
LABELS = {"service": "Service", "host": "Host", "job": "Job", "gpu": "GPU", "trace": "Trace ID"}


def target(panel):
    return {"refId": "A", "datasource": SOURCE, "editorType": "sql", "format": panel["format"], "pluginVersion": "4.0.0",
            "queryType": {TABLE: "table", SERIES: "timeseries", TRACE: "traces"}[panel["format"]], "rawSql": panel["sql"]}


def variable(name):
    if name == "trace":
        return {"name": name, "label": LABELS[name], "type": "textbox", "query": "", "current": {"text": "", "value": ""},
                "description": "32 hexadecimal digits; select one in the table of requests."}
    sql = options(COLUMNS[name])
    return {"name": name, "label": LABELS[name], "type": "query", "datasource": SOURCE, "query": {"editorType": "sql", "rawSql": sql},
            "refresh": 2, "sort": 0, "multi": False, "includeAll": False, "allowCustomValue": True, "regex": "",
            "current": {"text": "All", "value": "*"}}


def dashboard(name):
    title, description, variables, panels = DASHBOARDS[name]
    made, x, y, tallest = [], 0, 0, 0
    for number, panel in enumerate(panels, 1):
        width, height = panel["size"]
        if x + width > WIDTH:
            x, y, tallest = 0, y + tallest, 0
        made.append({"id": number, "type": panel["type"], "title": panel["title"], "description": panel["description"], "datasource": SOURCE,
                     "gridPos": {"x": x, "y": y, "w": width, "h": height}, "fieldConfig": panel["fieldConfig"], "options": panel["options"],
                     "targets": [target(panel)]})
        x, tallest = x + width, max(tallest, height)
    links = [{"type": "dashboards", "title": "cuspan", "tags": ["cuspan"], "asDropdown": False, "includeVars": False, "keepTime": True,
              "icon": "external link", "targetBlank": False, "tooltip": "", "url": ""}]
    return {"uid": f"cuspan-{name}", "title": title, "description": description, "tags": ["cuspan"], "schemaVersion": 39, "version": 1,
            "editable": True, "timezone": "browser", "time": {"from": "now-1h", "to": "now"}, "refresh": "", "graphTooltip": 1,
            "links": links, "annotations": {"list": []}, "templating": {"list": [variable(each) for each in variables]}, "panels": made}


def questions():
    """{(dashboard, title of the panel): question}, for the tests."""
    return {(name, panel["title"]): panel["question"] for name, (*_, panels) in DASHBOARDS.items() for panel in panels
            if panel.get("question")}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    is_old = False
    for name in DASHBOARDS:
        path, text = FOLDER / f"{name}.json", json.dumps(dashboard(name), indent=2, ensure_ascii=False) + "\n"
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if sys.argv[1:]:
            name = str(path.relative_to(ROOT))
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, name + " (made again)", n=1))
            is_old |= old != text
        elif old != text:
            path.write_text(text, encoding="utf-8")
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main())
