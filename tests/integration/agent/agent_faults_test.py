#!/usr/bin/env python3
"""The real agent when CUPTI fails, and under overload: every loss is counted.

    agent_faults_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import itertools
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import compare  # noqa: E402
import recording  # noqa: E402
from agent_case import (  # noqa: E402
    FOREVER_MS, MEMORY_BYTES, NO_HURRY, Case, content_of, is_call, is_session, recorded, sessions_of)

RINGS = 16 + 24 + 96 + 128  # of the default rings.total_bytes


class Faults(Case):
    """Failures of CUPTI that src/agent/replay/state/faults.h can simulate."""

    def asleep(self, fail, line, *options, settings=None):
        result = self.replay("threads", *options, fail=fail, settings=settings, status=1)
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], line)
        self.assertRegex(result.err, "cuspan replay: the agent captured nothing of the recording")
        self.assertEqual(result.text, "")
        print(result.agent_lines()[0])

    def test_another_subscriber_is_named(self):
        for others, end in ("auto", "cuspan traces nothing until CUPTI is free"), ("hold", "this process is not traced"):
            for api in "classic", "subscriber":
                self.asleep("subscribe", rf"another tool \(.*some-profiler.*{end}", "--api", api, settings={"cupti.others": others})

    def test_the_driver_does_not_match(self):
        self.asleep("not-initialized", "CUPTI refused.*NOT_INITIALIZED")

    def test_its_version_is_unknown(self):
        self.asleep("version", "does not report its version.*driver is installed")

    def test_buffers_are_refused(self):
        self.asleep("register", "CUPTI refused activity buffers")

    def test_kernels_are_refused(self):
        self.asleep("enable-kind=10", "CUPTI refused kernel records")

    def test_another_kind_is_refused(self):
        result = self.replay("threads", fail="enable-kind=1")
        self.assertEqual(result.report["losses"], {})
        kinds = Counter(s.attributes.get("cuda.activity") for s in result.spans)
        self.assertEqual(kinds["memcpy"], 0)
        self.assertEqual(kinds["kernel"], sum(a.kind == recording.KERNEL for a in recorded("threads").activities))
        self.assertTrue(any(s.name == "cudaMemcpyAsync" for s in result.spans))
        named = self.replay("threads", fail="enable-kind=1", settings={"capture.activities.allow": "memcpy,kernel"})
        self.assertRegex("\n".join(named.agent_lines()), "memcpy")

    def test_callbacks_are_refused(self):
        result = self.replay("threads", fail="enable-callback=3")
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], "refused callbacks for [0-9]+ of [0-9]+ calls")
        gpu = [s for s in result.spans if compare.is_gpu_span(s)]
        self.assertEqual(len(gpu), len(recorded("threads").gpu_work()))
        self.assertTrue(all(s.attributes.get("cuda.orphan") for s in gpu))
        self.assertEqual(result.report["counters"]["orphans"], len(gpu))

    def test_attributes_are_refused(self):
        result = self.replay("threads", "--api", "classic", fail="attribute")
        self.assert_nothing_lost(result)
        self.assert_same_work("threads", result.spans)

    def lost(self, result, counter, count, others=0):
        self.assertEqual(result.report["losses"], {counter: count})
        lines = [line for line in result.agent_lines() if " lost: lost_" in line]
        self.assertEqual(len(lines), 1, result.err)
        self.assertIn(f"{counter} {count}", lines[0])
        self.assertEqual(len(result.agent_lines()), 1 + others, result.err)
        self.assertEqual(sessions_of(result.spans)[-1].attributes["cuda.session.lost"], count)

    def test_dropped_records_are_counted(self):
        for api in "classic", "subscriber":
            result = self.replay("threads", "--api", api, fail="dropped=23")
            self.lost(result, "lost_cupti_dropped", 23, others=1)
            self.assertRegex(result.err, r"raise distribution\.cuspan\.cupti\.host_buffer_count")

    def test_zero_timestamps_are_counted(self):
        for api in "classic", "subscriber":
            whole = self.replay("threads", "--api", api)
            result = self.replay("threads", "--api", api, fail="zero-timestamps=3")
            missing = len(whole.spans) - len(result.spans)
            self.assertGreater(missing, 100)
            self.lost(result, "lost_zero_timestamps", missing, others=1)
            self.assertRegex(result.err, r"raise distribution\.cuspan\.cupti\.device_buffer_limit")

    def asserted(self, *arguments, fail=""):
        """A launch in the middle fails an assert. Returns the result of the replay, the IDs of the GPU work that this
        stops, and the calls that failed, in order."""
        calls = recorded("torch_inference").calls
        first_id = min(call.correlation_id for call in calls if call.correlation_id)
        kernels = [a.correlation_id for a in recorded("torch_inference").activities if a.kind == recording.KERNEL]
        asserting = sorted(kernels)[len(kernels) // 2] - first_id + 1
        result = self.replay("torch_inference", *arguments, fail=f"assert={asserting}{fail}",
                             settings={"cupti.flush_interval_ms": "60000"})
        failed = [s for s in result.spans if is_call(s) and s.attributes.get("cuda.error.code") == 710]
        failed.sort(key=lambda span: span.attributes["cuda.correlation.id"])
        self.assertGreater(len(failed), 10)
        self.assertRegex(failed[0].name, "Synchronize$")
        reported = failed[0].attributes["cuda.correlation.id"]
        work = [a.correlation_id - first_id + 1 for a in recorded("torch_inference").gpu_work()]
        return result, sorted(id for id in work if asserting <= id <= reported), failed

    def test_work_without_times_that_an_assert_stopped_is_lost_to_it(self):
        for api in "classic", "subscriber":
            result, stopped, _ = self.asserted("--api", api)
            self.lost(result, "lost_context_error", len(stopped), others=1)
            self.assertRegex(result.err, r"cudaErrorAssert \(710\) has ended CUDA context 1;")

    def test_records_that_cupti_dropped_after_an_assert_are_lost_to_it(self):
        """Also if a flush that began before the assert finds them."""
        for api, flush in itertools.product(("classic", "subscriber"), ("", ",flush-slow=1000")):
            result, stopped, _ = self.asserted("--api", api, fail=f",dropped=23{flush}")
            self.assertEqual(result.report["losses"], {"lost_context_error": len(stopped), "lost_after_error": 23})
            self.assertNotRegex(result.err, "host_buffer_count")

    def test_work_with_a_start_that_an_assert_stopped_is_a_span_with_the_error(self):
        for api in "classic", "subscriber":
            result, stopped, failed = self.asserted("--api", api, fail=",assert-started")
            self.assert_nothing_lost(result)
            spans = [s for s in result.spans if "cuda.unfinished" in s.attributes]
            self.assertEqual(sorted(s.attributes["cuda.correlation.id"] for s in spans), stopped)
            self.assertEqual({(s.attributes["error.type"], s.attributes["cuda.error.code"], s.status, s.end_ns) for s in spans},
                             {("cudaErrorAssert", 710, 2, failed[0].end_ns)})

    def test_executions_without_a_graph_record_are_counted(self):
        for api in "classic", "subscriber":
            result = self.replay("graph", "--api", api, fail="no-graph-records=7")
            self.lost(result, "lost_graph_record", 7, others=1)
            self.assertRegex(result.err, r"or set distribution\.cuspan\.cupti\.graph_records to always")
        for settings in {"detail": "graph-nodes"}, {"capture.activities.deny": "graph"}, {"capture.runtime": "false"}:
            result = self.replay("graph", fail="no-graph-records=7", settings=settings)
            self.assert_nothing_lost(result)

    def test_late_buffers(self):
        result = self.replay("torch_inference", "--repeat", "3", fail="late-buffers")
        self.assert_nothing_lost(result)
        self.assert_same_work("torch_inference", result.spans, 3)

    def test_buffers_after_shutdown_harm_nobody(self):
        for api in "classic", "subscriber":
            result = self.replay("torch_inference", "--api", api, fail="after-shutdown")
            self.assertEqual(len(result.spans), result.report["delivered"])
            self.assertGreater(sum(map(is_call, result.spans)), 500)

    def test_records_out_of_order(self):
        for api in "classic", "subscriber":
            result = self.replay("torch_inference", "--api", api, fail="out-of-order")
            self.assert_nothing_lost(result)
            self.assert_same_work("torch_inference", result.spans)

    def test_malformed_buffers_are_counted(self):
        whole = self.replay("threads")
        result = self.replay("threads", fail="malformed")
        self.lost(result, "lost_malformed", result.report["losses"]["lost_malformed"], others=1)
        self.assertEqual(content_of(s for s in result.spans if not is_session(s)),
                         content_of(s for s in whole.spans if not is_session(s)))

    def test_records_without_layouts_are_counted(self):
        result = self.replay("threads", "--api", "subscriber", fail="null-info")
        self.assertGreater(result.report["losses"].get("lost_malformed", 0), 0)

    def test_a_fatal_error_is_told_once(self):
        for name in "threads", "torch_inference":
            result = self.replay(name, fail="fatal=100", status=None)
            told = [line for line in result.agent_lines() if "CUPTI has stopped working" in line]
            self.assertEqual(len(told), 1, result.err)

    def test_a_flush_that_blocks_is_bounded(self):
        result = self.replay("vector_add", fail=f"flush-blocks={FOREVER_MS}", settings={"exit_deadline_ms": 500}, status=1)
        self.assertRegex(result.err, "the deadline of 500 ms at exit has passed")
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        # Spans are counted even if the thread that sends them is stuck.
        self.assertGreater(result.report["spans"], 0)
        # The session's span was never created.
        self.assertEqual(result.report["losses"], {"lost_deadline": result.report["spans"], "lost_unmade": 1})

    def test_thousands_of_threads_in_bounded_memory(self):
        options = ["torch_inference", "--repeat", "4"]
        baseline = self.replay(*options, fail="threads=2000", env={"OTEL_SDK_DISABLED": "true"}, status=None,
                               watch=True)
        result = self.replay(*options, fail="threads=2000", watch=True)
        grown = result.peak_bytes - baseline.peak_bytes
        print(f"{result.report['counters']['threads_seen']} threads; {grown >> 20} MiB more than without the agent")
        # All rings are used. How often another thread gets one again depends on how fast they are read; the rest is counted.
        self.assertGreaterEqual(result.report["counters"]["threads_seen"], RINGS)
        lost = sum(result.report["losses"].values())
        calls = sum(map(is_call, result.spans))
        whole = sum(map(is_call, self.replay("torch_inference").spans)) * 4
        self.assertEqual(calls + lost, whole)
        if not agent_case.SANITIZERS:
            self.assertLess(grown, MEMORY_BYTES)

    def test_correlation_ids_wrap_around(self):
        for api in "classic", "subscriber":
            result = self.replay("threads", "--api", api, "--repeat", "3",
                                 env={"CUSPAN_REPLAY_FIRST_CORRELATION": str(2**32 - 1000)})
            self.assert_nothing_lost(result)
            self.assert_same_work("threads", result.spans, 3)
            ids = {s.attributes["cuda.correlation.id"] for s in result.spans if compare.is_gpu_span(s)}
            self.assertTrue(min(ids) < 2000 and max(ids) > 2**32 - 1000, (min(ids), max(ids)))

    def test_a_fault_that_does_not_exist_is_an_error(self):
        result = self.replay("vector_add", fail="subscripe", status=1)
        self.assertIn("subscripe", result.err)


class Overload(Case):
    """The replay does not wait: everything that the agent cannot accept is counted."""

    @staticmethod
    def facts(result):
        """Records of devices and contexts that arrived: they become no spans, but CUPTI includes them in its dropped
        records."""
        counters = result.report["counters"]
        gpu_spans = counters["spans_created"] - counters["calls_captured"] - counters["sessions"]
        return counters["activities_captured"] - gpu_spans

    def account(self, settings):
        repeat = 30
        settings = {**settings, "capture.resource": "false", "capture.activities.deny": "overhead", **NO_HURRY}
        once = self.replay("threads", settings=settings)
        self.assert_nothing_lost(once)
        offered = (len(once.spans) - 1 + self.facts(once)) * repeat
        result = self.replay("threads", "--repeat", repeat, "--overload", settings=settings)
        delivered = [s for s in result.spans if not is_session(s)]
        lost = sum(result.report["losses"].values())
        print(f"{settings}: {offered} offered, {len(delivered)} delivered, lost {result.report['losses']}")
        self.assertEqual(len(result.spans), result.report["delivered"])
        self.assertEqual(len(delivered) + lost + self.facts(result), offered)
        # The facts are counted by the agent itself, so they must not hide a loss: the recording limits their number.
        kinds = [activity.kind for activity in recorded("threads").activities]
        known = kinds.count(recording.DEVICE) + kinds.count(recording.CONTEXT)
        self.assertEqual(self.facts(once), known)
        self.assertLessEqual(self.facts(result), known * repeat)
        if lost:
            self.assertTrue(any(" lost: lost_" in line for line in result.agent_lines()), result.err)
        return result

    def test_default_settings(self):
        self.account({})

    def test_small_rings(self):
        result = self.account({"rings.bytes": 8192, "rings.total_bytes": 65536})
        for loss, key in ("lost_ring_full", "rings.bytes"), ("lost_no_ring", "rings.total_bytes"):
            told = [line for line in result.agent_lines() if f"raise distribution.cuspan.{key}" in line]
            self.assertEqual(len(told), 1 if loss in result.report["losses"] else 0, result.err)

    def test_before_12_9_discarded_records_are_counted(self):
        """Those CUPTIs get a buffer that is not read; its size gives the number of records in it."""
        options = ["--api", "classic", "--cupti-version", "12.0"]
        once = self.replay("threads", *options, settings=NO_HURRY)
        settings = {"cupti.host_buffer_count": 2, "cupti.host_buffer_bytes": 16384, **NO_HURRY}
        result = self.replay("threads", *options, "--repeat", "30", "--overload", settings=settings)
        offered = 30 * once.report["counters"]["activities_captured"]
        lost = result.report["losses"]["lost_no_buffer"]
        got = result.report["counters"]["activities_captured"]
        print(f"{offered} records, {got} captured, {lost} told lost")
        # Copies have shorter records than kernels, which is what they are counted as.
        self.assertLess(got + lost, offered * 1.1)
        self.assertGreater(got + lost, offered * 0.4)
        self.assertTrue(any("cupti.host_buffer_count" in line for line in result.agent_lines()), result.err)

    def test_small_buffers_say_so(self):
        """CUPTI counts the records for which it found no buffer. None is counted twice."""
        settings = {"cupti.host_buffer_count": 2, "cupti.host_buffer_bytes": 16384, **NO_HURRY}
        result = self.replay("threads", "--repeat", "30", "--overload", settings=settings)
        wanted = 30 * len(recorded("threads").gpu_work())
        got = sum(map(compare.is_gpu_span, result.spans))
        print(f"{wanted} records, {got} delivered, {result.report['losses']}")
        self.assertLess(got, wanted)
        once = self.replay("threads", settings=settings)
        self.assertNotIn("lost_no_buffer", result.report["losses"])
        self.assertEqual(result.report["counters"]["activities_captured"] + result.report["losses"]["lost_cupti_dropped"],
                         30 * once.report["counters"]["activities_captured"])


if __name__ == "__main__":
    agent_case.main()
