/* Surrounds what we do in a call of the host's thread that may wait, write, or hold a lock: the thread keeps
 * its errno, and pthread_cancel() takes effect when the call has ended. Neither function makes a system call.
 */
#ifndef CUSPAN_BASE_PROCESS_HOST_CALL_H
#define CUSPAN_BASE_PROCESS_HOST_CALL_H

#include <errno.h>
#include <pthread.h>

struct host_call {
    int saved_errno, cancel_state;
};

static inline struct host_call host_call_begin(void)
{
    struct host_call call = {.saved_errno = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call.cancel_state);
    return call;
}

static inline void host_call_end(struct host_call call)
{
    int unused;
    errno = call.saved_errno;
    pthread_setcancelstate(call.cancel_state, &unused);
}

#endif
