/* The interface of the agent's library for `cuspan send`, which sends files. */
#pragma once

#include "base/status.h"

#include <stdint.h>

struct send_request {
    const char *const *paths; /* spool directories, spool files, files of OTLP JSON lines */
    size_t path_count;        /* 0: the spool.directory of the settings */
    uint32_t patience_ms; /* gives up after this long without an accepted request; 0: that of the settings */
    /* May be NULL; both in bytes. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    const char *const *names; /* of the paths, for messages */
};

struct send_result {
    uint64_t delivered;   /* spans */
    uint64_t points;      /* data points of metrics; the following counts are of both */
    uint64_t lost;        /* refused by the collector, or damaged on disk */
    uint64_t lost_before; /* lost before they were spooled, by processes that were killed */
    uint64_t left;        /* not sent yet */
    uint64_t busy;        /* running processes, which deliver their own */
    uint64_t resent;      /* requests */
    char endpoint[256];   /* without secrets; empty: none was used */
    char metrics_endpoint[256];
    uint64_t skipped; /* lines that are not OTLP JSON */
};

/* Reads the environment like an agent. Fails only if nothing can be sent; problems of single files are
 * logged. */
typedef enum status send_fn(const struct send_request *request, struct send_result *result,
                            struct error *err);
