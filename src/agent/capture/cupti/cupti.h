/* The CUPTI library of this process and its functions. Loaded once at start, never unloaded. */
#pragma once

#include "base/status.h"
#include "agent/abi/cupti_abi.h"

#include <stdbool.h>

struct cupti {
    void *handle;
    char path[512];
    const char *origin;      /* where it was found, a phrase: "beside libcuspan.so" */
    uint32_t version;        /* as returned by cuptiGetVersion */
    bool has_subscriber_api; /* user-defined records, and functions that take a subscriber */
    int driver_version;      /* as returned by cuDriverGetVersion, 13000 for CUDA 13.0; 0: unknown */
    /* Set by a replay; NULL with a real CUPTI. */
    cuspan_replay_room_fn **replay_room;
    cuspan_replay_nccl_fn **replay_nccl;
#define CUPTI_REPLAY_CALLS(X) X(clock) X(thread) X(waits) X(late_graphs) X(links) X(nonce) X(code)
#define REPLAY_MEMBER(name)   cuspan_replay_##name##_fn *replay_##name;
    CUPTI_REPLAY_CALLS(REPLAY_MEMBER)
#undef REPLAY_MEMBER
#define CUPTI_MEMBER(name, params) name##_fn *name;
    CUPTI_CLASSIC_CALLS(CUPTI_MEMBER)
    CUPTI_NAMED_SUBSCRIBER_CALLS(CUPTI_MEMBER) /* NULL before 13.0 */
    CUPTI_SUBSCRIBER_CALLS(CUPTI_MEMBER)       /* NULL where has_subscriber_api is false */
#undef CUPTI_MEMBER
};

#define CUPTI_ORIGIN_NAMED "set by cupti.library"

/* Loads the CUPTI at `path`. With NULL, loads the newest one that the driver supports among those that
 * cupti_search() finds. Fails with NOT_FOUND, UNAVAILABLE (no driver, or too old), UNSUPPORTED (older than
 * 12.0, or for another architecture). */
enum status cupti_load(const char *path, const char *self_env_folder, struct cupti *cupti,
                       struct error *err) MUST_CHECK;

/* A CUPTI that cupti_survey() has tried to open. For `cuspan doctor` and similar, it opens every candidate of
 * the search, including those after the selected one; with a `path`, only that one. */
struct cupti_sight {
    const char *path;
    const char *origin;
    uint32_t version; /* 0: not reported */
    enum status status;
    const char *error; /* the reason, unless `status` is OK */
};
typedef void cupti_see_fn(void *context, const struct cupti_sight *sight);
void cupti_survey(const char *path, const char *self_env_folder, cupti_see_fn *see, void *context);

/* The way a CUPTI works if it starts in a program that has used CUDA already, as measured (docs/cupti.md, and
 * tests/gpu/attach.sh for each release). */
enum late_start { LATE_WHOLE, LATE_WITHOUT_GRAPH_RECORDS, LATE_REFUSED };
struct late_start_rule {
    uint32_t from; /* this version and later ones, up to the rule above */
    enum late_start start;
    const char *harm; /* of a refused one: "gives calls the IDs of others" */
};
extern const struct late_start_rule cupti_late_starts[]; /* down to version 0 */
enum late_start cupti_late_start(const struct late_start_rule *rules, uint32_t version);
/* UNSUPPORTED: this release is refused. */
enum status cupti_check_late_start(const struct late_start_rule *rules, const struct cupti *cupti,
                                   struct error *err) MUST_CHECK;

/* Returns CUPTI's text for a result. */
const char *cupti_result_text(const struct cupti *cupti, uint32_t result);

/* Writes the CUDA release of a CUPTI version, such as "12.9". */
void cupti_version_text(uint32_t version, char text[16]);
