/* What the parts of the double share: the recording that is played, as whose CUPTI, and for whom. */
#ifndef CUSPAN_REPLAY_REPLAY_STATE_H
#define CUSPAN_REPLAY_REPLAY_STATE_H

#include "abi/cupti_abi.h"
#include "replay/timeline.h"

#include <stdatomic.h>

#define REPLAY_EXPORT __attribute__((visibility("default")))

/* One repetition of the recording. */
struct shift {
    uint64_t time_ns;     /* added to each time */
    uint64_t correlation; /* where this repetition's IDs begin */
};

struct replay_state {
    struct timeline timeline;
    bool is_loaded;
    uint32_t version; /* as cuptiGetVersion answers */
    uint64_t first_correlation;
    atomic_bool is_patient;   /* waits for the agent */
    _Atomic bool is_finished; /* cuptiFinalize, or a fatal error: nothing is reported any more */
    _Atomic bool is_gone;     /* it has ended with the process, before the agent */
    struct shift shift;
    _Atomic uint64_t latest_ns; /* the latest recorded time reached */
};

extern struct replay_state replay;

/* The recorded correlation ID of the call that the calling thread plays. */
extern _Thread_local uint32_t replay_call;

/* 0 stays 0; the others never become 0, even where 32 bits wrap around. */
uint32_t replay_correlation(uint32_t recorded);
/* The fault "assert", by recorded correlation IDs. Whether the call returns the error: from the first one on
 * that waits for the GPU after the assert. */
bool replay_call_fails(uint32_t recorded, bool waits);
bool replay_has_failed(void);
/* Whether the work never comes, since its launch failed; or gets no times. */
bool replay_work_never_comes(uint32_t recorded);
bool replay_work_is_stopped(uint32_t recorded);
/* 0 stays 0. */
uint64_t replay_time(uint64_t recorded);
/* False while the agent wants the replay to wait. */
bool replay_has_room(void);

#endif
