#!/usr/bin/env python3
"""Checks whether each request's trace has exactly its own calls and GPU work.

    requests_check.py SPANS.jsonl COUNT [ONE-IN]  of requests.cu
    requests_check.py SPANS.jsonl OUT.json        of requests.py
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from backend import spans_of  # noqa: E402

MARK = b"request!".hex()


def trace_of(n):
    return f"{MARK}{n:016x}"


def sampled(count, one_in=0):
    return {n for n in range(1, count + 1) if (n % one_in == 0 if one_in else n % 10 != 9)}


def expected(n):
    """The work of one request: kernels by blocks, copies by bytes, launches, copying calls."""
    kernels, copies = 1 + n % 7, 1 + n % 3
    return (Counter({1 + n % 1009: kernels}), Counter({64 * (1 + n % 509): copies}),
            Counter({"cudaLaunchKernel": kernels, "cudaMemcpyAsync": copies}))


def seen(spans):
    kernels = Counter(span.attributes["cuda.kernel.grid"][0] for span in spans
                      if span.attributes.get("cuda.activity") == "kernel")
    copies = Counter(span.attributes["cuda.memcpy.bytes"] for span in spans
                     if span.attributes.get("cuda.activity") == "memcpy")
    calls = Counter(span.name for span in spans if span.name in ("cudaLaunchKernel", "cudaMemcpyAsync"))
    return kernels, copies, calls


def check_request(n, spans):
    parent = "ff" + f"{n:014x}"
    by_id = {span.span_id: span for span in spans}
    stages = [span for span in spans if span.name == "stage"]
    if seen(spans) != expected(n):
        yield f"request {n}: {seen(spans)} instead of {expected(n)}"
    if [stage.attributes.get("request.number") for stage in stages] != [n]:
        yield f"request {n}: {len(stages)} stages"
    for span in spans:
        above = by_id.get(span.parent_id)
        if above is None and span.parent_id != parent:
            yield f"request {n}: {span.name} is below nothing of its trace"
        if "cuda.activity" in span.attributes and (above is None or "cuda.api" not in above.attributes):
            yield f"request {n}: {span.name} is not below a call"
    # A thread's first launch may load the kernel with driver calls before it.
    inside = [span.name for span in spans if span.parent_id in {stage.span_id for stage in stages}
              and span.name.startswith("cuda")]
    if inside != ["cudaLaunchKernel"]:
        yield f"request {n}: not one launch in its stage, but {inside}"


def traces_of(spans):
    traces = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    return traces


def check(spans, count, one_in=0):
    requests = {int(trace[16:], 16): found for trace, found in traces_of(spans).items() if trace.startswith(MARK)}
    wanted = sampled(count, one_in)
    if set(requests) != wanted:
        yield f"{len(wanted - set(requests))} requests are missing, {len(set(requests) - wanted)} are too many"
    for n, found in sorted(requests.items()):
        yield from check_request(n, found)
    yield from check_nobodys(spans)


def rank_of(span):
    return span.resource.get("cuda.process.rank")


def check_shared(spans, served):
    """For processes that serve the same requests: `served` has each rank's numbers. Each trace has exactly the work of
    the processes that served it, and no span ID twice."""
    requests = {int(trace[16:], 16): found for trace, found in traces_of(spans).items() if trace.startswith(MARK)}
    wanted = {n: {rank for rank, numbers in served.items() if n in numbers}
              for n in set().union(*served.values()) if n % 10 != 9}
    got = {n: {rank_of(span) for span in found} for n, found in requests.items()}
    for n in sorted(wanted.keys() | got.keys()):
        if got.get(n) != wanted.get(n):
            yield f"request {n}: work of the ranks {got.get(n)} instead of {wanted.get(n)}"
    for n, found in sorted(requests.items()):
        if len({span.span_id for span in found}) != len(found):
            yield f"request {n}: span IDs stand twice"
        for rank in sorted(got[n] & wanted.get(n, set())):
            for problem in check_request(n, [span for span in found if rank_of(span) == rank]):
                yield f"rank {rank}: {problem}"
    yield from check_nobodys(spans)


def check_nobodys(spans):
    """Spans that are in no request's trace."""
    nobodys = [span for trace, found in traces_of(spans).items() if not trace.startswith(MARK) for span in found]
    strays = [span for span in nobodys if span.attributes.get("cuda.activity") == "kernel"
              and span.attributes["cuda.kernel.grid"][0] != 1]
    if strays:
        yield f"{len(strays)} kernels of requests are in no request's trace"
    orphans = sum("cuda.orphan" in span.attributes for span in spans)
    if orphans:
        yield f"{orphans} orphans"


def of_python(request, spans):
    by_id = {span.span_id: span for span in spans}
    work = Counter(span.attributes["cuda.activity"] for span in spans if "cuda.activity" in span.attributes)
    # CUPTI reports a copy from page-locked memory of the first GPU's context to another GPU as one between devices.
    kinds = "memcpy", "memcpy_peer"
    copies = {span.attributes["cuda.memcpy.bytes"] for span in spans if span.attributes.get("cuda.activity") in kinds}
    if (work["kernel"], work["memcpy"] + work["memcpy_peer"], copies) != (request["kernels"], request["copies"], {request["bytes"]}):
        yield f"request {request['number']}: {dict(work)}, copies of {copies} instead of {request}"
    for span in spans:
        above = by_id.get(span.parent_id)
        is_right = "cuda.api" in above.attributes if above else span.parent_id == request["span_id"]
        if not is_right or ("cuda.activity" in span.attributes and not above):
            yield f"request {request['number']}: {span.name} hangs in the wrong place"


def check_python_shared(spans, requests):
    """For several processes that serve all `requests`: each trace has exactly the work of those that served it."""
    for rank in sorted({request["rank"] for request in requests}):
        own = [request for request in requests if request["rank"] == rank]
        for problem in check_python([span for span in spans if rank_of(span) == rank], own):
            yield f"rank {rank}: {problem}"
    if len({(span.trace_id, span.span_id) for span in spans}) != len(spans):
        yield "span IDs stand twice"
    unknown = {rank_of(span) for span in spans} - {request["rank"] for request in requests}
    if unknown:
        yield f"spans of the ranks {unknown}"


def check_python(spans, requests):
    traces = traces_of(spans)
    for request in requests:
        found = traces.pop(request["trace_id"], [])
        if request["is_sampled"]:
            yield from of_python(request, found)
        elif found:
            yield f"request {request['number']} isn't sampled and has {len(found)} spans"
    strays = [span for found in traces.values() for span in found if span.attributes.get("cuda.activity") == "memcpy"
              and span.attributes.get("cuda.memcpy.kind") == "HostToDevice"]
    if strays:
        yield f"{len(strays)} copies are in no request's trace"
    orphans = sum("cuda.orphan" in span.attributes for span in spans)
    if orphans:
        yield f"{orphans} orphans"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spans = [span for line in file for span in spans_of(json.loads(line))]
    if sys.argv[2].isdigit():
        count = int(sys.argv[2])
        problems = list(check(spans, count, int((sys.argv[3:] or "0")[0])))
    else:
        requests = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
        count = len(requests)
        problems = list(check_python(spans, requests))
    for problem in problems[:20]:
        print("    " + problem)
    print(f"{'not ok' if problems else 'ok'}: {count} requests, {len(spans)} spans, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
