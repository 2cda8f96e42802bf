/* Sending what lies on a disk: what `cuspan send` and the agent's library tell each other. */
#ifndef CUSPAN_MODEL_SEND_ENTRY_H
#define CUSPAN_MODEL_SEND_ENTRY_H

#include "base/status.h"

#include <stdint.h>

struct send_request {
    const char *const *paths; /* spool directories, files of one, files of OTLP JSON lines */
    size_t path_count;        /* 0: the spool.directory of the settings */
    uint32_t patience_ms;     /* how long nothing may be accepted before it is given up; 0: the settings' */
    /* May be NULL; both in bytes. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

struct send_result {
    uint64_t delivered;   /* spans */
    uint64_t points;      /* data points of metrics that were delivered; those below are of both */
    uint64_t lost;        /* refused by the collector, or damaged on the disk */
    uint64_t lost_before; /* by processes that ended without a word, before they were spooled */
    uint64_t left;        /* that are still to be sent */
    uint64_t busy;        /* processes that go on, and deliver their own */
    uint64_t resent;      /* requests */
    char endpoint[256];   /* as it may be shown; empty: none was needed */
    char metrics_endpoint[256];
};

/* Takes settings and variables from the environment, as an agent does. Fails where nothing can be sent at
 * all; what it says of single files goes to the log. */
typedef enum status send_fn(const struct send_request *request, struct send_result *result,
                            struct error *err);

#endif
