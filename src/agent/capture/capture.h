/* Capture turns what CUPTI reports about this process into records. It is the only stage that knows CUPTI.
 *
 * There is one capture per process because CUPTI's handlers are global. After capture_start(), only the
 * pipeline thread calls these functions, except those marked "Any thread" and capture_abandon(). The parts
 * that have no common state, such as sleep_control.h, threads.h and selection.h, are used directly. */
#pragma once

#include "base/status.h"
#include "model/record.h"
#include "model/settings/settings.h"
#include "model/step.h"

/* Receiver of the records. Each record is valid only during the call. Only the calls, activities and ranges
 * must be received; the other members may be NULL. */
struct capture_sink {
    void *context;
    void (*on_call)(void *context, const struct thread_info *thread, const struct call_record *call);
    /* Receives a call that made or changed a graph while capture was asleep. The call has no span, but the
     * graph's work may have some. */
    void (*on_call_asleep)(void *context, const struct thread_info *thread, const struct call_record *call);
    void (*on_resource)(void *context, const struct thread_info *thread,
                        const struct resource_record *resource);
    void (*on_activity)(void *context, const struct activity_record *activity);
    void (*on_context)(void *context, const struct thread_info *thread,
                       const struct context_record *attached);
    void (*on_range)(void *context, const struct thread_info *thread, const struct range_record *range);
    /* Receives a step's boundary, before the calls that started after it. */
    void (*on_step)(void *context, struct step_boundary *boundary);
    /* Receives the stack of the code that makes the next call or captures graph nodes. False: not now. The
     * record and all later ones of its thread stay in the ring, and a later capture_pump() delivers them. */
    bool (*on_code)(void *context, const struct code_record *code);
    void (*on_name)(void *context, const struct thread_info *thread, const struct name_record *name);
    void (*on_gpu_counters)(void *context, const struct thread_info *thread,
                            const struct gpu_counters_record *counters);
};

struct capture_info {
    char cupti_version[16];        /* "13.5" */
    uint32_t cupti_version_number; /* as returned by cuptiGetVersion */
    char cupti_path[512];
    const char *api;    /* "subscriber" or "classic" */
    int driver_version; /* 13000 for CUDA 13.0; 0: unknown */
    bool is_patient;    /* a replay that waits instead of losing spans */
};

/* Whether calls and ranges are being captured. Any thread. */
bool capture_is_on(void);

/* Returns the recorded interconnect links of the device with this UUID, as a line of model/metrics/links.h.
 * NULL: there are none, or this is no replay. Call it after capture_start(). */
const char *capture_recorded_links(const char *uuid);

/* Loads CUPTI, subscribes, and enables what the settings select. `self_env_folder` is the folder of
 * libcuspan.so. On failure everything is disabled and `err` has one line with the reason and a fix; allocated
 * memory stays allocated. */
enum status capture_start(const struct settings *settings, const char *self_env_folder,
                          struct capture_info *info, struct error *err) MUST_CHECK;

/* capture_pump() delivers the records since the last round: first the calls, then the activity records of
 * buffers that completed before those calls were read, so that most records find their call. It takes at most
 * CAPTURE_BUFFERS_A_ROUND buffers and returns the number of records and buffers. */
#define CAPTURE_BUFFERS_A_ROUND 64
/* Whether the last round took that many buffers, so that more may be waiting. */
bool capture_has_more_buffers(void);
size_t capture_pump(const struct capture_sink *sink);
/* Returns the fill level of the fullest ring at the start of the last round, in percent. Calls are lost when
 * rounds are too far apart. */
uint32_t capture_fullest_ring(void);
/* Whether the consumer may pause for a fraction of a millisecond within a round without losing records.
 * Pipeline thread. */
bool capture_can_wait(void);

/* Makes the next capture_service() flush CUPTI. Any thread. */
void capture_flush_soon(void);

/* Call it every few milliseconds: flushes CUPTI when `flush_interval_ms` has passed, decides about sleep, and
 * does other periodic work. */
void capture_service(uint64_t now_monotonic_ns);

/* Returns the reason why CUPTI failed permanently; NULL: it has not. */
const char *capture_failure(void);

/* Releases CUPTI to another tool, in steps, on the pipeline thread, which keeps pumping in between. First
 * call capture_quiet() until it returns true: then no thread is inside a call that will get a span (with
 * `at_once`, such calls are counted as lost) and nothing more is captured. After the GPU has finished the
 * captured work, capture_release() flushes CUPTI and unsubscribes. */
bool capture_quiet(bool at_once);
void capture_release(void);
bool capture_is_released(void);
/* Subscribes again after capture_release(). UNAVAILABLE: another tool uses CUPTI now, and nothing has
 * changed. */
enum status capture_resume(struct error *err) MUST_CHECK;
/* Whether to try capture_resume() now: the settings ask for it and CUPTI may be free. */
bool capture_may_resume(uint64_t now_monotonic_ns);

/* Warns once when CUPTI no longer returns buffers. Call it after each round, with the number of calls that
 * wait for their GPU work. */
void capture_watch_buffers(uint32_t waiting);

/* Flushes CUPTI's finished records, or `everything`, which may block inside CUPTI. Returns whether CUPTI did.
 */
bool capture_flush(bool everything);

/* Disables everything and unsubscribes. Frees nothing that CUPTI may still access. */
void capture_stop(void);

/* Call it after the last capture_pump(). Records that CUPTI delivers later are counted as lost. */
void capture_end(void);

/* Call it in a forked child: afterwards capture calls no CUPTI function in this process. Async-signal-safe.
 */
void capture_abandon(void);

/* Sets a function that tells a replay whether later stages have room. The replay proceeds only while it
 * returns true and the calling thread's ring and the buffers have room. */
void capture_set_downstream_room(bool (*downstream)(void));
