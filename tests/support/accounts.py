"""Whether an agent's counters add up: the sums of src/base/accounting/balance.c, computed again from a report or a
status.

    differences(report)     the differences as text; empty if there are none
"""

# Everything captured, or made by the agent itself, and what can become of it.
SOURCES = ("calls_captured", "activities_captured", "ranges_captured", "marks_captured", "sessions", "summaries",
           "collectives", "roots", "engine_request_spans", "iteration_summaries", "step_copies")
FATES = ("spans_created", "spans_filtered", "spans_unsampled", "sessions_unsampled", "spans_summed", "spans_left_out", "marks_as_events",
         "facts", "asleep_records", "lost_backwards", "lost_zero_timestamps", "lost_context_error",
         "lost_unmade", "lost_broken")
# Losses of an output's spans. All other losses are of captured data that did not become a span.
OF_OUTPUTS = ("lost_queue_full", "lost_too_large", "lost_rejected", "lost_refused", "lost_unreachable", "lost_deadline",
              "lost_output", "lost_spool_full", "lost_spool_damaged")


def differences(report, has_ended=True):
    found = []

    def expect(what, one, other):
        if one != other:
            found.append(f"{what}: {one} and {other}")

    counters = report["counters"]
    outputs = report["outputs"]
    held = report.get("held", 0)
    expect("losses and their counters", report["losses"],
           {name: count for name, count in counters.items() if name.startswith("lost_") and count})
    if "recording" in report:
        expect("events and records written", report["events"] - counters["lost_recording"], counters["records_written"])
        return found
    expect("captured and settled", sum(counters[name] for name in SOURCES),
           sum(counters[name] for name in FATES) + held)
    expect("unaccounted", report["unaccounted"], 0)
    for output in outputs:
        expect(f"spans made and fates at {output.get('endpoint', output['kind'])}", report["spans"],
               output["delivered"] + output["lost"] + output["on_way"] + output.get("spooled", 0))
        expect("unaccounted at an output", output["unaccounted"], 0)
    expect("delivered by outputs", sum(output["delivered"] for output in outputs), counters["spans_delivered"])
    expect("lost by outputs", sum(output["lost"] for output in outputs),
           sum(counters[name] for name in counters if name in OF_OUTPUTS))
    if has_ended:
        expect("held at the end", held, 0)
        expect("on their way at the end", sum(output["on_way"] for output in outputs), 0)
    return found
