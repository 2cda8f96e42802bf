#include "agent/capture/coexist/other_tools.h"

#include "base/log/log.h"
#include "base/process/loader.h"

#include <dlfcn.h>
#include <stddef.h>

void (*other_tools_on_use)(void);

static share_api_fn *built_in;
static const struct share_api *share; /* NULL: there is none, or the preloaded one has another version */
static enum share_way way;            /* the way that other_tools_join() has set */
static bool may_give_way;
static const char *cupti_path;        /* set once other tools' calls are redirected */
static unsigned long long loads_seen; /* the loader's count of loaded libraries at the last redirection */

void other_tools_set_built_in(share_api_fn *give)
{
    built_in = give;
}

/* Finds src/agent/share/. A preloaded one is preferred, because it already receives the other tools' calls.
 */
static const struct share_api *find(void)
{
    share_api_fn *give = NULL;
    if (share)
        return share;
    *(void **)&give = dlsym(RTLD_DEFAULT, SHARE_API_SYMBOL);
    if (!give)
        give = built_in;
    share = give ? give() : NULL;
    if (share && share->bytes != sizeof *share) {
        log_once(log_warn, SHARE_LIBRARY
                 " in LD_PRELOAD has a different version than the agent; other tools cannot use "
                 "CUPTI beside cuspan until it is removed, or both come from the same build");
        share = NULL;
    }
    return share;
}

const char *other_tools_cupti_path(void)
{
    return find() ? share->cupti_path() : NULL;
}

void other_tools_expect(void)
{
    if (find() && share->expect())
        loader_visit(share->redirect, (void *)(uintptr_t) "");
}

static void on_tool(void)
{
    if (other_tools_on_use)
        other_tools_on_use();
}

static struct share_agent agent = {.on_tool = on_tool};

/* Returns how the settings treat other tools. With auto, tools share CUPTI only where graphs show their nodes
 * anyway, because the first subscriber chooses that for all. */
static enum share_way wanted_way(const struct settings *settings, bool can_share)
{
    switch (settings->cupti.others) {
    case OTHERS_HOLD:
        return SHARE_PASSES;
    case OTHERS_SHARE:
        return can_share ? SHARE_BESIDE : SHARE_GIVES_WAY;
    case OTHERS_AUTO:
        return can_share && settings_have_graph_nodes(settings) ? SHARE_BESIDE : SHARE_GIVES_WAY;
    case OTHERS_GIVE_WAY:
        break;
    }
    return SHARE_GIVES_WAY;
}

void other_tools_join(const struct settings *settings, const char *path, bool can_share,
                      void (*on_pause)(bool begins))
{
    enum cupti_others others = settings->cupti.others;
    enum share_way wanted = wanted_way(settings, can_share);
    may_give_way = others == OTHERS_AUTO || wanted == SHARE_GIVES_WAY;
    if (others == OTHERS_SHARE && wanted != SHARE_BESIDE)
        log_warn("distribution.cuspan.cupti.others: share needs the subscriber API of CUPTI 13.3 and later, "
                 "which %s does not use; cuspan gives way to other tools instead",
                 path);
    if (!find())
        return;
    agent.on_pause = on_pause;
    way = share->join(&agent, wanted, path);
    if (way != wanted && others != OTHERS_AUTO)
        log_warn("another tool subscribed to CUPTI before cuspan; CUPTI cannot be shared in this process");
}

void other_tools_wait(const char *path)
{
    if (way == SHARE_BESIDE)
        way = share->join(&agent, SHARE_GIVES_WAY, path);
}

bool other_tools_share(void)
{
    return way == SHARE_BESIDE;
}

bool other_tools_may_release(void)
{
    return may_give_way;
}

void other_tools_redirect(const char *path)
{
    if (share && way != SHARE_PASSES)
        cupti_path = path;
    other_tools_follow();
}

void other_tools_follow(void)
{
    unsigned long long loads = cupti_path ? loader_loads() : 0;
    if (loads && loads != loads_seen && loader_visit(share->redirect, (void *)(uintptr_t)cupti_path))
        loads_seen = loads;
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
        share->turn_end(had_turn);
}

bool other_tools_turn_begin(uint32_t wait_ms)
{
    return share->turn_begin(wait_ms);
}

void other_tools_turn_end(void)
{
    share->turn_end(true);
}

bool other_tools_take_back(uint64_t idle_ns)
{
    return way != SHARE_GIVES_WAY || share->take_back(idle_ns);
}
