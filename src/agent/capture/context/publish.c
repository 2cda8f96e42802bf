#include "agent/capture/context/publish.h"

#include "base/log/log.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/context/thread_ctx_symbol.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

_Atomic bool publish_is_on;

typedef struct thread_record **variable_fn(void);

/* The library's function that returns a thread's variable; NULL until the library is loaded. */
static _Atomic(variable_fn *) find_variable;

/* Held while the library is loaded but `find_variable` is not set: the pipeline thread would take its
 * variable for an SDK's. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static enum status fail_taken(struct error *err)
{
    return error_set(err, STATUS_UNAVAILABLE,
                     "an SDK in this process already publishes its threads' contexts");
}

/* Checks that the function in our library refers to our library's variable: if the program or a global
 * library defines the same symbol, the loader binds the function to that one. */
static enum status load(const char *folder, struct error *err)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, THREAD_CTX_LIBRARY);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? dlsym(library, THREAD_RECORD_SYMBOL) : NULL;
    variable_fn *function = symbol ? (variable_fn *)(uintptr_t)dlsym(library, THREAD_CTX_FUNCTION) : NULL;
    if (!function) {
        const char *reason = dlerror();
        return error_set(err, STATUS_NOT_FOUND,
                         "cannot load %s, which must be in the folder of libcuspan.so (%s)", path,
                         reason ? reason : "it comes from a different build");
    }
    if ((void *)function() != symbol)
        return fail_taken(err);
    atomic_store_explicit(&find_variable, function, memory_order_release);
    return STATUS_OK;
}

enum status publish_begin(const char *folder, struct error *err)
{
    enum status status = STATUS_OK;
    if (sdk_context_is_published(publish_variable))
        return fail_taken(err);
    pthread_mutex_lock(&loading);
    if (!atomic_load_explicit(&find_variable, memory_order_acquire))
        status = load(folder, err);
    pthread_mutex_unlock(&loading);
    if (status == STATUS_OK)
        atomic_store_explicit(&publish_is_on, true, memory_order_release);
    return status;
}

void publish_end(void)
{
    atomic_store_explicit(&publish_is_on, false, memory_order_release);
}

void publish_give_way(void)
{
    if (!atomic_load_explicit(&publish_is_on, memory_order_relaxed))
        return;
    publish_end();
    log_warn("an SDK in this process now publishes its threads' contexts; cuspan stopped publishing");
}

void publish_forget(void)
{
    loading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

const void *publish_variable(void)
{
    pthread_mutex_lock(&loading);
    variable_fn *function = atomic_load_explicit(&find_variable, memory_order_acquire);
    pthread_mutex_unlock(&loading);
    return function ? function() : NULL;
}

/* Marks the record. Readers interrupt the thread, so a compiler fence suffices. */
static void set_valid(struct published *published, uint8_t valid)
{
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint8_t *)&published->record.valid = valid;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Makes the thread's pointer refer to the record, which is not valid yet. */
static bool show_record(struct published *published)
{
    variable_fn *function = atomic_load_explicit(&find_variable, memory_order_acquire);
    if (!function)
        return false;
    published->variable = function();
    *published->variable = &published->record;
    return true;
}

void publish_write(struct published *published, const struct trace_id_pair *ids, uint8_t flags)
{
    if (!published->variable && !show_record(published))
        return;
    set_valid(published, 0);
    memcpy(published->record.trace_id, ids->trace_id, 16);
    memcpy(published->record.span_id, ids->span_id, 8);
    published->record.flags = flags;
    set_valid(published, 1);
}

void publish_clear(struct published *published)
{
    set_valid(published, 0);
}

void publish_deinit(struct published *published)
{
    if (published->variable)
        *published->variable = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    published->variable = NULL;
}
