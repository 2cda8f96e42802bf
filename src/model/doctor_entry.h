/* What `cuspan doctor` asks of the agent's library. The command line may not know capture or the exporters,
 * and what it says must be what an agent would do: so the library answers, by the same code. All structs are
 * plain bytes: the command line has each question answered in a child of its own, which a broken driver or
 * CUPTI may crash or hold up. Both are built together, which version and size show. */
#ifndef CUSPAN_MODEL_DOCTOR_ENTRY_H
#define CUSPAN_MODEL_DOCTOR_ENTRY_H

#include "base/status.h"
#include "model/settings.h"

#define DOCTOR_TEXT_BYTES   512
#define DOCTOR_CUPTIS_MAX   16
#define DOCTOR_STATUS_BYTES 48

/* A CUPTI that the agent's search comes across. */
struct doctor_cupti {
    char path[DOCTOR_TEXT_BYTES];
    char release[16];                /* "13.5"; empty: it can't be told */
    bool is_taken;                   /* the one that an agent would use */
    char refused[DOCTOR_TEXT_BYTES]; /* why it can't be used, in the words of the agent's line; empty: it can
                                      */
};

struct doctor_cuptis {
    size_t count;
    struct doctor_cupti found[DOCTOR_CUPTIS_MAX];
    bool has_one; /* an agent would find one that it can use */
    bool has_subscriber_api;
    char error[DOCTOR_TEXT_BYTES]; /* without one: the agent's line */
};

/* What a collector said to an export request without spans. */
struct doctor_answer {
    bool has_module;  /* the export module could be loaded; else `error` */
    bool is_answered; /* by a server; else `error` */
    bool is_accepted;
    char status[DOCTOR_STATUS_BYTES]; /* "HTTP 403", "gRPC UNAVAILABLE" */
    char message[DOCTOR_TEXT_BYTES];  /* the server's, fit to be shown and without secrets; may be empty */
    char hint[DOCTOR_TEXT_BYTES];     /* the agent's own; may be empty */
    char error[DOCTOR_TEXT_BYTES];
    uint64_t took_ns; /* with connecting */
};

enum doctor_tracing { DOCTOR_TRACED, DOCTOR_NOT_TRACED, DOCTOR_NO_SUCH_NAME };

/* What `cuspan counters` asks: the metrics that GPUs have, or how many passes some of them take. What is
 * handed over is valid in the call. */
struct doctor_chip {
    int device;
    char gpu[96];  /* "NVIDIA H200" */
    char chip[32]; /* "GH100" */
};

struct doctor_metric {
    const char *name; /* of dram__bytes.sum.per_second the first part */
    const char *rollups;
    const char *description;
    const char *hardware;
    const char *unit;
};

struct doctor_counters {
    const char *library;                /* the CUPTI; NULL: the one that an agent would take */
    int device;                         /* -1: all */
    bool of_samples;                    /* what can be sampled, in place of counted by kernel */
    const struct pattern_list *metrics; /* none: list all that the chip has; else plan these */
    void *context;
    void (*on_chip)(void *context, const struct doctor_chip *chip);
    void (*on_metric)(void *context, const struct doctor_metric *metric);
    void (*on_plan)(void *context, size_t passes);
};

struct doctor_api {
    size_t settings_bytes;
    const char *version;
    /* The CUPTI at `library`, or with NULL those that the agent's search finds in this process. */
    void (*find_cupti)(const char *library, struct doctor_cuptis *cuptis);
    /* Sends a request without spans, by the headers, the encoding, the compression and the TLS of `exporter`.
     */
    void (*ask_collector)(const struct exporter_settings *exporter, struct doctor_answer *answer);
    /* Whether a kind of GPU work ("kernel"), a call ("cudaGetDevice") or a group of calls ("launch") is
     * traced. `why` (DOCTOR_TEXT_BYTES): of what isn't, the setting that leaves it out. */
    enum doctor_tracing (*is_traced)(const struct settings *settings, const char *name, char *why);
    enum status (*list_counters)(const struct doctor_counters *ask, struct error *err);
};

#define DOCTOR_API_SYMBOL "cuspan_doctor_api"
typedef const struct doctor_api *doctor_api_fn(void);

#endif
