#!/usr/bin/env python3
"""The benchmark's own parts, without a GPU: pairing and intervals, the harness on stand-in programs, the null collector,
libcuspan-timed.so on a recording, and the page.

    bench_test.py --build DIRECTORY [Class[.test]...]
"""

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import page  # noqa: E402
import paired  # noqa: E402

BUILD = Path()

# Prints what calls and service would, and writes what the agent would; what it costs is known.
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
settings = dict(pair.split("=", 1) for pair in os.environ.get("CUSPAN_SET", "").split(";") if pair)
library = os.path.basename(os.environ.get("CUDA_INJECTION64_PATH", ""))
open(os.environ["BENCH_READY"], "w").close()
fails = os.environ.get("STAND_IN_FAILS", "")
asleep = os.environ.get("OTEL_TRACES_SAMPLER") == "always_off"
cost = {"": 1000, "libcuspan-floor.so": 1200, "libcuspan.so": 1000 if asleep else 1260}[library]
if library == "libcuspan.so" and not asleep and fails != "agent":
    json.dump({"spans": 7, "delivered": 7, "losses": {}}, open(f"{settings['report_file']}.{os.getpid()}", "w"))
if "CUSPAN_FLOOR_OFF_FILE" in os.environ and fails != "floor":
    print("floor: all off after 3 buffers", file=sys.stderr)
if "CUSPAN_TIMED_FILE" in os.environ:
    json.dump({"runtime exit": {"count": 5, "p50_ns": 30.0, "p99_ns": 60.0, "p999_ns": 90.0, "max_ns": 99.0,
               "over_50us": 0, "over_50us_switched": 0, "over_50us_faulted": 0}}, open(os.environ["CUSPAN_TIMED_FILE"], "w"))
print("said in passing: 3 things")
for name in sys.argv[1:2] == ["graphs"] and ["graph-launch"] or ["launch", "get-device"]:
    print(f"{name}.median {cost} ns")
    print(f"{name}.min {cost - 5} ns")
