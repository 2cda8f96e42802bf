/* State shared by the parts of the replay library: the recording, the CUPTI version it imitates, and its
 * client. Only replay_state.c changes it. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "agent/replay/state/timeline.h"

#include <stdatomic.h>

#define REPLAY_EXPORT __attribute__((visibility("default")))

/* Offsets of one repetition of the recording. */
struct shift {
    uint64_t time_ns;     /* added to each time */
    uint64_t correlation; /* offset of this repetition's IDs */
};

struct replay_state {
    struct timeline timeline;
    bool is_loaded;
    uint32_t version;         /* returned by cuptiGetVersion */
    _Atomic bool is_finished; /* after cuptiFinalize or a fatal error: nothing more is reported */
    _Atomic bool is_gone;     /* ended with the process, before the agent */
    struct shift shift;
    _Atomic uint64_t latest_ns; /* latest recorded time reached */
};

extern struct replay_state replay;

/* Recorded correlation ID of the call that this thread is playing. */
extern _Thread_local uint32_t replay_call;
/* The created graph nodes whose callbacks this thread is in; NULL: none. */
extern _Thread_local const struct resource_record *replay_nodes;

/* Sets the offsets of a repetition; the first one is number 0. */
void replay_repeat(uint32_t number);
void replay_set_patient(bool waits);
void replay_finish(void);
void replay_leave(void);
/* Raises a value to `value` if it is lower; replay_reach(): latest_ns. */
void replay_raise(_Atomic uint64_t *at, uint64_t value);
void replay_reach(uint64_t time_ns);

/* Maps 0 to 0. Other IDs never become 0, even after 32 bits wrap. */
uint32_t replay_correlation(uint32_t recorded);
/* For the fault "assert", by recorded correlation ID: whether the call returns the error. The first such call
 * follows the assert and waits for the GPU. */
bool replay_call_fails(uint32_t recorded, bool waits);
/* Whether the callbacks of such a call have returned. */
void replay_note_failure(void);
bool replay_is_failure_known(void);
/* Whether the work is missing because its launch failed, or has no times. */
bool replay_work_never_comes(uint32_t recorded);
bool replay_work_is_stopped(uint32_t recorded);
/* From one repetition to the next one. */
uint64_t replay_length_ns(void);
/* Maps 0 to 0. */
uint64_t replay_time(uint64_t recorded);
/* 0: returns at once. */
void replay_sleep_ns(uint64_t ns);
/* False while the replay must wait for the agent. */
bool replay_has_room(void);
