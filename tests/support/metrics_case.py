"""Shared by the tests of metrics: a replay whose spans go into a file and whose metrics go to a sink, and the comparison of the
two. Everything is decoded without any code of cuspan."""

import json
import subprocess
import tempfile
import unittest
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import otlp_metrics
from backend import spans_of
from built import BUILD, CLEAN
from sink import Sink

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
# A paced replay does not wait for the agent. With this much memory, nothing is lost even if the agent gets no CPU for seconds.
ROOM = ("rings.bytes=1048576", "rings.total_bytes=268435456", "memory_bytes_max=1073741824")


def build(name):
    return BUILD / name


def cuspan(*arguments, status=0, **variables):
    done = subprocess.run([str(build("cuspan")), *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False,
                          env={**CLEAN, **variables})
    assert done.returncode == status, done.stderr
    return done


def nearly(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-12


def union(stretches):
    covered = last = 0
    for start, end in sorted(stretches):
        covered += max(0, end - max(start, last))
        last = max(last, end)
    return covered


class Spans(Sequence):
    """The spans of a file, parsed at their first use: most tests need none."""

    def __init__(self, file):
        self.file, self.parsed = file, None

    def all(self):
        if self.parsed is None:
            lines = self.file.read_text().splitlines() if self.file.exists() else []
            self.parsed = [span for line in lines for span in spans_of(json.loads(line))]
        return self.parsed

    def __len__(self):
        return len(self.all())

    def __getitem__(self, at):
        return self.all()[at]


class Case(unittest.TestCase):
    replays = 0
    has_views = False  # then metrics are not those of the registry

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.sink = Sink()
        self.addCleanup(self.sink.close)

    def replay(self, recording, *arguments, settings=(), **variables):
        """(spans, requests with metrics, report) of a replay whose spans go into `self.file`."""
        self.replays += 1
        self.file, report = (Path(self.folder, f"{name}{self.replays}") for name in ("spans.jsonl", "report"))
        self.sink.requests.clear()
        base = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "always_on",
                "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics"}
        options = [word for setting in (f"accounts_file={report}", *settings) for word in ("--set", setting)]
        done = cuspan("replay", "--file", self.file, *options, *arguments, recording, **{**base, **variables})
        self.stderr = done.stderr
        report = self.read_report(report)
        requests = []
        for request in self.sink.requests:
            self.assertEqual(request.path, "/v1/metrics")
            is_json = request.headers["Content-Type"] == "application/json"
            requests.append(otlp_metrics.from_json(request.body) if is_json else otlp_metrics.from_protobuf(request.body))
        return Spans(self.file), requests, report

    @staticmethod
    def read_report(path):
        found, = path.parent.glob(path.name + ".*")  # with the process ID
        return json.loads(found.read_text())

    def repeat_until(self, is_enough, run):
        """The first result of run() that is_enough() accepts: a thread that gets no CPU on a busy machine does less."""
        for _ in range(30):
            found = run()
            if is_enough(found):
                return found
        self.fail("never in 30 runs")

    def totals(self, requests):
        """{metric: {attributes: (count, sum)}}"""
        found = defaultdict(dict)
        for (name, attributes), points in otlp_metrics.series(requests, self.has_views).items():
            found[name][attributes] = otlp_metrics.total(points)
        return found

    def expect(self, spans, totals, is_long=False):
        """The metrics match the spans. In a long run records may arrive far out of order, so the busy time of a GPU is an
        estimate."""
        calls = [span for span in spans if "cuda.api" in span.attributes]
        length = [span.end_ns - span.start_ns for span in calls]
        self.assertEqual(totals["cuda.calls"], {(): (None, len(calls))})
        self.assertTrue(nearly(totals["cuda.call.time"][()][1], sum(length) / 1e9))
        self.assertEqual(totals["cuda.call.errors"].get((), (None, 0))[1], sum("error.type" in span.attributes for span in calls))
        work = defaultdict(list)
        for span in spans:
            work[span.attributes.get("cuda.activity")].append(span)
        self.expect_kernels(work["kernel"], totals)
        self.expect_copies(work["memcpy"] + work["memcpy_peer"], totals)
        self.assertEqual(sum(count for count, _ in totals["cuda.memset.duration"].values()), len(work["memset"]))
        self.assertEqual(sum(value for _, value in totals["cuda.graph.executions"].values()), len(work["graph"]))
        if is_long:
            return
        gpu = [span for kind in ("kernel", "memcpy", "memcpy_peer", "memset", "graph") for span in work[kind]]
        by_device = defaultdict(list)
        for span in gpu:
            by_device[span.resource["hw.id"]].append((span.start_ns, span.end_ns))
        busy = {dict(key)["hw.id"]: value for key, (_, value) in totals["cuda.gpu.busy_time"].items()}
        self.assertEqual(set(busy), set(by_device))
        for device, stretches in by_device.items():
            self.assertTrue(nearly(busy[device], union(stretches) / 1e9), (busy[device], union(stretches)))

    def expect_kernels(self, kernels, totals):
        counts, times = Counter(), Counter()
        for span in kernels:
            key = span.resource["hw.id"], span.name
            counts[key] += 1
            times[key] += span.end_ns - span.start_ns
        said = {(dict(key)["hw.id"], dict(key)["cuda.kernel.short_name"]): value
                for key, value in totals["cuda.kernel.duration"].items()}
        self.assertEqual({key: count for key, (count, _) in said.items()}, dict(counts))
        for key, (_, seconds) in said.items():
            self.assertTrue(nearly(seconds, times[key] / 1e9), key)
        delays = [int(span.attributes["cuda.start_delay"]) for span in kernels if "cuda.start_delay" in span.attributes]
        latency = list(totals["cuda.launch.latency"].values())
        self.assertEqual(sum(count for count, _ in latency), len(delays))
        self.assertTrue(nearly(sum(seconds for _, seconds in latency), sum(max(0, delay) for delay in delays) / 1e9))

    def expect_copies(self, copies, totals):
        counts, sizes = Counter(), Counter()
        for span in copies:
            kind = span.attributes.get("cuda.memcpy.kind", "PeerToPeer")
            counts[kind] += 1
            sizes[kind] += int(span.attributes["cuda.memcpy.bytes"])
        said = Counter()
        for key, (count, _) in totals["cuda.memcpy.duration"].items():
            said[dict(key)["cuda.memcpy.kind"]] += count
        self.assertEqual(said, counts)
        moved = Counter()
        for key, (_, value) in totals["cuda.memcpy.io"].items():
            moved[dict(key)["cuda.memcpy.kind"]] += value
        self.assertEqual(+moved, +sizes)

    def view(self, views, *arguments, recording=None, reader="", exporter="", **variables):
        """(spans, requests, report) with these views, in protobuf."""
        config = Path(self.folder, "config.yaml")
        lines = "\n".join(f"  - {view}" for view in views)
        config.write_text(f"""file_format: "1.1"
tracer_provider: {{sampler: {{always_on: }}, processors: [{{batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{self.folder}/x.jsonl"}}}}}}}}]}}
meter_provider:
  readers:
  - periodic: {{{reader}exporter: {{otlp_http: {{{exporter}endpoint: "http://127.0.0.1:{self.sink.port}/v1/metrics"}}}}}}
  views:
{lines}
""")
        return self.replay(recording or self.RECORDING, *arguments, CUSPAN_CONFIG_FILE=str(config), **variables)


def main():
    unittest.main(verbosity=2)
