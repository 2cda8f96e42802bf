#include "agent/export/curl_module/module_libc.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <resolv.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (512 * 1024)

#ifndef SYS_close_range /* Linux 5.9 */
#define SYS_close_range 436
#endif
#define CLOSE_RANGE_UNSHARED 2u /* CLOSE_RANGE_UNSHARE */

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
char *__wrap_getenv(const char *name);
/* libcurl prefers it to getenv */
char *__wrap_secure_getenv(const char *name) __attribute__((alias("__wrap_getenv")));
int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **list);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **list);

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

static _Atomic(module_variable_fn *) variables; /* set by each sender's thread, to the same function */

void module_libc_set_variables(module_variable_fn *variable)
{
    variables = variable;
}

/* The agent's copy of the environment, because the host may change the real one. SSLKEYLOGFILE is always
 * ignored, so that libcurl never writes the keys of our connections to a file. */
char *__wrap_getenv(const char *name)
{
    module_variable_fn *find = variables;
    bool is_hidden = !find || strcmp(name, "SSLKEYLOGFILE") == 0;
    return is_hidden ? NULL : (char *)(uintptr_t)find(name);
}

const char *module_libc_variable(const char *name)
{
    const char *value = __wrap_getenv(name);
    return value && *value ? value : NULL;
}

struct lookup {
    const char *node, *service;
    const struct addrinfo *hints;
    struct addrinfo **list;
    int result, saved_errno;
};

/* glibc reads the environment for messages in the host's language, and HOSTALIASES for names without a dot.
 */
static void *look_up(void *argument)
{
    struct lookup *lookup = argument;
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (res_init() == 0)
        _res.options |= RES_NOALIASES;
    lookup->result = __real_getaddrinfo(lookup->node, lookup->service, lookup->hints, lookup->list);
    lookup->saved_errno = errno;
    return NULL;
}

/* In descriptors of its own, with 0 to 2 occupied. */
static void *look_up_apart(void *argument)
{
    if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARED) == 0)
        while (openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC) >= 0 && fcntl(STDERR_FILENO, F_GETFD) < 0) {
        }
    return look_up(argument);
}

/* libc opens files and sockets to resolve a name. If the host has closed a standard descriptor, they would
 * get its number, and what the host prints would be sent to the name server. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **list)
{
    pthread_t thread;
    struct lookup lookup = {node, service, hints, list, EAI_MEMORY, 0};
    bool are_open = fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0 &&
                    fcntl(STDERR_FILENO, F_GETFD) >= 0;
    bool is_apart = !are_open && __wrap_pthread_create(&thread, NULL, look_up_apart, &lookup) == 0;
    if (is_apart)
        pthread_join(thread, NULL);
    else
        look_up(&lookup);
    errno = lookup.saved_errno;
    return lookup.result;
}
/* NOLINTEND(bugprone-reserved-identifier) */
