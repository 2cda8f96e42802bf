#!/usr/bin/env python3
"""Makes docs/attributes.md: every attribute that cuspan writes, with its type, its unit and when it is there.

    tools/gen_attributes.py             writes the page
    tools/gen_attributes.py --check     fails with the difference if the committed page is another

Which attributes there are, their types and their details come from the code: the tables of src/model, the keys in
src/correlate and src/agent. What one means and its unit stand below. A key without a line there fails, and so does a line
without a key."""

import difflib
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/attributes.md"

# KEY | UNIT | WHEN | MEANING. WHEN is given only for keys that code writes by name; for those of the tables the kind and
# the detail say it.
SPAN_KEYS = """
cuda.api | | call spans | the API that was called: runtime or driver
cuda.activity | | GPU spans and CUPTI's own | the kind of work, by the words of capture.activities: kernel, memcpy, memset, graph, overhead and so on
thread.id | | call spans | the kernel's ID of the calling thread
thread.name | | call spans of named threads | the name of the calling thread, as it is now
cuda.context.id | | call spans | CUPTI's number of the context, from 1; 0: the call had none
cuda.correlation.id | | call spans | CUPTI's number of the call, which its GPU work bears too. 32 bits, per process
error.type | | failed calls, GPU spans with `cuda.unfinished`, summaries (and with `detail: summary` sessions) with failed calls: of the first, root spans of failed commands | name of what the call returned: cudaErrorInvalidValue, CUDA_ERROR_OUT_OF_MEMORY. _OTHER: a number that this version doesn't know. Of a command: exit_status, or the signal that it died of (SIGSEGV)
process.exit.code | | root spans of commands that weren't killed | the command's exit status
cuda.error.code | | failed calls, GPU spans with `cuda.unfinished` | the same as a number
cuda.kernel.name | | kernels | the full demangled name, of which the span's name is the short form
cuda.counter.NAME | the counter's | kernels and ranges that were counted (`counters.metrics`) | what the hardware counted in it, by the name that the settings give it: bytes (`dram.read`, `dram.write`), percent (`l2.hit_rate`), ns (`time`); docs/counters.md
code.stacktrace | | allocating calls, with `capture.allocation_stacks` | where the call was made: a line for each of at most 16 frames, innermost first, "function+0x1c (module+0x1189)", or without the function where the loader knows no name; those of CUDA's own libraries at the front are left out. `addr2line -e module 0x1189` says more
cuda.start_delay | ns | GPU spans whose call is known | from the begin of the call to the begin of the work; negative where CUPTI's conversion of the GPU's clock is off by more
cuda.stream.default | | GPU spans, where true | the stream is its context's NULL stream
cuda.orphan | | GPU spans, where true | the call is unknown, so the span hangs below the session
cuda.zero_length | | spans of records with a begin and an end, where true | CUPTI gave no length: the span has 1 ns
cuda.unfinished | | GPU spans, where true | a fatal error of the context (a device-side assert, an illegal address) stopped the work, so CUPTI gave no end: the span has the error, and ends when the first call that returned the error did
cuda.instant | | spans of records with one time, where true | the record has no end: the span has 1 ns
cuda.graph.nodes | {node} | executions of graphs that were seen when they were instantiated | nodes of the executable graph, those of child graphs included
cuda.memcpy.src_device.hw.id | | peer copies, where known | hw.id of the source
cuda.memcpy.dst_device.hw.id | | peer copies, where known | hw.id of the destination
cuda.module.id | | event cuda.module.loaded | CUPTI's number of the module
cuda.module.bytes | By | event cuda.module.loaded | size of the module's code
cuda.context.handle | | events cuda.context.created and cuda.context.destroyed | the CUcontext
cuda.session.number | | session spans | of this session in its process, from 1
cuda.session.spans | {span} | session spans | spans below it that were seen before it was cut
cuda.session.end_reason | | session spans | spans or age (it was cut by session.spans_max or session.age_max_ms), stop (the tracing was stopped), release (CUPTI was given to another tool) or exit
cuda.session.lost | {span} | session spans, where not 0 | what the process had lost by then, of any reason; `cuspan.lost.*` has each, and the report
cuspan.own.callback_time | ns | session spans, where a call was timed; as all cuspan.own.* not in replays, whose times are another run's | since the session span before, as all cuspan.own.* and cuspan.cupti.*: what cuspan's callbacks took on the host's threads, estimated from the calls that were timed (one in about a thousand; one that the system interrupted is left out)
cuspan.own.callback_calls | {call} | session spans, where a call was timed | the calls on which the estimate rests
cuspan.own.pipeline_time | ns | session spans | processor's time of cuspan's thread that correlates and encodes; what CUPTI takes to flush on it included
cuspan.own.sender_time | ns | session spans | processor's time of the threads that compress and send. What is sent after the last session span is in the report and in `cuspan status` alone
cuspan.own.control_time | ns | session spans | processor's time of the threads that answer the control socket and start the agent
cuspan.cupti.flush_time | ns | session spans, where not 0 | what CUPTI took to flush its buffers, by its overhead records that had come by then; mostly on cuspan's thread
cuspan.cupti.instrumentation_time | ns | session spans, where not 0 | the same to instrument, inside the program's calls
cuspan.cupti.resource_time | ns | session spans, where not 0 | the same to make and free what it needs on the GPU and the host
cuspan.cupti.request_time | ns | session spans, where not 0 | the same for requests of activity buffers, which cuspan answers
cuspan.cupti.other_time | ns | session spans, where not 0 | the same for what CUPTI doesn't name, and to prepare for unified memory
cuda.stream.name | | calls with a stream, and their GPU work | the name that the program gave the stream (NVTX)
cuda.summary.number | | summaries (`detail: summary`) | of this request, from 1; more: what came after the one before had been sent, as far as cuspan remembers (some of the latest 16,384 requests)
cuda.total.calls | {call} | summaries, sessions, ranges: as all cuda.total.* where there was a call or work | traced calls
cuda.total.errors | {call} | where not 0, as the next but gpu_time, call_time and kernels | of these, calls that failed
cuda.total.call_time | ns | | on the host, in all traced calls; threads add up
cuda.total.launch_time | ns | | the same in calls that launch kernels and graphs
cuda.total.sync_time | ns | | the same in calls that wait for the GPU
cuda.total.gpu_time | ns | also of events cuda.device.worked | in which a GPU was busy: what overlaps on a device counts once; devices add up
cuda.total.start_delay | ns | | from the begin of a call to the begin of its work on the GPU, the sum over all work
cuda.total.kernels | {kernel} | | executions; those inside of a graph that is traced as a whole are not counted
cuda.total.copies | {copy} | |
cuda.total.copy_bytes | By | |
cuda.total.fills | {fill} | |
cuda.total.fill_bytes | By | |
cuda.total.graphs | {graph} | | executions of CUDA graphs that were traced as a whole
cuda.total.slowest.1.kernel | | with a kernel | short name of the kernel with the longest single execution
cuda.total.slowest.1.duration | ns | with a kernel | of that execution
cuda.total.slowest.2.kernel | | with kernels of two names | the same of the other kernels
cuda.total.slowest.2.duration | ns | with kernels of two names | of that execution
cuda.total.slowest.3.kernel | | with kernels of three names | the same of the rest
cuda.total.slowest.3.duration | ns | with kernels of three names | of that execution
cuda.total.estimated | | where true | gpu_time is less than it was: work came so far out of order that it couldn't be told apart
cuda.total.incomplete | | ranges and sessions, where true | it was sent before all of its GPU work was known, for want of room
cuda.device.id | | with totals of one device; events cuda.device.worked | the device that worked
hw.id | | with totals of one device; events cuda.device.worked | the same, as its resource has it
cuda.context.name | | calls and GPU work of a context that has one | the name that the program gave the context (NVTX)
cuda.event.name | | calls with an event | the name that the program gave the event (NVTX)
cuda.range | | ranges, spans and marks of the program's own | range (it nests on its thread, and calls are its children), span or mark
cuda.range.unended | | ranges, where true | nobody ended it: it ends with what its thread did last, or with the process
nvtx.domain | | NVTX ranges and marks of a domain other than the default one | its name
nvtx.category | | NVTX ranges and marks with a category | its name in that domain, else its number
nvtx.payload | | NVTX ranges and marks with a payload that is one number or text; of a structured one `nvtx.payload.NAME` for each number and text, by the name in its schema, else the entry's index from 0 | as the program gave it; a number is a string where it is beyond 64 bits with a sign
cuda.link | | links of session spans and of nodes of graphs | what the link leads to: previous session, process (the context of TRACEPARENT), or capture (the call that captured or added the node)
"""

