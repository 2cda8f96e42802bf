#!/usr/bin/env python3
"""Decodes OTLP payloads without any code of cuspan, and compares them.

    otlp_decode.py [--protobuf FILE...] [--json FILE...] [--expect FILE] [--print]

The PyPI package opentelemetry-proto reads protobuf. A reader below reads JSON (one request per line) and is strict
about OTLP's own rules: lowerCamelCase keys, IDs in hex, 64-bit integers as strings, enums as integers. If both are
given, they must be equal: the same spans under the same resources and scopes, in any grouping into requests. With
--expect (spans.jsonl of otlp_payloads), they must also equal the input, with limits and repair applied here. Exit
status: 0 equal, 1 different, 2 a payload cannot be decoded.
"""

import argparse
import json
import math
import re
import struct
import sys
from collections import Counter, defaultdict

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

HEX_FIELDS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}
INT64_TYPES = {FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64,
               FieldDescriptor.TYPE_SFIXED64, FieldDescriptor.TYPE_SINT64}
INT_TYPES = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32,
             FieldDescriptor.TYPE_ENUM}
DIFFERENCES_SHOWN = 5


class Malformed(Exception):
    pass


def is_repeated(field):
    repeated = getattr(field, "is_repeated", None)
    return field.label == FieldDescriptor.LABEL_REPEATED if repeated is None else repeated


# JSON -> message


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Malformed(f"a key stands twice: {keys}")
    return dict(pairs)


def refuse(constant):
    raise Malformed(f"{constant} is not JSON")


def read_scalar(field, value, where):
    kind, name = field.type, field.json_name
    if name in HEX_FIELDS:
        if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{HEX_FIELDS[name]}}}", value):
            raise Malformed(f"{where}: {value!r} is no ID in lower-case hex")
        return bytes.fromhex(value)
    if kind in INT64_TYPES:
        if not isinstance(value, str) or not re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
            raise Malformed(f"{where}: {value!r} is no 64-bit integer as a string")
        return int(value)
    if kind in INT_TYPES:
        if type(value) is not int:
            raise Malformed(f"{where}: {value!r} is no integer")
        return value
    if kind == FieldDescriptor.TYPE_DOUBLE:
        if isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity"):
            raise Malformed(f"{where}: {value!r} is no double")
        return float(value)
    expected = bool if kind == FieldDescriptor.TYPE_BOOL else str
    if type(value) is not expected:
        raise Malformed(f"{where}: {value!r} is no {expected.__name__}")
    return value


def read_object(value, message, where):
    if not isinstance(value, dict):
        raise Malformed(f"{where}: {value!r} is no object")
    fields = {field.json_name: field for field in message.DESCRIPTOR.fields}
    for key, item in value.items():
        field, place = fields.get(key), f"{where}.{key}"
        if field is None:
            raise Malformed(f"{place}: no such field")
        if not is_repeated(field):
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                getattr(message, field.name).SetInParent()
                read_object(item, getattr(message, field.name), place)
            else:
                setattr(message, field.name, read_scalar(field, item, place))
        elif not isinstance(item, list):
            raise Malformed(f"{place}: {item!r} is no array")
        else:
            for i, element in enumerate(item):
                if field.type != FieldDescriptor.TYPE_MESSAGE:
                    getattr(message, field.name).append(read_scalar(field, element, f"{place}[{i}]"))
                    continue
                read_object(element, getattr(message, field.name).add(), f"{place}[{i}]")


def json_requests(path):
    with open(path, encoding="utf-8", errors="strict", newline="\n") as file:
        for number, line in enumerate(file, 1):
            request = ExportTraceServiceRequest()
            try:
                value = json.loads(line, object_pairs_hook=unique, parse_constant=refuse)
                read_object(value, request, f"{path}:{number}")
            except (ValueError, Malformed) as problem:
                raise Malformed(f"{path}:{number}: {problem}") from None
            yield request


