#!/usr/bin/env python3
"""`cuspan stat` on recordings of real GPU runs: every figure of its tables is computed again in another way from the
same spans and is equal to the nanosecond; the machine-readable formats parse; wrong arguments are named.

    stat_test.py --build BUILD-DIR [unittest's arguments]
"""

import csv
import io
import json
import math
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import BUILD, CLEAN, run  # noqa: E402
from made_program import Program  # noqa: E402
from make_trace import START_NS, attributes  # noqa: E402

RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
CALLS_THAT_WAIT = ("Synchronize",)


def nearest_rank(values, percent):
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def spread(values):
    return {"count": len(values), "total_ns": sum(values), "avg_ns": sum(values) // len(values),
            "median_ns": nearest_rank(values, 50), "p99_ns": nearest_rank(values, 99), "min_ns": min(values),
            "max_ns": max(values)}


def union(stretches):
    """Sorts all starts and ends, unlike the program, which merges intervals."""
    covered = depth = 0
    since = None
    for time, change in sorted([(start, -1) for start, _ in stretches] + [(end, 1) for _, end in stretches]):
        if depth == 0 and change == -1:
            since = time
        depth -= change
        if depth == 0:
            covered += time - since
    return covered


class Groups:
    """Which group of a file a span belongs to, by the definition of --by in the help; and files with some of the
    spans."""

    def __init__(self, file):
        self.documents = [json.loads(line) for line in file.read_text().splitlines()]
        self.spans = {span.span_id: span for document in self.documents for span in spans_of(document)}
        self.thread_names = {span.attributes["cuspan.thread.id"]: span.attributes["thread.name"] for span in self.spans.values()
                             if "thread.name" in span.attributes}
        self.work = defaultdict(list)
        for span in self.spans.values():
            if self.is_work(span):
                self.work[span.parent_id].append(span)
        for children in self.work.values():
            children.sort(key=lambda span: (span.start_ns, -span.end_ns))

    @staticmethod
    def is_work(span):
        return "cuda.device.id" in span.resource

    @staticmethod
    def is_session(span):
        return any(key.startswith("cuda.session") for key in span.attributes)

    def up(self, span):
        while span:
            yield span
            span = self.spans.get(span.parent_id)

    def group(self, word, span):
        work = span if self.is_work(span) else next(iter(self.work[span.span_id]), None) if "cuda.api" in span.attributes else None
        none = f"(no {word})"
        if word == "thread":
            caller = next((at for at in self.up(span) if not self.is_work(at)), None)
            attributes = caller.attributes if caller else {}
            if "cuspan.thread.id" not in attributes:
                return none
            return f'{attributes["cuspan.thread.id"]} {self.thread_names.get(attributes["cuspan.thread.id"], "")}'.strip()
        if word == "request":
            return none if any(map(self.is_session, self.up(span))) else span.trace_id
        if word == "range":
            for at in self.up(span):
                if not self.is_work(at) and "cuda.api" not in at.attributes:
                    return none if self.is_session(at) else at.name
            return none
        if word == "stream":
            return (f'GPU {work.resource["cuda.device.id"]}, context {work.attributes["cuda.context.id"]}, stream '
                    f'{work.attributes["cuda.stream.id"]}') if work else none
        if word == "device":
            known = work.resource if work else None
            if not known and "cuda.context.id" in span.attributes:
                known = next((other.resource for other in self.spans.values() if self.is_work(other) and
                              other.attributes.get("cuda.context.id") == span.attributes["cuda.context.id"]), None)
            return f'{known["cuda.device.id"]} {known["hw.name"]} {known["hw.id"]}' if known else none
        return f'{span.resource["service.name"]} {span.resource["process.pid"]} ({span.resource["host.name"]})'

    def by(self, word):
        groups = defaultdict(set)
        for span in self.spans.values():
            groups[self.group(word, span)].add(span.span_id)
        counted = {name: ids for name, ids in groups.items()
                   if any(self.is_work(self.spans[i]) or "cuda.api" in self.spans[i].attributes for i in ids)}
        return counted

    def write(self, path, wanted):
        def part(scope):
            return {**scope, "spans": [span for span in scope["spans"] if span["spanId"] in wanted]}
        with open(path, "w", encoding="utf-8") as file:
            for document in self.documents:
                resources = [{**resource, "scopeSpans": [part(scope) for scope in resource["scopeSpans"]]}
                             for resource in document["resourceSpans"]]
                file.write(json.dumps({**document, "resourceSpans": resources}) + "\n")