RESOURCE_KEYS = """
service.name | | always | of the configuration; else unknown_service:PROGRAM
service.instance.id | | always | a random UUID for each process
telemetry.sdk.name | | always | cuspan
telemetry.sdk.language | | always | c
telemetry.sdk.version | | always | of cuspan
process.pid | | always |
process.executable.path | | always |
process.executable.name | | always |
host.id | | always | /etc/machine-id, else the boot ID, else the host's name
host.name | | always |
host.arch | | always | amd64 or arm64
os.type | | always | linux
container.id | | in a container, where the runtime shows it | of cgroup or mountinfo: 64 hexadecimal digits
k8s.pod.uid | | in a pod, where kubelet shows it | of cgroup or mountinfo; else of K8S_POD_UID, OTEL_RESOURCE_ATTRIBUTES_POD_UID, POD_UID or MY_POD_UID, if the pod's manifest sets one
k8s.pod.name | | in a pod | of K8S_POD_NAME, OTEL_RESOURCE_ATTRIBUTES_POD_NAME, POD_NAME or MY_POD_NAME; else the host's name, but not in the node's network, and not of an indexed job, whose pods have other names
k8s.namespace.name | | in a pod with a service account | of the service account's token; else of K8S_NAMESPACE_NAME, K8S_NAMESPACE, POD_NAMESPACE or MY_POD_NAMESPACE
k8s.node.name | | in a pod that is told | of K8S_NODE_NAME, OTEL_RESOURCE_ATTRIBUTES_NODE_NAME, NODE_NAME or MY_NODE_NAME
slurm.job.id | | in a Slurm job | SLURM_JOB_ID
slurm.job.name | | in a Slurm job | SLURM_JOB_NAME
slurm.array.job.id | | in an array of Slurm jobs | SLURM_ARRAY_JOB_ID
slurm.array.task.id | | in an array of Slurm jobs | SLURM_ARRAY_TASK_ID
slurm.step.id | | in a step of a Slurm job | SLURM_STEP_ID
slurm.node.name | | in a Slurm job | SLURMD_NODENAME
slurm.cluster.name | | in a Slurm job | SLURM_CLUSTER_NAME
cuda.process.rank | | where a launcher says it | of this process among those of its program: RANK (torchrun), else of Horovod, Open MPI, MVAPICH2, PMI (MPICH, Intel, Cray), Flux or Slurm
cuda.process.local_rank | | where a launcher says it | the same on its node
cuda.process.world_size | {process} | where a launcher says it | how many processes the program has
cuda.version | | with a driver | the newest CUDA that the driver can take: 13.0
hw.driver_version | | with a driver | NVIDIA's driver: 580.159
cuda.cupti.version | | always | the CUDA release of the CUPTI in use: 13.5
hw.type | | devices | gpu
hw.vendor | | devices | NVIDIA
hw.id | | devices | the UUID, as cuda.device.uuid; of a MIG instance as cuda.device.mig.uuid
hw.parent | | MIG instances | the GPU, as cuda.device.uuid
cuda.device.pci.address | | devices of this machine; in replays as recorded, where it was | domain, bus, device and function: 0000:1b:00.0
cuda.device.pcie.generation | | devices of this machine whose link's both ends tell; in replays as recorded | the PCI Express generation that both ends can do, the link's peak; it runs slower while nothing moves. Absent below an emulated bridge (a virtual machine), and on Arm from capability 9 on, where the GPU may be joined to the processor by NVLink-C2C
cuda.device.pcie.width | {lane} | with cuda.device.pcie.generation | lanes that both ends have
cuda.device.pcie.bandwidth | By/s | with cuda.device.pcie.generation | what the link can move in one direction: lanes × transfers/s × the share that its encoding leaves (8 of 10 bits in generations 1 and 2, 128 of 130 in 3 to 5, 242 of 256 bytes in 6 and 7) / 8. Packets' headers come off that, so no copy reaches it
cuda.device.nvlink.links | {link} | devices of a process that has copied between GPUs, once NVML has answered (`capture.nvlink`); in replays as recorded | NVLinks that are up; 0: it has none
cuda.device.nvlink.version | | with NVLinks that are up | NVML's number of the version
cuda.device.nvlink.bandwidth | By/s | with NVLinks that are up | what all of them can move in one direction: NVML's speed of a link × links. NVML's speed may be the one on the wire, before coding: 26.562 GB/s a link of NVLink 4, which is sold as 25
cuda.device.nvlink.ends | | with NVLinks that are up | where each of them leads: switch, a GPU's PCI address, or unknown
hw.name | | devices | as cuda.device.name
hw.model | | devices | as cuda.device.name
cuda.device.id | | devices | the number that CUDA has for it in this process
cuda.device.label | | devices, where the program has named them | the name that the program gave the device (NVTX), from then on
"""

