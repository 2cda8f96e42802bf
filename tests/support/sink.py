"""An OTLP/HTTP receiver that keeps each request unchanged, and accepts it unless `statuses` has another response for
its path."""

import gzip
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    path: str
    headers: dict
    body: bytes  # unpacked


class Sink:
    def __init__(self):
        requests = self.requests = []
        statuses = self.statuses = {}  # {path: [HTTP status of the next request, of the one after it...]}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                requests.append(Request(self.path, dict(self.headers.items()), body))
                answer = b"{}" if self.headers["Content-Type"] == "application/json" else b""
                self.send_response(statuses[self.path].pop(0) if statuses.get(self.path) else 200)
                self.send_header("Content-Type", self.headers["Content-Type"])
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
