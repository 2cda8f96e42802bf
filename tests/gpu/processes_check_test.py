#!/usr/bin/env python3
"""Tests the checks of processes_check.py and requests_check.py with synthetic spans: correct ones pass, each single
fault is found. Needs no GPU."""

import copy
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/gpu")]
import processes_check as checks  # noqa: E402
import requests_check  # noqa: E402
from backend import Span  # noqa: E402
from processes_test import gpu_uuids  # noqa: E402

TRACE, ROOT_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{ROOT_SPAN}-01"
UUIDS = {0: "GPU-0a", 1: "GPU-1b"}


class Maker:
    """Spans of some processes, with IDs of their own."""

    def __init__(self):
        self.spans, self.next_id = [], 1

    def add(self, name, trace_id, parent_id, attributes, resource):
        span = Span(trace_id, f"{self.next_id:016x}", parent_id, name, 10, 20, 0, attributes, resource)
        self.next_id += 1
        self.spans.append(span)
        return span

    def process(self, rank, size=2):
        return {"process.pid": 100 + rank, "cuda.process.rank": rank, "cuda.process.world_size": size}

    def device(self, rank, number=None):
        number = rank if number is None else number
        return {**self.process(rank), "cuda.device.id": number, "hw.id": UUIDS[number], "cuda.device.uuid": UUIDS[number]}

    def call(self, name, above, rank, trace_id=TRACE):
        return self.add(name, trace_id, above, {"cuda.api": "runtime"}, self.process(rank))

    def work(self, call, kind, rank, name="add", number=None, **attributes):
        attributes = {key.replace("__", "."): value for key, value in attributes.items()}
        return self.add(name, call.trace_id, call.span_id, {"cuda.activity": kind, **attributes}, self.device(rank, number))


def job(root=True):
    """The spans of torchrun, or of multiprocessing below a request."""
    made = Maker()
    if root:
        made.add("torchrun", TRACE, "", {"process.exit.code": 0}, {"process.pid": 99}).span_id = ROOT_SPAN
    for rank in (0, 1):
        session = made.add("python3", TRACE, ROOT_SPAN, {"cuda.session.number": 1}, made.process(rank))
        for name in "add", "ncclDevKernel_AllReduce":
            made.work(made.call("cudaLaunchKernel", session.span_id, rank), "kernel", rank, name)
    return made.spans