# KEY | UNIT | MEANING
FIELD_KEYS = """
cuda.channel.id | | hardware channel that the work went through
cuda.channel.type | | what the channel is for
cuda.compute_engine_context_switch.operation | | the compute engine turns to this context, or away from it
cuda.confidential_compute_rotation.event | | what happens to the channel's keys
cuda.context.id | | CUPTI's number of the context, from 1; 0: none
cuda.correlation.id | | that of the call which caused the work; 0: unknown
cuda.device.block.max_registers | {register} | most that a block can have
cuda.device.block.max_shared_memory | By | most that a block can have
cuda.device.block.max_threads | {thread} | most that a block can have
cuda.device.clock | kHz | of the processors
cuda.device.compute_capability.major | | 9 for a Hopper
cuda.device.compute_capability.minor | | 0 for an H200
cuda.device.constant_memory.bytes | By |
cuda.device.copy_engines | {engine} | how many copies can run at once
cuda.device.ecc | | 1: ECC is on
cuda.device.id | | the number that CUDA has for it in this process
cuda.device.l2_cache.bytes | By |
cuda.device.max_ipc | {instruction}/{cycle} | most per cycle of a multiprocessor; 0: unknown
cuda.device.memory.bandwidth | kBy/s | of the GPU's memory
cuda.device.memory.bytes | By | of the GPU's memory
cuda.device.mig.compute_instance.id | | absent: not a MIG instance
cuda.device.mig.enabled | | 1: MIG is on
cuda.device.mig.gpu_instance.id | | absent: not a MIG instance
cuda.device.mig.uuid | | MIG-…; absent: not a MIG instance
cuda.device.multiprocessor.max_blocks | {block} | most that can be on one
cuda.device.multiprocessor.max_registers | {register} | of one
cuda.device.multiprocessor.max_shared_memory | By | of one
cuda.device.multiprocessor.max_warps | {warp} | most that can be on one
cuda.device.multiprocessors | {multiprocessor} | how many it has
cuda.device.name | | NVIDIA H200
cuda.device.numa | | 1: its memory is a NUMA node
cuda.device.numa.id | | of that node; 4294967295: none
cuda.device.tpcs | {TPC} | texture processing clusters
cuda.device.uuid | | as the driver's tools write it: GPU-…
cuda.device.visible | | 1: CUDA_VISIBLE_DEVICES doesn't hide it
cuda.device.warp.threads | {thread} | of one warp
cuda.environment.kind | | what changed; the values themselves are not read
cuda.event.id | | CUPTI's number of the CUDA event; 4294967295: none
cuda.event.sync_id | | tells apart the records of one event; 0: no event
cuda.graph.end_context.id | | the context in which the graph ended
cuda.graph.end_device.id | | the device on which the graph ended
cuda.graph.id | | CUPTI's number of the graph that was launched; absent outside of graphs
cuda.graph.launch_mode | | how the device launched it
cuda.graph.launcher.id | | the graph that launched it
cuda.graph.node.id | | CUPTI's number of the node; absent outside of graphs
cuda.graph.source.id | | the graph of which the executable one was made; 0: none is told
cuda.graph.source.node.id | | the node of which the executable one's was made; 0: none is told
cuda.internal_launch.callback_id | | CUPTI's number of the launch outside of the public API
cuda.internal_launch.result | | what it returned
cuda.jit.cache.bytes | By | size of the compute cache
cuda.jit.cache.path | | the file in the cache
cuda.jit.entry | | from what to what
cuda.jit.id | | joins the operations that belong to one compilation
cuda.jit.operation | | looked up, stored or compiled
cuda.kernel.block | {thread} | threads of a block, in x, y and z
cuda.kernel.cache.executed | | preference between L1 cache and shared memory that held
cuda.kernel.cache.requested | | preference that was asked for
cuda.kernel.cluster | {block} | blocks of a cluster, in x, y and z; 0: no clusters
cuda.kernel.cluster.max_active | {cluster} | most that can be on the device at once
cuda.kernel.cluster.max_potential_size | {block} | largest cluster that this launch could have
cuda.kernel.cluster.scheduling_policy | | how the blocks of clusters are placed
cuda.kernel.completed | ns | since 1970; when the kernel and all that it launched itself were done
cuda.kernel.device_launched | | 1: launched by the device
cuda.kernel.execution_model | | threads or tiles
cuda.kernel.grid | {block} | blocks of the grid, in x, y and z
cuda.kernel.grid_id | | of the launch, unique in the process
cuda.kernel.launch_type | | plain or cooperative
cuda.kernel.local_memory.per_thread | By | reserved for each thread
cuda.kernel.local_memory.total | By | reserved for the kernel
cuda.kernel.priority | | of the launch
cuda.kernel.queued | ns | since 1970; 0: unknown. CUPTI fills it only with latency timestamps, which cuspan leaves off
cuda.kernel.registers | {register} | of each thread
cuda.kernel.shared_memory.carveout | % | share of the memory between L1 cache and shared memory that was asked for
cuda.kernel.shared_memory.carveout_requested | | 1: it was asked for
cuda.kernel.shared_memory.dynamic | By | of a block, as given at the launch
cuda.kernel.shared_memory.executed | By | that the multiprocessor was set to
cuda.kernel.shared_memory.limit | | whether the kernel was opted in to more than the default limit
cuda.kernel.shared_memory.static | By | of a block, as compiled
cuda.kernel.submitted | ns | as cuda.kernel.queued
cuda.marker.domain | | NVTX domain
cuda.marker.flags | | CUPTI's: begin, end or instant
cuda.marker.id | | the same for begin and end of a range
cuda.mem_decompress.operations | {operation} | of this batch
cuda.mem_decompress.source_bytes | By | before decompression
cuda.memcpy.bytes | By | copied
cuda.memcpy.count | {copy} | that this one record stands for
cuda.memcpy.device_launched | | 1: launched by the device
cuda.memcpy.dst_context.id | | of the destination
cuda.memcpy.dst_device.id | | of the destination
cuda.memcpy.dst_kind | | what sort of memory is copied to
cuda.memcpy.flags | | CUPTI's; 1: asynchronous
cuda.memcpy.kind | | direction
cuda.memcpy.src_context.id | | of the source
cuda.memcpy.src_device.id | | of the source
cuda.memcpy.src_kind | | what sort of memory is copied from
cuda.memory.address | | of what was allocated or freed
cuda.memory.async | | 1: by a stream-ordered call
cuda.memory.bytes | By | allocated or freed
cuda.memory.kind | | what sort of memory
cuda.memory.operation | | allocated or freed
cuda.memory.pool.address | | of the pool that it came from
cuda.memory.pool.bytes | By | size of the pool
cuda.memory.pool.process.id | | of the process that owns the pool
cuda.memory.pool.release_threshold | By | what the pool keeps
cuda.memory.pool.type | | whose pool
cuda.memory.pool.used_bytes | By | of the pool
cuda.memory.source | | the library that asked for it
cuda.memory_pool.address | | of the pool
cuda.memory_pool.bytes | By | size of the pool
cuda.memory_pool.managed | | 1: of managed memory
cuda.memory_pool.min_bytes_to_keep | By | when it was trimmed
cuda.memory_pool.operation | | what happened to it
cuda.memory_pool.release_threshold | By | what the pool keeps
cuda.memory_pool.type | | whose pool
cuda.memory_pool.used_bytes | By | of the pool
cuda.memset.bytes | By | filled
cuda.memset.device_launched | | 1: launched by the device
cuda.memset.flags | | CUPTI's; 1: asynchronous
cuda.memset.memory_kind | | what sort of memory is filled
cuda.memset.value | | that it is filled with
cuda.overhead.kind | | what CUPTI or the driver spent the time on
cuda.stream.id | | CUPTI's number of the stream; 0 and 4294967295: none
cuda.synchronization.result | | what the wait returned
cuda.synchronization.type | | what was waited for
thread.id | | the kernel's ID of the thread
cuda.unified_memory.address | | of the page or range
cuda.unified_memory.dst.id | | CUPTI's number of where it went
cuda.unified_memory.flags | | CUPTI's
cuda.unified_memory.kind | | what was counted
cuda.unified_memory.src.id | | CUPTI's number of where it came from
cuda.unified_memory.value | By, or {fault} | as cuda.unified_memory.kind says
"""

