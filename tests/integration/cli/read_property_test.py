#!/usr/bin/env python3
"""Properties of the readers of files, on inputs that Hypothesis makes, the same in each run: both encodings of OTLP give the
same spans, exports have them, compressed containers return their contents, and damage anywhere never ends a command by
a signal or hides what is not damaged.

    read_property_test.py --build BUILD-DIR [unittest's arguments]
"""

import gzip
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow.parquet
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from built import run  # noqa: E402
from otlp_encode import message, traces, varint, zstd  # noqa: E402

RECORDING = ROOT / "examples/recordings/vector_add.cuspanrec"
TRACE = "5b8efff798038103d269b633813fc60c"
START = 1700000000000000000


def few(examples):
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None,
                    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
keys = st.text("abc.é", min_size=1, max_size=4)
scalars = st.one_of(
    texts.map(lambda text: {"stringValue": text}), st.booleans().map(lambda value: {"boolValue": value}),
    st.integers(-2**63, 2**63 - 1).map(lambda value: {"intValue": str(value)}),
    st.floats().map(lambda value: {"doubleValue": value if math.isfinite(value) else
                                   "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}),
    st.binary(max_size=5).map(lambda value: {"bytesValue": __import__("base64").b64encode(value).decode()}))
values = st.recursive(scalars, lambda inner: st.one_of(
    st.lists(inner, max_size=3).map(lambda items: {"arrayValue": {"values": items}}),
    st.lists(st.tuples(keys, inner), max_size=3).map(
        lambda items: {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in items]}})), max_leaves=5)
attributes = st.dictionaries(keys, values, max_size=4).map(
    lambda items: [{"key": key, "value": value} for key, value in items.items()])
spans = st.fixed_dictionaries({
    "name": texts, "kind": st.integers(0, 5), "attributes": attributes, "times": st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)),
    "status": st.fixed_dictionaries({"code": st.integers(0, 2), "message": texts}),
    "events": st.lists(st.fixed_dictionaries({"name": texts, "attributes": attributes, "timeUnixNano": st.just(str(START + 5))}),
                       max_size=2),
    "links": st.lists(st.fixed_dictionaries({"traceId": st.just("ab" * 16), "spanId": st.just("cd" * 8), "attributes": attributes}),
                      max_size=2)})


def finish(number, span):
    start, length = span.pop("times")
    return {"traceId": TRACE, "spanId": f"{number + 1:016x}", "startTimeUnixNano": str(START + start),
            "endTimeUnixNano": str(START + start + length), **span}


documents = st.tuples(attributes, st.lists(spans, min_size=1, max_size=5)).map(lambda made: {"resourceSpans": [
    {"resource": {"attributes": made[0]}, "scopeSpans": [
        {"scope": {"name": "s"}, "spans": [finish(number, dict(span)) for number, span in enumerate(made[1])]}]}]})


class Case(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, content, name="input"):
        path = self.work / name
        path.write_bytes(content)
        return path

    def run_on(self, content, *command):
        done = run(*command, self.file(content), text=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn(b"anitizer", done.stderr)
        return done

    def perfetto(self, content):
        done = self.run_on(content, "show", "--perfetto", "-")
        self.assertEqual(done.returncode, 0, done.stderr)

        def refuse(constant):
            raise ValueError(constant)
        events = json.loads(done.stdout, parse_constant=refuse)["traceEvents"]
        return sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["args"]["span_id"])

    def rows(self, content):
        """The rows of its export, with valid JSON in the columns of JSON."""
        target = self.work / "parquet"
        subprocess.run(["rm", "-rf", target], check=True)
        self.assertEqual(self.run_on(content, "export", "-q", "-o", target).returncode, 0)
        rows = [row for path in sorted((target / "spans").rglob("*.parquet"))
                for row in pyarrow.parquet.read_table(path, page_checksum_verification=True).to_pylist()]
        for row in rows:
            row.pop("resource_id")
            for column in "events", "links", "scope":
                if row[column]:
                    json.loads(row[column], parse_constant=self.fail)
        return sorted(rows, key=lambda row: row["span_id"])


