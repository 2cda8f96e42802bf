/* Synthetic recordings for tests: host threads that allocate, copy, launch and fail, and the GPU's records,
 * with parameters of every type. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_START_NS    1700000000000000000ull
#define SAMPLE_STREAM      0x7f0000100000ull /* handle of the stream that is created */
#define SAMPLE_CONTEXT     0x55550000ull
#define SAMPLE_THREADS_MAX 4096
#define SAMPLE_UUID        "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
#define SAMPLE_GROUP       5
#define SAMPLE_STEPS       20
#define SAMPLE_STEP_NS     50000ull
#define SAMPLE_TID         1000 /* of the first thread */

struct sample {
    unsigned threads;
    unsigned calls;             /* per thread, not counting nested calls */
    uint32_t first_correlation; /* 0 counts as 1 */
    bool is_long;               /* spreads the calls over 300 ms */
    /* Each thread processes requests one after the other: SAMPLE_GROUP calls with the request's context, of
     * which the second and third are in a range "stage" with a mark. Every seventh group has no request,
     * every tenth request is unsampled. Trace ID: 8 bytes "request!", then thread << 32 | group. Span ID: the
     * same number. */
    bool has_requests;
    /* Launches with every third correlation ID n have counters: dram.read 4096 n, l2.hit_rate 50.5, and
     * "reads" n for even n. */
    bool has_counters;
    bool
        has_names; /* names thread 1 "loader", the stream "copies", the context "training", device 0 "left" */
    bool
        has_steps; /* SAMPLE_STEPS boundaries, SAMPLE_STEP_NS apart; from the sixth one on, the nonce is 77 */
    bool has_links; /* device 0 has SAMPLE_UUID and reports its links twice: first one, then both */
};

/* False: cannot write; prints a line to stderr. */
bool sample_write(const char *path, const struct sample *sample);

#define SAMPLE_GRAPH_NODES    6
#define SAMPLE_GRAPH_LAUNCHES 40

/* A graph captured by one thread and launched by four others, with GPU work recorded per execution or per
 * node. */
bool sample_write_graphs(const char *path, bool with_nodes);

#define SAMPLE_CAPTURE_LINE     10 /* of the first node */
#define SAMPLE_INSTANTIATE_LINE 30
#define SAMPLE_LAUNCH_LINE      50

/* The same with the lines of graph.py that captured each node and that launched the graph. */
bool sample_write_graph_code(const char *path);

#define SAMPLE_MAKERS         4
#define SAMPLE_MAKER_LAUNCHES 10

/* Threads that make a graph each, at the same time, instantiate it at once and launch it: two capture it from
 * a stream, two create it; of both, one uses the runtime API and one the driver API. Each execution has its
 * own record and those of its nodes, for the fault late-graphs. */
bool sample_write_graph_makers(const char *path);

#define SAMPLE_COLLECTIVE_STEPS 50
#define SAMPLE_COLLECTIVE_BYTES 1000 /* of one rank */
#define SAMPLE_COLLECTIVE_NS    2000 /* of a kernel */

/* Rank 1 of 4 with NCCL's ranges. Each step has an AllReduce, which the profiler plugin describes, three
 * AllGathers in one group and kernel, and a kernel "own" of the program. */
bool sample_write_collectives(const char *path);
