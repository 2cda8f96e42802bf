"""A collector for tests that can stop and start on one port: OTLP/HTTP (protobuf and JSON) and OTLP/gRPC, with Python's
standard library only. It records the spans of each request, in order of arrival."""

import gzip
import json
import socketserver
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from backend import free_ports


@dataclass
class Arrived:
    pid: int  # from the resource; 0: unknown
    span_ids: list = field(default_factory=list)


def fields(data, begin=0, end=None):
    """(number, value) of the fields of a protobuf message. For a length-delimited field, the value is (start, end)."""
    end = len(data) if end is None else end

    def varint():
        nonlocal begin
        value = shift = 0
        while True:
            byte = data[begin]
            begin += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while begin < end:
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            length = varint()
            yield key >> 3, (begin, begin + length)
            begin += length
        else:
            size = 8 if kind == 1 else 4
            yield key >> 3, int.from_bytes(data[begin:begin + size], "little")
            begin += size


def pid_of(data, resource):
    for number, value in fields(data, *resource):
        if number == 1:
            pair = dict(fields(data, *value))
            if data[slice(*pair[1])] == b"process.pid":
                return dict(fields(data, *pair[2]))[3]
    return 0


def read_protobuf(data):
    arrived = Arrived(0)
    for number, of_resource in fields(data):
        for part, value in fields(data, *of_resource):
            if part == 1:
                arrived.pid = pid_of(data, value) or arrived.pid
            elif part == 2:
                for inner, span in fields(data, *value):
                    if inner == 2:
                        known = dict(fields(data, *span))
                        arrived.span_ids.append(int.from_bytes(data[slice(*known[2])], "big"))
    return arrived


def count_protobuf(data):
    return sum(1 for number, of_resource in fields(data) for part, scope in fields(data, *of_resource) if part == 2
               for inner, _ in fields(data, *scope) if inner == 2)


def unpack(body, encoding):
    return gzip.decompress(body) if encoding == "gzip" else body


def read_json(data):
    arrived = Arrived(0)
    for of_resource in json.loads(data)["resourceSpans"]:
        for pair in of_resource["resource"]["attributes"]:
            if pair["key"] == "process.pid":
                arrived.pid = int(pair["value"]["intValue"])
        for scope in of_resource["scopeSpans"]:
            for span in scope["spans"]:
                arrived.span_ids.append(int(span["spanId"], 16))
    return arrived


class OtlpSink:
    """`keep`: whether span IDs are kept or only counted. `status`: the response to HTTP requests."""

    def __init__(self, port=0, protocol="http", keep=True):
        self.lock = threading.Lock()
        self.keep = keep
        self.bodies = []
        self.hashes = []  # of the bodies as received
        self.read = []
        self.headers = []
        self.counted = self.requests = 0
        self.status = 200
        self.port = port or free_ports(1)[0]
        self.protocol = protocol
        self.server = None

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def open(self):
        sink = self

        class Http(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) < int(self.headers["Content-Length"]):  # the sender was killed
                    self.close_connection = True
                    return
                if sink.status == 200:
                    sink.take(body, self.headers["Content-Encoding"], "json" in self.headers["Content-Type"])
                with sink.lock:
                    sink.headers.append(dict(self.headers.items()))
                self.send_response(sink.status)
                self.send_header("Content-Type", self.headers["Content-Type"])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Grpc(socketserver.BaseRequestHandler):
            def handle(self):
                serve_grpc(self.request, sink.take)

        class Server(ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_):
                """A sender killed in the middle of a request is not an error."""

        handler = Http if self.protocol == "http" else Grpc
        self.server = Server(("127.0.0.1", self.port), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def take(self, body, encoding, is_json):
        """Parses the requests later: parsing now would make this a slow collector."""
        with self.lock:
            self.requests += 1
            self.hashes.append(hash(body))
            if self.keep:
                self.bodies.append((body, encoding, is_json))
        if not self.keep:
            count = count_protobuf(unpack(body, encoding))
            with self.lock:
                self.counted += count

    @property
    def arrived(self):
        with self.lock:
            bodies, self.bodies = self.bodies, []
        for body, encoding, is_json in bodies:
            self.read.append((read_json if is_json else read_protobuf)(unpack(body, encoding)))
        return self.read

    @property
    def spans(self):
        return sum(len(arrived.span_ids) for arrived in self.arrived) if self.keep else self.counted

    def close(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.server = None


# gRPC: the part of HTTP/2 that consecutive unary calls need. Headers are not parsed.

DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
END_STREAM, END_HEADERS, ACK, PADDED = 1, 4, 1, 8


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def read_exactly(connection, count):
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 16))
        if not part:
            raise ConnectionError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def serve_grpc(connection, take):
    answer = b"\x88" + literal(b"content-type", b"application/grpc")  # :status 200 is in HPACK's static table
    bodies = {}
    try:
        read_exactly(connection, 24)
        connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HIHI", 3, 100, 4, 1 << 24))
                           + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 24)))
        while True:
            head = read_exactly(connection, 9)
            length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream = int.from_bytes(head[5:], "big")
            payload = read_exactly(connection, length)
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                bodies[stream] = []
            elif kind == DATA:
                bodies[stream].append(payload)
                if length:
                    connection.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", length)))
                if flags & END_STREAM:
                    body = b"".join(bodies.pop(stream))
                    take(body[5:], "gzip" if body[0] else None, False)
                    connection.sendall(frame(HEADERS, END_HEADERS, stream, answer)
                                       + frame(DATA, 0, stream, b"\0\0\0\0\0")
                                       + frame(HEADERS, END_HEADERS | END_STREAM, stream, literal(b"grpc-status", b"0")))
    except (ConnectionError, OSError):
        pass
