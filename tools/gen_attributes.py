#!/usr/bin/env python3
"""Generates docs/attributes.md: every attribute that cuspan writes, with its type, its unit and when it is present.

    tools/gen_attributes.py             writes the page
    tools/gen_attributes.py --check     fails and prints the difference if the committed page is out of date

Names, types and details come from the code: the tables of src/model and the keys in src/correlate and src/agent. Meanings
and units are below. The tool fails if a key has no line there, or a line no key."""

import difflib
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/attributes.md"

# KEY | UNIT | WHEN | MEANING. WHEN is only for keys that code sets by name; the tables give it for the others.
SPAN_KEYS = """
cuda.api | | call spans | the API: runtime or driver
cuda.activity | | GPU spans and CUPTI's own | the kind of work, named as in capture.activities: kernel, memcpy, memset, graph, overhead and so on; collective: the span around the kernel of a collective, which is not work of its own
thread.id | | call spans | the kernel's ID of the calling thread
thread.name | | call spans of named threads | the current name of the calling thread
cuda.context.id | | call spans | CUPTI's number of the CUDA context, from 1; 0: the call had none
cuda.correlation.id | | call spans | CUPTI's 32-bit number of the call, shared by its GPU work; unique per process
error.type | | failed calls, GPU spans with `cuda.unfinished`, summaries (and with `detail: summary` sessions) with failed calls, root spans of failed commands | name of the result: cudaErrorInvalidValue, CUDA_ERROR_OUT_OF_MEMORY; _OTHER: a number unknown to this version. Summaries: of the first failed call. Commands: exit_status, or the signal that ended the command (SIGSEGV)
process.exit.code | | root spans of commands that no signal ended | the command's exit status
cuda.error.code | | failed calls, GPU spans with `cuda.unfinished` | the result as a number
cuda.kernel.name | | kernels | the full demangled name; the span's name is its short form
cuda.counter.NAME | the counter's | counted kernels and ranges (`counters.metrics`) | value of the hardware counter, under the name used in the settings: bytes (`dram.read`, `dram.write`), percent (`l2.hit_rate`), ns (`time`); docs/counters.md
code.stacktrace | | the first call of each `cuspan.stack.id` | the caller, innermost frame first, one line for each, at most 64. Python frames: `File "train.py", line 88, in Trainer.step`. Native frames: "function+0x1c (module+0x1189)", or without the function if the symbol tables do not have its name; leading frames of CUDA's own libraries are left out. With `capture.launch_stacks: all`, Python frames follow a native frame, the caller of CUDA. `addr2line -e module 0x1189` shows the source line. `...`: outer frames are missing
cuspan.stack.id | | calls that launch, copy, set, wait or allocate, with `capture.launch_stacks`; calls that allocate, with `capture.allocation_stacks`; with `capture.launch_stacks` and `detail: graph-nodes` also the work of a CUDA graph's node, for the code that captured it | 64-bit number in hexadecimal: the same for the same frames and lines in one process. One span of each has `code.stacktrace`; all have it with `capture.code_stacktrace: always`
code.function.name | | as cuspan.stack.id | qualified name of the innermost function of the program: outside installed packages, the standard library and code that PyTorch generates. If there is none, of the innermost function
code.file.path | | as cuspan.stack.id | its file: relative to the working directory, from the folder of installed packages on (site-packages/torch/...), or its name alone; the whole path with `capture.code_paths: full`
code.line.number | | as cuspan.stack.id, if known | the line of that function from which the call came
cuda.start_delay | ns | GPU spans of a known call | time from the start of the call to the start of the work; negative if CUPTI's conversion of the GPU clock is off by more
cuda.stream.default | | GPU spans, if true | the stream is the NULL stream of its CUDA context
cuda.orphan | | GPU spans, if true | the call is unknown; the parent is the session span
cuda.zero_length | | spans of records with a start and an end, if true | CUPTI reported no duration; the span has 1 ns
cuda.time_unknown | | executions of graphs, if true | CUPTI reported no time or an impossible one, as it does if several threads launch the same executable graph. The span has 1 ns, at the end or start that it reported, or else at the start of the call; its duration counts nowhere
cuda.unfinished | | GPU spans, if true | a fatal error of the CUDA context (a device-side assert, an illegal address) stopped the work, so CUPTI reported no end. The span has the error as its status and ends with the first call that returned the error
cuda.instant | | spans of records with one timestamp, if true | the record has no end; the span has 1 ns
cuda.graph.nodes | {node} | executions of graphs whose instantiation was traced | nodes of the executable graph, including child graphs
cuda.memcpy.src_device.hw.id | | peer copies, if known | hw.id of the source
cuda.memcpy.dst_device.hw.id | | peer copies, if known | hw.id of the destination
cuda.module.id | | event cuda.module.loaded | CUPTI's number of the module
cuda.module.bytes | By | event cuda.module.loaded | size of the module's code
cuda.context.handle | | events cuda.context.created and cuda.context.destroyed | the CUcontext
cuda.session.number | | session spans | number of the session in its process, from 1
cuda.step.number | | spans of steps and of ranks | number of the training step, the same on all ranks
cuda.step.kind | | spans of steps and of ranks | train, evaluation or checkpoint
cuda.step.gpu_backlog | ns | spans of ranks | from the step's start on the host until the GPU had finished the work of earlier steps; 0: it had finished before. Missing if unknown: capture slept during the step before
cuda.step.compute_time | ns | spans of ranks, in jobs of several ranks or with metrics | time in which a kernel ran that is not a collective, on any GPU of the process. Includes work without a span
cuda.step.exposed_time | ns | as cuda.step.compute_time | time in which a collective ran, and no other kernel
cuda.step.copy_time | ns | as cuda.step.compute_time | time in which a copy or fill ran, and no kernel
cuda.step.left_out | {span} | spans of ranks, if not 0 | calls, ranges and GPU work of the rank that have no span in this trace, because the step has more spans than steps.spans_max. The totals include them
cuda.step.copy | | GPU spans in a step's trace | the span is also in the trace that has all spans of its rank, to which the rank's span links
cuda.step.source | | spans of steps and of ranks | what reported the step: api (cuspan.h, cuspan.step), optimizer (PyTorch), nvtx, or collectives (the period of NCCL's collectives)
cuda.session.spans | {span} | session spans, spans of ranks | child spans when the session ended
cuda.session.end_reason | | session spans, spans of ranks | spans or age (the session reached session.spans_max or session.age_max_ms), step (the next step of a training job began), stop (tracing was stopped), release (CUPTI was handed to another tool) or exit
cuda.session.lost | {span} | session spans, if not 0 | spans that the process had lost by then, for any reason; `cuspan.lost.*` and the report list them by reason
cuspan.own.callback_time | ns | session spans, if a call was timed; like all cuspan.own.*, not in replays | time in cuspan's callbacks on the program's threads since the previous session span (like all cuspan.own.* and cuspan.cupti.*). Estimated from timed calls: about one in a thousand, without those that the system interrupted
cuspan.own.callback_calls | {call} | session spans, if a call was timed | number of timed calls behind the estimate
cuspan.own.pipeline_time | ns | session spans | CPU time of the thread that correlates and encodes, including CUPTI's flushes on that thread
cuspan.own.sender_time | ns | session spans | CPU time of the threads that compress and send. Only the report and `cuspan status` include exports after the last session span
cuspan.own.control_time | ns | session spans | CPU time of the threads that serve the control socket and start the agent
cuspan.cupti.flush_time | ns | session spans, if not 0 | time in which CUPTI flushed its buffers, according to the overhead records received so far; mostly on cuspan's thread
cuspan.cupti.instrumentation_time | ns | session spans, if not 0 | CUPTI's time for instrumentation, inside the program's calls
cuspan.cupti.resource_time | ns | session spans, if not 0 | CUPTI's time to create and free its resources on the GPU and the host
cuspan.cupti.request_time | ns | session spans, if not 0 | CUPTI's time for requests of activity buffers, which cuspan serves
cuspan.cupti.other_time | ns | session spans, if not 0 | CUPTI's time for anything it does not name, and to prepare for unified memory
cuda.stream.name | | calls with a stream, and their GPU work | the program's name for the stream (NVTX)
cuda.summary.number | | summaries (`detail: summary`) | number of the summary in its request, from 1. Above 1: work after the previous summary was sent. cuspan remembers some of the latest 16,384 requests
cuda.total.calls | {call} | summaries, sessions and ranges with calls or work | traced calls
cuda.total.errors | {call} | as cuda.total.calls, if not 0 | calls that failed
cuda.total.call_time | ns | as cuda.total.calls | host time in all traced calls, summed over threads
cuda.total.launch_time | ns | as cuda.total.calls, if not 0 | host time in calls that launch kernels and graphs
cuda.total.sync_time | ns | as cuda.total.calls, if not 0 | host time in calls that wait for the GPU
cuda.total.gpu_time | ns | as cuda.total.calls; also events cuda.device.worked | time in which a GPU was busy; overlapping work on a device counts once; devices are summed
cuda.total.start_delay | ns | as cuda.total.calls, if not 0 | time from the start of a call to the start of its GPU work, summed over all work
cuda.total.kernels | {kernel} | as cuda.total.calls | kernel executions, without those inside graphs that are traced as a whole
cuda.total.copies | {copy} | as cuda.total.calls, if not 0 | copies on the GPU, including those between GPUs, without those inside graphs that are traced as a whole
cuda.total.copy_bytes | By | as cuda.total.calls, if not 0 | bytes that these copies moved
cuda.total.fills | {fill} | as cuda.total.calls, if not 0 | memsets on the GPU, without those inside graphs that are traced as a whole
cuda.total.fill_bytes | By | as cuda.total.calls, if not 0 | bytes that these memsets set
cuda.total.graphs | {graph} | as cuda.total.calls, if not 0 | executions of CUDA graphs that are traced as a whole
cuda.total.slowest.1.kernel | | with a kernel | short name of the kernel with the longest single execution
cuda.total.slowest.1.duration | ns | with a kernel | duration of the longest execution of that kernel
cuda.total.slowest.2.kernel | | with kernels of two names | the same among the other kernels
cuda.total.slowest.2.duration | ns | with kernels of two names | duration of the longest execution of that kernel
cuda.total.slowest.3.kernel | | with kernels of three names | the same among the rest
cuda.total.slowest.3.duration | ns | with kernels of three names | duration of the longest execution of that kernel
cuda.total.estimated | | if true | gpu_time is too low: work arrived too far out of order to detect its overlaps
cuda.total.incomplete | | ranges and sessions, if true | sent before all of its GPU work was known, for lack of space
cuda.device.id | | with totals of one device; events cuda.device.worked | the device that did the work
hw.id | | with totals of one device; events cuda.device.worked | hw.id of that device
cuda.context.name | | calls and GPU work of a named CUDA context | the program's name for the CUDA context (NVTX)
cuda.event.name | | calls with an event | the program's name for the event (NVTX)
cuda.range | | ranges, spans and marks of the program | range (nests on its thread and is the parent of calls), span or mark
cuda.range.unended | | ranges, if true | the program did not end it; it ends with the last activity of its thread, or with the process
nvtx.domain | | NVTX ranges and marks outside the default domain | name of the domain
nvtx.category | | NVTX ranges and marks with a category | name of the category in that domain, otherwise its number
nvtx.payload | | NVTX ranges and marks with a payload that is one number or text. Structured payloads have `nvtx.payload.NAME` for each number and text, by the name in the schema, otherwise by the entry's index from 0 | the program's value; a number beyond signed 64 bits is a string
cuda.stream.id | | collectives, as on GPU work | CUPTI's number of the stream
cuda.collective.operation | | collectives whose operation is known | all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, send, recv or send_recv (both in one kernel)
cuda.collective.communicator | | collectives from NCCL 2.25 on | NCCL's ID of the communicator, the same on all ranks
cuda.collective.ordinal | | collectives with a communicator; also the ranges of their calls | number of the call in its communicator and operation, from 0; of Send and Recv also per peer. It also counts unsampled calls and calls while cuspan sleeps. In a group: that of the first call
cuda.collective.key | | as cuda.collective.ordinal | hash of communicator, operation and ordinal, the same on all ranks; of Send and Recv the same on both sides
cuda.collective.ranks | {rank} | collectives of communicators whose initialization NCCL's ranges or its plugin report; also the ranges of their calls | ranks of the communicator
cuda.collective.rank | | as cuda.collective.ranks, if the process has one rank of the communicator | this process's rank in the communicator
cuda.collective.bytes | By | collectives of known size | bytes of the whole message, as nccl-tests count them: of AllGather, ReduceScatter, AlltoAll, Gather and Scatter those of all ranks. In a group: the sum; of Send and Recv together, the larger direction
cuda.collective.algbw | By/s | as cuda.collective.bytes | bytes divided by the duration of the kernel
cuda.collective.busbw | By/s | as cuda.collective.bytes, with cuda.collective.ranks | algbw times the share of the message that crosses the bus, as nccl-tests define it: 2(n-1)/n for AllReduce, (n-1)/n for AllGather, ReduceScatter, AlltoAll, Gather and Scatter, otherwise 1
cuda.collective.datatype | | collectives that NCCL's profiler plugin reports | float32, bfloat16 and so on
cuda.collective.algorithm | | as cuda.collective.datatype, except Send and Recv | NCCL's name: RING, TREE, NVLS and so on
cuda.collective.protocol | | as cuda.collective.algorithm | NCCL's name: LL, LL128 or SIMPLE
cuda.collective.reduction | | collectives that reduce | sum, prod, max, min, avg, or custom (created by the program)
cuda.collective.root | | Broadcast, Reduce, Gather and Scatter | the rank at the root
cuda.collective.peer | | Send and Recv with one peer | the other rank
cuda.collective.grouped | {call} | collectives, if above 1 | calls of NCCL that this kernel runs (ncclGroupStart, ncclGroupEnd)
cuda.collective.source | | collectives | nvtx (NCCL's ranges), plugin (also NCCL's profiler plugin), or kernel (only the kernel's name)
cuda.link | | links of session spans and of graph nodes | target of the link: previous session, process (the trace context of TRACEPARENT), or capture (the call that captured or added the node)
"""

