/* Preloaded into a host: makes one of the calls that the agent's libraries make into the system fail.
 *
 *   TORTURE=KIND:N[+]     the Nth call of the kind fails ("+": and all after it). KIND is memory, file,
 *                         network or thread. N = 0: none fails, all are counted
 *   TORTURE_REPORT=FILE   written at exit: "threads COUNT NAMES" of the agent's threads that still run,
 *                         "failed FUNCTION MODULE+OFFSET" for the first failed call, and with N = 0 a line
 *                         "call FUNCTION MODULE+OFFSET" for each call of the kind, in order
 *
 * A call is the agent's if it comes from libcuspan*.so, including the libraries
 * linked into them such as libcurl, or if libc made it on their behalf (strdup, fopen: the table therefore
 * has these). Calls of the host, of the replay library and of libc succeed. Lines on standard error are also
 * let through, because the test reads them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

enum kind { MEMORY, FILES, NETWORK, THREAD, KIND_COUNT };
static const char *const names[KIND_COUNT] = {"memory", "file", "network", "thread"};

struct place {
    const char *function, *module;
    uintptr_t offset;
};

#define PLACES_MAX 100000

static atomic_ulong counts[KIND_COUNT];
static struct place places[PLACES_MAX]; /* of the wanted kind */
static int wanted_kind = -1;
static unsigned long wanted_number;
static bool and_later;
static struct place failed;
static atomic_flag has_failed = ATOMIC_FLAG_INIT;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);

/* The module that made the call, or NULL if it is not the agent's. Takes no lock and allocates nothing. */
static const char *module_of(const void *caller, uintptr_t *offset)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)caller, &found) != 0 || !found.dlfo_link_map)
        return NULL;
    const char *name = found.dlfo_link_map->l_name;
    const char *slash = strrchr(name, '/');
    name = slash ? slash + 1 : name;
    *offset = (uintptr_t)caller - found.dlfo_link_map->l_addr;
    bool is_agent = strncmp(name, "libcuspan", 9) == 0 && strncmp(name, "libcuspan-replay", 16) != 0;
    return is_agent ? name : NULL;
}

static bool fails(enum kind kind, const char *function, const void *caller)
{
    struct place place = {.function = function};
    place.module = (int)kind == wanted_kind ? module_of(caller, &place.offset) : NULL;
    if (!place.module)
        return false;
    unsigned long number = atomic_fetch_add(&counts[kind], 1) + 1;
    if (wanted_number == 0 && number <= PLACES_MAX)
        places[number - 1] = place;
    if (wanted_number == 0 || !(number == wanted_number || (and_later && number > wanted_number)))
        return false;
    if (!atomic_flag_test_and_set(&has_failed))
        failed = place;
    return true;
}

