/* Preloaded (LD_PRELOAD) into a process with the agent: tracks the memory of libcuspan.so and
 * libcuspan-export.so and reports the peak.
 *
 * Counts blocks and mappings that their code allocates, allocations by their threads through other libraries
 * (strdup, libcurl), the stacks of their threads, and the libraries' writable data. Allocations by the replay
 * library on these threads are attributed to CUPTI.
 *
 * MEMORY_WATCH=FILE: keeps FILE.PID up to date while the process lives, as NUL-terminated text. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS     (1u << 20) /* tracked at once; a power of two */
#define TEXT_BYTES 512
#define EVERY      (64 * 1024) /* the file is updated when the peak has grown by this many bytes */
#define GONE       ((uintptr_t)1)
#define CALLER     ((uintptr_t)__builtin_return_address(0))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *pointer);

enum what { BLOCK, MAPPING, STACK, WHATS };

static struct {
    uintptr_t address;
    size_t bytes;
    enum what what;
} blocks[BLOCKS];
static atomic_flag lock = ATOMIC_FLAG_INIT;
static size_t now, peak, shown_peak, allocations, sums[WHATS], at_peak[WHATS], variables;
static char *shown; /* the mapped page of the file; NULL: not requested */
static _Thread_local bool is_ours;

struct library {
    bool is_cuspan, is_cupti;
};

/* The library that contains the address. There are few, so the loader's table is copied once and searched
 * without a lock. */
static struct library library_of(uintptr_t address)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0)
        return (struct library){0};
    const char *path = found.dlfo_link_map->l_name, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return (struct library){.is_cuspan =
                                strcmp(name, "libcuspan.so") == 0 || strcmp(name, "libcuspan-export.so") == 0,
                            .is_cupti = strncmp(name, "libcuspan-replay", 16) == 0};
}

static bool is_cuspans(uintptr_t caller)
{
    struct library library = library_of(caller);
    return library.is_cuspan || (is_ours && !library.is_cupti);
}

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
}

static void drop_lock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void show_locked(void)
{
    if (!shown)
        return;
    shown_peak = peak;
    snprintf(shown, TEXT_BYTES,
             "{\"peak\":%zu,\"blocks\":%zu,\"mappings\":%zu,\"stacks\":%zu,\"variables\":%zu,\"allocations\":"
             "%zu}\n",
             peak + variables, at_peak[BLOCK], at_peak[MAPPING], at_peak[STACK], variables, allocations);
}

static uint32_t place_of(uintptr_t address)
{
    return (uint32_t)(address * 0x9E3779B97F4A7C15ull >> 44) & (BLOCKS - 1);
}

static void add(const void *pointer, size_t bytes, enum what what)
{
    if (!pointer)
        return;
    take_lock();
    uint32_t at = place_of((uintptr_t)pointer);
    while (blocks[at].address > GONE)
        at = (at + 1) & (BLOCKS - 1);
    blocks[at].address = (uintptr_t)pointer;
    blocks[at].bytes = bytes;
    blocks[at].what = what;
    allocations++;
    now += bytes;
    sums[what] += bytes;
    if (now > peak) {
        peak = now;
        memcpy(at_peak, sums, sizeof at_peak);
        if (peak - shown_peak >= EVERY)
            show_locked();
    }
    drop_lock();
}

static void take_away(const void *pointer)
{
    if (!pointer || now == 0)
        return;
    take_lock();
    for (uint32_t at = place_of((uintptr_t)pointer); blocks[at].address; at = (at + 1) & (BLOCKS - 1)) {
        if (blocks[at].address != (uintptr_t)pointer)
            continue;
        now -= blocks[at].bytes;
        sums[blocks[at].what] -= blocks[at].bytes;
        blocks[at].address = GONE;
        break;
    }
    drop_lock();
}

static void *note(void *pointer, size_t bytes, uintptr_t caller)
{
    if (pointer && is_cuspans(caller))
        add(pointer, bytes, BLOCK);
    return pointer;
}

void *malloc(size_t size)
{
    return note(__libc_malloc(size), size, CALLER);
}

void *calloc(size_t count, size_t size)
{
    return note(__libc_calloc(count, size), count * size, CALLER);
}

void *realloc(void *old, size_t size)
{
    take_away(old);
    return note(__libc_realloc(old, size), size, CALLER);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return note(__libc_memalign(alignment, size), size, CALLER);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = note(__libc_memalign(alignment, size), size, CALLER);
    return *out ? 0 : ENOMEM;
}

void free(void *pointer)
{
    take_away(pointer);
    __libc_free(pointer);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real)
        real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    void *made = real(address, bytes, protection, flags, descriptor, offset);
    if (made != MAP_FAILED && is_cuspans(CALLER))
        add(made, bytes, MAPPING);
    return made;
}

int munmap(void *address, size_t bytes)
{
    static int (*real)(void *, size_t);
    if (!real)
        real = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    take_away(address);
    return real(address, bytes);
}

struct start {
    void *(*run)(void *);
    void *argument;
};

static void *run_ours(void *argument)
{
    struct start start = *(struct start *)argument;
    __libc_free(argument);
    is_ours = true;
    return start.run(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    size_t stack = 8 << 20;
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    if (!is_cuspans(CALLER))
        return real(thread, attributes, run, argument);
    struct start *start = __libc_malloc(sizeof *start);
    if (!start)
        return EAGAIN;
    *start = (struct start){run, argument};
    if (attributes)
        pthread_attr_getstacksize(attributes, &stack);
    int failed = real(thread, attributes, run_ours, start);
    if (failed) {
        __libc_free(start);
        return failed;
    }
    take_away((void *)*thread); /* of an earlier thread; libc keeps and reuses its stack */
    add((void *)*thread, stack, STACK);
    return 0;
}

static int add_variables(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    if (strcmp(name, "libcuspan.so") != 0 && strcmp(name, "libcuspan-export.so") != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
            variables += info->dlpi_phdr[i].p_memsz;
    return 0;
}

static void open_file(void)
{
    const char *name = getenv("MEMORY_WATCH");
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", name ? name : "", (int)getpid());
    int descriptor = name ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    shown = NULL;
    if (descriptor < 0)
        return;
    void *page = ftruncate(descriptor, TEXT_BYTES) == 0
                     ? mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                     : MAP_FAILED;
    close(descriptor);
    shown = page == MAP_FAILED ? NULL : page;
}

static void in_child(void)
{
    atomic_flag_clear(&lock);
    open_file();
}

__attribute__((constructor)) static void begin(void)
{
    open_file();
    pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void end(void)
{
    dl_iterate_phdr(add_variables, NULL);
    take_lock();
    show_locked();
    drop_lock();
}
