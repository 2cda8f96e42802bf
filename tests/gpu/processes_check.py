"""Checks of the spans of several processes, GPUs and threads: each function yields one line for each fault. The spans
are those of tests/support/backend.py. processes_check_test.py tests each function with wrong spans."""

import re
from collections import Counter, defaultdict

MARK = b"request!".hex()


def activities(spans, *kinds):
    return [span for span in spans if span.attributes.get("cuda.activity") in kinds]


def is_session(span):
    return "cuda.session.number" in span.attributes


def rank_of(span):
    return span.resource.get("cuda.process.rank")


def by_rank(spans):
    found = defaultdict(list)
    for span in spans:
        found[rank_of(span)].append(span)
    return found


def check_tree(spans, above=()):
    """Properties of any trace: no span ID occurs twice, parents exist (or are in `above`, from others), GPU work is
    below a call, and nothing is an orphan."""
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    if len(by_id) != len(spans):
        yield f"{len(spans) - len(by_id)} span IDs stand twice"
    for span in spans:
        parent = by_id.get((span.trace_id, span.parent_id))
        if span.parent_id and parent is None and span.parent_id not in above:
            yield f"{span.name} is below nothing of its trace"
        if "cuda.orphan" in span.attributes:
            yield f"{span.name} is an orphan"
        elif activities([span], "kernel", "memcpy", "memcpy_peer", "memset", "graph"):
            if parent is None or "cuda.api" not in parent.attributes:
                yield f"{span.name} is not below a call"
            elif parent.resource.get("process.pid") != span.resource.get("process.pid"):
                yield f"{span.name} is below a call of another process"


def check_processes(spans, trace_id, parent_id, ranks):
    """Each rank has one session, in this trace and below this span, and only its process has its spans."""
    sessions = [span for span in spans if is_session(span)]
    got = Counter(rank_of(span) for span in sessions)
    if got != Counter(ranks):
        yield f"sessions by rank: {dict(got)} instead of one each of {sorted(ranks)}"
    for session in sessions:
        if (session.trace_id, session.parent_id) != (trace_id, parent_id):
            yield f"the session of rank {rank_of(session)} is below {session.trace_id} {session.parent_id}"
        if session.resource.get("cuda.process.world_size") != len(ranks):
            yield f"rank {rank_of(session)} is one of {session.resource.get('cuda.process.world_size')}, not of {len(ranks)}"
    for rank, own in by_rank(spans).items():
        pids = {span.resource.get("process.pid") for span in own}
        if len(pids) != 1:
            yield f"rank {rank} is the processes {pids}"
    elsewhere = {span.trace_id for span in spans} - {trace_id}
    if elsewhere:
        yield f"spans in {len(elsewhere)} other traces"


def check_devices_of_ranks(spans, expected):
    """`expected`: the UUID of each rank's GPU. Its kernels ran only on that GPU."""
    for rank, own in by_rank(spans).items():
        kernels = activities(own, "kernel")
        if rank not in expected:
            if kernels:
                yield f"{len(kernels)} kernels of rank {rank}, which is none"
            continue
        devices = {span.resource.get("hw.id") for span in kernels}
        if devices != {expected[rank]}:
            yield f"rank {rank}: {len(kernels)} kernels on {devices} instead of {expected[rank]}"
    for rank in expected.keys() - by_rank(spans).keys():
        yield f"rank {rank} has no spans"


def check_torchrun(spans, expected, has_nccl):
    """One root, which is the command's; a session for each rank; NCCL's kernels on every rank if NCCL was used."""
    roots = [span for span in spans if not span.parent_id]
    if len(roots) != 1 or "process.exit.code" not in roots[0].attributes:
        yield f"{len(roots)} roots: {[root.name for root in roots]}"
        return
    root, = roots
    yield from check_tree(spans)
    # The launcher may query the GPUs itself: a separate session, of no rank and without work.
    launcher = by_rank(span for span in spans if span is not root).get(None, [])
    if activities(launcher, "kernel", "memcpy"):
        yield f"GPU work of no rank: {[span.name for span in activities(launcher, 'kernel', 'memcpy')]}"
    of_ranks = [span for span in spans if span is not root and span not in launcher]
    yield from check_processes(of_ranks, root.trace_id, root.span_id, set(expected))
    yield from check_devices_of_ranks(of_ranks, expected)
    for rank, own in sorted(by_rank(of_ranks).items(), key=str):
        nccl = [span for span in activities(own, "kernel") if "nccl" in span.name.lower()]
        if has_nccl and not nccl:
            yield f"rank {rank}: no kernel of NCCL among {len(activities(own, 'kernel'))}"


def check_children(spans, traceparent, expected, launches):
    """For torch_children.py: the children's sessions are below their parent's context, and have their kernels."""
    _, trace_id, parent_id, _ = traceparent.split("-")
    yield from check_tree(spans, {parent_id})
    yield from check_processes(spans, trace_id, parent_id, set(expected))
    yield from check_devices_of_ranks(spans, expected)
    for rank, own in by_rank(spans).items():
        if len(activities(own, "kernel")) < launches:
            yield f"rank {rank}: {len(activities(own, 'kernel'))} kernels, fewer than its {launches} launches"


