/* The hot path: CUPTI callbacks on the host threads, inside their CUDA calls.
 *
 * At entry: one clock read, stored in the 64 bits that CUPTI keeps per call. At exit: a second clock read,
 * and one record of 40 bytes plus the parameters in the thread's ring. All parameters are read at exit, where
 * they are still valid and output parameters are set. There is no allocation, lock or system call, except
 * in callbacks_on_graph, once, and where the user enabled callbacks_on_bound. */
#pragma once

#include "base/status.h"
#include "agent/abi/cupti_abi.h"
#include "agent/capture/sleep/mode.h"
#include "model/cuda/calls.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How one kind of call is captured; computed once at start. */
struct call_plan {
    uint16_t record_bytes_max; /* space to reserve in the ring */
    uint16_t param;            /* index of the first parameter in call_params */
    uint8_t param_count;
    bool is_plain;  /* has parameters, and all are integers in CUPTI's struct itself */
    uint16_t flags; /* enum call_plan_flags */
};

enum call_plan_flags {
    PLAN_MAKES_GRAPH = 1, /* the call makes a graph: callbacks_on_graph is called */
    PLAN_INSTANTIATES_GRAPH = 2,
    PLAN_NO_SPAN = 4,        /* only for its graph or bound, or to recognize nested driver calls */
    PLAN_BEGINS_TRACING = 8, /* cudaProfilerStart, if it bounds the tracing */
    PLAN_ENDS_TRACING = 16,
    PLAN_COUNTS = 32,      /* hardware counters of its kernel may be read */
    PLAN_TAKES_CODE = 64,  /* a call whose stack is recorded; after launch_stacks_start() */
    PLAN_TAKES_EACH = 128, /* with TAKES_CODE: without sampling, and native frames, too */
    PLAN_TAKES_NAME = 256, /* a launch whose kernel's name is recorded (launch_names.h) */
    PLAN_WAITS = 512       /* waits for the GPU, so the hang watch follows it also while asleep */
};

/* CUPTI's callback function, passed to cuptiSubscribe. */
cupti_callback_fn callbacks_handle;

/* Builds the plans of all calls. `parameters` false: records have no parameters. Fails with NO_MEMORY only.
 */
enum status callbacks_init(bool parameters) MUST_CHECK;

/* Add and return flags of a call's plan, after callbacks_init(), which sets the flags of graphs. */
void callbacks_add_flags(enum call_domain domain, uint32_t cbid, uint16_t flags);
uint16_t callbacks_flags(enum call_domain domain, uint32_t cbid);

/* Finds the call that a plan is of. Returns its name. Any thread, after callbacks_init(). */
const char *callbacks_name_of(const struct call_plan *plan, uint32_t *cbid);

/* Returns the flag with which a call of cudaProfilerStart or cudaProfilerStop (of both APIs) calls
 * callbacks_on_bound; 0: another call. */
uint8_t callbacks_bound_flags(enum call_domain domain, uint32_t cbid);
/* Called when tracing starts (at the end of cudaProfilerStart) or stops. */
extern void (*callbacks_on_bound)(bool begins);

/* Called at entry of each call that starts a capture, or creates or instantiates a graph, also while asleep.
 * May be NULL. Set before callbacks are enabled. */
extern void (*callbacks_on_graph)(void);

/* Set by callbacks on host threads, read by the pipeline thread. */
struct callbacks_signals {
    _Atomic bool flush_soon; /* for example because a context is destroyed */
    _Atomic bool is_failing; /* its setter writes the message */
    _Atomic bool fatal;      /* CUPTI failed permanently */
    char fatal_message[256]; /* written before `fatal` is set */
};
extern struct callbacks_signals callbacks_signals;

/* The first sets flush_soon. The second clears it and returns its value. Any thread. */
void callbacks_flush_soon(void);
bool callbacks_take_flush_soon(void);
