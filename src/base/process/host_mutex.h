/* A mutex for which threads of the host may wait. */
#pragma once

#include <pthread.h>

/* With priority inheritance, so that a real-time thread of the host is not delayed by a preempted holder. */
static inline void host_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(mutex, &inherits);
    pthread_mutexattr_destroy(&inherits);
}
