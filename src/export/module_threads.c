/* libcurl begins a thread to resolve a name. Linked into the module alone, by the linker's --wrap: libc's
 * default stack, of the host's limit, may be 8 MiB and more, and memory is bounded. */
#include <pthread.h>

#define STACK_BYTES (512 * 1024)

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    pthread_attr_t own;
    if (attributes || pthread_attr_init(&own) != 0)
        return __real_pthread_create(thread, attributes, run, argument);
    pthread_attr_setstacksize(&own, STACK_BYTES);
    int failed = __real_pthread_create(thread, &own, run, argument);
    pthread_attr_destroy(&own);
    return failed;
}