class Encodings(Case):
    @few(15)
    @given(documents)
    def test_both_give_the_same_spans(self, document):
        as_json, as_message = json.dumps(document).encode(), message(traces(document))
        self.assertEqual(self.perfetto(as_json), self.perfetto(as_message))

    @few(12)
    @given(documents)
    def test_both_give_the_same_rows(self, document):
        rows = self.rows(json.dumps(document).encode())
        self.assertEqual(len(rows), len(document["resourceSpans"][0]["scopeSpans"][0]["spans"]))
        self.assertEqual(rows, self.rows(message(traces(document))))

    @few(12)
    @given(documents, st.data())
    def test_unknown_fields_of_json(self, document, data):
        """In every object, in front or behind."""
        def add(value):
            if isinstance(value, list):
                return [add(item) for item in value]
            if not isinstance(value, dict):
                return value
            known = {key: add(item) for key, item in value.items()}
            extra = {"zFuture": data.draw(st.sampled_from([None, 1, "x", [1, {"a": 2}], {"stringValue": "no"}, True]))}
            return {**extra, **known} if data.draw(st.booleans()) else {**known, **extra}
        self.assertEqual(self.perfetto(json.dumps(document).encode()), self.perfetto(json.dumps(add(document)).encode()))

    @few(12)
    @given(documents, st.integers(1000, 2**29 - 1), st.integers(0, 2**64 - 1), st.binary(max_size=20), st.booleans())
    def test_unknown_fields_of_messages(self, document, field, number, content, is_first):
        known = traces(document)
        group = varint(field << 3 | 3) + varint(field << 3) + varint(number) + varint(field << 3 | 4)
        wanted = self.perfetto(message(known))
        for extra in (varint(field << 3) + varint(number), varint(field << 3 | 1) + bytes(8), varint(field << 3 | 5) + bytes(4),
                      varint(field << 3 | 2) + varint(len(content)) + content, group):
            self.assertEqual(self.perfetto(message(extra + known if is_first else known + extra)), wanted)


class Damage(Case):
    def lines(self):
        made = []
        for number in range(20):
            document = {"resourceSpans": [{"scopeSpans": [{"spans": [finish(number, {"name": f"span {number}", "times": (5, 5)})]}]}]}
            made.append(document)
        return made

    def names(self, content):
        done = self.run_on(content, "show", "--lines")
        return {f"span {number}" for number in range(20) if f" span {number} ".encode() in done.stdout}

    @few(20)
    @given(st.lists(st.tuples(st.integers(0, 19), st.binary(max_size=8), st.floats(0, 1)), min_size=1, max_size=4), st.booleans())
    def test_other_lines_and_messages_stay(self, changes, is_json):
        lines = [json.dumps(document).encode() if is_json else traces(document) for document in self.lines()]
        whole = {f"span {number}" for number in range(20)}
        for number, inserted, place in changes:
            at = int(place * len(lines[number]))
            lines[number] = lines[number][:at] + inserted.replace(b"\n", b" ") + lines[number][at + 1:]
            whole.discard(f"span {number}")
        content = b"".join(line + b"\n" if is_json else message(line) for line in lines)
        self.assertLessEqual(whole, self.names(content))

    @few(12)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, content):
        done = self.run_on(content, "stat")
        self.assertTrue(done.returncode == 0 or len(done.stderr.splitlines()) == 1, done.stderr)
        self.run_on(b"{" + content, "show")
        self.run_on(message(content), "export", "-o", self.work / "out.json")

    @few(12)
    @given(st.floats(0, 1), st.binary(min_size=1, max_size=4), st.booleans())
    def test_recordings(self, place, inserted, is_cut):
        good = RECORDING.read_bytes()
        at = int(place * len(good))
        done = self.run_on(good[:at] if is_cut else good[:at] + inserted + good[at + len(inserted):], "stat", "--table", "headline")
        self.assertTrue(done.returncode == 0 or done.stderr, place)


class Containers(Case):
    CONTENT = b"".join(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [
        finish(number, {"name": f"span {number}", "times": (number + 1, 5)})]}]}]}).encode() + b"\n" for number in range(200))

    @few(15)
    @given(st.lists(st.integers(0, len(CONTENT)), max_size=4), st.booleans(), st.lists(st.integers(0, 70000), min_size=5, max_size=5),
           st.binary(max_size=9))
    def test_frames_and_padding(self, cuts, is_gzip, padding, skipped):
        skippable = b"" if is_gzip else b"\x5a\x2a\x4d\x18" + len(skipped).to_bytes(4, "little") + skipped
        edges = [0, *sorted(cuts), len(self.CONTENT)]
        packed = b"".join(skippable + (gzip.compress if is_gzip else zstd)(self.CONTENT[a:b]) + bytes(padding[i % 5])
                          for i, (a, b) in enumerate(zip(edges, edges[1:])))
        done = self.run_on(packed, "show", "--lines")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(len(done.stdout.splitlines()), 201)

    @few(15)
    @given(st.floats(0.02, 0.999), st.booleans(), st.booleans())
    def test_cut_files(self, share, is_gzip, is_messages):
        content = message(self.CONTENT.splitlines()[0]) * 50 if is_messages else self.CONTENT
        packed = (gzip.compress if is_gzip else zstd)(content)
        packed = packed[:max(12, int(share * len(packed)))]
        done = self.run_on(packed, "show", "--lines")
        self.assertRegex(done.stderr, rb"data ends early")
        self.assertTrue(done.returncode == 0 or len(done.stderr.splitlines()) == 1)


if __name__ == "__main__":
    unittest.main()