# Parameters whose unit isn't told by their name (…bytes) stand here; the others have none, or are counts.
ARG_UNITS = {
    "By": "pitch src_pitch dst_pitch shared_memory offset size length data_size free total param_size "
          "param_offset src_offset dst_offset mem_offset mc_offset byte_offset alignment granularity",
    "ms": "milliseconds",
    "{thread}": "block block_size block_size_limit",
    "{block}": "grid grid_width grid_height num_blocks min_grid_size cluster_size",
}

# How the page names the types of the code.
TYPES = {"INT": "int", "UINT": "int", "BOOL": "bool", "DOUBLE": "double", "STRING": "string", "ENUM": "string", "strings": "string[]",
         "POINTER": "string, hex", "DIM3": "int[3]", "DIM3_X": "int[3]", "BYTES": "string",
         "int": "int", "bool": "bool", "string": "string", "bytes": "string", "pointer": "string, hex"}
DETAILS = {"ALWAYS": "default", "DEFAULT": "default", "FULL": "full"}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def meanings(text, columns):
    rows = (line.split("|") for line in text.strip().splitlines())
    return {row[0].strip(): [cell.strip() for cell in row[1:columns]] for row in rows}


class Missing(Exception):
    pass


def match(found, described, what):
    """Both sides name the same keys."""
    wrong = [f"{what}: {key} has no line in tools/gen_attributes.py" for key in sorted(set(found) - set(described))]
    wrong += [f"{what}: {key} stands in tools/gen_attributes.py and not in the code" for key in
              sorted(set(described) - set(found))]
    if wrong:
        raise Missing("\n".join(wrong))


