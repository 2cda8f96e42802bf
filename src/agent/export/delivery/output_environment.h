/* The creator's input to an output, besides the settings. */
#pragma once

#include <stdint.h>

#define EXPORT_MODULE_NAME "libcuspan-export.so"

struct operations;

struct output_environment {
    const char *module_path;       /* of EXPORT_MODULE_NAME, in the folder of libcuspan.so; copied */
    const char *user_agent_prefix; /* precedes our own User-Agent, or NULL; copied */
    uint32_t retry_initial_ms;     /* 0: the default. For tests */
    uint32_t stop_grace_ms;        /* time to stop after the deadline; 0: the default. For tests */
    unsigned output;               /* output number, below OUTPUT_NUMBERS, for counter_output_get */
    struct operations *operations; /* records durations of exports; outlives the exporter; NULL: none */
};
