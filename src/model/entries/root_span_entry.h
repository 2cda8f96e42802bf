/* The interface of the agent's library for the root span of `cuspan run`, and for `cuspan send` and `cuspan
 * export`. The CLI runs the command and knows
 * how it ended; the library knows the settings, and creates and sends the span. The size verifies that both
 * were built together. */
#pragma once

#include "base/trace_context.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A command. */
struct root {
    char *const *argv;            /* NULL-terminated */
    struct trace_context context; /* set by begin, for the command's processes */
    const char *accounts_file;    /* the report is written to accounts_file.PID */
    pid_t pid;
    int wait_status; /* from waitpid() */
    uint64_t start_ns, end_ns;
};

/* For `cuspan send`, which sends files. */
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

/* The compressor for `cuspan export`: the program itself has no second copy of it. */
struct zstd_api {
    /* NULL: no memory. For one thread at a time. */
    void *(*create)(int level);
    void (*destroy)(void *state);
    /* The largest result. */
    size_t (*bound)(size_t len);
    /* A frame of the whole input, with a checksum, which all readers compare. 0: it failed. */
    size_t (*compress)(void *state, void *to, size_t capacity, const void *from, size_t len);
};

/* Returned by ROOT_API_SYMBOL. The first two functions read the environment like an agent. Call begin and
 * then end, once, on one thread. */
struct root_api {
    size_t root_bytes;
    /* Starts a trace and samples it (the sampled flag of `context`). False, without a log line, if no agent
     * would send spans with these settings. */
    bool (*begin)(struct root *root);
    /* Creates and sends the span within exit_deadline_ms. The report has the result. */
    void (*end)(const struct root *root);
    send_fn *send;               /* independent of the above */
    const struct zstd_api *zstd; /* independent of the above */
};

#define ROOT_API_SYMBOL "cuspan_root_api"
typedef const struct root_api *root_api_fn(void);