"""


class Intervals(unittest.TestCase):
    def test_too_few_values_have_none(self):
        self.assertIsNone(paired.interval([1, 2, 3, 4, 5]))
        estimate = paired.Estimate([3, 1, 2])
        self.assertEqual((estimate.median, estimate.low, estimate.high, estimate.is_sure), (2, 1, 3, False))

    def test_known_ones(self):
        # From tables of the sign test: n = 6: 1 and 6; 10: 2 and 9; 30: 10 and 21.
        self.assertEqual(paired.interval(range(1, 7)), (1, 6))
        self.assertEqual(paired.interval(range(1, 11)), (2, 9))
        self.assertEqual(paired.interval(range(1, 31)), (10, 21))

    def test_it_covers_as_often_as_it_says(self):
        chance = random.Random(4)
        covered = sum(low <= 1 <= high for low, high in (
            paired.interval([chance.lognormvariate(0, 1) for _ in range(15)]) for _ in range(2000)))
        self.assertGreater(covered, 0.945 * 2000)


def run_of(app, config, number, series="rounds", **figures):
    return {"app": app, "config": config, "round": number, "series": series, "figures": figures}


class Pairs(unittest.TestCase):
    def test_a_machine_that_drifts_does_not_matter(self):
        runs = []
        for number, speed in enumerate([1, 2, 5]):
            runs += [run_of("calls", "none", number, launch=100 * speed), run_of("calls", "default", number, launch=110 * speed)]
        found = paired.ratio(runs, "calls", "default", "none", "launch")
        self.assertAlmostEqual(found.low, 1.1)
        self.assertAlmostEqual(found.high, 1.1)
        self.assertEqual(paired.difference(runs, "calls", "default", "none", "launch").median, 20)

    def test_what_has_no_partner_is_left_out(self):
        runs = [run_of("calls", "none", 0, launch=100), run_of("calls", "default", 0, launch=120),
                run_of("calls", "default", 1, launch=900), run_of("torch", "none", 1, launch=1),
                run_of("calls", "none", 1, "pairs-asleep", launch=1)]
        self.assertEqual(paired.pairs(runs, "calls", "default", "none", "launch"), [(120, 100)])
        self.assertIsNone(paired.ratio(runs, "calls", "full", "none", "launch"))


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bench-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        for name in "calls", "service", "torch_step.py":
            (self.folder / name).write_text(STAND_IN)
            (self.folder / name).chmod(0o700 | stat.S_IXUSR)

    def bench(self, *options, fails="", status=0):
        out = self.folder / "gpu.json"
        done = subprocess.run([str(ROOT / "tests/bench/run.sh"), "gpu", str(out), "--build", str(BUILD), "--programs",
                               str(self.folder), *options], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "STAND_IN_FAILS": fails})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(out.read_text())

    def test_two_rounds(self):
        found = self.bench("--rounds", "2", "--apps", "calls,graphs", "--configs",
                           "asleep,floor-default,default,floor-off", "--pairs", "asleep:1")
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["rounds"], 2)
        order = [run["config"] for run in found["runs"] if run["app"] == "calls" and run["series"] == "rounds"]
        self.assertEqual(order, ["none", "asleep", "floor-default", "default", "floor-off",
                                 "asleep", "floor-default", "default", "floor-off", "none"])
        self.assertNotIn("floor-off", [run["config"] for run in found["runs"] if run["app"] == "graphs"])
        self.assertEqual(len([run for run in found["runs"] if run["series"] == "pairs-asleep"]), 2)
        ratio = paired.ratio(found["runs"], "calls", "default", "floor-default", "launch.median")
        self.assertAlmostEqual(ratio.median, 1260 / 1200)
        self.assertEqual(found["callbacks"]["service"]["kinds"]["runtime exit"]["p99_ns"], 60.0)
        self.assertEqual(found["units"]["launch.median"], "ns")

    def test_a_run_that_is_not_what_its_name_says_has_no_figure(self):
        for fails, config in ("agent", "default"), ("floor", "floor-off"):
            found = self.bench("--rounds", "1", "--apps", "calls", "--configs", config, fails=fails, status=1)
            self.assertEqual({run["config"] for run in found["runs"]}, {"none"})
            self.assertTrue(any(config in problem for problem in found["problems"]), found["problems"])

    def test_it_ends_in_time(self):
        found = self.bench("--rounds", "100000", "--apps", "calls", "--configs", "asleep", "--seconds", "3")
        self.assertLess(found["seconds"], 6)
        self.assertGreater(len(found["runs"]), 2)


class Collector(unittest.TestCase):
    def setUp(self):
        self.collector = subprocess.Popen([str(BUILD / "null_collector")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.collector.stdout.close)
        self.addCleanup(self.collector.wait)
        self.addCleanup(self.collector.kill)
        self.port = int(self.collector.stdout.readline().split()[1])

    def end(self):
        self.collector.send_signal(signal.SIGTERM)
        return self.collector.stdout.readline().strip()

    def test_it_counts_on_one_connection_and_on_another(self):
        for count in 3, 1:
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            for size in [0, 10, 3_000_000][:count]:
                client.request("POST", "/v1/traces", b"x" * size)
                answer = client.getresponse()
                self.assertEqual((answer.status, answer.read()), (200, b""))
            client.close()
        self.assertEqual(self.end(), "requests 4 bytes 3000010")

    def test_a_body_that_comes_in_pieces_and_two_requests_at_once(self):
        import socket
        head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\ncontent-length: 6\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            client.sendall(head[:20])
            client.sendall(head[20:] + b"abc")
            client.sendall(b"def" + head + b"ghijkl")
            answers = b""
            while answers.count(b"200 OK") < 2:
                got = client.recv(4096)
                self.assertTrue(got)
                answers += got
        self.assertEqual(self.end(), "requests 2 bytes 12")

    def test_who_asks_before_a_large_body_is_answered(self):
        import socket
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(b"ok")
            self.assertIn(b"200 OK", client.recv(1000))


class Timed(unittest.TestCase):
    """The agent with the clock around it, in a host that a recording's calls come from."""

    def test_every_callback_is_counted(self):
        folder = Path(tempfile.mkdtemp(prefix="bench-timed-"))
        self.addCleanup(shutil.rmtree, folder, True)
        shutil.copy(BUILD / "libcuspan-timed.so", folder / "libcuspan.so")
        (folder / "libcuspan-export.so").symlink_to(BUILD / "libcuspan-export.so")
        settings = {"cupti.library": BUILD / "libcuspan-replay.so", "output_file": folder / "spans.jsonl",
                    "report_file": folder / "report", "exit_deadline_ms": 60000}
        env = {key: value for key, value in os.environ.items() if not key.startswith(("CUSPAN_", "OTEL_"))}
        env.update(CUSPAN_SET=";".join(f"{key}={value}" for key, value in settings.items()),
                   CUSPAN_TIMED_FILE=str(folder / "timed"))
        done = subprocess.run([str(BUILD / "agent_host"), str(folder / "libcuspan.so"), str(BUILD / "libcuspan-replay.so"),
                               str(ROOT / "examples/recordings/threads.cuspanrec")], env=env, cwd=folder, timeout=120,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (7, "host: done\n"), done.stderr)
        kinds = json.loads((folder / "timed").read_text())
        report = json.loads(next(folder.glob("report.*")).read_text())
        calls = report["counters"]["calls_captured"]
        self.assertGreater(calls, 100)
        entered = kinds["runtime enter"]["count"] + kinds.get("driver enter", {"count": 0})["count"]
        left = kinds["runtime exit"]["count"] + kinds.get("driver exit", {"count": 0})["count"]
        self.assertGreaterEqual(left, calls)
        self.assertLessEqual(abs(left - entered), kinds["first of a thread"]["count"])
        for kind in kinds.values():
            self.assertLessEqual(kind["p50_ns"], kind["p99_ns"])
            self.assertLessEqual(kind["p99_ns"], kind["p999_ns"])
            self.assertLessEqual(kind["p999_ns"], kind["max_ns"])
            self.assertLessEqual(kind["over_50us_switched"], kind["over_50us"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    known, rest = parser.parse_known_args()
    BUILD = known.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
