#!/usr/bin/env python3
"""The real agent on recordings from a real GPU: the spans it makes, graphs, filters, long runs.

    agent_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import compare  # noqa: E402
import recording  # noqa: E402
from agent_case import (  # noqa: E402
    CLASSIC_RELEASES, MEMORY_BYTES, RECORDINGS, Case, content_of, is_call, recorded, sessions_of)


class Replay(Case):
    """Each recording through each of CUPTI's interfaces."""

    def check(self, name):
        first = None
        ways = [("subscriber", None)] + [("classic", release) for release in CLASSIC_RELEASES]
        for api, release in ways:
            with self.subTest(api=api, release=release):
                options = ["--api", api] + (["--cupti-version", release] if release else [])
                result = self.replay(name, *options)
                self.assert_nothing_lost(result)
                spans = result.spans
                self.assert_same_work(name, spans)
                self.assertEqual(len(sessions_of(spans)), 1)
                self.assertTrue(all(s.resource["cuda.cupti.version"] == (release or "13.5") for s in spans))
                work = content_of(s for s in spans if compare.is_gpu_span(s))
                calls = content_of(s for s in spans if is_call(s))
                # CUPTI's own work (overhead) has another form in each interface; calls and GPU work are equal.
                if first is None:
                    first = calls, work
                else:
                    self.assertEqual(calls, first[0])
                    self.assertEqual(without_missing(work, first[1]), without_missing(first[1], work))

    def test_full_detail_has_every_call(self):
        for name in RECORDINGS:
            if recorded(name).info["detail"] != "full":
                continue
            with self.subTest(name):
                result = self.replay(name, settings={"detail": "full"})
                self.assert_nothing_lost(result)
                self.assert_same_work(name, result.spans)
                held = compare.Comparison(recorded(name), result.spans, True)
                held.check_calls()
                self.assertEqual(held.differences, [])

    def test_names_of_kernels_whose_module_is_unloaded(self):
        """Each kernel has a name of its own, in a module that is unloaded four launches later; before 13.5, this frees the
        name that its record points to."""
        ways = [("classic", release, "") for release in (*CLASSIC_RELEASES, "13.4")]
        for api, release, excluded in [*ways, ("subscriber", "13.5", ""), ("classic", "13.0", "cudaLaunch*")]:
            with self.subTest(api=api, release=release, excluded=excluded):
                result = self.replay("threads", "--api", api, "--cupti-version", release, fail="modules=4",
                                     settings={"capture.calls.deny": excluded} if excluded else None)
                kernels = [span for span in result.spans if span.attributes.get("cuda.activity") == "kernel"]
                self.assertEqual(len(kernels), 128)
                self.assertEqual([span.name for span in kernels],
                                 [f"jit_kernel_{span.attributes['cuda.correlation.id']}" for span in kernels])
                self.assertEqual(result.report["counters"]["kernels_nameless"], 0)

    def test_a_recording_has_the_names_of_such_kernels(self):
        copy = self.directory / "copy.cuspanrec"
        self.replay("threads", "--api", "classic", "--cupti-version", "13.0", fail="modules=4",
                    settings={"record_file": copy}, to_file=False)
        kernels = [a for a in recording.read(str(copy)).activities if a.kind == recording.KERNEL]
        self.assertEqual(len(kernels), 128)
        self.assertEqual([a.name for a in kernels], [f"jit_kernel_{a.correlation_id}" for a in kernels])

    def test_host_activity_starts_in_its_parent(self):
        """CUPTI's own work that loads modules has the correlation ID of the calls that it makes."""
        result = self.replay(ROOT / "examples/training/slow_step.cuspanrec")
        by_id = {span.span_id: span for span in result.spans}
        hosts = [span for span in result.spans if span.attributes.get("cuda.activity") == "overhead"]
        self.assertGreater(sum("module_loading" in span.name for span in hosts), 4)
        for span in hosts:
            parent = by_id[span.parent_id]
            self.assertLessEqual(parent.start_ns, span.start_ns, f"{span.name} in {parent.name}")


def without_missing(one, other):
    """Drops the attributes and device facts that only newer releases have fields for."""
    keys = [set().union(*((i, k) for text in group for i in (3, 4) for k in json.loads(text)[i])) for group in (one, other)]
    common = keys[0] & keys[1]

    def cut(text):
        span = json.loads(text)
        for i in (3, 4):
            span[i] = {k: v for k, v in span[i].items() if k in common}
        return json.dumps(span, sort_keys=True)

    cut_down = Counter()
    for text, count in one.items():
        cut_down[cut(text)] += count
    return cut_down


