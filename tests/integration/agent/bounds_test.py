#!/usr/bin/env python3
"""cuspan's resource use is bounded, whatever its host does.

    bounds_test.py --build DIRECTORY [--sanitizers LIST] [--long] [--out FILE] [GROUP[.test]...]

Memory: the allocations of libcuspan.so and libcuspan-export.so (libmemory-watch.so counts blocks, mappings, stacks of
their threads, their variables) are at most memory_bytes_max under each load, and the process grows by no more than
that. Without libmemory-watch.so, and so with sanitizers, only delivery and counting are tested. --long: the full loads.
--out: the maximum allocated in each test, in bytes, as JSON."""

import contextlib
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import agent_case  # noqa: E402
from agent_case import MEMORY_BYTES, NO_HURRY, compare, is_call, recorded  # noqa: E402
from built import take_flag, take_option  # noqa: E402
from preload import preloadable  # noqa: E402

LONG = take_flag("--long") or bool(os.environ.get("CUSPAN_LONG"))
ALLOCATED = {}  # by test, for tests with the default bound
MIB = 1 << 20
# Without the memory of the batches' text, which would hide that of the counters.
NOWHERE = ["--file", "/dev/null"]


class SlowHandler(BaseHTTPRequestHandler):
    """A collector that responds slowly to each request."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.pause_s)
        self.server.requests += 1
        self.send_response(200)
        self.send_header("Content-Type", self.server.content_type)
        self.send_header("Content-Length", str(len(self.server.answer)))
        with contextlib.suppress(OSError):  # the client may have gone
            self.end_headers()
            self.wfile.write(self.server.answer)

    def log_message(self, *_):
        pass


class Case(agent_case.Case):
    def load(self, name, *options, memory=MEMORY_BYTES, env=None, settings=None, **more):
        """Plays the recording and checks the agent's bound. The result has `allocated`, and the growth of the
        process."""
        env = dict(env or {})
        watched = agent_case.BUILD / "libmemory-watch.so"
        page = self.directory / "memory"
        if not agent_case.SANITIZERS:
            env.update(LD_PRELOAD=preloadable(watched), MEMORY_WATCH=str(page))
        settings = {"memory_bytes_max": memory, **NO_HURRY, **(settings or {})}
        to_file = more.pop("to_file", not {"--file", "--endpoint"} & set(options))
        result = self.replay(name, *options, env=env, settings=settings, to_file=to_file, **more)
        result.allocated = 0
        for path in self.directory.glob("memory.*"):
            seen = json.loads(path.read_bytes().rstrip(b"\0"))
            if seen["peak"] > result.allocated:
                result.allocated, result.memory = seen["peak"], seen
            path.unlink()
        if not agent_case.SANITIZERS:
            parts = ", ".join(f"{key} {value / MIB:.1f}" for key, value in result.memory.items() if key != "allocations")
            print(f"{self.id().split('.', 1)[1]}: allocated at most {result.allocated / MIB:.1f} MiB ({parts})")
            name = self.id().split(".", 1)[1]
            if memory == MEMORY_BYTES:
                ALLOCATED[name] = max(result.allocated, ALLOCATED.get(name, 0))
            self.assertGreater(result.allocated, memory // 2)  # checks that the watch works
            self.assertLessEqual(result.allocated, memory)
        return result

    @staticmethod
    def lost_as_spans(result):
        reasons = "queue_full", "too_large", "rejected", "refused", "unreachable", "deadline", "output"
        return sum(result.report["losses"].get("lost_" + reason, 0) for reason in reasons)


class Memory(Case):
    def test_flat_out(self):
        self.load("torch_inference", *NOWHERE, "--repeat", 60, "--overload")
        self.load("torch_inference", *NOWHERE, "--repeat", 20, "--overload", "--cupti-version", "13.0")  # which frees names

    def test_profiles(self):
        settings = {"profiles.enabled": "true", "profiles.endpoint": "http://127.0.0.1:9/p", "capture.launch_stacks": "python",
                    "session.spans_max": 4, "exit_deadline_ms": 3000}
        self.load("torch_inference", "--repeat", 60, "--overload", memory=76_000_000, settings=settings)

    def test_each_detail(self):
        for detail in "summary", "graph-nodes", "full":
            with self.subTest(detail):
                self.load("torch_inference", *NOWHERE, "--repeat", 5, "--overload", settings={"detail": detail})

    def collector(self, pause_s, answer=b"", tls=False):
        server = ThreadingHTTPServer(("127.0.0.1", 0), SlowHandler)
        server.pause_s, server.answer, server.requests = pause_s, answer, 0
        server.content_type = "application/x-protobuf"
        if tls:
            pem = self.directory / "server.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", f"{pem}.crt",
                            "-subj", "/CN=localhost", "-days", "2"], check=True, stderr=subprocess.DEVNULL)
            pem.write_text(pem.read_text() + Path(f"{pem}.crt").read_text())
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def send_to(self, server, repeat, name="torch_inference", tls=False, memory=MEMORY_BYTES, fail=None, **settings):
        """Resolving the name makes libcurl start a thread."""
        url = f"http{'s' if tls else ''}://localhost:{server.server_port}"
        settings = {"tls_verify": "false", "exit_deadline_ms": 2000, **settings}
        result = self.load(name, "--endpoint", url, "--repeat", repeat, "--overload", settings=settings,
                           memory=memory, fail=fail, status=None, timeout=7200)
        print(f"{result.report['spans']} spans in {result.seconds:.0f} s, {server.requests} requests, {result.report['losses']}")
        self.assertEqual(result.report["delivered"] + self.lost_as_spans(result), result.report["spans"])
        return result

    def test_a_slow_collector_at_full_rate(self):
        """With --long for an hour. Queues are always full; what does not fit is counted."""
        file = self.directory / "calls.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", file, "4", "50000"], check=True)
        memory, repeat = (MEMORY_BYTES, 5000) if LONG else (56 * MIB, 2)  # a queue of 2 MiB fills quickly
        for compression in "gzip", "zstd":
            with self.subTest(compression):
                result = self.send_to(self.collector(1 if LONG else 20), repeat, file, memory=memory, fail="no-patience",
                                      compression=compression)
                self.assertGreater(result.report["losses"].get("lost_queue_full", 0), 0)

    def test_tls(self):
        server = self.collector(0, tls=True)
        self.send_to(server, 100, tls=True)
        self.assertGreater(server.requests, 0)

    def test_answers_of_four_megabytes(self):
        """Only brackets and commas, as JSON: the text that takes a parser the most memory."""
        for answer, kind in (bytes(4 * MIB - 1), "application/x-protobuf"), (b"[0" + b",0" * (2 * MIB - 2), "application/json"):
            with self.subTest(kind):
                server = self.collector(0, answer=answer, tls=True)
                server.content_type = kind
                self.send_to(server, 50, tls=True)
                self.assertGreater(server.requests, 0)

    def test_four_outputs(self):
        config = self.directory / "four.yaml"
        outputs = "".join("    - batch: {exporter: {otlp_file/development: {output_stream: file:///dev/null}}}\n" for _ in range(4))
        config.write_text(f'file_format: "1.1"\ntracer_provider:\n  processors:\n{outputs}')
        self.load("torch_inference", "--config", config, "--repeat", 20, "--overload", to_file=False)

    def test_metrics(self):
        """With more kernel names than metrics distinguish, and the largest histograms."""
        server = self.collector(0)
        kernels = sum(1 for a in recorded("torch_inference").gpu_work() if a.kind == agent_case.recording.KERNEL)
        env = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "100",
               "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}/v1/metrics",
               "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram"}
        result = self.load("torch_inference", *NOWHERE, "--repeat", 40, fail="unique-names=40", env=env)
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.report["counters"]["kernels_unnamed"], 40 * kernels - 256)
        self.assertGreater(result.report["metrics"]["delivered"], 256)
        self.assertGreater(server.requests, 1)

    def test_metrics_beside_spans(self):
        """They leave spans 3 MiB of queue. At the pace of a program that is bound by launches (4 us per call), and
        without the patience of a replay: if tracing alone loses nothing, tracing with metrics loses nothing either."""
        file = self.directory / "launches.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", file, "1", "35000"], check=True)
        collector = subprocess.Popen([agent_case.BUILD / "null_collector"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(collector.stdout.close)
        self.addCleanup(collector.wait)
        self.addCleanup(collector.terminate)
        endpoint = f"http://127.0.0.1:{collector.stdout.readline().split()[1]}"
        # Records that fill buffers, and everything that CUPTI has held back at once, at a flush and at exit.
        for fail in "no-patience", "no-patience,late-buffers":
            for metrics in "none", "otlp":
                with self.subTest(fail, metrics=metrics):
                    env = {"OTEL_METRICS_EXPORTER": metrics, "OTEL_METRIC_EXPORT_INTERVAL": "50",
                           "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
                    for _ in range(10):  # a busy machine loses some in some attempts
                        result = self.load(file, "--endpoint", endpoint, "--paced", fail=fail, env=env)
                        if not self.lost_as_spans(result):
                            break
                    self.assertEqual(self.lost_as_spans(result), 0, result.report["losses"])
                    self.assertEqual(result.report["delivered"], result.report["spans"])
                    self.assertGreater(result.report["spans"], 30000)
                    self.assertEqual((result.report.get("metrics") or {}).get("lost"), 0 if metrics == "otlp" else None)

    def test_metrics_in_a_spool(self):
        """Uncompressed, as JSON, with a slow collector."""
        server = self.collector(0.1)
        server.content_type = "application/json"
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        env = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
               "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "none"}
        result = self.load("torch_inference", "--endpoint", endpoint, "--repeat", 20, fail="unique-names=40", env=env, memory=80 * MIB,
                           settings={"spool.directory": self.directory / "spool"})
        self.assertEqual(result.report["losses"], {})
        self.assertGreater(result.report["counters"]["points_spooled"], 256)

    def test_metrics_in_several_forms(self):
        """Views: each kernel name in four forms, two of which add up the devices."""
        server = self.collector(0)
        form = "selector: {instrument_type: histogram}, stream: {%s, aggregation: {%s}}"
        config = self.directory / "views.yaml"
        views = "".join("  - {%s}\n" % (form % ("attribute_keys: {excluded: [hw.id]}" if i % 2 else "description: x",
                                                "base2_exponential_bucket_histogram: {max_size: %d}" % (150 + i))) for i in range(4))
        config.write_text(f"""file_format: "1.1"
