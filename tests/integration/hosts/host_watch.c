/* Linked into agent_host: records everything that the agent does in a callback and has promised not to do
 * there. It replaces the allocator and the locks of the whole process, makes the kernel trap system calls
 * during callbacks, and the replay library reports calls of CUPTI's functions to it.
 *
 * HOST_WATCH=FILE receives, at exit, the number of callbacks and then a line for each violation, with the
 * number of callbacks that this thread had before:   31 cudaStreamBeginCapture: calls cuptiActivityEnable_v2
 * FILE.child receives the same of a forked child, in which every call to CUPTI counts, even outside
 * callbacks.
 */
#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#define NOTES_MAX 4096
#define ODD_ERRNO ENOTRECOVERABLE
/* linux/prctl.h of 5.11; older headers don't have them */
#define WATCH_SYSCALLS    59
#define WATCH_SYSCALLS_ON 1

cuspan_replay_watch_fn cuspan_replay_watch;

struct note {
    unsigned before; /* earlier callbacks on this thread */
    const char *where, *what;
    long number; /* of a system call; else -1 */
};

static struct note notes[NOTES_MAX];
static _Atomic unsigned note_count;
static _Atomic unsigned long callback_count;
static bool is_watching, traps_syscalls, is_forked_child;

static _Thread_local const char *inside; /* the callback's call; NULL: not in a callback */
static _Thread_local unsigned callbacks_before;
static _Thread_local bool is_trapped;
static _Thread_local volatile char traps; /* the kernel reads it at each system call */

static void note(const char *what, long number)
{
    unsigned at = atomic_fetch_add(&note_count, 1);
    if (at < NOTES_MAX)
        notes[at] = (struct note){callbacks_before, inside ? inside : "outside of callbacks", what, number};
}

static void note_inside(const char *what)
{
    if (inside)
        note(what, -1);
}

/* --- system calls --- */

#ifdef __x86_64__
/* Records the system call and makes it, with its six arguments unchanged. */
static void on_syscall(int signal_number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    traps = 0; /* until the next callback, because the return from here is a system call */
    note("makes system call", info->si_syscall);
    register long r10 __asm__("r10") = registers[REG_R10];
    register long r8 __asm__("r8") = registers[REG_R8];
    register long r9 __asm__("r9") = registers[REG_R9];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)info->si_syscall), "D"(registers[REG_RDI]), "S"(registers[REG_RSI]),
                       "d"(registers[REG_RDX]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    registers[REG_RAX] = result;
}

static void prepare_traps(void)
{
    struct sigaction action = {.sa_sigaction = on_syscall, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
}

static void trap_this_thread(void)
{
    if (prctl(WATCH_SYSCALLS, WATCH_SYSCALLS_ON, 0, 0, &traps) == 0)
        traps_syscalls = true;
    is_trapped = true;
}
#else
static void prepare_traps(void) {}
static void trap_this_thread(void)
{
    is_trapped = true;
}
#endif

/* --- reports of the replay library --- */

void cuspan_replay_watch(enum replay_watch event, const char *what)
{
    if (!is_watching)
        return;
    switch (event) {
    case REPLAY_WATCH_BEGIN:
        if (!is_trapped)
            trap_this_thread();
        inside = what;
        errno = ODD_ERRNO;
        traps = 1;
        break;
    case REPLAY_WATCH_END:
        traps = 0;
        if (errno != ODD_ERRNO)
            note("changes errno", -1);
        inside = NULL;
        callbacks_before++;
        atomic_fetch_add(&callback_count, 1);
        break;
    case REPLAY_WATCH_CUPTI:
        note(what, -1);
        break;
    }
}

/* --- the allocator and the locks, of the whole process --- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *pointer);

void *malloc(size_t size)
{
    note_inside("malloc");
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    note_inside("calloc");
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    note_inside("realloc");
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    note_inside("aligned_alloc");
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    note_inside("posix_memalign");
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

void free(void *pointer)
{
    note_inside("free");
    __libc_free(pointer);
}

typedef int lock_fn(pthread_mutex_t *);

static lock_fn *find_lock(_Atomic(lock_fn *) *known, const char *name)
{
    lock_fn *found = atomic_load(known);
    if (!found) {
        found = (lock_fn *)dlsym(RTLD_NEXT, name);
        atomic_store(known, found);
    }
    return found;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static _Atomic(lock_fn *) real;
    note_inside("pthread_mutex_lock");
    return find_lock(&real, "pthread_mutex_lock")(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    static _Atomic(lock_fn *) real;
    note_inside("pthread_mutex_trylock");
    return find_lock(&real, "pthread_mutex_trylock")(mutex);
}

/* A forked child ignores threads, so it stores nothing for one. (Elsewhere a thread's
 * first callback does, once.) */
int pthread_setspecific(pthread_key_t key, const void *value)
{
    static int (*_Atomic real)(pthread_key_t, const void *);
    int (*found)(pthread_key_t, const void *) = atomic_load(&real);
    if (is_forked_child)
        note_inside("pthread_setspecific");
    if (!found) {
        found = (int (*)(pthread_key_t, const void *))dlsym(RTLD_NEXT, "pthread_setspecific");
        atomic_store(&real, found);
    }
    return found(key, value);
}

/* --- start and end --- */

/* A watch without any callback would find nothing. */
static void see_oneself(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    cuspan_replay_watch(REPLAY_WATCH_BEGIN, "itself");
    void *volatile pointer = malloc(1);
    free(pointer);
    pthread_mutex_lock(&mutex);
    getppid();
    errno = 0;
    cuspan_replay_watch(REPLAY_WATCH_END, NULL);
    pthread_mutex_unlock(&mutex);
    if (atomic_load(&note_count) != (traps_syscalls ? 5 : 4)) {
        printf("host: the watch is blind\n");
        exit(1);
    }
    atomic_store(&note_count, 0);
    atomic_store(&callback_count, 0);
    callbacks_before = 0;
}

/* Within a callback, dlsym() would wait for another thread that loads a library: a system call, but not the
 * agent's. */
static void find_functions(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_key_t key;
    pthread_mutex_lock(&mutex);
    pthread_mutex_trylock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (pthread_key_create(&key, NULL) == 0) {
        pthread_setspecific(key, NULL);
        pthread_key_delete(key);
    }
}

/* The kernel traps nothing in a child unless the child requests it. */
static void in_child(void)
{
    is_forked_child = true;
    is_trapped = traps_syscalls = false;
    atomic_store(&note_count, 0);
    atomic_store(&callback_count, 0);
    callbacks_before = 0;
}

__attribute__((constructor)) static void begin(void)
{
    is_watching = getenv("HOST_WATCH") != NULL;
    if (!is_watching)
        return;
    find_functions();
    prepare_traps();
    see_oneself();
    pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("HOST_WATCH");
    char path[4096];
    snprintf(path, sizeof path, "%s%s", name ? name : "", is_forked_child ? ".child" : "");
    FILE *file = name ? fopen(path, "w") : NULL;
    if (!file)
        return;
    unsigned count = atomic_load(&note_count);
    fprintf(file, "%lu callbacks, system calls %s, %u notes\n", atomic_load(&callback_count),
            traps_syscalls ? "watched" : "not watched", count);
    for (unsigned i = 0; i < count && i < NOTES_MAX; i++) {
        fprintf(file, "%u %s: %s", notes[i].before, notes[i].where, notes[i].what);
        fprintf(file, notes[i].number >= 0 ? " %ld\n" : "\n", notes[i].number);
    }
    fclose(file);
}
