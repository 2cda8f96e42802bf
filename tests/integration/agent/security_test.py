#!/usr/bin/env python3
"""Data that cuspan must not disclose, and input that it must not trust.

    security_test.py --build DIRECTORY [--sanitizers LIST] [--libraries PATHS] [GROUP[.test]...]

--libraries: the static libraries in the agent and its export module, separated by ';'. For each of their symbols, a
test host exports a function of the same name that aborts when called."""

import contextlib
import os
import re
import shutil
import socketserver
import ssl
import subprocess
import sys
import threading
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import agent_case  # noqa: E402
from agent_case import HOST_OUTPUT, HOST_STATUS, ROOT, path_of  # noqa: E402
import sink  # noqa: E402
from built import take_option  # noqa: E402

LIBRARIES = [path for path in take_option("--libraries", "").split(";") if path.endswith(".a") and shutil.which("cc")]
SECRET = "t0p-s3cret"  # in each secret, followed by its place
ALLOCATORS = "libjemalloc.so.2", "libtcmalloc_minimal.so.4"
# Symbols of the compiler and libc, which every program has.
NOT_THE_HOSTS = re.compile(r"main$|_start$|_init$|_fini$|_end$|_edata$|__bss_start$|__TMC_END__$|__data_start$|data_start$|__dso_handle$")


def symbols_of(libraries):
    """Their functions and variables, except those that libc also has."""
    def names(*command):
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        return {line.split()[-1].split("@")[0] for line in out.splitlines() if len(line.split()) >= 2}
    libc = set()
    for name in "libc.so.6", "libm.so.6", "libgcc_s.so.1":
        path = subprocess.run(["cc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        libc |= names("nm", "-D", "--defined-only", path)
    ours = set().union(*(names("nm", "-g", "--defined-only", library) for library in libraries))
    return sorted(name for name in ours - libc if re.fullmatch(r"[A-Za-z_]\w*", name) and not NOT_THE_HOSTS.match(name))


class Case(agent_case.Case):
    def collector(self, tls):
        collector = sink.Sink()
        self.addCleanup(collector.close)
        if tls:
            pem = self.directory / "server.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", f"{pem}.crt",
                            "-subj", "/CN=localhost", "-days", "2"], check=True, stderr=subprocess.DEVNULL)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{pem}.crt", pem)
            collector.server.socket = context.wrap_socket(collector.server.socket, server_side=True)
        return collector

    def host(self, program, play="threads", env=None, settings=None, tls=False):
        """Runs a host with the agent, which sends to a collector."""
        collector = self.collector(tls)
        settings = {"cupti.library": agent_case.BUILD / "libcuspan-replay.so", "accounts_file": self.directory / "report",
                    "tls_verify": "false", **agent_case.NO_HURRY, **(settings or {})}
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http{'s' if tls else ''}://127.0.0.1:{collector.port}",
               "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), **(env or {})}
        result = self.start([program, agent_case.BUILD / "libcuspan.so", agent_case.BUILD / "libcuspan-replay.so", path_of(play)], env)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        report = agent_case.json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertEqual(report["losses"], {})
        self.assertEqual(report["delivered"], report["spans"])
        self.assertGreater(len(collector.requests), 0)
        self.assertGreater(report["spans"], 1000)
        return result


