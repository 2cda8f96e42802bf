/* A plain CUPTI consumer for the programs that measure CUPTI: loads a library, subscribes, and calls
 * functions of the program for each record and callback. It has the agent's decoder
 * (agent/capture/activity/decode.c), and nothing else of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bare_callback_domain { BARE_DRIVER = 1, BARE_RUNTIME = 2, BARE_RESOURCE = 3 };

/* The part of a record that the programs look at. */
struct bare_record {
    uint32_t kind, correlation, graph;
    uint64_t start_ns, end_ns, node;
    const char *name; /* CUPTI's pointer: may not be valid */
    const void *all;  /* for bare_print() */
};

struct bare_options {
    const char *library;
    bool subscriber_api, graph_records, runtime_calls, driver_calls;
    void (*on_record)(const struct bare_record *record);
    void (*on_callback)(uint32_t domain, uint32_t cbid, const void *data); /* CUPTI's data */
};

/* Exits with a message on failure. */
void bare_start(const struct bare_options *options);
uint32_t bare_version(void);
void bare_flush(bool forced);
/* 0: unknown. */
uint64_t bare_node_id(void *node);
uint32_t bare_graph_id(void *graph, bool is_exec);
/* All fields of a record that are not zero, as one line. */
void bare_print(const struct bare_record *record, uint64_t epoch_ns);
/* Copies text that may be unmapped. False: it is. */
bool bare_read(const char *text, char *to, unsigned bytes);
uint64_t bare_now_ns(void);

#ifdef __cplusplus
}
#endif
