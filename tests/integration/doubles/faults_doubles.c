/* Replaces libc's name resolution and clocks in faults_host.
 *
 *  FAULTS_HOSTS   file of lines "NAME ADDRESS...", read at each lookup; other names, and names without
 *  addresses, do not resolve. Addresses are returned in the order of the file.
 *  FAULTS_CLOCK   file with an int64_t: how many seconds pass in the program per real second. Its clocks run
 *  faster and its timeouts are shorter by this factor. The test may write another factor at any time. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS        1000000000ll
#define NS_PER_MS 1000000ll
#define SLICE_NS  (100 * NS_PER_MS) /* of real time, after which a wait follows a new factor */
#define SHOWN     __attribute__((visibility("default")))

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const _Atomic int64_t *wanted; /* the file's factor */
static struct {
    int64_t haste;
    int64_t real_ns[2], own_ns[2]; /* CLOCK_REALTIME and CLOCK_MONOTONIC, when the factor last changed */
} own = {.haste = 1};

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

static int64_t real_now(clockid_t clock)
{
    struct timespec now;
    real_clock_gettime(clock, &now);
    return ns_of(&now);
}

static int64_t own_time(clockid_t clock, int64_t real_ns)
{
    return own.own_ns[clock] + (real_ns - own.real_ns[clock]) * own.haste;
}

static void set_haste(int64_t haste)
{
    for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
        int64_t real_ns = real_now(clock);
        own.own_ns[clock] = own_time(clock, real_ns);
        own.real_ns[clock] = real_ns;
    }
    own.haste = haste;
}

/* Locks the clock and follows the file. */
static void lock_clock(void)
{
    pthread_mutex_lock(&lock);
    int64_t haste = wanted ? atomic_load(wanted) : 1;
    if (haste != own.haste && haste > 0)
        set_haste(haste);
}

static int64_t own_now(clockid_t clock)
{
    lock_clock();
    int64_t now_ns = own_time(clock, real_now(clock));
    pthread_mutex_unlock(&lock);
    return now_ns;
}

/* The next part of a wait, in real time; 0: it is over. Rounded up, so that short waits do not spin. */
static int64_t slice_until(int64_t own_ns)
{
    lock_clock();
    int64_t left_ns = own_ns - own_time(CLOCK_MONOTONIC, real_now(CLOCK_MONOTONIC));
    int64_t slice_ns = left_ns > 0 ? (left_ns + own.haste - 1) / own.haste : 0;
    pthread_mutex_unlock(&lock);
    return slice_ns < SLICE_NS ? slice_ns : SLICE_NS;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS_CLOCK");
    *(void **)&real_clock_gettime = next("clock_gettime");
    *(void **)&real_nanosleep = next("nanosleep");
    *(void **)&real_poll = next("poll");
    *(void **)&real_timedwait = next("pthread_cond_timedwait");
    *(void **)&real_getaddrinfo = next("getaddrinfo");
    for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++)
        own.own_ns[clock] = own.real_ns[clock] = real_now(clock);
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file >= 0 ? mmap(NULL, sizeof *wanted, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    wanted = mapped == MAP_FAILED ? NULL : mapped;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!real_clock_gettime) /* before the constructor */
        begin();
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return real_clock_gettime(clock, time);
    *time = time_of(own_now(clock));
    return 0;
}

SHOWN time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

SHOWN int nanosleep(const struct timespec *duration, struct timespec *left)
{
    int64_t end_ns = own_now(CLOCK_MONOTONIC) + ns_of(duration);
    for (int64_t slice_ns; (slice_ns = slice_until(end_ns)) > 0;) {
        struct timespec slice = time_of(slice_ns);
        real_nanosleep(&slice, left);
    }
    return 0;
}

SHOWN int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    int64_t end_ns = own_now(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;
    if (timeout_ms <= 0)
        return real_poll(files, count, timeout_ms);
    for (int64_t slice_ns; (slice_ns = slice_until(end_ns)) > 0;) {
        int found = real_poll(files, count, (int)((slice_ns + NS_PER_MS - 1) / NS_PER_MS));
        if (found != 0)
            return found;
    }
    return 0;
}

/* All condition variables here use CLOCK_MONOTONIC. */
SHOWN int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                 const struct timespec *until)
{
    int result;
    do {
        struct timespec slice_end = time_of(real_now(CLOCK_MONOTONIC) + slice_until(ns_of(until)));
        result = real_timedwait(condition, mutex, &slice_end);
    } while (result == ETIMEDOUT && slice_until(ns_of(until)) > 0);
    return result;
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