class Checks(unittest.TestCase):
    def check(self, make, check, *lies):
        self.assertEqual(list(check(make())), [])
        for lie in lies:
            spans = copy.deepcopy(make())
            changed = lie(spans)
            if isinstance(changed, list) and isinstance(changed[0], Span):
                spans = changed
            self.assertNotEqual(list(check(spans)), [], f"the lie of line {lie.__code__.co_firstlineno} is not found")

    def test_torchrun(self):
        self.check(job, lambda spans: checks.check_torchrun(spans, UUIDS, True),
                   lambda s: s[1:],
                   lambda s: s[0].attributes.clear(),
                   lambda s: [*s, copy.copy(s[-1])],
                   lambda s: s[:6],
                   lambda s: setattr(s[1], "parent_id", "ffffffffffffffff"),
                   lambda s: setattr(s[1], "trace_id", "f" * 32),
                   lambda s: s[1].resource.update({"cuda.process.rank": 1}),
                   lambda s: s[1].resource.update({"cuda.process.world_size": 3}),
                   lambda s: s[2].resource.update({"process.pid": 7}),
                   lambda s: s[3].resource.update({"hw.id": UUIDS[1]}),
                   lambda s: s[3].resource.pop("hw.id"),
                   lambda s: setattr(s[5], "name", "add"),
                   lambda s: setattr(s[3], "parent_id", s[1].span_id),
                   lambda s: s[3].attributes.update({"cuda.orphan": True}))
        self.assertEqual(list(checks.check_torchrun([span for span in job() if "nccl" not in span.name], UUIDS, False)), [])

    def test_children(self):
        self.check(lambda: job(False), lambda spans: checks.check_children(spans, TRACEPARENT, UUIDS, 2),
                   lambda s: s[:-1],
                   lambda s: s[1:],
                   lambda s: setattr(s[0], "parent_id", "ffffffffffffffff"),
                   lambda s: [setattr(span, "trace_id", "f" * 32) for span in s],
                   lambda s: s[5].resource.update({"cuda.process.rank": 2}))

    # --- GPUs ---

    OUTPUT = """
device 0 GPU-0a 132 1980000 150000000000 9.0 0000:1B:00.0
device 1 GPU-1b 132 1980000 150000000000 9.0 00000000:5D:00.0
copy peer 0 1 4112
copy unified-access 1 0 4128
PASS
"""
    SMI = """0, NVIDIA H200, GPU-0a, 00000000:1B:00.0, 143771, 9.0, 580.159
1, NVIDIA H200, GPU-1b, 00000000:5D:00.0, 143771, 9.0, 580.159
"""

    def gpus(self):
        made = Maker()
        for number, pci in (0, "0000:1b:00.0"), (1, "0000:5d:00.0"):
            about = {"hw.type": "gpu", "hw.vendor": "NVIDIA", "hw.name": "NVIDIA H200", "hw.model": "NVIDIA H200",
                     "cuda.device.name": "NVIDIA H200", "cuda.device.multiprocessors": 132, "cuda.device.clock": 1980000,
                     "cuda.device.memory.bytes": 150000000000, "cuda.device.compute_capability.major": 9,
                     "cuda.device.compute_capability.minor": 0, "cuda.device.pci.address": pci,
                     "hw.driver_version": "580.159"}
            for blocks in 100 + number, 200 + number:
                more = {"cuda__stream__default": True} if blocks < 200 else {}
                made.work(made.call("cudaLaunchKernel", "", 0), "kernel", 0, "fill", number,
                          cuda__kernel__grid=[blocks, 1, 1], **more).resource.update(about)
        return made.spans

    def test_devices(self):
        devices, smi = checks.devices_in(self.OUTPUT), checks.smi_devices(self.SMI)
        self.assertEqual((len(devices), len(smi)), (2, 2))
        keys = ["hw.id", "hw.name", "hw.model", "hw.type", "hw.vendor", "hw.driver_version", "cuda.device.uuid",
                "cuda.device.name", "cuda.device.multiprocessors", "cuda.device.clock", "cuda.device.memory.bytes",
                "cuda.device.compute_capability.major", "cuda.device.compute_capability.minor",
                "cuda.device.pci.address"]
        wrong = [lambda s, key=key: [s[i].resource.update({key: "0:1:2.3" if "pci" in key else 7}) for i in (1, 3)]
                 for key in keys]
        self.check(self.gpus, lambda spans: checks.check_devices(spans, devices, smi), *wrong,
                   lambda s: s[:4], lambda s: s[1].resource.update({"more": 1}),
                   lambda s: [s[i].resource.pop("cuda.device.pci.address") for i in (1, 3)])
        self.assertEqual(list(checks.check_devices(self.gpus(), devices)), [])
        self.assertNotEqual(list(checks.check_devices(self.gpus(), devices, {})), [])

    def test_null_streams(self):
        self.check(self.gpus, lambda spans: checks.check_null_streams(spans, (0, 1)),
                   lambda s: s[1].attributes.pop("cuda.stream.default"),
                   lambda s: s[3].attributes.update({"cuda.stream.default": True}),
                   lambda s: s[1].resource.update({"cuda.device.id": 1}),
                   lambda s: s[:-1])

    def copies(self):
        made = Maker()
        for name, source, target, size in ("cudaMemcpyPeerAsync", 0, 1, 4112), ("cudaMemcpyAsync", 1, 0, 4128):
            made.work(made.call(name, "", 0), "memcpy_peer", 0, "copy", source, **{
                "cuda.memcpy.kind": "PeerToPeer", "cuda.memcpy.bytes": size, "cuda.memcpy.src_device.id": source,
                "cuda.memcpy.dst_device.id": target, "cuda.memcpy.src_device.hw.id": UUIDS[source],
                "cuda.memcpy.dst_device.hw.id": UUIDS[target]})
            made.work(made.call("cudaMemcpy", "", 0), "memcpy", 0, "copy", target, **{
                "cuda.memcpy.kind": "DeviceToHost", "cuda.memcpy.bytes": size})
        return made.spans

    def test_copies(self):
        devices, copies = checks.devices_in(self.OUTPUT), checks.copies_in(self.OUTPUT)
        self.assertEqual(len(copies), 2)
        ends = [f"cuda.memcpy.{end}_device.{what}" for end in ("src", "dst") for what in ("id", "hw.id")]
        self.check(self.copies, lambda spans: checks.check_copies(spans, devices, copies),
                   *(lambda s, key=key: s[1].attributes.pop(key) for key in ends),
                   *(lambda s, key=key: s[5].attributes.update({key: 9}) for key in ends),
                   lambda s: s[1].attributes.update({"cuda.memcpy.bytes": 1}),
                   lambda s: s[1].attributes.update({"cuda.activity": "memcpy"}),
                   lambda s: setattr(s[4], "name", "cudaMemcpyPeerAsync"),
                   lambda s: setattr(s[1], "parent_id", s[4].span_id))

    # --- requests ---

    def graphs(self, has_nodes=False):
        made = Maker()
        for n in range(1, 13):
            if n % 10 == 9:
                continue
            trace_id, request = f"{checks.MARK}{n:016x}", f"ff{n:014x}"
            stage = made.add("stage", trace_id, request, {"cuda.range.kind": "range"}, made.process(0))
            sizes = [6] + [2 + (n - 1) % 4] * (1 + n % 3)
            for i, nodes in enumerate(sizes):
                above = stage.span_id if i == len(sizes) - 1 else request
                launch = made.call("cudaGraphLaunch", above, 0, trace_id)
                if not has_nodes:
                    made.work(launch, "graph", 0, "graph", cuda__graph__nodes=nodes)
                for node in range(nodes if has_nodes else 0):
                    made.work(launch, "kernel", 0, cuda__graph__node__id=node)
        return made.spans

    def test_graphs_of_requests(self):
        self.check(self.graphs, lambda spans: checks.check_graph_requests(spans, 4, 12),
                   lambda s: s[:-1],
                   lambda s: [span for span in s if span.trace_id != s[0].trace_id],
                   lambda s: setattr(s[2], "parent_id", s[3].span_id),
                   lambda s: s[2].attributes.update({"cuda.graph.nodes": 5}),
                   lambda s: setattr(s[2], "trace_id", s[-1].trace_id),
                   lambda s: setattr(s[2], "trace_id", TRACE),
                   lambda s: setattr(s[1], "parent_id", "ff00000000000002"),
                   lambda s: setattr(s[5], "parent_id", "ff00000000000001"),
                   lambda s: [*s, Span(f"{checks.MARK}{9:016x}", "1", "", "x", 1, 2, 0, {}, {})])
        self.check(lambda: self.graphs(True), lambda spans: checks.check_graph_requests(spans, 4, 12, True),
                   lambda s: s[:-1],
                   lambda s: setattr(s[2], "parent_id", s[-2].parent_id),
                   lambda s: setattr(s[2], "trace_id", TRACE))

    def services(self):
        """Two ranks that serve 1 to 11 and 6 to 16."""
        made = Maker()
        for rank, numbers in self.served.items():
            for n in (n for n in numbers if n % 10 != 9):
                trace_id, request = f"{checks.MARK}{n:016x}", f"ff{n:014x}"
                stage = made.add("stage", trace_id, request, {"request.number": n}, made.process(rank))
                for i in range(1 + n % 7):
                    launch = made.call("cudaLaunchKernel", stage.span_id if i == 0 else request, rank, trace_id)
                    made.work(launch, "kernel", rank, cuda__kernel__grid=[1 + n % 1009, 1, 1])
                for _ in range(1 + n % 3):
                    call = made.call("cudaMemcpyAsync", request, rank, trace_id)
                    made.work(call, "memcpy", rank, cuda__memcpy__bytes=64 * (1 + n % 509))
            session = made.add("requests", TRACE, "", {"cuda.session.number": 1}, made.process(rank))
            made.work(made.call("cudaLaunchKernel", session.span_id, rank), "kernel", rank, cuda__kernel__grid=[1, 1, 1])
        return made.spans

    served = {0: range(1, 12), 1: range(6, 17)}

    def test_requests_of_two_services(self):
        def of(spans, n, rank):
            return [span for span in spans if span.trace_id == f"{checks.MARK}{n:016x}" and requests_check.rank_of(span) == rank]

        self.check(self.services, lambda spans: requests_check.check_shared(spans, self.served),
                   lambda s: [span for span in s if span not in of(s, 7, 1)],
                   lambda s: [span for span in s if span not in of(s, 2, 0)],
                   lambda s: [span for span in s if span is not of(s, 7, 1)[-1]],
                   lambda s: setattr(of(s, 7, 0)[0], "span_id", of(s, 7, 1)[0].span_id),
                   lambda s: [span.resource.update({"cuda.process.rank": 1}) for span in of(s, 2, 0)],
                   lambda s: setattr(of(s, 7, 0)[2], "trace_id", TRACE),
                   lambda s: s[-1].attributes.update({"cuda.kernel.grid": [8, 1, 1]}),
                   lambda s: s[-1].attributes.update({"cuda.orphan": True}))

    def test_python_requests_of_two_services(self):
        requests, made = [], Maker()
        for rank in (0, 1):
            for n in range(3):
                request = {"number": n, "rank": rank, "trace_id": f"{n + 1:032x}", "span_id": f"{rank + 1}{n:015x}",
                           "is_sampled": n != 1, "copies": 1, "bytes": 64 * n, "kernels": 1}
                requests.append(request)
                if not request["is_sampled"]:
                    continue
                for kind, name in ("kernel", "cudaLaunchKernel"), ("memcpy", "cudaMemcpyAsync"):
                    made.work(made.call(name, request["span_id"], rank, request["trace_id"]), kind, rank,
                              cuda__memcpy__bytes=64 * n, cuda__memcpy__kind="HostToDevice")
        self.check(lambda: made.spans, lambda spans: requests_check.check_python_shared(spans, requests),
                   lambda s: s[:-1],
                   lambda s: [span.resource.update({"cuda.process.rank": 1}) for span in s[:4]],
                   lambda s: setattr(s[-2], "parent_id", requests[0]["span_id"]),
                   lambda s: s[-1].resource.update({"cuda.process.rank": 2}),
                   lambda s: [*s, copy.copy(s[-2])])


