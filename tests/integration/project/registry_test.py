#!/usr/bin/env python3
"""src/model/attributes.yaml against the agent's spans of all recordings in the repository, and against what
stands in for the agent in tests: simulators of jobs and generators of spans.

    registry_test.py --build build
"""

import copy
import gzip
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/training")]

import jobs  # noqa: E402
import jobs_spans  # noqa: E402
import make_code_trace  # noqa: E402
import make_export  # noqa: E402
import registry  # noqa: E402
from built import BUILD  # noqa: E402

REGISTRY = registry.Registry()
CUSPAN = BUILD / "cuspan"


def lines_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as lines:
        return [json.loads(line) for line in lines]


def of_today(documents):
    """Those that an earlier version has written, with other names, with 0 and 1 for some booleans, and with numbers in names instead of
    arrays, which are left out."""
    renamed = registry.attribute_registry.renamed()
    types = {name: entry["type"] for group in registry.attribute_registry.read().values() for name, entry in group.items()}

    def attribute(pair):
        key, value = renamed.get(pair["key"], pair["key"]), pair["value"]
        return {"key": key, "value": {"boolValue": value["intValue"] != "0"} if types.get(key) == "boolean" and "intValue" in value else value}

    def change(found):
        if "attributes" in found:
            found["attributes"] = [pair for pair in found["attributes"] if not re.match(r"cuda\.total\.slowest\.\d", pair["key"])]
        return attribute(found) if set(found) == {"key", "value"} else found
    return json.loads(json.dumps(documents), object_hook=change)


class File(unittest.TestCase):
    """attribute_registry.problems() sees what OpenTelemetry's Weaver would refuse."""

    def problems(self, *changes):
        text = registry.attribute_registry.FILE.read_text(encoding="utf-8")
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "attributes.yaml")
            path.write_text(text, encoding="utf-8")
            return list(registry.attribute_registry.problems(path))

    def test_the_file(self):
        self.assertEqual(self.problems(), [])

    def test_faults(self):
        for old, new in (("        type: int\n", "        type: integer\n"), ("stability: development", "stability: experimental"),
                         ("        stability: development\n", ""), ("- id: cuda.api\n", "- id: cuda.Api!\n"), ("- id: cuda.api\n", "- id: code.file.path\n"),
                         ("- id: cuda.api\n", "- id: cuda.device\n"), ("- id: cuda.api\n", "- id: cuda.device_id\n"),
                         ("- ref: hw.id\n", "- id: hw.id\n"), ("- id: cuda.api\n", "- ref: cuda.device.id\n"), ("        brief: ", "        unit: "),
                         ("    stability: development\n    brief: \"a module", "    brief: \"a module"),
                         ("renamed_to: training.step.kind\n", "renamed_to: training.step.type\n")):
            with self.subTest(new):
                self.assertTrue(self.problems((old, new)))


