/* Surrounds what we do in a call of the host's thread: the thread keeps its errno, and pthread_cancel() takes
 * effect when the call has ended. No function makes a system call. */
#pragma once

#include <errno.h>
#include <pthread.h>

struct host_call {
    int saved_errno, cancel_type, cancel_state;
};

/* For calls that neither wait, write, read nor open anything, and so are no cancellation points: one load,
 * unless the thread can be canceled asynchronously. */
static inline struct host_call host_call_begin_short(void)
{
    struct host_call call = {.saved_errno = errno};
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &call.cancel_type);
    return call;
}

static inline void host_call_end_short(struct host_call call)
{
    int unused;
    errno = call.saved_errno;
    if (call.cancel_type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(call.cancel_type, &unused);
}

/* The type, too: glibc 2.36 cancels a thread asynchronously that has just disabled cancellation. */
static inline struct host_call host_call_begin(void)
{
    struct host_call call = host_call_begin_short();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call.cancel_state);
    return call;
}

static inline void host_call_end(struct host_call call)
{
    int unused;
    pthread_setcancelstate(call.cancel_state, &unused);
    host_call_end_short(call);
}