class Symbols(Case):
    """A program that exports functions with the same names as the libraries in cuspan."""

    def test_a_host_that_exports_all_of_them(self):
        if not LIBRARIES or agent_case.SANITIZERS:
            self.skipTest("this build links shared libraries, which are the host's, too")
        symbols = symbols_of(LIBRARIES)
        some = {"curl_easy_init", "curl_easy_perform", "SSL_new", "EVP_sha256", "cJSON_Parse", "yaml_parser_parse",
                "ZSTD_compressStream2", "ZSTD_trace_compress_begin", "inflate", "deflate", "isal_deflate", "nghttp2_session_send"}
        print(f"{len(symbols)} symbols of {len(LIBRARIES)} libraries")
        self.assertEqual(some - set(symbols) - {"ZSTD_trace_compress_begin", "isal_deflate"}, set())
        symbols = sorted(set(symbols) | {"ZSTD_trace_compress_begin", "ZSTD_trace_compress_end"})
        source, program = self.directory / "symbols.c", self.directory / "symbols_host"
        source.write_text("void called(const char *name);\n" + "".join(
            f'void {name}(void) {{ called("{name}"); }}\n' for name in symbols))
        called = self.directory / "called.c"
        called.write_text('#include <stdio.h>\n#include <stdlib.h>\nvoid called(const char *name)\n'
                          '{ printf("host: %s was called\\n", name); fflush(stdout); abort(); }\n')
        subprocess.run(["cc", "-O0", "-w", "-fno-builtin", "-std=gnu17", "-D_GNU_SOURCE", f"-I{ROOT / 'src'}", "-rdynamic", "-o",
                        program, source, called, ROOT / "tests/integration/hosts/host.c", "-ldl", "-lpthread", "-lm"], check=True)
        for compression in "gzip", "zstd":
            with self.subTest(compression):
                self.host(program, settings={"compression": compression}, tls=compression == "zstd")
                for report in self.directory.glob("report.*"):
                    report.unlink()

    def test_a_host_with_an_allocator_of_its_own(self):
        if agent_case.SANITIZERS:
            self.skipTest("the sanitizer's is another")
        self.host(agent_case.BUILD / "own_malloc_host")

    def test_a_preloaded_allocator(self):
        found = [path for name in ALLOCATORS for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")
                 for path in sorted(Path(folder).glob(f"**/{name}"))[:1]]
        if not found or agent_case.SANITIZERS:
            self.skipTest("no other allocator is installed (libjemalloc2, libtcmalloc-minimal4)")
        for path in found:
            with self.subTest(path.name):
                self.host(agent_case.BUILD / "agent_host", env={"LD_PRELOAD": str(path)})
                for report in self.directory.glob("report.*"):
                    report.unlink()


