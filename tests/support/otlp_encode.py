"""OTLP JSON as OTLP protobuf, and what the Collector's file exporter makes of documents: messages with their length, and
zstd. The encoder is written against opentelemetry/proto, and shares nothing with cuspan's."""

import base64
import ctypes
import ctypes.util
import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def fixed32(field, value):
    return varint(field << 3 | 5) + struct.pack("<I", value)


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field, value):
    return block(field, value.encode())


def any_value(value):
    (kind, content), = value.items()
    if kind == "stringValue":
        return text(1, content)
    if kind == "boolValue":
        return number(2, content)
    if kind == "intValue":
        return number(3, int(content))
    if kind == "doubleValue":
        return varint(4 << 3 | 1) + struct.pack("<d", float(content))
    if kind == "arrayValue":
        return block(5, b"".join(block(1, any_value(item)) for item in content.get("values", [])))
    if kind == "kvlistValue":
        return block(6, attributes(1, content.get("values", [])))
    if kind == "bytesValue":
        return block(7, base64.b64decode(content))
    raise ValueError(kind)


def attributes(field, items):
    return b"".join(block(field, text(1, item["key"]) + block(2, any_value(item["value"]))) for item in items)


def event(item):
    time = fixed64(1, int(item["timeUnixNano"])) if "timeUnixNano" in item else b""
    return (time + text(2, item.get("name", "")) + attributes(3, item.get("attributes", [])) +
            number(4, item.get("droppedAttributesCount", 0)))


def link(item):
    return (block(1, bytes.fromhex(item.get("traceId", ""))) + block(2, bytes.fromhex(item.get("spanId", ""))) +
            text(3, item.get("traceState", "")) + attributes(4, item.get("attributes", [])) +
            number(5, item.get("droppedAttributesCount", 0)) + fixed32(6, item.get("flags", 0)))


def name_of(number_or_name, names):
    """Enumerations are numbers or names in OTLP JSON."""
    return names.index(number_or_name) if number_or_name in names else number_or_name


SPAN_KINDS = ["SPAN_KIND_" + name for name in ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")]
STATUS_CODES = ["STATUS_CODE_" + name for name in ("UNSET", "OK", "ERROR")]


def span(item):
    out = block(1, bytes.fromhex(item["traceId"])) + block(2, bytes.fromhex(item["spanId"]))
    if item.get("parentSpanId"):
        out += block(4, bytes.fromhex(item["parentSpanId"]))
    out += text(3, item.get("traceState", "")) + text(5, item.get("name", ""))
    out += number(6, name_of(item.get("kind", 0), SPAN_KINDS))
    for field, key in (7, "startTimeUnixNano"), (8, "endTimeUnixNano"):
        out += fixed64(field, int(item[key])) if key in item else b""
    out += attributes(9, item.get("attributes", []))
    out += b"".join(block(11, event(each)) for each in item.get("events", []))
    out += b"".join(block(13, link(each)) for each in item.get("links", []))
    for field, name in (10, "droppedAttributesCount"), (12, "droppedEventsCount"), (14, "droppedLinksCount"):
        out += number(field, item.get(name, 0))
    out += fixed32(16, item.get("flags", 0))
    if status := item.get("status"):
        out += block(15, text(2, status.get("message", "")) + number(3, name_of(status.get("code", 0), STATUS_CODES)))
    return out


def scope_spans(item):
    scope = item.get("scope", {})
    return (block(1, text(1, scope.get("name", "")) + text(2, scope.get("version", "")) +
                  attributes(3, scope.get("attributes", [])) + number(4, scope.get("droppedAttributesCount", 0))) +
            b"".join(block(2, span(each)) for each in item.get("spans", [])) + text(3, item.get("schemaUrl", "")))


def resource_spans(batch):
    scopes = b"".join(block(2, scope_spans(scope)) for scope in batch.get("scopeSpans", []))
    resource = batch.get("resource", {})
    return (block(1, attributes(1, resource.get("attributes", [])) + number(2, resource.get("droppedAttributesCount", 0))) +
            scopes + text(3, batch.get("schemaUrl", "")))


def traces(document):
    """A TracesData."""
    return b"".join(block(1, resource_spans(batch)) for batch in document["resourceSpans"])


def message(content):
    """As in a file of the Collector: preceded by its length."""
    return struct.pack(">I", len(content)) + content


def zstd(content, level=3):
    """One frame, by the system's libzstd, which dpkg and apt need as well."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for function in (library.ZSTD_compress, library.ZSTD_compressBound):
        function.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(content)))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(out, ctypes.c_size_t(room), content, ctypes.c_size_t(len(content)), level)
    assert not library.ZSTD_isError(ctypes.c_size_t(size))
    return out.raw[:size]
