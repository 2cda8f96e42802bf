#!/usr/bin/env python3
"""Metrics of a run on a GPU: NVML's values (hw.*) compared with nvidia-smi at the same time, and the totals compared
with the tables of `cuspan stat` of the same run. Called by numbers.sh.

    hardware_test.py BUILD OUT CUPTI-LIBRARY STEADY      (steady.cu)
"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import Checks, Failure, clean_environment, run  # noqa: E402

SECONDS, INTERVAL_MS, HELD_MIB = 8, 1000, 512
TIMES = 50  # kernels of a millisecond keep the GPU busy, with some ten thousand spans
MIB = 2**20
# nvidia-smi and NVML are queried at most this far apart; each shows a mean over a part of it.
APART_S = 2.5
# The range of nvidia-smi's values within that time, plus this margin.
BOUNDS = {"hw.temperature gpu": 3, "hw.temperature memory": 3, "hw.power": 40, "hw.gpu.utilization": 0.35}
MEMORY_MIB = 64  # nvidia-smi excludes the driver's reserved part from used memory; it is added here
ENERGY = 0.35  # relative to nvidia-smi's power, times the time
FIELDS = ["uuid", "utilization.gpu", "memory.total", "memory.used", "memory.reserved", "temperature.gpu", "temperature.memory", "power.draw",
          "ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total", "serial"]
ECC = {f"ecc_{kind}": f"ecc.errors.{kind}.volatile.total" for kind in ("corrected", "uncorrected")}
CONFIGURATION = """file_format: "1.1"
tracer_provider:
  processors:
  - batch:
      exporter:
        otlp_file/development:
          output_stream: file://{spans}
meter_provider:
  readers:
  - periodic:
      interval: {interval}
      exporter:
        otlp_file/development:
          output_stream: file://{metrics}
distribution:
  cuspan:
    rings: {{total_bytes: 67108864}}
    memory_bytes_max: 268435456
    cupti: {{library: {cupti}}}
    accounts_file: {report}
"""


class Smi:
    """nvidia-smi, queried twice a second: [(seconds since 1970, {field: number})] of each GPU by UUID."""

    def __init__(self, path):
        self.samples = defaultdict(list)
        self.process = subprocess.Popen([path, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", "-lms", "500"],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment(),
                                        start_new_session=True)
        self.said = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for row in csv.reader(self.process.stdout, skipinitialspace=True):
            try:
                numbers = {field: float(value) if re.match(r"[\d.]+$", value) else None for field, value in zip(FIELDS[1:], row[1:])}
                self.samples[row[0]].append((time.time(), numbers))
            except (IndexError, ValueError):
                self.said.append(row)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.thread.join(5)
        self.process.stdout.close()


def value_of(point):
    """A point's number; OTLP JSON has integers as text."""
    return float(point["asInt"]) if "asInt" in point else point["asDouble"]


def attributes_of(point):
    return {pair["key"]: next(iter(pair["value"].values())) for pair in point.get("attributes", ())}


def points_of(path):
    """{metric, for a sensor with its location: [(attributes, point)]} in file order."""
    found = defaultdict(list)
    for line in Path(path).read_text().splitlines():
        for resource in json.loads(line).get("resourceMetrics", ()):
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    data = next(metric[key] for key in ("sum", "gauge", "histogram", "exponentialHistogram") if key in metric)
                    for point in data["dataPoints"]:
                        attributes = attributes_of(point)
                        kind = attributes.get("hw.sensor_location")
                        found[metric["name"] + (f" {kind}" if kind else "")].append((attributes, point))
    return found


def last_of(points):
    """{attributes: point}: all are cumulative, so a series' last point has the total."""
    return {tuple(sorted(attributes.items())): point for attributes, point in points}