for _name in RECORDINGS:
    setattr(Replay, f"test_{_name}", lambda self, name=_name: self.check(name))


class Graphs(Case):
    """A synthetic recording: a graph of six nodes that one thread captures, and 40 launches from four others."""

    def sample(self, kind):
        file = self.directory / f"{kind}.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", file, kind], check=True)
        return file

    def test_an_execution_has_its_graph_s_number_of_nodes(self):
        for options in ((), ("--api", "classic", "--cupti-version", "12.9")):
            result = self.replay(self.sample("graphs"), *options)
            nodes = [span.attributes.get("cuda.graph.nodes") for span in result.spans if span.name == "graph"]
            self.assertEqual(nodes, [6] * 40)

    def test_executions_without_times_are_spans(self):
        """As CUPTI delivers them when several threads launch the same executable graph."""
        for options in ((), ("--api", "classic", "--cupti-version", "13.0")):
            result = self.replay(self.sample("graphs"), *options, fail="graph-times=3")
            graphs = [span for span in result.spans if span.name == "graph"]
            unknown = [span for span in graphs if span.attributes.get("cuda.time_unknown")]
            by_id = {span.span_id: span for span in result.spans}
            self.assertEqual((len(graphs), len(unknown)), (40, 13))
            self.assertEqual(result.report["counters"]["graph_times_unknown"], 13)
            self.assertEqual(result.report["losses"], {})
            for span in unknown:
                self.assertEqual(span.end_ns, span.start_ns + 1)
                self.assertEqual(by_id[span.parent_id].name, "cudaGraphLaunch")
                self.assertGreaterEqual(span.start_ns, by_id[span.parent_id].start_ns)
                self.assertEqual(span.attributes["cuda.graph.nodes"], 6)
            self.assertRegex(result.err, "several threads launch the same executable graph")

    def test_bodies_of_conditional_nodes_are_children_of_their_launch(self):
        """Recorded with CUPTI 13.0, whose records of bodies have no correlation ID: graphs with a while node, in the second
        one with an if node inside, launched twice."""
        for name, bodies in ("graph_while", 8), ("graph_nested", 12):
            result = self.replay(ROOT / f"tests/gpu/recordings/{name}.cuspanrec", "--api", "classic", "--cupti-version", "13.0",
                                 settings={"detail": "graph-nodes"})
            launches = sorted((span for span in result.spans if span.name == "cudaGraphLaunch"), key=lambda s: s.start_ns)
            nodes = [span for span in result.spans if span.attributes.get("cuda.graph.node.id")]
            self.assertEqual(len(nodes), bodies + 2)
            for i, launch in enumerate(launches):
                below = [span for span in nodes if span.parent_id == launch.span_id]
                self.assertEqual(len(below), bodies // 2 + 1)
                until = launches[i + 1].start_ns if i + 1 < len(launches) else 2**63
                self.assertTrue(all(launch.start_ns < span.start_ns < until for span in below))
            self.assertEqual(result.report["counters"]["orphans"], 0)

    def test_graphs_that_kernels_launch_are_counted(self):
        """Recorded: two graphs that kernels launch, by two others, all instantiated for launches from the device."""
        result = self.replay(ROOT / "tests/gpu/recordings/graph_device.cuspanrec")
        self.assertEqual(result.report["counters"]["device_graphs"], 4)
        self.assertRegex(result.err, "graphs that kernels can launch; CUPTI has no records")
        self.assertEqual(self.replay(self.sample("graphs")).report["counters"]["device_graphs"], 0)

    def linked(self, result):
        by_id = {span.span_id: span for span in result.spans}
        nodes = [span for span in result.spans if span.name == "node"]
        self.assertEqual(len(nodes), 240)
        self.assertEqual({by_id[node.parent_id].name for node in nodes}, {"cudaGraphLaunch"})
        captures = sorted((span for span in result.spans if span.name == "cudaLaunchKernel"), key=lambda s: s.start_ns)
        for node in nodes:
            (link,) = node.links
            capture = captures[node.attributes["cuda.graph.node.id"] % 2**32 - 1]
            self.assertEqual((link["traceId"], link["spanId"]), (capture.trace_id, capture.span_id))
        self.assertEqual(result.report["counters"]["graph_nodes_unlinked"], 0)

    def test_nodes_lead_to_the_calls_that_captured_them(self):
        for options in ((), ("--api", "classic", "--cupti-version", "12.9")):
            self.linked(self.replay(self.sample("graph-nodes"), *options, settings={"detail": "graph-nodes"}))

    def test_a_recording_of_it_says_the_same(self):
        copy = self.directory / "copy.cuspanrec"
        self.replay(self.sample("graph-nodes"), settings={"detail": "graph-nodes", "record_file": copy}, to_file=False)
        self.linked(self.replay(copy, settings={"detail": "graph-nodes"}))

    def lines(self, result):
        """The nodes have the lines that captured them, and the launches their own."""
        nodes = [span for span in result.spans if span.name == "node"]
        self.assertEqual(len(nodes), 240)
        texts = {}
        for node in nodes:
            number = node.attributes["cuda.graph.node.id"] % 2**32 - 1
            self.assertEqual([node.attributes[f"code.{key}"] for key in ("file.path", "function.name", "line.number")],
                             ["graph.py", "capture", 10 + number])
            if "code.stacktrace" in node.attributes:
                self.assertNotIn(node.attributes["cuspan.stack.id"], texts, "sent twice")
                texts[node.attributes["cuspan.stack.id"]] = node.attributes["code.stacktrace"]
        self.assertEqual(set(texts.values()), {f'File "graph.py", line {line}, in capture' for line in range(10, 16)})
        self.assertEqual({node.attributes["cuspan.stack.id"] for node in nodes}, set(texts))
        for span in result.spans:
            if span.name != "node":
                self.assertEqual(span.attributes.get("code.line.number"), 50 if span.name == "cudaGraphLaunch" else None)
        self.assertEqual(result.report["counters"]["code_unknown"], 0)

    STACKS = {"detail": "graph-nodes", "capture.launch_stacks": "python"}

    def test_nodes_have_the_lines_that_captured_them(self):
        for options in ((), ("--api", "classic", "--cupti-version", "12.9")):
            result = self.replay(self.sample("graph-code"), *options, settings=self.STACKS)
            self.lines(result)
            self.linked(result)

    def test_a_recording_of_it_has_the_same_lines(self):
        copy = self.directory / "copy.cuspanrec"
        self.replay(self.sample("graph-code"), settings={**self.STACKS, "record_file": copy}, to_file=False)
        self.lines(self.replay(copy))

    def test_calls_without_spans_leave_the_lines(self):
        result = self.replay(self.sample("graph-code"), settings={**self.STACKS, "capture.calls.deny": "cudaLaunchKernel"})
        self.lines(result)
        self.assertEqual([node.links for node in result.spans if node.name == "node"], [[]] * 240)

    def test_the_table_of_code_has_the_lines_of_nodes(self):
        done = subprocess.run([agent_case.BUILD / "cuspan", "stat", "--by", "line", "--json", self.sample("graph-code")], capture_output=True,
                              text=True, check=True)
        rows = {row["place"]: row for row in json.loads(done.stdout)["code"]}
        self.assertEqual({place: row["self_ns"] for place, row in rows.items() if row["self_ns"]},
                         {f"graph.py:{line}": 40 * 100 for line in range(10, 16)})
        self.assertEqual(rows["graph.py:50"]["launches"], 40)

    def test_without_stacks_of_launches_nodes_have_none(self):
        for settings in {**self.STACKS, "capture.launch_stacks": "none"}, {**self.STACKS, "detail": "default"}:
            result = self.replay(self.sample("graph-code"), settings=settings)
            self.assertFalse([node for node in result.spans if node.name == "node" and "cuspan.stack.id" in node.attributes])

    def test_nodes_have_no_links_unless_they_are_asked_for(self):
        result = self.replay(self.sample("graph-nodes"), settings={"detail": "default"})
        self.assertEqual([node.links for node in result.spans if node.name == "node"], [[]] * 240)
        self.assertEqual(result.report["counters"]["graph_nodes_unlinked"], 0)


class GraphKinds(Case):
    """A synthetic recording: four threads that make a graph each at the same time, instantiate it at once, and launch it
    ten times. The replay delivers what a GPU would: an execution's own record only if graph records were enabled before
    its graph was instantiated, which takes 20 ms here."""

    def sample(self):
        file = self.directory / "graph-makers.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", file, "graph-makers"], check=True)
        return file

    def kinds_of(self, result):
        """How many executions and nodes became spans."""
        self.assertEqual(result.report["losses"], {})
        names = Counter(span.name for span in result.spans if "cuda.activity" in span.attributes)
        return names["graph"], names["node"]

    def kinds(self, runs=1, api=("subscriber",), **settings):
        """The different results of all runs."""
        file = self.sample()
        return {self.kinds_of(self.replay(file, "--api", *api, fail="late-graphs=20", settings=settings))
                for _ in range(runs)}

    def test_each_execution_is_one_span_in_every_run(self):
        for api in ("subscriber",), ("classic", "--cupti-version", "13.5"), ("classic", "--cupti-version", "13.0"):
            with self.subTest(api=api):
                self.assertEqual(self.kinds(runs=3 if agent_case.SANITIZERS else 12, api=api), {(40, 0)})

    def test_calls_without_spans_announce_graphs_too(self):
        calls = "*BeginCapture*,*GraphCreate*,*GraphInstantiate*"
        for settings in ({"capture.calls.deny": calls}, {"capture.calls.allow": "cudaGraphLaunch"}, {"capture.runtime": "false"},
                         {"capture.driver": "false"}, {"capture.runtime": "false", "capture.driver": "false"}):
            with self.subTest(settings=settings):
                self.assertEqual(self.kinds(**settings), {(40, 0)})

    def test_nodes_are_spans_if_cupti_refuses_graph_records(self):
        file = self.sample()
        result = self.replay(file, "--api", "subscriber", fail=f"late-graphs=20,enable-kind={recording.GRAPH_TRACE}")
        self.assertEqual(self.kinds_of(result), (0, 240))
        self.assertRegex(result.err, "CUPTI has no graph records .*; graphs show their nodes")

    def test_each_node_is_a_span_where_nodes_are_traced(self):
        for settings in {"detail": "graph-nodes"}, {"detail": "full"}, {"cupti.others": "share"}:
            with self.subTest(settings=settings):
                self.assertEqual(self.kinds(**settings), {(0, 240)})