tracer_provider: {{processors: [{{batch: {{exporter: {{otlp_file/development: {{output_stream: file:///dev/null}}}}}}}}]}}
meter_provider:
  readers: [{{periodic: {{interval: 100, exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{server.server_address[1]}/v1/metrics"}}}}}}}}]
  views:
{views}""")
        result = self.load("torch_inference", "--config", config, "--repeat", 40, fail="unique-names=40", memory=96 * MIB, to_file=False)
        self.assertEqual(result.report["losses"], {})
        self.assertGreater(result.report["metrics"]["delivered"], 4 * 256)

    def test_small_and_large(self):
        small = {"rings.total_bytes": 2 * MIB, "cupti.host_buffer_count": 32}
        self.load("torch_inference", *NOWHERE, "--repeat", 10, "--overload", memory=40 * MIB, settings=small)
        self.load("torch_inference", *NOWHERE, "--repeat", 10, "--overload", memory=256 * MIB)


class Gpu(Case):
    def test_memory_a_context_is_set_and_shown(self):
        settings = {"cupti.device_buffer_bytes": 1 * MIB, "cupti.device_buffer_preallocate": 2, "cupti.device_buffer_limit": 5}
        result = self.replay("threads", settings=settings)
        self.assertEqual(result.report["gpu_memory"], {"where": "device memory", "bytes_a_context": 2 * MIB,
                                                       "bytes_a_context_max": 5 * MIB, "contexts": 1})
        options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        shown = self.start([agent_case.BUILD / "cuspan", "check", *options], {"OTEL_TRACES_EXPORTER": "otlp"}).out
        self.assertRegex(shown, r"GPU memory, for each context: 2\S* MiB at its start, at most 5\S* MiB")


class Threads(Case):
    def test_ten_thousand_one_after_the_other(self):
        """All threads are traced, and each returns a ring."""
        count = 10_000 if not agent_case.SANITIZERS else 1_000
        whole = sum(map(is_call, self.replay("torch_inference").spans))
        repeat = 40 if not agent_case.SANITIZERS else 15
        result = self.load("torch_inference", "--repeat", repeat, fail=f"threads={count // 10}", timeout=300)
        seen = result.report["counters"]["threads_seen"]
        print(f"{seen} threads, {result.report['losses']}")
        self.assertGreaterEqual(seen, count)
        self.assertEqual(sum(map(is_call, result.spans)) + sum(result.report["losses"].values()), whole * repeat)

    def test_a_thousand_at_once(self):
        """More threads than rings: those beyond the limit are counted."""
        file = self.directory / "thousand.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", file, "1000", "96"], check=True)
        settings = {"rings.total_bytes": 131072, "rings.bytes": 65536}
        plenty = self.load(file, *NOWHERE, timeout=300)
        few = self.load(file, *NOWHERE, settings=settings, timeout=300)
        offered = [self.calls(plenty), self.calls(few)]
        print(f"{offered} calls, lost {plenty.report['losses']}, then {few.report['losses']}")
        self.assertEqual(offered[0], offered[1])
        self.assertGreater(few.report["losses"]["lost_no_ring"], 0)

    @staticmethod
    def calls(result):
        """Accepted or counted as lost."""
        losses = result.report["losses"]
        return (result.report["counters"]["calls_captured"] + losses.get("lost_no_ring", 0) + losses.get("lost_ring_full", 0))


class Work(Case):
    def gpu_work(self, name, repeat):
        return len(recorded(name).gpu_work()) * repeat

    def test_a_thousand_streams(self):
        result = self.load("threads", "--repeat", 5, fail="streams=1000")
        self.assert_nothing_lost(result)
        streams = {span.attributes.get("cuda.stream.id") for span in result.spans if compare.is_gpu_span(span)}
        self.assertGreaterEqual(len(streams), 1000)

    def test_unique_names(self):
        """Each kernel has a new name: 10^5, and with --long 10^7."""
        wanted = 10**7 if LONG else 10**5
        kernels = sum(1 for a in recorded("torch_inference").gpu_work() if a.kind == agent_case.recording.KERNEL)
        repeat = wanted // kernels + 1
        plain = self.load("torch_inference", *NOWHERE, "--repeat", 20, timeout=7200)
        result = self.load("torch_inference", *NOWHERE, "--repeat", repeat, fail="unique-names=40", timeout=7200)
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.report["spans"] - result.report["counters"]["sessions"],
                         (plain.report["spans"] - plain.report["counters"]["sessions"]) // 20 * repeat)
        print(f"{kernels * repeat} names in {result.seconds:.1f} s")

    def test_unique_names_are_right(self):
        result = self.load("torch_inference", fail="unique-names=40")
        names = [s.attributes["cuda.kernel.name"] for s in result.spans if "cuda.kernel.name" in s.attributes]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(name.startswith("kkkkk") and name.endswith("(int)") for name in names))

    def test_names_of_a_megabyte(self):
        result = self.load("vector_add", fail=f"unique-names={MIB}")
        self.assert_nothing_lost(result)
        names = [s.attributes["cuda.kernel.name"] for s in result.spans if "cuda.kernel.name" in s.attributes]
        self.assertGreater(len(names), 0)
        self.assertTrue(all(256 <= len(name) <= 32768 for name in names), [len(name) for name in names])

    def test_calls_whose_records_never_come(self):
        """They wait in a table of fixed size; evicted ones are counted."""
        repeat = 200 if not agent_case.SANITIZERS else 20
        result = self.load("threads", *NOWHERE, "--repeat", repeat, fail="no-record=2", timeout=300)
        self.assertEqual(result.report["losses"], {})
        print(f"{result.report['counters']['pending_evicted']} calls given up")
        if not agent_case.SANITIZERS:
            self.assertGreater(result.report["counters"]["pending_evicted"], 0)

    def test_records_whose_calls_never_come(self):
        """They are sent below the session, marked and counted, after they have waited without a result."""
        repeat = 20
        result = self.load("threads", "--repeat", repeat, fail="no-call=2")
        self.assert_nothing_lost(result)
        orphans = sum(1 for span in result.spans if span.attributes.get("cuda.orphan"))
        self.assertEqual(orphans, result.report["counters"]["orphans"])
        self.assertAlmostEqual(orphans, self.gpu_work("threads", repeat) // 2, delta=repeat * 2)


def main():
    out = take_option("--out", None)
    program = unittest.main(verbosity=2, exit=False)
    if out:
        Path(out).write_text(json.dumps({"allocated_max": max(ALLOCATED.values(), default=None), "tests": ALLOCATED}) + "\n")
    sys.exit(0 if program.result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
