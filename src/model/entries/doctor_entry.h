/* The interface of the agent's library for `cuspan doctor`. The library answers with the code that an agent
 * runs, and the CLI does not depend on capture and export. All structs are plain bytes: the CLI runs each
 * query in a child process, which a broken driver or CUPTI may crash or block. Version and size verify that
 * both were built together. */
#pragma once

#include "base/status.h"
#include "model/settings/settings.h"

#define DOCTOR_TEXT_BYTES   512
#define DOCTOR_CUPTIS_MAX   32
#define DOCTOR_STATUS_BYTES 48

/* A CUPTI that the agent's search finds. */
struct doctor_cupti {
    char path[DOCTOR_TEXT_BYTES];
    char release[16];                /* "13.5"; empty: unknown */
    char origin[64];                 /* where it was found, a phrase: "beside libcuspan.so" */
    bool is_taken;                   /* the one that an agent would use */
    char refused[DOCTOR_TEXT_BYTES]; /* the agent's message why it is unusable; empty: usable */
};

struct doctor_cuptis {
    size_t count;
    struct doctor_cupti found[DOCTOR_CUPTIS_MAX];
    bool has_one; /* an agent would find a usable one */
    bool has_subscriber_api;
    char error[DOCTOR_TEXT_BYTES]; /* otherwise: the agent's message */
};

/* A collector's response to an export request without spans. */
struct doctor_answer {
    bool has_module;  /* the export module could be loaded; else `error` */
    bool is_answered; /* a server responded; else `error` */
    bool is_accepted;
    char status[DOCTOR_STATUS_BYTES]; /* "HTTP 403", "gRPC UNAVAILABLE" */
    char message[DOCTOR_TEXT_BYTES];  /* from the server, sanitized and without secrets; may be empty */
    char hint[DOCTOR_TEXT_BYTES];     /* from the agent; may be empty */
    char error[DOCTOR_TEXT_BYTES];
    uint64_t took_ns; /* including the connection */
};

enum doctor_tracing { DOCTOR_TRACED, DOCTOR_NOT_TRACED, DOCTOR_NO_SUCH_NAME };

/* A query of `cuspan counters`: the metrics of GPUs, or the number of passes that some metrics need. Pointers
 * are valid during the call. */
struct doctor_chip {
    int device;
    char gpu[96];  /* "NVIDIA H200" */
    char chip[32]; /* "GH100" */
};

struct doctor_metric {
    const char *name;    /* without its rollups: dram__bytes of dram__bytes.sum.per_second */
    const char *rollups; /* the available ones, such as "sum avg min max" */
    const char *description;
    const char *hardware; /* the chip's unit that counts it */
    const char *unit;
};

struct doctor_counters {
    const char *library;                /* path of CUPTI; NULL: the one that an agent would use */
    int device;                         /* -1: all */
    bool of_samples;                    /* metrics for sampling instead of for kernels */
    const struct pattern_list *metrics; /* empty: list all of the chip; else plan these */
    void *context;
    void (*on_chip)(void *context, const struct doctor_chip *chip);
    void (*on_metric)(void *context, const struct doctor_metric *metric);
    void (*on_plan)(void *context, size_t passes);
};

struct doctor_api {
    size_t settings_bytes;
    const char *version;
    /* The CUPTI at `library`, or if NULL, those that the agent's search finds in this process. */
    void (*find_cupti)(const char *library, struct doctor_cuptis *cuptis);
    /* Sends a request without spans, with the headers, encoding, compression and TLS of `exporter`. */
    void (*ask_collector)(const struct exporter_settings *exporter, struct doctor_answer *answer);
    /* Whether a kind of GPU work ("kernel"), a call ("cudaGetDevice") or a group of calls ("launch") is
     * traced. If not, `why` (DOCTOR_TEXT_BYTES) has the setting that excludes it. */
    enum doctor_tracing (*is_traced)(const struct settings *settings, const char *name, char *why);
    enum status (*list_counters)(const struct doctor_counters *ask, struct error *err);
};

#define DOCTOR_API_SYMBOL "cuspan_doctor_api"
typedef const struct doctor_api *doctor_api_fn(void);
