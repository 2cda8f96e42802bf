#!/usr/bin/env python3
"""Hardware counters, with a recording in which some launches were counted: the counts are on the spans of those kernels
and of no others, in each form of delivery. Each failure is logged once and affects nothing else.

    counters_test.py --build BUILD-DIR [--sanitizers WHICH] [unittest's arguments]
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import agent_case  # noqa: E402
from agent_case import compare, recording  # noqa: E402

PREFIX = "cuda.counter."


def counts_of(span):
    return {key.removeprefix(PREFIX): value for key, value in span.attributes.items() if key.startswith(PREFIX)}


class Counters(agent_case.Case):
    def sample(self, threads=1, calls=1000, kind="counters"):
        path = self.directory / f"{kind}-{threads}.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", path, str(threads), str(calls), kind], check=True)
        return path

    def kernels(self, result):
        return [s for s in result.spans if compare.is_gpu_span(s) and s.attributes["cuda.activity"] == "kernel"]

    def expected(self, path):
        """The recording's own counts, read without any code of cuspan."""
        read = recording.Reader(path).recording
        names = ["dram.read", "l2.hit_rate", "reads"]
        return {a.correlation_id: {name: value for name, value in zip(names, read.counted[a.correlation_id]) if value == value}
                for a in read.activities if a.kind == recording.KERNEL and a.correlation_id in read.counted}

    def counted(self, result):
        return {s.attributes["cuda.correlation.id"]: counts_of(s) for s in self.kernels(result) if counts_of(s)}

    def test_what_was_counted_is_on_its_kernel_s_span(self):
        path = self.sample()
        for api in "subscriber", "classic":
            result = self.replay(path, "--api", api)
            expected = self.expected(path)
            self.assertGreater(len(expected), 50)
            self.assertEqual(self.counted(result), expected)
            self.assertEqual(result.report["counters"]["gpu_counts_lost"], 0)
            self.assert_nothing_lost(result)

    def test_counts_of_a_real_gpu(self):
        """The counts of an H200 for kernels with known bytes and operations (tests/gpu/programs/counters.cu), compared
        with the spans."""
        path = ROOT / "examples/recordings/counters.cuspanrec"
        read = recording.Reader(path).recording
        kernels = {a.correlation_id: a for a in read.activities if a.kind == recording.KERNEL}
        result = self.replay(path)
        self.assert_nothing_lost(result)
        self.assertNotIn("WaitNs", {span.name for span in result.spans})
        spans = {s.attributes["cuda.correlation.id"]: s for s in self.kernels(result)}
        self.assertEqual(set(spans), set(kernels))
        counted = {id: counts_of(span) for id, span in spans.items() if counts_of(span)}
        self.assertEqual(set(counted), set(read.counted))
        self.assertEqual(len(counted), 7)  # one launch in three of twenty
        for id, (bytes_read, bytes_written, busy) in read.counted.items():
            self.assertEqual((counted[id]["dram.read"], counted[id]["dram.write"]), (bytes_read, bytes_written))
            kernel_ns = kernels[id].end_ns - kernels[id].start_ns
            self.assertGreater(read.counted_ns[id], kernel_ns)  # CUPTI's range is longer
            self.assertAlmostEqual(counted[id]["dram.utilization"], busy * read.counted_ns[id] / kernel_ns, places=9)
            if spans[id].name == "copy_floats":
                self.assertAlmostEqual(bytes_read / (256 << 20), 1, delta=0.01)
                self.assertAlmostEqual(counted[id]["dram.utilization"] * 48, 2 * (256 << 20) / kernel_ns, delta=100)  # of 4.8 TB/s
        fma = self.counted(self.replay(ROOT / "tests/gpu/recordings/counters-fma.cuspanrec"))
        done = [counts["fma"] for counts in fma.values() if counts["fma"] > 1e8]
        self.assertEqual(len(done), 10)
        for count in done:
            self.assertAlmostEqual(count / (1024 * 256 * 1000), 1, delta=0.01)

    def test_nothing_else_has_counts(self):
        result = self.replay(self.sample())
        self.assertEqual({s.attributes.get("cuda.activity") for s in result.spans if counts_of(s)}, {"kernel"})

    def test_a_recording_of_a_replay_has_the_same_counts(self):
        path, again = self.sample(), self.directory / "again.cuspanrec"
        self.replay(path, to_file=False, settings={"record_file": again})
        self.assertEqual(self.expected(again), self.expected(path))
        self.assertEqual(self.counted(self.replay(again)), self.expected(path))

    def test_one_in_so_many(self):
        path = self.sample()
        few = self.counted(self.replay(path, settings={"counters.period": "6"}))
        every = self.expected(path)
        self.assertTrue(few.items() <= every.items())
        self.assertTrue(0 < len(few) <= len(every) / 2, f"{len(few)} of {len(every)}")

    def test_kernels_by_name(self):
        path = self.sample()
        for settings, wanted in (({"counters.kernels.allow": "scale*,sgemm"}, {"scale", "ampere_sgemm_128x64_nn"}),
                                 ({"counters.kernels.deny": "vecAdd"}, {"scale", "ampere_sgemm_128x64_nn"}),
                                 ({"counters.kernels.allow": "vec?dd"}, {"vecAdd"})):
            result = self.replay(path, settings=settings)
            counted_then = self.expected(path)
            kernels = self.kernels(result)
            self.assertEqual({s.name for s in kernels if counts_of(s)},
                             wanted & {s.name for s in kernels if s.attributes["cuda.correlation.id"] in counted_then}, settings)

    def test_launches_without_a_span_are_counted_as_well(self):
        path = self.sample()
        result = self.replay(path, settings={"capture.calls.deny": "*Launch*"})
        self.assertEqual([s.name for s in result.spans if "Launch" in s.name and not compare.is_gpu_span(s)], [])
        self.assertEqual(self.counted(result), self.expected(path))

    def test_many_threads_lose_nothing_but_counts(self):
        path = self.sample(threads=8, calls=500)
        result = self.replay(path, settings={"capture.activities.deny": "graph"})
        self.assert_nothing_lost(result)
        counted = self.counted(result)
        self.assertGreater(len(counted), 0)
        self.assertTrue(counted.items() <= self.expected(path).items())

    def test_ranges_in_place_of_kernels(self):
        """Metrics that the sample's recording lacks, and another recording of it has."""
        path = self.sample(kind="counted-requests")
        result = self.replay(path, settings={"counters.ranges": "sta*"})
        ranges = [s for s in result.spans if s.name == "stage"]
        self.assertGreater(len(ranges), 10)
        counted = [counts_of(s) for s in ranges if counts_of(s)]
        self.assertEqual({frozenset(counts.items()) for counts in counted}, {frozenset({"dram.read": 1, "l2.hit_rate": 1, "reads": 1}.items())})
        self.assertEqual(len(counted), len(ranges))
        self.assertEqual(self.counted(result), {})
        none = self.replay(path, settings={"counters.ranges": "other"})
        self.assertEqual([s.name for s in none.spans if counts_of(s)], [])

    def of_work(self, spans):
        return [span for span in spans if compare.is_gpu_span(span)]

    def loop(self, *steps, metrics, **settings):
        """A program that runs loops of cuspan.h. Returns what each loop printed, the result, and the spans of the
        loops."""
        target, report = self.directory / "loop.jsonl", self.directory / "loop-report"
        target.unlink(missing_ok=True)
        options = {"cupti.library": agent_case.BUILD / "libcuspan-replay.so", "output_file": target, "accounts_file": report,
                   "counters.metrics": metrics, "counters.ranges": "looped", "counters.period": "1", **settings}
        result = self.start([agent_case.BUILD / "other_tool_host", self.sample(calls=100), agent_case.BUILD / "libcuspan.so", "inject", *steps],
                            {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in options.items()),
                             "CUDA_INJECTION64_PATH": str(agent_case.BUILD / "libcuspan.so"), **agent_case.FORKS})
        self.assertEqual(result.status, agent_case.HOST_STATUS, result.err + result.out)
        for path in self.directory.glob("loop-report.*"):
            result.report = json.loads(path.read_text())
            path.unlink()
        spans = agent_case.spans_in(target.read_text())
        answers = [int(answer) for answer in re.findall(r"^loop[a-z-]*: (-?\d+)$", result.out, re.MULTILINE)]
        return answers, result, [span for span in spans if span.name == "looped"], spans

    def test_loops_run_as_often_as_counters_need(self):
        nine = ",".join(f"n{i}=dram__bytes_read.sum" for i in range(9))
        answers, result, loops, spans = self.loop("loop", "loop", metrics=nine, **{"counters.replay": "loop"})
        self.assertEqual(answers, [2, 2])
        self.assertEqual([counts_of(span) for span in loops], [{f"n{i}": 1 for i in range(9)}] * 2)
        self.assertEqual((result.report["counters"]["gpu_counts"], result.report["counters"]["gpu_counts_lost"]), (2, 0))
        once = self.loop("loop", metrics="dram.read")[3]
        self.assertEqual(len(self.of_work(spans)), 4 * len(self.of_work(once)))

    def test_loops_run_once_where_nobody_asks_for_more(self):
        answers, _, loops, _ = self.loop("loop", metrics="dram.read")
        self.assertEqual((answers, [counts_of(span) for span in loops]), ([1], [{"dram.read": 1}]))
        answers, _, loops, _ = self.loop("loop", metrics="dram.read", **{"counters.replay": "loop", "counters.ranges": "others"})
        self.assertEqual((answers, [counts_of(span) for span in loops]), ([1], [{}]))
        answers, _, loops, _ = self.loop("loop", metrics="dram.read", **{"counters.replay": "loop"})
        self.assertEqual((answers, [counts_of(span) for span in loops]), ([1], [{"dram.read": 1}]))

    def test_a_loop_that_is_left_has_no_counts(self):
        nine = ",".join(f"n{i}=dram__bytes_read.sum" for i in range(9))
        answers, result, loops, _ = self.loop("loop-left", "loop", metrics=nine, **{"counters.replay": "loop"})
        self.assertEqual(answers, [0, 2])
        self.assertEqual([len(counts_of(span)) for span in loops], [0, 9])
        self.assertEqual((result.report["counters"]["gpu_counts"], result.report["counters"]["gpu_counts_lost"]), (1, 1))

    def test_what_goes_wrong_is_said_once_and_costs_nothing_else(self):
        path = self.sample()
        whole = len(self.replay(path).spans)
        for fail, line in (("counters=35", "NVreg_RestrictProfilingToAdminUsers=0.*SYS_ADMIN"),
                           ("counters=26", "another tool uses the GPU's hardware counters"),
                           ("counters=43", "MIG"),
                           ("counters=15", "libnvperf_host.so"),
                           ("counters=999", "cannot enable the counters: CUPTI_ERROR_UNKNOWN")):
            result = self.replay(path, fail=fail)
            self.assertEqual(len(result.agent_lines()), 1, result.err)
            self.assertRegex(result.agent_lines()[0], "no more hardware counters: .*" + line)
            self.assertEqual((len(result.spans), self.counted(result), result.report["losses"]), (whole, {}, {}))

    def test_a_cupti_without_the_range_profiler(self):
        """The line has CUPTI's reason, not one of the driver's."""
        cupti = agent_case.BUILD / "libfake_cupti_classic.so"
        result = self.start([agent_case.BUILD / "stack_host", agent_case.BUILD / "libcuspan.so", cupti, "1", "0"],
                            {"CUSPAN_SET": f"cupti.library={cupti};cupti.api=classic;output_file=/dev/null;counters.metrics=dram.read"})
        self.assertEqual(result.status, 0, result.err)
        lines = [line for line in result.agent_lines() if "counters" in line]
        self.assertEqual(len(lines), 1, result.err)
        self.assertIn("no hardware counters: ", lines[0])
        self.assertIn("has no Range Profiler, which CUDA 12.6 introduced", lines[0])

    def test_a_cupti_that_cannot_run_kernels_again(self):
        """12.9 counts nothing then, and 13.0 gives such kernels no times (seen on an H200)."""
        path = self.sample()
        again = {"counters.replay": "kernel", "counters.kernels.allow": "vecAdd"}
        whole = self.replay(path, env={"CUSPAN_REPLAY_VERSION": "13.2"}, settings=again)
        self.assertTrue(self.counted(whole))
        for release in "12.9", "13.0", "13.1":
            result = self.replay(path, env={"CUSPAN_REPLAY_VERSION": release}, settings=again)
            self.assertEqual(len(result.agent_lines()), 1, result.err)
            self.assertIn(f"no hardware counters: with CUPTI {release}, kernels that run again have no counts or no times; "
                          "name one of 13.2 or later", result.agent_lines()[0])
            self.assertEqual((len(result.spans), self.counted(result), result.report["losses"]), (len(whole.spans), {}, {}))

    def test_a_metric_that_the_chip_lacks(self):
        result = self.replay(self.sample(), settings={"counters.metrics": "dram.read,no__such.sum"})
        self.assertRegex(result.err, 'has no metric "no__such.sum"; `cuspan counters` lists')
        self.assertEqual(self.counted(result), {})

    def test_a_kernel_that_does_not_end(self):
        path = self.sample()
        result = self.replay(path, fail="counted-hangs=4", settings={"counters.wait_ms": "50"})
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], r"did not finish within distribution.cuspan.counters.wait_ms.*counters.kernels.deny")
        self.assertEqual(result.report["counters"]["gpu_counts_lost"], 4)  # with the three before it, which were not read yet
        self.assertEqual(self.counted(result), {})
        self.assertEqual(result.report["losses"], {})

    def test_other_launches_spoil_a_count(self):
        """Kernels of other threads, while one is counted that takes 20 ms."""
        path = self.sample(threads=4)
        result = self.replay(path, fail="counted-spoilt=2", settings={"capture.activities.deny": "graph"})
        counters = result.report["counters"]
        self.assertGreater(counters["gpu_counts_lost"], 0)
        self.assertEqual(counters["gpu_counts"], len(self.counted(result)))
        self.assertTrue(self.counted(result).items() <= self.expected(path).items())
        self.assertEqual(result.report["losses"], {})

    def test_wrong_settings(self):
        for settings, line in (({"counters.replay": "kernel"}, "counters.replay: cuspan reruns only kernels that counters.kernels.allow names"),
                               ({"counters.replay": "loop"}, "counters.replay: cuspan reruns only loops (cuspan_loop_begin in cuspan.h) that counters.ranges names"),
                               ({"counters.metrics": "x" * 60}, "cannot be an attribute's name: set one of up to"),
                               ({"counters.metrics": "=a__b.sum"}, "cannot be an attribute's name"),
                               ({"counters.metrics": ",".join(f"m{i}" for i in range(17))}, "expected at most 16 counters, not 17"),
                               ({"counters.period": "0"}, "counters.period")):
            result = self.replay(self.sample(), settings=settings, status=None, to_file=False)
            self.assertIn(result.status, (1, 2))
            self.assertIn(line, result.err)
            self.assertEqual(len(result.agent_lines()), 0 if result.status == 2 else 1, result.err)

    def test_metrics_of_more_than_one_pass(self):
        """The replay library reads eight metrics per pass."""
        path = self.sample()
        nine = ",".join(f"n{i}=dram__bytes_read.sum" for i in range(9))
        result = self.replay(path, settings={"counters.metrics": nine})
        self.assertRegex(result.err, "counts these 9 metrics in 2 passes, but a kernel runs once; name fewer")
        again = self.replay(path, settings={"counters.metrics": nine, "counters.replay": "kernel", "counters.kernels.allow": "vecAdd"})
        self.assertEqual(again.agent_lines(), [])
        self.assertTrue(all(len(counts) == 9 for counts in self.counted(again).values()) and self.counted(again))


