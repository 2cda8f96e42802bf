#!/usr/bin/env python3
"""`cuspan stat` on recordings of real GPU runs: every figure of its tables computed here again, another way, from the same
spans, and equal to the nanosecond; the forms for programs parse; wrong arguments are named.

    stat_test.py --build BUILD-DIR [unittest's arguments]
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from backend import spans_of  # noqa: E402

BUILD = ROOT / "build"
RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
CALLS_THAT_WAIT = ("Synchronize",)


def run(*arguments, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
    return subprocess.run([str(BUILD / "cuspan"), *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False, env={**environment, "LC_ALL": "C.UTF-8"}, **options)


def nearest_rank(values, percent):
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def spread(values):
    return {"count": len(values), "total_ns": sum(values), "avg_ns": sum(values) // len(values),
            "median_ns": nearest_rank(values, 50), "p99_ns": nearest_rank(values, 99), "min_ns": min(values),
            "max_ns": max(values)}


def union(stretches):
    """By every begin and end in order, unlike the program, which merges."""
    covered = depth = 0
    since = None
    for time, change in sorted([(start, -1) for start, _ in stretches] + [(end, 1) for _, end in stretches]):
        if depth == 0 and change == -1:
            since = time
        depth -= change
        if depth == 0:
            covered += time - since
    return covered


class Recording(unittest.TestCase):
    """Each recording, replayed into a file of spans once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = {}
        for recording in RECORDINGS:
            file = Path(cls.folder.name, recording.stem + ".jsonl")
            done = run("replay", "--quiet", "--file", file, recording)
            assert done.returncode == 0, done.stderr
            cls.files[recording.stem] = file

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        """(spans, tables) of each recording."""
        found = []
        for file in self.files.values():
            spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
            done = run("stat", "--json", "--top", 0, file)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append((spans, json.loads(done.stdout)))
        return found

    def test_calls(self):
        for spans, tables in self.each():
            by_name = defaultdict(list)
            for span in spans:
                if "cuda.api" in span.attributes:
                    by_name[span.name, span.attributes["cuda.api"]].append(span.end_ns - span.start_ns)
            self.assertEqual(len(tables["calls"]), len(by_name))
            for row in tables["calls"]:
                want = spread(by_name[row["name"], row["api"]])
                self.assertEqual({key: row[key] for key in want}, want, row["name"])
            waiting = {name for name, _ in by_name if any(word in name for word in CALLS_THAT_WAIT)}
            self.assertEqual({row["name"] for row in tables["synchronization"]}, waiting)
            self.assertEqual(tables["headline"][0]["calls"], sum(map(len, by_name.values())))

    def test_kernels(self):
        for spans, tables in self.each():
            by_name = defaultdict(list)
            for span in spans:
                if span.attributes.get("cuda.activity") == "kernel":
                    by_name[span.attributes["cuda.kernel.name"]].append(span.end_ns - span.start_ns)
            self.assertEqual({row["full_name"] for row in tables["kernels"]}, set(by_name))
            for row in tables["kernels"]:
                want = spread(by_name[row["full_name"]])
                self.assertEqual({key: row[key] for key in want}, want, row["name"])
            if by_name:
                self.assertAlmostEqual(sum(row["share"] for row in tables["kernels"]), 1)

    def test_copies_and_fills(self):
        for spans, tables in self.each():
            count, size, time = Counter(), Counter(), Counter()
            for span in spans:
                attributes = span.attributes
                if attributes.get("cuda.activity") == "memcpy":
                    key = attributes["cuda.memcpy.kind"], attributes["cuda.memcpy.src_kind"], attributes["cuda.memcpy.dst_kind"]
                    bytes_ = attributes["cuda.memcpy.bytes"]
                elif attributes.get("cuda.activity") == "memset":
                    key, bytes_ = ("fill", None, attributes.get("cuda.memset.memory_kind")), attributes["cuda.memset.bytes"]
                else:
                    continue
                count[key] += 1
                size[key] += bytes_
                time[key] += span.end_ns - span.start_ns
            got = {(row["kind"], row.get("from"), row.get("to")): row for row in tables["copies"]}
            self.assertEqual(set(got), set(count))
            for key, row in got.items():
                self.assertEqual((row["count"], row["bytes"], row["total_ns"]), (count[key], size[key], time[key]))
                if time[key]:
                    self.assertAlmostEqual(row["bytes_per_s"] / (size[key] * 1e9 / time[key] or 1), 1 if size[key] else 0)
            self.assertEqual(sum(row["copies"] + row["fills"] for row in tables["sizes"]), sum(count.values()))

    def test_devices(self):
        for spans, tables in self.each():
            work = [span for span in spans if "cuda.stream.id" in span.attributes and "cuda.activity" in span.attributes]
            if not work:
                self.assertEqual(tables["devices"], [])
                continue
            (device,) = tables["devices"]
            stretches = [(span.start_ns, span.end_ns) for span in work]
            self.assertEqual(device["count"], len(work))
            self.assertEqual(device["busy_ns"], union(stretches))
            window = max(end for _, end in stretches) - min(start for start, _ in stretches)
            self.assertEqual(device["window_ns"], window)
            self.assertAlmostEqual(device["utilization_share"], union(stretches) / window)
            self.assertAlmostEqual(device["concurrency"], sum(e - s for s, e in stretches) / union(stretches), places=6)
            gaps = [row["gap_ns"] for row in tables["gaps"]]
            self.assertEqual(gaps, sorted(gaps, reverse=True))
            if device["gaps"]:
                ends = sorted(stretches)
                latest, longest = 0, 0
                for start, end in ends:
                    longest = max(longest, start - latest if latest else 0)
                    latest = max(latest, end)
                self.assertEqual(gaps[0], longest)
            self.assertEqual(sum(row["count"] for row in tables["streams"]), len(work))

    def test_latency(self):
        for spans, tables in self.each():
            kernels = [max(0, span.attributes["cuda.start_delay"]) for span in spans
                       if span.attributes.get("cuda.activity") == "kernel" and "cuda.start_delay" in span.attributes]
            rows = [row for row in tables["latency"] if row["work"] == "kernel"]
            self.assertEqual([row["count"] for row in rows], [len(kernels)] if kernels else [])
            for row in rows:
                want = spread(kernels)
                del want["total_ns"]
                self.assertEqual({key: row[key] for key in want}, want)
            self.assertEqual(sum(row["count"] for row in tables["latency_histogram"]), len(kernels))

    def test_what_tracing_took(self):
        """CUPTI's part is that of its overhead records, the driver's own work left out; cuspan's isn't that of the run."""
        words = {"flushing buffers": "cupti_buffer_flush", "instrumenting": "cupti_instrumentation",
                 "its resources": "cupti_resource", "requests of buffers": "activity_buffer_request",
                 "anything else": "else"}
        any_found = 0
        for name, (spans, tables) in zip(self.files, self.each()):
            took = Counter()
            for span in spans:
                if span.attributes.get("cuda.activity") == "overhead" and "cuda.zero_length" not in span.attributes:
                    kind = span.attributes["cuda.overhead.kind"]
                    took["else" if kind in ("unknown", "uvm_activity_init") else kind] += span.end_ns - span.start_ns
            got = {words[row["what"]]: row["time_ns"] for row in tables["own"]}
            if name == "service":  # of requests that aren't sampled it has a cost, and no span
                self.assertTrue(all(took[kind] <= time for kind, time in got.items()))
            else:
                self.assertEqual(got, {kind: took[kind] for kind in words.values() if took[kind]})
            self.assertEqual({row["who"] for row in tables["own"]} - {"CUPTI"}, set())
            any_found += len(got)
        self.assertGreater(any_found, 3)

    def test_cuspans_own_part(self):
        """As a run on a GPU writes it: over all sessions."""
        spans = [{"traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "name": "app", "startTimeUnixNano": "1000000",
                  "endTimeUnixNano": "2000000", "attributes": [
                      {"key": f"cuspan.own.{key}", "value": {"intValue": str(value * number)}}
                      for key, value in (("callback_time", 1000), ("callback_calls", 5), ("pipeline_time", 20000))]
                  + [{"key": "cuda.session.number", "value": {"intValue": str(number)}}]} for number in (1, 2)]
        file = Path(self.folder.name, "own.jsonl")
        file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")
        rows = json.loads(run("stat", "--json", "--table", "own", file).stdout)["own"]
        self.assertEqual([(row["what"], row["time_ns"], row.get("timed_calls")) for row in rows],
                         [("callbacks (estimate)", 3000, 15), ("correlating, encoding (CPU)", 60000, None)])
        self.assertAlmostEqual(rows[0]["wall_share"], 0.003)

    def test_occupancy_of_known_launches(self):
        """By NVIDIA's occupancy calculator, compute capability 9.0: 256 threads of 16 registers: 100 %; 384 threads of 168
        registers: 12 of 64 warps."""
        done = run("stat", "--json", "--table", "kernels", self.files["torch_inference"])
        rows = json.loads(done.stdout)["kernels"]
        full = [row["occupancy_share"] for row in rows if row["block"] == "[384,1,1]" and row["registers"] == 168]
        self.assertEqual(set(full), {12 / 64})
        done = run("stat", "--json", "--table", "kernels", self.files["vector_add"])
        self.assertEqual(json.loads(done.stdout)["kernels"][0]["occupancy_share"], 1)

    def test_every_form_says_the_same(self):
        file = self.files["torch_inference"]
        tables = json.loads(run("stat", "--json", file).stdout)
        shown = run("stat", "--csv", "--table", "calls", file).stdout
        rows = list(csv.DictReader(io.StringIO(shown.split("\n", 1)[1].strip())))
        self.assertEqual([(row["name"], int(row["total_ns"])) for row in rows],
                         [(row["name"], row["total_ns"]) for row in tables["calls"]])
        markdown = run("stat", "--markdown", "--table", "calls", file).stdout.splitlines()
        self.assertEqual(sum(line.startswith("| cu") for line in markdown), len(tables["calls"]))
        plain = run("stat", "--table", "calls", file).stdout
        self.assertNotIn("\033", plain)
        for row in tables["calls"]:
            self.assertIn(row["name"], plain)  # what goes into a pipe isn't cut to a terminal's width

    def test_a_recording_says_what_its_spans_say(self):
        direct = json.loads(run("stat", "--json", ROOT / "examples/recordings/threads.cuspanrec").stdout)
        spans = json.loads(run("stat", "--json", self.files["threads"]).stdout)
        for table in "calls", "kernels", "copies", "latency":
            self.assertEqual(direct[table], spans[table])

    def test_top_leaves_rows_out_and_says_so(self):
        shown = run("stat", "--top", 2, "--table", "calls", self.files["torch_inference"]).stdout
        self.assertIn("more", shown.splitlines()[-2] + shown.splitlines()[-1])

    def test_wrong_arguments_are_named(self):
        done = run("stat", "--table", "kernal", self.files["threads"])
        self.assertEqual(done.returncode, 2)
        self.assertIn('no table "kernal"; there are: headline calls', done.stderr)
        done = run("stat")
        self.assertEqual(done.returncode, 2)
        done = run("stat", "/no/such/file")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/file", done.stderr)

    def test_spans_beyond_the_bound_are_told(self):
        done = run("stat", "--max-spans", 10, self.files["threads"])
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\d+ spans of the file are not counted: read more with --max-spans")


if __name__ == "__main__":
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    unittest.main()
