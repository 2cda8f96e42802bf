#!/usr/bin/env python3
"""Iterations and requests of a serving engine: a program calls cuspan_iteration() around the recorded calls.

    engines_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
from agent_case import Case, path_of, raw_spans_in  # noqa: E402

IN_ONE = 32  # calls and GPU work of one play of the recording


def traceparent(number, flags="01"):
    return f"00-{number:032x}-{number:016x}-{flags}"


class Engines(Case):
    def play(self, *words, settings=None, lines=0, double="cuspan-replay"):
        self.runs += 1
        self.target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"engines-{self.runs}"
        double = agent_case.BUILD / f"lib{double}.so"
        outputs = {} if (settings or {}).get("record_file") else {"output_file": self.target}
        chosen = {"cupti.library": double, **outputs, "accounts_file": report, "exit_deadline_ms": 60000,
                  "engine.ratio": 1, **(settings or {})}
        result = self.start(
            [agent_case.BUILD / "control_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "inject", *words],
            {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items())})
        self.assertEqual((result.status, result.err.count("\n")), (0, lines), result.err)
        result.text = self.target.read_text() if outputs else ""
        for path in self.directory.glob(f"engines-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        return result

    def named(self, result, name):
        return [span for span in result.spans if span.name == name]

    def links(self):
        """{ID of a span: IDs that it links to}."""
        return {(raw["traceId"], raw["spanId"]): [(link["traceId"], link["spanId"]) for link in raw.get("links", [])]
                for raw in raw_spans_in(self.target.read_text())}

    SERVED = ("request=r1," + traceparent(1), "request=r2," + traceparent(2), "iteration=1", "play", "iteration-end", "iteration=2", "play",
              "request-end=r1", "iteration=3", "play", "iteration-end", "request-end=r2")

    def test_iterations_and_requests_link_to_each_other(self):
        result = self.play(*self.SERVED)
        first, second = self.named(result, "test request")
        self.assertEqual((first.trace_id, first.parent_id), (f"{1:032x}", f"{1:016x}"))
        self.assertEqual([first.attributes["engine.request.iterations"], second.attributes["engine.request.iterations"]], [2, 3])
        self.assertEqual([first.attributes["engine.request.generated_tokens"], second.attributes["engine.request.generated_tokens"]], [2, 3])
        links = self.links()
        roots, ranks = {}, {span.trace_id: span for span in self.named(result, "rank 0")}
        for number, members in ((1, {"r1", "r2"}), (2, {"r1", "r2"}), (3, {"r2"})):
            roots[number], = self.named(result, f"iteration {number}")
            root = roots[number]
            self.assertEqual({part.split()[0] for part in root.attributes["engine.iteration.parts"]}, members)
            self.assertEqual(sum(span.trace_id == root.trace_id for span in result.spans), IN_ONE + 2)
            expected = [span for span in (first, second) if span.attributes["gen_ai.request.id"] in members]
            self.assertEqual(sorted(links[root.trace_id, ranks[root.trace_id].span_id]), sorted((span.trace_id, span.span_id) for span in expected))
            self.assertFalse(links[root.trace_id, root.span_id])  # or Jaeger calls the trace incomplete
        self.assertEqual(roots[1].attributes["engine.iteration.prefill_tokens"], 40)
        self.assertEqual(roots[3].attributes["engine.iteration.decode_tokens"], 1)
        for request, numbers in ((first, (1, 2)), (second, (1, 2, 3))):
            process = [(span.trace_id, span.span_id) for span in (roots[number] for number in numbers)]
            self.assertEqual(sorted(links[request.trace_id, request.span_id]), sorted(process))

    def test_shares_add_up_to_the_time_of_the_iterations(self):
        result = self.play(*self.SERVED)
        shares = sum(span.attributes[f"engine.request.gpu_share.{phase}"] for span in self.named(result, "test request")
                     for phase in ("prefill", "decode"))
        busy = sum(span.attributes["cuda.total.gpu_time"] for span in self.named(result, "rank 0"))
        self.assertGreater(busy, 0)
        self.assertLessEqual(abs(shares - busy), 4)

    def test_a_share_of_iterations_is_recorded_and_all_are_measured(self):
        words = ["request=r1," + traceparent(1)]
        for number in range(1, 33):
            words += [f"iteration={number}", "play", "iteration-end"]
        result = self.play(*words, "request-end=r1", settings={"engine.ratio": 0.25})
        request, = self.named(result, "test request")
        self.assertEqual(request.attributes["engine.request.iterations"], 32)
        self.assertEqual(request.attributes["engine.request.iterations_measured"], 32)
        self.assertEqual(request.attributes["engine.request.iterations_recorded"], 8)
        roots = {span.trace_id for span in result.spans if span.name.startswith("iteration ")}
        self.assertEqual(len(roots), 8)
        self.assertEqual({trace for trace, _ in self.links()[request.trace_id, request.span_id]}, roots)

    SLOW = ("request=r1," + traceparent(1), "request=r2," + traceparent(2), "iteration=1", "play", "iteration-end", "iteration=2", "play",
            "iteration-end", "summary=1", "request-end=r1", "iteration=3", "iteration-end", "summary=3", "summary=9", "request-end=r2")

    def expect_summaries(self, spans, links):
        """Of iterations 1 and 3, linked both ways."""
        self.assertEqual(len(spans), 6)
        requests = {span.attributes["gen_ai.request.id"]: (span.trace_id, span.span_id) for span in spans if span.name == "test request"}
        for number, members in ((1, ("r1", "r2")), (3, ("r2",))):
            root, = (span for span in spans if span.name == f"iteration {number}")
            rank, = (span for span in spans if span.parent_id == root.span_id)
            self.assertEqual((rank.name, rank.trace_id), ("rank 0", root.trace_id))
            self.assertTrue(root.attributes["engine.iteration.summary"] and rank.attributes["engine.iteration.summary"])
            self.assertEqual(sorted(links[rank.trace_id, rank.span_id]), sorted(requests[name] for name in members))
            self.assertFalse(links[root.trace_id, root.span_id])
            for name, request in requests.items():
                self.assertEqual((root.trace_id, root.span_id) in links[request], name in members)
            self.assertEqual(rank.attributes.get("cuda.total.kernels", 0) > 0, number == 1)

    def test_headers_are_attributes_also_of_a_replay(self):
        words = ("request=r1," + traceparent(1) + ",X-Tenant=a\x1bb c", "iteration=1", "iteration-end", "request-end=r1")
        path, replayed = self.directory / "headers.cuspanrec", self.directory / "headers.jsonl"
        self.play(*words, settings={"record_file": path})
        subprocess.run([agent_case.BUILD / "cuspan", "replay", "--quiet", "--file", replayed, path], check=True)
        for spans in self.play(*words).spans, agent_case.spans_in(replayed.read_text()):
            request, = (span for span in spans if span.name == "test request")
            self.assertEqual(request.attributes["engine.request.header.x-tenant"], "a?b c")

    @unittest.skipIf(agent_case.SANITIZERS, "a Python without a sanitizer cannot load the agent")
    def test_python_gets_the_names_of_headers_before_anything_starts(self):
        code = "from cuspan import _agent; agent = _agent.look_now(); print(agent.engine_headers, agent.is_on())"
        for value, expected in (("X-Tenant,x-model", ("x-tenant", "x-model")), ("[]", ()), ("x.y", ())):
            done = subprocess.run(
                [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True,
                env={"PYTHONPATH": ROOT / "python", "CUDA_INJECTION64_PATH": agent_case.BUILD / "libcuspan.so", "CUSPAN_ENGINE_HEADERS": value})
            self.assertEqual(done.stdout, f"{expected} 0\n")

    def test_a_slow_iteration_is_sent_afterwards(self):
        result = self.play(*self.SLOW, settings={"engine.ratio": 0})
        self.expect_summaries(result.spans, self.links())
        counters = result.report["counters"]
        self.assertEqual((counters["iteration_summaries"], counters["iteration_summaries_gone"]), (2, 1))
        first, second = self.named(result, "test request")
        self.assertEqual((first.attributes["engine.request.iterations_recorded"], second.attributes["engine.request.iterations_recorded"]), (1, 2))
        whole = self.play(*self.SLOW, settings={"engine.ratio": 1})
        summary, recorded = ({span.trace_id: span for span in played.spans if span.name == "iteration 1"} for played in (result, whole))
        self.assertEqual(summary.keys(), recorded.keys())  # the same trace, with the same numbers
        (trace, _), = summary.items()
        totals = [{key: value for span in played.spans if (span.trace_id, span.name) == (trace, "rank 0") for key, value in span.attributes.items()
                   if key.startswith("cuda.total.") and key[11:] in ("calls", "kernels", "gpu_time", "copies", "copy_bytes", "slowest.kernels")}
                  for played in (result, whole)]
        self.assertEqual(*totals)

    def test_a_recording_has_summaries(self):
        path, replayed = self.directory / "slow.cuspanrec", self.directory / "slow.jsonl"
        self.play(*self.SLOW, settings={"record_file": path, "engine.ratio": 0})
        subprocess.run([agent_case.BUILD / "cuspan", "replay", "--quiet", "--file", replayed, path], check=True)
        self.target = replayed
        spans = [span for span in agent_case.spans_in(replayed.read_text()) if span.name != "control_host"]
        self.expect_summaries(spans, self.links())

    def test_iterations_while_tracing_is_stopped_are_not_measured(self):
        words = ["request=r1," + traceparent(1)]
        for number in range(1, 7):
            words += {3: ["stop"], 5: ["start"]}.get(number, []) + [f"iteration={number}", "play", "iteration-end"]
        request, = self.named(self.play(*words, "request-end=r1"), "test request")
        self.assertEqual([request.attributes[f"engine.request.{name}"] for name in ("iterations", "iterations_measured")], [6, 4])

    def test_a_stop_ends_no_iteration_that_begins_after_the_next_start(self):
        """Tracing starts again while the agent takes what was left at the stop. It does that in its next flush, because the one of each
        second is far away, and the two before have taken what the calls wanted."""
        words = ("request=r1," + traceparent(1), "iteration=1", "play", "iteration-end", "flush", "flush", "stop-held", "start", "iteration=2",
                 "play", "let-go", "flush", "play", "iteration-end", "request-end=r1")
        result = self.play(*words, settings={"cupti.flush_interval_ms": 3600000}, double="steered_replay")
        ranks = self.named(result, "rank 0")
        self.assertEqual([(rank.attributes["engine.iteration.number"], rank.attributes["cuda.total.kernels"]) for rank in ranks],
                         [(1, 1), (2, 2)])
        self.assertNotIn("stop", [rank.attributes["cuda.session.end_reason"] for rank in ranks])

    def test_a_request_without_an_end_is_given_up(self):
        """And capture falls asleep, as it had before the request. The flush after a move of the clock looks for such requests, and the
        next ones let the agent see that nothing is in progress."""
        words = ("request=r1," + traceparent(1), "iteration=1", "play", "iteration-end", "flush", "later=720", "flush", "later=20", "flush")
        result = self.play(*words, "flush", "flush", "flush", settings={"engine.ratio": 0, "sampling.sleep": "always"}, double="steered_replay")
        request, = self.named(result, "test request")
        self.assertEqual((request.attributes["engine.request.end"], request.attributes["engine.request.iterations"]), ("unfinished", 1))
        self.assertEqual([result.report["counters"][name] for name in ("engine_requests_unfinished", "sleeps")], [1, 2])

    def test_tables_have_them(self):
        result = self.play(*self.SERVED)
        done = subprocess.run([agent_case.BUILD / "cuspan", "stat", "--json", "--table", "iterations,engine_requests", self.target],
                              stdout=subprocess.PIPE, check=True)
        tables = json.loads(done.stdout)
        self.assertEqual({row["work"]: (row["count"], row["prefill_tokens"], row["decode_tokens"]) for row in tables["iterations"]},
                         {"prefill": (1, 40, 0), "decode": (2, 0, 3)})
        ranks = self.named(result, "rank 0")
        for word in "calls", "kernels":
            self.assertEqual(sum(row[word] for row in tables["iterations"]), sum(rank.attributes[f"cuda.total.{word}"] for rank in ranks))
        self.assertEqual(sum(row["gaps"] for row in tables["iterations"]), 2)
        row, = tables["engine_requests"]
        self.assertEqual((row["engine"], row["count"], row["finished"], row["generated_tokens"], row["measured_share"]), ("test", 2, 2, 5, 1))

    def test_another_rank_has_the_same_traces(self):
        first = {span.name: span for span in self.play("iteration=1", "play", "iteration-end").spans}
        second = self.play("rank=1", "iteration=1", "play", "iteration-end")
        rank, = self.named(second, "rank 1")
        self.assertEqual((rank.trace_id, rank.parent_id), (first["iteration 1"].trace_id, first["iteration 1"].span_id))
        self.assertFalse(self.named(second, "iteration 1"))
        self.assertNotEqual(rank.span_id, first["rank 0"].span_id)

    def test_work_outside_iterations_belongs_to_the_session(self):
        result = self.play("play", "iteration=1", "iteration-end", "play")
        root, = self.named(result, "iteration 1")
        self.assertEqual(sum(span.trace_id == root.trace_id for span in result.spans), 2)

    def test_a_recording_has_them(self):
        path = self.directory / "engine.cuspanrec"
        self.play(*self.SERVED, settings={"record_file": path})
        replayed = self.directory / "replayed.jsonl"
        subprocess.run([agent_case.BUILD / "cuspan", "replay", "--quiet", "--file", replayed, path], check=True)
        spans = agent_case.spans_in(replayed.read_text())
        requests = [span for span in spans if span.name == "test request"]
        self.assertEqual([span.attributes["engine.request.iterations"] for span in requests], [2, 3])
        self.assertEqual({span.name for span in spans if span.name.startswith("iteration ")}, {f"iteration {n}" for n in (1, 2, 3)})
        root = next(span for span in spans if span.name == "iteration 3")
        self.assertEqual(sum(span.trace_id == root.trace_id for span in spans), IN_ONE + 2)

    def test_the_figures_of_a_recording_do_not_depend_on_rounds(self):
        """These engines copy the results of an iteration after its end."""
        random = "cuda.session.", "cuspan.cupti."  # depend on when CUPTI delivers
        for engine in "transformers", "vllm":
            shown = []
            for fail in None, "rounds":
                result = self.replay(ROOT / f"examples/engines/{engine}.cuspanrec", fail=fail)
                found = [span for span in result.spans if span.attributes.get("engine.name") == engine]
                shown.append(sorted((span.name, span.start_ns, span.end_ns, sorted(
                    (key, str(value)) for key, value in span.attributes.items() if not key.startswith(random))) for span in found))
            with self.subTest(engine):
                self.assertEqual(len(shown[0]), 12 + 2 * 15)  # requests, iterations and ranks
                self.assertEqual(*shown)


if __name__ == "__main__":
    agent_case.main()
