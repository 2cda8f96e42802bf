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
    return (fixed64(1, int(item["timeUnixNano"])) + text(2, item.get("name", "")) +
            attributes(3, item.get("attributes", [])))


def span(item):
    out = block(1, bytes.fromhex(item["traceId"])) + block(2, bytes.fromhex(item["spanId"]))
    if item.get("parentSpanId"):
        out += block(4, bytes.fromhex(item["parentSpanId"]))
    out += text(5, item.get("name", "")) + number(6, item.get("kind", 0))
    out += fixed64(7, int(item["startTimeUnixNano"])) + fixed64(8, int(item["endTimeUnixNano"]))
    out += attributes(9, item.get("attributes", []))
    out += b"".join(block(11, event(each)) for each in item.get("events", []))
    if status := item.get("status"):
        out += block(15, text(2, status.get("message", "")) + number(3, status.get("code", 0)))
    return out


def resource_spans(batch):
    scopes = b"".join(block(2, b"".join(block(2, span(item)) for item in scope.get("spans", [])))
                      for scope in batch.get("scopeSpans", []))
    return block(1, attributes(1, batch.get("resource", {}).get("attributes", []))) + scopes


def traces(document):
    """A TracesData."""
    return b"".join(block(1, resource_spans(batch)) for batch in document["resourceSpans"])


def message(content):
    """As in a file of the Collector: preceded by its length."""
    return struct.pack(">I", len(content)) + content


def zstd(content):
    """One frame, by the system's libzstd, which dpkg and apt need as well."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for function in (library.ZSTD_compress, library.ZSTD_compressBound):
        function.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(content)))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(out, ctypes.c_size_t(room), content, ctypes.c_size_t(len(content)), 3)
    assert not library.ZSTD_isError(ctypes.c_size_t(size))
    return out.raw[:size]