# protobuf -> message


def check_known(message, where):
    if len(UnknownFieldSet(message)):
        raise Malformed(f"{where}: fields that the schema doesn't know")
    for field, value in message.ListFields():
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            continue
        for item in value if is_repeated(field) else [value]:
            check_known(item, f"{where}.{field.name}")


def protobuf_requests(path):
    with open(path, "rb") as file:
        payload = file.read()
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(payload)
    except Exception as problem:
        raise Malformed(f"{path}: {problem}") from None
    check_known(request, path)
    # As long as its canonical form: no field is repeated, and no number takes more bytes than it needs.
    if request.ByteSize() != len(payload):
        raise Malformed(f"{path}: {len(payload)} bytes, its canonical form has {request.ByteSize()}")
    yield request


# content, independent of the grouping into requests


def canonical(message):
    return message.SerializeToString(deterministic=True)


def content(requests):
    """{(resource, its schema, scope, its schema): [span, ...]}, all serialized."""
    groups = defaultdict(list)
    for request in requests:
        for group in request.resource_spans:
            for scope in group.scope_spans:
                key = (canonical(group.resource), group.schema_url, canonical(scope.scope), scope.schema_url)
                groups[key].extend(canonical(span) for span in scope.spans)
    return groups


def count(groups):
    return sum(len(spans) for spans in groups.values())


def show(serialized):
    return str(Span.FromString(serialized)).replace("\n", " ")


def differences(one, other, name, other_name):
    for key in sorted(one.keys() | other.keys()):
        left, right = Counter(one.get(key, [])), Counter(other.get(key, []))
        for span in (left - right).elements():
            yield f"only in {name}: {show(span)}"
        for span in (right - left).elements():
            yield f"only in {other_name}: {show(span)}"


# input


def repaired(data, options, chars=None):
    text = data.decode("utf-8", errors="replace")
    if chars is not None:
        text = text[:chars]
    return text.encode()[:options["string_bytes"]].decode("utf-8", errors="ignore")


def expect_value(attr, value, options):
    kind, given = attr["type"], attr["value"]
    if kind == "string":
        value.string_value = repaired(bytes.fromhex(given), options, options["value_chars"])
    elif kind == "pointer":
        value.string_value = hex(given)[:options["value_chars"]]
    elif kind == "int":
        value.int_value = given - (1 << 64) if given >> 63 else given
    elif kind == "bool":
        value.bool_value = bool(given)
    elif kind == "double":
        value.double_value = struct.unpack("<d", struct.pack("<Q", given))[0]
        if math.isnan(value.double_value):
            value.double_value = math.nan
    elif kind == "dim3":
        for number in given:
            value.array_value.values.add().int_value = number
    elif kind == "array":
        value.array_value.SetInParent()
        for item in filter(None, given):
            expect_value(item, value.array_value.values.add(), options)


def expect_attrs(told, message, options, dropped=0):
    told = [attr for attr in told if attr]
    for attr in told[:options["attrs"]]:
        pair = message.attributes.add(key=bytes.fromhex(attr["key"]).decode())
        expect_value(attr, pair.value, options)
    message.dropped_attributes_count = dropped + max(0, len(told) - options["attrs"])


