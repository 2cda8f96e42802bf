#!/usr/bin/env python3
"""The tables of serving engines of `cuspan stat`: every figure is computed again in another way from the same spans.

    engine_tables_test.py --build BUILD-DIR [unittest's arguments]
"""

import gzip
import json
import math
import os
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import output_of, run  # noqa: E402
from made_engine import MS, US, Engine, serve  # noqa: E402
from make_trace import attributes  # noqa: E402

TABLES = "iterations", "slow_iterations", "engine_requests", "slow_engine_requests"
ITERATION, REQUEST = "engine.iteration.", "engine.request."
SLOWEST = 20


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def times(name, values):
    return {f"{name}_median_ns": nearest_rank(values, 50), f"{name}_p99_ns": nearest_rank(values, 99)} if values else {}


def work_of(attributes):
    if attributes[ITERATION + "kind"] != "forward":
        return attributes[ITERATION + "kind"]
    return {(True, False): "prefill", (False, True): "decode", (True, True): "mixed", (False, False): "unknown"}[
        attributes[ITERATION + "prefill_tokens"] > 0, attributes[ITERATION + "decode_tokens"] > 0]


class Expected:
    """The tables, without the process's names."""

    def __init__(self, file):
        self.spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
        roots = sorted((span for span in self.spans if ITERATION + "requests" in span.attributes), key=lambda span: span.start_ns)
        self.all_roots, self.roots = roots, [root for root in roots if ITERATION + "summary" not in root.attributes]
        ids = {root.span_id: root for root in roots}
        self.ranks = {span.parent_id: span for span in self.spans if span.parent_id in ids and span.name.startswith("rank ")
                      and span.resource["process.pid"] == ids[span.parent_id].resource["process.pid"]}
        self.requests = sorted((span for span in self.spans if REQUEST + "end" in span.attributes), key=lambda span: span.start_ns)

    def engine(self, span):
        return span.attributes.get("engine.name"), int(span.resource["process.pid"])

    def iterations(self):
        groups, by_number = defaultdict(list), {(*self.engine(root), root.attributes[ITERATION + "number"]): root for root in self.roots}
        for root in self.roots:
            groups[*self.engine(root), work_of(root.attributes)].append(root)
        rows = {}
        for key, members in groups.items():
            durations = [root.end_ns - root.start_ns for root in members]
            after = [(root, by_number.get((*key[:2], root.attributes[ITERATION + "number"] + 1))) for root in members]
            gaps = [max(0, later.start_ns - root.end_ns) for root, later in after if later]
            known = [(root, rank.attributes) for root in members
                     if (rank := self.ranks.get(root.span_id)) and "cuda.total.incomplete" not in rank.attributes]
            rows[key] = {
                "count": len(members), "total_ns": sum(durations), "median_ns": nearest_rank(durations, 50),
                "p99_ns": nearest_rank(durations, 99), "max_ns": max(durations), "gaps": len(gaps),
                **{word: sum(root.attributes[ITERATION + word] for root in members) for word in ("prefill_tokens", "decode_tokens")},
                "mean_requests": sum(root.attributes[ITERATION + "requests"] for root in members) / len(members)}
            if gaps:
                rows[key]["median_gap_ns"] = nearest_rank(gaps, 50)
            if known:
                rows[key].update({word: sum(totals.get(f"cuda.total.{word}", 0) for _, totals in known) for word in ("calls", "kernels", "graphs")},
                                 gpu_share=sum(totals["cuda.total.gpu_time"] for _, totals in known) /
                                 sum(root.end_ns - root.start_ns for root, _ in known),
                                 graph_share=sum("cuda.total.graphs" in totals for _, totals in known) / len(known))
        return rows

    def slow_iterations(self):
        ordered = sorted(self.all_roots, key=lambda root: root.start_ns - root.end_ns)[:SLOWEST]
        return [(root.attributes[ITERATION + "number"], root.end_ns - root.start_ns, root.attributes[ITERATION + "requests"],
                 self.launches(root), root.trace_id) for root in ordered]

    def launches(self, root):
        totals = self.ranks[root.span_id].attributes if root.span_id in self.ranks else {"cuda.total.incomplete": True}
        if "cuda.total.incomplete" in totals or not totals["cuda.total.kernels"]:
            return None
        return "graph" if "cuda.total.graphs" in totals else "eager"

    @staticmethod
    def cost(members):
        """Their GPU time, and its share of that of their iterations."""
        def sum_of(word):
            return sum(span.attributes.get(REQUEST + word, 0) for span in members)
        cost = sum_of("gpu_share.prefill") + sum_of("gpu_share.decode")
        return cost, cost / sum_of("gpu_time")

    @staticmethod
    def duration(span):
        return span.end_ns - span.start_ns + span.attributes.get(REQUEST + "queue_time", 0)

    def engine_requests(self):
        groups, rows = defaultdict(list), {}
        for span in self.requests:
            groups[self.engine(span)].append(span)
        for key, members in groups.items():
            def values(word, members=members):
                return [span.attributes[REQUEST + word] for span in members if REQUEST + word in span.attributes]
            first = [span.attributes[REQUEST + "queue_time"] + span.attributes[REQUEST + "prefill_time"] for span in members
                     if REQUEST + "queue_time" in span.attributes and REQUEST + "prefill_time" in span.attributes]
            ended = [self.duration(span) for span in members
                     if span.attributes[REQUEST + "end"] != "unfinished" and span.attributes[REQUEST + "iterations"]]
            rows[key] = {
                "count": len(members),
                **{word: sum(span.attributes[REQUEST + "end"] == word for span in members)
                   for word in ("finished", "aborted", "failed", "unfinished")},
                **times("queue", values("queue_time")), **times("first_token", first),
                **times("per_token", values("time_per_output_token")), **times("duration", ended),
                **{word: sum(values(word)) for word in ("prompt_tokens", "cached_tokens", "generated_tokens", "preemptions")}}
            if sum(values("iterations")):
                rows[key]["measured_share"] = sum(values("iterations_measured")) / sum(values("iterations"))
            if sum(values("iterations_measured")):
                rows[key].update(gpu_prefill_ns=sum(values("gpu_share.prefill")), gpu_decode_ns=sum(values("gpu_share.decode")),
                                 gpu_share=self.cost(members)[1])
        return rows

    def slow_engine_requests(self):
        ended = [span for span in self.requests if span.attributes[REQUEST + "end"] != "unfinished" and span.attributes[REQUEST + "iterations"]]
        return [(span.attributes["gen_ai.request.id"], self.duration(span), span.attributes[REQUEST + "end"], span.trace_id,
                 *(self.cost([span]) if span.attributes[REQUEST + "iterations_measured"] else (None, None)))
                for span in sorted(ended, key=lambda span: -self.duration(span))[:SLOWEST]]


