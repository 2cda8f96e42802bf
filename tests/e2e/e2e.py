"""Sends every recording through the real agent to a real Jaeger and reads it back, directly and through a Collector.
Also decodes the payloads with an independent decoder. Called by tests/e2e/run.sh.

    e2e.py JAEGER-BINARY BUILD-DIR OUT-DIR [RECORDING...]
"""

import json
import os
import shlex
import subprocess
import sys
import time
import traceback
from pathlib import Path

from backend import ROOT, Collector, Jaeger
from compare import compare
from recording import read
from sink import Sink

sys.path.insert(0, str(ROOT / "tests/support"))
import requests_check  # noqa: E402

ZSTD_BYTES_MIN = 8192  # a few spans are smaller with gzip, which has smaller frames
REQUESTS = 320  # in the recording of a service
# These are not losses, but our own recordings have none of them.
NONE_OF = ("orphans", "clock_skew", "pending_evicted", "batches_resent")

TWO_OUTPUTS = """
file_format: "1.1"
resource: {{attributes: [{{name: service.name, value: e2e}}]}}
tracer_provider:
  processors:
    - batch:
        exporter: {{otlp_http: {{endpoint: "http://localhost:{port}/protobuf", encoding: protobuf, compression: gzip}}}}
    - batch:
        exporter: {{otlp_http: {{endpoint: "http://localhost:{port}/json", encoding: json}}}}
"""


