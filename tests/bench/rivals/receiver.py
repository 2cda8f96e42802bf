#!/usr/bin/env python3
"""An OTLP/HTTP receiver that keeps each request's body and parses it only on request, so that it uses as little of the
machine as possible while an exporter is measured. Prints its port. GET /counts returns what arrived since the last
time: requests, bytes on the wire, bytes unpacked, spans, and those of them (one in 64 is checked) that differ from
those of ../spans.h.

    receiver.py KERNELS_FILE
"""

import ctypes
import ctypes.util
import gzip
import json
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

UNPACKED_BYTES_MAX = 64 << 20  # OTLP's limit of a request

# OTLP's field numbers: down to a span, and of a span.
RESOURCE_SPANS, SCOPE_SPANS, SPANS = 1, 2, 2
TRACE_ID, SPAN_ID, PARENT_SPAN_ID, NAME, KIND, START, END, ATTRIBUTES = 1, 2, 4, 5, 6, 7, 8, 9
INTERNAL = 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
KEY, VALUE = 1, 2  # of an attribute
STRING = 1  # of a value; the rest are integers

# The spans of ../spans.h.
FIRST_START_NS = 1790000000000000000
NS_BETWEEN = 5000
BLOCK = 8192
SEED, STEP = 42, 0x9E3779B97F4A7C15
U64 = (1 << 64) - 1
LOOKED_AT = 64  # checks one of 64, because Python is slow


def unzstd(body):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = library.ZSTD_isError.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(UNPACKED_BYTES_MAX)
    size = library.ZSTD_decompress(room, ctypes.c_size_t(len(room)), body, ctypes.c_size_t(len(body)))
    if library.ZSTD_isError(ctypes.c_size_t(size)):
        raise ValueError("not zstd")
    return room.raw[:size]


UNPACK = {None: bytes, "gzip": gzip.decompress, "zstd": unzstd}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number and value of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == BYTES:
            length, at = varint(data, at)
            value = data[at:at + length]
            at += length
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value = int.from_bytes(data[at:at + size], "little")
            at += size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value
    if at != len(data):
        raise ValueError("cut off")


def spans_of(body):
    for number, resource in fields(body):
        if number != RESOURCE_SPANS:
            continue
        for number, scope in fields(resource):
            if number != SCOPE_SPANS:
                continue
            for number, span in fields(scope):
                if number == SPANS:
                    yield span


def random(n):
    """The generator's number n, from 1."""
    x = (SEED + n * STEP) & U64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & U64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & U64
    return x ^ x >> 31


def expected_span(index, kernels):
    """The expected fields of span `index`, and its attributes."""
    id_bits, bits = random(2 * index + 1), random(2 * index + 2)
    k = bits % len(kernels)
    name, signature, function = kernels[k]
    start = FIRST_START_NS + index * NS_BETWEEN
    return {TRACE_ID: struct.pack("<Q8s", index // BLOCK, b"tracetr"), PARENT_SPAN_ID: b"parents\0", NAME: name,
            KIND: INTERNAL, START: start, END: start + (id_bits & 0xFFFF)}, {
        b"gpu.kernel.name": signature, b"code.function.name": function,
        b"gpu.grid.x": 1 + (bits >> 20 & 1023), b"gpu.grid.y": 1 + (k & 3), b"gpu.grid.z": 1,
        b"gpu.block.x": 128 << (k & 1), b"gpu.block.y": 1, b"gpu.block.z": 1,
        b"gpu.stream.id": 7 + (bits >> 60 & 3), b"gpu.correlation.id": 1000 + index}


def is_right(span, kernels):
    got, attributes = {}, {}
    for number, value in fields(span):
        if number == ATTRIBUTES:
            attribute = dict(fields(value))
            ((kind, content),) = fields(attribute[VALUE])
            attributes[bytes(attribute[KEY])] = bytes(content) if kind == STRING else content
        else:
            got[number] = value if isinstance(value, int) else bytes(value)
    wanted, wanted_attributes = expected_span((got[START] - FIRST_START_NS) // NS_BETWEEN, kernels)
    return {number: got[number] for number in wanted} == wanted and len(got[SPAN_ID]) == 8 and \
        attributes == wanted_attributes


def counts_of(bodies, kernels):
    counts = {"requests": len(bodies), "wire_bytes": 0, "unpacked_bytes": 0, "spans": 0, "wrong_spans": 0}
    for coding, body in bodies:
        counts["wire_bytes"] += len(body)
        unpacked = memoryview(UNPACK[coding](body))
        counts["unpacked_bytes"] += len(unpacked)
        for i, span in enumerate(spans_of(unpacked)):
            counts["spans"] += 1
            if i % LOOKED_AT == 0 and not is_right(span, kernels):
                counts["wrong_spans"] += 1
    return counts


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies = []
    kernels = []

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read_chunked(self):
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()  # no trailers are expected
        return b"".join(parts)

    def do_POST(self):
        length = self.headers["Content-Length"]  # Go's exporter sends none with gzip
        body = self.read_chunked() if length is None else self.rfile.read(int(length))
        self.bodies.append((self.headers["Content-Encoding"], body))
        self.answer("application/x-protobuf", b"")

    def do_GET(self):
        taken = self.bodies[:]
        self.bodies.clear()
        self.answer("application/json", json.dumps(counts_of(taken, self.kernels)).encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as kernels_file:
        Handler.kernels = [line.split(b"\t") for line in kernels_file.read().splitlines()]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
