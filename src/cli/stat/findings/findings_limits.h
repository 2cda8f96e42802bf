/* From where on something is a finding. One table, each number with its reason; docs/findings.md says the
 * same to people, and findings_test.py compares. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_FINDINGS_LIMITS_H
#define CUSPAN_CLI_STAT_FINDINGS_FINDINGS_LIMITS_H

/* Any: less is what two runs of one program differ by. Of the time from the first GPU work to the last. */
#define SAVING_SHARE_MIN 0.02
#define SAVING_NS_MIN    100000 /* of a short program, 2 % are nothing */

/* tiny-launches: a launch takes a host 2.5 to 4 us (docs/performance.md): of shorter kernels one thread can't
 * launch as many as the GPU runs. */
#define TINY_KERNEL_NS   5000
#define TINY_KERNEL_RUNS 100

/* launch-bound: work in windows, so that a phase is found beside others; half idle is more than latency. */
#define WINDOW_WORK       32 /* pieces */
#define WINDOW_IDLE_SHARE 0.5
#define PAUSE_NS          1000000 /* a longer gap is something else than preparing the next launch */

/* synchronous-copies and all that is a fault only if it is done again and again. */
#define REPEATED_MIN 10

/* pageable-copies: up to 64 KiB CUDA takes them into a buffer of its own (CUDA's "API synchronization
 * behavior"). Where no pinned copies of a MiB or more show what the link does, some two thirds of the peak
 * that the device tells (cuda.device.pcie.bandwidth), or, where it tells none, of what x16 of its generation
 * has: PCIe 5.0 from compute capability 9 on, 4.0 from 8, 3.0 before. */
#define PAGEABLE_BYTES_MIN 65536
#define MEASURED_BYTES_MIN 1048576
#define PCIE5_BYTES_PER_S  40e9
#define PCIE4_BYTES_PER_S  20e9
#define PCIE3_BYTES_PER_S  10e9
#define PCIE_SHARE         0.63
#define PINNED_CALL_NS     5000 /* what an asynchronous copy's call takes */

/* needless-sync: such a call takes 1 to 2 us; a longer one has waited for work whose spans were lost or not
 * sampled. */
#define NEEDLESS_WAIT_NS 10000

/* sync-between-launches: a host that goes on within that time has not looked at much of the results. */
#define SYNC_TO_NEXT_NS 50000

/* low-occupancy: eight warps a multiprocessor of 64, two a scheduler, hide next to no latency. Kernels that
 * fill shared memory by design (a pipeline of asynchronous copies) work so with four warps and more. */
#define LOW_OCCUPANCY         0.125
#define PIPELINE_SHARED_SHARE 0.5 /* of a multiprocessor's shared memory, by one block */
#define PIPELINE_THREADS      128
#define SMALL_GRID_SHARE      0.5   /* blocks by multiprocessors: less leaves half of the GPU empty */
#define OCCUPANCY_TIME_SHARE  0.05  /* of the process's time in kernels: less isn't worth the work */
#define OCCUPANCY_KERNEL_NS   10000 /* on average: shorter ones are at their launches' mercy anyway */

/* serialized-kernels: B began when A ended, as the stream had it. */
#define HANDOVER_NS 5000

/* graph-candidates: four launches take longer than the launch of a graph (8 us, p99 27 us, in
 * examples/recordings/graph.cuspanrec); capturing and instantiating takes some 200 us, ten rounds at 20 us.
 */
#define GRAPH_NODES_MIN  4
#define GRAPH_TIMES_MIN  10
#define GRAPH_PERIOD_MAX 4096
#define GRAPH_LAUNCH_NS  10000

/* round-trips: one core writes at most so fast; what comes back sooner can't have been changed as a whole. */
#define HOST_WRITE_BYTES_PER_S 20e9

/* tiny-copies: up to 16 KiB a copy takes as long as one of a byte. */
#define TINY_COPY_BYTES 16384
#define TINY_COPY_RUNS  100
#define TINY_COPY_ROW   4 /* one behind the other in a direction, as one copy could have them */

#endif
