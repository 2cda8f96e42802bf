#!/usr/bin/env python3
"""Documents of OTLP JSON for the tests of `cuspan export`: every field of a span, every type of value, and names and texts that
break careless code. Prints them as lines."""

import json

START = 1_790_000_000_000_000_000
SERVICES = ["a/b", "..", ".", "x\0y", "../../../../etc", "a=b&c%d e\n", "ü" * 100, "'; DROP TABLE spans; --", "plain"]


def value(content):
    if isinstance(content, bool):
        return {"boolValue": content}
    if isinstance(content, int):
        return {"intValue": str(content)}
    if isinstance(content, float):
        return {"doubleValue": content}
    if isinstance(content, list):
        return {"arrayValue": {"values": [value(item) for item in content]}}
    if isinstance(content, dict):
        return {"kvlistValue": {"values": attributes(content)}}
    return {"stringValue": content}


def attributes(fields):
    return [{"key": key, "value": value(content)} for key, content in fields.items()]


def span(number, **fields):
    start = START + number * 1000
    return {"traceId": f"{0xabc << 100 | 7:032x}", "spanId": f"{0xffffffffffff0000 + number:016x}", "name": f"s{number}",
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 500), "attributes": [], **fields}


ALL_TYPES = {"text": "x\0y", "quotes": "é\n\"\\", "int": 1, "double": 1.5, "bool": True, "list": [1, "two", 3.5, [False]],
             "map": {"k": [1], "x": "\t"}, "least": -2**63, "largest": 2**63 - 1, "empty": "", "no": False,
             "cuda.stream.id": "text in a column of numbers", "cuda.context.id": -5, "cuda.activity": 3, "training.step.copy": 1}
COLUMNS = {"cuda.activity": "kernel", "cuda.kernel.name": "void f<int>()", "cuda.stream.id": 7, "cuspan.thread.id": 9,
           "thread.name": "main", "cuda.correlation.id": 4294967295, "cuda.start_delay": -3, "error.type": "cudaErrorInvalidValue", "training.step.copy": True,
           "code.function.name": "step", "code.file.path": "train.py", "code.line.number": 88, "cuspan.stack.id": "00ff",
           "cuda.kernel.grid": [1, 2, 3]}


def spans():
    return [
        span(1, attributes=attributes(ALL_TYPES), traceState="k=v", flags=259, kind=3, droppedAttributesCount=2,
             droppedEventsCount=3, droppedLinksCount=4, status={"code": 2, "message": "m\0n"},
             events=[{"timeUnixNano": str(START), "name": "ev\0x", "attributes": attributes({"m": "z\0", "n": 3, "l": [1]})},
                     {"name": "no time"}, {"timeUnixNano": str(START + 1), "name": "second", "droppedAttributesCount": 1}],
             links=[{"traceId": f"{5:032x}", "spanId": f"{6:016x}", "traceState": "a=b", "flags": 1,
                     "attributes": attributes({"cuda.link": "previous"}), "droppedAttributesCount": 8},
                    {"traceId": f"{7:032x}", "spanId": f"{8:016x}"}]),
        span(2, attributes=attributes(COLUMNS), parentSpanId=f"{0xffffffffffff0001:016x}", kind="SPAN_KIND_CLIENT",
             status={"code": "STATUS_CODE_OK"}),
        span(3, endTimeUnixNano=str(START)),
        span(4, endTimeUnixNano="0"),
        span(5, name="n\0ul"),
        span(6, startTimeUnixNano="18000000000000000000", endTimeUnixNano="18000000000000000001"),
        span(7, name="", attributes=attributes({"twice": 1}) + attributes({"twice": 2})),
    ]


def documents():
    """One for each service."""
    return [{"resourceSpans": [{
        "resource": {"attributes": attributes({"service.name": service, "process.pid": 7, "slurm.job.id": "j1", "deep": [1, 2]}) +
                     attributes({"deep": 3}), "droppedAttributesCount": 5},
        "schemaUrl": "R",
        "scopeSpans": [{"scope": {"name": "sc", "version": "1", "attributes": attributes({"q": 1})}, "schemaUrl": "S",
                        "spans": spans()}]}]} for service in SERVICES]


if __name__ == "__main__":
    for document in documents():
        print(json.dumps(document))
