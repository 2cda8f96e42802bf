"""A collector that misbehaves on purpose, over HTTP/1.1, HTTP/2 and TLS, and a proxy. It records which spans it was
sent and which it accepted, so that a test can check that none is lost and none is duplicated.

A server has a script of faults: each request uses the next one, and the last one is repeated. A fault is a function
that is called with the connection when a request starts on it, and controls it from then on. It returns whether the
connection may continue. HTTP/2 is implemented here, as far as a unary gRPC call needs it, because a library would not
let a server misbehave.
"""

import base64
import collections
import contextlib
import functools
import gzip
import itertools
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path

import otlp_sink
from otlp_encode import varint

PROTOBUF, JSON, GRPC = "application/x-protobuf", "application/json", "application/grpc"
HTML = "text/html"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
HTTP_1_1_REQUIRED, REFUSED_STREAM = 0xd, 7
CLOSE_S = 5


class Gone(Exception):
    """The peer has closed the connection."""


# ---- protobuf, as far as needed ----


def field(number, value):
    """A varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """Those of otlp_sink, with the bytes of what has a length."""
    for number, value in otlp_sink.fields(message):
        yield number, message[slice(*value)] if isinstance(value, tuple) else value


def span_ids(request):
    """The span IDs of an ExportTraceServiceRequest."""
    return [b"".join(value for key, value in fields(span) if key in (1, 2)).hex()
            for one, resource in fields(request) if one == 1
            for two, scope in fields(resource) if two == 2
            for three, span in fields(scope) if three == 2]


def partial_success(rejected, message=""):
    return field(1, field(1, rejected) + (field(2, message.encode()) if message else b""))


def rpc_status(code, message, *details):
    return field(1, code) + field(2, message.encode()) + b"".join(field(3, detail) for detail in details)


def retry_info(seconds, nanos=0):
    duration = (field(1, seconds) if seconds else b"") + (field(2, nanos) if nanos else b"")
    return field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, field(1, duration))


# ---- connections ----


class Request:
    def __init__(self, head, body, connection):
        self.head, self.body, self.connection = head, body, connection
        self.time = time.monotonic()

    @functools.cached_property
    def spans(self):
        """Parsed when the test asks: a response must not wait until Python has read a thousand spans."""
        packed = "content-encoding: gzip" in self.head.lower()
        return span_ids(gzip.decompress(self.body) if packed else self.body)


class Link:
    """One HTTP/1.1 connection."""

    def __init__(self, server, sock, number):
        self.server, self.sock, self.number = server, sock, number
        self.kept = b""

    def more(self, size=65536):
        data = self.sock.recv(size)
        if not data:
            raise Gone
        self.kept += data

    def wait_for_request(self):
        if not self.kept:
            self.more()

    def head(self):
        while b"\r\n\r\n" not in self.kept:
            self.more()
        head, self.kept = self.kept.split(b"\r\n\r\n", 1)
        return head.decode("latin-1")

    def request(self):
        """Reads one request completely."""
        head = self.head()
        length = int(re.search(r"(?i)\r\ncontent-length: *(\d+)", head)[1])
        while len(self.kept) < length:
            self.more()
        body, self.kept = self.kept[:length], self.kept[length:]
        return self.keep(Request(head, body, self.number))

    def keep(self, request):
        with self.server.lock:
            self.server.requests.append(request)
        return request

    def part_of_request(self):
        """Sends the head and a part of the body."""
        head = self.head()
        while not self.kept:
            self.more()
        self.kept = b""
        with self.server.lock:
            self.server.broken_off.append(head)

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, status, headers=(), body=b"", content_type=PROTOBUF, length=None):
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}", *headers]
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def hang(self):
        """Waits until the peer closes or the server stops."""
        while not self.server.stopping.is_set():
            if select.select([self.sock], [], [], 0.05)[0] and not self.sock.recv(65536):
                return


def hpack_string(text):
    size = bytes([len(text)]) if len(text) < 127 else b"\x7f" + varint(len(text) - 127)
    return size + text.encode()


def header_block(pairs):
    """HPACK in its simplest form: literals without indexing."""
    return b"".join(b"\0" + hpack_string(key) + hpack_string(value) for key, value in pairs)


class Http2Link(Link):
    def __init__(self, server, sock, number):
        super().__init__(server, sock, number)
        self.stream = 0
        self.bodies = {}
        while len(self.kept) < len(PREFACE):
            self.more()
        if not self.kept.startswith(PREFACE):
            raise Gone
        self.kept = self.kept[len(PREFACE):]
        # Windows for a body of 64 MiB, of the connection and of each stream (4 is the initial window).
        self.frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 26))
        self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 26))

    def frame(self, kind, flags, stream, payload=b""):
        self.send(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def next_frame(self):
        while len(self.kept) < 9:
            self.more()
        size = int.from_bytes(self.kept[:3], "big")
        kind, flags, stream = self.kept[3], self.kept[4], int.from_bytes(self.kept[5:9], "big") & 0x7fffffff
        while len(self.kept) < 9 + size:
            self.more()
        payload, self.kept = self.kept[9:9 + size], self.kept[9 + size:]
        if kind == SETTINGS and not flags & ACK:
            self.frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.frame(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            raise Gone
        return kind, flags, stream, payload

    def wait_for_request(self):
        while True:
            kind, flags, stream, _ = self.next_frame()
            if kind == HEADERS:
                self.stream, self.ended = stream, bool(flags & END_STREAM)
                return

    def body_of_stream(self, whole=True):
        body = b""
        while not self.ended and (whole or not body):
            kind, flags, stream, payload = self.next_frame()
            if kind == DATA and stream == self.stream:
                body += payload[1:len(payload) - payload[0]] if flags & PADDED else payload
                self.ended = bool(flags & END_STREAM)
                if payload:
                    self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload)))
        return body

    def request(self):
        body = self.body_of_stream()
        return self.keep(Request("", body[5:] if self.server.grpc else body, self.number))

    def part_of_request(self):
        self.body_of_stream(whole=False)
        with self.server.lock:
            self.server.broken_off.append("")

    def headers(self, pairs, last=False):
        self.frame(HEADERS, END_HEADERS | (END_STREAM if last else 0), self.stream, header_block(pairs))

    def answer(self, status, headers=(), body=b"", content_type=PROTOBUF, length=None):
        pairs = [tuple(part.strip() for part in line.split(":", 1)) for line in headers]
        self.headers([(":status", str(status)), ("content-type", content_type),
                      *((key.lower(), value) for key, value in pairs)], last=not body)
        if body:
            self.frame(DATA, 0 if length else END_STREAM, self.stream, body)


class Server:
    def __init__(self, *script, tls=None, http2=False, grpc=False, host="127.0.0.1", port=0):
        self.script, self.tls, self.http2, self.grpc = list(script or [take]), tls, http2 or grpc, grpc
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.requests = []     # those that were read completely
        self.broken_off = []   # heads of the others
        self.takings = []      # requests whose spans were accepted, and how many were rejected, in order
        self.handshakes_failed = 0
        self.serving = 0
        self.numbers = itertools.count()
        self.connections = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, port), family=family, backlog=64)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while not self.stopping.is_set():
            if not select.select([self.listener], [], [], 0.05)[0]:
                continue
            with contextlib.suppress(OSError):
                sock, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(sock, next(self.numbers)), daemon=True).start()

    def serve(self, sock, number):
        # The peer may close at any time, and so may this server.
        with contextlib.suppress(Gone, OSError, ValueError), contextlib.closing(sock):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                try:
                    sock = self.tls.wrap_socket(sock, server_side=True)
                except OSError:
                    self.handshakes_failed += 1
                    raise
            self.connections.add(sock)
            http2 = self.http2 if not self.tls else sock.selected_alpn_protocol() == "h2"
            link = (Http2Link if http2 else Link)(self, sock, number)
            while not self.stopping.is_set():
                link.wait_for_request()
                with self.lock:
                    if self.stopping.is_set():
                        break
                    fault = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                    self.serving += 1
                try:
                    if not fault(link):
                        break
                finally:
                    with self.lock:
                        self.serving -= 1

    def take(self, request, rejected=0):
        with self.lock:
            self.takings.append((request, rejected))

    @property
    def taken(self):
        """How often each span was accepted, by its ID."""
        with self.lock:
            return collections.Counter(span for request, rejected in self.takings for span in request.spans[rejected:])

    def twice(self):
        return [span for span, count in self.taken.items() if count > 1]

    def close(self):
        """Completes the requests that it is serving, unless their clients hang, and closes."""
        with self.lock:
            self.stopping.set()
        self.thread.join()
        self.listener.close()
        deadline = time.monotonic() + CLOSE_S
        while self.serving and time.monotonic() < deadline:
            time.sleep(0.01)
        for sock in list(self.connections):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- faults ----


def take(link):
    """No fault: the spans are accepted with a success status."""
    request = link.request()
    link.server.take(request)
    if link.server.grpc:
        grpc_answer(link)
    else:
        link.answer(200)
    return True


def answer(status, *headers, body=b"", content_type=PROTOBUF, rejected=0):
    """With 2xx the spans are accepted, except for this many."""

    def fault(link):
        request = link.request()
        if 200 <= status < 300:
            link.server.take(request, rejected)
        link.answer(status, headers, body, content_type)
        return True

    return fault


def retry_at(status, seconds):
    """Retry-After as a date."""

    def fault(link):
        link.request()
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))
        link.answer(status, [f"Retry-After: {date}"])
        return True

    return fault


def broken(how, when, taken=False):
    """`how`: Link.reset or Link.hang. `when`: "before" reading anything, "request": while reading it, "answer": before
    the answer, "within": within the answer, after its status."""

    def fault(link):
        if when == "request":
            link.part_of_request()
        elif when != "before":
            request = link.request()
            if taken:
                link.server.take(request)
            if when == "within":
                link.answer(200, body=b"\x0a\x02", length=100)
                time.sleep(0.1)  # so that the reset does not overtake it
        how(link)

    return fault


def close_after_reading(link):
    """Like a server that restarts: no response, and no sign of whether it accepted what it read."""
    link.request()


def read_slowly(bytes_per_second):
    def fault(link):
        while not link.server.stopping.is_set():
            time.sleep(0.1)
            link.sock.recv(max(1, bytes_per_second // 10))

    return fault


def endless_headers(link):
    link.request()
    link.send(b"HTTP/1.1 200 OK\r\n")
    for number in itertools.count():
        link.send(b"".join(b"X-%d-%d: %s\r\n" % (number, i, b"y" * 900) for i in range(64)))


def endless_interim(link):
    link.request()
    while True:
        link.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)


def say(text):
    """Sends these bytes at once, then reads until the client closes. A close with bytes unread would reset the connection,
    and the client might see that first."""

    def fault(link):
        link.send(text)
        link.sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Gone):
            while True:
                link.more()

    return fault


def refuse_early(status):
    """Responds before the body has arrived, and closes, like servers with a limit."""

    def fault(link):
        link.head()
        link.answer(status, ["Connection: close"])
        link.sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Gone):
            while True:
                link.more()

    return fault


def grpc_answer(link, code=0, message="", details=b"", trailers=True, body=b"\0\0\0\0\0"):
    link.headers([(":status", "200"), ("content-type", GRPC)])
    if body is not None:
        link.frame(DATA, 0 if trailers else END_STREAM, link.stream, body)
    if trailers:
        pairs = [("grpc-status", str(code))]
        if message:
            pairs.append(("grpc-message", message))
        if details:
            pairs.append(("grpc-status-details-bin", base64.b64encode(details).decode().rstrip("=")))
        link.headers(pairs, last=True)


def grpc(code, message="", details=b"", trailers=True, taken=False, body=None):
    def fault(link):
        request = link.request()
        if taken:
            link.server.take(request)
        grpc_answer(link, code, message, details, trailers, b"\0\0\0\0\0" if body is None else body)
        return True

    return fault


def go_away(processed):
    """GOAWAY, in which our stream was processed or not, and then closes the connection."""

    def fault(link):
        request = link.request()
        last = link.stream if processed else max(0, link.stream - 2)
        if processed:
            link.server.take(request)
        link.frame(GOAWAY, 0, 0, struct.pack(">II", last, 0))
        if processed:
            grpc_answer(link)
        time.sleep(0.1)

    return fault


def reset_stream(code):
    def fault(link):
        link.request()
        link.frame(RST_STREAM, 0, link.stream, struct.pack(">I", code))
        return True

    return fault


# ---- certificates ----


def openssl(directory, *arguments, text=None):
    subprocess.run(["openssl", *map(str, arguments)], cwd=directory, input=text, text=True, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def expired_options():
    """OpenSSL before 3.4 has no -not_after, and OpenSSL 3.5 refuses negative -days."""
    known = subprocess.run(["openssl", "x509", "-help"], capture_output=True, text=True).stderr
    if "-not_after" in known:
        return "-not_before", "20200101000000Z", "-not_after", "20200102000000Z"
    return "-days", "-1"


def make_certificates(directory):
    """Creates ca, another, and signed by ca: good, wrong (name), expired, client; foreign is a client signed by
    another."""
    for name in ("ca", "another"):
        openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=somebody", "-keyout", "key.pem", "-out", "csr")
    here, elsewhere = "DNS:localhost,DNS:collector.test,IP:127.0.0.1,IP:::1", "DNS:elsewhere.test"
    valid, expired = ("-days", 2), expired_options()
    for name, authority, names, validity in (("good", "ca", here, valid), ("wrong", "ca", elsewhere, valid),
                                             ("expired", "ca", here, expired), ("client", "ca", here, valid),
                                             ("foreign", "another", here, valid)):
        extensions = Path(directory, f"{name}.ext")
        extensions.write_text(f"subjectAltName={names}\n")
        openssl(directory, "x509", "-req", "-in", "csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                "-CAcreateserial", *validity, "-extfile", extensions, "-out", f"{name}.pem")


def server_tls(directory, name="good", client_ca=None, protocols=("http/1.1",)):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(directory, f"{name}.pem"), os.path.join(directory, "key.pem"))
    context.set_alpn_protocols(list(protocols))
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(os.path.join(directory, f"{client_ca}.pem"))
    return context


# ---- a proxy ----


class Proxy:
    """Forwards requests, by CONNECT or with an absolute URL. With `refuse`, it answers every request with that."""

    def __init__(self, refuse=None):
        self.refuse = refuse
        self.asked = []  # request lines
        self.heads = []
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while not self.stopping.is_set():
            if select.select([self.listener], [], [], 0.05)[0]:
                sock, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        with contextlib.suppress(OSError), sock:
            data = b""
            while b"\r\n\r\n" not in data:
                more = sock.recv(65536)
                if not more:
                    return
                data += more
            head, rest = data.split(b"\r\n\r\n", 1)
            line = head.split(b"\r\n")[0].decode()
            self.asked.append(line)
            self.heads.append(head.decode())
            if self.refuse:  # after the whole request: unread bytes would reset the connection
                length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                missing = int(length.group(1)) - len(rest) if length else 0
                while missing > 0 and (more := sock.recv(missing)):
                    missing -= len(more)
                sock.sendall(f"HTTP/1.1 {self.refuse} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                return
            method, target, _ = line.split()
            host, port = re.match(r"(?:http://)?(\[[^]]+\]|[^:/]+):(\d+)", target).groups()
            with socket.create_connection((host.strip("[]"), int(port))) as other:
                if method == "CONNECT":
                    sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    other.sendall(rest)
                else:
                    other.sendall(data.replace(target.encode(), b"/" + target.split("/", 3)[3].encode(), 1))
                self.pass_on(sock, other)

    def pass_on(self, one, other):
        while not self.stopping.is_set():
            for sock in select.select([one, other], [], [], 0.05)[0]:
                data = sock.recv(65536)
                if not data:
                    return
                (other if sock is one else one).sendall(data)

    def close(self):
        self.stopping.set()
        self.thread.join()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
