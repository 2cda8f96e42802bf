/* A made-up recording, for tests of whatever plays one: host threads that allocate, copy, launch and fail,
 * and the GPU's records of it, with parameters of every type that the tables know. */
#ifndef CUSPAN_REPLAY_SAMPLE_H
#define CUSPAN_REPLAY_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_START_NS    1700000000000000000ull
#define SAMPLE_STREAM      0x7f0000100000ull /* the handle of the stream that it creates */
#define SAMPLE_CONTEXT     0x55550000ull
#define SAMPLE_THREADS_MAX 4096
#define SAMPLE_UUID        "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
#define SAMPLE_GROUP       5
#define SAMPLE_TID         1000 /* of the first thread */

struct sample {
    unsigned threads;
    unsigned calls;             /* of each thread, those made by other calls not counted */
    uint32_t first_correlation; /* 0: 1 */
    bool is_long;               /* the calls are spread over 300 ms */
    /* Each thread works for one request after the other: SAMPLE_GROUP calls with its context, of which the
     * second and third lie in a range "stage", and a mark in it. Every seventh group belongs to no request,
     * every tenth request isn't sampled. Trace IDs: 8 bytes "request!", then thread << 32 | group; span IDs:
     * the same number. */
    bool has_requests;
    /* Of the launches with every third correlation ID n the hardware counted: dram.read 4096 n,
     * l2.hit_rate 50.5, and under the name "reads" n, of the even ones. */
    bool has_counters;
    bool has_names; /* the first thread names itself "loader", the stream "copies", the context "training" and
                       device 0 "left" before its first call */
    bool
        has_links; /* device 0 has a UUID, SAMPLE_UUID's, and both its links are told, first one, then both */
};

/* False, with a line on standard error, if it can't be written. */
bool sample_write(const char *path, const struct sample *sample);

#define SAMPLE_GRAPH_NODES    6
#define SAMPLE_GRAPH_LAUNCHES 40

/* A graph that one thread captures and four others launch; the GPU's work as whole executions, or node by
 * node. */
bool sample_write_graphs(const char *path, bool with_nodes);

#endif
