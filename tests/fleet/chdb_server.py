#!/usr/bin/env python3
"""A ClickHouse server for tests: ClickHouse's HTTP interface over chDB, which is ClickHouse's engine as a library.

    chdb_server.py --data FOLDER [--port N] [--init FILE.sql]... [--user NAME:ROLE:PASSWORD]... [--cert FILE --key FILE]

It prints "listening on PORT" when it accepts connections. The Collector's ClickHouse exporter can insert into it, and clients of
HTTP can query it (parameters of queries, formats, settings, basic authentication, TLS). Acknowledged inserts are in the
folder and survive kill -9. Roles: admin (everything), writer (INSERT), reader (SELECT). Without --user there is no
authentication. Install chdb==4.4.0, lz4 and clickhouse-cityhash from PyPI.

To provoke what retries do: --lose-answers N closes the connection of each Nth insert after it is stored, --insert-delay S
answers that much later."""

import argparse
import base64
import gzip
import hmac
import queue
import re
import socket
import ssl
import struct
import sys
import threading
import time
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.block
from clickhouse_cityhash.cityhash import CityHash128

CONNECTIONS = 4  # of each role, so many requests at a time
# Parameters of requests that are not settings of the engine. Asynchronous inserts do not exist in chDB.
NOT_SETTINGS = {
    "query", "database", "default_format", "client_protocol_version", "compress", "decompress", "query_id", "quota_key", "user",
    "password", "session_id", "session_timeout", "async_insert", "wait_for_async_insert", "wait_end_of_query",
    "buffer_size", "http_write_exception_in_output_format", "send_progress_in_http_headers", "enable_http_compression",
}
# INSERT with data behind it: in the body if the statement is in the URL.
INSERT = re.compile(r"\s*(INSERT\s+INTO\s+(?:(?!\bSELECT\b).)*?)\s+FORMAT\s+(\w+)\s*?(?:\n|$)(.*)", re.IGNORECASE | re.DOTALL)
READS = re.compile(r"\s*\(?\s*(SELECT|WITH|DESCRIBE|DESC|SHOW|EXPLAIN|EXISTS)\b", re.IGNORECASE)
HELLO = re.compile(r"\s*SELECT displayName\(\), version\(\), revision\(\), timezone\(\)\s*$", re.IGNORECASE)
DESCRIBE = re.compile(r"\s*DESC(?:RIBE)?\b", re.IGNORECASE)
FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*(?:SETTINGS\b.*)?$", re.IGNORECASE | re.DOTALL)
NAME = re.compile(r"\w+$")
TYPES = {"JSON": "application/json", "JSONCompact": "application/json", "CSV": "text/csv", "Native": "application/octet-stream"}


def statements(text):
    """Splits a file of SQL at the semicolons that end lines."""
    parts = re.split(r";[ \t]*(?:\n|$)", re.sub(r"(?m)^\s*--.*\n?", "", text))
    return [part.strip() for part in parts if part.strip()]


# ---- ClickHouse's formats ------------------------------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(text):
    data = text.encode()
    return varint(len(data)) + data


def hello(values):
    """One row in the format Native of revision 54460, as Go's client expects of its first query. The revision 0 in the row
    makes it read all other answers as format Native without a revision, which is what chDB writes."""
    out = b"\x01\x00\x02" + struct.pack("<i", -1) + b"\x00" + varint(4) + varint(1)
    names = (("displayName()", "String"), ("version()", "String"), ("revision()", "UInt32"), ("timezone()", "String"))
    for (name, kind), value in zip(names, values):
        out += string(name) + string(kind) + b"\x00" + (struct.pack("<I", value) if kind == "UInt32" else string(value))
    return out


def frame(data):
    """ClickHouse's frames of compressed data, here without compression."""
    out = []
    for i in range(0, len(data), 1 << 20):
        part = data[i : i + (1 << 20)]
        body = b"\x02" + struct.pack("<II", len(part) + 9, len(part)) + part
        out.append(checksum(body) + body)
    return b"".join(out)


