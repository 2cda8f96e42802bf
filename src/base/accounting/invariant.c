#include "base/accounting/invariant.h"

#include "base/accounting/counters.h"
#include "base/log/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The test library fails invariants on purpose, also in debug builds. */
#if !defined(NDEBUG) && !defined(CUSPAN_BREAKABLE)
#define IS_FATAL true
#else
#define IS_FATAL false
#endif

static atomic_bool is_broken;
static void (*_Atomic on_first)(void);

bool invariant_any_failed(void)
{
    return atomic_load_explicit(&is_broken, memory_order_acquire);
}

void invariant_on_failure(void (*stop)(void))
{
    atomic_store(&on_first, stop);
}

#ifdef CUSPAN_BREAKABLE
bool invariant_broken_on_request(const char *file)
{
    static atomic_ulong asked;
    const char *wanted = getenv("CUSPAN_BREAK"), *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    size_t length = strlen(name);
    if (!wanted || strncmp(wanted, name, length) != 0 || (wanted[length] && wanted[length] != ':'))
        return false;
    return !wanted[length] || atomic_fetch_add(&asked, 1) + 1 >= strtoul(wanted + length + 1, NULL, 10);
}
#endif

bool invariant_failed(const char *condition, const char *file, int line)
{
    counter_add(COUNTER_broken_invariants, 1);
    if (atomic_exchange(&is_broken, true))
        return false;
    void (*stop)(void) = atomic_load(&on_first);
    if (stop)
        stop();
    log_error("internal error: %s is false (%s:%d); this process is no longer traced; please "
              "report this line",
              condition, file, line);
    if (IS_FATAL)
        abort();
    return false;
}

void *invariant_failed_null(const char *condition, const char *file, int line)
{
    invariant_failed(condition, file, line);
    return NULL;
}