class Command(agent_case.Case):
    """cuspan counters."""

    def counters(self, *arguments, status=0, **env):
        path = self.directory / "chip.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", path, "1", "10", "counters"], check=True)
        result = self.start([agent_case.BUILD / "cuspan", "counters", "--cupti", agent_case.BUILD / "libcuspan-replay.so", *arguments],
                            {"LD_LIBRARY_PATH": str(agent_case.BUILD / "gpu_driver"), "CUSPAN_REPLAY_CHIP": str(path), **env})
        self.assertEqual(result.status, status, result.err)
        return result

    def test_plain_names_and_what_stands_behind_them(self):
        out = self.counters().out
        self.assertRegex(out, r"^GPU 0: Made-up 0 \(the recorded chip\)\n")
        self.assertRegex(out, r"\n  dram.read +By  bytes read from GPU memory +dram__bytes_read.sum\n")
        self.assertRegex(out, r"\n  occupancy .*\(not on this chip\)\n")
        self.assertRegex(out, r"and 3 metrics by the chip's own names")

    def test_metrics_by_pattern(self):
        out = self.counters("lts*").out.splitlines()
        self.assertEqual([line.split()[0] for line in out[1:]], ["lts__t_sector_hit_rate.pct", "lts__t_sectors_op_read.sum"])
        self.assertIn("none of its 3 metrics matches", self.counters("nothing*").out)

    def test_json(self):
        (gpu, other) = json.loads(self.counters("--json", HOST_GPUS="2").out)
        self.assertEqual((gpu["device"], gpu["gpu"], other["device"], gpu["chip"]), (0, "Made-up 0", 1, "the recorded chip"))
        self.assertEqual(gpu["plain"], {"dram.read": "dram__bytes_read.sum", "l2.hit_rate": "lts__t_sector_hit_rate.pct"})
        self.assertEqual([m["name"] for m in gpu["metrics"]],
                         ["dram__bytes_read.sum", "lts__t_sector_hit_rate.pct", "lts__t_sectors_op_read.sum"])
        (one,) = json.loads(self.counters("--json", "--device", "1", HOST_GPUS="2").out)
        self.assertEqual(one["device"], 1)

    def test_passes(self):
        self.assertIn("2 metrics in 1 pass\n", self.counters("--passes", "dram.read,l2.hit_rate").out)
        nine = ",".join(f"n{i}=dram__bytes_read.sum" for i in range(9))
        self.assertIn("9 metrics in 2 passes: kernels would have to be replayed", self.counters("--passes", nine).out)
        self.assertEqual(json.loads(self.counters("--json", "--passes", nine).out)[0]["passes"], 2)
        self.assertIn('has no metric "no.such"', self.counters("--passes", "no.such", status=1).err)

    def test_what_can_be_sampled(self):
        chip = {"CUSPAN_REPLAY_SAMPLES": ",".join(["dram__bytes_read.sum"] + [f"m{i}.sum" for i in range(9)])}
        self.assertIn("and 10 metrics by the chip's own names", self.counters("--sampling", **chip).out)
        self.assertIn("2 metrics in 1 pass\n", self.counters("--sampling", "--passes", "dram.read,m3.sum", **chip).out)
        nine = ",".join(f"m{i}.sum" for i in range(9))
        self.assertIn("9 metrics in 2 passes: a sample has one pass; name fewer metrics", self.counters("--sampling", "--passes", nine, **chip).out)
        self.assertIn('has no metric "l2.hit_rate"', self.counters("--sampling", "--passes", "l2.hit_rate", status=1, **chip).err)
        self.assertIn("cannot query the available counters", self.counters("--sampling", status=1).err)
        self.assertIn("not 17", self.counters("--sampling", "--passes", ",".join(["m1.sum"] * 17), status=1, **chip).err)

    def test_what_stands_in_the_way(self):
        for arguments, env, line, status in (
                ((), {"HOST_GPUS": "0"}, "NVIDIA's driver reports no GPU", 1),
                ((), {"HOST_INIT": "100"}, r"cannot initialize NVIDIA's driver \(CUDA result 100\); run cuspan doctor", 1),
                (("--device", "3"), {}, "GPU 3 does not exist: this machine has 1, numbered from 0", 1),
                ((), {"LD_LIBRARY_PATH": "/nonexistent"}, "cannot load libcuda.so.1", 1),
                (("--passes", "a", "b"), {}, "--passes and patterns exclude each other", 2),
                (("--device", "x"), {}, "--device", 2)):
            result = self.counters(*arguments, status=status, **env)
            self.assertRegex(result.err, "cuspan counters: .*" + line)
            self.assertLessEqual(result.err.count("\n"), 2, result.err)
            self.assertEqual(result.out, "")


if __name__ == "__main__":
    agent_case.main()
