#!/usr/bin/env python3
"""Does what tests/gpu/numbers/tables_test.py does, without a GPU: compares `cuspan stat` of each recording with its raw
records, and uses record_tap.c with the replay library. Each figure of the tables, when changed, is detected.

    tables_check_test.py --build BUILD-DIR [unittest's arguments]
"""

import copy
import json
import os
import shlex
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import ROOT, run  # noqa: E402
from tables_check import Comparison, Raw  # noqa: E402  (makes tests/e2e known)
import recording as recordings  # noqa: E402
from backend import spans_of  # noqa: E402
from built import BUILD  # noqa: E402
from compare import compare  # noqa: E402
from tables_test import build_tap, of_tap  # noqa: E402

RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
FIELDS_LEFT = {  # not from CUPTI, or already in another field
    "headline": {"wall_ns", "call_ns", "errors", "compute_to_memory", "asynchronous_share", "mean_occupancy_share",
                 "pageable_share", "wait_share"},
    "calls": {"share"}, "kernels": {"registers", "shared_bytes", "occupancy_share"},
    "copies": {"bytes_per_s", "peak_share", "avg_bytes"}, "gaps": {"at_ns", "during_share"},
    "latency_histogram": {"share", "from_ns", "below_ns"}, "memory": {"max_bytes", "median_life_ns", "growth_bytes_per_s"}}


def cuspan(*arguments, **environment):
    return run([BUILD / "cuspan", *arguments], 120, **environment).wanted()


def compared_spans(file, recording):
    spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
    return compare(recordings.read(recording), spans)


