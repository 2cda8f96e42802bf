/* What the libraries that the module carries ask of libc, and get otherwise: linked into the module alone, by
 * the linker's --wrap. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define STACK_BYTES (512 * 1024)

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
char *__wrap_secure_getenv(const char *name); /* what libcurl asks where there is one */

/* libcurl begins a thread to resolve a name. The default stack is the host's limit, perhaps 8 MiB or more,
 * and memory is bounded. */
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

/* A program that runs with another user's rights must not be led by its caller's environment: by proxies,
 * say. And nobody's writes the keys of our connections to a file: libcurl does where SSLKEYLOGFILE names one.
 */
char *__wrap_getenv(const char *name)
{
    if (getauxval(AT_SECURE) || strcmp(name, "SSLKEYLOGFILE") == 0)
        return NULL;
    return __real_getenv(name);
}

char *__wrap_secure_getenv(const char *name)
{
    return __wrap_getenv(name);
}
