/* The hot path: what runs on the host's threads inside their CUDA calls.
 *
 * At enter: one read of the clock, stored in CUPTI's own 64 bits for the call. At exit: a second read, and
 * one record of 40 bytes plus the parameters written into the thread's ring. Everything is read at exit:
 * parameters still stand then, and out-parameters stand only then. Nothing else happens here: no allocation,
 * no lock, no system call, but where the user has asked for it (callbacks_on_graph, callbacks_on_bound). */
#ifndef CUSPAN_CAPTURE_CALLBACKS_CALLBACKS_H
#define CUSPAN_CAPTURE_CALLBACKS_CALLBACKS_H

#include "base/status.h"
#include "abi/cupti_abi.h"
#include "capture/sleep/mode.h"
#include "model/cuda/calls.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How one call is captured, worked out once at start. */
struct call_plan {
    uint16_t record_bytes_max; /* room to reserve in the ring */
    uint16_t param;            /* index of its first parameter in call_params */
    uint8_t param_count;
    uint8_t flags; /* enum call_plan_flags */
    bool is_plain; /* its parameters are whole numbers in CUPTI's struct itself, and there are some */
    uint8_t reserved;
};

enum call_plan_flags {
    PLAN_MAKES_GRAPH = 1,
    PLAN_INSTANTIATES_GRAPH = 2,
    PLAN_NO_SPAN = 4, /* called back only so that the driver calls inside it are known as its own, or to tell
                         of a graph or a bound */
    PLAN_BEGINS_TRACING = 8, /* cudaProfilerStart, where that bounds the tracing */
    PLAN_ENDS_TRACING = 16,
    PLAN_COUNTS = 32,     /* its kernel's hardware counters may be read */
    PLAN_TAKES_STACK = 64 /* an allocating call, where their stacks are wanted */
};

/* Handler for cuptiSubscribe. */
cupti_callback_fn callbacks_handle;

/* Builds the plans; with `parameters` false records carry none. NO_MEMORY. */
enum status callbacks_init(bool parameters) MUST_CHECK;

/* The call's callbacks are on, and it gets no record (PLAN_NO_SPAN). After callbacks_init. */
void callbacks_leave_out(enum call_domain domain, uint32_t cbid);

/* The call launches kernels whose hardware counters may be read. After callbacks_init. */
void callbacks_count(enum call_domain domain, uint32_t cbid);

/* The call sets callbacks_signals.graph_is_begun. After callbacks_init. */
bool callbacks_make_graph(enum call_domain domain, uint32_t cbid);

/* The call's record comes with its stack. After callbacks_init and call_stack_start. */
void callbacks_take_stack(enum call_domain domain, uint32_t cbid);

/* cudaProfilerStart and cudaProfilerStop, of both APIs, call callbacks_on_bound. After callbacks_init. */
void callbacks_bound(enum call_domain domain, uint32_t cbid);
/* False: the call is no such bound. */
bool callbacks_is_bound(enum call_domain domain, uint32_t cbid);
/* Called when tracing is to begin (at the end of cudaProfilerStart) or to end. */
extern void (*callbacks_on_bound)(bool begins);

/* Called at the enter of each call that makes a graph, up to the first that instantiates one; NULL: nobody
 * asks. */
extern void (*callbacks_on_graph)(void);

/* Set by a callback on a host's thread, read and cleared by the pipeline thread. */
struct callbacks_signals {
    _Atomic bool flush_soon;            /* a context is destroyed, say */
    _Atomic bool graph_is_begun;        /* by a call that begins a capture or makes a graph; stays set */
    _Atomic bool graph_is_instantiated; /* or is just being; stays set */
    _Atomic bool is_failing;            /* whoever sets it writes the message */
    _Atomic bool fatal;                 /* CUPTI has given up */
    char fatal_message[256];            /* written before `fatal` is set */
};
extern struct callbacks_signals callbacks_signals;

#endif