class Hardware:
    def __init__(self, checks, build, folder, cupti, steady):
        self.checks, self.cuspan, self.cupti = checks, Path(build).resolve() / "cuspan", cupti
        self.folder, self.steady = Path(folder).resolve(), steady
        self.spans, self.metrics = self.folder / "spans.jsonl", self.folder / "metrics.jsonl"

    def run(self):
        """Runs the program with metrics, and nvidia-smi in parallel, starting before it."""
        path = shutil.which("nvidia-smi")
        if not path:
            self.checks.leave_out("no nvidia-smi on the PATH: hw.* is compared with nothing")
        for old in (self.spans, self.metrics, *self.folder.glob("report.*")):
            old.unlink(missing_ok=True)
        configuration = self.folder / "cuspan.yaml"
        configuration.write_text(CONFIGURATION.format(spans=self.spans, metrics=self.metrics, interval=INTERVAL_MS, cupti=self.cupti,
                                                      report=self.folder / "report"))
        smi = Smi(path) if path else None
        try:
            time.sleep(1.2 if smi else 0)
            self.began = time.time()
            self.done = run([self.cuspan, "run", "-q", "--config", configuration, "--", self.steady, "--seconds", SECONDS,
                             "--times", TIMES, "--mib", HELD_MIB], SECONDS + 40).wanted()
        finally:
            if smi:
                smi.close()
        self.samples = smi.samples if smi else {}
        (self.folder / "nvidia-smi.json").write_text(json.dumps(self.samples))
        self.points = points_of(self.metrics)
        self.checks.check(len(self.points["cuda.calls"]) > 1, f"metrics came {len(self.points['cuda.calls'])} times")
        if smi:
            self.checks.check(bool(self.samples), f"nvidia-smi answers: {sum(map(len, self.samples.values()))} times"
                              + (f"; it said {smi.said[:2]}" if not self.samples else ""))

    # --- NVML ---

    def near(self, uuid, point, field):
        """nvidia-smi's values around the time of the point."""
        at = int(point["timeUnixNano"]) / 1e9
        return [numbers[field] for when, numbers in self.samples.get(uuid, ()) if abs(when - at) <= APART_S
                and numbers.get(field) is not None]

    def within(self, metric, field, scale, bound):
        """Each point of the metric lies between nvidia-smi's minimum and maximum around it, plus or minus `bound`."""
        wrong, compared = [], 0
        for attributes, point in self.points[metric]:
            around = [value * scale for value in self.near(attributes.get("hw.parent", attributes["hw.id"]), point, field)]
            if not around:
                continue
            compared += 1
            value = value_of(point)
            if not min(around) - bound <= value <= max(around) + bound:
                wrong.append(f"{value:g}, where nvidia-smi has {min(around):g} to {max(around):g}")
        if self.points[metric] and not compared and self.samples:
            self.checks.check(False, f"{metric}: {len(self.points[metric])} points, and nvidia-smi has nothing of their GPU and time")
        elif not self.points[metric]:
            self.checks.check(False, f"{metric} has no point")
        else:
            self.checks.none(wrong, f"{metric}: {compared} points lie within {bound:g} of nvidia-smi's {field}")

    def hardware(self):
        if not self.samples:
            self.checks.leave_out("hw.*: nothing of nvidia-smi to compare with")
            return
        for metric, field, scale in (("hw.temperature gpu", "temperature.gpu", 1), ("hw.temperature memory", "temperature.memory", 1),
                                     ("hw.power", "power.draw", 1), ("hw.gpu.utilization", "utilization.gpu", 0.01)):
            self.within(metric, field, scale, BOUNDS[metric])
        for uuid, samples in self.samples.items():  # including reserved memory, as NVML counts it
            for _, numbers in samples:
                numbers["memory.taken"] = (numbers["memory.used"] or 0) + (numbers.get("memory.reserved") or 0)
        self.within("hw.gpu.memory.usage", "memory.taken", MIB, MEMORY_MIB * MIB)
        self.within("hw.gpu.memory.limit", "memory.total", MIB, MEMORY_MIB * MIB / 64)
        self.memory_rises()
        self.energy()
        self.health()

    def health(self):
        """The numbers of errors, the serial number and the state are nvidia-smi's; this GPU works, so it is ok or slowed down."""
        wrong, states, kinds = [], set(), set()
        for attributes, point in self.points["hw.errors"]:
            kinds.add(attributes["error.type"])
            field = ECC.get(attributes["error.type"])
            if field and (around := self.near(attributes["hw.id"], point, field)) and not min(around) <= value_of(point) <= max(around):
                wrong.append(f"{attributes['error.type']} {value_of(point):g}, where nvidia-smi has {around}")
            for _, numbers in self.samples.get(attributes["hw.id"], ()):
                if numbers["serial"] is not None and numbers["serial"] != float(attributes.get("hw.serial_number", "nan")):
                    wrong.append(f"serial number {attributes.get('hw.serial_number')}, where nvidia-smi has {numbers['serial']:.0f}")
                    break
        self.checks.none(wrong, f"hw.errors and hw.serial_number: {len(self.points['hw.errors'])} points of {sorted(kinds)} are nvidia-smi's")
        for attributes, point in self.points["hw.status"]:
            if value_of(point) == 1:
                states.add(attributes["hw.state"])
        self.checks.check(bool(states) and states <= {"ok", "degraded"}, f"hw.status is {sorted(states)}")

    def memory_rises(self):
        """While the program runs, used memory grows by at least what it holds."""
        for uuid, samples in self.samples.items():
            before = [numbers["memory.taken"] for when, numbers in samples if when < self.began]
            points = [value_of(point) / MIB for attributes, point in self.points["hw.gpu.memory.usage"] if attributes["hw.id"] == uuid]
            if before and points:
                rise = max(points) - max(before)
                self.checks.check(rise >= HELD_MIB, f"hw.gpu.memory.usage rises by {rise:.0f} MiB, of which the program holds {HELD_MIB}")

    def energy(self):
        for uuid, samples in self.samples.items():
            points = [(int(point["timeUnixNano"]) / 1e9, value_of(point)) for attributes, point in self.points["hw.energy"]
                      if attributes["hw.id"] == uuid]
            if len(points) < 3:
                self.checks.check(not points, f"hw.energy has {len(points)} points")
                continue
            (begin, first), (end, last) = points[0], points[-1]
            power = [numbers["power.draw"] for when, numbers in samples if begin <= when <= end and numbers["power.draw"] is not None]
            drawn = (last - first) / (end - begin)
            mean = sum(power) / len(power) if power else 0
            self.checks.check(power and abs(drawn - mean) <= ENERGY * mean, f"hw.energy: {drawn:.0f} W over {end - begin:.0f} s, "
                              f"nvidia-smi's mean is {mean:.0f} W, within {100 * ENERGY:.0f} %")

    # --- the program's own figures ---

    def totals(self):
        tables = json.loads(run([self.cuspan, "stat", "--json", "--top", "0", self.spans], 60).wanted().out)
        last = {name: last_of(points) for name, points in self.points.items()}

        def total(name):
            return sum(map(value_of, last[name].values()))

        def near(what, got, want):
            self.checks.check(abs(got - want) <= 1e-9 * max(abs(got), abs(want)) + 1e-12, f"{what}: {got:.9g}, in cuspan stat {want:.9g}")
        self.checks.check(total("cuda.calls") == tables["headline"][0]["calls"],
                          f"cuda.calls {total('cuda.calls'):.0f} are those of cuspan stat")
        near("cuda.call.time", total("cuda.call.time"), sum(row["total_ns"] for row in tables["calls"]) / 1e9)
        near("cuda.wait.time", total("cuda.wait.time"), sum(row["total_ns"] for row in tables["synchronization"]) / 1e9)
        near("cuda.gpu.busy_time", total("cuda.gpu.busy_time"), sum(row["busy_ns"] for row in tables["devices"]) / 1e9)
        kernels = {dict(key)["cuda.kernel.short_name"]: (int(point["count"]), point["sum"])
                   for key, point in last["cuda.kernel.duration"].items()}
        rows = {row["name"]: (row["count"], row["total_ns"] / 1e9) for row in tables["kernels"]}
        self.checks.check(kernels.keys() == rows.keys() and all(kernels[name][0] == rows[name][0] for name in rows),
                          f"kernels by name: {({name: count for name, (count, _) in kernels.items()})}")
        for name in kernels.keys() & rows.keys():
            near(f"time of {name}", kernels[name][1], rows[name][1])
        moved = total("cuda.memcpy.io") + total("cuda.memset.io")
        self.checks.check(moved == tables["headline"][0]["moved_bytes"], f"bytes moved: {moved:.0f} are those of cuspan stat")
        self.own_word(tables)

    def own_word(self, tables):
        """The figures that the program prints."""
        said = re.search(r"kernels (\d+) copies (\d+) copied (\d+) filled (\d+)", self.done.out)
        if not said:
            raise Failure(f"the program said {self.done.out!r}")
        head = tables["headline"][0]
        copies = sum(row["count"] for row in tables["copies"] if row["kind"] != "fill")
        self.checks.check((head["kernels"], copies, head["moved_bytes"]) == (int(said[1]), int(said[2]), int(said[3]) + int(said[4])),
                          f"the program's own word: {said[0]}")


def main():
    checks = Checks("hardware", sys.argv[2])
    hardware = Hardware(checks, *sys.argv[1:])
    checks.part("run", hardware.run)
    if hasattr(hardware, "points"):
        checks.part("NVML", hardware.hardware)
        checks.part("totals", hardware.totals)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
