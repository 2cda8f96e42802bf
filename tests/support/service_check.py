"""Checks that each request of examples/service has a trace with its own spans and GPU work, and that no other trace has
any."""

from collections import Counter

WARM_UP_BYTES = 17 * 4  # the work of model.py before the first request
CHAIN = [("load", "POST"), ("gateway", "POST /infer"), ("gateway", "POST"), ("worker", "POST /infer"), ("worker", "infer")]
ERROR = 2


def is_cuda(span):
    return "cuda.api" in span.attributes or "cuda.activity" in span.attributes


def gpu_work(spans):
    """Kernels, and copies by direction and bytes."""
    work = Counter()
    for span in spans:
        kind = span.attributes.get("cuda.activity")
        if kind == "memcpy":
            work[(span.attributes["cuda.memcpy.kind"], span.attributes["cuda.memcpy.bytes"])] += 1
        elif kind == "kernel":
            work["kernels"] += 1
    return work


def expected_work(request):
    if request["kind"] == "failing":
        return Counter()
    image = 4 * request["pixels"]
    return Counter({"kernels": request["layers"], ("HostToDevice", image): request["images"], ("DeviceToHost", image): 1})


def chain_of(spans):
    """The service's own spans from the root down, each the child of the previous one."""
    below = {span.parent_id: span for span in spans if not is_cuda(span)}
    chain, parent = [], ""
    while parent in below and len(chain) <= len(spans):
        chain.append(below[parent])
        parent = chain[-1].span_id
    return chain


def check_request(request, spans, has_gpu):
    """The faults of a request's trace, one per line."""
    name = f"request {request['number']} ({request['kind']})"
    chain = chain_of(spans)
    found = [(span.resource.get("service.name"), span.name) for span in chain]
    if found != CHAIN:
        yield f"{name}: {found}, of {len(spans)} spans"
        return
    if len({span.span_id for span in spans}) != len(spans):
        yield f"{name}: a span stands twice"
    by_id = {span.span_id: span for span in spans}
    cuda = [span for span in spans if is_cuda(span)]
    for span in cuda:
        above = by_id.get(span.parent_id)
        is_gpu_work = "cuda.activity" in span.attributes
        if above is None or (is_gpu_work and "cuda.api" not in above.attributes) or (not is_gpu_work and above is not chain[-1]):
            yield f"{name}: {span.name} is below {above.name if above else 'nothing'}"
    if len(cuda) + len(chain) != len(spans):
        yield f"{name}: {len(spans)} spans, of them {len(cuda)} of CUDA"
    if has_gpu and gpu_work(cuda) != expected_work(request):
        yield f"{name}: {dict(gpu_work(cuda))} instead of {dict(expected_work(request))}"
    if has_gpu and request["kind"] == "failing" and not any(span.status == ERROR for span in cuda):
        yield f"{name}: no CUDA call has failed"


def check_nobodys(spans, workers):
    """Spans in no request's trace: the workers' start and warm-up."""
    work = gpu_work(spans)
    kernels = work.pop("kernels", 0)
    if kernels > workers:
        yield f"{kernels} kernels are in no request's trace, {workers} warm-ups explain {workers}"
    copies = {key: count for key, count in work.items() if key[1] != WARM_UP_BYTES}
    if copies:
        yield f"copies in no request's trace: {copies}"
    orphans = sum("cuda.orphan" in span.attributes for span in spans)
    if orphans:
        yield f"{orphans} orphans"


def check(requests, traces, has_gpu, workers):
    """`traces`: spans by trace ID. Unsampled requests have `is_sampled` False and may have no span."""
    theirs = {request["trace_id"] for request in requests}
    for request in requests:
        spans = traces.get(request["trace_id"], [])
        if request.get("is_sampled", True):
            yield from check_request(request, spans, has_gpu)
        elif spans:
            yield f"request {request['number']} isn't sampled and has {len(spans)} spans"
    yield from check_nobodys([span for trace, spans in traces.items() if trace not in theirs for span in spans], workers)