def expect_span(told, options):
    def text(key, source=told):
        return repaired(bytes.fromhex(source[key]), options)

    span = Span(trace_id=bytes.fromhex(told["trace_id"]), span_id=bytes.fromhex(told["span_id"]),
                trace_state=text("trace_state"), name=text("name"), kind=told["kind"], flags=told["flags"],
                start_time_unix_nano=told["start"], end_time_unix_nano=told["end"])
    if int(told["parent"], 16):
        span.parent_span_id = bytes.fromhex(told["parent"])
    expect_attrs(told["attrs"], span, options, told["attrs_dropped"])
    events = [event for event in told["events"] if event]
    for event in events[:options["events"]]:
        made = span.events.add(time_unix_nano=event["time"], name=text("name", event))
        expect_attrs(event["attrs"], made, options)
    span.dropped_events_count = told["events_dropped"] + max(0, len(events) - options["events"])
    links = [link for link in told["links"] if link]
    for link in links[:options["links"]]:
        made = span.links.add(trace_id=bytes.fromhex(link["trace_id"]), span_id=bytes.fromhex(link["span_id"]),
                              trace_state=text("trace_state", link), flags=link["flags"])
        expect_attrs(link["attrs"], made, options)
    span.dropped_links_count = max(0, len(links) - options["links"])
    if told["status"] or told["status_message"]:
        span.status.code, span.status.message = told["status"], text("status_message")
    return span


def expect_resource(told, resource, options):
    options = dict(options, value_chars=None)  # the limit is for spans
    for attr in told["attrs"]:
        if not attr:
            continue
        pair = resource.attributes.add()
        pair.key = repaired(bytes.fromhex(attr["key"]), options)
        if attr["is_array"]:
            pair.value.array_value.SetInParent()
        for item in attr["items"][:-1]:
            expect_value(item, pair.value.array_value.values.add() if attr["is_array"] else pair.value, options)


def expected(path, scope):
    """The content that spans.jsonl describes, under the scope of the payloads."""
    options, resources, groups = None, {}, defaultdict(list)
    with open(path, encoding="ascii") as file:
        for line in file:
            told = json.loads(line)
            if told["what"] == "options":
                options = told
            elif told["what"] == "resource":
                request = ExportTraceServiceRequest()
                made = request.resource_spans.add().resource
                expect_resource(told, made, options)
                resources[told["index"]] = canonical(made)
            else:
                key = (resources.get(told["resource"], b""), scope[1], scope[0], scope[1])
                groups[key].append(canonical(without_empty_status(expect_span(told, options))))
    return groups


def without_empty_status(span):
    """An empty status may be present or missing."""
    if span.HasField("status") and not span.status.ByteSize():
        span.ClearField("status")
    return span


def without_empty_statuses(groups):
    return {key: [canonical(without_empty_status(Span.FromString(span))) for span in spans]
            for key, spans in groups.items()}


def compare(one, other, name, other_name):
    found = list(differences(one, other, name, other_name))
    for line in found[:DIFFERENCES_SHOWN]:
        print(line[:2000])
    if len(found) > DIFFERENCES_SHOWN:
        print(f"... and {len(found) - DIFFERENCES_SHOWN} more")
    return not found


def read_all(paths, reader):
    return content(request for path in paths for request in reader(path))


def main():
    parser = argparse.ArgumentParser(description="Decodes OTLP payloads and compares what they say.")
    parser.add_argument("--protobuf", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--json", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--expect", metavar="FILE", help="spans.jsonl of otlp_payloads")
    parser.add_argument("--print", action="store_true", help="print every span")
    args = parser.parse_args()
    decoded = {}
    try:
        if args.protobuf:
            decoded["protobuf"] = read_all(args.protobuf, protobuf_requests)
        if args.json:
            decoded["JSON"] = read_all(args.json, json_requests)
    except (Malformed, OSError) as problem:
        print(f"otlp_decode: {problem}")
        return 2
    if not decoded:
        parser.error("nothing to decode: name files after --protobuf or --json")
    good = True
    if len(decoded) == 2:
        good = compare(decoded["protobuf"], decoded["JSON"], "protobuf", "JSON")
    if args.expect:
        for name, groups in decoded.items():
            scope = next(iter(groups))[2:]
            good &= compare(expected(args.expect, scope), without_empty_statuses(groups), "what went in", name)
    if args.print:
        for spans in next(iter(decoded.values())).values():
            print(*map(show, spans), sep="\n")
    for name, groups in decoded.items():
        print(f"{name}: {count(groups)} spans of {len(groups)} resources")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