class Recordings(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tables(self, recording):
        """Of all requests: the recording may be of a sampled program."""
        spans = self.folder / f"{recording.stem}.jsonl"
        cuspan("replay", "--quiet", "--file", spans, recording, OTEL_TRACES_SAMPLER="always_on")
        return json.loads(cuspan("stat", "--json", "--top", "0", spans).out)

    def test_tables_are_those_of_the_records(self):
        """Some recordings have more than the default detail."""
        compared = 0
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                found = Comparison(self.tables(recording), Raw.of_recording(recording), every_call=False)
                self.assertEqual(found.differences, [])
                compared += sum(found.compared.values())
                self.assertTrue(found.memory_is_told, recording.stem)
        self.assertGreater(compared, 1000)

    def test_calls_that_share_an_id_are_two(self):
        """In this recording of an H200, two consecutive driver calls have one correlation ID; every call of it is in
        the tables."""
        recording = ROOT / "tests/gpu/recordings/torch_inference.cuspanrec"
        raw = Raw.of_recording(recording)
        ids = Counter(call.correlation_id for call in raw.calls)
        self.assertEqual([count for count in ids.values() if count > 1], [2])
        found = Comparison(self.tables(recording), raw)
        self.assertEqual(found.differences, [])
        self.assertEqual(compared_spans(self.folder / f"{recording.stem}.jsonl", recording), [])

    def test_what_is_wrong_is_found(self):
        """Each number of each row, increased by one."""
        for name in "threads", "graph_nodes":
            recording = ROOT / f"examples/recordings/{name}.cuspanrec"
            tables, raw = self.tables(recording), Raw.of_recording(recording)
            for table in ("headline", "calls", "kernels", "copies", "devices", "streams", "gaps", "latency", "latency_histogram",
                          "memory"):
                for number, row in enumerate(tables[table][:3]):
                    if row.get("kind") in ("all", "array", "fill"):
                        continue
                    numbers = {key for key, value in row.items() if isinstance(value, (int, float))}
                    for field in numbers - FIELDS_LEFT.get(table, set()):
                        wrong = copy.deepcopy(tables)
                        wrong[table][number][field] += 1
                        self.assertTrue(Comparison(wrong, raw, every_call=False).differences, f"{name} {table} {number} {field}")

    def test_a_row_that_is_missing_is_found(self):
        recording = ROOT / "examples/recordings/threads.cuspanrec"
        tables, raw = self.tables(recording), Raw.of_recording(recording)
        for table in "kernels", "copies", "devices", "streams", "gaps", "latency":
            wrong = {**tables, table: tables[table][1:]}
            self.assertTrue(Comparison(wrong, raw, every_call=False).differences, table)


class Live(unittest.TestCase):
    """A host that makes a recording's calls, through the replay library and the tap."""

    def setUp(self):
        self.folder, self.double = Path(self.enterContext(tempfile.TemporaryDirectory())), BUILD / "libcuspan-replay.so"
        self.tap = build_tap(self.double, self.folder)

    def host(self, recording):
        return [BUILD / "exit_host", BUILD / "libcuspan.so", self.double, recording, "return"]

    def cuspan(self, command, *options, recording, tap=True, before=()):
        done = run([BUILD / "cuspan", command, "--set", f"cupti.library={self.tap if tap else self.double}", *options, "--",
                    *before, *self.host(recording)], 120, TAP_FILE=self.folder / "records", OTEL_TRACES_SAMPLER="always_on")
        self.assertEqual(done.status, 7, done.out + done.err)

    def libcupti(self, name):
        """A replay library in its own folder, like the libcupti.so.13 that a program brings along."""
        was, now = b"\0libcuspan-replay.so\0", b"\0libcupti.so.13\0"
        library = self.folder / name / "libcupti.so.13"
        library.parent.mkdir()
        content = self.double.read_bytes()
        self.assertEqual(content.count(was), 1)
        library.write_bytes(content.replace(was, now.ljust(len(was), b"\0")))
        return library

    def test_a_program_that_has_loaded_another_cupti(self):
        """Like PyTorch, with its own CUPTI of the same name: the tap still uses the one it was built for."""
        other = self.libcupti("of_the_program")
        self.double = self.libcupti("named")
        self.tap = build_tap(self.double, self.folder)
        asan = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"  # the other one comes first
        self.cuspan("stat", "--json", "--top", "0", "-o", self.folder / "tables.json",
                    recording=ROOT / "examples/recordings/threads.cuspanrec",
                    before=("env", f"ASAN_OPTIONS={asan}", f"LD_PRELOAD={other}"))
        raw = of_tap(self.folder / "records", "")
        self.assertGreater(len(raw.work), 300)
        self.assertEqual(Comparison(json.loads((self.folder / "tables.json").read_text()), raw).differences, [])

    def test_live_tables_are_those_of_the_tap(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                self.cuspan("stat", "--json", "--top", "0", "-o", self.folder / "tables.json", recording=recording)
                raw = Raw.of_tap(self.folder / "records")
                self.assertGreater(len(raw.work), 3)
                self.assertEqual(Comparison(json.loads((self.folder / "tables.json").read_text()), raw).differences, [])

    def test_tables_of_a_file_of_spans(self):
        spans = self.folder / "spans.jsonl"
        self.cuspan("run", "--file", spans, recording=ROOT / "examples/recordings/threads.cuspanrec")
        tables = json.loads(cuspan("stat", "--json", "--top", "0", spans).out)
        self.assertEqual(Comparison(tables, Raw.of_tap(self.folder / "records")).differences, [])

    def test_a_recording_of_the_default_detail_has_every_call(self):
        for name in "threads", "torch_inference":
            target = self.folder / f"{name}.cuspanrec"
            self.cuspan("record", "-q", "-o", target, recording=ROOT / f"examples/recordings/{name}.cuspanrec", tap=False)
            found = Comparison(json.loads(cuspan("stat", "--json", "--top", "0", target).out), Raw.of_recording(target))
            self.assertEqual(found.differences, [])


class Script(unittest.TestCase):
    """Runs tables_test.py with programs that replay a recording if an agent is injected."""

    def test_it_passes_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "standin")
            host = shlex.join(map(str, (BUILD / "exit_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                                      ROOT / "examples/recordings/threads.cuspanrec", "return")))
            program.write_text(f"#!/bin/sh\n[ -z \"$CUDA_INJECTION64_PATH\" ] || {host} > /dev/null || [ $? = 7 ] || exit 9\n"
                               "echo done\n")
            program.chmod(0o755)
            command = [sys.executable, ROOT / "tests/gpu/numbers/tables_test.py", BUILD, folder, BUILD / "libcuspan-replay.so", "--"]
            done = run([*command, program], 120).wanted()
            self.assertRegex(done.out, r"tables: passed: 0 of \d\d checks failed, 0 parts left out")
            program.write_text("#!/bin/sh\necho done\n")
            done = run([*command, program], 120).wanted(1)
            self.assertIn("tables: FAILED", done.out)


if __name__ == "__main__":
    unittest.main()