class Runner:
    def __init__(self, build, out):
        self.build, self.out = Path(build), Path(out)
        self.passed, self.failed = 0, []

    def case(self, name, function, *arguments, **more):
        began = time.monotonic()
        try:
            found = function(*arguments, **more)
        except Exception:  # a case that breaks must not hide the others
            found = [traceback.format_exc(limit=-1)]
        verdict = "not ok" if found else "ok"
        print(f"{verdict} {name} ({time.monotonic() - began:.1f} s)", flush=True)
        for line in found:
            print("    " + line.replace("\n", "\n    "))
        if found:
            self.failed.append(name)
        else:
            self.passed += 1

    def replay(self, recording, *options, env=None):
        """Runs the agent on the recording. Returns its report, after all spans were delivered or lost."""
        for old in self.out.glob("report.*"):
            old.unlink()
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("OTEL_", "CUSPAN_")) and key not in ("TRACEPARENT", "TRACESTATE")}
        environment.update(env or {})
        command = [self.build / "cuspan", "replay", "--set", f"accounts_file={self.out}/report", *options, str(recording)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)
        reports = list(self.out.glob("report.*"))
        if done.returncode != 0 or len(reports) != 1:
            raise RuntimeError(f"cuspan replay: exit status {done.returncode}, {len(reports)} reports: {done.stdout}")
        return json.loads(reports[0].read_text())

    def to_backend(self, path, port, jaeger, *options, detail="default", protocol="http/protobuf", env=None):
        """Replays, reads back from Jaeger, compares."""
        report = self.replay(path, "--endpoint", f"http://localhost:{port}", "--protocol", protocol,
                             "--set", f"detail={detail}", *options, env=env)
        found = check_report(report)
        spans = jaeger.traces(report["traces"], report["spans"])
        if len(spans) != report["delivered"]:
            found.append(f"delivered {report['delivered']}, in Jaeger {len(spans)}")
        recording = read(path)
        # With less detail than was recorded, calls without GPU work may be missing.
        found += compare(recording, spans, every_call=recording.info["detail"] == detail)
        for trace_id in report["traces"]:
            found += [f"Jaeger warns: {warning}" for warning in jaeger.warnings(trace_id)[:5]]
        return found

    def zstd_to_jaeger(self, path, port, jaeger, protocol):
        """Checks that the payloads are complete, and smaller than with gzip unless there are few spans."""
        bytes_of = {}
        found = []
        whole_batches = {"OTEL_BSP_SCHEDULE_DELAY": "60000"}  # a busy machine would send more and smaller ones
        for compression in ("gzip", "zstd"):
            found += self.to_backend(path, port, jaeger, "--set", f"compression={compression}", protocol=protocol,
                                     env=whole_batches)
            report, = self.out.glob("report.*")
            bytes_of[compression] = json.loads(report.read_text())["counters"]["bytes_sent"]
        if bytes_of["zstd"] >= bytes_of["gzip"] > ZSTD_BYTES_MIN:
            found.append(f"bytes sent: {bytes_of}")
        return found

    def requests_to_jaeger(self, path, jaeger):
        """Each request of the recorded service (tests/gpu/programs/requests.cu) is read back by its trace ID and has
        exactly its spans."""
        report = self.replay(path, "--endpoint", f"http://localhost:{jaeger.otlp_http}")
        traces = [requests_check.trace_of(n) for n in requests_check.sampled(REQUESTS)]
        spans = jaeger.traces(traces + report["traces"], report["spans"])
        found = check_report(report) + list(requests_check.check(spans, REQUESTS))
        if len(spans) != report["delivered"]:
            found.append(f"delivered {report['delivered']}, in Jaeger {len(spans)}")
        return found

    def run_two(self, path, *options):
        """Two processes of one command, which are one trace. Returns their reports."""
        for old in self.out.glob("report.*"):
            old.unlink()
        host = [self.build / "agent_host", self.build / "libcuspan.so", self.build / "libcuspan-replay.so", path]
        script = 2 * (shlex.join(map(str, host)) + "; ") + "true"
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("OTEL_", "CUSPAN_")) and key not in ("TRACEPARENT", "TRACESTATE")}
        command = [self.build / "cuspan", "run", "--set", f"cupti.library={self.build}/libcuspan-replay.so", "--set", "on_signal=",
                   "--set", f"accounts_file={self.out}/report", *options, "sh", "-c", script]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, timeout=120, check=True)
        return [json.loads(report.read_text()) for report in self.out.glob("report.*")]

    def skew(self, path, jaeger):
        """Jaeger moves spans that are not within their parents, and warns, unless the address of both resources is the same.
        Here these are two processes, and the host and its GPU."""
        found = []
        for setting, warns in ("resource_ip=true", False), ("resource_ip=false", True):
            reports = self.run_two(path, "--endpoint", f"http://localhost:{jaeger.otlp_http}", "--set", setting)
            found += [line for report in reports for line in check_report(report)]
            traces = {trace for report in reports for trace in report["traces"]}
            spans = jaeger.traces(traces, sum(report["spans"] for report in reports) + 1)
            pids = {span.resource["process.pid"] for span in spans if any(key.startswith("hw.") for key in span.resource)}
            if len(traces) != 1 or len(pids) != 2:
                found.append(f"{len(traces)} traces, GPU work of processes {pids}")
            warnings = [warning for trace in traces for warning in jaeger.warnings(trace)]
            if warns != any("clock skew" in warning for warning in warnings) or (warnings and not warns):
                found.append(f"{setting}: Jaeger warns {len(warnings)} times: {warnings[:5]}")
        return found

    def payloads(self, path):
        """One run with two outputs, protobuf with gzip and JSON. Decoded independently, they are equal."""
        sink = Sink()
        try:
            config = self.out / "two-outputs.yaml"
            config.write_text(TWO_OUTPUTS.format(port=sink.port))
            report = self.replay(path, "--config", str(config))
        finally:
            sink.close()
        found = check_report(report, outputs=2)
        files = {kind: self.save(kind, sink.requests) for kind in ("protobuf", "json")}
        decoded = subprocess.run([sys.executable, ROOT / "tests/support/otlp_decode.py",
                                  "--protobuf", *files["protobuf"], "--json", *files["json"]],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        count = f"protobuf: {report['spans']} spans"
        if decoded.returncode != 0 or count not in decoded.stdout:
            found.append(f"should say {count!r}: {decoded.stdout}")
        wanted = {"/protobuf": "application/x-protobuf", "/json": "application/json"}
        found += [f"{r.path} came as {r.headers['Content-Type']}" for r in sink.requests
                  if r.headers["Content-Type"] != wanted[r.path]][:1]
        found += [f"User-Agent is {r.headers.get('User-Agent')}" for r in sink.requests
                  if not r.headers.get("User-Agent", "").startswith("cuspan/")][:1]
        return found

    def save(self, kind, requests):
        files = []
        for request in requests:
            if request.path == "/" + kind:
                files.append(self.out / f"{len(files):04d}.{kind}")
                files[-1].write_bytes(request.body)
        return files


def check_report(report, outputs=1):
    found = [f"lost: {name} {count}" for name, count in report["losses"].items() if count]
    found += [f"counted: {name} {report['counters'][name]}" for name in NONE_OF if report["counters"].get(name)]
    delivered = [output["delivered"] for output in report["outputs"]]
    if delivered != outputs * [report["spans"]] or not report["spans"]:
        found.append(f"{report['spans']} spans, {delivered} delivered")
    if len(report["traces"]) != report["trace_count"]:
        found.append(f"{report['trace_count']} traces, {len(report['traces'])} in the report")
    return found


def main():
    binary, build, out = sys.argv[1:4]
    recordings = [Path(p) for p in sys.argv[4:]]
    runner = Runner(build, out)
    jaeger = Jaeger(binary, out)
    collector = None
    try:
        collector = Collector(binary, out, jaeger)
        for path in recordings:
            if path.stem == "service":  # once: its trace IDs are the requests' own
                runner.case("service: each request's trace in Jaeger", runner.requests_to_jaeger, path, jaeger)
                runner.case("service, payloads decoded", runner.payloads, path)
                continue
            to_jaeger, to_collector = (path, jaeger.otlp_http, jaeger), (path, collector.otlp_http, jaeger)
            all_of_it = read(path).info["detail"]
            runner.case(f"{path.stem} to Jaeger", runner.to_backend, *to_jaeger, detail=all_of_it)
            runner.case(f"{path.stem} through a Collector", runner.to_backend, *to_collector, detail=all_of_it)
            runner.case(f"{path.stem} with default detail", runner.to_backend, *to_jaeger)
            runner.case(f"{path.stem} by CUPTI's classic calls", runner.to_backend, *to_jaeger, "--api", "classic",
                        detail=all_of_it)
            runner.case(f"{path.stem} by the CUPTI of CUDA 12.0", runner.to_backend, *to_jaeger,
                        "--cupti-version", "12.0")
            runner.case(f"{path.stem}, payloads decoded", runner.payloads, path)
        first = next((path for path in recordings if path.stem != "service"), recordings[0])
        runner.case(f"{first.stem}: clock skew in Jaeger", runner.skew, first, jaeger)
        runner.case(f"{first.stem} as JSON", runner.to_backend, first, jaeger.otlp_http, jaeger, protocol="http/json")
        runner.case(f"{first.stem} by gRPC", runner.to_backend, first, jaeger.otlp_grpc, jaeger, protocol="grpc")
        runner.case(f"{first.stem} by gRPC through a Collector", runner.to_backend, first, collector.otlp_grpc, jaeger,
                    protocol="grpc")
        for protocol, port in (("http/protobuf", jaeger.otlp_http), ("grpc", jaeger.otlp_grpc)):
            runner.case(f"{first.stem} with zstd by {protocol}", runner.zstd_to_jaeger, first, port, jaeger, protocol)
        runner.case(f"{first.stem} with zstd through a Collector", runner.zstd_to_jaeger, first, collector.otlp_http, jaeger,
                    "http/protobuf")
    finally:
        if collector:
            collector.close()
        jaeger.close()
    print(f"{runner.passed} passed, {len(runner.failed)} failed, 0 skipped")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