# --- GPUs and copies between them: compared with peer.cu's output and nvidia-smi ---


def devices_in(output):
    """Of peer.cu: {number: facts}."""
    pattern = r"^device (\d+) (\S+) (\d+) (\d+) (\d+) (\d+)\.(\d+) (\S+)$"
    keys = ("uuid", "multiprocessors", "clock", "bytes", "major", "minor", "pci")
    return {int(number): dict(zip(keys, (int(fact) if fact.isdigit() else fact for fact in facts)))
            for number, *facts in re.findall(pattern, output, re.M)}


def copies_in(output):
    """The copies of peer.cu: (how, from, to, bytes)."""
    return [(how, int(source), int(target), int(size))
            for how, source, target, size in re.findall(r"^copy (\S+) (\d+) (\d+) (\d+)$", output, re.M)]


def smi_devices(text):
    """Of nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,memory.total,compute_cap,driver_version
    --format=csv,noheader,nounits: {uuid: facts}."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    return {uuid: {"index": int(index), "name": name, "pci": pci, "mib": int(memory), "capability": capability,
                   "driver": driver} for index, name, uuid, pci, memory, capability, driver in rows}


def pci_of(text):
    """Domain, bus, device and function of any format: 00000000:1B:00.0, 0000:1b:00.0."""
    return tuple(int(part, 16) for part in re.split("[:.]", text))


def resources_of(spans):
    """{device's number: the resources that GPU spans have for it}."""
    found = defaultdict(list)
    for span in activities(spans, "kernel", "memcpy", "memcpy_peer", "memset", "graph"):
        if span.resource not in found[span.resource.get("cuda.device.id")]:
            found[span.resource.get("cuda.device.id")].append(span.resource)
    return found


def check_devices(spans, devices, smi=None, has_pci=True):
    """Each GPU's resource equals CUDA's data (peer.cu) and, if `smi` is given, nvidia-smi's."""
    resources = resources_of(spans)
    if set(resources) != set(devices):
        yield f"GPU work on the devices {sorted(resources, key=str)} instead of {sorted(devices)}"
    for number in sorted(devices.keys() & resources.keys()):
        for resource in resources[number]:
            for problem in of_device(resource, devices[number], has_pci):
                yield f"device {number}: {problem}"
            for problem in of_smi(resource, smi, has_pci) if smi is not None else ():
                yield f"device {number}: {problem}"
        if len(resources[number]) != 1:
            yield f"device {number}: {len(resources[number])} different resources"


def differences(resource, wanted):
    for key, value in wanted.items():
        if resource.get(key) != value:
            yield f"{key} is {resource.get(key)} instead of {value}"


def of_device(resource, device, has_pci):
    yield from differences(resource, {
        "hw.id": device["uuid"], "cuda.device.uuid": device["uuid"], "hw.type": "gpu", "hw.vendor": "NVIDIA",
        "cuda.device.multiprocessors": device["multiprocessors"], "cuda.device.memory.bytes": device["bytes"],
        "cuda.device.compute_capability.major": device["major"], "cuda.device.compute_capability.minor": device["minor"]})
    clock = resource.get("cuda.device.clock", 0)
    if abs(clock - device["clock"]) > device["clock"] / 100:
        yield f"cuda.device.clock is {clock} instead of {device['clock']} kHz"
    address = resource.get("cuda.device.pci.address")
    if has_pci and (address is None or pci_of(address) != pci_of(device["pci"])):
        yield f"cuda.device.pci.address is {address} instead of {device['pci']}"


def of_smi(resource, smi, has_pci):
    facts = smi.get(resource.get("cuda.device.uuid"))
    if facts is None:
        yield f"nvidia-smi has no GPU {resource.get('cuda.device.uuid')}"
        return
    yield from differences(resource, {"hw.name": facts["name"], "cuda.device.name": facts["name"],
                                      "hw.model": facts["name"]})
    if resource.get("hw.driver_version", facts["driver"]) != facts["driver"]:
        yield f"hw.driver_version is {resource['hw.driver_version']} instead of {facts['driver']}"
    capability = "{}.{}".format(*(resource.get(f"cuda.device.compute_capability.{part}") for part in ("major", "minor")))
    if capability != facts["capability"]:
        yield f"compute capability is {capability} instead of {facts['capability']}"
    mib = resource.get("cuda.device.memory.bytes", 0) / 2**20
    if not 0.95 * facts["mib"] < mib <= 1.01 * facts["mib"]:  # nvidia-smi includes memory that the driver reserves
        yield f"{mib:.0f} MiB of memory instead of about {facts['mib']}"
    address = resource.get("cuda.device.pci.address")
    if has_pci and address is not None and pci_of(address) != pci_of(facts["pci"]):
        yield f"cuda.device.pci.address is {address} instead of {facts['pci']}"


def check_null_streams(spans, devices):
    """On each device peer.cu launches 100 + its number of blocks on the NULL stream, 200 + its number on another."""
    for number in devices:
        for first, is_default in (100, True), (200, None):
            found = [span for span in activities(spans, "kernel") if span.attributes["cuda.kernel.grid"][0] == first + number]
            marks = [(span.resource.get("cuda.device.id"), span.attributes.get("cuda.stream.default")) for span in found]
            if marks != [(number, is_default)]:
                yield f"the kernel of {first + number} blocks: (device, NULL stream) {marks} instead of {(number, is_default)}"


def check_copies(spans, devices, copies):
    """Each copy between two GPUs is one span that names both, below the call that made it."""
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    for how, source, target, size in copies:
        what = f"copy by {how} of {size} bytes from {source} to {target}"
        found = [span for span in activities(spans, "memcpy", "memcpy_peer") if span.attributes["cuda.memcpy.bytes"] == size]
        # The program checks afterwards whether the data arrived.
        found = [span for span in found if span.attributes.get("cuda.memcpy.kind") != "DeviceToHost"
                 or span.attributes["cuda.activity"] == "memcpy_peer"]
        if len(found) != 1:
            yield f"{what}: {len(found)} spans: {[(span.name, span.attributes['cuda.activity']) for span in found]}"
            continue
        copy, = found
        ends = {"cuda.memcpy.src_device.id": source, "cuda.memcpy.dst_device.id": target,
                "cuda.memcpy.src_device.hw.id": devices[source]["uuid"],
                "cuda.memcpy.dst_device.hw.id": devices[target]["uuid"]}
        # Without access the driver copies through host memory, and CUPTI may report half of it.
        told = copy.attributes["cuda.activity"], copy.attributes.get("cuda.memcpy.kind")
        is_staged = told == ("memcpy", "HostToDevice") and not how.endswith("-access")
        if copy.attributes["cuda.activity"] != "memcpy_peer" and not is_staged:
            yield f"{what}: CUPTI calls it {' '.join(map(str, told))}"
        for problem in [] if is_staged else differences(copy.attributes, ends):
            yield f"{what}: {problem}"
        call = by_id.get((copy.trace_id, copy.parent_id))
        name = "cudaMemcpyAsync" if how.startswith("unified") else "cudaMemcpyPeerAsync"
        if call is None or call.name != name:
            yield f"{what}: below {call.name if call else None} instead of {name}"


# --- graphs that requests replay: graph_requests.cu ---


def expected_executions(n, threads):
    """Nodes of the graphs that request n launches, and how often."""
    wanted = Counter({6: 1})
    wanted[2 + (n - 1) % threads] += 1 + n % 3
    return wanted


def check_graph_requests(spans, threads, requests, has_nodes=False):
    """Each request's trace has its own executions, each below its own launch; `has_nodes`: the spans of their nodes
    instead."""
    traces = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    served = {int(trace[16:], 16): found for trace, found in traces.items() if trace.startswith(MARK)}
    wanted = {n for n in range(1, requests + 1) if n % 10 != 9}
    if set(served) != wanted:
        yield f"{len(wanted - set(served))} requests are missing, {len(set(served) - wanted)} are too many"
    for n in sorted(wanted & set(served)):
        for problem in of_graph_request(n, served[n], threads, has_nodes):
            yield f"request {n}: {problem}"
    strays = [span for trace, found in traces.items() if not trace.startswith(MARK)
              for span in activities(found, "graph") or [span for span in found if "cuda.graph.node.id" in span.attributes]]
    if strays:
        yield f"{len(strays)} executions or nodes are in no request's trace"


def of_graph_request(n, spans, threads, has_nodes):
    wanted = expected_executions(n, threads)
    launches = [span for span in spans if span.name == "cudaGraphLaunch"]
    stages = {span.span_id for span in spans if span.name == "stage"}
    if len(launches) != sum(wanted.values()):
        yield f"{len(launches)} launches instead of {sum(wanted.values())}"
    if len(stages) != 1 or sum(launch.parent_id in stages for launch in launches) != 1:
        yield f"{len(stages)} stages, or not one launch in it"
    if any(span.parent_id not in stages | {f"ff{n:014x}"} for span in launches):
        yield "a launch is neither below the request nor in its stage"
    work = [span for span in spans if "cuda.graph.node.id" in span.attributes] if has_nodes else activities(spans, "graph")
    below = {launch.span_id: [span for span in work if span.parent_id == launch.span_id] for launch in launches}
    if sum(map(len, below.values())) != len(work):
        yield "GPU work that is not below a launch of the request's"
    if has_nodes:
        got = Counter(len(nodes) for nodes in below.values())
    else:
        got = Counter(span.attributes.get("cuda.graph.nodes") for span in work)
        if any(len(executions) != 1 for executions in below.values()):
            yield "a launch without exactly one execution"
    if got != wanted:
        yield f"graphs by their nodes: {dict(got)} instead of {dict(wanted)}"
