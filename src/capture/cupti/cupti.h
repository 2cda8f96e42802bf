/* The CUPTI of this process: which library it is, and its calls. Found once at start, never unloaded. */
#ifndef CUSPAN_CAPTURE_CUPTI_CUPTI_H
#define CUSPAN_CAPTURE_CUPTI_CUPTI_H

#include "base/status.h"
#include "abi/cupti_abi.h"

#include <stdbool.h>

struct cupti {
    void *handle;
    char path[512];
    uint32_t version;        /* as cuptiGetVersion says */
    bool has_subscriber_api; /* user-defined records and the calls that name a subscriber */
    int driver_version;      /* as cuDriverGetVersion says, 13000 for CUDA 13.0; 0: unknown */
    /* The replay's seam; NULL with a real CUPTI. */
    cuspan_replay_clock_fn *replay_clock;
    cuspan_replay_thread_fn *replay_thread;
    cuspan_replay_room_fn **replay_room;
    cuspan_replay_waits_fn *replay_waits;
    cuspan_replay_links_fn *replay_links;
#define CUPTI_MEMBER(name, params) name##_fn *name;
    CUPTI_CLASSIC_CALLS(CUPTI_MEMBER)
    CUPTI_NAMED_SUBSCRIBER_CALLS(CUPTI_MEMBER) /* NULL before 13.0 */
    CUPTI_SUBSCRIBER_CALLS(CUPTI_MEMBER)       /* NULL where has_subscriber_api is false */
#undef CUPTI_MEMBER
};

/* Loads the CUPTI at `path`, or with NULL the newest that the driver can take of: the one beside our own
 * library
 * (`self_env_folder`/cupti), what lies in the process already, in the Python packages beside a loaded CUDA
 * library, in the toolkit. NOT_FOUND, UNAVAILABLE (no driver, or it is too old), UNSUPPORTED (older
 * than 12.0). */
enum status cupti_load(const char *path, const char *self_env_folder, struct cupti *cupti,
                       struct error *err) MUST_CHECK;

/* What the search comes across, for a person who asks why one is taken: each candidate is opened, also those
 * behind the one that is taken. With a `path`, that one alone. */
struct cupti_sight {
    const char *path;
    uint32_t version; /* 0: it doesn't tell */
    enum status status;
    const char *error; /* unless OK */
};
typedef void cupti_see_fn(void *context, const struct cupti_sight *sight);
void cupti_survey(const char *path, const char *self_env_folder, cupti_see_fn *see, void *context);

/* CUPTI's own words for a result. */
const char *cupti_result_text(const struct cupti *cupti, uint32_t result);

/* "12.9", "13.5": the CUDA release of a CUPTI version. */
void cupti_version_text(uint32_t version, char text[16]);

#endif
