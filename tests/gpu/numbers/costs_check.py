#!/usr/bin/env python3
"""Checks the promised costs with a result of `tests/bench/run.sh gpu --apps steps,torch --configs
default,metrics,stat`. Called by numbers.sh.

    costs_check.py GPU.json OUT

Compared with tracing alone, metrics and `cuspan stat` add at most 2 % to a step that is bound by launches (pairs of the
same round, the median and its 95 % interval; only an interval entirely above the limit is a failure, because the noise
of these machines is wider). Memory stays within a bound. cuspan's own estimate of its time in callbacks is compared
with the measurement of libcuspan-timed.so in the same process.
"""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "bench")]
import paired  # noqa: E402
from checks import Checks  # noqa: E402

RATIO_MAX = 1.02
STEPS = {"steps": "step.median", "torch": "torch-step.median"}
# Of memory_bytes_max, metrics use 2 MiB and a sender 4. NVML, which metrics load, allocates some itself.
RESIDENT_MORE_MIB = 24
# Each timed call measures 10 to 50 ns too much, in addition to the 80 ns of a launch's callbacks (callback_time.h), and
# the clock around each callback adds some, too.
ESTIMATE = 0.5, 2.0


def ratio_of(checks, runs, app, config):
    ratio = paired.ratio(runs, app, config, "default", STEPS[app])
    if not ratio:
        checks.leave_out(f"{app} under {config}: no pair")
        return
    said = (f"{config} {ratio.median:.3f} x tracing alone ({ratio.low:.3f} to {ratio.high:.3f}, {len(ratio.values)} pairs"
            f"{'' if ratio.is_sure else ', too few for an interval'})")
    checks.figure(config, [ratio.median, ratio.low, ratio.high, len(ratio.values)], said)
    verdict = ("within" if ratio.high <= RATIO_MAX else "the median is within" if ratio.median <= RATIO_MAX else
               "open, the interval holds both sides of" if ratio.low <= RATIO_MAX else "ABOVE")
    checks.check(ratio.low <= RATIO_MAX, f"{said}: {verdict} {RATIO_MAX} x")


def losses_of(checks, runs, app, config):
    lost = [f"round {run['round']}: {run['agent']['losses']}" for run in runs if run["app"] == app and run["config"] == config
            and run.get("agent") and any((run["agent"].get("losses") or {}).values())]
    checks.none(lost, f"{config}: nothing is lost")


def memory_of(checks, runs):
    for config in "metrics", "stat":
        more = paired.difference(runs, "steps", config, "default", "resident")
        if more:
            checks.check(more.median <= RESIDENT_MORE_MIB,
                         f"{config}: the process has {more.median:+.1f} MiB resident ({more.low:+.1f} to {more.high:+.1f}), at most "
                         f"{RESIDENT_MORE_MIB}")
        else:
            checks.leave_out(f"memory under {config}: no pair")


def estimate_of(checks, callbacks):
    for app, found in callbacks.items():
        own = (found.get("agent") or {}).get("own") or {}
        # The estimate excludes interruptions by the system, above 20 us: so does this.
        measured = sum(kind["count"] * kind["usual_mean_ns"] for kind in found["kinds"].values())
        if not own.get("callback_ns") or not measured:
            checks.check(False, f"{app}: no estimate of the agent's ({own}) or nothing measured ({measured})")
            continue
        ratio = own["callback_ns"] / measured
        checks.figure(app, ratio, f"estimated {own['callback_ns'] / 1e6:.2f} ms from {own['callback_calls']} calls, measured "
                      f"{measured / 1e6:.2f} ms in {sum(kind['count'] for kind in found['kinds'].values())} callbacks")
        checks.check(ESTIMATE[0] <= ratio <= ESTIMATE[1], f"{app}: own time in callbacks is estimated as {ratio:.2f} x what was "
                                                          f"measured, from {ESTIMATE[0]} to {ESTIMATE[1]}")


def main():
    path, folder = sys.argv[1:]
    checks, found = Checks("costs", folder), {}
    checks.part("the benchmark", lambda: found.update(json.loads(Path(path).read_text())) or checks.none(
        found["problems"], f"has {len(found['runs'])} runs and no problem"))
    if not found:
        return checks.end()
    runs = found["runs"]
    for app in STEPS:
        if not any(run["app"] == app for run in runs):
            checks.leave_out(f"{app}: no runs")
            continue
        for config in "metrics", "stat":
            checks.part(f"cost in {app}", ratio_of, checks, runs, app, config)
        for config in "default", "metrics":
            checks.part(f"losses in {app}", losses_of, checks, runs, app, config)
    checks.part("memory", memory_of, checks, runs)
    checks.part("own time in callbacks", estimate_of, checks, found["callbacks"])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
