/* The state of correlate: a struct for each header of this folder, then the state that several of them share.
 * Only files of this folder include it. */
#pragma once

#include "agent/correlate/options.h"
#include "agent/correlate/spans/attributes.h"
#include "agent/correlate/spans/span_shared.h"
#include "agent/correlate/join/pending.h"
#include "agent/correlate/stacks/code_stacks.h"
#include "agent/correlate/totals/session_overhead.h"
#include "agent/correlate/trace/context_errors.h"
#include "agent/correlate/trace/devices.h"
#include "agent/correlate/trace/named_objects.h"
#include "agent/correlate/trace/ranges.h"
#include "agent/correlate/trace/session.h"
#include "agent/correlate/trace/steps.h"
#include "agent/correlate/trace/tracestates.h"
#include "model/cuda/activities.h"
#include "model/record.h"

struct correlate;
struct engine;

#define SWEEP_INTERVAL_NS (10 * NS_PER_MS)
#define RESOURCES_HELD    32
#define CALL_EVENTS_MAX   8

/* call_spans.h */
struct held_resource {
    uint64_t tid; /* 0: free */
    struct span_event event;
};

struct call_spans {
    struct code_stack *code; /* the next call's, not owned; NULL: none */
    uint32_t place;          /* the current call's, in profiles (code_profile.h) */
    uint32_t held_count;
    struct held_resource held[RESOURCES_HELD]; /* events that wait until their call returns */
    struct span_event events[CALL_EVENTS_MAX]; /* the current span's events */
};

/* Streams whose work a flush took before it had ended. It has, once later work of the stream has started. */
#define GPU_TAKEN_MAX 16 /* with more, it is never known */
struct gpu_taken {
    uint64_t flushed_ns;
    uint32_t count;
    struct {
        uint32_t context, stream;
    } streams[GPU_TAKEN_MAX];
};

/* gpu_join.h */
struct gpu_join {
    bool is_kind_filtered[ACTIVITY_KINDS_MAX]; /* the settings leave the kind out */
    bool lacks_device, has_asked_for_device;   /* work waits for a description; CUPTI was flushed */
    struct entry_queue *waiting;               /* records (waiting.h) */
    struct gpu_counted *gpu_counted;           /* NULL: hardware counters are off */
    struct gpu_left unfinished;                /* the oldest kernel whose record has no end */
    struct gpu_taken taken;
    bool taken_before;            /* some was, when the current flush began */
    struct context_error goes_on; /* no error; reported_ns is not 0 while a flush is in progress */
    bool is_going_on;             /* the work at hand has not ended */
};

/* activity_spans.h: scratch for the current span */
struct activity_spans {
    struct span_link link;
    char stack_id[CODE_ID_CHARS + 1];
    struct code_stack *new_code; /* a stack whose text is first in this span; NULL: none */
    uint8_t operation;           /* enum collective_operation, by the kernel's name */
};

/* range_spans.h */
struct range_spans {
    struct ranges open;
    /* Scratch for the current span: */
    struct range ended;
    union {
        struct range_record early;
        char early_bytes[RANGE_RECORD_BYTES];
    };
    struct range_events events;
    struct attr_key keys[SPAN_ATTRS_MAX];
    char message[RANGE_TEXT_BYTES + 1];
};

/* session_spans.h */
struct session_spans {
    struct session current; /* the process's session */
    uint64_t cut_ns;        /* start of the first step after the session's own; 0: none */
    char rank[32];          /* name of the session spans of steps */
    struct steps steps;
    struct session late; /* scratch: session of a step whose span was sent already */
    struct span root;    /* scratch: span of a step, or of its detailed trace */
    struct session_overhead overhead;
};

/* counting.h */
struct counting {
    struct accounts *accounts;
    struct entry_queue *lingering; /* ranges and sessions that have ended and wait for GPU records */
    struct summaries *summaries;   /* NULL unless detail is `summary` */
    uint64_t asked_for_records_ns; /* when counting_wants_records() last returned true */
    /* Returns the account of the session at this time, which it may start (session_spans.h). */
    uint32_t (*session_account)(struct correlate *correlate, uint64_t time_ns);
};

/* The state of a host thread: the attached context and the open ranges. */
struct thread_state {
    uint64_t serial; /* thread_info.serial of the thread */
    uint64_t seen_ns;
    bool has_context, is_sampled;
    uint8_t context[24]; /* trace and span ID; all zero: none */
    uint8_t flags;
    const char *trace_state;
    uint32_t account; /* of the iteration that is attached; 0: none */
    uint32_t summary; /* account of the request whose summary the thread holds; 0: none */
    uint32_t depth;
    uint64_t open[RANGE_PARENTS_MAX]; /* range IDs, the innermost last; further ranges have no children */
};

/* thread_events.h */
struct thread_events {
    struct thread_state states[THREADS_MAX]; /* by slot */
    struct tracestates tracestates;
    struct sampler_decisions decisions;
};

/* Scratch for the spans of ranges, marks, sessions and summaries. One of them may be emitted while a call's
 * span is being made, so they do not share the call's scratch span. */
struct ended_span {
    struct span span;
    bool is_step_root_due; /* this rank must also send the step's span */
    bool is_of_step;
    uint32_t iteration;  /* the step's open iteration (engine_spans.h); 0: none */
    bool is_cut;         /* exit, for example, ended the step, and no boundary */
    bool is_detailed;    /* links[0] leads to the root of the rank's detailed trace */
    uint64_t step_index; /* step.index, if is_of_step */
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event events[SPAN_EVENTS_MAX];
};

struct correlate {
    struct correlate_options options;
    bool is_finishing; /* nothing may wait any longer */
    bool is_summary;   /* detail: summary. Calls and GPU work have no spans. */
    uint64_t now_ns, next_sweep_ns;

    struct call_spans calls;
    struct gpu_join join;
    struct activity_spans activities;
    struct range_spans ranges;
    struct session_spans sessions;
    struct counting counting;
    struct thread_events threads;

    struct pending_table *pending;
    struct graphs *graphs;
    struct collectives *collectives; /* NULL: the program has not used NCCL */
    struct allocations *allocations;
    struct program_stats *stats;
    bool stats_are_on;                 /* as of the last tick */
    struct engine *engine;             /* NULL: the program has reported no serving engine */
    struct engine_stats *engine_stats; /* NULL: it has reported none, or there are no metrics */
    struct step_stats *step_stats;     /* NULL: no step has needed it so far */
    struct attribute_plan plan;
    struct kernel_names *names;
    struct shared_table shared;
    struct named_objects objects;
    struct devices devices;
    struct context_errors context_errors;
    struct code_stacks *code;     /* NULL: no stacks of launches */
    struct code_profile *profile; /* NULL: no profiles */

    struct span span; /* scratch: span of a call or of GPU work */
    struct ended_span ended;
};