RESOURCE_KEYS = """
service.name | | always | from the configuration, otherwise unknown_service:PROGRAM
service.instance.id | | always | a random UUID for each process
telemetry.sdk.name | | always | cuspan
telemetry.sdk.language | | always | c
telemetry.sdk.version | | always | cuspan's version
process.pid | | always |
process.executable.path | | always |
process.executable.name | | always |
host.id | | always | /etc/machine-id, otherwise the boot ID, otherwise the host name
host.name | | always |
ip | | unless `resource_ip` is false | the address of the interface with the default route. From it, Jaeger knows which spans have the same clock
host.arch | | always | amd64 or arm64
os.type | | always | linux
container.id | | in a container, if the runtime exposes it | from cgroup or mountinfo: 64 hexadecimal digits
k8s.pod.uid | | in a pod, if kubelet exposes it | from cgroup or mountinfo, otherwise from K8S_POD_UID, OTEL_RESOURCE_ATTRIBUTES_POD_UID, POD_UID or MY_POD_UID, if the pod's manifest sets one
k8s.pod.name | | in a pod | from K8S_POD_NAME, OTEL_RESOURCE_ATTRIBUTES_POD_NAME, POD_NAME or MY_POD_NAME; otherwise the host name, except in the node's network and in indexed jobs, whose pods have other names
k8s.namespace.name | | in a pod with a service account | from the service account's token, otherwise from K8S_NAMESPACE_NAME, K8S_NAMESPACE, POD_NAMESPACE or MY_POD_NAMESPACE
k8s.container.name | | in a pod with the variable | from K8S_CONTAINER_NAME, which [deploy/kubernetes](../deploy/kubernetes/README.md) sets
k8s.node.name | | in a pod with one of the variables | from K8S_NODE_NAME, OTEL_RESOURCE_ATTRIBUTES_NODE_NAME, NODE_NAME or MY_NODE_NAME
slurm.job.id | | in a Slurm job | SLURM_JOB_ID
slurm.job.name | | in a Slurm job | SLURM_JOB_NAME
slurm.array.job.id | | in an array of Slurm jobs | SLURM_ARRAY_JOB_ID
slurm.array.task.id | | in an array of Slurm jobs | SLURM_ARRAY_TASK_ID
slurm.step.id | | in a step of a Slurm job | SLURM_STEP_ID
slurm.node.name | | in a Slurm job | SLURMD_NODENAME
slurm.cluster.name | | in a Slurm job | SLURM_CLUSTER_NAME
cuda.process.rank | | with a launcher that sets it | rank of this process in its program: RANK (torchrun), otherwise from Horovod, Open MPI, MVAPICH2, PMI (MPICH, Intel, Cray), Flux or Slurm
cuda.process.local_rank | | with a launcher that sets it | rank on its node
cuda.process.world_size | {process} | with a launcher that sets it | number of processes of the program
cuda.version | | with a driver | latest CUDA version that the driver supports: 13.0
hw.driver_version | | with a driver | NVIDIA's driver: 580.159
cuda.cupti.version | | always | the CUDA release of the CUPTI in use: 13.5
hw.type | | devices | gpu
hw.vendor | | devices | NVIDIA
hw.id | | devices | the UUID, as cuda.device.uuid; for a MIG instance as cuda.device.mig.uuid
hw.parent | | MIG instances | the GPU, as cuda.device.uuid
cuda.device.pci.address | | devices of this machine; in replays, if recorded | domain, bus, device and function: 0000:1b:00.0
cuda.device.pcie.generation | | devices of this machine if both ends of the link report it; in replays as recorded | the highest PCI Express generation that both ends support; an idle link runs slower. Absent below an emulated bridge (a virtual machine), and on Arm with capability 9 and later, where NVLink-C2C may connect the GPU to the processor
cuda.device.pcie.width | {lane} | with cuda.device.pcie.generation | lanes that both ends support
cuda.device.pcie.bandwidth | By/s | with cuda.device.pcie.generation | peak of the link in one direction: lanes × transfers/s × encoding efficiency (8 of 10 bits in generations 1 and 2, 128 of 130 in 3 to 5, 242 of 256 bytes in 6 and 7) / 8. It includes packet headers, so no copy reaches it
cuda.device.nvlink.links | {link} | devices of a process that has copied between GPUs, after NVML responded (`capture.nvlink`); in replays as recorded | active NVLinks; 0: none
cuda.device.nvlink.version | | with active NVLinks | NVML's version number
cuda.device.nvlink.bandwidth | By/s | with active NVLinks | peak of all links in one direction: NVML's speed of a link × links. NVML may report the speed on the wire, before coding: 26.562 GB/s per link of NVLink 4, which is specified as 25
cuda.device.nvlink.ends | | with active NVLinks | other end of each link: switch, a GPU's PCI address, or unknown
hw.name | | devices | as cuda.device.name
hw.model | | devices | as cuda.device.name
cuda.device.id | | devices | CUDA's number of the device in this process
cuda.device.label | | devices that the program named, from then on | the program's name for the device (NVTX)
"""

