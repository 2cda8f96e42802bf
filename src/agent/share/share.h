/* Routes CUPTI calls in a process with a second tool, and keeps that tool's state: its subscription, buffer
 * functions, callback and clock. entries.c has the functions that the tool calls instead of CUPTI's, share.c
 * the state, held_buffers.c its buffers, and redirect.c makes loaded libraries call entries.c.
 *
 * It is part of the agent, and a library of its own for users who preload it, into processes of which most
 * never use CUDA. It depends only on libc and does nothing before the first CUPTI call. */
#pragma once

#include "model/share_protocol.h"
#include "agent/share/cupti_calls.h"

#include <stdatomic.h>

#define TOOL_CALLBACKS_MAX 256

typedef void any_cupti_fn(void);

/* There is one second subscriber: of two tools with classic calls, CUPTI itself accepts only one. Only
 * share.c changes its state. */
struct tool {
    _Atomic(cupti_callback_fn *) callback;
    void *_Atomic userdata;
    _Atomic(cupti_request_fn *) request;
    _Atomic(cupti_complete_fn *) complete;
    _Atomic(cupti_timestamp_fn *) clock;
    _Atomic uint64_t kinds_on;
    _Atomic uint64_t last_call_ns;         /* CLOCK_MONOTONIC */
    _Atomic uint32_t calls;                /* in progress */
    _Atomic(cupti_subscriber_handle) real; /* CUPTI's handle; NULL: none now. Changed with the lock held */
    atomic_bool was_ever;
    /* Guarded by the lock. */
    bool is_subscribed; /* from the tool's point of view */
    bool has_clock;     /* BESIDE: CUPTI calls tool_clock */
    bool is_clock_old;  /* BESIDE: it was set before the tool's end */
    bool has_buffers;   /* BESIDE: CUPTI calls our buffer functions */
    /* GIVES_WAY: callbacks to restore. If there are too many, `real` is kept permanently. */
    uint32_t callback_count;
    uint32_t callbacks[TOOL_CALLBACKS_MAX]; /* domain << 16 | callback ID; callback ID 0: the whole domain */
    bool has_too_many;
};
extern struct tool tool;

/* The subscriber handle that the tool gets. */
#define TOOL_HANDLE ((cupti_subscriber_handle)(void *)&tool)

/* How to forward the current call; decided in the first one. With GIVES_WAY, on return the agent has released
 * CUPTI, and a subscription that was suspended while the tool was idle is restored. */
enum share_way share_arrive(void);
/* The same for calls that start nothing: they do not make the agent leave. share_touch() marks the tool as
 * active; a query does not. */
enum share_way share_touch(void);
enum share_way share_current_way(void);
/* Ends a call that share_arrive() or share_touch() started. */
void share_depart(const enum share_way *unused);

/* The library that the tool's calls go to. Never NULL, but its members may be. */
const struct real_calls *share_real(void);

void share_lock(void);
void share_unlock(void);

/* BESIDE, with the lock held: opens the second subscriber, unless the result is not CUPTI_OK. */
uint32_t share_open_locked(void);
/* BESIDE, with the lock held: the tool's clock; NULL: CUPTI's default. */
uint32_t share_set_clock_locked(cupti_timestamp_fn *clock);
/* Both with the lock held. */
uint32_t share_subscribe_locked(cupti_callback_fn *callback, void *userdata);
uint32_t share_unsubscribe_locked(void);
/* BESIDE, with the lock held: the tool's buffer functions. */
uint32_t share_register_locked(cupti_request_fn *request, cupti_complete_fn *complete);
/* Remembers enabled and disabled callbacks. With the lock held. */
void share_note_callback_locked(bool on, uint32_t domain, uint32_t cbid);
/* Remembers that a kind was enabled or disabled, if `result`, which it returns, is CUPTI_OK. */
uint32_t share_note_kind(uint32_t result, uint32_t kind, bool on);
/* GIVES_WAY: the clock to set again when the subscription is restored. */
void share_note_clock(cupti_timestamp_fn *clock);
/* BESIDE: enables or disables a kind of the tool, not during a flush. */
uint32_t share_switch_locked(cuptiActivityEnable_v2_fn *call, uint32_t kind);
/* BESIDE: the tool's flush. Without the lock. */
uint32_t share_flush(uint32_t flag);
/* Finalizes CUPTI from the tool's point of view; the agent's part stays. Without the lock. */
uint32_t share_finalize(void);
/* Not BESIDE: CUPTI forgets the tool's subscription when it is finalized. Without the lock. */
void share_forget_tool(void);

/* entries.c: what tools call instead of CUPTI's functions of the same names. */
#define EXPORT                          __attribute__((visibility("default")))
#define DECLARE_ENTRY(name, params)     EXPORT name##_fn name;
#define DECLARE_SWITCH(name, attribute) EXPORT name##_fn name;
CUPTI_CLASSIC_CALLS(DECLARE_ENTRY)
CUPTI_NAMED_SUBSCRIBER_CALLS(DECLARE_ENTRY)
CUPTI_TOOL_CALLS(DECLARE_ENTRY)
CUPTI_SWITCH_CALLS(DECLARE_SWITCH)

/* held_buffers.c */

/* CUPTI's buffer callbacks. */
cupti_request_v2_fn share_request;
cupti_complete_v2_fn share_complete;
/* Whether CUPTI has buffers of the tool. */
bool share_has_lent(void);
/* Before the agent's flush: from now on, buffers of the tool that are not full are held back. */
void share_note_agents_flush(void);
/* The tool wants buffers that are not full: none is held back any more. */
void share_allow_partial(void);
/* Gives the tool what is held back, and its unused memory; at the end of its own flush. Without the lock. */
void share_give_held(void);
/* In a forked child. */
void share_forget_held(void);

/* redirect.c */

/* share_api.redirect */
int share_redirect(struct dl_phdr_info *info, size_t size, void *cupti);

/* Registers what a forked child needs. */
void share_follow_forks(void);
