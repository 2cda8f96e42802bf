/* Capture: everything that CUPTI tells about this process, as records. The only stage that knows CUPTI.
 *
 * One per process, since CUPTI's own handlers are. After capture_start all calls come from one thread, the
 * pipeline's, but for capture_room and capture_abandon. */
#ifndef CUSPAN_CAPTURE_CAPTURE_H
#define CUSPAN_CAPTURE_CAPTURE_H

#include "base/status.h"
#include "model/record.h"
#include "model/settings.h"

/* Who receives the records; each is valid during the call only. */
struct capture_sink {
    void *context;
    void (*on_call)(void *context, const struct thread_info *thread, const struct call_record *call);
    /* A call that made a graph while capture slept: it has no span, its graph may have. */
    void (*on_call_asleep)(void *context, const struct thread_info *thread, const struct call_record *call);
    void (*on_resource)(void *context, const struct thread_info *thread,
                        const struct resource_record *resource);
    void (*on_activity)(void *context, const struct activity_record *activity);
    void (*on_context)(void *context, const struct thread_info *thread,
                       const struct context_record *attached);
    /* RANGE_BEGIN, RANGE_END, MARK. */
    void (*on_range)(void *context, const struct thread_info *thread, const struct range_record *range);
    /* Of the call that comes next; NULL: nobody wants stacks. */
    void (*on_stack)(void *context, const struct stack_record *stack);
    void (*on_name)(void *context, const struct thread_info *thread, const struct name_record *name);
    void (*on_gpu_counters)(void *context, const struct thread_info *thread,
                            const struct gpu_counters_record *counters);
};

struct capture_info {
    char cupti_version[16];        /* "13.5" */
    uint32_t cupti_version_number; /* as cuptiGetVersion says */
    char cupti_path[512];
    const char *api;    /* "subscriber" or "classic" */
    int driver_version; /* 13000 for CUDA 13.0; 0: unknown */
    bool is_patient;    /* a replay that would rather wait than lose spans */
};

/* Whether calls and ranges are captured now. Any thread. */
bool capture_is_on(void);

/* Of a replay: what was recorded of the links of the device with this UUID (a line of model/links.h); NULL:
 * nothing, or it is no replay. Once capture_start() has come back. */
const char *capture_recorded_links(const char *uuid);

/* Whether, by the settings, every GPU record should find its call. */
bool capture_expects_calls(const struct settings *settings);

/* Whether, by the settings, every execution of a CUDA graph should have one record. */
bool capture_expects_graphs(const struct settings *settings);

/* Loads CUPTI, subscribes and switches on what the settings ask for. `self_env_folder` is where libcuspan.so
 * lies. On failure nothing is left switched on, and the error says in one line why and what to do. The memory
 * taken stays. `by_program`: it is started by the program, or for a request of it, so that it may be stopped
 * again.
 */
enum status capture_start(const struct settings *settings, const char *self_env_folder, bool by_program,
                          struct capture_info *info, struct error *err) MUST_CHECK;

/* Hands over what has been captured since the last time: first the calls, then the activity of buffers that
 * were finished before those calls were taken, so that a record mostly finds its call already there. Returns
 * how many. It takes no more than CAPTURE_BUFFERS_A_ROUND buffers. */
#define CAPTURE_BUFFERS_A_ROUND 64
/* The last round took that many: more may lie there. */
bool capture_has_more_buffers(void);
size_t capture_pump(const struct capture_sink *sink);
/* How full the fullest ring was, in percent, when the last round came to it: whoever pauses too long between
 * rounds loses calls. */
uint32_t capture_fullest_ring(void);
/* Whether whoever takes what is captured may pause in the middle of a round, for a fraction of a millisecond:
 * rings and buffers have room for what comes meanwhile. Pipeline thread. */
bool capture_can_wait(void);

/* CUPTI's finished work is asked for at the next service. */
void capture_flush_soon(void);

/* Once in a while (every few ms): asks CUPTI for records when `flush_interval_ms` has passed, counts what
 * CUPTI dropped. */
void capture_service(uint64_t now_monotonic_ns);

/* CUPTI has failed for good; the text says why. NULL: it is well. */
const char *capture_failure(void);

/* The program's will: whether it is traced, and beginning and ending it; false: it is so already. Any thread;
 * what calls come after the return are captured, or not. */
bool capture_is_tracing(void);
bool capture_begin_tracing(void);
bool capture_end_tracing(void);

/* Ended, it waits for calls that are under way, for so long at most (1 s): they are captured, those that
 * begin are not. Any thread. */
bool capture_is_ending(void);
void capture_set_ending(uint32_t wait_ms);
uint32_t capture_calls_under_way(void);

/* Whether capture slept at this time: GPU work of then has no call. Pipeline thread. */
bool capture_slept_at(uint64_t time_ns);

/* Whether work that belongs to no request is sampled: capture may sleep, between requests, if it isn't. */
void capture_set_session(bool is_sampled);

/* Leaves CUPTI to others, in steps, on the pipeline thread, which takes what comes in between. First
 * capture_quiet, until it says true: no thread is inside a call of which a span will come (or, with
 * `at_once`, those that are are counted), and nothing is captured any more. Then, when the GPU has done what
 * was captured, capture_release: all that CUPTI still holds is handed over, and we are subscribed no more. */
bool capture_quiet(bool at_once);
void capture_release(void);
bool capture_is_released(void);
/* And comes back. UNAVAILABLE: another tool has CUPTI now; all is as before. */
enum status capture_resume(struct error *err) MUST_CHECK;
/* Whether it is to come back by itself, and now: CUPTI may be free. */
bool capture_may_resume(uint64_t now_monotonic_ns);
/* Called on a thread of another tool's that is about to use CUPTI, where the settings say to give way. Set
 * before capture_start. */
void capture_set_on_guest(void (*on_guest)(void));

/* Pipeline thread, after each round, with how many calls wait for their GPU work: says once if CUPTI's
 * buffers have stopped to come. */
void capture_watch_buffers(uint32_t waiting);

/* Makes CUPTI hand over what is finished. */
void capture_flush_finished(void);

/* Makes CUPTI hand over everything it holds, finished or not. May block inside CUPTI. */
void capture_flush_all(void);

/* Switches everything off and unsubscribes. Nothing that CUPTI may still touch is freed. */
void capture_stop(void);

/* After the last pump: what CUPTI still hands over is counted as lost. */
void capture_end(void);

/* Why CUPTI has refused one of the three above since this was last asked, and how many buffers it has. NULL:
 * it has not. */
const char *capture_take_error(void);
uint32_t capture_buffers_lent(void);

/* In a forked child: no CUPTI call is ever made again in this process. Async-signal-safe. */
void capture_abandon(void);

/* Whether a replay may go on: there is room in the calling thread's ring, in buffers, and where `downstream`
 * says so. */
void capture_set_downstream_room(bool (*downstream)(void));

#endif