def checksum(body):
    value = CityHash128(body)
    return struct.pack("<QQ", value >> 64, value & 0xFFFFFFFFFFFFFFFF)


def unframe(data):
    out, at = [], 0
    while at < len(data):
        method, packed, size = struct.unpack_from("<BII", data, at + 16)
        body = data[at + 16 : at + 16 + packed]
        if len(body) != packed or checksum(body) != data[at : at + 16]:
            raise ValueError("a frame of compressed data is damaged")
        if method == 0x82:
            out.append(lz4.block.decompress(body[9:], uncompressed_size=size))
        elif method == 0x02:
            out.append(body[9:])
        else:
            raise ValueError(f"method {method:#x} of compression is unknown; set the client to lz4, gzip or none")
        at += 16 + packed
    return b"".join(out)


# ---- The engine ----------------------------------------------------------------------------------------------------


class Refused(Exception):
    """Not allowed for this user."""


class Engine:
    """Pools of connections to the folder: those of readers can change nothing."""

    def __init__(self, folder, init):
        self.folder = folder
        self.pools = {"admin": queue.Queue(), "reader": queue.Queue()}
        for role, pool in self.pools.items():
            for _ in range(CONNECTIONS):
                connection = chdb.connect(folder)
                if role == "reader":
                    connection.query("SET readonly = 2")
                pool.put(connection)
        self.first = self.pools["admin"].get()
        for path in init:
            with open(path, encoding="utf-8") as file:
                for statement in statements(file.read()):
                    self.first.query(statement)
        row = self.first.query("SELECT displayName(), version(), timezone()", "TSV").bytes().decode().rstrip("\n").split("\t")
        self.greeting = hello([row[0], row[1], 0, row[2]])
        self.pools["admin"].put(self.first)

    @contextmanager
    def session(self, role, settings):
        pool = self.pools["reader" if role == "reader" else "admin"]
        connection = pool.get()
        try:
            for name, value in settings.items():
                connection.query(f"SET {name} = '{escaped(value)}'")
            yield connection
        finally:
            for name in settings:
                connection.query(f"SET {name} = DEFAULT")
            pool.put(connection)

    def insert(self, role, statement, format_name, data, settings):
        if role == "reader":
            raise Refused("this user can only SELECT")
        with self.session(role, settings) as connection:
            with connection.send_insert(statement, format_name) as inserter:
                inserter.append(data)
                return inserter.finish().rows_written

    def query(self, role, text, format_name, params, settings):
        if role == "writer" and not DESCRIBE.match(text):
            raise Refused("this user can only INSERT")
        if role == "reader" and not READS.match(text):
            raise Refused("this user can only SELECT")
        with self.session(role, settings) as connection:
            return connection.query(text, format_name, params=params or None).bytes()


