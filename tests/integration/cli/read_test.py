#!/usr/bin/env python3
"""The input of `cuspan stat`, `show` and `diff`: the same tables from JSON lines, protobuf and compressed files, in any order
and split over files; from tiny segments as from one; incomplete ends are skipped and reported, and damage is named.

    read_test.py --build BUILD-DIR [unittest's arguments]
"""

import base64
import gzip
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import built  # noqa: E402
from built import BUILD, CLEAN  # noqa: E402
from otlp_encode import message, traces, zstd  # noqa: E402

RECORDINGS = ROOT / "examples/recordings"
cuspan = partial(built.run, text=False)


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, timeout=600, check=False,
                          env=CLEAN, **options)


class Case(unittest.TestCase):
    """Spans of three processes in a file of JSON lines, one line per batch of one resource's spans."""

    @classmethod
    def setUpClass(cls):
        cls.work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
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

    def test_a_folder_of_more_than_files(self):
        """A pipe would wait for a writer, and a socket would cost the whole folder."""
        folder = self.work / "odd"
        folder.mkdir()
        (folder / "a.jsonl").write_bytes(self.all.read_bytes())
        os.mkfifo(folder / "b")
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(folder / "c"))
        (folder / "d").symlink_to("nowhere")
        for argument in (folder, f"{folder}/*[a-c]*"):
            done = cuspan("stat", "--json", argument)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), self.expected)
            self.assertIn(f"first one: {folder}/b: it is a named pipe, not a file", done.stderr.decode())
        self.assertIn("cuspan diff: 3 files", cuspan("diff", folder, self.all).stderr.decode())

    def test_folders_that_match_a_pattern(self):
        outer = self.work / "outer"
        for name in ("one", "two", "empty"):
            (outer / name).mkdir(parents=True)
        (outer / "one" / "all.jsonl").write_bytes(self.all.read_bytes())
        self.assertEqual(self.tables(f"{outer}/*"), self.expected)
        self.assertIn(f"only folders; name them, as in {outer}/*", cuspan("stat", outer).stderr.decode())
        self.assertIn("no file matches", cuspan("stat", f"{outer}/t*").stderr.decode())

    def test_a_folder_of_parquet_files(self):
        folder = self.work / "fleet"
        self.assertEqual(cuspan("export", "-o", folder, self.all).returncode, 0)
        self.assertIn(f"ask cuspan fleet, as in cuspan fleet kernels {folder}", cuspan("stat", folder).stderr.decode())

    def test_a_name_cannot_move_the_cursor(self):
        folder = self.work / "names"
        folder.mkdir()
        self.file("names/a.jsonl", self.all.read_bytes())
        self.file("names/b\033[2J\ncuspan: all good\r", b"nothing")
        done = cuspan("stat", folder)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.decode(),
                         f"cuspan stat: skipped: {folder}/b?[2J?cuspan: all good?:1: invalid JSON at column 1\n")
        config = self.file("names/x\033[2J.yaml", b'file_format: "1.1"\ndistribution: {cuspan: {detail: "x\\x9bm"}}\n')
        self.assertIn(b'not "x??m"', cuspan("check", config).stderr)
        for arguments in (("check", config), ("stat", "x\033[2J"), ("stat", "--x\033[2J"), ("x\033[2J",)):
            done = cuspan(*arguments)
            self.assertIn(b"x?[2J", done.stderr)
            self.assertNotIn(b"\033", done.stderr)

    def test_a_recording_that_is_named_like_an_option(self):
        self.file("--quiet", (RECORDINGS / "vector_add.cuspanrec").read_bytes())
        done = cuspan("show", "--", "--quiet", cwd=self.work)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_recording_without_proc(self):
        bare = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        if run(*bare, "true").returncode:
            self.skipTest("no mount namespaces here")
        done = run(*bare, BUILD / "cuspan", "show", RECORDINGS / "vector_add.cuspanrec")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_compressed_twice(self):
        for name, packed in (("gzip", gzip.compress(self.all.read_bytes())), ("zstd", zstd(self.all.read_bytes()))):
            done = cuspan("show", self.file("twice", gzip.compress(packed)))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"compressed twice, the first time by {name}", done.stderr.decode())


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

    def test_damage_is_skipped_and_named(self):
        messages = b"".join(message(traces(document)) for document in self.documents[:3])
        second = len(message(traces(self.documents[0])))
        packed = message(zstd(self.lines[0])) + message(zstd(self.lines[1])[:-5]) + message(zstd(self.lines[2]))
        one_line, pretty = self.lines[0] + self.lines[2], json.dumps(self.documents[0], indent=1).encode()
        only = json.dumps({"resourceSpans": []}).encode()
        for name, content, words, same in (
                ("line.jsonl", self.lines[0] + b"{]\n" + self.lines[2], ":2: invalid JSON at column 2", one_line),
                ("null.jsonl", b"null\n" + self.lines[0] + b"{}\n5\n" + self.lines[2],
                 f"2 lines or messages were skipped; the first one: {self.work}/null.jsonl:1: no resourceSpans", one_line),
                ("first.jsonl", self.lines[1][:100] + b"\n" + one_line, ":1: invalid JSON at column", one_line),
                ("open.jsonl", b'{"resourceSpans":[\n' + one_line, ":1: invalid JSON at column 19", one_line),
                ("bad.pb", messages[:second + 4] + b"\xff" * 20 + messages[second + 24:],
                 f": message 2 (offset {second}): this is not a message of OTLP protobuf", None),
                ("bad.message.zst", packed, ": message 2 (offset", one_line),
                ("bad.length", messages + b"\x7f\xff\xff\xff1234", "would have 2147483647 bytes", b"".join(self.lines[:3])),
                ("bad.zst", zstd(one_line) + b"no frame of zstd", " on is not zstd", one_line),
                ("bad.gz", gzip.compress(one_line) + b"no member of gzip", " on is not gzip", one_line),
                ("bad.crc.gz", gzip.compress(one_line)[:-8] + bytes(8), ": its gzip data is damaged before byte", one_line),
                ("two.json", pretty + pretty + b"\n[1,\n", None, None),
                ("more.json", pretty + b"\n" + pretty.replace(b'"spans": [', b'"spans": {'), "lines or messages were skipped", None),
                ("rest", only + b" x\n" + one_line, "/rest:1: invalid JSON from this line on", one_line)):
            with self.subTest(name):
                path = self.file(name, content)
                for command in ("stat", "--json"), ("show", "--lines"), ("flame", "-o", self.work / "flame.folded"), ("diff", path):
                    done = cuspan(*command, path)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    if words:
                        self.assertIn(words, done.stderr.decode())
                        self.assertIn(f"cuspan {command[0]}: ", done.stderr.decode())
                if same:
                    self.assertEqual(self.tables(path), self.tables(self.file("same", same)))

    def test_what_is_cut_is_said(self):
        lines, messages = b"".join(self.lines), b"".join(message(traces(document)) for document in self.documents)
        last = len(messages) - len(message(traces(self.documents[-1])))
        for name, content, words in (
                ("cut.line", lines[:-10], f"(line {len(self.lines)})"),
                ("cut.pb", messages[:-10], f"(message {len(self.documents)} at offset {last} has "),
                ("cut.head", messages + b"\0\0", f"(message {len(self.documents) + 1} at offset {len(messages)} lacks its length)"),
                ("cut.gz", gzip.compress(lines)[:-100], "(its gzip data ends early)"),
                ("cut.zst", zstd(lines)[:-100], "(its zstd data ends early)")):
            path = self.file(name, content)
            for command in ("stat",), ("show",), ("show", "--lines"), ("show", "--perfetto", self.work / "out.json"), ("diff", path), \
                    ("flame", "-o", self.work / "flame.svg"), ("export", "-o", self.work / "out.json"), \
                    ("export", "-o", self.work / "out.sqlite"), ("stat", "--save", self.work / "out.baseline"):
                done = cuspan(*command, path)
                self.assertEqual(done.returncode, 0, done.stderr)
                said = [line for line in done.stderr.decode().splitlines() if "incomplete" in line]
                self.assertEqual(len(said), 2 if command[0] == "diff" else 1, (command, done.stderr))
                self.assertIn(f"cuspan {command[0]}: {path}: the end of the file is incomplete and not counted {words}", said[0])

    def test_padding_and_other_frames(self):
        half = len(self.lines) // 2
        parts = [b"".join(part) for part in (self.lines[:half], self.lines[half:])]
        skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00size"  # as pzstd has before each frame
        for content in (gzip.compress(b"".join(parts)) + bytes(10240), gzip.compress(parts[0]) + bytes(70001) + gzip.compress(parts[1]),
                        skippable + zstd(parts[0]) + skippable + zstd(parts[1]), zstd(parts[0]) + bytes(3) + zstd(parts[1]) + bytes(9)):
            done = cuspan("stat", "--json", self.file("padded", content))
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(json.loads(done.stdout), self.expected)

    def test_zeros_before_a_line(self):
        """Of a file that was truncated while its writer went on, and after a crash of the machine."""
        half = len(self.lines) // 2
        parts = [b"".join(part) for part in (self.lines[:half], self.lines[half:])]
        for zeros in 4, 100, 513, 8192, 3_000_000:
            for name, content in (("zeros", bytes(zeros) + b"".join(parts)), ("inside", parts[0] + bytes(zeros) + parts[1]),
                                  ("zeros.gz", gzip.compress(bytes(zeros) + b"".join(parts)))):
                done = cuspan("stat", "--json", self.file(name, content))
                self.assertEqual((done.returncode, done.stderr), (0, b""), (name, zeros))
                self.assertEqual(json.loads(done.stdout), self.expected)
        done = cuspan("stat", "--json", self.file("end", b"".join(parts) + bytes(4096)))
        self.assertIn(f"the end of the file is incomplete and not counted (line {len(self.lines) + 1})", done.stderr.decode())
        self.assertEqual(json.loads(done.stdout), self.expected)

    def test_other_files_are_named(self):
        for name, content, words in (
                ("program", Path(sys.executable).read_bytes()[:5000], "an ELF program"), ("table", b"PAR1" + bytes(90), "a Parquet file"),
                ("zeros", bytes(90), "a binary file"), ("pickle", b"\x80\x04\x95" + bytes(90), "a binary file"),
                ("utf16", "\ufeff{}".encode("utf-16"), "UTF-16"), ("utf16le", self.lines[0].decode().encode("utf-16-le"), "-f UTF-16LE"),
                ("utf16be", self.lines[0].decode().encode("utf-16-be"), "-f UTF-16BE"),
                ("many-zeros", bytes(3_000_000), "a binary file"), ("report", b"NVDA\1\2\3", ":1: invalid JSON at column 1"),
                ("comma.json", b"[" + self.lines[0][:-1] + b",]", ":1: invalid JSON at column"),
                ("names.json", b'{"resource_spans": []}', "this is JSON with protobuf's names"),
                ("scopes.json", b'{"resourceSpans": [{"scope_spans": []}]}', "no scopeSpans: scope_spans is no name of OTLP JSON"),
                ("old.json", b'{"resourceSpans": [{"instrumentationLibrarySpans": []}]}', "is no name of OTLP JSON since 1.0"), ("xz", b"\xfd7zXZ\0" + bytes(9), "xz -d"),
                ("text", b"once upon a time\nthere was\n", ":1: invalid JSON at column 1"), ("empty", b"", "it has no spans"),
                ("recording.gz", gzip.compress((RECORDINGS / "threads.cuspanrec").read_bytes()), "a compressed recording"),
                ("chrome.json", b'{"traceEvents": []}\n', "a trace for Perfetto or Chrome"),
                ("jaeger.json", b'{"data": []}\n', "Jaeger's own JSON")):
            path = self.file(name, content)
            for command in ("stat",), ("show",), ("diff", self.all), ("flame", "-o", self.work / "f.svg"), ("export", "-o", self.work / "o.json"):
                done = cuspan(*command, path)
                self.assertEqual(done.returncode, 2 if command[0] == "diff" else 1, (command, name))
                self.assertIn(words, done.stderr.decode())
                self.assertIn(f"cuspan {command[0]}: {path}", done.stderr.decode())
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Streams(Case):
    """Files that can only be read once, and names of files."""

    def fifo(self, content):
        path = self.work / "fifo"
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        self.addCleanup(writer.join)
        return path

    def test_a_named_pipe(self):
        content = b"".join(self.lines[:8])
        for command in (("stat", "--table", "headline"), ("show",), ("show", "--lines"), ("export", "-o", self.work / "f.json"),
                        ("export", "-o", self.work / "f.sqlite"), ("export", "-o", self.work / "parquet"),
                        ("flame", "-o", self.work / "f.svg"), ("diff", self.all), ("stat", "--save", self.work / "f.base")):
            done = cuspan(*command, self.fifo(content))
            self.assertEqual(done.returncode, 0, (command, done.stderr))

    def test_recordings_from_a_pipe(self):
        recording = (RECORDINGS / "vector_add.cuspanrec").read_bytes()
        from_file = self.tables(RECORDINGS / "vector_add.cuspanrec")
        self.assertEqual(self.tables(self.fifo(recording))["kernels"], from_file["kernels"])
        replayed = cuspan("replay", "--quiet", "--console", "-", input=recording)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertEqual(self.tables("-", input=replayed.stdout)["kernels"], from_file["kernels"])

    def test_dev_stdin(self):
        self.assertEqual(self.tables("/dev/stdin", input=self.all.read_bytes()), self.expected)
        with self.all.open("rb") as file:
            self.assertEqual(self.tables("/dev/stdin", stdin=file), self.expected)
        self.assertEqual(cuspan("diff", "-", self.all, input=self.all.read_bytes()).returncode, 0)
        base = self.work / "base"
        self.assertEqual(cuspan("stat", "--save", base, self.all).returncode, 0)
        self.assertEqual(cuspan("diff", "/dev/stdin", self.all, input=base.read_bytes()).returncode, 0)

    def test_options_that_exclude_each_other(self):
        for arguments, words in ((("stat", "-", "-"), "only once"), (("diff", "-", "-"), "only once"),
                                 (("diff", "--base", "-", "--new", "-"), "only once"), (("diff", "--base", "-", "--new", "/dev/stdin"), "only once"),
                                 (("stat", "--save", "-", self.all), "--save cannot write to standard output"),
                                 (("stat", "--sqlite", "-", self.all), "--sqlite cannot write to standard output"),
                                 (("run", "--console", "--protocol", "grpc", "true"), "--endpoint (or --protocol), --file and --console"),
                                 (("start", "--all", "17"), "--all and 17 exclude each other"),
                                 (("doctor", "--list", "--json"), "--list only lists"), (("doctor", "--list", "--only", "cupti"), "--list only lists"),
                                 (("help", "run", "show"), "one topic at a time"), (("help", "--man", "run", "--completion", "zsh"), "one topic"),
                                 (("stat", "--json", "--csv", self.all), "--json and --csv exclude each other"),
                                 (("show", "--lines", "--perfetto", "x", self.all), "exclude each other"),
                                 (("show", "--lines", "--rows", 3, self.all), "are for the picture"),
                                 (("stat", "--save", "x", "--top", 3, self.all), "--save writes no tables"),
                                 (("stat", "--sqlite", "x", "--by", "step", self.all), "--sqlite writes no tables"),
                                 (("stat", "--top", "-3", self.all), "--top needs a number from 0"),
                                 (("stat", "--align-clocks", "/dev/stdin"), "reads the input twice"),
                                 (("export", "-o", "x.csv", self.all), "x.csv: unknown format"),
                                 (("export", "-o", "x.jsonl.zst", self.all), "unknown format")):
            done = cuspan(*arguments, input=b"", cwd=self.work)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(words, done.stderr.decode())

    def test_an_output_is_no_input(self):
        before = self.all.read_bytes()
        link = self.work / "link"
        link.symlink_to(self.all)
        for arguments in (("stat", "-o", link, self.all), ("stat", self.all, "--save", link), ("stat", "--sqlite", self.all, self.all),
                          ("show", "--perfetto", self.all, link), ("flame", self.all, "-o", self.all), ("export", "-o", self.all, self.all),
                          ("stat", "-o", "nowhere", "nowhere")):
            done = cuspan(*arguments, cwd=self.work)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn("would overwrite what is to be read", done.stderr.decode())
            self.assertEqual(self.all.read_bytes(), before)
        link.unlink()
        self.assertEqual(cuspan("stat", "-o", "-", self.all, cwd=self.work).stdout, cuspan("stat", self.all).stdout)
        self.assertFalse((self.work / "-").exists() or (self.work / "nowhere").exists())

    def test_perfetto_of_one_trace_of_many(self):
        for command in ("export", "-o"), ("show", "--perfetto"):
            path = self.work / "out.json.gz"
            done = cuspan(*command, path, self.all)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr.decode(), "it has one trace, [0-9a-f]{8}; the [0-9]+ others of the input are not in it")
            trace = json.loads(gzip.decompress(path.read_bytes()))["otherData"]["trace_id"]
            done = cuspan(*command, path, "--trace", trace, self.all)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_names_of_tables(self):
        for name, other in ("waits", "synchronization"), ("utilization", "devices"):
            both = [cuspan("stat", "--table", each, self.all).stdout for each in (name, other)]
            self.assertEqual(*both)
            self.assertIn(f" (--table {other})\n".encode(), both[0])

    def test_the_last_hour(self):
        recording = RECORDINGS / "vector_add.cuspanrec"
        for arguments, is_now in ((), False), (("--now",), True), (("--now", "--repeat", 3), True):
            done = cuspan("replay", "--console", *arguments, recording)
            times = [int(text) for text in re.findall(r'"endTimeUnixNano":"(\d+)"', done.stdout.decode())]
            self.assertEqual(0 <= time.time() - max(times) / 1e9 < 600, is_now)

    def test_flame_without_stacks(self):
        done = cuspan("flame", "--format", "folded", "-o", "-", self.all)
        self.assertIn(b"cuspan run --set capture.launch_stacks=python", done.stderr)
        self.assertTrue(done.stdout.startswith(b"(no stacks: set capture.launch_stacks);"), done.stdout[:200])
        self.assertNotIn(b"not sampled", done.stdout)

    def test_appending_is_said(self):
        path = self.work / "appended.jsonl"
        for content in False, True:
            done = cuspan("replay", "--file", path, RECORDINGS / "vector_add.cuspanrec")
            self.assertEqual(b"has content already; the spans are appended" in done.stderr, content)