def pid_of(row):
    return int(row["process"].split()[1])


def compare(test, file):
    """Compares all tables with the spans. Returns the tables."""
    expected, tables = Expected(file), json.loads(output_of("stat", "--json", "--top", 0, "--table", ",".join(TABLES), file))
    for table, names in (("iterations", ("engine", "work")), ("engine_requests", ("engine",))):
        rows = {(row.pop("engine", None), pid_of(row), *[row.pop(name) for name in names[1:]]): row for row in map(dict, tables[table])}
        wanted = getattr(expected, table)()
        test.assertEqual(rows.keys(), wanted.keys())
        for key, want in wanted.items():
            del rows[key]["process"]
            test.assertEqual(rows[key].keys(), want.keys(), (table, key))
            for word, value in want.items():
                test.assertAlmostEqual(rows[key][word], value, delta=1e-6 if isinstance(value, float) else 0, msg=(table, key, word))
    test.assertEqual([(row["iteration"], row["duration_ns"], row["requests"], row.get("launches"), row["trace_id"])
                      for row in tables["slow_iterations"]],
                     expected.slow_iterations())
    for row, want in zip(tables["slow_engine_requests"], expected.slow_engine_requests(), strict=True):
        test.assertEqual((row["request"], row["duration_ns"], row["end"], row["trace_id"], row.get("gpu_ns")), want[:5])
        test.assertAlmostEqual(row.get("gpu_share", -1), -1 if want[5] is None else want[5], delta=1e-6)
    return tables


