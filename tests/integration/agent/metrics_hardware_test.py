#!/usr/bin/env python3
"""Metrics of the hardware: readings of NVML, and samples of hardware counters of whole GPUs.

    metrics_hardware_test.py --build BUILD-DIR [unittest's arguments]
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
import proc  # noqa: E402
from metrics_case import CLEAN, ROOM, Case, build, main  # noqa: E402


class Hardware(Case):
    """NVML's values, from a stand-in."""

    def hardware(self, **variables):
        libraries = Path(self.folder, "libraries")
        libraries.mkdir(exist_ok=True)
        shutil.copy(build("libfake_nvml.so"), libraries / "libnvidia-ml.so.1")
        spans, requests, _ = self.replay(ROOT / "examples/recordings/service.cuspanrec", "--paced", "--repeat", 4,
                                         OTEL_METRIC_EXPORT_INTERVAL="20", LD_LIBRARY_PATH=str(libraries), **variables)
        uuids = {span.resource["hw.id"] for span in spans if "hw.id" in span.resource}
        found = {}
        for (name, attributes), points in otlp_metrics.series(requests).items():
            if name.startswith("hw."):
                has = dict(attributes)
                self.assertIn(has.get("hw.parent", has["hw.id"]), uuids)
                kind = [has[key] for key in ("hw.sensor_location", "error.type", "hw.state") if key in has]
                found[" ".join([name, *kind])] = otlp_metrics.value(points[-1][1])
                self.attributes[name] = has
        return found

    def setUp(self):
        super().setUp()
        self.attributes = {}

    def test_each_figure(self):
        self.assertEqual(self.repeat_until(bool, self.hardware), {
            "hw.gpu.utilization": 0.42, "hw.gpu.memory.limit": 1000, "hw.gpu.memory.usage": 250,
            "hw.gpu.memory.utilization": 0.25, "hw.temperature gpu": 55, "hw.temperature memory": 61, "hw.power": 123.5, "hw.energy": 9.0,
            "hw.errors ecc_corrected": 12, "hw.errors ecc_uncorrected": 1, "hw.errors pcie_replay": 3, "hw.errors xid": 0,
            "hw.status ok": 1, "hw.status degraded": 0, "hw.status failed": 0})
        gpu = {"hw.id", "hw.name", "hw.model", "hw.vendor", "hw.serial_number"}
        for name, more in (("hw.gpu.memory.limit", set()), ("hw.gpu.utilization", {"hw.gpu.task"}), ("hw.power", {"hw.type"}),
                           ("hw.errors", {"hw.type", "error.type"}), ("hw.status", {"hw.type", "hw.state"})):
            self.assertEqual(set(self.attributes[name]), gpu | more, name)
        self.assertEqual(self.attributes["hw.power"]["hw.name"], "Stand-in GPU")
        self.assertEqual(self.attributes["hw.power"]["hw.serial_number"], "1653724000314")

    def test_a_sensor_is_a_component_below_the_gpu(self):
        self.repeat_until(bool, self.hardware)
        has, gpu = self.attributes["hw.temperature"], self.attributes["hw.power"]["hw.id"]
        self.assertEqual(has, {"hw.id": f"{gpu}/memory", "hw.parent": gpu, "hw.name": "Stand-in GPU", "hw.sensor_location": "memory"})

    def test_a_gpu_that_is_lost(self):
        self.assertEqual(self.repeat_until(bool, lambda: self.hardware(FAKE_NVML_STATUS="lost")),
                         {"hw.status ok": 0, "hw.status degraded": 0, "hw.status failed": 1})

    def test_what_a_gpu_does_not_tell_is_left_out(self):
        found = self.repeat_until(bool, lambda: self.hardware(
            FAKE_NVML_OLD="1", FAKE_NVML_PLAIN="1", OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta"))
        self.assertFalse({"hw.energy", "hw.temperature memory", "hw.errors ecc_corrected"} & set(found))
        self.assertNotIn("hw.serial_number", self.attributes["hw.power"])
        self.assertIn("hw.power", found)

    def test_a_gpu_that_is_unknown_to_it_and_one_without_rights(self):
        self.assertEqual(self.hardware(FAKE_NVML_UUID="GPU-another"), {})
        self.assertEqual(self.hardware(FAKE_NVML_INIT="4"), {})

    def test_who_is_slow_is_not_waited_for(self):
        self.assertEqual(self.hardware(FAKE_NVML_SLOW_MS="60000"), {})


class Samples(Case):
    """Hardware counters of whole GPUs: the replay library's chip counts, in sample n, 1000 * (1 + n % 3) of the first metric, twice as
    much of the second and so on."""
    CHIP = "dram__bytes_read.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,smsp__inst_executed.sum"
    WANTED = ("counters.sampling.interval_us=1000", "counters.sampling.metrics=reads=dram__bytes_read.sum,dram.utilization,instructions")
    SERVICE = ROOT / "examples/recordings/service.cuspanrec"  # 0.15 s on one GPU
    UNITS = {"throughput": "By/s", "ratio": "1", "rate": "{event}/s"}

    def sampled(self, wanted=WANTED, chip=CHIP, repeat=3, **variables):
        return self.replay(self.SERVICE, "--paced", "--repeat", repeat, settings=(*ROOM, *wanted),
                           **{"CUSPAN_REPLAY_SAMPLES": chip, **variables})

    def counted(self, requests):
        """{"throughput.mean": {name: values}}, and each point has its GPU and its unit."""
        found = defaultdict(dict)
        for (metric, attributes), points in otlp_metrics.series(requests, has_views=True).items():
            if not metric.startswith("cuda.counter."):
                continue
            key = dict(attributes)
            self.assertEqual((key["cuda.device.id"], set(key)), (0, {"hw.id", "cuda.device.id", "cuda.counter.name", "cuda.counter.statistic"}))
            kind = metric.removeprefix("cuda.counter.")
            self.assertEqual({point[0].unit for point in points}, {self.UNITS[kind]})
            self.assertEqual({point[0].WhichOneof("data") for point in points}, {"gauge"})
            found[f"{kind}.{key['cuda.counter.statistic']}"][key["cuda.counter.name"]] = [otlp_metrics.value(point) for _, point in points]
        return found

    def lines(self):
        return [line for line in self.stderr.splitlines() if "sampled" in line or "samples" in line]

    def test_levels_of_each_kind(self):
        """At 20 samples per second, a reader that is 6 s late loses none. The first, of unknown length, does not count."""
        us = 50_000
        _, requests, report = self.repeat_until(
            lambda found: found[2]["counters"]["gpu_samples"] > 3,
            lambda: self.sampled((f"counters.sampling.interval_us={us}", self.WANTED[1]), repeat=10))
        counted, samples = self.counted(requests), report["counters"]["gpu_samples"]
        mean = sum(1 + number % 3 for number in range(1, samples + 1)) / samples
        for kind, name, level in (("throughput", "reads", 1000 * 1e6 / us), ("ratio", "dram.utilization", 20),
                                  ("rate", "instructions", 3000 * 1e6 / us)):
            for form, factor in ("min", 1), ("mean", mean), ("max", 3):
                (series, (value,)), = counted[f"{kind}.{form}"].items()
                self.assertEqual(series, name)
                self.assertAlmostEqual(value / (factor * level), 1, places=9, msg=(kind, form))
        self.assertEqual((report["counters"]["gpu_samples_lost"], report["losses"], self.lines()), (0, {}, []))

    def test_each_interval_has_its_own(self):
        view = "{selector: {instrument_name: cuda.counter.rate}, stream: {aggregation: {drop: }}}"
        other = "{selector: {instrument_name: cuda.counter.ratio}, stream: {name: gpu.load}}"
        settings = [word for setting in self.WANTED for word in ("--set", setting)]
        requests = self.repeat_until(
            lambda requests: len(self.counted(requests).get("throughput.mean", {}).get("reads", ())) > 1,
            lambda: self.view([view, other], "--paced", "--repeat", 2, *settings, recording=self.SERVICE,
                              reader="interval: 100, ", CUSPAN_REPLAY_SAMPLES=self.CHIP)[1])
        counted = self.counted(requests)
        self.assertEqual(set(counted), {"throughput.min", "throughput.mean", "throughput.max"})
        load = {dict(attributes)["cuda.counter.statistic"]: len(points)
                for (name, attributes), points in otlp_metrics.series(requests, has_views=True).items() if name == "gpu.load"}
        self.assertEqual(load, dict.fromkeys(("mean", "min", "max"), len(counted["throughput.min"]["reads"])))

    def test_what_goes_wrong_is_one_line_and_costs_nothing_else(self):
        whole, _, _ = self.sampled(repeat=2)
        for fail, chip, line in (("counters=35", self.CHIP, "NVreg_RestrictProfilingToAdminUsers=0"),
                                 ("counters=26", self.CHIP, "another tool uses the GPU's hardware counters"),
                                 ("counters=43", self.CHIP, "MIG"),
                                 ("", "dram__bytes_read.sum", 'has no metric "dram.utilization"; `cuspan counters` lists'),
                                 ("counters=27", self.CHIP, "cannot query the available counters")):
            with self.subTest(fail, chip=chip):
                spans, requests, report = self.repeat_until(
                    lambda _: self.lines(), lambda: self.sampled(chip=chip, repeat=2, CUSPAN_REPLAY_FAIL=fail))
                self.assertEqual(len(self.lines()), 1, self.stderr)
                self.assertRegex(self.lines()[0], "hardware counters of GPU 0 are not sampled: ")
                self.assertIn(line, self.lines()[0])
                self.assertEqual((self.counted(requests), len(spans), report["losses"]), ({}, len(whole), {}))

    def test_a_full_buffer_is_counted(self):
        _, requests, report = self.repeat_until(lambda found: found[2]["counters"]["gpu_samples_lost"] > 10,
                                                lambda: self.sampled(CUSPAN_REPLAY_FAIL="samples-full=2"))
        self.assertEqual(len(self.lines()), 1, self.stderr)
        self.assertRegex(self.lines()[0], "its buffer overflowed; raise distribution.cuspan.counters.sampling.interval_us")
        self.assertEqual(report["losses"], {})
        self.assertTrue(self.counted(requests))

    def test_who_reads_late_has_fewer_samples_not_wrong_ones(self):
        """Each read finds more samples than the image has space for: those that did not fit have no time."""
        _, requests, _ = self.repeat_until(lambda found: found[2]["counters"]["gpu_samples_lost"],
                                           lambda: self.sampled(CUSPAN_REPLAY_FAIL="samples-late=200"))
        for value in self.counted(requests)["throughput.max"]["reads"]:
            self.assertAlmostEqual(value, 3e6, delta=1)

    def test_a_thread_that_hangs_holds_no_exit_up(self):
        self.sampled(repeat=1, CUSPAN_REPLAY_FAIL="samples-hang=3600000")

    def test_an_exit_waits_for_the_thread(self):
        """At exit, CUPTI's libraries destroy objects that they have made during the opening: while it goes on, or before the
        samples are read for the last time."""
        for repeat, ms in (2, 300), (10, 1):
            with self.subTest(repeat=repeat):
                self.sampled((*self.WANTED, "cupti.flush_interval_ms=20"), repeat=repeat, CUSPAN_REPLAY_FAIL=f"samples-open={ms}")
                self.assertEqual(self.lines(), [])

    def test_there_is_a_thread_only_where_it_is_wanted(self):
        """Runs an endless program until the thread is seen, or a short one to its end."""
        for settings, metrics, is_wanted in (self.WANTED, "otlp", True), ((), "otlp", False), (self.WANTED, "none", False):
            with self.subTest(settings=settings, metrics=metrics):
                options = [word for setting in settings for word in ("--set", setting)]
                program = subprocess.Popen(
                    [str(build("cuspan")), "replay", "--quiet", "--paced", "--repeat", "1000000" if is_wanted else "2", *options,
                     "--file", os.devnull, str(self.SERVICE)], stderr=subprocess.DEVNULL, start_new_session=True,
                    env={**CLEAN, "OTEL_METRICS_EXPORTER": metrics, "CUSPAN_REPLAY_SAMPLES": self.CHIP,
                         "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics"})
                seen = set()
                while program.poll() is None and "cuspan/samples" not in seen:
                    seen |= self.threads(program.pid)
                    time.sleep(0.01)
                if program.poll() is None:
                    os.killpg(program.pid, signal.SIGKILL)
                program.wait()
                self.assertEqual("cuspan/samples" in seen, is_wanted, seen)
                self.assertTrue(any(name.startswith("cuspan/") for name in seen), seen)

    def threads(self, pid):
        """The names of the threads of a process and of its children. Any of them may end meanwhile."""
        names = set()
        with contextlib.suppress(OSError):
            for tid, name in proc.threads(pid).items():
                names.add(name)
                with contextlib.suppress(OSError):
                    for child in Path(f"/proc/{pid}/task/{tid}/children").read_text().split():
                        names |= self.threads(child)
        return names

    def test_settings_that_can_not_be_together(self):
        for settings, variables, words in (
                ({"counters.sampling.metrics": "dram.read"}, {}, "samples are exported as metrics, which are disabled: set OTEL_METRICS_EXPORTER=otlp"),
                ({"counters.sampling.metrics": "dram.read", "counters.metrics": "dram.read"}, {"OTEL_METRICS_EXPORTER": "otlp"},
                 "a GPU's counters have one user at a time"),
                ({"counters.sampling.metrics": "x" * 60}, {"OTEL_METRICS_EXPORTER": "otlp"}, "counters.sampling.metrics: \"xxx"),
                ({"counters.sampling.interval_us": "10"}, {}, "counters.sampling.interval_us")):
            with self.subTest(words):
                done = subprocess.run([str(build("cuspan")), "check"], capture_output=True, text=True, check=False,
                                      env={**CLEAN, **variables, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items())})
                self.assertEqual((done.stdout + done.stderr).count(words), 1, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
