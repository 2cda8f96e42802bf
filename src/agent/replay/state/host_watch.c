#include "agent/replay/state/host_watch.h"

#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

static cuspan_replay_watch_fn *watch;
static bool is_forked_child;
static _Thread_local bool is_host_thread, is_inside;

void host_watch_init(void)
{
    watch = (cuspan_replay_watch_fn *)dlsym(RTLD_DEFAULT, "cuspan_replay_watch");
}

void host_watch_host_thread(void)
{
    is_host_thread = true;
}

void host_watch_forked_child(void)
{
    is_forked_child = true;
}

void host_watch_begin(const char *what)
{
    if (!watch || !is_host_thread)
        return;
    is_inside = true;
    watch(REPLAY_WATCH_BEGIN, what);
}

void host_watch_end(void)
{
    if (!is_inside)
        return;
    watch(REPLAY_WATCH_END, NULL);
    is_inside = false;
}

void host_watch_cupti(const char *function)
{
    if (is_inside || (watch && is_forked_child))
        watch(REPLAY_WATCH_CUPTI, function);
}