# KEY | UNIT | MEANING
FIELD_KEYS = """
cuda.channel.id | | hardware channel of the work
cuda.channel.type | | purpose of the channel
cuda.compute_engine_context_switch.operation | | the compute engine switched to this CUDA context, or away from it
cuda.confidential_compute_rotation.event | | event of the channel's keys
cuda.context.id | | CUPTI's number of the CUDA context, from 1; 0: none
cuda.correlation.id | | correlation ID of the call that caused the work; 0: unknown
cuda.device.block.max_registers | {register} | maximum of a block
cuda.device.block.max_shared_memory | By | maximum of a block
cuda.device.block.max_threads | {thread} | maximum of a block
cuda.device.clock | kHz | clock of the multiprocessors
cuda.device.compute_capability.major | | for example 9 (Hopper)
cuda.device.compute_capability.minor | | for example 0 (H200)
cuda.device.constant_memory.bytes | By |
cuda.device.copy_engines | {engine} | number of copies that can run concurrently
cuda.device.ecc | | 1: ECC is on
cuda.device.id | | CUDA's number of the device in this process
cuda.device.l2_cache.bytes | By |
cuda.device.max_ipc | {instruction}/{cycle} | maximum per cycle of a multiprocessor; 0: unknown
cuda.device.memory.bandwidth | kBy/s | bandwidth of the GPU's memory
cuda.device.memory.bytes | By | size of the GPU's memory
cuda.device.mig.compute_instance.id | | absent: not a MIG instance
cuda.device.mig.enabled | | 1: MIG is on
cuda.device.mig.gpu_instance.id | | absent: not a MIG instance
cuda.device.mig.uuid | | MIG-…; absent: not a MIG instance
cuda.device.multiprocessor.max_blocks | {block} | maximum per multiprocessor
cuda.device.multiprocessor.max_registers | {register} | maximum per multiprocessor
cuda.device.multiprocessor.max_shared_memory | By | maximum per multiprocessor
cuda.device.multiprocessor.max_warps | {warp} | maximum per multiprocessor
cuda.device.multiprocessors | {multiprocessor} | number of multiprocessors
cuda.device.name | | for example NVIDIA H200
cuda.device.numa | | 1: its memory is a NUMA node
cuda.device.numa.id | | number of that node; 4294967295: none
cuda.device.tpcs | {TPC} | texture processing clusters
cuda.device.uuid | | as NVIDIA's tools write it: GPU-…
cuda.device.visible | | 1: not hidden by CUDA_VISIBLE_DEVICES
cuda.device.warp.threads | {thread} | threads per warp
cuda.environment.kind | | what changed; the values are not read
cuda.event.id | | CUPTI's number of the CUDA event; 4294967295: none
cuda.event.sync_id | | distinguishes the records of one event; 0: no event
cuda.graph.end_context.id | | the CUDA context in which the graph ended
cuda.graph.end_device.id | | the device on which the graph ended
cuda.graph.id | | CUPTI's number of the graph that was launched; absent outside graphs
cuda.graph.launch_mode | | how the device launched it
cuda.graph.launcher.id | | the graph that launched it
cuda.graph.node.id | | CUPTI's number of the node; absent outside graphs
cuda.graph.source.id | | the graph from which the executable graph was instantiated; 0: unknown
cuda.graph.source.node.id | | the node from which the executable graph's node was instantiated; 0: unknown
cuda.internal_launch.callback_id | | CUPTI's number of the launch outside the public API
cuda.internal_launch.result | | result of the launch
cuda.jit.cache.bytes | By | size of the compute cache
cuda.jit.cache.path | | the file in the cache
cuda.jit.entry | | input and output of the compilation
cuda.jit.id | | shared by all operations of one compilation
cuda.jit.operation | | looked up, stored or compiled
cuda.kernel.block | {thread} | threads per block, in x, y and z
cuda.kernel.cache.executed | | preference between L1 cache and shared memory that was used
cuda.kernel.cache.requested | | preference that was requested
cuda.kernel.cluster | {block} | blocks per cluster, in x, y and z; 0: no clusters
cuda.kernel.cluster.max_active | {cluster} | maximum number of clusters on the device at a time
cuda.kernel.cluster.max_potential_size | {block} | largest possible cluster of this launch
cuda.kernel.cluster.scheduling_policy | | placement of the blocks of clusters
cuda.kernel.completed | ns | time since 1970 at which the kernel and all kernels that it launched were complete
cuda.kernel.device_launched | | 1: launched by the device
cuda.kernel.execution_model | | threads or tiles
cuda.kernel.grid | {block} | blocks of the grid, in x, y and z
cuda.kernel.grid_id | | ID of the launch, unique in the process
cuda.kernel.launch_type | | plain or cooperative
cuda.kernel.local_memory.per_thread | By | reserved for each thread
cuda.kernel.local_memory.total | By | reserved for the kernel
cuda.kernel.priority | | priority of the launch
cuda.kernel.queued | ns | time since 1970; 0: unknown. CUPTI sets it only with latency timestamps, which cuspan does not enable
cuda.kernel.registers | {register} | registers per thread
cuda.kernel.shared_memory.carveout | % | requested share of shared memory in the memory that is divided between L1 cache and shared memory
cuda.kernel.shared_memory.carveout_requested | | 1: requested
cuda.kernel.shared_memory.dynamic | By | per block, as given at the launch
cuda.kernel.shared_memory.executed | By | size configured on the multiprocessor
cuda.kernel.shared_memory.limit | | whether the kernel was opted in to more than the default limit
cuda.kernel.shared_memory.static | By | per block, as compiled
cuda.kernel.submitted | ns | as cuda.kernel.queued
cuda.marker.domain | | NVTX domain
cuda.marker.flags | | CUPTI's: start, end or instant
cuda.marker.id | | the same for start and end of a range
cuda.mem_decompress.operations | {operation} | operations of this batch
cuda.mem_decompress.source_bytes | By | size before decompression
cuda.memcpy.bytes | By | bytes copied
cuda.memcpy.count | {copy} | copies in this record
cuda.memcpy.device_launched | | 1: launched by the device
cuda.memcpy.dst_context.id | | CUDA context of the destination
cuda.memcpy.dst_device.id | | device of the destination
cuda.memcpy.dst_kind | | kind of memory copied to
cuda.memcpy.flags | | CUPTI's; 1: asynchronous
cuda.memcpy.kind | | direction
cuda.memcpy.src_context.id | | CUDA context of the source
cuda.memcpy.src_device.id | | device of the source
cuda.memcpy.src_kind | | kind of memory copied from
cuda.memory.address | | address of the allocation
cuda.memory.async | | 1: stream-ordered
cuda.memory.bytes | By | bytes allocated or freed
cuda.memory.kind | | kind of memory
cuda.memory.operation | | allocated or freed
cuda.memory.pool.address | | address of the pool
cuda.memory.pool.bytes | By | size of the pool
cuda.memory.pool.process.id | | process that owns the pool
cuda.memory.pool.release_threshold | By | size that the pool keeps when it releases memory
cuda.memory.pool.type | | owner of the pool
cuda.memory.pool.used_bytes | By | bytes in use in the pool
cuda.memory.source | | the library that requested it
cuda.memory_pool.address | | address of the pool
cuda.memory_pool.bytes | By | size of the pool
cuda.memory_pool.managed | | 1: managed memory
cuda.memory_pool.min_bytes_to_keep | By | minimum of the trim call
cuda.memory_pool.operation | | operation on the pool
cuda.memory_pool.release_threshold | By | size that the pool keeps when it releases memory
cuda.memory_pool.type | | owner of the pool
cuda.memory_pool.used_bytes | By | bytes in use in the pool
cuda.memset.bytes | By | bytes filled
cuda.memset.device_launched | | 1: launched by the device
cuda.memset.flags | | CUPTI's; 1: asynchronous
cuda.memset.memory_kind | | kind of memory filled
cuda.memset.value | | fill value
cuda.overhead.kind | | cause of the overhead in CUPTI or the driver
cuda.stream.id | | CUPTI's number of the stream; 0 and 4294967295: none
cuda.synchronization.result | | result of the wait
cuda.synchronization.type | | object of the wait
thread.id | | the kernel's ID of the thread
cuda.unified_memory.address | | address of the page or range
cuda.unified_memory.dst.id | | CUPTI's number of the destination
cuda.unified_memory.flags | | CUPTI's
cuda.unified_memory.kind | | counted event
cuda.unified_memory.src.id | | CUPTI's number of the source
cuda.unified_memory.value | By, or {fault} | as cuda.unified_memory.kind says
"""

