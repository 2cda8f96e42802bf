#!/usr/bin/env python3
"""Hardware counters on a real GPU: the counts of kernels with known bytes and operations are right within 1 %, nothing
else changes, and the cost is measured. Called by counters.sh.

    counters_test.py BUILD-DIR OUT-DIR COUNTERS-PROGRAM [CUPTI-LIBRARY]
"""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

BUILD, OUT, PROGRAM = (Path(path).resolve() for path in sys.argv[1:4])
CUPTI = sys.argv[4] if len(sys.argv) > 4 else None
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "CUDA_INJ"))}
passed = failed = 0


def check(name, problem):
    """`problem` None: no problem."""
    global passed, failed
    print(f"passed: {name}" if problem is None else f"failed: {name}: {problem!r}", flush=True)
    passed, failed = passed + (problem is None), failed + (problem is not None)


def equal(seen, wanted):
    return None if seen == wanted else f"{seen}, not {wanted}"


def command(*arguments, timeout=120):
    return subprocess.run([str(a) for a in arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                          check=False, env=CLEAN)


class Run:
    def __init__(self, name, what, *program, **settings):
        self.trace, self.report = OUT / f"counters-{name}.jsonl", OUT / f"counters-{name}.report"
        self.trace.unlink(missing_ok=True)
        for old in OUT.glob(self.report.name + "*"):
            old.unlink()
        chosen = {"accounts_file": self.report, **({"cupti.library": CUPTI} if CUPTI else {}), **settings}
        words = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
        try:
            self.done = command(BUILD / "cuspan", "run", "--file", self.trace, *words, "--", PROGRAM, what, *program)
        except subprocess.TimeoutExpired as late:
            self.done = subprocess.CompletedProcess([], "hangs", "", (late.stderr or b"").decode())
        self.err = self.done.stderr
        self.counters = {}
        for path in OUT.glob(self.report.name + ".*"):
            self.counters = json.loads(path.read_text())["counters"]
        self.spans = []
        for line in self.trace.read_text().splitlines() if self.trace.exists() else []:
            for group in json.loads(line)["resourceSpans"]:
                self.spans += [span for scope in group["scopeSpans"] for span in scope["spans"]]

    def launch_us(self):
        found = re.search(r"launch_us ([0-9.]+)", self.err)
        return float(found[1]) if found else None

    def kernels(self, name):
        return [span for span in self.spans if span["name"] == name]

    def counts(self, name):
        """The values of each counted span with this name."""
        found = []
        for span in self.kernels(name):
            values = {a["key"].removeprefix("cuda.counter."): a["value"]["doubleValue"] for a in span["attributes"]
                      if a["key"].startswith("cuda.counter.")}
            if values:
                found.append(values)
        return found


class Sink(http.server.BaseHTTPRequestHandler):
    """Receives metrics as JSON."""
    bodies = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/metrics"):
            self.bodies.append(json.loads(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def samples():
    """The throughput of the whole GPU over time equals that of copies with known bytes."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told = subprocess.run([str(word) for word in (
        BUILD / "cuspan", "run", *(("--set", f"cupti.library={CUPTI}") if CUPTI else ()), "--set",
        "counters.sampling.metrics=dram.read,dram.write", "--", PROGRAM, "samples", "1024")], check=False, capture_output=True, text=True,
        timeout=60, env={**CLEAN, "OTEL_METRICS_EXPORTER": "otlp", "OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
                         "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "OTEL_METRIC_EXPORT_INTERVAL": "1000",
                         "OTEL_EXPORTER_OTLP_COMPRESSION": "none"})
    server.shutdown()
    found = {"dram.read": [], "dram.write": []}
    for body in Sink.bodies:
        for metric in (m for r in body["resourceMetrics"] for scope in r["scopeMetrics"] for m in scope["metrics"]):
            for point in metric["gauge"]["dataPoints"] if metric["name"] == "cuda.counter.throughput" else []:
                key = {a["key"]: a["value"].get("stringValue") for a in point["attributes"]}
                if key["cuda.counter.statistic"] == "mean":
                    found[key["cuda.counter.name"]].append(point.get("asDouble", 0))
    said = re.search(r"rate ([0-9.e+]+)", told.stderr)
    rate = float(said[1]) if said else 0
    print(f"  over time: {[round(value / 1e9, 1) for value in found['dram.read']]} GB/s read, copies at {rate / 1e9:.1f} GB/s")
    for name, values in found.items():
        # The first interval also has the time before the copies, the last one the time after them.
        check(f"samples of {name}", off_by(values[1:-1], rate) if rate and len(values) > 2 else told.stderr or values)


def off_by(values, wanted):
    """The values that differ by more than 1 %, or None."""
    if not values:
        return "nothing was counted"
    worst = max(values, key=lambda value: abs(value - wanted))
    return None if abs(worst - wanted) <= 0.01 * wanted else f"{worst:.0f}, not {wanted:.0f} ({100 * (worst / wanted - 1):+.2f} %)"


def well(run):
    """The program's output is the same as without counters, and no kernel of the profiler is reported as the
    program's."""
    if run.done.returncode:
        return run.err
    return None if not run.kernels("WaitNs") else "spans of the profiler's own kernel"


def listing():
    told = command(BUILD / "cuspan", "counters", "--json", *(("--cupti", CUPTI) if CUPTI else ()))
    gpus = json.loads(told.stdout) if told.returncode == 0 else []
    described = sum(bool(metric["description"]) for gpu in gpus[:1] for metric in gpu["metrics"])
    check("the chip's metrics are listed, with descriptions",
          None if gpus and described > 0.95 * len(gpus[0]["metrics"]) > 500 else told.stderr or f"{described}")
    if gpus:
        print(f"  {gpus[0]['gpu']} ({gpus[0]['chip']}): {len(gpus[0]['metrics'])} metrics; plain names: {gpus[0]['plain']}")
        for name in gpus[0]["plain"]:
            print(f"    {name}: {passes(name)}")
    for some in ("dram.read,dram.write,dram.utilization", "l1.hit_rate,l2.hit_rate", "fma,fp64,instructions",
                 "occupancy,sm.utilization", "dram.read,dram.write,fma,instructions", "dram.read,dram.write,l2.hit_rate,instructions"):
        print(f"  {some}: {passes(some)}")


def passes(some):
    told = command(BUILD / "cuspan", "counters", "--passes", some, *(("--cupti", CUPTI) if CUPTI else ()))
    return (told.stdout.splitlines() or [told.stderr])[-1].strip()


def average(values):
    return sum(values) / len(values) if values else float("nan")


def main():
    listing()
    plain = Run("none", "mixed")
    print(f"  without counters: {plain.launch_us()} us a launch")
    known = dict(line.split() for line in plain.done.stdout.splitlines())
    check("the program runs", None if plain.done.returncode == 0 else plain.err)
    launches, copy_bytes, fma = int(known["launches"]), float(known["copy_bytes"]), float(known["fma"])

    run = Run("copy", "copy", **{"counters.metrics": "dram.read,dram.write,dram.utilization", "counters.period": 1})
    counts = run.counts("copy_floats")
    print(f"  each copy counted: {run.launch_us()} us a launch; {run.counters.get('gpu_counts')} counts, "
          f"{run.counters.get('gpu_counts_lost')} lost; {[line for line in run.err.splitlines() if 'counters' in line]}")
    took = average([int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) for span in run.kernels("copy_floats")])
    print(f"  {2 * copy_bytes / took:.0f} GB/s by the spans, which is {average([c['dram.utilization'] for c in counts]):.1f} % of the peak")
    check("output and status are as without", equal((run.done.returncode, run.done.stdout), (0, command(PROGRAM, "copy").stdout)))
    check("each copy is counted", equal(len(counts), launches))
    check("bytes read", off_by([c["dram.read"] for c in counts], copy_bytes))
    check("bytes written", off_by([c["dram.write"] for c in counts], copy_bytes))
    check("all kernels have their spans", equal(len(run.kernels("copy_floats")), launches))
    check("and no others", well(run))

    run = Run("fma", "fma", **{"counters.metrics": "fma", "counters.period": 1})
    print(f"  each multiplication counted: {run.launch_us()} us a launch; {run.counts('multiply_add')[:1]}")
    check("each multiplication is counted", equal(len(run.counts("multiply_add")), launches))
    check("operations", off_by([c["fma"] for c in run.counts("multiply_add")], fma))
    check("and no other kernels", well(run))

    run = Run("few", "mixed", **{"counters.metrics": "dram.read", "counters.period": 5})
    counted = len(run.counts("copy_floats")) + len(run.counts("multiply_add"))
    print(f"  one in five counted: {run.launch_us()} us a launch")
    check("one launch in five", equal(counted, (launches + 4) // 5))

    run = Run("nccl", "nccl", **{"counters.metrics": "dram.read", "counters.period": 1})
    check("kernels like NCCL's are never counted", equal((run.counts("ncclDevKernel_made_up"), run.done.returncode,
                                                          len(run.kernels("ncclDevKernel_made_up"))), ([], 0, launches)))

    run = Run("threads", "threads", **{"counters.metrics": "fma", "counters.period": 1})
    counts = [c["fma"] for c in run.counts("multiply_add")]
    print(f"  four threads: {run.counters.get('gpu_counts')} counted, {run.counters.get('gpu_counts_lost')} spoilt, {run.launch_us()} us a launch")
    check("four threads at once: what is counted is right", well(run) or (off_by(counts, fma) if counts else None))

    run = Run("range", "range", **{"counters.metrics": "fma", "counters.ranges": "counted", "counters.period": 1})
    check("a range", well(run) or off_by([c["fma"] for c in run.counts("counted")], fma * launches))

    run = Run("loop", "loop", **{"counters.metrics": "dram.read,dram.write,l2.hit_rate,instructions,fma,occupancy", "counters.ranges": "looped",
                                 "counters.replay": "loop", "counters.period": 1})
    counts, runs = run.counts("looped"), re.search(r"runs (\d+)", run.err)
    print(f"  a loop: {runs and runs[0]}: {counts}")
    check("a loop runs as often as its counters need", well(run) or (None if runs and int(runs[1]) > 1 else run.err))
    check("a loop: bytes", off_by([c["dram.read"] for c in counts], copy_bytes))
    run = Run("loop-patched", "loop", **{"counters.metrics": "fp32.fma,instructions", "counters.ranges": "looped",
                                         "counters.replay": "loop", "counters.period": 1})
    check("a loop counts nothing by patched code", None if "set counters.replay to kernel" in run.err and not run.counts("looped") else run.err)

    many = "dram.read,dram.write,l1.hit_rate,l2.hit_rate,fp32.fma,instructions,occupancy,sm.utilization,dram.utilization"
    run = Run("patched", "fma", **{"counters.metrics": "fp32.fma", "counters.period": 1})
    check("what needs another run is refused", None if "set counters.replay to kernel" in run.err and not run.counts("multiply_add") else run.err)
    for name, metrics in (("replay", many), ("replay-one", "fp32.fma")):
        run = Run(name, "mixed", "256", **{"counters.metrics": metrics, "counters.period": 1, "counters.replay": "kernel",
                                           "counters.kernels.allow": "multiply_add"})
        counts = run.counts("multiply_add")
        refused = re.search(r"no hardware counters: with CUPTI (\d+)\.(\d+), kernels that run again", run.err)
        if refused and (int(refused[1]), int(refused[2])) < (13, 2):
            check(f"kernels that run again ({name}): refused, and all have spans", equal(len(run.kernels("multiply_add")), launches // 2))
            continue
        print(f"  kernels run again: {run.launch_us()} us a launch; {counts[:1]}; {[line for line in run.err.splitlines() if 'counters' in line]}")
        check(f"kernels that run again ({name})", well(run) or off_by([c.get("fp32.fma", 0) for c in counts], fma))
        check(f"and only those ({name})", equal((len(counts), run.counts("copy_floats")), (launches // 2, [])))

    samples()

    run = Run("unknown", "fma", **{"counters.metrics": "no__such.sum"})
    check("a metric that the chip lacks is said", None if 'has no metric "no__such.sum"' in run.err and run.done.returncode == 0 else run.err)
    print(f"counters: {passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