# ---- What the code says ----------------------------------------------------------------------------------------------


def span_keys():
    """{key: type} of the keys that src/correlate and the root span have by name."""
    found = {}
    for path in sorted([*(ROOT / "src/correlate").rglob("*.c"), ROOT / "src/agent/entry/root_span.c"]):
        text = path.read_text(encoding="utf-8")
        for name, key in re.findall(r"struct attr_key (\w+) = ATTR_KEY\(\"([^\"]+)\"\)", text):
            use = re.search(rf"span_attr_(\w+)\(\w+, &{name}\b|key = &{name}, \.type = ATTR_(\w+)", text)
            if not use:
                raise Missing(f"{path.name}: {key} is never written")
            found[key] = TYPES[use[1] or use[2]]
    prefix = re.search(r'GPU_COUNTER_PREFIX "([^"]+)"', read("src/model/gpu_counter_names.h"))[1]
    return {**found, f"{prefix}NAME": "double", **dict.fromkeys(losses(), "int"), **nvtx_keys()}


def losses():
    """{key: what it counts} of the reasons for which spans are lost (src/correlate/trace/session.c makes the keys)."""
    rows = re.findall(r'X\(lost_(\w+), true,\s*\\?\s*"([^"]+)"\)', read("src/base/accounting/counters.h"))
    return {f"cuspan.lost.{reason}": text for reason, text in rows}


