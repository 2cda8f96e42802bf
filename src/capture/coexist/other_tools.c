#include "capture/coexist/other_tools.h"

#include "base/log.h"

#include <dlfcn.h>
#include <stddef.h>

void (*other_tools_on_use)(void);

static const struct share_api *share; /* NULL: the library is not preloaded or has another version */
static enum share_way way;

static const struct share_api *find(void)
{
    share_api_fn *give = NULL;
    if (share)
        return share;
    *(void **)&give = dlsym(RTLD_DEFAULT, SHARE_API_SYMBOL);
    share = give ? give() : NULL;
    if (share && share->bytes != sizeof *share) {
        log_warn(SHARE_LIBRARY " has a different version than the agent; other tools cannot use CUPTI beside "
                               "cuspan until both come from the same build");
        share = NULL;
    }
    return share;
}

const char *other_tools_cupti_path(void)
{
    return find() ? share->cupti_path() : NULL;
}

static void on_tool(void)
{
    if (other_tools_on_use)
        other_tools_on_use();
}

static enum share_way wanted_way(const struct settings *settings)
{
    if (settings->cupti.others == OTHERS_SHARE)
        return SHARE_BESIDE;
    return settings->cupti.others == OTHERS_GIVE_WAY ? SHARE_GIVES_WAY : SHARE_PASSES;
}

void other_tools_join(const struct settings *settings, const char *path, void (*on_pause)(bool begins))
{
    static struct share_agent agent = {.on_tool = on_tool};
    enum share_way wanted = wanted_way(settings);
    if (!find()) {
        if (wanted == SHARE_BESIDE)
            log_warn("distribution.cuspan.cupti.others: share needs " SHARE_LIBRARY
                     " in LD_PRELOAD (cuspan run --share sets it); without it, only tools that use CUPTI's "
                     "subscriber API can run beside cuspan");
        else if (wanted == SHARE_GIVES_WAY)
            log_info("cannot detect other tools without " SHARE_LIBRARY
                     " in LD_PRELOAD (cuspan run --give-way sets it); cuspan gives way only on request");
        return;
    }
    agent.on_pause = on_pause;
    way = share->join(&agent, wanted, path);
    if (way != wanted)
        log_warn("another tool subscribed to CUPTI before cuspan; CUPTI cannot be shared in this process");
}

void other_tools_leave(void)
{
    if (share)
        share->leave();
}

bool other_tools_are_recording(void)
{
    return way == SHARE_BESIDE && share->is_tool_recording();
}

void other_tools_pause(bool begins)
{
    if (way == SHARE_BESIDE)
        share->pause(begins);
}

bool other_tools_flush_begin(uint32_t wait_ms)
{
    return way != SHARE_BESIDE || share->flush_begin(wait_ms);
}

void other_tools_flush_end(bool had_turn)
{
    if (way == SHARE_BESIDE)
        share->flush_end(had_turn);
}

bool other_tools_take_back(uint64_t idle_ns)
{
    return way != SHARE_GIVES_WAY || share->take_back(idle_ns);
}