TRACE_ID = "5b8efff798038103d269b633813fc60c"


def span(number, **fields):
    """Fields that are None are left out."""
    all_fields = {"traceId": TRACE_ID, "spanId": f"{number:016x}", "name": f"k{number}", "kind": 1,
                  "startTimeUnixNano": str(1700000000000000000 + number), "endTimeUnixNano": str(1700000000000000900), **fields}
    return {key: value for key, value in all_fields.items() if value is not None}


def document(*spans):
    return {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "app"}}]},
                               "scopeSpans": [{"spans": list(spans)}]}]}


class Odd(Case):
    """Spans with odd fields: only what is odd is left out, and both encodings agree."""

    def arguments(self, path):
        """The arguments of the spans in Perfetto's JSON, by name."""
        done = cuspan("show", "--perfetto", "-", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {event["name"]: event["args"] for event in json.loads(done.stdout)["traceEvents"] if event["ph"] == "X"}

    def test_odd_spans_are_skipped(self):
        odd = [span(2, startTimeUnixNano=None), span(3, spanId=""), span(4, traceId="12"), span(5, startTimeUnixNano="soon")]
        for name, content in (("odd.jsonl", json.dumps(document(span(1), *odd, span(6))).encode()),
                              ("odd.pb", message(traces(document(span(1), *odd[:3], span(6)))))):
            path = self.file(name, content)
            self.assertEqual(set(self.arguments(path)), {"k1", "k6"})
            done = cuspan("stat", path)
            self.assertIn(f"{4 if name == 'odd.jsonl' else 3} spans were skipped; the first one: {path}", done.stderr.decode())
            self.assertRegex(done.stderr.decode(), "span 0000000000000002 has no start")
        for time in "2026-11-28T10:00:00Z", -5, "1.7e18", {"low": 1, "high": 2}:
            done = cuspan("stat", self.file("time.jsonl", json.dumps(document(span(1, startTimeUnixNano=time), span(2))).encode()))
            self.assertIn("span 0000000000000001 has a startTimeUnixNano that is not a number of ns", done.stderr.decode())
        only = self.file("only.jsonl", json.dumps(document(*odd)).encode())
        done = cuspan("stat", only)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn("only.jsonl:1: span 0000000000000002 has no startTimeUnixNano", done.stderr.decode())

    def test_text_that_is_not_unicode(self):
        line = json.dumps(document(span(1, name="a\ud800b", attributes=[{"key": "k", "value": {"stringValue": "x\udc00"}}]),
                                   span(2, name="RAW")))
        as_json = line.encode().replace(b"RAW", b"c\xff\xed\xa0\x80")
        as_message = message(traces(document(span(1, name="a?b", attributes=[{"key": "k", "value": {"stringValue": "x?"}}]),
                                             span(2, name="c????"))).replace(b"a?b", b"a\xffb").replace(b"x?", b"x\xff")
                             .replace(b"c????", b"c\xff\xed\xa0\x80"))
        for name, content in (("raw.jsonl", as_json), ("raw.pb", as_message)):
            path = self.file(name, content)
            spans = self.arguments(path)
            self.assertEqual(set(spans), {"a\ufffdb", "c\ufffd\ufffd\ufffd\ufffd"})
            self.assertEqual(spans["a\ufffdb"]["k"], "x\ufffd")
            self.assertIn("6 characters were not valid Unicode", cuspan("show", path).stderr.decode())

    def test_answers_of_stores(self):
        """Jaeger wraps its answers, Tempo, too, with IDs in base64."""
        def encoded(value, key=""):
            if isinstance(value, dict):
                return {name: encoded(item, name) for name, item in value.items()}
            if isinstance(value, list):
                return [encoded(item, key) for item in value]
            is_id = key in ("traceId", "spanId", "parentSpanId")
            return base64.b64encode(bytes.fromhex(value)).decode() if is_id else value

        batches = document(span(1, spanId="fedcba9876543210"), span(2, parentSpanId="fedcba9876543210"))["resourceSpans"]
        outputs = []
        for answer in ({"resourceSpans": batches}, {"result": {"resourceSpans": batches}}, {"trace": {"resourceSpans": encoded(batches)}},
                       {"batches": encoded(batches)}):
            done = cuspan("show", "--lines", self.file("answer.json", json.dumps(answer).encode()))
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            outputs.append(done.stdout)
        self.assertEqual(outputs[0].count(b"fedcba9876543210"), 2)
        self.assertEqual(outputs, outputs[:1] * 4)
        wrong = [span(1, traceId="*" * 24), span(2, spanId="A" * 11 + "*"), span(3, traceId="A" * 21), span(4)]
        self.assertEqual(set(self.arguments(self.file("wrong.json", json.dumps(document(*wrong)).encode()))), {"k4"})

    def test_unknown_fields_and_numbers(self):
        values = [("known", {"stringValue": "x"}, "x"), ("first", {"futureField": 1, "stringValue": "x"}, "x"),
                  ("last", {"stringValue": "x", "futureField": {"a": [1]}}, "x"), ("null", {"stringValue": None, "intValue": "5"}, 5),
                  ("only", {"futureField": 1}, "null"), ("nothing", {}, "null"), ("negative", {"intValue": -7}, -7),
                  ("whole", {"intValue": 3.0}, 3), ("large", {"intValue": 2**64 - 1}, 18446744073709551615.0),
                  ("double", {"doubleValue": "3.5"}, 3.5), ("hex", {"doubleValue": "0x10"}, "0x10"),
                  ("nan", {"doubleValue": "NaN"}, "NaN"), ("infinity", {"doubleValue": "-Infinity"}, "-Infinity"),
                  ("list", {"arrayValue": {"values": [{"futureField": 1, "intValue": "2"}, {}, {"doubleValue": "NaN"},
                                                      {"bytesValue": "AAE="}]}}, '[2,null,"NaN","AAE="]'),
                  ("map", {"kvlistValue": {"values": [{"key": "a\0\ud800", "value": {"doubleValue": "Infinity"}}]}},
                   '{"a\\u0000\ufffd":"Infinity"}')]
        attributes = [{"key": key, "value": value, "keyStrindex": 3} for key, value, _ in values]
        odd = [{"value": {"stringValue": "no key"}}, {"key": None, "value": {"stringValue": "null key"}}, None, 5]
        one = document(span(1, attributes=attributes + odd, future=[{"a": None}], status={"message": "m", "code": 2, "deprecatedCode": 1}))
        one["resourceSpans"].append(None)
        one["resourceSpans"][0]["scopeSpans"] += [None, {"spans": None}]
        path = self.file("unknown.jsonl", json.dumps(one).encode().replace(b'"NaN"}]', b'NaN}]'))
        arguments = self.arguments(path)["k1"]
        for key, _, wanted in values:
            self.assertEqual(arguments.get(key), wanted, key)
        self.assertEqual(arguments["error"], "m")
        self.assertEqual(set(arguments) - {"span_id", "error"}, {key for key, _, _ in values})

    def test_unknown_fields_of_messages(self):
        known = traces(document(span(1)))
        group = b"\x9b\x06" + b"\x08\x01" + b"\x13\x0a\x01x\x14" + b"\x9c\x06"  # field 99, with a group inside
        for extra in (b"\x98\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x99\x06" + bytes(8), b"\x9d\x06" + bytes(4),
                      b"\x9a\x06\x03abc", group, b"\x08\x05"):  # the last one: field 1 of another type
            for content in extra + known, known + extra:
                self.assertEqual(set(self.arguments(self.file("unknown.pb", message(content)))), {"k1"})
        for wrong in b"\x9c\x06", b"\x9b\x06", b"\x9f\x06":  # groups that do not match, and no type
            done = cuspan("stat", self.file("wrong.pb", message(known) + message(wrong)))
            self.assertIn("message 2 (offset", done.stderr.decode())

    def test_a_message_without_its_length(self):
        self.assertEqual(set(self.arguments(self.file("body", traces(document(span(1), span(2)))))), {"k1", "k2"})

    def test_documents_that_follow_each_other(self):
        documents = [document(span(number)) for number in range(1, 4)]
        for content in ("".join(map(json.dumps, documents)), "\n".join(json.dumps(one, indent=1) for one in documents),
                        json.dumps(documents), json.dumps(documents, indent=2)):
            self.assertEqual(set(self.arguments(self.file("several.json", content.encode()))), {"k1", "k2", "k3"})

    def test_sums_of_bytes_are_unsigned(self):
        copies = [span(i, attributes=[{"key": "cuda.activity", "value": {"stringValue": "memcpy"}},
                                      {"key": "cuda.memcpy.bytes", "value": {"intValue": str(2**63 - 1)}}]) for i in (1, 2)]
        gpu = [{"key": "cuda.device.id", "value": {"intValue": "0"}}]
        content = {"resourceSpans": [{"resource": {"attributes": gpu}, "scopeSpans": [{"spans": copies}]}]}
        tables = self.tables(self.file("large.jsonl", json.dumps(content).encode()))
        self.assertEqual(tables["headline"][0]["moved_bytes"], 2**64 - 2)

    def test_backwards_spans_are_counted(self):
        done = cuspan("stat", self.file("back.jsonl", json.dumps(document(span(1, endTimeUnixNano="5"), span(2))).encode()))
        self.assertIn("1 span ends before it starts; its duration is 0", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
