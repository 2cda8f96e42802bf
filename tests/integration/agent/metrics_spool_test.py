#!/usr/bin/env python3
"""Metrics in a spool survive an outage and the end of their process.

    metrics_spool_test.py --build BUILD-DIR [unittest's arguments]
"""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, ROOM, Case, build, cuspan, main  # noqa: E402


class Spool(Case):
    """With spool.directory, points survive an outage and the end of their process."""

    RECORDING = ROOT / "examples/recordings/service.cuspanrec"

    def setUp(self):
        super().setUp()
        self.spool = Path(self.folder, "spool")

    def spooled(self, *arguments, temporality="delta", to=None, **variables):
        to = to or f"http://127.0.0.1:{self.sink.port}/v1/metrics"
        return self.replay(self.RECORDING, "--paced", *arguments, settings=[*ROOM, f"spool.directory={self.spool}"],
                           OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality, OTEL_METRIC_EXPORT_INTERVAL="30",
                           OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=to, **variables)

    def send(self, *arguments, status=0, **variables):
        self.sink.requests.clear()
        done = cuspan("send", *arguments, self.spool, status=status, **variables)
        return [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests], done.stderr

    def test_beyond_the_end_of_the_process(self):
        for temporality in "delta", "cumulative":
            with self.subTest(temporality):
                spans, requests, said, metrics = self.repeat_until(lambda found: len(found[1]) > 3,
                                                                   lambda: self.spooled_and_sent(temporality))
                self.assertEqual({request.path for request in self.sink.requests}, {"/v1/metrics"})
                self.expect(spans, self.totals(requests))
                points = otlp_metrics.series(requests).values()
                self.assertEqual(sum(map(len, points)), metrics["made"])
                for series in points:
                    times = [point.time_unix_nano for _, point in series]
                    self.assertEqual(times, sorted(times))
                self.assertIn(f"cuspan: {metrics['made']} data points of metrics delivered to http://127.0.0.1:{self.sink.port}/v1/metrics",
                              said.replace(",", ""))
                self.assertEqual(list(self.spool.iterdir()), [])

    def spooled_and_sent(self, temporality):
        """A run whose metrics are left in the spool, and are sent from there."""
        spans, requests, report = self.spooled(temporality=temporality, to="http://127.0.0.1:9/v1/metrics")
        metrics = report["metrics"]
        self.assertEqual((requests, metrics["delivered"], metrics["lost"], metrics["spooled"]), ([], 0, 0, metrics["made"]))
        self.assertIn(f"{metrics['made']} data points of metrics are left in the spool", self.stderr)
        return spans, *self.send("--endpoint", f"http://127.0.0.1:{self.sink.port}"), metrics

    def outage(self, *settings, timeout_ms):
        """A run whose collector refuses the first two requests. The second follows half a second later, but an exit would not wait
        for a third."""
        self.sink.requests.clear()
        self.sink.statuses["/v1/metrics"] = [503, 503]
        spans, requests, report = self.replay(
            self.RECORDING, "--paced", "--repeat", "8", settings=[*ROOM, "exit_deadline_ms=60000", *settings], OTEL_METRIC_EXPORT_INTERVAL="30",
            OTEL_METRIC_EXPORT_TIMEOUT=str(timeout_ms), OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
        return spans, requests, report["metrics"]

    def test_an_outage_that_outlasts_all_patience(self):
        """Without a spool, points are lost: otherwise this test would show nothing."""
        *_, metrics = self.outage(timeout_ms=100)
        self.assertGreater(metrics["lost"], 0, self.stderr)
        self.assertEqual(metrics["made"], metrics["delivered"] + metrics["lost"])
        # On a busy machine, a request may need more than 100 ms, so that points are still in the spool at the end.
        timeouts_ms = itertools.count(100, 300)
        def attempt():
            timeout_ms = next(timeouts_ms)
            return self.outage(f"spool.directory={self.spool}-{timeout_ms}", timeout_ms=timeout_ms)

        spans, requests, metrics = self.repeat_until(lambda found: not found[2]["spooled"], attempt)
        self.assertEqual((metrics["lost"], metrics["delivered"]), (0, metrics["made"]), self.stderr)
        for refused in requests[:2]:
            self.assertIn(refused, requests[2:])
        came = {request.SerializeToString(): request for request in requests}  # without duplicates, even if a response came too late
        self.expect(spans, self.totals(came.values()), is_long=True)

    def test_the_next_process_delivers(self):
        """A process that ends soon may deliver only a part, and the one after it the rest."""
        runs = [self.spooled(to="http://127.0.0.1:9/v1/metrics")]
        made = runs[0][2]["metrics"]["made"]

        def attempt():
            runs.append(self.spooled("--set", "exit_deadline_ms=60000"))
            return sum(report["counters"]["recovered_points"] for *_, report in runs)

        self.assertEqual(self.repeat_until(lambda recovered: recovered >= made, attempt), made)
        by_process = defaultdict(list)
        for request in itertools.chain.from_iterable(requests for _, requests, _ in runs):
            pid, = (pair.value.int_value for pair in request.resource_metrics[0].resource.attributes if pair.key == "process.pid")
            by_process[pid].append(request)
        self.assertEqual(len(by_process), len(runs))
        for spans, _, report in runs:
            self.assertEqual(report["counters"]["recovered_points_lost"], 0)
            self.expect(spans, self.totals(by_process[report["pid"]]), is_long=report is not runs[0][2])
        for *_, report in runs[1:]:
            self.assertEqual(report["metrics"]["made"], report["metrics"]["delivered"])
        # A process that ends right after it delivered the last record leaves the empty file to the next one.
        requests, _ = self.send("--endpoint", f"http://127.0.0.1:{self.sink.port}")
        self.assertEqual((requests, list(self.spool.iterdir())), ([], []))

    def test_spans_in_the_spool_are_a_metric(self):
        """Spans that no collector has accepted yet: backpressure shows in the metrics."""
        report = Path(self.folder, "spooled-report")
        settings = [word for setting in (*ROOM, f"spool.directory={self.spool}", f"accounts_file={report}") for word in ("--set", setting)]
        cuspan("replay", "--endpoint", "http://127.0.0.1:9", "--paced", "--repeat", "4", *settings, self.RECORDING,
               OTEL_METRICS_EXPORTER="otlp", OTEL_METRIC_EXPORT_INTERVAL="30",
               OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/v1/metrics")
        requests = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests]
        sizes = [point.as_int for (name, _), points in otlp_metrics.series(requests).items() if name == "cuspan.spool.size"
                 for _, point in points]
        self.assertGreater(max(sizes), 0)
        self.assertLessEqual(max(sizes), self.read_report(report)["counters"]["spans_spooled_left"])
        _, requests, _ = self.replay(self.RECORDING)
        self.assertNotIn("cuspan.spool.size", [name for name, _ in otlp_metrics.series(requests)], "there is no spool")

    def test_what_is_refused_is_counted(self):
        self.sink.statuses["/v1/metrics"] = [400]
        *_, report = self.spooled("--set", "exit_deadline_ms=60000")
        metrics = report["metrics"]
        self.assertGreater(metrics["lost"], 0)
        self.assertEqual((metrics["made"], metrics["spooled"]), (metrics["delivered"] + metrics["lost"], 0))
        self.assertEqual(report["losses"], {"lost_points": metrics["lost"]})

    def test_a_full_spool_is_counted(self):
        *_, report = self.replay(ROOT / "examples/recordings/torch_inference.cuspanrec", "--paced", "--repeat", "5",
                                 CUSPAN_REPLAY_FAIL="unique-names=150", OTEL_METRIC_EXPORT_INTERVAL="5",
                                 OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="http://127.0.0.1:9/v1/metrics", OTEL_EXPORTER_OTLP_COMPRESSION="none",
                                 settings=[f"spool.directory={self.spool}", "spool.bytes_max=4194304"])
        metrics = report["metrics"]
        self.assertGreater(metrics["lost"], 0)
        self.assertEqual(metrics["made"], metrics["lost"] + metrics["spooled"])
        self.assertIn("new metrics are lost", self.stderr)

    def test_where_they_are_sent(self):
        """Next to the spans' endpoint if that is known, else from the configuration; never the spans' own path."""
        *_, report = self.spooled(to="http://127.0.0.1:9/v1/metrics")
        made = report["metrics"]["made"]
        requests, said = self.send(status=1, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/my/path")
        self.assertEqual(requests, [])
        self.assertIn("no endpoint is set", said)
        self.assertIn(f"{made} remain", said)
        requests, said = self.send(OTEL_TRACES_EXPORTER="none", OTEL_METRICS_EXPORTER="otlp",
                                   OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/my/metrics")
        self.assertEqual({request.path for request in self.sink.requests}, {"/my/metrics"})
        self.assertEqual(sum(map(len, otlp_metrics.series(requests).values())), made)

    def test_who_is_killed_leaves_them(self):
        """Written points are delivered; other points are counted."""
        self.sink.statuses["/v1/metrics"] = [503] * 1000
        process = subprocess.Popen(
            [str(build("cuspan")), "replay", "--quiet", "--paced", "--repeat", "100000", "--file", os.devnull, "--set",
             f"spool.directory={self.spool}", str(self.RECORDING)], stderr=subprocess.PIPE, start_new_session=True,
            env={**CLEAN, "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "30",
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics"})
        while len(self.sink.requests) < 2 and process.poll() is None:  # the second is a retry of the first
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()  # both processes have ended
        self.sink.statuses.clear()
        refused = otlp_metrics.from_protobuf(self.sink.requests[0].body)
        requests, said = self.send("--endpoint", f"http://127.0.0.1:{self.sink.port}")
        made, delivered, here, lost = map(int, re.search(
            r"ended unexpectedly: of (\d+) data points that it is known to have created, (\d+) were delivered, (\d+) are in the spool "
            r"and will be sent now, (\d+) are lost", said).groups())
        self.assertEqual((made, delivered), (here + lost, 0))
        self.assertIn(refused, requests)
        self.assertEqual(sum(map(len, otlp_metrics.series(requests).values())), here)


if __name__ == "__main__":
    main()