class Lines(unittest.TestCase):
    """Output of several processes in one file: each line in one write, so that none is interleaved."""
    TORCH = """import sys
from unittest.mock import MagicMock
Tensor = MagicMock()
Tensor.cpu.return_value.__eq__.return_value = MagicMock()
torch = MagicMock()
torch.zeros.return_value = Tensor
torch.cuda.device_count.return_value = 2
torch.cuda.get_device_properties.return_value.uuid = "0a-1b"
sys.modules["torch"], sys.modules["torch.distributed"] = torch, torch.distributed
"""

    def writes(self, *command, **environment):
        """Uses a socket that keeps each write as a message."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryDirectory() as site, ours:
            Path(site, "torch.py").write_text(self.TORCH)
            with theirs:
                done = subprocess.run([sys.executable, *map(str, command)], stdout=theirs, stderr=subprocess.PIPE, timeout=120,
                                      check=False, env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
                                                        "PYTHONPATH": f"{site}:{ROOT / 'python'}", **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            found = []
            while said := ours.recv(65536):
                found.append(said.decode())
        return found

    def test_children(self):
        for method in "spawn", "fork":
            with self.subTest(method):
                said = self.writes(ROOT / "tests/gpu/programs/torch_children.py", method, TRACEPARENT)
                self.assertEqual(sorted(said), ["PASS\n", "rank 0 on GPU-0a-1b: PASS\n", "rank 1 on GPU-0a-1b: PASS\n"])
                self.assertEqual(gpu_uuids("".join(said)), {0: "GPU-0a-1b", 1: "GPU-0a-1b"})

    def test_ranks(self):
        said = self.writes(ROOT / "tests/gpu/programs/torch_ranks.py", RANK="1", LOCAL_RANK="1", WORLD_SIZE="2")
        self.assertEqual(said, ["rank 1 of 2 on GPU-0a-1b by nccl: PASS 1.000000\n"])
        self.assertEqual(gpu_uuids(said[0]), {1: "GPU-0a-1b"})


if __name__ == "__main__":
    unittest.main()
