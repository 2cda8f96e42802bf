#!/usr/bin/env python3
"""Requests, their trace contexts and their summaries: each trace has exactly its own calls and GPU work.

    agent_requests_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import compare  # noqa: E402
import requests_check  # noqa: E402
from agent_case import PARENT, TRACE, Case, is_call, is_session, raw_spans_in, sessions_of  # noqa: E402


class Requests(Case):
    """A synthetic service (tests/support/sample/replay_sample.h): each request's trace has exactly its own calls and
    GPU work."""
    GROUP = 5

    def sample(self, threads, calls):
        path = self.directory / f"service-{threads}-{calls}.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", path, str(threads), str(calls), "requests"], check=True)
        return path

    def place(self, correlation_id, threads):
        """The thread, the group and the step of a call."""
        thread, call = (correlation_id - 1) % threads, (correlation_id - 1) // threads
        return thread, call // self.GROUP, call % self.GROUP

    def request(self, thread, group):
        number = (thread << 32 | group).to_bytes(8, "big")
        return b"request!".hex() + number.hex(), (b"\xff" + number[1:]).hex()

    def check_traces(self, result, threads, calls):
        by_id = {span.span_id: span for span in result.spans}
        self.assertEqual(len(by_id), len(result.spans))
        session_traces = {span.trace_id for span in result.spans if is_session(span)}
        seen, gpu = set(), set()
        for span in result.spans:
            if "cuda.correlation.id" not in span.attributes:
                continue
            correlation_id = span.attributes["cuda.correlation.id"]
            thread, group, step = self.place(correlation_id, threads)
            if "cuda.activity" in span.attributes:
                gpu.add(correlation_id)
                self.assertEqual(span.trace_id, by_id[span.parent_id].trace_id)
                self.assertEqual(by_id[span.parent_id].attributes["cuda.correlation.id"], correlation_id)
                continue
            seen.add((thread, group))
            trace_id, parent_id = self.request(thread, group)
            if group % 7 == 6:
                self.assertIn(span.trace_id, session_traces)
            else:
                self.assertEqual(span.trace_id, trace_id)
                self.assertNotEqual(group % 10, 9, "this request isn't sampled")
            if step in (1, 2):
                stage = by_id[span.parent_id]
                self.assertEqual((stage.name, stage.trace_id), ("stage", span.trace_id))
                self.assertEqual([event["name"] for event in stage.events], ["half"])
                span = stage
            if group % 7 != 6:
                self.assertEqual(span.parent_id, parent_id)
            else:
                self.assertTrue(is_session(by_id[span.parent_id]))
        groups = {(thread, group) for thread in range(threads) for group in range(calls // self.GROUP)}
        sampled = {(thread, group) for thread, group in groups if group % 7 == 6 or group % 10 != 9}
        self.assertEqual(seen, sampled)
        expected = {1 + thread + call * threads for thread in range(threads) for call in range(calls)}
        expected = {i for i in expected if (i - 1) // threads % 4 != 3 and i % 17 and self.place(i, threads)[:2] in sampled}
        self.assertEqual(gpu, expected)
        stages = [span for span in result.spans if span.name == "stage"]
        self.assertEqual(len(stages), len(sampled))

    def test_thousands_of_requests(self):
        """With --long ten thousand requests, which take this test a hundred seconds."""
        threads, calls = 8, 6250 if os.environ.get("CUSPAN_LONG") else 600 if agent_case.SANITIZERS else 1250
        path = self.sample(threads, calls)
        result = self.replay(path, settings={"exit_deadline_ms": 60000, "capture.activities.deny": "graph"})
        self.assert_nothing_lost(result)
        self.assertEqual(result.report["counters"]["orphans"], 0)
        self.check_traces(result, threads, calls)

    def test_names_that_the_program_gave(self):
        recorded_names = self.directory / "names.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", recorded_names, "1", "200", "names"], check=True)
        again = self.directory / "again.cuspanrec"
        self.replay(recorded_names, to_file=False, settings={"record_file": again})
        for path in (recorded_names, again):
            spans = self.replay(path).spans
            calls, gpu = [s for s in spans if is_call(s)], [s for s in spans if compare.is_gpu_span(s)]
            self.assertEqual({s.attributes.get("cuda.context.name") for s in calls + gpu}, {"training"})
            self.assertEqual({s.attributes["thread.name"] for s in calls}, {"loader"})
            self.assertEqual({s.resource.get("cuda.device.label") for s in gpu if s.resource["cuda.device.id"] == 0}, {"left"})
        silent = self.replay(recorded_names, settings={"capture.nvtx": "false"}).spans
        self.assertEqual({s.attributes.get("cuda.context.name") for s in silent}, {None})

    def test_a_service_recorded_on_a_gpu(self):
        """320 requests of tests/gpu/programs/requests.cu on 16 threads, recorded with an H200."""
        for api in "subscriber", "classic":
            result = self.replay("service", "--api", api)
            self.assert_nothing_lost(result)
            self.assertEqual(list(requests_check.check(result.spans, 320)), [])
            self.assertEqual(result.report["counters"]["orphans"], 0)

    def test_asleep_but_for_sampled_requests(self):
        """Each sampled request has all of its own work; work that belongs to no request has no spans."""
        for api in "subscriber", "classic":
            result = self.replay("service", "--api", api, settings={"sampling.sleep": "always"})
            counters = result.report["counters"]
            print({key: counters[key] for key in ("sleeps", "asleep_ns", "asleep_records", "spans_unsampled", "orphans")})
            self.assertEqual(result.report["losses"], {})
            self.assertEqual(list(requests_check.check(result.spans, 320)), [])
            self.assertGreater(counters["sleeps"], 0)
            self.assertEqual(counters["orphans"], 0)

    def test_recorded_again(self):
        """A recording of a replay equals the original recording."""
        path, again = self.sample(4, 500), self.directory / "again.cuspanrec"
        self.replay(path, to_file=False, settings={"record_file": again})
        result = self.replay(again, settings={"capture.activities.deny": "graph"})
        self.assert_nothing_lost(result)
        self.check_traces(result, 4, 500)

    def test_the_sampler_goes_before_the_flag_where_it_is_told_to(self):
        result = self.replay(self.sample(2, 500), env={"OTEL_TRACES_SAMPLER": "always_on"})
        self.assert_nothing_lost(result)
        traces = {span.trace_id for span in result.spans}
        for group in range(100):
            if group % 7 != 6:
                self.assertIn(self.request(0, group)[0], traces)


def union_ns(spans):
    """The time in which at least one of the intervals was active."""
    total = until = 0
    for start, end in sorted((span.start_ns, span.end_ns) for span in spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def totals_of(calls, work):
    """The sums over spans of calls and GPU work, as in cuda.total.*; zeros are omitted."""
    def kind(name):
        return [span for span in work if span.attributes["cuda.activity"] == name]

    def took(spans):
        return sum(span.end_ns - span.start_ns for span in spans)

    devices = {span.resource.get("cuda.device.id") for span in work}
    longest = {}
    for span in kind("kernel"):
        longest[span.name] = max(longest.get(span.name, 0), span.end_ns - span.start_ns)
    always = {"calls": len(calls), "call_time": took(calls), "kernels": len(kind("kernel")),
              "gpu_time": sum(union_ns(s for s in work if s.resource.get("cuda.device.id") == d) for d in devices)}
    rest = {"errors": sum("error.type" in span.attributes for span in calls),
            "launch_time": took(s for s in calls if re.match(r"cu(da)?(Graph)?Launch", s.name)),
            "sync_time": took(s for s in calls if s.name.endswith("Synchronize")),
            "start_delay": sum(max(0, span.attributes.get("cuda.start_delay", 0)) for span in work),
            "copies": len(kind("memcpy") + kind("memcpy_peer")),
            "copy_bytes": sum(s.attributes["cuda.memcpy.bytes"] for s in kind("memcpy") + kind("memcpy_peer")),
            "fills": len(kind("memset")), "fill_bytes": sum(s.attributes["cuda.memset.bytes"] for s in kind("memset")),
            "graphs": len(kind("graph")),
            "slowest.durations": sorted(longest.values(), reverse=True)[:3]}
    return {**always, **{key: value for key, value in rest.items() if value}}, longest


class Summary(Case):
    """The detail `summary`, and the totals of ranges and sessions, compared with sums over spans of the detail
    `default`."""
    # Calls of the default profile that a summary counts.
    SUMMED = re.compile(r"cu(da)?(Launch|GraphLaunch|Mem|Malloc|HostAlloc|Free|.*Synchronize)")

    def check_totals(self, span, calls, work):
        expected, longest = totals_of(calls, work)
        if not calls and not work:  # a session that was cut before anything ran in it
            expected = {}
        prefix = "cuda.total."
        found = {key[len(prefix):]: value for key, value in span.attributes.items() if key.startswith(prefix)}
        names = found.pop("slowest.kernels", [])
        self.assertEqual([longest[name] for name in names], found.get("slowest.durations", []))
        self.assertEqual(found, expected)

    def spans_by_trace(self, name, **settings):
        result = self.replay(name, settings=settings)
        self.assert_nothing_lost(result)
        by_trace = {}
        for span in result.spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        return by_trace

    def check_sessions(self, name):
        (every,) = self.spans_by_trace(name).values()
        (summed,) = self.spans_by_trace(name, detail="summary").values()
        calls, work = [s for s in every if is_call(s)], [s for s in every if compare.is_gpu_span(s)]
        self.assertTrue(calls and work)
        (session,) = filter(is_session, every)
        self.check_totals(session, calls, work)
        (only,) = summed
        self.check_totals(only, [s for s in calls if self.SUMMED.match(s.name)], work)
        self.assertGreaterEqual(only.end_ns, max(s.end_ns for s in work))

    def test_a_service_recorded_on_a_gpu(self):
        for api in "subscriber", "classic":
            default = self.replay("service", "--api", api).spans
            result = self.replay("service", "--api", api, settings={"detail": "summary"})
            self.assert_nothing_lost(result)
            (session,) = filter(is_session, result.spans)
            wanted = {s.trace_id for s in default if is_call(s)} - {s.trace_id for s in default if is_session(s)}
            summaries = {s.trace_id: s for s in result.spans if s.name == "cuda summary"}
            self.assertEqual(set(summaries), wanted)
            self.assertEqual(len(wanted), 288)
            self.assertEqual(len(result.spans), 1 + 288 + sum(s.name == "stage" for s in default))
            for trace_id in wanted | {next(s.trace_id for s in default if is_session(s))}:
                of_trace = [s for s in default if s.trace_id == trace_id]
                calls = [s for s in of_trace if is_call(s) and self.SUMMED.match(s.name)]
                work = [s for s in of_trace if compare.is_gpu_span(s)]
                span = summaries.get(trace_id, session)
                self.check_totals(span, calls, work)
                self.assertEqual(span.start_ns, min(s.start_ns for s in calls))
                self.assertEqual(span.end_ns, max(s.end_ns for s in calls + work))
                if span is not session:
                    self.assertEqual(span.parent_id, f"ff{int(trace_id[16:], 16):014x}")
                    self.assertEqual(span.attributes["cuda.summary.number"], 1)
                    self.assertRegex(span.attributes["hw.id"], "^GPU-")

    def test_ranges_count_what_is_inside(self):
        for detail in "default", "summary":
            default = self.replay("service").spans
            ranges = [s for s in self.replay("service", settings={"detail": detail}).spans if s.name == "stage"]
            for span in ranges:
                (same,) = [s for s in default if s.name == "stage" and s.trace_id == span.trace_id]
                calls = [s for s in default if s.parent_id == same.span_id]
                ids = {s.span_id for s in calls}
                self.check_totals(span, calls, [s for s in default if s.parent_id in ids])
                self.assertEqual((span.start_ns, span.end_ns, span.parent_id), (same.start_ns, same.end_ns, same.parent_id))
            self.assertEqual(len(ranges), 288)

    def test_vector_add(self):
        self.check_sessions("vector_add")

    def test_threads(self):
        self.check_sessions("threads")

    def test_graph(self):
        self.check_sessions("graph")

    def test_torch_inference(self):
        self.check_sessions("torch_inference")

    def test_sessions_that_are_cut_have_their_own_work(self):
        by_trace = self.spans_by_trace("torch_inference", **{"session.spans_max": 100})
        self.assertGreater(len(by_trace), 5)
        for spans in by_trace.values():
            (session,) = filter(is_session, spans)
            self.check_totals(session, [s for s in spans if is_call(s)], [s for s in spans if compare.is_gpu_span(s)])

    def test_thousands_of_requests(self):
        """More requests at once than are kept: some summaries are sent early, and later work is in another one."""
        path = self.directory / "many.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", path, "8", "600" if agent_case.SANITIZERS else "3000", "requests"], check=True)
        settings = {"exit_deadline_ms": 60000, "capture.activities.deny": "graph"}
        default = self.replay(path, settings={**settings, "capture.calls.allow": "launch,copy,fill,alloc,free,sync"}).spans
        result = self.replay(path, settings={**settings, "detail": "summary"})
        self.assert_nothing_lost(result)
        sums, expected = {}, {}
        for span in result.spans:
            if span.name == "cuda summary":
                found = sums.setdefault((span.trace_id, span.parent_id), Counter())
                found.update({key: span.attributes.get(f"cuda.total.{key}", 0) for key in ("calls", "kernels", "copies")})
                found["summaries"] += 1
                self.assertLessEqual(span.attributes["cuda.summary.number"], found["summaries"])
        session_traces = {span.trace_id for span in default if is_session(span)}
        for trace_id, spans in itertools.groupby(sorted(default, key=lambda s: s.trace_id), lambda s: s.trace_id):
            spans = list(spans)
            if trace_id not in session_traces:
                calls = list(filter(is_call, spans))
                work = Counter(s.attributes["cuda.activity"] for s in spans if compare.is_gpu_span(s))
                expected[trace_id] = (len(calls), work["kernel"], work["memcpy"])
        self.assertEqual({trace: (found["calls"], found["kernels"], found["copies"]) for (trace, _), found in sums.items()},
                         {trace: counts for trace, counts in expected.items() if any(counts)})

    def test_show_draws_it(self):
        path = self.directory / "summary.jsonl"
        path.write_text(self.replay("service", settings={"detail": "summary"}).text)
        request = f"{b'request!'.hex()}{8:016x}"
        shown = self.start([agent_case.BUILD / "cuspan", "show", "--width", "120", "--trace", request, path], {})
        self.assertRegex(shown.out, r"cuda summary  GPU [0-9.]+ .s, \d+ kernels")


class Context(Case):
    """The trace that the process belongs to."""

    def test_first_session_is_the_child(self):
        state = "vendor=a1,other=b2"
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-03", "TRACESTATE": state}
        result = self.replay("threads", "--repeat", "10", env=env, settings={"session.spans_max": 2000})
        self.assertEqual(result.report["losses"], {})
        sessions = sessions_of(result.spans)
        raw = {span["spanId"]: span for span in raw_spans_in(result.text)}
        self.assertGreater(len(sessions), 2)
        first = sessions[0]
        self.assertEqual((first.trace_id, first.parent_id), (TRACE, PARENT))
        self.assertEqual(raw[first.span_id]["flags"], 0x303)
        for span in result.spans:
            if span.trace_id == TRACE:
                self.assertEqual(raw[span.span_id]["traceState"], state)
            else:
                self.assertNotIn("traceState", raw[span.span_id])
        for session in sessions[1:]:
            self.assertNotEqual(session.trace_id, TRACE)
            self.assertEqual(session.parent_id, "")
            process = [link for link in session.links if (link["traceId"], link["spanId"]) == (TRACE, PARENT)]
            self.assertEqual([link["traceState"] for link in process], [state])
            self.assertEqual(len(session.links), 2)

    def test_a_bad_traceparent_is_none(self):
        for bad in f"00-{TRACE}-{PARENT}", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", "x":
            result = self.replay("vector_add", env={"TRACEPARENT": bad, "TRACESTATE": "a=b"})
            self.assertEqual(sessions_of(result.spans)[0].parent_id, "")
            self.assertTrue(all("traceState" not in span for span in raw_spans_in(result.text)))

    def test_an_unsampled_parent_puts_it_to_sleep(self):
        result = self.replay("vector_add", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}, status=1)
        self.assertEqual((result.text, result.agent_lines()), ("", []))

    def test_the_sampler_may_ignore_the_parent(self):
        result = self.replay("vector_add", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00",
                                                "OTEL_TRACES_SAMPLER": "always_on"})
        self.assertEqual(sessions_of(result.spans)[0].trace_id, TRACE)

    def test_a_ratio_counts_what_it_leaves_out(self):
        result = self.replay("threads", "--repeat", "50", settings={"session.spans_max": 200},
                             env={"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"})
        counters = result.report["counters"]
        self.assertEqual(result.report["losses"], {})
        self.assertGreater(counters["spans_unsampled"], 0)
        share = len(result.spans) / (len(result.spans) + counters["spans_unsampled"])
        print(f"{share:.2f} of the spans in {counters['sessions']} sessions")
        self.assertGreater(counters["sessions"], 100)
        self.assertTrue(0.25 < share < 0.75, share)
        ids = {span.span_id for span in result.spans}
        self.assertEqual([s.name for s in result.spans if s.parent_id and s.parent_id not in ids], [])


if __name__ == "__main__":
    agent_case.main()