class Recording(unittest.TestCase):
    """Each recording, replayed once into a file of spans."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.files, cls.found = {}, []
        for recording in RECORDINGS:
            file = Path(cls.folder, recording.stem + ".jsonl")
            done = run("replay", "--quiet", "--file", file, recording)
            assert done.returncode == 0, done.stderr
            cls.files[recording.stem] = file

    @classmethod
    def each(cls):
        """(spans, tables) of each recording."""
        if not cls.found:
            for file in cls.files.values():
                spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
                done = run("stat", "--json", "--top", 0, file)
                assert done.returncode == 0, done.stderr
                cls.found.append((spans, json.loads(done.stdout)))
        return cls.found

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
            of_host = sum(size[key] for key in size if {"pageable", "pinned"} & set(key[1:]))
            pageable = sum(size[key] for key in size if "pageable" in key[1:])
            self.assertAlmostEqual(tables["headline"][0].get("pageable_share", 0), pageable / of_host if of_host else 0)

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
        """CUPTI's cost is that of its overhead records, without the driver's own work; cuspan's cost is not that of the
        run."""
        words = {"flush buffers": "cupti_buffer_flush", "instrument": "cupti_instrumentation",
                 "resources": "cupti_resource", "buffer requests": "activity_buffer_request",
                 "other": "else"}
        any_found = 0
        for name, (spans, tables) in zip(self.files, self.each()):
            took = Counter()
            for span in spans:
                if span.attributes.get("cuda.activity") == "overhead" and "cuda.zero_length" not in span.attributes:
                    kind = span.attributes["cuda.overhead.kind"]
                    took["else" if kind in ("unknown", "uvm_activity_init") else kind] += span.end_ns - span.start_ns
            got = {words[row["what"]]: row["time_ns"] for row in tables["own"]}
            if name == "service":  # unsampled requests have a cost, but no span
                self.assertTrue(all(took[kind] <= time for kind, time in got.items()))
            else:
                self.assertEqual(got, {kind: took[kind] for kind in words.values() if took[kind]})
            self.assertEqual({row["who"] for row in tables["own"]} - {"CUPTI"}, set())
            any_found += len(got)
        self.assertGreater(any_found, 3)

    def test_cuspans_own_part(self):
        """As written by a run on a GPU: over all sessions."""
        spans = [{"traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "name": "app", "startTimeUnixNano": "1000000",
                  "endTimeUnixNano": "2000000", "attributes": [
                      {"key": f"cuspan.own.{key}", "value": {"intValue": str(value * number)}}
                      for key, value in (("callback_time", 1000), ("callback_calls", 5), ("pipeline_time", 20000))]
                  + [{"key": "cuda.session.number", "value": {"intValue": str(number)}}]} for number in (1, 2)]
        file = Path(self.folder, "own.jsonl")
        file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")
        rows = json.loads(run("stat", "--json", "--table", "own", file).stdout)["own"]
        self.assertEqual([(row["what"], row["time_ns"], row.get("timed_calls")) for row in rows],
                         [("callbacks (estimated)", 3000, 15), ("correlate, encode (CPU)", 60000, None)])
        self.assertAlmostEqual(rows[0]["wall_share"], 0.003)

    def test_occupancy_of_known_launches(self):
        """From NVIDIA's occupancy calculator, compute capability 9.0: 256 threads of 16 registers: 100 %; 384 threads
        of 168
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
            self.assertIn(row["name"], plain)  # output to a pipe is not truncated to a terminal's width

    def test_a_recording_says_what_its_spans_say(self):
        direct = json.loads(run("stat", "--json", ROOT / "examples/recordings/threads.cuspanrec").stdout)
        spans = json.loads(run("stat", "--json", self.files["threads"]).stdout)
        for table in "calls", "kernels", "copies", "latency":
            self.assertEqual(direct[table], spans[table])

    def test_groups_are_what_a_file_of_their_spans_would_give(self):
        """The test computes the members of each group itself and writes the group's spans to a file. The tables of that
        file must equal the group's, all of them and to the last digit."""
        for name, word in [("service", "thread"), ("service", "request"), ("service", "range"), ("service", "stream"),
                           ("threads", "thread"), ("threads", "stream"), ("torch_inference", "device"),
                           ("graph_nodes", "process")]:
            with self.subTest(recording=name, by=word):
                groups = Groups(self.files[name])
                tables = json.loads(run("stat", "--json", "--top", 0, "--by", word, self.files[name]).stdout)
                wanted = groups.by(word)
                self.assertEqual({row["group"] for row in tables["headline"]}, set(wanted))
                for group in sorted(wanted, key=lambda name: (-len(wanted[name]), name))[:4]:
                    alone = Path(self.folder, "group.jsonl")
                    groups.write(alone, wanted[group])
                    of_group = json.loads(run("stat", "--json", "--top", 0, alone).stdout)
                    if word not in ("process", "device"):  # another group may free its blocks
                        of_group = {key: rows for key, rows in of_group.items() if not key.startswith(("memory", "findings"))}
                    got = {key: [{k: v for k, v in row.items() if k != "group"} for row in rows if row["group"] == group]
                           for key, rows in tables.items()}
                    self.assertEqual(got, of_group, group)

    def test_sort_orders_the_groups_of_the_headline(self):
        file = self.files["service"]
        whole = json.loads(run("stat", "--json", "--top", 0, "--by", "request", file).stdout)["headline"]
        for column in "wall_ns", "kernel_ns", "moved_bytes":
            rows = json.loads(run("stat", "--json", "--top", 7, "--by", "request", "--sort", column, file).stdout)["headline"]
            values = [row[column] for row in rows]
            self.assertEqual(values, sorted((row[column] for row in whole), reverse=True)[:7])

    def test_groups_add_up_to_the_whole(self):
        for (name, file), (_, tables) in zip(self.files.items(), self.each()):
            whole = tables["headline"][0]
            for word in "range", "stream", "thread", "device", "request", "process":
                rows = json.loads(run("stat", "--json", "--top", 0, "--table", "headline", "--by", word, file).stdout)["headline"]
                for key in "calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns", "moved_bytes":
                    self.assertEqual(sum(row[key] for row in rows), whole[key], f"{name} by {word}: {key}")

    def test_top_of_groups(self):
        shown = json.loads(run("stat", "--json", "--top", 2, "--by", "request", self.files["service"]).stdout)
        self.assertEqual(len(shown["headline"]), 2)
        self.assertIn("and 287 more", run("stat", "--top", 2, "--by", "request", "--table", "headline",
                                          self.files["service"]).stdout)
        done = run("stat", "--by", "steam", self.files["service"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("--by needs one of: range stream thread device request process", done.stderr)

    def test_top_leaves_rows_out_and_says_so(self):
        shown = run("stat", "--top", 2, "--table", "calls", self.files["torch_inference"]).stdout
        self.assertIn("more", shown.splitlines()[-2] + shown.splitlines()[-1])

    def test_a_table_without_rows_says_so(self):
        said = {form: run("stat", *form, "--table", "errors", self.files["vector_add"]).stdout
                for form in ((), ("--markdown",), ("--csv",))}
        self.assertEqual(said, {(): "Failed calls: no rows\n", ("--markdown",): "### Failed calls\n\nNo rows.\n\n",
                                ("--csv",): "# errors\nname,error,count\n\n"})
        self.assertNotIn("no rows", run("stat", self.files["vector_add"]).stdout)

    def test_wrong_arguments_are_named(self):
        done = run("stat", "--table", "kernal", self.files["threads"])
        self.assertEqual(done.returncode, 2)
        self.assertIn('no table "kernal" for this input; there are: headline calls', done.stderr)
        done = run("stat")
        self.assertEqual(done.returncode, 2)
        done = run("stat", "/no/such/file")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/file", done.stderr)


class Processes(unittest.TestCase):
    def test_they_are_shown_by_rank_host_and_service(self):
        resources = [
            {"service.name": "trainer", "host.name": "node-1", "cuda.process.rank": 3, "process.pid": 11},
            {"service.name": "trainer", "host.name": "node-1", "cuda.process.rank": 3, "process.pid": 12},
            {"service.name": "unknown_service:python", "host.name": "node-2", "process.pid": 13},
            {"service.name": "unknown_service", "process.pid": 14},
            {"cuda.process.rank": 5, "process.pid": 15},
            {"service.name": "trainer", "cuda.process.rank": 6, "process.pid": 16},
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.jsonl"
            file.write_text("".join(self.line_of_a_call(number, resource) for number, resource in enumerate(resources, 1)))
            groups = json.loads(run("stat", "--by", "process", "--json", file).stdout)["headline"]
        self.assertEqual([row["group"] for row in groups], [
            "rank 6 (trainer)", "rank 5", "process 14", "python 13 (node-2)", "rank 3 (node-1, trainer, 12)",
            "rank 3 (node-1, trainer)"])

    def test_of_many_groups_the_largest_are_kept(self):
        count = 5000
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.jsonl"
            file.write_text("".join(self.line_of_a_call(number, {"service.name": "service"}) for number in range(1, count + 1)))
            groups = json.loads(run("stat", "--by", "request", "--json", "--top", 0, file).stdout)["headline"]
            text = run("stat", "--by", "request", "--top", 2, "--table", "headline", file).stdout
        self.assertTrue(2048 <= len(groups) <= 4096, len(groups))
        self.assertEqual([int(row["group"], 16) for row in groups], list(range(count, count - len(groups), -1)))
        self.assertIn(f"and {count - 2:d} more", text.replace(",", ""))

    @staticmethod
    def line_of_a_call(number, resource):
        """A process with one call, the longer the larger its number."""
        span = {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": "cudaMalloc", "startTimeUnixNano": str(START_NS),
                "endTimeUnixNano": str(START_NS + 1000 * number), "attributes": attributes({"cuda.api": "runtime"})}
        identity = {**resource, "service.instance.id": f"instance-{number}"}
        return json.dumps({"resourceSpans": [{"resource": {"attributes": attributes(identity)}, "scopeSpans": [
            {"scope": {"name": "cuspan"}, "spans": [span]}]}]}) + "\n"


class Sqlite(unittest.TestCase):
    """`--sqlite`, read with Python's SQLite, compared with the spans of the same file."""

    COPY_KINDS = ["Unknown", "HostToDevice", "DeviceToHost", "HostToArray", "ArrayToHost", "ArrayToArray", "ArrayToDevice",
                  "DeviceToArray", "DeviceToDevice", "HostToHost", "PeerToPeer"]
    MEMORY = ["pageable", "pinned", "device", "array", "managed", "device_static", "managed_static", "unknown"]

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.target = self.folder / "out.sqlite"

    def export(self, recording):
        """(connection, spans)"""
        file = self.folder / f"{recording.stem}.jsonl"
        self.assertEqual(run("replay", "--quiet", "--file", file, recording).returncode, 0)
        done = run("stat", "--sqlite", self.target, file)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(self.target.stat().st_mode & 0o777, 0o600)
        spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
        database = sqlite3.connect(self.target)
        self.addCleanup(database.close)
        return database, spans

    @staticmethod
    def times(spans, start):
        return [(span.start_ns - start, span.end_ns - start) for span in spans]

    def test_every_record_is_there(self):
        for recording in RECORDINGS:
            database, spans = self.export(recording)
            (start,), = database.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
            self.assertEqual(start, min(span.start_ns for span in spans))
            names = dict(database.execute("SELECT id, value FROM StringIds"))
            pid = int(spans[0].resource["process.pid"])

            def of(activity):
                return [span for span in spans if span.attributes.get("cuda.activity") == activity]

            def three(span, key):
                return tuple(span.attributes[key])

            rows = database.execute("SELECT start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
                                    "shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
                                    "staticSharedMemory, dynamicSharedMemory, graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL")
            got = sorted((row[:7] + (names[row[7]], names[row[8]]) + row[9:] for row in rows), key=str)
            self.assertEqual(got, sorted((
                (s.start_ns - start, s.end_ns - start, s.resource["cuda.device.id"], s.attributes["cuda.context.id"],
                 s.attributes["cuda.stream.id"], s.attributes["cuda.correlation.id"], pid << 24,
                 s.attributes["cuda.kernel.name"], s.name, s.attributes["cuda.kernel.registers"],
                 *three(s, "cuda.kernel.grid"), *three(s, "cuda.kernel.block"),
                 s.attributes["cuda.kernel.shared_memory.static"], s.attributes["cuda.kernel.shared_memory.dynamic"],
                 s.attributes.get("cuda.graph.node.id")) for s in of("kernel")), key=str))
            rows = database.execute("SELECT start, end, bytes, copyKind, srcKind, dstKind FROM CUPTI_ACTIVITY_KIND_MEMCPY")
            self.assertEqual(sorted(rows), sorted(
                (s.start_ns - start, s.end_ns - start, s.attributes["cuda.memcpy.bytes"],
                 self.COPY_KINDS.index(s.attributes["cuda.memcpy.kind"]), self.MEMORY.index(s.attributes["cuda.memcpy.src_kind"]),
                 self.MEMORY.index(s.attributes["cuda.memcpy.dst_kind"])) for s in of("memcpy")))
            rows = database.execute("SELECT start, end, bytes, value FROM CUPTI_ACTIVITY_KIND_MEMSET")
            self.assertEqual(sorted(rows), sorted(
                (s.start_ns - start, s.end_ns - start, s.attributes["cuda.memset.bytes"], s.attributes["cuda.memset.value"])
                for s in of("memset")))
            rows = database.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
            self.assertEqual(sorted(rows), sorted(self.times(of("graph"), start)))
            calls = [span for span in spans if "cuda.api" in span.attributes]
            rows = database.execute("SELECT start, end, eventClass, globalTid, correlationId, nameId, returnValue "
                                    "FROM CUPTI_ACTIVITY_KIND_RUNTIME")
            self.assertEqual(sorted((*row[:5], names[row[5]], row[6]) for row in rows), sorted(
                (s.start_ns - start, s.end_ns - start, ["runtime", "driver"].index(s.attributes["cuda.api"]),
                 pid << 24 | s.attributes["cuspan.thread.id"], s.attributes["cuda.correlation.id"], s.name,
                 s.attributes.get("cuda.error.code", 0)) for s in calls))
            ranges = [span for span in spans if "cuda.range.kind" in span.attributes]
            self.check_ranges(database, ranges, names, start)
            self.check_spans(database, spans, names)

    def check_ranges(self, database, ranges, names, start):
        """Each range and mark, including marks within ranges. Returns the number of the latter."""
        def common(span, domain_of):
            return (int(span.resource["process.pid"]) << 24 | span.attributes["cuspan.thread.id"], domain_of.get("nvtx.domain"),
                    domain_of.get("nvtx.category"), span.span_id)
        wanted = [(s.start_ns - start, s.end_ns - start if kind != "mark" else None, {"mark": 34, "range": 59, "span": 60}[kind],
                   s.name, s.name, *common(s, s.attributes)) for s in ranges for kind in [s.attributes["cuda.range.kind"]]]
        marks = [(int(event["timeUnixNano"]) - start, None, 34, event["name"], event["name"],
                  *common(s, {pair["key"]: pair["value"]["stringValue"] for pair in event.get("attributes", [])
                              if "stringValue" in pair["value"]})) for s in ranges for event in s.events]
        rows = database.execute('SELECT n.start, n."end", eventType, text, textId, n.globalTid, domain, category, s.spanId '
                                "FROM NVTX_EVENTS n JOIN CUSPAN_SPANS s ON s.id = n.cuspanSpanId")
        self.assertEqual(sorted(((*row[:4], names[row[4]], *row[5:]) for row in rows), key=str), sorted(wanted + marks, key=str))
        return len(marks)

    def test_marks_within_ranges(self):
        """Of the sample, whose ranges have a mark each; events of calls and sessions are not marks."""
        recording = self.folder / "sample.cuspanrec"
        subprocess.run([BUILD / "replay_sample", recording, "3", "200", "requests"], check=True)
        database, spans = self.export(recording)
        names = dict(database.execute("SELECT id, value FROM StringIds"))
        ranges = [span for span in spans if "cuda.range.kind" in span.attributes]
        start = min(span.start_ns for span in spans)
        self.assertGreater(self.check_ranges(database, ranges, names, start), 50)
        self.assertEqual(database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE domain IS NOT NULL").fetchone(), (0,))
        self.assertGreater(sum(len(span.events) for span in spans if "cuda.range.kind" not in span.attributes), 0)

    def check_spans(self, database, spans, names):
        """All spans of any kind, with all attributes."""
        rows = database.execute("SELECT s.spanId, p.spanId, s.traceId, s.nameId FROM CUSPAN_SPANS s "
                                "LEFT JOIN CUSPAN_SPANS p ON p.id = s.parentId")
        known = {span.span_id for span in spans}
        self.assertEqual(sorted(((*row[:3], names[row[3]]) for row in rows), key=str), sorted(
            ((s.span_id, s.parent_id if s.parent_id in known else None, s.trace_id, s.name) for s in spans), key=str))
        got = defaultdict(dict)
        for span_id, key, value in database.execute("SELECT s.spanId, keyId, value FROM CUSPAN_ATTRIBUTES JOIN CUSPAN_SPANS s "
                                                    "ON s.id = CUSPAN_ATTRIBUTES.spanId"):
            got[span_id][names[key]] = value
        for span in spans:
            self.assertEqual(got[span.span_id], {
                key: json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value
                for key, value in span.attributes.items()})

    def test_a_mark_has_its_own_domain_and_category(self):
        """Without those of the range around it."""
        program = Program()
        with program.range("outer"):
            program.call("cudaMalloc")
        program.spans[0][1]["attributes"] += attributes({"nvtx.domain": "of the range", "cuspan.thread.id": 4711})
        program.spans[0][1]["events"] = [
            {"timeUnixNano": str(START_NS + 1_000_500), "name": "in a domain",
             "attributes": attributes({"nvtx.domain": "own", "nvtx.category": "c"})},
            {"timeUnixNano": str(START_NS + 1_000_700), "name": "in none"}]
        done = run("stat", "--sqlite", self.target, program.write(self.folder / "spans.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        database = sqlite3.connect(self.target)
        self.addCleanup(database.close)
        rows = database.execute('SELECT text, eventType, "end" IS NULL, domain, category, globalTid % 0x1000000 FROM NVTX_EVENTS')
        self.assertEqual(sorted(rows), [("in a domain", 34, 1, "own", "c", 4711), ("in none", 34, 1, None, None, 4711),
                                        ("outer", 59, 0, "of the range", None, 4711)])

    def test_queries_made_for_nsight_systems(self):
        """Queries from Nsight Systems' documentation: kernels with their launches, copies by kind, threads by name."""
        database, spans = self.export(ROOT / "examples/recordings/threads.cuspanrec")
        rows = database.execute("""
            SELECT k.start - r.start, r.globalTid / 0x1000000 % 0x1000000, r.globalTid % 0x1000000, n.value
            FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON k.correlationId = r.correlationId
                 AND k.globalPid = r.globalTid / 0x1000000 * 0x1000000 JOIN StringIds n ON n.id = k.shortName""").fetchall()
        by_id = {span.span_id: span for span in spans}
        kernels = [span for span in spans if span.attributes.get("cuda.activity") == "kernel"]
        self.assertEqual(sorted(rows), sorted(
            (s.start_ns - by_id[s.parent_id].start_ns, int(s.resource["process.pid"]),
             by_id[s.parent_id].attributes["cuspan.thread.id"], s.name) for s in kernels))
        rows = dict(database.execute("SELECT label, sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER e "
                                     "ON e.id = copyKind GROUP BY label").fetchall())
        copies = [span for span in spans if span.attributes.get("cuda.activity") == "memcpy"]
        self.assertEqual(sum(rows.values()), sum(span.attributes["cuda.memcpy.bytes"] for span in copies))
        self.assertIn("Host-to-Device", rows)
        (gpu,) = database.execute("SELECT name, smCount, computeMajor, memoryBandwidth FROM TARGET_INFO_GPU")
        self.assertEqual(gpu, ("NVIDIA H200", 132, 9, 1000 * kernels[0].resource["cuda.device.memory.bandwidth"]))
        names = {name for name, in database.execute("SELECT value FROM ThreadNames JOIN StringIds ON id = nameId")}
        self.assertEqual(names, {span.attributes["thread.name"] for span in spans if "thread.name" in span.attributes})

    def test_what_is_there_is_kept(self):
        recording = ROOT / "examples/recordings/vector_add.cuspanrec"
        self.assertEqual(run("stat", "--sqlite", self.target, recording).returncode, 0)
        self.assertEqual(run("stat", "--sqlite", self.target, recording).returncode, 0)  # its own file is replaced
        other = self.folder / "other.sqlite"
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE precious (x)")
        database.close()
        before = other.read_bytes()
        done = run("stat", "--sqlite", other, recording)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("was not written by --sqlite", done.stderr)
        self.assertEqual(other.read_bytes(), before)
        done = run("stat", "--sqlite", self.folder / "no/such", recording)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertEqual(run("stat", "--sqlite", self.target, "--save", self.folder / "b", recording).returncode, 2)

    def test_a_failure_keeps_the_file_that_was_there(self):
        """A limit on the size of files acts like a full disk."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        recording = ROOT / "examples/recordings/vector_add.cuspanrec"
        spans, empty = self.folder / "few.jsonl", self.folder / "empty.jsonl"
        self.assertEqual(run("replay", "--quiet", "--file", spans, recording).returncode, 0)
        empty.write_text("")
        self.assertEqual(run("stat", "--sqlite", self.target, spans).returncode, 0)
        before = self.target.read_bytes()
        for source, options, words in ((empty, {}, "it has no spans"),
                                       (spans, {"preexec_fn": limit}, f"{self.target}: disk I/O error")):
            done = run("stat", "--sqlite", self.target, source, **options)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(self.target.read_bytes(), before)
            self.assertEqual(list(self.folder.glob("*.tmp")), [])
        tables = self.folder / "tables.txt"
        self.assertEqual(run("stat", "-o", tables, spans).returncode, 0)
        before = tables.read_bytes()
        self.assertEqual(run("stat", "-o", tables, empty).returncode, 1)
        self.assertEqual(run("stat", "-o", tables, "--table", "none", spans).returncode, 2)
        self.assertEqual(tables.read_bytes(), before)


class Live(unittest.TestCase):
    """`cuspan stat PROGRAM`: a host that makes the calls of a recording through the replay library."""

    RECORDING = ROOT / "examples/recordings/threads.cuspanrec"

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "tmp").mkdir()

    def stat(self, *options, way="return", dashes=("--",)):
        double = BUILD / "libcuspan-replay.so"
        done = subprocess.run([BUILD / "cuspan", "stat", "--set", f"cupti.library={double}", *options, *dashes,
                               BUILD / "exit_host", BUILD / "libcuspan.so", double, self.RECORDING, way],
                              capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(self.folder / "tmp")})
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "something was left behind")
        return done

    def test_tables_of_a_program(self):
        """The tables equal those of its recording; its output and exit status do not change."""
        recorded = json.loads(run("stat", "--json", self.RECORDING).stdout)
        for dashes in ("--",), ():
            done = self.stat("--json", dashes=dashes)
            self.assertEqual((done.returncode, done.stdout), (7, "host: played\nhost: done\n"), done.stderr)
            tables = json.loads(done.stderr)
            for table in "calls", "errors", "kernels", "copies", "sizes":
                self.assertEqual(tables[table], recorded[table])

    def test_into_a_file(self):
        target = self.folder / "tables.json"
        done = self.stat("--json", "-o", target, "--by", "thread")
        self.assertEqual((done.returncode, done.stderr), (7, ""))
        self.assertIn("group", json.loads(target.read_text())["calls"][0])
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        done = run("stat", "-o", self.folder / "no/such/folder", self.RECORDING)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))

    def test_a_baseline_of_a_program(self):
        target = self.folder / "baseline.json"
        self.assertEqual(self.stat("--save", target).returncode, 7)
        kernels = [item for item in json.loads(target.read_text())["items"] if item["kind"] == "kernel"]
        recorded = json.loads(run("stat", "--json", self.RECORDING).stdout)["kernels"]
        self.assertEqual({item["name"]: item["runs"][0]["total"] for item in kernels},
                         {row["full_name"]: row["total_ns"] for row in recorded})

    def test_a_program_that_is_killed(self):
        """Prints tables of everything that arrived, and ends in the same way; TERM is forwarded, as with cuspan run."""
        done = self.stat("--json", way="TERM")
        self.assertEqual(done.returncode, -signal.SIGTERM)
        self.assertEqual(json.loads(done.stderr)["headline"][0]["kernels"],
                         json.loads(run("stat", "--json", self.RECORDING).stdout)["headline"][0]["kernels"])

    def test_a_program_without_cuda(self):
        done = run("stat", "sh", "-c", "echo out; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, "out\n"))
        self.assertRegex(done.stderr, "^cuspan: no spans: the agent was never started[^\n]*\n$")

    def test_what_is_no_program(self):
        done = run("stat", "--", self.folder / "no_program")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (127, 1))
        spans = self.folder / "spans.jsonl"  # as on a system where all files are executable
        self.assertEqual(run("replay", "--quiet", "--file", spans, self.RECORDING).returncode, 0)
        spans.chmod(0o755)
        self.assertIn("kernels", run("stat", "--json", spans).stdout)


class Peaks(unittest.TestCase):
    """Copy rates compared with the bandwidth of memory and links, if known; synthetic programs and a synthetic
    recording."""

    PCIE = {"cuda.device.pcie.generation": 5, "cuda.device.pcie.width": 16, "cuda.device.pcie.bandwidth": 63015384615}

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    @staticmethod
    def nvlink(number, ends):
        return {"cuda.device.pci.address": f"0000:{number}b:00.0", "cuda.device.nvlink.links": len(ends),
                "cuda.device.nvlink.bandwidth": len(ends) * 25_000_000_000, "cuda.device.nvlink.ends": ends}

    def rows(self, devices, work):
        program = Program()
        program.devices = devices
        work(program)
        done = run("stat", "--json", "--table", "copies", program.write(self.folder / "spans.jsonl"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["kind"]: (row.get("peak_of"), row.get("peak_bytes_per_s"), row.get("peak_share"))
                for row in json.loads(done.stdout)["copies"]}

    def to_device(self, program):
        program.copy("HostToDevice", 63_015_384, 2_000_000)

    def test_host_copies_against_pcie(self):
        name, peak, share = self.rows({0: self.PCIE}, self.to_device)["HostToDevice"]
        self.assertEqual((name, peak), ("PCIe 5.0 x16", 63015384600))  # rounded to nine digits
        self.assertAlmostEqual(share, 0.5)

    def test_what_is_not_told_is_unknown(self):
        self.assertEqual(self.rows({}, self.to_device)["HostToDevice"], ("unknown", None, None))

    def test_a_rate_above_the_peak_went_another_way(self):
        found = self.rows({0: self.PCIE}, lambda program: program.copy("DeviceToHost", 63_015_384, 900_000))
        self.assertEqual(found["DeviceToHost"], ("unknown", None, None))

    def test_within_memory(self):
        found = self.rows({0: {"cuda.device.memory.bandwidth": 4_000_000_000}},
                          lambda program: program.copy("DeviceToDevice", 1_000_000_000, 1_000_000))
        self.assertEqual(found["DeviceToDevice"], ("memory", 2_000_000_000_000, 0.5))

    def test_devices_of_different_links(self):
        def work(program):
            self.to_device(program)
            program.copy("HostToDevice", 63_015_384, 2_000_000, device=1)
        slow = {"cuda.device.pcie.generation": 4, "cuda.device.pcie.width": 16, "cuda.device.pcie.bandwidth": 31507692307}
        self.assertEqual(self.rows({0: self.PCIE, 1: slow}, work)["HostToDevice"], ("unknown", None, None))
        self.assertEqual(self.rows({0: self.PCIE, 1: self.PCIE}, work)["HostToDevice"][0], "PCIe 5.0 x16")

    def test_peer_copies(self):
        def work(program):
            self.to_device(program)
            program.copy("HostToDevice", 1_000, 1_000, device=1)
            program.copy_to_peer(50_000_000, 1_000_000)
        for ends, found in ((["switch"] * 4, ("NVLink x4", 1e11, 0.5)),
                            (["0000:1b:00.0", "0000:2b:00.0", "0000:1b:00.0"], ("NVLink x2", 5e10, 1.0)),
                            (["unknown"] * 4, ("unknown", None, None)),
                            ([], ("PCIe 5.0 x16", 63015384600, float(f"{5e10 / 63015384615:.9g}")))):
            devices = {0: {**self.PCIE, **self.nvlink(0, ends)}, 1: {**self.PCIE, **self.nvlink(1, ends)}}
            self.assertEqual(self.rows(devices, work)["PeerToPeer"], found)
        self.assertEqual(self.rows({0: self.PCIE, 1: self.PCIE}, work)["PeerToPeer"], ("unknown", None, None))

    def test_one_device_of_which_more_becomes_known(self):
        """Half of its spans were sent before NVML had answered: it still is one GPU."""
        program = Program()
        for _ in range(2):
            program.copy("HostToDevice", 1000, 1000)
            program.launch("k", 1000)
        lines = list(program.lines())
        program.devices = {0: {**self.PCIE, **self.nvlink(0, ["switch"])}}
        both = lines[:len(lines) // 2] + list(program.lines())[len(lines) // 2:]
        for order in both, both[::-1]:
            file = self.folder / "spans.jsonl"
            file.write_text("\n".join(order) + "\n")
            tables = json.loads(run("stat", "--json", file).stdout)
            self.assertEqual(len(tables["devices"]), 1)
            self.assertEqual(tables["copies"][0]["peak_of"], "PCIe 5.0 x16")

    def peers(self, *settings, **variables):
        """A program with two GPUs that copies between them, pauses, and copies again."""
        libraries = self.folder / "libraries"
        libraries.mkdir(exist_ok=True)
        shutil.copy(BUILD / "libfake_nvml.so", libraries / "libnvidia-ml.so.1")
        cupti = BUILD / "libfake_cupti_classic.so"
        done = subprocess.run([BUILD / "peer_host", BUILD / "libcuspan.so", cupti], capture_output=True, text=True, timeout=600,
                              check=False, env={**CLEAN, "LD_LIBRARY_PATH": str(libraries), **variables,
                                                "CUSPAN_SET": ";".join([f"cupti.library={cupti}", "cupti.api=classic", *settings])})
        self.assertEqual(done.returncode, 0, done.stderr)

    def peer_row(self, file):
        done = run("stat", "--json", "--table", "copies", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = json.loads(done.stdout)["copies"]
        self.assertEqual((row["kind"], row["count"]), ("PeerToPeer", 2))
        return row.get("peak_of"), row.get("peak_bytes_per_s")

    def test_a_program_that_copies_between_gpus_learns_of_its_nvlinks(self):
        spans = self.folder / "spans.jsonl"
        self.peers(f"output_file={spans}", FAKE_NVML_LINKS="switch switch -- switch")
        copies = [span for line in spans.read_text().splitlines() for span in spans_of(json.loads(line))
                  if span.attributes.get("cuda.activity") == "memcpy_peer"]
        self.assertEqual(copies[-1].resource["cuda.device.nvlink.links"], 3)
        self.assertEqual(self.peer_row(spans), ("NVLink x3", 79686000000))

    def test_a_recording_of_such_a_program_has_them(self):
        recording = self.folder / "peers.cuspanrec"
        self.peers(f"record_file={recording}", FAKE_NVML_LINKS="switch switch")
        self.assertEqual(self.peer_row(recording), ("NVLink x2", 53124000000))

    def test_nvml_is_left_alone_on_request(self):
        spans = self.folder / "spans.jsonl"
        self.peers(f"output_file={spans}", "capture.nvlink=false", FAKE_NVML_LINKS="switch")
        self.assertEqual(self.peer_row(spans), ("unknown", None))

    def test_a_recording_carries_links(self):
        recording, again, spans = self.folder / "links.cuspanrec", self.folder / "again.cuspanrec", self.folder / "spans.jsonl"
        subprocess.run([BUILD / "replay_sample", recording, "2", "50", "links"], check=True)
        self.assertEqual(run("replay", "--quiet", "--set", f"record_file={again}", recording).returncode, 0)
        for file in recording, again:
            spans.unlink(missing_ok=True)
            done = run("replay", "--quiet", "--file", spans, file)
            self.assertEqual(done.returncode, 0, done.stderr)
            device = next(span.resource for line in spans.read_text().splitlines() for span in spans_of(json.loads(line))
                          if "hw.id" in span.resource)
            found = {key: value for key, value in device.items() if "nvlink" in key or ".pci" in key}
            self.assertEqual(found, {
                "cuda.device.pci.address": "0000:1b:00.0", **self.PCIE, "cuda.device.nvlink.links": 2,
                "cuda.device.nvlink.version": 4, "cuda.device.nvlink.bandwidth": 53124000000,
                "cuda.device.nvlink.ends": ["switch", "switch"]})


if __name__ == "__main__":
    unittest.main()
