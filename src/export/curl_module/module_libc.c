/* Replacements of libc functions for the libraries linked into the module (--wrap in cmake/export.cmake). */
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
char *__wrap_secure_getenv(const char *name); /* libcurl prefers it to getenv */

/* libcurl starts a thread to resolve a name. Its default stack would be the host's limit, often 8 MiB. */
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

/* A setuid program must not trust its caller's environment, such as proxy variables. SSLKEYLOGFILE is always
 * ignored, so that libcurl never writes the keys of our connections to a file. */
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
