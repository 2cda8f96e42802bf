#include "agent/capture/sleep/sleep_lock.h"

#include "base/process/host_mutex.h"

static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    host_mutex_init(&mutex);
}

void sleep_lock(void)
{
    pthread_once(&once, make);
    pthread_mutex_lock(&mutex);
}

void sleep_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