class Tables(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_figures_are_those_of_the_spans(self):
        files = []
        for number, name in ((1, "vllm"), (2, "sglang"), (3, "vllm")):
            engine = serve(Engine(name, seed=number, pid=100 + number), 150, number)
            engine.engine = None
            engine.request("never-ran", engine.now, engine.now + 1, "aborted", iterations=0, iterations_measured=0, iterations_recorded=0)
            files.append(engine.write(self.folder / f"{number}.jsonl"))
        everything = self.folder / "all.jsonl"
        everything.write_text("".join(file.read_text() for file in files))
        tables = compare(self, everything)
        self.assertEqual({row["work"] for row in tables["iterations"]}, {"prefill", "decode", "mixed", "dummy"})
        self.assertEqual(len(tables["engine_requests"]), 6)

    def test_ranks_of_other_processes_do_not_count(self):
        engine, other = Engine(pid=1), Engine(pid=2, seed=2)
        for _ in range(3):
            for rank in engine, other:
                rank.step([("a", "decode", 1)], MS)
        other.spans = [item for item in other.spans if not item[1]["name"].startswith("iteration ")]
        file = self.folder / "ranks.jsonl"
        file.write_text(engine.write(self.folder / "0.jsonl").read_text() +
                        other.write(self.folder / "1.jsonl").read_text().replace(f"{2:016x}", f"{1:016x}"))
        row, = json.loads(output_of("stat", "--json", "--table", "iterations", file))["iterations"]
        self.assertEqual((row["count"], row["kernels"], row["gaps"]), (3, 3, 2))

    def test_summaries_are_slow_iterations_only(self):
        engine = Engine()
        for number in range(4):
            engine.step([("a", "decode", 1)], (number + 1) * MS, is_summary=number % 2 == 1)
        engine.request("a", 0, engine.now, gpu_time=9 * MS)
        file = engine.write(self.folder / "summaries.jsonl")
        tables = compare(self, file)
        row, = tables["iterations"]
        self.assertEqual((row["count"], row["kernels"], row["gaps"], len(tables["slow_iterations"])), (2, 2, 0, 4))
        self.assertGreater(row["gpu_share"], 0.9)

    def test_an_iteration_and_its_rank_are_one_group(self):
        engine = serve(Engine(), 60, 1)
        file = engine.write(self.folder / "groups.jsonl")
        whole, groups = (json.loads(output_of("stat", "--json", "--top", 0, "--table", "iterations", *more, file))
                         for more in ((), ("--by", "request")))
        self.assertEqual({row.pop("group") for row in groups["iterations"]}, {"(no request)"})
        self.assertEqual(groups["iterations"], whole["iterations"])

    def test_a_table_for_people(self):
        """Byte for byte. CUSPAN_WRITE=1 writes it."""
        file = serve(Engine("vllm", seed=1), 60, 1).write(self.folder / "one.jsonl")
        text = output_of("stat", "--width", 240, "--top", 3, "--table", ",".join(TABLES), file)
        expected = ROOT / "tests/integration/cli/tables/engines.txt"
        if os.environ.get("CUSPAN_WRITE"):
            expected.write_text(text)
        self.assertEqual(text, expected.read_text())

    def test_beyond_the_limit_engines_count_as_one(self):
        engine = Engine()
        for number in range(1030):
            engine.engine = f"engine-{number}"
            engine.step([("a", "decode", 1)], 10 * US)
        file = engine.write(self.folder / "many.jsonl")
        rows = json.loads(output_of("stat", "--json", "--top", 0, "--table", "iterations", file))["iterations"]
        others, = (row for row in rows if row["engine"] == "(other engines)")
        self.assertEqual((len(rows), others["count"], others["gaps"], "process" in others), (1025, 6, 0, False))

    def test_without_engines_there_are_no_tables(self):
        example = ROOT / "examples/recordings/vector_add.cuspanrec"
        self.assertFalse(set(TABLES) & json.loads(output_of("stat", "--json", example)).keys())
        done = run("stat", "--table", "iterations", example)
        self.assertEqual((done.returncode, done.stderr),
                         (2, 'cuspan stat: no table "iterations": the input has no such spans of a serving engine\n'))


def engine_of_job(path, has_collectives=True, ranks=(0, 1)):
    """The example of a training job with a late rank, as if its steps were iterations of an engine."""
    def convert(span):
        is_root, kept = span["name"].startswith("step "), []
        for item in span.get("attributes", []):
            if item["key"] == "training.step.number":
                kept += [{**item, "key": "engine.iteration.number"}, *attributes({"engine.iteration.requests": 3} if is_root else {})]
            elif not item["key"].startswith("training."):
                kept.append(item)
        return {**span, "attributes": kept}

    with gzip.open(ROOT / "examples/training/late_rank.jsonl.gz", "rt") as lines, path.open("w") as out:
        for line in lines:
            document = json.loads(line)
            for batch in document["resourceSpans"]:
                for scope in batch["scopeSpans"]:
                    scope["spans"] = [convert(span) for span in scope["spans"]
                                      if has_collectives or not any(item["key"].startswith("collective.") for item in span.get("attributes", []))]
            of_rank = {item["value"]["intValue"] for batch in document["resourceSpans"] for item in batch["resource"]["attributes"]
                       if item["key"] == "cuda.process.rank"}
            if of_rank <= {str(rank) for rank in ranks}:
                out.write(json.dumps(document) + "\n")
    return path


class Ranks(unittest.TestCase):
    """Iterations of several ranks are compared as steps of training are."""

    def setUp(self):
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "engine.jsonl"

    def test_a_rank_for_which_the_others_wait(self):
        tables = json.loads(output_of("stat", "--json", "--top", 0, engine_of_job(self.file)))
        finding, = (row for row in tables["rank_findings"] if row["finding"] == "straggler")
        self.assertRegex(finding["evidence"], "^rank 1 .* was late in 4 of 4 steps, by 3[67].* its kernels take longer")
        self.assertEqual([row["rank"] for row in tables["ranks"]], [0, 1])
        shown = output_of("show", "--rank", 1, "--trace", finding["trace_id"], self.file)
        self.assertIn("rank 1", shown)
        self.assertNotIn("rank 0", shown)

    def test_without_spans_of_collectives(self):
        tables = json.loads(output_of("stat", "--json", "--top", 0, engine_of_job(self.file, has_collectives=False)))
        self.assertEqual([row["finding"] for row in tables["rank_findings"] if row["finding"] in ("not-compared", "data-loader", "straggler")], [])

    def test_one_rank_has_no_tables_of_ranks(self):
        tables = json.loads(output_of("stat", "--json", "--top", 0, engine_of_job(self.file, ranks=(0,))))
        self.assertFalse({"steps", "ranks", "collectives", "rank_findings"} & tables.keys())
        self.assertIn("iterations", tables)


class Show(unittest.TestCase):
    """The lines of `cuspan show` below the picture of an iteration or a request."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.engine = Engine()

    def link(self, word, ids, name):
        """From the last span with such a name."""
        span = next(span for _, span in reversed(self.engine.spans) if span["name"].startswith(name))
        span["links"] = [{"traceId": identity, "spanId": "00000000000000aa", "attributes": attributes({"cuda.link": word})} for identity in ids]

    def shown(self, trace, width=100):
        return output_of("show", "--width", width, "--trace", trace, self.engine.write(self.folder / "trace.jsonl"))

    def test_an_iteration(self):
        self.engine.step([("r17", "decode", 1), ('a"b', "prefill", 300)], MS)
        self.link("request", ["ab" * 16, f"{7:032x}"], "rank 0")
        shown = self.shown(self.engine.trace_of(1))
        self.assertIn("\niteration 1: 2 requests, 300 prefill tokens, 1 decode token\n"
                      'requests: r17 decode 1, a\\"b prefill 300\n'
                      f"traces of requests (--trace ID): abababab, {7:032x}\n", shown)
        self.assertEqual(shown.count("traces of"), 1)

    def test_an_iteration_of_an_earlier_version(self):
        """Which has the links itself."""
        self.engine.step([("r17", "decode", 1)], MS)
        self.link("request", ["ab" * 16], "iteration")
        self.assertIn("\ntraces of requests (--trace ID): abababab\n", self.shown(self.engine.trace_of(1)))

    def test_many_requests(self):
        self.engine.step([(f"request-{number}", "decode", 1) for number in range(100)], MS)
        self.link("request", [f"{number + 1:08x}" * 4 for number in range(100)], "rank 0")
        lines = self.shown(self.engine.trace_of(1), 60).splitlines()
        self.assertLessEqual(max(map(len, lines)), 60)
        text = " ".join(" ".join(lines).split())
        self.assertIn("request-23 decode 1, and 76 more", text)
        self.assertIn("00000018, and 76 more", text)

    def test_without_neighbors_and_links(self):
        self.engine.has_parts = False
        self.engine.step([("secret", "decode", 1)], MS, is_summary=True)
        shown = self.shown(self.engine.trace_of(1))
        self.assertIn("iteration 1: sent afterwards as a summary, without the spans of its work, 1 request, 1 decode token",
                      " ".join(shown.split()))
        self.assertNotIn("requests: ", shown)
        self.assertNotIn("traces of", shown)

    def test_a_request(self):
        trace = "cd" * 16
        self.engine.request("r17", 0, 9 * MS, queue=2 * MS, prefill=4 * MS, per_token=MS, trace=trace, decode_time=5 * MS, preemptions=2,
                            gpu_time=8 * MS, gpu_share_prefill=MS, gpu_share_decode=MS)
        self.link("iteration", ["ef" * 16], "vllm request")
        shown = self.shown(trace, 300)
        self.assertIn("\nvllm request: r17, finished, queue 2.00 ms, prefill 4.00 ms, decode 5.00 ms, per token 1.00 ms, 10 prompt tokens, "
                      "5 generated, 2 preemptions, 5 iterations, estimated GPU time 2.00 ms (25 % of its iterations)\n"
                      "traces of iterations (--trace ID): efefefef\n", shown)
        self.assertIn(r'links="[\"iteration ' + "ef" * 16 + r'\"]"', output_of("show", "--lines", "--trace", trace, self.folder / "trace.jsonl"))

    def test_other_traces_have_no_notes(self):
        self.engine.launch("kernel", MS)
        self.assertNotRegex(self.shown(self.engine.id), "requests|traces of")


if __name__ == "__main__":
    unittest.main()
