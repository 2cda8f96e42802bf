/* The ways of CUPTI's calls in a process with guests, and the guest itself: its subscription, its buffers'
 * and callbacks' functions, its clock. entries.c has the calls that come in, share.c what becomes of the
 * guest.
 *
 * This library runs in every process that is started below `cuspan run --share`, most of which never use
 * CUDA: it is libc alone, and does nothing before CUPTI's first call. */
#ifndef CUSPAN_SHARE_SHARE_H
#define CUSPAN_SHARE_SHARE_H

#include "model/share_protocol.h"
#include "share/cupti_calls.h"

#include <stdatomic.h>

#define GUEST_CALLBACKS_MAX 256

/* One guest: of two that use classic calls, CUPTI itself takes only one. */
struct guest {
    _Atomic(cupti_callback_fn *) callback;
    void *_Atomic userdata;
    _Atomic(cupti_request_fn *) request;
    _Atomic(cupti_complete_fn *) complete;
    _Atomic(cupti_timestamp_fn *) clock;
    _Atomic uint64_t kinds_on;
    _Atomic uint64_t last_call_ns;         /* of CLOCK_MONOTONIC */
    _Atomic uint32_t calls;                /* that are under way */
    _Atomic(cupti_subscriber_handle) real; /* CUPTI's; NULL: none now. Changed with the lock held */
    atomic_bool was_ever;
    /* Guarded by the lock. */
    bool is_subscribed; /* as the guest sees it */
    bool has_clock;     /* BESIDE: CUPTI asks guest_clock */
    bool has_buffers;   /* BESIDE: CUPTI has our functions for buffers */
    /* GIVES_WAY: what callbacks it has on, to be restored; too many: `real` is kept for good. */
    uint32_t callback_count;
    uint32_t callbacks[GUEST_CALLBACKS_MAX]; /* domain << 16 | callback ID, 0: all of the domain */
    bool has_too_many;
};
extern struct guest guest;

/* What a guest gets for a handle. */
#define GUEST_HANDLE ((cupti_subscriber_handle)(void *)&guest)

/* How the calling guest's call is to go; settles it at the first one. Where it gives way, the agent has left
 * CUPTI when this returns, and the guest's subscription, taken back while it was idle, holds again. */
enum share_way share_arrive(void);
/* The same for a call that begins nothing: nobody is asked to leave, though the guest isn't idle; and for one
 * that only asks. */
enum share_way share_touch(void);
enum share_way share_look(void);
/* A call that arrived or touched has returned. */
void share_depart(const enum share_way *unused);

/* The library that the guest's calls go to. Never NULL; its members may be. */
const struct real_calls *share_real(void);

void share_lock(void);
void share_unlock(void);

/* BESIDE, with the lock held: the second subscriber is there when this returns CUPTI_OK. */
uint32_t guest_open_locked(void);
/* BESIDE, with the lock held: its clock is the one that it has named. */
uint32_t guest_set_clock_locked(void);
/* Both, with the lock held. */
uint32_t guest_subscribe_locked(cupti_callback_fn *callback, void *userdata);
uint32_t guest_unsubscribe_locked(void);
/* Around a flush, of the guest's or of the agent's: false where the other one's lasts longer. Without the
 * lock. */
bool share_flush_begin(uint32_t wait_ms);
void share_flush_end(void);
#define GUEST_FLUSH_WAIT_MS 1000 /* who wouldn't wait longer finds some records a flush later */

/* CUPTI goes, as far as the guest sees; the agent's part of it stays. Without the lock. */
uint32_t guest_finalize(void);

/* CUPTI's entries for its buffers. */
cupti_request_v2_fn guest_request;
cupti_complete_v2_fn guest_complete;

/* Remembers callbacks that are switched, by the lock's holder. */
void guest_note_callback_locked(bool on, uint32_t domain, uint32_t cbid);

#endif