class Repeat(Case):
    def test_sessions_link_to_the_one_before(self):
        result = self.replay("threads", "--repeat", "50", settings={"session.spans_max": 1000})
        self.assert_nothing_lost(result)
        self.assert_same_work("threads", result.spans, 50)
        self.assertEqual(result.report["counters"]["orphans"], 0)
        sessions = sessions_of(result.spans)
        self.assertGreater(len(sessions), 20)
        self.assertEqual(result.report["trace_count"], len(sessions))
        self.assertEqual([s.attributes["cuda.session.number"] for s in sessions], list(range(1, len(sessions) + 1)))
        self.assertEqual(sessions[0].links, [])
        for before, session in zip(sessions, sessions[1:]):
            self.assertEqual([(link["traceId"], link["spanId"]) for link in session.links],
                             [(before.trace_id, before.span_id)])
            self.assertEqual(session.parent_id, "")
            self.assertEqual(before.attributes["cuda.session.end_reason"], "spans")
        self.assertEqual(sessions[-1].attributes["cuda.session.end_reason"], "exit")
        self.assertEqual(len({s.trace_id for s in sessions}), len(sessions))
        # Work belongs to its call's trace, even if another session is open when it arrives.
        ids = {span.span_id: span for span in result.spans}
        for span in result.spans:
            self.assertTrue(not span.parent_id or ids[span.parent_id].trace_id == span.trace_id)

    def test_a_paced_replay_takes_its_time_and_says_the_same(self):
        fast, paced = self.replay("vector_add"), self.replay("vector_add", "--paced")
        times = [t for s in fast.spans for t in (s.start_ns, s.end_ns)]
        self.assertGreater(paced.seconds, (max(times) - min(times)) / 1e9)
        self.assert_nothing_lost(paced)
        self.assertEqual(content_of(paced.spans), content_of(fast.spans))

    def test_many_threads_streams_and_a_hundred_rounds(self):
        result = self.replay("torch_inference", "--repeat", "20", "--api", "classic")
        self.assert_nothing_lost(result)
        self.assert_same_work("torch_inference", result.spans, 20)


