"""Compares the decisions of our ratio sampler with those of OpenTelemetry's SDK for Python, trace by trace.

    sampler_sdk.py SAMPLER_DECISIONS

The SDK has two: the composable one implements the specification's thresholds, and must agree in every decision and in
the tracestate. The classic TraceIdRatioBased uses other bits of the ID in another direction. It does not agree, which
shows that the comparison can fail.
"""

import random
import subprocess
import sys

from opentelemetry.sdk.trace._sampling_experimental import composable_traceid_ratio_based, composite_sampler
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import TraceState

IDS = 10_000
RATIOS = ["1", "0.999", "0.75", "0.5", "0.3333333333333333", "0.1", "0.01", "0.0001", "1e-16", "0"]


def make_traces(chance):
    """Half have no entry of ours in their tracestate; the others have other members, explicit randomness, an old
    threshold."""
    kinds = [lambda: "-", lambda: "-", lambda: f"vendor=1,ot=rv:{chance.getrandbits(56):014x}",
             lambda: f"ot=th:c;rv:{chance.getrandbits(56):014x},vendor=2", lambda: "a=1,ot=th:8,b=2"]
    return [(f"{chance.getrandbits(128) | 1 << 127:032x}", kinds[i % len(kinds)]()) for i in range(IDS)]


def ours(program, ratio, traces):
    lines = "".join(f"{trace} {state}\n" for trace, state in traces)
    done = subprocess.run([program, ratio], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split(" ", 1) for line in done.stdout.splitlines()]


def members(state):
    """A tracestate in a comparable form: the order of members, and of the parts of ot, does not matter."""
    pairs = dict(member.split("=", 1) for member in state.split(",")) if state != "-" else {}
    return {key: sorted(value.split(";")) if key == "ot" else value for key, value in pairs.items()}


def theirs(sampler, trace, state):
    before = TraceState.from_header([state]) if state != "-" else None
    result = sampler.should_sample(None, int(trace, 16), "span", trace_state=before)
    after = result.trace_state.to_header() if result.trace_state else "-"
    return result.decision == Decision.RECORD_AND_SAMPLE, after or "-"


def compare(program, ratio, traces):
    """The differences from the composable sampler, and how many decisions differ from the classic one's."""
    composable = composite_sampler(composable_traceid_ratio_based(float(ratio)))
    classic = TraceIdRatioBased(float(ratio))
    decisions = ours(program, ratio, traces)
    wrong, classic_differs, sampled = [], 0, 0
    if len(decisions) != len(traces):
        return [f"{len(decisions)} decisions"], 0
    for (trace, state), (decision, after) in zip(traces, decisions):
        is_sampled, want = theirs(composable, trace, state)
        sampled += is_sampled
        if (decision == "1") != is_sampled:
            wrong.append(f"{trace} {state}: {decision}, the SDK says {is_sampled}")
        elif is_sampled and members(after) != members(want):
            wrong.append(f"{trace} {state}: {after}, the SDK says {want}")
        classic_differs += (decision == "1") != theirs(classic, trace, state)[0]
    print(f"ratio {ratio}: {sampled} of {len(traces)} sampled, {len(wrong)} differ, {classic_differs} from the classic")
    return wrong, classic_differs


def main():
    chance = random.Random(20261121)
    failed, classic_differs = False, 0
    for ratio in RATIOS:
        wrong, differs = compare(sys.argv[1], ratio, make_traces(chance))
        failed |= bool(wrong)
        classic_differs += differs
        print("\n".join(wrong[:5]), end="\n" if wrong else "")
    if not classic_differs:
        print("the classic sampler agrees as well: nothing was compared")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