class Secrets(Case):
    """Searches all output for each secret of the settings."""

    def secrets(self, port):
        key = self.directory / f"{SECRET}-key.pem"
        key.write_text(f"-----BEGIN PRIVATE KEY-----\n{SECRET}-in-key\n-----END PRIVATE KEY-----\n")
        return {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://user:{SECRET}-password@127.0.0.1:{port}/v1/traces?token={SECRET}-query",
                "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {SECRET}-bearer,x-api-key={SECRET}-header",
                "OTEL_LOG_LEVEL": "debug"}

    def all_text(self):
        for path in self.directory.rglob("*"):
            if path.is_file() and "key.pem" not in path.name:
                yield path, self.unpacked(path)

    @staticmethod
    def unpacked(path):
        """Including data that zlib has compressed into a recording's blocks."""
        data = path.read_bytes()
        for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
            with contextlib.suppress(zlib.error):
                data += zlib.decompressobj().decompress(data[match.start():], 1 << 22)
        return data

    def assert_no_secret(self, *texts):
        for text in texts:
            self.assertNotIn(SECRET, text)
        for path, data in self.all_text():
            self.assertNotIn(SECRET.encode(), data, path)

    def offer(self, answer, env=None, **more):
        """A collector with a given response. Returns what the agent logs about it."""
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    byte = self.rfile.read(1)
                    if not byte:
                        return
                    head += byte
                length = re.search(rb"content-length: (\d+)", head, re.I)
                self.rfile.read(int(length[1]) if length else 0)
                heads.append(head.decode())
                with contextlib.suppress(OSError):
                    answer(self, head)
        heads = []
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        result = self.replay("vector_add", to_file=False, status=None, env={**self.secrets(server.server_address[1]), **(env or {})}, **more)
        self.assertGreater(len(heads), 0)
        return result, heads

    @staticmethod
    def echo(status):
        """A server that repeats the whole request in its response, as some do."""
        def answer(handler, head):
            body = b"you said: " + head
            handler.wfile.write(b"HTTP/1.1 %d Odd\r\nContent-Type: text/plain\r\nX-Echo: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                                % (status, head.split(b"\r\n")[1], len(body)) + body)
        return answer

    def test_delivered_refused_and_unreachable(self):
        for status in 200, 400, 401, 503:
            with self.subTest(status):
                result, heads = self.offer(self.echo(status), settings={"exit_deadline_ms": 500})
                self.assertIn(SECRET + "-bearer", heads[0])  # it was sent, so the setting was read
                self.assertIn(SECRET + "-header", heads[0])
                self.assert_no_secret(result.out, result.err)
        result = self.replay("vector_add", to_file=False, status=None, env=self.secrets(1), settings={"exit_deadline_ms": 300})
        self.assert_no_secret(result.out, result.err)

    def test_spans_and_recordings(self):
        self.replay("vector_add", env=self.secrets(1))
        self.replay("vector_add", to_file=False, env=self.secrets(1), settings={"record_file": self.directory / "again.cuspanrec"})
        self.assertTrue((self.directory / "again.cuspanrec").exists())
        self.assert_no_secret()

    def test_check(self):
        result = self.start([agent_case.BUILD / "cuspan", "check", "--all"], self.secrets(1))
        self.assertEqual(result.status, 0, result.err)
        self.assert_no_secret(result.out, result.err)
        # For an error in the configuration, its line is logged, but not its text.
        for line in (f"headers_list: \"a={SECRET}\\u0001\"", f"endpoint: \"{SECRET}://{SECRET}@\"", f"headers: {SECRET}"):
            file = self.directory / "wrong.yaml"
            file.write_text(f'file_format: "1.1"\ntracer_provider:\n  processors:\n  - batch: {{exporter: {{otlp_http: {{{line}}}}}}}\n')
            result = self.start([agent_case.BUILD / "cuspan", "check", file], {})
            file.unlink()
            with self.subTest(line):
                self.assertNotIn(SECRET, result.out + result.err)


class Hostile(Secrets):
    """Input from others, over the network or in files, is bounded, and rejected with one line."""

    def load(self, text):
        """A host with the agent and this configuration."""
        path = self.directory / "hostile.yaml"
        path.write_bytes(text)
        return self.start([agent_case.BUILD / "agent_host", agent_case.BUILD / "libcuspan.so"], {"CUSPAN_CONFIG_FILE": str(path)})

    def test_yaml(self):
        bomb = b"  - &a0 [x, x]\n" + b"".join(b"  - &a%d [%s]\n" % (i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 30))
        cases = {
            "aliases that double": b"file_format: \"1.1\"\nresource:\n  attributes:\n" + bomb,
            "an alias in itself": b"file_format: \"1.1\"\nresource: &a {attributes: [*a]}\n",
            "depth": b"[" * 100_000,
            "depth of mappings": b"{a: " * 100_000,
            "100 MB": b"# " + b"x" * (100 << 20),
            "NULs": b"file_format: \"1.1\"\n" + bytes(100),
            "not UTF-8": b"file_format: \"1.1\"\n\xff\xfe\xc0\x80: 1\n",
            "a NUL in text": b"file_format: \"1.1\"\nlog_level: \"\\0\"\n",
            "a line of a megabyte": b"file_format: \"1.1\"\n" + b"k" * (1 << 20) + b": 1\n",
            "a million anchors": b"".join(b"- &a%d x\n" % i for i in range(60_000)),
        }
        for name, text in cases.items():
            with self.subTest(name):
                result = self.load(text)
                self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err[:1000])
                self.assertEqual(len(result.err.splitlines()), 1, result.err[:1000])
                self.assertIn("not traced", result.err)
                self.assertLess(len(result.err), 1100)

    def test_a_configuration_that_is_no_file(self):
        pipe = self.directory / "pipe"
        os.mkfifo(pipe)
        for path in pipe, Path("/dev/zero"), Path("/dev/tty"), self.directory:
            result = self.start([agent_case.BUILD / "agent_host", agent_case.BUILD / "libcuspan.so"], {"CUSPAN_CONFIG_FILE": str(path)}, 30)
            self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT))
            self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_recordings(self):
        """Blocks that unpack to gigabytes, excessive counts, and each byte of a valid one changed."""
        good = Path(path_of("vector_add")).read_bytes()
        head, first = good[:20], good[20:40]
        packed = zlib.compress(bytes(256 << 20), 9)

        def block(raw, stored, events, data):
            fields = b"".join(n.to_bytes(4, "little") for n in (int.from_bytes(first[:4], "little"), raw, stored, events))
            return fields + zlib.crc32(fields + data).to_bytes(4, "little") + data
        cases = {
            "a bomb": head + block(256 << 20, len(packed), 1, packed),
            "a bomb that says it is small": head + block(1000, len(packed), 1, packed),
            "more stored than there is": head + block(1000, 0xfffffff0, 1, b"x"),
            "four billion events": head + block(16, len(zlib.compress(bytes(16))), 0xffffffff, zlib.compress(bytes(16))),
            "no bytes": b"",
            "a header": head,
        }
        for name, data in cases.items():
            with self.subTest(name):
                self.refused(data)
        for at in range(0, len(good), max(1, len(good) // 25)):
            self.refused(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])

    def refused(self, data):
        path = self.directory / "hostile.cuspanrec"
        path.write_bytes(data)
        # 512 MB of address space beyond the program's own: a decompression bomb would not fit.
        result = self.start(["sh", "-c", 'ulimit -v 1500000; exec "$@"', "sh", agent_case.BUILD / "cuspan", "replay", "--file", "/dev/null", path]
                            if not agent_case.SANITIZERS else
                            [agent_case.BUILD / "cuspan", "replay", "--file", "/dev/null", path], {})
        self.assertGreater(result.status, 0, "it was taken")
        self.assertRegex(result.err, r"hostile\.cuspanrec: (corrupt|truncated|not a recording|.*)")
        self.assertLess(len(result.err), 2000)

    def test_answers(self):
        def endless(start, piece):
            def answer(handler, _):
                handler.wfile.write(start)
                for _ in range(20_000):  # 20 MB and more, until the client closes
                    handler.wfile.write(piece)
            return answer
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        cases = {
            "an endless body": endless(head + b"\r\n", b"[" * 1024),
            "an endless header": endless(head + b"X: ", b"x" * 1024),
            "headers without end": endless(head, b"X: " + b"x" * 1000 + b"\r\n"),
            "endless chunks": endless(head + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"{" * 1024 + b"\r\n"),
            "interim answers": endless(b"", b"HTTP/1.1 103 Early\r\nX: " + b"y" * 900 + b"\r\n\r\n"),
            "no HTTP": endless(b"", bytes(range(256)) * 4),
            "a length below zero": endless(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"x" * 100),
            "a bomb in gzip": lambda handler, _: handler.wfile.write(head + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
                                                                     + self.gzip_bomb()),
            "deep JSON": lambda handler, _: handler.wfile.write(head + b"Content-Length: 16000\r\nConnection: close\r\n\r\n" + b"[" * 16000),
        }
        for name, answer in cases.items():
            with self.subTest(name):
                result, _ = self.offer(answer, settings={"exit_deadline_ms": 1500}, watch=True)
                lines = [line for line in result.agent_lines() if " lost: lost_" not in line]
                print(f"{name}: {result.peak_bytes >> 20} MiB; {lines[:1]}")
                self.assertIn(result.status, (0, 1))
                self.assertLessEqual(len(lines), 2, result.err)
                self.assert_no_secret(result.out, result.err)
                losses = sum(result.report["losses"].values())
                self.assertEqual(result.report["delivered"] + losses, result.report["spans"])
                if not agent_case.SANITIZERS:
                    self.assertLess(result.peak_bytes, 200 << 20)

    @staticmethod
    def gzip_bomb():
        packer = zlib.compressobj(9, wbits=31)
        return packer.compress(bytes(64 << 20)) + packer.flush()


# Hostile inherits from Secrets only how a collector is played, not the tests.
for _name in [name for name in vars(Secrets) if name.startswith("test_")]:
    setattr(Hostile, _name, None)


class Files(Case):
    """Created with mode 0600; files and links of another user are never followed or written."""

    def modes(self, *patterns):
        return {path.name: oct(path.stat().st_mode & 0o777) for pattern in patterns for path in self.directory.glob(pattern)}

    def test_all_are_made_for_their_user_alone(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        self.replay("vector_add")
        self.replay("vector_add", to_file=False, settings={"record_file": self.directory / "again.cuspanrec"})
        self.start([agent_case.BUILD / "cuspan", "show", "--perfetto", self.directory / "trace.json", self.directory / "1.jsonl"], {})
        modes = self.modes("*.jsonl", "report-*", "*.cuspanrec")
        self.assertGreaterEqual(len(modes), 4, modes)
        self.assertEqual(set(modes.values()), {"0o600"}, modes)

    def test_links_that_wait_in_tmp(self):
        """Another user with write access to the folder has placed links at our file names: they are not followed."""
        victim = self.directory / "victim"
        folder = self.directory / "tmp"
        folder.mkdir()
        folder.chmod(0o1777)
        victim.write_text("precious")
        is_root = os.geteuid() == 0
        target = folder / "spans.jsonl"
        target.symlink_to(victim)
        if is_root:
            os.chown(target, 12345, 12345, follow_symlinks=False)
            result = self.replay("vector_add", "--file", target, to_file=False, status=1)
            self.assertRegex(result.err, "it is a link that belongs to another user|Permission denied")  # our message, or the kernel's
            self.assertEqual(victim.read_text(), "precious")
        # A recording replaces the link.
        again = folder / "again.cuspanrec"
        again.symlink_to(victim)
        self.replay("vector_add", to_file=False, settings={"record_file": again})
        self.assertEqual(victim.read_text(), "precious")
        # A report, whose name others can guess, takes another name.
        code = (f"import os, sys\nfor name in 'report.%d', '.report.%d.next', '.report.%d.last':\n"
                f"    os.symlink({str(victim)!r}, {str(folder)!r} + '/' + name % os.getpid())\n"
                "os.execv(sys.argv[1], sys.argv[1:])")
        result = self.start([sys.executable, "-c", code, agent_case.BUILD / "agent_host", agent_case.BUILD / "libcuspan.so",
                             agent_case.BUILD / "libcuspan-replay.so", path_of("vector_add")],
                            {"CUSPAN_SET": f"cupti.library={agent_case.BUILD / 'libcuspan-replay.so'};accounts_file={folder / 'report'};"
                                           f"output_file={folder / 'other.jsonl'}"})
        self.assertEqual(victim.read_text(), "precious")
        names = [path.name for path in (*folder.glob("report.*"), *folder.glob(".report.*")) if not path.is_symlink()]
        self.assertRegex(" ".join(names), r"^report\.[0-9]+-2$", result.err)


class Environment(Case):
    """Variables of the environment that cuspan ignores. For programs with another user's rights: agent_host_test.py."""

    def test_no_keys_of_connections(self):
        """libcurl writes the keys to the file SSLKEYLOGFILE, which would let someone decrypt recorded traffic."""
        if not LIBRARIES or agent_case.SANITIZERS:
            self.skipTest("this build links the system's libcurl, which asks the environment itself")
        keys = self.directory / "keys"
        self.host(agent_case.BUILD / "agent_host", env={"SSLKEYLOGFILE": str(keys)}, tls=True)
        self.assertFalse(keys.exists())


if __name__ == "__main__":
    agent_case.main()
