#!/usr/bin/env python3
"""Compares the spans of a serving engine with what the engine itself says (transformers_serve.py, vllm_serve.py).

    engines_check.py SPANS.jsonl SERVED.json [--all] [RANKS]

--all: every iteration was recorded. RANKS: that many GPUs, instead of one. Prints one line with the figures; each fault on a line of its own, and exit status 1."""

import collections
import json
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, eq=False)
class Span:
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict
    links: list


def value_of(value):
    (kind, content), = value.items()
    if kind == "arrayValue":
        return [value_of(item) for item in content.get("values", [])]
    return int(content) if kind == "intValue" else content


def spans_in(path):
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            for resource in json.loads(line).get("resourceSpans", []):
                for raw in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
                    yield Span(raw["traceId"], raw["spanId"], raw.get("parentSpanId", ""), raw["name"], int(raw["startTimeUnixNano"]),
                               int(raw["endTimeUnixNano"]), {item["key"]: value_of(item["value"]) for item in raw.get("attributes", [])},
                               [(link["traceId"], link["spanId"]) for link in raw.get("links", [])])


GPU = {"kernel", "memcpy", "memset", "graph"}


def union_ns(intervals):
    total, until = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def main():
    spans, served = list(spans_in(Path(sys.argv[1]))), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    is_all, faults, gpus = "--all" in sys.argv, [], int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    roots = sorted((span for span in spans if "engine.iteration.requests" in span.attributes), key=lambda span: span.attributes["engine.iteration.number"])
    root_ids = {(root.trace_id, root.span_id) for root in roots}
    all_ranks = [span for span in spans if "engine.iteration.number" in span.attributes and (span.trace_id, span.span_id) not in root_ids]
    ranks = {span.trace_id: span for span in all_ranks if span.name == "rank 0"}
    requests = {span.attributes["gen_ai.request.id"]: span for span in spans if "gen_ai.request.id" in span.attributes}

    # Requests: all there, below their contexts, with the engine's tokens.
    tokens = collections.Counter()
    for batch in served["batches"]:
        for name, count in batch:
            tokens[name] += count
    for at, (name, (prompt, _)) in enumerate(served["wanted"].items()):
        span = requests.get(name)
        if span is None:
            faults.append(f"request {name} has no span")
            continue
        found = {key: span.attributes[f"engine.request.{key}"] for key in ("prompt_tokens", "generated_tokens", "prefill_tokens", "decode_tokens")}
        if (span.trace_id, span.parent_id) != (f"{at + 1:032x}", f"{at + 1:016x}"):
            faults.append(f"request {name} has another parent")
        if found["prompt_tokens"] != prompt or found["generated_tokens"] != served["outputs"][name]:
            faults.append(f"request {name}: {found}, and the engine has {prompt} and {served['outputs'][name]}")
        if found["prefill_tokens"] + found["decode_tokens"] != tokens[name]:
            faults.append(f"request {name}: {found}, and the engine computed {tokens[name]} tokens")

    # Iterations: numbers, members and tokens of the engine.
    if is_all and [root.attributes["engine.iteration.number"] for root in roots] != list(range(1, len(served["batches"]) + 1)):
        faults.append(f"{len(roots)} iterations, and the engine has {len(served['batches'])}")
    for root in roots:
        batch = served["batches"][root.attributes["engine.iteration.number"] - 1]
        parts = [(part.split()[0], int(part.split()[2])) for part in root.attributes.get("engine.iteration.parts", [])]
        wanted = sorted(tuple(part) for part in batch)  # vLLM's order differs from that of its own messages
        is_summary = "engine.iteration.summary" in root.attributes  # only of requests that had not ended
        is_right = set(parts) <= set(wanted) if len(batch) > 128 or is_summary else sorted(parts) == wanted
        if not is_right or (not is_summary and len(parts) != min(len(batch), 128)) or root.attributes["engine.iteration.requests"] != len(batch):
            faults.append(f"{root.name}: {parts[:4]}, and the engine has {batch[:4]}")

    # Each iteration is one trace with all ranks.
    found = collections.Counter((span.trace_id, span.parent_id) for span in all_ranks)
    if {one: gpus for one in root_ids} != dict(found):
        faults.append(f"{len(root_ids)} iterations, and {len(all_ranks)} spans of {gpus} ranks, of which {len(set(found) - root_ids)} have no root")

    # Links: both ways, none dangles.
    linked = [(source, target) for source in [*ranks.values(), *requests.values()] for target in source.links]
    faults += [f"{root.name} has links, so Jaeger calls it incomplete" for root in roots if root.links][:5]
    faults += [f"{source.name} has a link that leads nowhere" for source, target in linked if target not in by_id][:5]

    # GPU work while the engine serves is below an iteration.
    work = [span for span in spans if span.attributes.get("cuda.activity") in GPU]
    first, last = (min(rank.start_ns for rank in ranks.values()), max(rank.end_ns for rank in ranks.values())) if ranks else (0, 0)
    serving = [span for span in work if first <= span.start_ns <= last]
    inside = [span for span in serving if span.trace_id in ranks]
    share = sum(span.end_ns - span.start_ns for span in inside) / max(1, sum(span.end_ns - span.start_ns for span in serving))
    if is_all and share < 0.99:
        faults.append(f"{share:.4f} of the GPU work is below an iteration")
        outside = collections.Counter(span.name[:60] for span in serving if span.trace_id not in ranks)
        faults.append(f"outside: {outside.most_common(5)}")

    # Shares add up.
    busy = sum(rank.attributes.get("cuda.total.gpu_time", 0) for rank in ranks.values())
    shares = sum(span.attributes.get(f"engine.request.gpu_share.{phase}", 0) for span in requests.values() for phase in ("prefill", "decode"))
    parts = sum(len(batch) for batch in served["batches"])
    if is_all and abs(busy - shares) > parts:
        faults.append(f"the shares add up to {shares} ns, and the iterations to {busy}")
    measured = union_ns([(span.start_ns, span.end_ns) for span in inside])
    if is_all and gpus == 1 and abs(measured - busy) > 0.01 * measured:
        faults.append(f"GPU time of the iterations is {busy} ns, and their spans' {measured}")
    summaries = sum("engine.iteration.summary" in root.attributes for root in roots)
    print(f"{len(requests)} requests, {len(roots)} iterations ({summaries} as summaries), {len(linked)} links, {len(serving)} GPU spans while serving, "
          f"{100 * share:.2f} % below iterations, busy {busy / 1e6:.2f} ms, shares {shares / 1e6:.2f} ms, {len(faults)} faults")
    print("\n".join(faults[:20]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