def nvtx_keys():
    """{key: type} of what src/capture/nvtx/nvtx.c adds to ranges and marks. A payload's type is the program's."""
    keys = re.findall(r"ADD_ATTR\(event, \"([^\"]+)\", ATTR_(\w+)\)", read("src/capture/nvtx/nvtx.c"))
    return {key: "int, double or string" if key == "nvtx.payload" else TYPES[kind] for key, kind in keys}


def resource_keys():
    """{key: type} of what src/agent and src/correlate put on resources by name."""
    texts = "".join(map(read, ("src/agent/resource/detect.c", "src/agent/resource/deployment.c", "src/correlate/trace/devices.c", "src/model/links.c")))
    calls = re.findall(r"(?:add|resource_set)_(strings?|int)\(resource, \"([^\"]+)\"", texts)
    calls += [("string", key) for key in re.findall(r"\{\"((?:slurm|k8s)\.[^\"]+)\",", texts)]  # of tables
    return {key: TYPES[kind] for kind, key in calls}


class Field:
    def __init__(self, match_, enums):
        self.key, kind, self.detail, self.role = match_[1], match_[2], match_[3], match_[4]
        self.kind, self.type = kind, TYPES[kind] if self.key else None
        self.values = enums[int(match_[5])] if kind == "ENUM" else []


def enums_of(text):
    bodies = re.findall(r"activity_enum_names_\d+\[\] = \{[^\n]*\n(.*?)\n\};", text, re.S)
    return [[]] + [re.findall(r'"([^"]+)"', body) for body in bodies]