def escaped(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


# ---- HTTP ----------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.handle_request()

    def do_POST(self):
        self.handle_request()

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            body = b"".join(parts)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        coding = self.headers.get("Content-Encoding", "")
        return gzip.decompress(body) if coding == "gzip" else zlib.decompress(body) if coding == "deflate" else body

    def role(self, url):
        """Of the user that the request names, or None."""
        users = self.server.users
        if not users:
            return "admin"
        name, password = url.get("user"), url.get("password", "")
        if self.headers.get("X-ClickHouse-User"):
            name, password = self.headers["X-ClickHouse-User"], self.headers.get("X-ClickHouse-Key", "")
        elif self.headers.get("Authorization", "").startswith("Basic "):
            name, _, password = base64.b64decode(self.headers["Authorization"][6:]).decode().partition(":")
        role, expected = users.get(name, (None, ""))
        return role if hmac.compare_digest(password.encode(), expected.encode()) else None

    def answer(self, status, data, kind="text/plain; charset=UTF-8"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="ClickHouse"')
        self.end_headers()
        self.wfile.write(data)

    def handle_request(self):
        try:
            parts = urlsplit(self.path)
            url = dict(parse_qsl(parts.query, keep_blank_values=True))
            body = self.read_body()
            if parts.path == "/ping":
                self.answer(200, b"Ok.\n")
                return
            role = self.role(url)
            if role is None:
                self.answer(401, b"Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)\n")
                return
            self.run(role, url, body)
        except Refused as refused:
            self.answer(403, f"Code: 497. DB::Exception: Not enough privileges: {refused} (ACCESS_DENIED)\n".encode())
        except (RuntimeError, ValueError, chdb.ChdbError) as error:
            # The server's own texts start with "Code: N. DB::Exception:", too.
            self.answer(404 if "UNKNOWN_TABLE" in str(error) or "UNKNOWN_DATABASE" in str(error) else 400, f"{error}\n".encode())
        except ConnectionError:
            self.close_connection = True

    def run(self, role, url, body):
        settings = {name: value for name, value in url.items() if name not in NOT_SETTINGS and not name.startswith("param_")}
        if bad := [name for name in settings if not NAME.match(name)]:
            raise ValueError(f"Code: 115. DB::Exception: Setting {bad[0]!r} is neither a builtin setting nor started with the prefix (UNKNOWN_SETTING)")
        text = url.get("query", "")
        if url.get("decompress") == "1" and text:
            body = unframe(body)
        if found := INSERT.match(text if text else body.decode("utf-8", "surrogateescape")):
            self.insert(role, found, url, body if text else None, settings)
            return
        text += body.decode()
        if HELLO.match(text) and int(url.get("client_protocol_version", 0)) >= 54454:
            self.reply(self.server.engine.greeting, "Native", url)
            return
        wanted = FORMAT.search(text.rstrip().rstrip(";"))
        name = wanted.group(1) if wanted else self.headers.get("X-ClickHouse-Format") or url.get("default_format", "TabSeparated")
        params = {key[len("param_") :]: value for key, value in url.items() if key.startswith("param_")}
        self.reply(self.server.engine.query(role, text, name, params, settings), name, url)

    def insert(self, role, found, url, data, settings):
        statement, name, rest = found.groups()
        if data is None:
            data = rest.encode("utf-8", "surrogateescape")
        self.server.engine.insert(role, statement, name, data, settings)
        count = self.server.count_insert()
        if self.server.lose_answers and count % self.server.lose_answers == 0:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        time.sleep(self.server.insert_delay)
        self.answer(200, b"")

    def reply(self, data, format_name, url):
        self.answer(200, frame(data) if url.get("compress") == "1" else data, TYPES.get(format_name, "text/plain; charset=UTF-8"))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, engine, users, lose_answers=0, insert_delay=0.0):
        super().__init__(address, Handler)
        self.engine = engine
        self.users = users
        self.lose_answers = lose_answers
        self.insert_delay = insert_delay
        self.inserts = 0
        self.lock = threading.Lock()

    def count_insert(self):
        with self.lock:
            self.inserts += 1
            return self.inserts

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError, TimeoutError)):
            super().handle_error(request, client_address)

    def finish_request(self, request, client_address):
        """In the thread of the request, so that a client that does not greet does not hold up the others."""
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        self.RequestHandlerClass(request, client_address, self)

    tls = None

    def use_tls(self, cert, key):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(cert, key)


def user(text):
    name, role, password = text.split(":", 2)
    if role not in ("admin", "writer", "reader"):
        raise ValueError(text)
    return name, (role, password)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder of the data")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8123, help="0: any")
    parser.add_argument("--init", action="append", default=[], help="a file of SQL to run first")
    parser.add_argument("--user", action="append", default=[], type=user)
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--lose-answers", type=int, default=0)
    parser.add_argument("--insert-delay", type=float, default=0.0)
    args = parser.parse_args()
    server = Server((args.host, args.port), Engine(args.data, args.init), dict(args.user), args.lose_answers, args.insert_delay)
    if args.cert:
        server.use_tls(args.cert, args.key)
    print(f"listening on {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
