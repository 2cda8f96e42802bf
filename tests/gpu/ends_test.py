"""Ends a program on a real GPU in every way (ends.cu), with and without the agent: output and exit status are the same. If
exit handlers run, every launch has its span. Otherwise only the last moment is missing. Called by ends.sh.

    ends_test.py BUILD-DIR OUT-DIR CUPTI-LIBRARY [HOW...]
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gpu_test  # noqa: E402

# Exit handlers run: every span is delivered or counted.
HANDLED = ["return", "exit-in-thread", "quick-exit", "reset", "context"]
# A fatal error stops a kernel and those queued behind it: the kernel's name, and the error that calls return.
STOPPED = {"fatal": ("wild", "cudaErrorIllegalAddress"), "assert": ("asserts", "cudaErrorAssert")}
# Exit handlers run only with on_signal. Otherwise the spans of the last moment are lost.
SIGNALS = ["term", "int"]
UNHANDLED = ["_exit", "exception", "abort", "segv", "kill"]
UNHANDLED_SECONDS = 4
LATEST_S = 2.5  # flush_interval_ms and schedule_delay are 1 s each; the rest is for a busy machine


class Ends(gpu_test.Test):
    def ended(self, way, cupti, seconds, settings=""):
        """(what differs from the bare program, spans of GPU work, launches that it printed, report or None)"""
        program = [self.out / "ends", *way, str(seconds)]
        bare = self.run([*program[:2], "0"], limit=20)
        began = time.monotonic()
        done, spans, reports = self.traced(program, cupti, "when-used", settings=settings)
        took = time.monotonic() - began - seconds
        launched = max((int(line) for line in done.stdout.split() if line.isdigit()), default=0)
        found = []
        words = [line for line in done.stdout.split() if not line.isdigit()]
        if done.returncode != bare.returncode or words != [line for line in bare.stdout.split() if not line.isdigit()]:
            found.append(f"status and output {bare.returncode} {bare.stdout!r}, under the agent {done.returncode} {done.stdout!r}")
        if took > 20:
            found.append(f"it took {took:.1f} s more than its work")
        if not launched:
            found.append(f"nothing was launched: {done.stderr!r}")
        work = [span for span in spans if span.attributes.get("cuda.activity") == "kernel"]
        return found, work, launched, reports[0] if reports else None

    def check_stopped(self, way, cupti):
        """The stopped kernel and those queued behind it are spans with the error, or count as lost to it."""
        found, kernels, launched, report = self.ended(way, cupti, 0)
        name, error = STOPPED[way[0]]
        whole = [span for span in kernels if "cuda.unfinished" not in span.attributes]
        stopped = [span for span in kernels if "cuda.unfinished" in span.attributes]
        losses = report["losses"] if report else {}
        if not report:
            found.append("there is no report")
        # After a fatal error CUPTI may give nothing more: then every launch has a span or is counted.
        if sum(span.name == "work" for span in whole) + sum(losses.values()) < launched:
            found.append(f"{launched} launches, {len(whole)} whole spans, {losses}")
        if not any(span.name == name for span in stopped) and not losses.keys() & {"lost_context_error", "lost_after_error"}:
            found.append(f"{name} is neither a span nor lost to the error: {losses}, stopped {[s.name for s in stopped]}")
        if losses.keys() & {"lost_zero_timestamps", "lost_cupti_dropped"}:
            found.append(f"lost for another reason: {losses}")
        if any(span.name == name for span in whole):
            found.append(f"{name} has a whole span")
        for span in stopped:
            if (span.status, span.attributes.get("error.type")) != (2, error) or span.end_ns <= span.start_ns:
                found.append(f"{span}")
        return found, {"launched": launched, "whole": len(whole), "stopped": len(stopped), **losses}

    def check_handled(self, way, cupti, settings=""):
        found, work, launched, report = self.ended(way, cupti, 0, settings)
        lost = sum(report["losses"].values()) if report else 0
        if not report or report["state"] != "ended":
            found.append("there is no final report")
        elif len(work) != launched or lost:
            found.append(f"{launched} launches, {len(work)} spans, {report['losses']}")
        return found, {"launched": launched, "spans": len(work), "lost": lost}

    def check_on_signal(self, way, cupti):
        return self.check_handled(way, cupti, f";on_signal={way[0].upper()}")

    def check_unhandled(self, way, cupti):
        found, work, launched, _ = self.ended(way, cupti, UNHANDLED_SECONDS)
        pace = launched / UNHANDLED_SECONDS
        missing = (launched - len(work)) / pace if pace else 0
        if missing > LATEST_S:
            found.append(f"{launched} launches, {len(work)} spans: the last {missing:.1f} s are missing")
        return found, {"launched": launched, "spans": len(work), "missing_s": round(missing, 2)}

    def check_attached(self, _, cupti):
        """Starts and stops tracing from outside, many times, while the program launches."""
        cuspan, found, answers = self.build / "cuspan", [], []
        trace = self.out / "trace.jsonl"
        for old in (trace, *self.out.glob("report.*")):
            old.unlink(missing_ok=True)
        environment = {"CUDA_INJECTION64_PATH": str(self.build.resolve() / "libcuspan.so"),
                       "CUSPAN_SET": f"cupti.library={cupti};output_file={trace};accounts_file={self.out}/report;start_on=control"}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "CUDA_INJ"))}
        with subprocess.Popen([str(self.out / "ends"), "return", "12"], env={**clean, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            time.sleep(2)
            if any("libcupti" in line for line in Path(f"/proc/{program.pid}/maps").read_text().splitlines()):
                found.append("CUPTI is loaded before anyone has asked")
            for _ in range(20):
                for verb in ("start", "stop"):
                    done = self.run([cuspan, verb, str(program.pid)])
                    if done.returncode:
                        answers.append(f"{verb}: {done.stdout}{done.stderr}")
                    time.sleep(0.15)
            status = self.run([cuspan, "status", "--json", str(program.pid)])
            out, err = program.communicate(timeout=60)
        found += answers[:3]
        if program.returncode:
            found.append(f"status {program.returncode}: {err!r}")
        spans = [span for line in trace.read_text().splitlines() for span in gpu_test.spans_of(json.loads(line))]
        work = [span for span in spans if span.name == "work" and "cuda.activity" in span.attributes]
        strays = [span for span in spans if "cuda.orphan" in span.attributes]
        (report,) = [json.loads(path.read_text()) for path in self.out.glob("report.*")]
        if not work or len(work) >= int(out.split()[0]) or strays:
            found.append(f"{out.split()[0]} launches, {len(work)} spans, {len(strays)} orphans")
        if not status.stdout:
            found.append(f"status says nothing: {status.stderr!r}")
        return found + gpu_test.lost_in(report), {"spans": len(work), "sleeps": report["counters"]["sleeps"]}


def main():
    build, out, cupti = sys.argv[1:4]
    test = Ends(build, out, None)
    checks = [(HANDLED, test.check_handled), (STOPPED, test.check_stopped), (SIGNALS, test.check_on_signal),
              (UNHANDLED + SIGNALS, test.check_unhandled), (["attached"], test.check_attached)]
    for hows, check in checks:
        for how in hows:
            if how in sys.argv[4:] or not sys.argv[4:]:
                test.case([how], cupti, check)
    print(f"{test.passed} passed, {test.failed} failed, 0 skipped")
    return 1 if test.failed or not test.passed else 0


if __name__ == "__main__":
    sys.exit(main())
