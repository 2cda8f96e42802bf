"""Rows as the Collector's ClickHouse exporter (v0.161.0) inserts them, from lines of OTLP JSON. For tests that need rows, but no
Collector; exporter_test.py compares them with those of the real one."""

import json

COLUMNS = (
    "Timestamp", "TraceId", "SpanId", "ParentSpanId", "TraceState", "SpanName", "SpanKind", "ServiceName", "ResourceAttributes",
    "ScopeName", "ScopeVersion", "SpanAttributes", "Duration", "StatusCode", "StatusMessage", "Events.Timestamp", "Events.Name",
    "Events.Attributes", "Links.TraceId", "Links.SpanId", "Links.TraceState", "Links.Attributes",
)
INSERT = f"INSERT INTO cuspan.otel_traces ({', '.join(f'`{name}`' for name in COLUMNS)})"
KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
STATUSES = ("Unset", "Ok", "Error")


def value_text(value):
    """pcommon.Value.AsString()."""
    (kind, data), = value.items() if value else (("stringValue", ""),)
    if kind == "boolValue":
        return "true" if data else "false"
    if kind == "doubleValue":
        return double_text(float(data))
    if kind in ("arrayValue", "kvlistValue"):
        return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return str(data)


def double_text(number):
    """As JSON of JavaScript has it."""
    if number != number or number in (float("inf"), float("-inf")):
        return "json: unsupported value: " + ("NaN" if number != number else "+Inf" if number > 0 else "-Inf")
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        text = f"{number:f}" if number == int(number) else repr(number)
        text = format(float(text), ".17f") if "e" in text else text
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = repr(number).split("e")
    return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"


def plain(value):
    (kind, data), = value.items() if value else (("stringValue", ""),)
    if kind == "arrayValue":
        return [plain(each) for each in data.get("values", [])]
    if kind == "kvlistValue":
        return {each["key"]: plain(each["value"]) for each in data.get("values", [])}
    return int(data) if kind == "intValue" else data


def attributes(listed):
    """In order of the keys, as the exporter has them."""
    return dict(sorted((each["key"], value_text(each.get("value", {}))) for each in listed))


def number_of(value, names):
    """Of an enumeration, which is a number or a name in OTLP JSON."""
    if isinstance(value, str) and not value.isdigit():
        return next(i for i, name in enumerate(names) if value.upper().endswith("_" + name.upper()))
    return int(value)


def stamp(ns):
    return f"{int(ns) // 10**9:010d}.{int(ns) % 10**9:09d}"


def rows_of(line):
    """Yields the rows of one line of OTLP JSON."""
    for resource_spans in json.loads(line).get("resourceSpans", []):
        resource = attributes(resource_spans.get("resource", {}).get("attributes", []))
        for scope_spans in resource_spans.get("scopeSpans", []):
            scope = scope_spans.get("scope", {})
            for span in scope_spans.get("spans", []):
                yield row_of(span, resource, scope)


def row_of(span, resource, scope):
    start, end = int(span.get("startTimeUnixNano", 0)), int(span.get("endTimeUnixNano", 0))
    status, events, links = span.get("status", {}), span.get("events", []), span.get("links", [])
    return dict(zip(COLUMNS, (
        stamp(start), span.get("traceId", ""), span.get("spanId", ""), span.get("parentSpanId", ""), span.get("traceState", ""),
        span.get("name", ""), KINDS[number_of(span.get("kind", 0), KINDS)], resource.get("service.name", ""), resource,
        scope.get("name", ""), scope.get("version", ""), attributes(span.get("attributes", [])), (end - start) % 2**64,
        STATUSES[number_of(status.get("code", 0), STATUSES)], status.get("message", ""),
        [stamp(each.get("timeUnixNano", 0)) for each in events], [each.get("name", "") for each in events],
        [attributes(each.get("attributes", [])) for each in events], [each.get("traceId", "") for each in links],
        [each.get("spanId", "") for each in links], [each.get("traceState", "") for each in links],
        [attributes(each.get("attributes", [])) for each in links],
    )))


def insert(connection, lines):
    """Inserts the spans of these lines with a connection of chDB; returns how many."""
    rows = [json.dumps(row, ensure_ascii=False) for line in lines if line.strip() for row in rows_of(line)]
    if rows:
        with connection.send_insert(INSERT, "JSONEachRow") as inserter:
            inserter.append("\n".join(rows).encode("utf-8", "surrogatepass"))
            inserter.finish()
    return len(rows)
