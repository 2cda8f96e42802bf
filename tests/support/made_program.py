"""A synthetic CUDA program as the spans that it would have: a host with a clock that the test advances, threads,
streams that execute their work in order, memory. For tests of `cuspan stat`, which need to know the content of a
trace."""

import json
from contextlib import contextmanager

from make_trace import START_NS, Trace, attributes, value
from registry import Registry

REGISTRY = Registry()
MIB = 1 << 20
MAIN = (4711, "main")
DEVICE = {  # an H200, as far as the tables and findings need
    "hw.type": "gpu", "hw.name": "NVIDIA H200", "cuda.device.multiprocessors": 132,
    "cuda.device.multiprocessor.max_warps": 64, "cuda.device.multiprocessor.max_blocks": 32,
    "cuda.device.multiprocessor.max_shared_memory": 233472, "cuda.device.multiprocessor.max_registers": 65536,
    "cuda.device.warp.threads": 32, "cuda.device.compute_capability.major": 9,
    "cuda.device.memory.bytes": 150_109_880_320}


class Program(Trace):
    """Times are in ns; `now` is the host's clock. A call starts now and advances the clock to its end."""

    def __init__(self, name="made", seed=1, pid=4711):
        super().__init__(name, seed)
        self.pid = pid
        self.now = 1_000_000
        self.thread = MAIN
        self.parents = []
        self.next_address = 0x7f0000000000
        self.done_at = 0
        self.is_exited = True
        self.lost = 0
        self.last_end = 0
        self.devices = {}  # number → further attributes of its resource

    def call(self, name, duration=2_000, error=None, **args):
        """Returns the call's span ID. Arguments become cuda.arg.*; `context` is CUPTI's number of the context."""
        context = args.pop("context", 1)
        self.correlation += 1
        attrs = {"cuda.api": "driver" if name.startswith("cu") and not name.startswith("cuda") else "runtime",
                 "cuspan.thread.id": self.thread[0], "thread.name": self.thread[1], "cuda.context.id": context,
                 "cuda.correlation.id": self.correlation}
        attrs.update({f"cuda.arg.{key}": v for key, v in args.items()})
        span = self.add("process", name, self.now, self.now + duration, (self.parents or [self.session])[-1], attrs, error)
        self.now += duration
        return span

    @contextmanager
    def on(self, number, name):
        """Calls inside the block are made by this thread."""
        before, self.thread = self.thread, (number, name)
        yield
        self.thread = before

    @contextmanager
    def range(self, name):
        start = self.now
        parent = (self.parents or [self.session])[-1]
        identity = self.add("process", name, start, start + 1, parent, {"cuda.range.kind": "range"})
        span = self.spans[-1][1]
        self.parents.append(identity)
        yield
        self.parents.pop()
        span["endTimeUnixNano"] = str(START_NS + max(self.now, start + 1))

    def on_gpu(self, parent, called_ns, name, activity, duration, stream, device, context, **attrs):
        start = max(called_ns + 1_000, self.free_at.get((device, stream), 0))
        end = start + duration
        self.free_at[device, stream] = end
        self.done_at = max(self.done_at, end)
        self.add(f"gpu{device}", name, start, end, parent, {
            "cuda.activity": activity, "cuda.context.id": context, "cuda.stream.id": stream,
            "cuda.correlation.id": self.correlation, "cuda.start_delay": start - called_ns, **attrs})
        self.last_end = end

    def launch(self, kernel, duration, grid=(4096, 1, 1), block=(256, 1, 1), registers=32, shared=0, stream=7, device=0,
               host_ns=4_000, context=1):
        called = self.now
        parent = self.call("cudaLaunchKernel", host_ns, context=context, grid=list(grid), block=list(block), stream=f"0x{stream:x}")
        self.on_gpu(parent, called, kernel, "kernel", duration, stream, device, context, **{
            "cuda.kernel.name": f"void {kernel}<float>(float const*, float*, int)", "cuda.kernel.grid": list(grid),
            "cuda.kernel.block": list(block), "cuda.kernel.registers": registers, "cuda.kernel.shared_memory.static": 0,
            "cuda.kernel.shared_memory.dynamic": shared})

    def copy(self, kind, size, duration, is_async=True, host="pinned", src=0x1000, dst=0x2000, stream=7, device=0,
             host_ns=3_000, context=1):
        """A synchronous copy blocks the host until its end."""
        called = self.now
        parent = self.call("cudaMemcpyAsync" if is_async else "cudaMemcpy", host_ns, context=context, src=f"0x{src:x}",
                           dst=f"0x{dst:x}", bytes=size, kind=kind, stream=f"0x{stream:x}")
        span = self.spans[-1][1]
        sorts = {"HostToDevice": (host, "device"), "DeviceToHost": ("device", host), "DeviceToDevice": ("device", "device")}[kind]
        self.on_gpu(parent, called, f"memcpy {kind}", "memcpy", duration, stream, device, context, **{
            "cuda.memcpy.kind": kind, "cuda.memcpy.src_kind": sorts[0], "cuda.memcpy.dst_kind": sorts[1],
            "cuda.memcpy.bytes": size})
        if not is_async:
            self.now = max(self.now, self.last_end + 2_000)
            span["endTimeUnixNano"] = str(START_NS + self.now)

    def copy_to_peer(self, size, duration, source=0, target=1, context=1):
        called = self.now
        parent = self.call("cudaMemcpyPeerAsync", 3_000, context=context, bytes=size)
        self.on_gpu(parent, called, "memcpy_peer PeerToPeer", "memcpy_peer", duration, 7, source, context, **{
            "cuda.memcpy.kind": "PeerToPeer", "cuda.memcpy.src_kind": "device", "cuda.memcpy.dst_kind": "device",
            "cuda.memcpy.bytes": size, "cuda.memcpy.src_device.hw.id": f"GPU-{source}",
            "cuda.memcpy.dst_device.hw.id": f"GPU-{target}"})

    def wait(self, name="cudaDeviceSynchronize", stream=None):
        """Waits until the stream, or all of them, is done."""
        until = self.done_at if stream is None else self.free_at.get((0, stream), 0)
        more = {} if stream is None else {"stream": f"0x{stream:x}"}
        self.call(name, max(1_500, until - self.now + 1_500), **more)

    def allocate(self, size, name="cudaMalloc", duration=50_000, address=None, **args):
        """Returns the address."""
        if address is None:
            address = self.next_address
            self.next_address += (size + 0x1fffff) // 0x200000 * 0x200000
        self.call(name, duration, **{"ptr": f"0x{address:x}", "bytes": size, **args})
        return address

    def free(self, address, name="cudaFree", duration=30_000, **args):
        self.call(name, duration, ptr=f"0x{address:x}", **args)

    def lines(self):
        resources = {"process": {"service.name": self.program, "process.pid": self.pid, "service.instance.id": f"{self.pid:08x}-0000-4000-8000-000000000000",
                                 "host.id": "a1b2"}}
        for key, _ in self.spans:
            if key != "process":
                number = int(key[3:])
                resources[key] = {**resources["process"], **DEVICE, "hw.id": f"GPU-{number}", "cuda.device.id": number,
                                  **self.devices.get(number, {})}
        for key, span in self.spans:
            yield json.dumps({"resourceSpans": [{
                "resource": {"attributes": attributes(resources[key])},
                "scopeSpans": [{"scope": {"name": "cuspan", "version": "0.1.0"}, "spans": [span]}]}]})

    def write(self, path):
        """Adds the session span around everything; `is_exited`: it says that the process has ended."""
        self.finish()
        if self.lost:
            self.spans[-1][1]["attributes"].append({"key": "cuda.session.lost", "value": value(self.lost)})
        if self.is_exited:
            self.spans[-1][1]["attributes"].append({"key": "cuda.session.end_reason", "value": value("exit")})
        lines = list(self.lines())
        wrong = REGISTRY.problems(map(json.loads, lines))
        assert not wrong, wrong
        path.write_text("\n".join(lines) + "\n")
        return path
