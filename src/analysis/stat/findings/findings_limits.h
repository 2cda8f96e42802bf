/* Thresholds of findings, with their reasons. docs/findings.md lists them, too; findings_test.py compares. */
#pragma once

/* All findings: minimum saving, because two runs of a program differ by less. It is a share of the time from
 * first to last GPU work, without pauses in which nothing runs: loading of modules, initialization of NCCL,
 * time between sampled steps. */
#define SAVING_SHARE_MIN 0.02
#define WORK_PAUSE_NS    20000000
#define SAVING_NS_MIN    100000 /* 2 % of a short program are negligible */

/* tiny-launches: a launch takes the host 2.5 to 4 us (docs/performance.md), so one thread cannot launch
 * shorter kernels as fast as the GPU runs them. */
#define TINY_KERNEL_NS   5000
#define TINY_KERNEL_RUNS 100

/* launch-bound: windows of work are examined, to find one phase among others. A GPU that is idle for half of
 * a window shows more than latency. */
#define WINDOW_WORK       32 /* pieces of work in a window */
#define WINDOW_IDLE_SHARE 0.5
#define PAUSE_NS          1000000 /* a longer gap has other causes than the next launch */

/* synchronous-copies and other findings that matter only if they repeat. */
#define REPEATED_MIN 10

/* pageable-copies: CUDA stages up to 64 KiB in its own buffer (CUDA's "API synchronization behavior"). Pinned
 * copies of at least 1 MiB show the link's rate. Without them it is assumed to be about two thirds of the
 * peak that the device reports (cuda.device.pcie.bandwidth), otherwise of an x16 link of its generation:
 * PCIe 5.0 from compute capability 9, 4.0 from 8, 3.0 before. */
#define PAGEABLE_BYTES_MIN 65536
#define MEASURED_BYTES_MIN 1048576
#define PCIE5_BYTES_PER_S  40e9
#define PCIE4_BYTES_PER_S  20e9
#define PCIE3_BYTES_PER_S  10e9
#define PCIE_SHARE         0.63
#define PINNED_CALL_NS     5000 /* duration of an asynchronous copy's call */

/* needless-sync: such a call takes 1 to 2 us. A longer one waited for work whose spans were lost or not
 * sampled. */
#define NEEDLESS_WAIT_NS 10000

/* sync-between-launches: a host that continues within this time has hardly read the results. */
#define SYNC_TO_NEXT_NS 50000

/* low-occupancy: eight of 64 warps per multiprocessor, two per scheduler, hide almost no latency. Kernels
 * that fill shared memory by design (pipelines of asynchronous copies) need only four warps. */
#define LOW_OCCUPANCY         0.125
#define PIPELINE_SHARED_SHARE 0.5 /* of a multiprocessor's shared memory, by one block */
#define PIPELINE_THREADS      128
#define SMALL_GRID_SHARE      0.5   /* blocks per multiprocessor: fewer leave half of the GPU unused */
#define OCCUPANCY_TIME_SHARE  0.05  /* share of the process's kernel time: less is not worth the effort */
#define OCCUPANCY_KERNEL_NS   10000 /* average duration: launches dominate shorter kernels */

/* serialized-kernels: kernel B starts at most this many ns after kernel A ends, because of their stream. */
#define HANDOVER_NS 5000

/* graph-candidates: four launches take longer than the launch of a graph (8 us, p99 27 us, in
 * examples/recordings/graph.cuspanrec); capturing and instantiating takes 200 us, ten rounds at 20 us. */
#define GRAPH_NODES_MIN  4
#define GRAPH_TIMES_MIN  10
#define GRAPH_PERIOD_MAX 4096
#define GRAPH_LAUNCH_NS  10000

/* round-trips: the maximum write rate of one core. Data that are copied back sooner cannot have been
 * rewritten completely. */
#define HOST_WRITE_BYTES_PER_S 20e9

/* leak: a leak grows with the work, so most slices of the second half have some of its blocks. Setup and the
 * growth of a caching allocator come in bursts. PyTorch's allocator asks for multiples of 2 MiB, which it
 * keeps on purpose. */
#define LEAK_SLICES          8
#define LEAK_SLICES_MIN      6
#define CACHED_SEGMENT_BYTES 2097152

/* tiny-copies: copies of up to 16 KiB take as long as a copy of one byte. */
#define TINY_COPY_BYTES 16384
#define TINY_COPY_RUNS  100
#define TINY_COPY_ROW   4 /* consecutive copies in one direction, which one copy could replace */

/* prefill-stalls-decode: an iteration with prompts that takes twice as long as the median one without doubles
 * the time per token. If the GPU was not busy for most of the additional time, something else took it, such
 * as the loading of modules. A prompt of 3,000 tokens, launched without a graph beside a small model's
 * decodes, kept the GPU busy for 0.46 of it. */
#define STALL_FACTOR    2
#define STALL_GPU_SHARE 0.4

/* scheduler-bound: longer gaps have other causes than the schedule, such as a transfer of the KV cache. */
#define ENGINE_GAP_NS     100000000
#define ENGINE_IDLE_SHARE 0.3 /* of the time of iterations and the gaps after them */

/* preemption: engines stop a few requests by design when lengths are hard to predict. */
#define PREEMPTED_SHARE 0.02 /* of the sampled requests */

/* small-batch: iterations that only decode read all weights, whether for one request or for eight. A request
 * always waits for the iteration in progress, and for one or two more that are already scheduled. */
#define SMALL_BATCH       8 /* requests, at most */
#define SMALL_BATCH_WAITS 4 /* such iterations that a request waited for */

/* graph-miss: engines capture graphs for some numbers of requests, and fill up to the next one. Numbers with
 * the same highest bit are compared, or with the next one. */
#define GRAPH_MISS_GRAPHS 10 /* iterations with graphs, at least */

/* late-rank: ranks of one host get an iteration within some 10 us. If one starts after the others have ended,
 * they are stages of a pipeline. */
#define LATE_RANK_NS    50000 /* after the rank before it, at least */
#define LATE_RANK_SHARE 0.5   /* of its iterations */