/* The next function of that name, which is libc's. */
#define NEXT(name)                                                                                           \
    __extension__({                                                                                          \
        static _Atomic(void *) next;                                                                         \
        void *known = atomic_load_explicit(&next, memory_order_relaxed);                                     \
        if (!known)                                                                                          \
            atomic_store_explicit(&next, known = dlsym(RTLD_NEXT, #name), memory_order_relaxed);             \
        (__typeof__(&(name)))known;                                                                          \
    })

/* RESULT NAME(PARAMETERS) fails with the error and the result given. */
#define INTERPOSE(kind, result, name, parameters, arguments, error, otherwise)                               \
    EXPORT result name parameters                                                                            \
    {                                                                                                        \
        if (fails(kind, #name, CALLER)) {                                                                    \
            errno = error;                                                                                   \
            return otherwise;                                                                                \
        }                                                                                                    \
        return NEXT(name) arguments;                                                                         \
    }

/* --- memory --- */

EXPORT void *malloc(size_t bytes)
{
    if (fails(MEMORY, "malloc", CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    if (fails(MEMORY, "calloc", CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (fails(MEMORY, "realloc", CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(block, bytes);
}

EXPORT int asprintf(char **to, const char *format, ...)
{
    va_list arguments;
    if (fails(MEMORY, "asprintf", CALLER))
        return -1;
    va_start(arguments, format);
    int bytes = vasprintf(to, format, arguments);
    va_end(arguments);
    return bytes;
}

INTERPOSE(MEMORY, char *, strdup, (const char *text), (text), ENOMEM, NULL)
INTERPOSE(MEMORY, char *, strndup, (const char *text, size_t bytes), (text, bytes), ENOMEM, NULL)
INTERPOSE(MEMORY, void *, mmap,
          (void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset),
          (at, bytes, protection, flags, descriptor, offset), ENOMEM, MAP_FAILED)

/* --- files --- */

EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (fails(FILES, "open", CALLER)) {
        errno = EACCES;
        return -1;
    }
    return NEXT(open)(path, flags, mode);
}

EXPORT ssize_t write(int descriptor, const void *from, size_t bytes)
{
    if (descriptor != STDERR_FILENO && fails(FILES, "write", CALLER)) {
        errno = ENOSPC;
        return -1;
    }
    return NEXT(write)(descriptor, from, bytes);
}

/* Makes ferror() return an error from then on, as after a failed system call. */
static void set_error(FILE *file)
{
    file->_flags |= 0x20; /* glibc's _IO_ERR_SEEN */
}

EXPORT char *fgets(char *to, int bytes, FILE *file)
{
    if (fails(FILES, "fgets", CALLER)) {
        errno = EIO;
        set_error(file);
        return NULL;
    }
    return NEXT(fgets)(to, bytes, file);
}

EXPORT size_t fread(void *to, size_t bytes, size_t count, FILE *file)
{
    if (fails(FILES, "fread", CALLER)) {
        errno = EIO;
        set_error(file);
        return 0;
    }
    return NEXT(fread)(to, bytes, count, file);
}

EXPORT size_t fwrite(const void *from, size_t bytes, size_t count, FILE *file)
{
    if (file != stderr && file != stdout && fails(FILES, "fwrite", CALLER)) {
        errno = ENOSPC;
        set_error(file);
        return 0;
    }
    return NEXT(fwrite)(from, bytes, count, file);
}

INTERPOSE(FILES, FILE *, fopen, (const char *path, const char *mode), (path, mode), EACCES, NULL)
INTERPOSE(FILES, FILE *, fdopen, (int descriptor, const char *mode), (descriptor, mode), ENOMEM, NULL)
INTERPOSE(FILES, DIR *, opendir, (const char *path), (path), EMFILE, NULL)
INTERPOSE(FILES, ssize_t, read, (int descriptor, void *to, size_t bytes), (descriptor, to, bytes), EIO, -1)
INTERPOSE(FILES, ssize_t, writev, (int descriptor, const struct iovec *parts, int count),
          (descriptor, parts, count), ENOSPC, -1)
INTERPOSE(FILES, int, fsync, (int descriptor), (descriptor), EIO, -1)
INTERPOSE(FILES, int, fdatasync, (int descriptor), (descriptor), EIO, -1)
INTERPOSE(FILES, int, ftruncate, (int descriptor, off_t bytes), (descriptor, bytes), EIO, -1)
INTERPOSE(FILES, int, rename, (const char *from, const char *to), (from, to), EACCES, -1)
INTERPOSE(FILES, void *, dlopen, (const char *path, int flags), (path, flags), ENOENT, NULL)

/* Like a full disk: the buffered data is lost, and the file is closed. */
EXPORT int fclose(FILE *file)
{
    bool is_lost = fails(FILES, "fclose", CALLER);
    int result = NEXT(fclose)(file);
    if (is_lost)
        errno = ENOSPC;
    return is_lost ? EOF : result;
}

/* --- network --- */

INTERPOSE(NETWORK, int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, -1)
INTERPOSE(NETWORK, int, socketpair, (int domain, int type, int protocol, int two[2]),
          (domain, type, protocol, two), EMFILE, -1)
INTERPOSE(NETWORK, int, connect, (int descriptor, const struct sockaddr *address, socklen_t bytes),
          (descriptor, address, bytes), ENETUNREACH, -1)
INTERPOSE(NETWORK, ssize_t, send, (int descriptor, const void *from, size_t bytes, int flags),
          (descriptor, from, bytes, flags), ECONNRESET, -1)
INTERPOSE(NETWORK, ssize_t, sendmsg, (int descriptor, const struct msghdr *message, int flags),
          (descriptor, message, flags), ECONNRESET, -1)
INTERPOSE(NETWORK, ssize_t, recv, (int descriptor, void *to, size_t bytes, int flags),
          (descriptor, to, bytes, flags), ECONNRESET, -1)
INTERPOSE(NETWORK, ssize_t, recvmsg, (int descriptor, struct msghdr *message, int flags),
          (descriptor, message, flags), ECONNRESET, -1)
INTERPOSE(NETWORK, int, setsockopt, (int descriptor, int level, int name, const void *value, socklen_t bytes),
          (descriptor, level, name, value, bytes), ENOPROTOOPT, -1)
INTERPOSE(NETWORK, int, getsockopt, (int descriptor, int level, int name, void *value, socklen_t *bytes),
          (descriptor, level, name, value, bytes), ENOPROTOOPT, -1)
INTERPOSE(NETWORK, int, getaddrinfo,
          (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found),
          (node, service, hints, found), EAGAIN, EAI_AGAIN)
static bool is_for_a_line(const struct pollfd *descriptors, nfds_t count)
{
    /* The header of libc declares that poll() only writes here, so the compiler must not see the read. */
    __asm__("" : "+r"(descriptors));
    return count == 1 && descriptors->fd == STDERR_FILENO;
}

EXPORT int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
    if (!is_for_a_line(descriptors, count) && fails(NETWORK, "poll", CALLER)) {
        errno = ENOMEM;
        return -1;
    }
    return NEXT(poll)(descriptors, count, timeout_ms);
}

/* --- threads --- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    if (fails(THREAD, "pthread_create", CALLER))
        return EAGAIN;
    return NEXT(pthread_create)(thread, attributes, run, argument);
}

/* --- the report --- */

/* Writes the names of the threads of the agent, each after a space, and returns their count. */
static unsigned find_agent_threads(char *found, size_t size)
{
    unsigned count = 0;
    found[0] = 0;
    DIR *tasks = NEXT(opendir)("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = NEXT(fopen)(path, "re");
        if (!file)
            continue;
        if (NEXT(fgets)(name, sizeof name, file) && strncmp(name, "cuspan/", 7) == 0) {
            size_t length = strlen(found);
            snprintf(found + length, size - length, " %.*s", (int)strcspn(name, "\n"), name);
            count++;
        }
        NEXT(fclose)(file);
    }
    if (tasks)
        closedir(tasks);
    return count;
}

/* The kernel removes an ended thread from /proc after a while, joined or not, and on a busy machine that
 * takes time. A leaked thread stays there. */
static void print_agent_threads(FILE *file)
{
    enum { ROUNDS = 200, ROUND_NS = 1000000 };
    char found[256];
    unsigned count = find_agent_threads(found, sizeof found);
    for (int round = 0; round < ROUNDS && count; round++) {
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
        count = find_agent_threads(found, sizeof found);
    }
    fprintf(file, "threads %u%s\n", count, found);
}

static void print_place(FILE *file, const char *what, const struct place *place)
{
    fprintf(file, "%s %s %s+0x%lx\n", what, place->function, place->module, (unsigned long)place->offset - 1);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("TORTURE");
    const char *colon = wanted ? strchr(wanted, ':') : NULL;
    for (int kind = 0; colon && kind < KIND_COUNT; kind++)
        if (strlen(names[kind]) == (size_t)(colon - wanted) &&
            strncmp(names[kind], wanted, strlen(names[kind])) == 0)
            wanted_kind = kind;
    if (colon) {
        wanted_number = strtoul(colon + 1, NULL, 10);
        and_later = colon[strlen(colon) - 1] == '+';
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TORTURE_REPORT");
    FILE *file = path ? NEXT(fopen)(path, "we") : NULL;
    if (!file)
        return;
    print_agent_threads(file);
    if (failed.function)
        print_place(file, "failed", &failed);
    for (unsigned long i = 0; i < PLACES_MAX && places[i].function; i++)
        print_place(file, "call", &places[i]);
    NEXT(fclose)(file);
}
