/* Replaces libc's name resolution and clocks in faults_host.
 *
 *  FAULTS_HOSTS   file of lines "NAME ADDRESS...", read at each lookup; other names, and names without
 *  addresses, do not resolve. Addresses are returned in the order of the file.
 *  FAULTS_HASTE   how many seconds pass in the program per real second: its clocks run faster and its
 *  timeouts are shorter by this factor. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS    1000000000ll
#define SHOWN __attribute__((visibility("default")))

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int64_t haste = 1;
static int64_t began[2]; /* CLOCK_REALTIME and CLOCK_MONOTONIC, in ns */

static int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * NS + time->tv_nsec;
}

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS, .tv_nsec = ns % NS};
}

static void *next(const char *symbol)
{
    return dlsym(RTLD_NEXT, symbol);
}

__attribute__((constructor)) static void begin(void)
{
    struct timespec now;
    const char *wanted = getenv("FAULTS_HASTE");
    *(void **)&real_clock_gettime = next("clock_gettime");
    *(void **)&real_nanosleep = next("nanosleep");
    *(void **)&real_poll = next("poll");
    *(void **)&real_timedwait = next("pthread_cond_timedwait");
    *(void **)&real_getaddrinfo = next("getaddrinfo");
    for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
        real_clock_gettime(clock, &now);
        began[clock] = ns_of(&now);
    }
    haste = wanted && atoi(wanted) > 0 ? atoi(wanted) : 1;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!real_clock_gettime) /* before the constructor */
        begin();
    int failed = real_clock_gettime(clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC))
        *time = time_of(began[clock] + (ns_of(time) - began[clock]) * haste);
    return failed;
}

SHOWN time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

SHOWN int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    struct timespec shorter = time_of(ns_of(wanted) / haste);
    return real_nanosleep(&shorter, left);
}

SHOWN int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    /* Rounded up, so that short waits do not spin. */
    return real_poll(files, count, timeout_ms > 0 ? (int)((timeout_ms + haste - 1) / haste) : timeout_ms);
}

/* All condition variables here use CLOCK_MONOTONIC. */
SHOWN int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                 const struct timespec *until)
{
    int64_t passed_ns = ns_of(until) - began[CLOCK_MONOTONIC];
    struct timespec sooner = time_of(began[CLOCK_MONOTONIC] + passed_ns / haste);
    return real_timedwait(condition, lock, &sooner);
}

/* The addresses of the name, separated by spaces; NULL: none. */
static char *addresses_of(const char *name, const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    char *found = NULL;
    while (file && !found && fgets(line, (int)size, file)) {
        char *rest = line;
        char *first = strsep(&rest, " \n");
        if (strcmp(first, name) == 0)
            found = rest;
    }
    if (file)
        fclose(file);
    return found && *found && *found != '\n' ? found : NULL;
}

SHOWN int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                      struct addrinfo **addresses)
{
    const char *path = getenv("FAULTS_HOSTS");
    char line[512];
    struct in6_addr numeric;
    if (!path || !name || inet_pton(AF_INET, name, &numeric) == 1 || inet_pton(AF_INET6, name, &numeric) == 1)
        return real_getaddrinfo(name, service, hints, addresses);
    char *rest = addresses_of(name, path, line, sizeof line);
    struct addrinfo **last = addresses;
    *addresses = NULL;
    for (char *address; rest && (address = strsep(&rest, " \n"));) {
        if (!*address || real_getaddrinfo(address, service, hints, last) != 0)
            continue;
        while (*last)
            last = &(*last)->ai_next;
    }
    return *addresses ? 0 : EAI_NONAME;
}
