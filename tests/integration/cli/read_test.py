#!/usr/bin/env python3
"""The input of `cuspan stat`, `show` and `diff`: the same tables from JSON lines, protobuf and compressed files, in any order
and split over files; from tiny segments as from one; incomplete ends are skipped and reported, and damage is named.

    read_test.py --build BUILD-DIR [unittest's arguments]
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from otlp_encode import message, traces, zstd  # noqa: E402

BUILD = ROOT / "build"
RECORDINGS = ROOT / "examples/recordings"


def run(*arguments, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, timeout=600, check=False,
                          env={**environment, "LC_ALL": "C.UTF-8"}, **options)


def cuspan(*arguments, **options):
    return run(BUILD / "cuspan", *arguments, **options)


class Case(unittest.TestCase):
    """Spans of three processes in a file of JSON lines, one line per batch of one resource's spans."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = Path(cls.folder.name)
        cls.all = cls.work / "all.jsonl"
        for name, repeat in (("torch_inference", 3), ("threads", 1), ("graph_nodes", 1)):
            done = cuspan("replay", "--quiet", "--file", cls.all, "--repeat", repeat, RECORDINGS / f"{name}.cuspanrec")
            assert done.returncode == 0, done.stderr
        cls.documents = []
        for line in cls.all.read_text().splitlines():
            for batch in json.loads(line)["resourceSpans"]:
                for scope in batch["scopeSpans"]:
                    for i in range(0, len(scope["spans"]), 100):
                        piece = {"scope": scope.get("scope", {}), "spans": scope["spans"][i:i + 100]}
                        cls.documents.append({"resourceSpans": [{"resource": batch["resource"], "scopeSpans": [piece]}]})
        cls.lines = [json.dumps(document).encode() + b"\n" for document in cls.documents]
        cls.expected = cls.tables(cls.all)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def tables(cls, *files, **options):
        done = cuspan("stat", "--json", *files, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def file(self, name, content):
        path = self.work / name
        path.write_bytes(content)
        return path


class Formats(Case):
    def check(self, name, content):
        self.assertEqual(self.tables(self.file(name, content)), self.expected)

    def test_lines(self):
        self.check("lines.jsonl", b"".join(self.lines))

    def test_one_document_on_many_lines(self):
        whole = {"resourceSpans": [batch for document in self.documents for batch in document["resourceSpans"]]}
        self.check("whole.json", json.dumps(whole, indent=1).encode())

    def test_messages(self):
        self.check("messages.pb", b"".join(message(traces(document)) for document in self.documents))

    def test_compressed_messages(self):
        self.check("messages.pb.zst", b"".join(message(zstd(traces(document))) for document in self.documents))

    def test_compressed_messages_of_json(self):
        self.check("messages.json.zst", b"".join(message(zstd(line)) for line in self.lines))

    def test_gzip(self):
        half = len(self.lines) // 2
        self.check("lines.gz", gzip.compress(b"".join(self.lines[:half])) + gzip.compress(b"".join(self.lines[half:])))

    def test_zstd(self):
        self.check("lines.zst", b"".join(zstd(line) for line in self.lines))

    def test_compressed_as_a_whole(self):
        self.check("messages.gz", gzip.compress(b"".join(message(traces(document)) for document in self.documents)))

    def test_attributes_and_events_of_messages(self):
        as_json = self.file("some.jsonl", b"".join(self.lines[-40:]))
        as_messages = self.file("some.pb", b"".join(message(traces(document)) for document in self.documents[-40:]))
        first, second = (cuspan("show", "--lines", path) for path in (as_json, as_messages))
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertGreater(len(first.stdout.splitlines()), 100)
        self.assertEqual(first.stdout, second.stdout)


class Files(Case):
    def split(self):
        """The lines, shuffled, in a folder of files of three formats."""
        lines = list(range(len(self.lines)))
        random.Random(17).shuffle(lines)
        folder = self.work / "split"
        folder.mkdir(exist_ok=True)
        for i in range(6):
            mine = lines[i::6]
            if i % 3 == 0:
                content = b"".join(self.lines[k] for k in mine)
            elif i % 3 == 1:
                content = gzip.compress(b"".join(self.lines[k] for k in mine))
            else:
                content = b"".join(message(traces(self.documents[k])) for k in mine)
            (folder / f"part{i}").write_bytes(content)
        return folder

    def rows(self, tables):
        """Without numbers given in the order of arrival."""
        return sorted(json.dumps(table, sort_keys=True) for table in tables.items())

    def test_a_folder_a_pattern_and_a_list(self):
        folder = self.split()
        one = self.tables(folder)
        self.assertEqual(self.tables(f"{folder}/part[0-5]"), one)
        self.assertEqual(self.tables(*sorted(folder.iterdir())), one)
        for table in ("kernels", "calls"):
            key = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
            self.assertEqual(sorted(one[table], key=key), sorted(self.expected[table], key=key), table)

    def test_a_pipe(self):
        self.assertEqual(self.tables("-", input=self.all.read_bytes()), self.expected)
        self.assertEqual(self.tables("-", input=gzip.compress(self.all.read_bytes())), self.expected)

    def test_what_is_missing_is_named(self):
        for argument, words in ((self.work / "none*.jsonl", "no file matches"), (self.work / "none", "No such file")):
            done = cuspan("stat", argument)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{argument}: {words}", done.stderr.decode())


class Segments(Case):
    def read(self, segment, margin, buffer):
        done = run(BUILD / "stat_read", segment, margin, buffer, self.all)
        self.assertEqual(done.returncode, 0, done.stderr)
        segments, missed = map(int, done.stderr.split())
        return json.loads(done.stdout), segments, missed

    def test_runs_on_disk(self):
        one, segments, _ = self.read(10**9, 1, 2**40)
        self.assertEqual(segments, 1)
        self.assertEqual(self.read(10**9, 1, 20000)[0], one)

    def test_small_segments(self):
        one, _, _ = self.read(10**9, 1, 2**40)
        for spans in (100, 500):
            small, segments, missed = self.read(spans, spans, 100000)
            self.assertGreater(segments, 3)
            self.assertEqual(missed, 0)
            self.assertEqual(small, one)

    def test_missed_joins_are_counted(self):
        _, _, missed = self.read(5, 1, 100000)
        self.assertGreater(missed, 0)


class Damage(Case):
    def test_incomplete_ends(self):
        lines, last = b"".join(self.lines[:-1]), self.lines[-1]
        messages = [message(traces(document)) for document in self.documents]
        expected = self.tables(self.file("whole.jsonl", lines))
        for name, content in (("cut.jsonl", lines + last[:-10]), ("cut.pb", b"".join(messages)[:-10]),
                              ("cut.pb.2", b"".join(messages[:-1]) + messages[-1][:2])):
            done = cuspan("stat", "--json", self.file(name, content))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), expected, name)
            self.assertIn("the end of the file is incomplete and not counted", done.stderr.decode())
        done = cuspan("diff", self.file("cut.jsonl", lines + last[:-10]), self.work / "whole.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cut.jsonl: the end of the file is incomplete and not counted", done.stderr.decode())
        done = cuspan("stat", "--json", self.file("cut.gz", gzip.compress(b"".join(self.lines))[:-3000]), self.all)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the ends of 1 of 2 files are incomplete", done.stderr.decode())

    def test_truncated_compressed_files(self):
        whole = b"".join(self.lines)
        for name, packed in (("cut.gz", gzip.compress(whole)), ("cut.zst", zstd(whole))):
            done = cuspan("stat", "--json", self.file(name, packed[:len(packed) * 3 // 4]))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr.decode(), r"the end of the file is incomplete .*; [1-9]\d+ spans before it are counted")

    def test_truncated_in_the_first_line(self):
        first = self.lines[0][:-1]
        for name, content in (("first.jsonl", first[:-10]), ("first.gz", gzip.compress(first)[:-1000]),
                              ("first.zst", zstd(first)[:-1000]), ("first.pb", message(traces(self.documents[0]))[:-10])):
            path = self.file(name, content)
            done = cuspan("stat", path)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"{path}: the file is truncated before the end of its first line or message", done.stderr.decode())
            self.assertEqual(len(done.stderr.splitlines()), 1)
        path = self.file("many-lines.json", json.dumps(json.loads(first), indent=1).encode()[:-1000])
        done = cuspan("stat", path)
        self.assertRegex(done.stderr.decode(), rf"{path}:\d+: the file is truncated: its JSON document ends here")

    def test_damage_is_named(self):
        messages = b"".join(message(traces(document)) for document in self.documents[:3])
        second = len(message(traces(self.documents[0])))
        packed = zstd(self.lines[0]) + b"no frame of zstd" + zstd(self.lines[1])
        for name, content, words in (
                ("bad.jsonl", self.lines[0] + b"{]\n" + self.lines[1], ":2: invalid JSON at column 2"),
                ("bad.pb", messages[:second + 4] + b"\xff" * 20 + messages[second + 24:],
                 f": message 2 (offset {second}): this is not a message of OTLP protobuf"),
                ("bad.zst", packed, ": its zstd data is damaged before byte"),
                ("bad.length", messages + b"\x7f\xff\xff\xff1234", "would have 2147483647 bytes")):
            path = self.file(name, content)
            done = cuspan("stat", path)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(f"{path}", done.stderr.decode())
            self.assertIn(words, done.stderr.decode())
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    unittest.main()