def activity_kinds():
    """[(name, least detail, fields)] of the kinds, as the table has them."""
    text = read("src/model/cuda/activities_table.c")
    enums, fields = enums_of(text), {}
    for name, body in re.findall(r"struct activity_field (\w+)_fields\[\] = \{\n(.*?)\n\};", text, re.S):
        rows = re.finditer(r'\{(?:ATTR_KEY\("([^"]+)"\)|NO_KEY), FIELD_(\w+), ACTIVITY_(\w+), ROLE_(\w+), \d+, (\d+)\}', body)
        fields[name] = [Field(row, enums) for row in rows]
    kinds = re.findall(r'\[\d+\] = \{"(\w+)", (\w+)_fields, \d+, ACTIVITY_(\w+), ', text)
    return [(name, DETAILS[detail], fields[table]) for name, table, detail in kinds if detail in DETAILS]


def is_on_span(field):
    return (field.key and field.detail in DETAILS and field.role not in ("START", "END", "NAME", "DEVICE"))


def span_fields(kinds):
    """{key: Field}, {key: [(kind, detail)]} of what becomes an attribute of a span; kinds without a time make none."""
    fields, places = {}, defaultdict(list)
    for name, kind_detail, kind_fields in kinds:
        if name in ("device", "context", *facts_of(kinds)):
            continue
        for field in filter(is_on_span, kind_fields):
            fields.setdefault(field.key, field)
            detail = "full" if "full" in (kind_detail, DETAILS[field.detail]) else "default"
            places[field.key].append((name, detail))
    return fields, places


def facts_of(kinds):
    return [name for name, _, fields in kinds
            if name not in ("device", "context") and not any(field.role == "START" for field in fields)]


def device_fields(kinds):
    """What devices.c makes of a device's record: no dimensions."""
    device = next(fields for name, _, fields in kinds if name == "device")
    return {field.key: "int" if field.kind == "ENUM" else field.type for field in device
            if field.key and field.kind not in ("DIM3_X", "DIM3_YZ")}


def call_arguments():
    """{key: (types, calls of the default profile, other calls)}, calls without the variants of per-thread streams."""
    text = read("src/model/cuda/calls_table.c")
    keys = re.findall(r'ATTR_KEY\("(cuda\.arg\.[^"]+)"\)', text)
    body = re.search(r"const struct call_param call_params\[\] = \{(.*?)\n\};", text, re.S)[1]
    params = re.findall(r"\{(\d+), PARAM_(\w+), \d+\}", body)
    found = {key: (set(), set(), set()) for key in keys}
    rows = re.findall(r"= \{\d+, (\d+), (\d+), CALL_GROUP_\w+, (\d), \d\}, /\* (\w+) \*/", text)
    for first, count, is_default, name in rows:
        for key, kind in params[int(first):int(first) + int(count)]:
            types, usual, others = found[keys[int(key)]]
            types.add(TYPES[kind])
            (usual if is_default == "1" else others).add(re.sub(r"_pt[sd][zs]$", "", name))
    return found


# ---- The page --------------------------------------------------------------------------------------------------------


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell or "" for cell in row) + " |" for row in rows])


def code(text):
    return f"`{text}`"


def where(places):
    """kernel, memcpy; full: cuda_event, jit"""
    by_detail = defaultdict(list)
    for name, detail in places:
        by_detail[detail].append(name)
    parts = [", ".join(by_detail["default"])] if by_detail["default"] else []
    if by_detail["full"]:
        parts.append("full: " + ", ".join(by_detail["full"]))
    return "; ".join(parts)


def with_values(meaning, values):
    return f"{meaning} ({', '.join(values)})" if values else meaning


def some(names, most):
    names = sorted(names, key=lambda name: (name.startswith("cu") and not name.startswith("cuda"), name))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def unit_of_argument(name):
    if "bytes" in name.split("_"):
        return "By"
    return next((unit for unit, names in ARG_UNITS.items() if name in names.split()), "")


def type_of_argument(types):
    """An address in one call can be text in another (cuda.arg.symbol)."""
    return " or ".join(sorted(types, key=lambda name: (name == "string", name)))


def argument_rows(arguments, usual):
    for key, (types, default_calls, other_calls) in sorted(arguments.items()):
        calls = default_calls if usual else other_calls
        if bool(default_calls) == usual and calls:
            yield code(key), type_of_argument(types), unit_of_argument(key[len("cuda.arg."):]), some(calls, 3)


