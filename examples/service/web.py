"""JSON over HTTP, with a span for each incoming and each outgoing request."""

import http.client
import json
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from opentelemetry.propagate import extract, inject
from opentelemetry.trace import SpanKind, StatusCode
from tracing import trace_id_of, tracer

TIMEOUT_S = 60
BODY_BYTES_MAX = 1 << 20


def serve(port, answer):
    """Serves POST /infer by calling answer(request) -> (status, answer), one thread per connection, until the program
    ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a small answer waits 40 ms for the client's delayed ACK

        def do_GET(self):
            self.send_json(200 if self.path == "/healthz" else 404, {})

        def do_POST(self):
            with tracer.start_as_current_span(f"POST {self.path}", extract(self.headers), SpanKind.SERVER) as span:
                status, body = self.status_and_answer()
                span.set_attributes({"http.request.method": "POST", "url.path": self.path,
                                     "http.response.status_code": status})
                if status >= 500:
                    span.set_attribute("error.type", str(status))
                    span.set_status(StatusCode.ERROR, body.get("error"))
            self.send_json(status, body)

        def status_and_answer(self):
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > BODY_BYTES_MAX:
                self.close_connection = True  # the unread body is still in it
                return 413, {"error": f"the body must have a Content-Length and at most {BODY_BYTES_MAX} bytes"}
            body = self.rfile.read(int(length))
            if self.path != "/infer":
                return 404, {"error": f"no {self.path} here"}
            try:
                request = json.loads(body)
            except ValueError as error:
                return 400, {"error": f"not JSON: {error}"}
            return answer(request)

        def send_json(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass  # the spans have it

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    with Server(("", port), Handler) as server:
        server.serve_forever()


@dataclass
class Answer:
    status: int
    body: dict
    trace_id: str


class Peer:
    """A server to send requests to, with one connection per thread of ours."""

    def __init__(self, url):
        self.host, self.port = urlsplit(url).hostname, urlsplit(url).port or 80
        self.local = threading.local()

    def post(self, path, body, **attributes):
        """Returns the Answer. Raises OSError, http.client.HTTPException, or ValueError if it is not JSON."""
        with tracer.start_as_current_span("POST", kind=SpanKind.CLIENT, attributes=attributes) as span:
            span.set_attributes({"http.request.method": "POST", "server.address": self.host, "server.port": self.port})
            headers = {"Content-Type": "application/json"}
            inject(headers)
            status, answer = self.exchange(path, json.dumps(body).encode(), headers)
            span.set_attribute("http.response.status_code", status)
            if status >= 400:
                span.set_attribute("error.type", str(status))
                span.set_status(StatusCode.ERROR)
            return Answer(status, answer, trace_id_of(span))

    def exchange(self, path, data, headers):
        connection = self.connection()
        try:
            connection.request("POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except BaseException:
            self.local.connection = None  # data of the failed request may still arrive on it
            connection.close()
            raise

    def connection(self):
        if not getattr(self.local, "connection", None):
            self.local.connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
            self.local.connection.connect()
            self.local.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.local.connection
