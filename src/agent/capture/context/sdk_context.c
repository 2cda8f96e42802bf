#include "agent/capture/context/sdk_context.h"

#include "base/log/log.h"
#include "base/process/loader.h"
#include "agent/capture/context/thread_record.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Atomic bool sdk_context_is_there;

/* Where a callback finds the SDK's pointer. Written once, before sdk_context_is_there is set. */
static struct {
    bool is_static;
    ptrdiff_t distance; /* if is_static: from the thread pointer to the variable */
    size_t module;      /* otherwise: the library's module ID in the C library */
    size_t offset;      /* offset of the variable in the library's TLS block */
} place;

union dtv_entry {
    size_t counter;
    struct {
        void *block; /* (void *)-1: not allocated for this thread yet */
        void *to_free;
    } pointer;
};

/* Returns the thread's table of TLS blocks (DTV). The entry before the table is its length; its first entry
 * is the generation. */
static inline const union dtv_entry *block_table(void)
{
#if defined(__x86_64__)
    return *(const union dtv_entry *const *)(const void *)(thread_pointer() + 8);
#elif defined(__aarch64__)
    return *(const union dtv_entry *const *)(const void *)thread_pointer();
#else
    return NULL;
#endif
}

static struct thread_record *const *variable_of_this_thread(void)
{
    if (place.is_static)
        return (struct thread_record *const *)(const void *)(thread_pointer() + place.distance);
    const union dtv_entry *table = block_table();
    if (!table || place.module > table[-1].counter)
        return NULL; /* the thread has not used the library since it was loaded */
    char *block = table[place.module].pointer.block;
    return block && block != (char *)-1 ? (struct thread_record *const *)(const void *)(block + place.offset)
                                        : NULL;
}

void sdk_context_read(struct trace_id_pair *ids, uint8_t *flags)
{
    struct thread_record *const *variable = variable_of_this_thread();
    const struct thread_record *record = variable ? *variable : NULL;
    memset(ids, 0, sizeof *ids);
    *flags = 0;
    if (!record || *(const volatile uint8_t *)&record->valid != 1)
        return;
    memcpy(ids->trace_id, record->trace_id, 16);
    memcpy(ids->span_id, record->span_id, 8);
    *flags = record->flags;
    static const uint8_t none[16];
    if (memcmp(ids->trace_id, none, 16) == 0 || memcmp(ids->span_id, none, 8) == 0)
        memset(ids, 0, sizeof *ids);
}

struct library {
    struct loader_walk walk;
    ptrdiff_t distance[2]; /* from two threads' thread pointers to their variables */
    char *variable;        /* on the searching thread */
    sdk_context_own_fn *own;
};

/* Returns the SDK's variable for the calling thread; NULL: none, or it is our own. dlerror()'s text is
 * thread-local, so the host's is not affected. */
static char *look_up(const char *name, sdk_context_own_fn *own)
{
    void *library = dlopen(*name ? name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    char *found = library ? dlsym(library, THREAD_RECORD_SYMBOL) : NULL;
    if (library)
        dlclose(library);
    return found == own() ? NULL : found;
}

static void *measure_on_another_thread(void *argument)
{
    struct library *library = argument;
    thread_is_ours = true;
    char *found = look_up(library->walk.path, library->own);
    library->distance[1] = found ? found - thread_pointer() : 0;
    return NULL;
}

/* Finds the library whose TLS block on this thread contains the variable. It may be a dependency of the
 * library that was looked up. */
static int find_block(struct dl_phdr_info *info, size_t size, void *variable)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            bytes = info->dlpi_phdr[i].p_memsz;
    size_t offset = (size_t)((char *)variable - (char *)info->dlpi_tls_data);
    if (!info->dlpi_tls_data || offset >= bytes)
        return 0;
    place.module = info->dlpi_tls_modid;
    place.offset = offset;
    return 1;
}

static bool settle(struct library *library)
{
    pthread_t thread;
    library->distance[0] = library->variable - thread_pointer();
    if (pthread_create(&thread, NULL, measure_on_another_thread, library) != 0)
        return false;
    pthread_join(thread, NULL);
    place.is_static = library->distance[0] == library->distance[1];
    place.distance = library->distance[0];
    place.module = 0;
    if (!place.is_static)
        library->walk.is_refused = !loader_visit(find_block, library->variable);
    return place.is_static || place.module;
}

/* Advances to the next library that defines the variable. */
static bool find_next(struct library *library)
{
    while (loader_next(&library->walk)) {
        library->variable = library->walk.has_variables ? look_up(library->walk.path, library->own) : NULL;
        if (library->variable)
            return true;
    }
    return false;
}

bool sdk_context_is_published(sdk_context_own_fn *own)
{
    struct library library = {.own = own};
    return atomic_load_explicit(&sdk_context_is_there, memory_order_relaxed) || find_next(&library);
}

bool sdk_context_poll(sdk_context_own_fn *own)
{
    static unsigned long long loads_seen;
    static struct library library;
    if (atomic_load_explicit(&sdk_context_is_there, memory_order_relaxed) || !thread_pointer())
        return false;
    unsigned long long loads = loader_loads();
    if (!loads || loads == loads_seen)
        return false;
    library = (struct library){.own = own};
    while (!library.walk.is_refused && find_next(&library)) {
        if (!settle(&library))
            continue;
        atomic_store_explicit(&sdk_context_is_there, true, memory_order_release);
        log_info("thread contexts are read from " THREAD_RECORD_SYMBOL " of %s",
                 *library.walk.path ? library.walk.path : "the program");
        return true;
    }
    if (!library.walk.is_refused)
        loads_seen = loads;
    return false;
}