def page():
    kinds = activity_kinds()
    fields, places = span_fields(kinds)
    devices, spans, resources, arguments = device_fields(kinds), span_keys(), resource_keys(), call_arguments()
    span_texts, resource_texts = meanings(SPAN_KEYS, 4), meanings(RESOURCE_KEYS, 4)
    field_texts = meanings(FIELD_KEYS, 3)
    span_texts.update({key: ("{span}", "session spans, where not 0", f"by the process so far: {text}")
                       for key, text in losses().items()})
    match(spans, span_texts, "spans")
    match(resources, resource_texts, "resources")
    match({**fields, **devices}, field_texts, "src/model/cuda/activities_table.c")
    # The generic keys are written by the tables, too: one line says all of it.
    by_name = [(code(key), kind, *span_texts[key]) for key, kind in spans.items()]
    by_table = [(code(key), fields[key].type, field_texts[key][0], where(places[key]),
                 with_values(field_texts[key][1], fields[key].values)) for key in sorted(fields)]
    of_device = [(code(key), kind, *field_texts[key]) for key, kind in devices.items() if key not in resource_texts]
    by_resource = [(code(key), kind, *resource_texts[key][1:]) for key, kind in resources.items()]
    return TEXT.format(
        names=table(("attribute", "type", "unit", "where", "meaning"), by_name),
        facts=", ".join(code(name) for name in facts_of(kinds)),
        fields=table(("attribute", "type", "unit", "kind of work", "meaning"), by_table),
        resources=table(("attribute", "type", "where", "meaning"), by_resource),
        devices=table(("attribute", "type", "unit", "meaning"), of_device),
        usual=table(("attribute", "type", "unit", "calls"), argument_rows(arguments, True)),
        others=table(("attribute", "type", "unit", "calls"), argument_rows(arguments, False)))


TEXT = """# Attributes

Every attribute that cuspan writes. Units are UCUM's (By: bytes; words in braces are counts of them); where none is given,
the value is a name, a number of a thing, or true. OpenTelemetry's conventions name what they know (`thread.*`, `error.type`,
`service.*`, `process.*`, `host.*`, `hw.*`); the rest is `cuda.*`. Numbers of contexts, streams, graphs and calls are CUPTI's
own and hold within one process. Made by `tools/gen_attributes.py` from the code: don't edit.

## What the code writes by name

{names}

A session span has up to 128 events, a call span up to 8: `cuda.module.loaded`, `cuda.context.created`,
`cuda.context.destroyed`. They stand on the call in which they happened, and on the session if there was none.

## Work of the GPU, and what CUPTI says besides

One attribute for each field of CUPTI's record. The kinds behind "full:" have it only with `detail: full`, or, where the kind
itself is on request, when `capture.activities.allow` names the kind. A value that this version has no word for stays a number.

{fields}

Kinds without a time are facts and make no span: `device` becomes a resource (below), `context` says which stream is the
NULL stream; recordings keep the others: {facts}.

## Resources

A call's and a session's spans belong to the process, a GPU's to the process and the device.

{resources}

What the configuration gives (`resource.attributes`, `OTEL_RESOURCE_ATTRIBUTES`) goes first, then what an OpenTelemetry SDK in
the process has published (process context, OTEP 4719: a mapping named `OTEL_CTX`), but for `telemetry.*`; one that is published
or changed later is seen within 1 to 10 s, and holds for the spans from then on. A program that runs with another user's rights has nothing from its environment. A device has besides, as CUPTI
says it:

{devices}

## Parameters of calls

`cuda.arg.NAME` is a parameter of the call, with `capture.parameters` on. A name stands for the same sort of thing in every
call: `bytes` is what a call names count, sizeBytes or ByteCount. Parameters that the call sets are there when it has
succeeded. Addresses and handles are hexadecimal text, dimensions three integers, flags numbers; enumerations have the words
of CUDA's headers. Text is cut after 120 bytes. Of what pointers lead to, only handles, text and the structs that describe the
call are read, never data. Widths and offsets without a unit are bytes or elements, as CUDA documents the call. Calls in the default profile have these (the variants for per-thread streams are not counted):

{usual}

And these are only with calls that `capture.calls.allow` or `detail: full` adds:

{others}
"""


def main():
    try:
        text = page()
    except Missing as missing:
        print(missing)
        return 1
    if sys.argv[1:] == ["--check"]:
        old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), "docs/attributes.md",
                                                   "docs/attributes.md (made again)", n=1))
        return int(old != text)
    if sys.argv[1:]:
        print(__doc__)
        return 2
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