class Soak(Case):
    def test_many_rounds_in_bounded_memory(self):
        """A short version of a long run; with CUSPAN_LONG in the environment a hundred times as long."""
        rounds = (20 if agent_case.SANITIZERS else 200) * (100 if os.environ.get("CUSPAN_LONG") else 1)
        options = ["torch_inference", "--file", "/dev/null"]
        once = self.replay(*options, to_file=False)
        asleep = self.replay(*options, to_file=False, env={"OTEL_SDK_DISABLED": "true"}, status=None, watch=True)
        result = self.replay(*options, "--repeat", rounds, to_file=False, watch=True, timeout=3000)
        grown = result.peak_bytes - asleep.peak_bytes
        print(f"{result.report['spans']} spans in {result.seconds:.1f} s; {grown >> 20} MiB more than without the agent")
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.report["delivered"], result.report["spans"])
        sessions = result.report["counters"]["sessions"]
        self.assertEqual(result.report["spans"], (once.report["spans"] - 1) * rounds + sessions)
        self.assertEqual(result.agent_lines(), [])
        if not agent_case.SANITIZERS:
            self.assertLess(grown, MEMORY_BYTES)


class Filters(Case):
    def names(self, *options, **settings):
        result = self.replay("torch_inference", *options,
                             settings={key.replace("__", "."): value for key, value in settings.items()})
        self.assertEqual(result.report["losses"], {})
        return result, Counter(s.name for s in result.spans)

    def test_kernels_denied(self):
        whole, names = self.names()
        kernels = Counter(s.name for s in whole.spans if s.attributes.get("cuda.activity") == "kernel")
        denied, count = kernels.most_common(1)[0]
        result, left = self.names(capture__kernels__deny=denied)
        self.assertEqual(left, names - Counter({denied: count}))
        self.assertEqual(result.report["counters"]["spans_filtered"], whole.report["counters"]["spans_filtered"] + count)

    def test_kernels_allowed(self):
        result, _ = self.names(capture__kernels__allow="*gemm*")
        kernels = [s for s in result.spans if s.attributes.get("cuda.activity") == "kernel"]
        wanted = sum("gemm" in full for full in self.full_names())
        self.assertGreater(wanted, 0)
        self.assertEqual(len(kernels), wanted)

    def full_names(self):
        work = [a for a in recorded("torch_inference").gpu_work() if a.kind == recording.KERNEL]
        names = compare.demangle(a.name for a in work)
        return [names[a.name] for a in work]

    def test_calls_allowed(self):
        result, _ = self.names(capture__calls__allow="cudaLaunchKernel")
        self.assertEqual({s.name for s in result.spans if is_call(s)}, {"cudaLaunchKernel"})
        # Work of other calls is still shown: its call is excluded, not unknown.
        self.assertEqual(sum(map(compare.is_gpu_span, result.spans)), len(recorded("torch_inference").gpu_work()))

    def test_calls_denied(self):
        whole, names = self.names()
        result, left = self.names(capture__calls__deny="cudaMemcpy*")
        self.assertEqual([name for name in left if name.startswith("cudaMemcpy")], [])
        self.assertEqual(left, Counter({n: c for n, c in names.items() if not n.startswith("cudaMemcpy")}))

    def test_activities_allowed(self):
        result, _ = self.names(capture__activities__allow="memcpy")
        self.assertEqual({s.attributes["cuda.activity"] for s in result.spans if "cuda.activity" in s.attributes},
                         {"memcpy"})

    def test_no_calls_at_all(self):
        result, _ = self.names(capture__runtime="false", capture__driver="false")
        self.assertEqual([s.name for s in result.spans if is_call(s)], [])
        self.assertEqual(sum(map(compare.is_gpu_span, result.spans)), len(recorded("torch_inference").gpu_work()))

    def test_no_parameters(self):
        result, _ = self.names(capture__parameters="false")
        self.assertEqual([key for s in result.spans for key in s.attributes if key.startswith("cuda.arg.")], [])

    def test_full_detail_has_more_fields(self):
        small, _ = self.names()
        large, _ = self.names(detail="full")
        fields = [{key for s in r.spans if s.attributes.get("cuda.activity") == "kernel" for key in s.attributes}
                  for r in (small, large)]
        self.assertLess(fields[0], fields[1])
        self.assertIn("cuda.kernel.priority", fields[1] - fields[0])
        self.assertGreater(len(large.spans), 5 * len(small.spans))
        self.assertIn("synchronization", {s.attributes.get("cuda.activity") for s in large.spans})

    def test_a_wrong_setting_names_its_key(self):
        """On the command line an error before the replay starts; in the environment the agent reports it."""
        result = self.replay("vector_add", settings={"capture.kernals.deny": "x"}, status=2)
        self.assertRegex(result.err, r"^cuspan replay: options: capture\.kernals\.deny: unknown key.*capture\.kernels\.deny")
        self.assertEqual(result.err.count("\n"), 1, result.err)
        result = self.replay("vector_add", env={"CUSPAN_SET": "capture.kernals.deny=x"}, status=1)
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], "CUSPAN_SET: capture.kernals.deny.*capture.kernels.deny")


if __name__ == "__main__":
    agent_case.main()