# Units of parameters, except those in …bytes, which is their unit. All others are counts or have no unit.
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
         "int": "int", "bool": "bool", "string": "string", "bytes": "string", "double": "double",
         "pointer": "string, hex"}
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
    wrong += [f"{what}: {key} is in tools/gen_attributes.py but not in the code" for key in
              sorted(set(described) - set(found))]
    if wrong:
        raise Missing("\n".join(wrong))


# ---- The code --------------------------------------------------------------------------------------------------------


def span_keys():
    """{key: type} of the keys that src/correlate and the root span have by name."""
    found = {}
    for path in sorted([*(ROOT / "src/correlate").rglob("*.c"), ROOT / "src/agent/entry/root_span.c"]):
        text = path.read_text(encoding="utf-8")
        uses = re.findall(r"(?:attr|put)_(\w+)\(\w+,\s*ATTR\(\"([^\"]+)\"\)", text)
        uses += [(kind, key) for key, kind in re.findall(r"key = ATTR\(\"([^\"]+)\"\), \.type = ATTR_(\w+)", text)]
        for table, body in re.findall(r"(\w+)\[\w*\] = \{(.*?)\};", text, re.S):
            use = re.search(rf"attr_(\w+)\(\w+, &{table}\[|put_(\w+)\(\w+, &{table}\[", text)
            uses += [(use and (use[1] or use[2]), key) for key in re.findall(r"ATTR_KEY\(\"([^\"]+)\"\)", body)]
        found.update({key: TYPES[kind] for kind, key in uses})
        unused = set(re.findall(r"ATTR(?:_KEY)?\(\"([^\"]+)\"\)", text)) - {key for _, key in uses}
        if unused:
            raise Missing(f"{path.name}: the types of {', '.join(sorted(unused))} are not found")
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
    texts = "".join(map(read, ("src/agent/resource/detect.c", "src/agent/resource/deployment.c", "src/correlate/trace/devices.c", "src/model/metrics/links.c")))
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
    units = {"cuspan.lost.points": "{point}", "cuspan.lost.profile_samples": "{sample}"}
    span_texts.update({key: (units.get(key, "{span}"), "session spans, if not 0", f"of the process so far: {text}")
                       for key, text in losses().items()})
    match(spans, span_texts, "spans")
    match(resources, resource_texts, "resources")
    match({**fields, **devices}, field_texts, "src/model/cuda/activities_table.c")
    # The generic keys are written by the tables, too: one line says all of it.
    by_name = [(code(key), kind, *span_texts[key]) for key, kind in sorted(spans.items())]
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

