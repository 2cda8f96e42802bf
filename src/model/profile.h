/* A profile: GPU time by stack and by the span that it worked for, in one interval. Correlate fills it and
 * encode writes it.
 *
 * All tables refer to each other by index. Entry 0 of each table stands for "none" (of strings: ""), as in
 * OTLP. Stacks are a tree: a node is a location below the node of its caller. */
#pragma once

#include <stdint.h>

/* Of each table, entry 0 included. A full table loses no time: samples without a place have no link, then no
 * stack. Together they fit into a request of BATCH_BYTES_MAX. */
#define PROFILE_TEXT_BYTES    (512 * 1024)
#define PROFILE_STRINGS_MAX   8192
#define PROFILE_MAPPINGS_MAX  256
#define PROFILE_FUNCTIONS_MAX 8192
#define PROFILE_LOCATIONS_MAX 8192
#define PROFILE_NODES_MAX     32768
#define PROFILE_STACKS_MAX    8192
#define PROFILE_LINKS_MAX     1024
#define PROFILE_SAMPLES_MAX   8192

enum profile_frame_type {
    PROFILE_FRAME_NONE,
    PROFILE_FRAME_PYTHON,
    PROFILE_FRAME_NATIVE,
    PROFILE_FRAME_CUDA
};

/* Kinds of GPU work, each with a type of sample. */
enum profile_kind { PROFILE_KERNELS, PROFILE_COPIES, PROFILE_KINDS };

struct profile_string {
    const char *text; /* not NUL-terminated, perhaps not valid UTF-8 */
    uint32_t bytes;
};

/* The members are indexes, unless noted. */
struct profile_mapping {
    uint32_t file;
};

struct profile_function {
    uint32_t name, file;
};

struct profile_location {
    uint32_t function, mapping;
    uint32_t line; /* a number; 0: unknown */
    uint32_t type; /* enum profile_frame_type */
};

struct profile_node {
    uint32_t caller, location;
};

struct profile_stack {
    uint32_t node;
};

struct profile_link {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

struct profile_sample {
    uint32_t stack, link;
    uint32_t kind; /* enum profile_kind */
};

struct profile {
    uint64_t begin_ns, end_ns; /* since 1970 */
    const struct profile_string *strings;
    const struct profile_mapping *mappings;
    const struct profile_function *functions;
    const struct profile_location *locations;
    const struct profile_node *nodes;
    const struct profile_stack *stacks;
    const struct profile_link *links;
    const struct profile_sample *samples;
    const uint64_t *values; /* of the samples, in ns */
    uint32_t string_count, mapping_count, function_count, location_count, node_count, stack_count, link_count,
        sample_count; /* entry 0 included */
    uint32_t samples_of[PROFILE_KINDS];
};