class Spans(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, documents):
        self.assertEqual(REGISTRY.problems(documents), [])
        self.assertTrue(documents)

    def test_the_agent_on_all_recordings(self):
        found = [path for folder in ("examples/recordings", "examples/training", "tests/gpu/recordings", "tests/training/recordings")
                 for path in sorted((ROOT / folder).rglob("*.cuspanrec")) if not re.fullmatch("rank[1-9].*", path.name)]
        self.assertGreater(len(found), 15)
        for path in found:
            with self.subTest(str(path.relative_to(ROOT))):
                spans = Path(self.folder, "spans.jsonl")
                spans.unlink(missing_ok=True)
                subprocess.run([CUSPAN, "replay", "--set", "steps.traced=all", "--file", spans, path], check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
                self.check(lines_of(spans))

    def test_the_doubles_of_older_cuptis(self):
        """Both of the replay's APIs, as the oldest version of each and as the newest, with all details."""
        for options in (("--api", "classic", "--cupti-version", "12.0"), ("--api", "classic", "--cupti-version", "12.9"), ("--cupti-version", "13.5")):
            for detail in "summary", "graph-nodes", "full":
                spans = Path(self.folder, "spans.jsonl")
                spans.unlink(missing_ok=True)
                for name in "threads", "graph_nodes":
                    subprocess.run([CUSPAN, "replay", "--set", f"detail={detail}", *options, "--file", spans, ROOT / f"examples/recordings/{name}.cuspanrec"],
                                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                with self.subTest(f"{options} {detail}"):
                    self.check(lines_of(spans))

    def test_recorded_spans(self):
        self.check(lines_of(ROOT / "examples/training/late_rank.jsonl.gz"))
        self.check(of_today(lines_of(ROOT / "tests/training/recordings/ddp-selection.jsonl.gz")))

    def test_programs_of_ranks(self):
        for program in jobs.PROGRAMS:
            job = jobs.Job(jobs.Plan(program, ranks=8, steps=8, per_host=4))
            job.run()
            for selection in (0, 16):
                folder = Path(self.folder, f"{program}{selection}")
                jobs_spans.Writer(job, folder, selection=selection).write()
                self.check([line for path in sorted(folder.iterdir())[:2] for line in lines_of(path)])

    def test_the_simulator(self):
        for options in ([], ["--pairs", "--tensor", 2], ["--ahead"]):
            path = Path(self.folder, "job.jsonl")
            subprocess.run([sys.executable, ROOT / "tests/training/simulate.py", "--ranks", "4", "--steps", "2", "--otlp", path,
                            "--truth", Path(self.folder, "truth.json"), *map(str, options)], check=True)
            self.check(lines_of(path))

    def test_the_simulators_spans_in_protobuf(self):
        simulate = [sys.executable, ROOT / "tests/training/simulate.py", "--ranks", "4", "--steps", "2", "--records", "-", "--truth", "/dev/null"]
        records = subprocess.run(simulate, check=True, capture_output=True).stdout
        spans = subprocess.run([CUSPAN.parent / "records_to_otlp"], input=records, check=True, capture_output=True).stdout
        documents = list(registry.documents_in(spans))
        self.assertEqual(len(documents), 8)
        self.check(documents)

    def test_made_traces(self):
        for kind in ("small", "threads", "wide"):
            made = subprocess.run([sys.executable, ROOT / "tests/support/make_trace.py", kind], check=True, capture_output=True).stdout
            self.check([json.loads(line) for line in made.splitlines()])
        for kind, make in make_code_trace.MAKERS.items():
            if kind != "hostile":  # is to be wrong
                with self.subTest(kind):
                    self.check([json.loads(line) for line in make(1).lines()])

    def test_columns_of_exports(self):
        self.assertEqual(list(REGISTRY.problems_of_attributes(make_export.attributes(make_export.COLUMNS), REGISTRY.spans)), [])

    def test_what_the_agent_never_writes(self):
        """Each of these was, or could be, in a generator of spans, and hid a fault of what reads them."""
        span = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "AllReduce", "startTimeUnixNano": str(make_export.START),
                "endTimeUnixNano": str(make_export.START + 1)}
        right = {"cuda.activity": "collective", "collective.key": "0x1f", "collective.communicator": "0xa", "collective.ordinal": 0,
                 "collective.operation": "all_reduce", "collective.source": "nvtx", "collective.bytes": 8}

        def problems(values=None, **fields):
            attributes = make_export.attributes({**right, **(values or {})})
            document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{**span, "attributes": attributes, **fields}]}]}]}
            return REGISTRY.problems([copy.deepcopy(document)])

        self.assertEqual(problems(), [])
        for values in ({"collective.key": "000000000000001f"}, {"collective.key": "0x001f"}, {"collective.key": 31},
                       {"collective.bytes": "8"}, {"collective.bytes": 8.0}, {"collective.operation": "AllReduce"},
                       {"cuda.api": "cudaLaunchKernel"}, {"training.step.number": 1}, {"cuda.unknown": 1}, {"collective.ranks": 0}):
            self.assertEqual(len(problems(values)), 1, values)
        for fields in ({"traceId": "1"}, {"endTimeUnixNano": "5"}, {"name": ""}, {"startTimeUnixNano": 5}):
            self.assertEqual(len(problems(**fields)), 1, fields)
        module = make_export.attributes({"cuda.module.id": 1})
        for name, attributes, wrong in (("cuda.module.loaded", module, 0), ("cuda.module.unloaded", module, 1),
                                        ("cuda.context.created", module, 1), ("a mark", module, 0)):
            self.assertEqual(len(problems(events=[{"name": name, "attributes": attributes}])), wrong, name)


if __name__ == "__main__":
    unittest.main()