This page lists every attribute of cuspan's spans and resources. Units follow UCUM (By: bytes; a word in braces is a
count). An attribute without a unit is a name, an ID or true. IDs of CUDA contexts, streams, graphs and calls are CUPTI's
own, and unique within one process. Names that start with `cuda.`, `cuspan.`, `nvtx.` or `slurm.` are cuspan's own. All
others follow OpenTelemetry's semantic conventions. `tools/gen_attributes.py` generates this page from the code: do not
edit it.

## Attributes set by name

{names}

A session span has up to 128 events, a call span up to 8: `cuda.module.loaded`, `cuda.context.created`,
`cuda.context.destroyed`. An event belongs to the call in which it happened, or to the session if there was none.

## GPU work and other CUPTI records

Each field of a CUPTI record becomes one attribute. Kinds after "full:" have it only with `detail: full` or, for kinds
that are off by default, if `capture.activities.allow` lists the kind. A value unknown to this version is a number.

{fields}

Kinds without a time do not become spans. `device` becomes a resource (below), `context` identifies the NULL stream, and
the others are only stored in recordings: {facts}.

## Resources

The resource of call and session spans is the process. The resource of GPU spans is the process and the device.

{resources}

The configuration (`resource.attributes`, `OTEL_RESOURCE_ATTRIBUTES`) has precedence. Next is the process context that an
OpenTelemetry SDK in the process publishes (OTEP 4719: a mapping named `OTEL_CTX`), except `telemetry.*`. A process
context that is published or changed later is detected within 1 to 10 s and applies to spans from then on. A program that
runs with another user's rights gets no attributes from its environment. A device has these attributes in addition, as
reported by CUPTI:

{devices}

## Parameters of calls

`cuda.arg.NAME` is a parameter of the call, with `capture.parameters` enabled. A name has the same meaning in all calls:
`bytes` stands for the parameters count, sizeBytes and ByteCount. Output parameters are present if the call succeeded.
Addresses and handles are hexadecimal strings, dimensions are three integers, flags are numbers, and enumerations have
the names in CUDA's headers. Strings are truncated after 120 bytes. cuspan follows pointers only to handles, strings and
the structs that describe the call, never to data. Widths and offsets without a unit are bytes or elements, as CUDA
documents the call. Calls in the default profile have these (variants for per-thread streams are not counted):

{usual}

These appear only with calls that `capture.calls.allow` or `detail: full` adds:

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
