/* The interface between capture and src/agent/share/, whose functions other tools in the process call instead
 * of CUPTI's. It is part of the agent, which redirects these tools' calls once it has CUPTI, or once the
 * Python package expects a tool. A user may also preload it, as libcuspan-share.so. The size verifies that
 * both were built together. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the other tool's calls are handled. */
enum share_way {
    SHARE_PASSES,    /* unchanged */
    SHARE_GIVES_WAY, /* unchanged, after the agent has released CUPTI */
    SHARE_BESIDE     /* as calls of a second subscriber */
};

/* The agent's functions, called on the other tool's thread, outside CUDA's and CUPTI's callbacks. */
struct share_agent {
    /* GIVES_WAY: the tool is about to use CUPTI. Returns when the agent has released it, or after a timeout.
     */
    void (*on_tool)(void);
    /* BESIDE: disables and enables activity, because none may be enabled while the tool sets its clock. */
    void (*on_pause)(bool begins);
};

struct share_api {
    size_t bytes;
    /* The agent is about to use CUPTI, from the library at `path`. Returns the way that applies from now on:
     * `way`, or PASSES if the tool has used CUPTI before. `agent` must stay valid. */
    enum share_way (*join)(const struct share_agent *agent, enum share_way way, const char *path);
    /* The library that the tool already uses, and the agent must use; NULL: none yet. */
    const char *(*cupti_path)(void);
    /* Until the agent joins, expect it to share or give way: a tool that comes before it leaves CUPTI when it
     * is idle. False: no CUPTI is loaded, so nothing may be redirected. */
    bool (*expect)(void);
    /* The agent does not use CUPTI (any more). */
    void (*leave)(void);
    /* BESIDE: whether the tool has records enabled. Any thread. */
    bool (*is_tool_recording)(void);
    /* BESIDE: pauses and resumes the tool's records, for options that must be set while nobody records. Both
     * from one thread. */
    void (*pause)(bool begins);
    /* BESIDE: a flush returns the records of all subscribers, on a thread of CUPTI's. To give the tool its
     * records by the end of its own flush, the agent's flush and the tool's exclude each other. False: the
     * tool's flush took longer than `wait_ms`. In both cases the same thread calls turn_end, with the result
     * of flush_begin. The tool's buffers that a flush of the agent's returns are held back. */
    bool (*flush_begin)(uint32_t wait_ms);
    /* BESIDE: the same without a flush, for a switch of the agent's records. May be nested. */
    bool (*turn_begin)(uint32_t wait_ms);
    void (*turn_end)(bool had_turn);
    /* GIVES_WAY: whether CUPTI is free, or this call freed it, because the tool had nothing enabled and made
     * no call for `idle_ns`. Its subscription is restored when it makes another call. */
    bool (*take_back)(uint64_t idle_ns);
    /* For dl_iterate_phdr(): if the module uses CUPTI, it calls us from now on. `cupti` is the path of the
     * agent's CUPTI. Before, no tool may hold a subscription, whose handle may be that of another library. */
    int (*redirect)(struct dl_phdr_info *module, size_t bytes, void *cupti);
};

#define SHARE_LIBRARY    "libcuspan-share.so"
#define SHARE_API_SYMBOL "cuspan_share_api"
/* Set by the CLI, for --share and --give-way: the way until the agent chooses one, "share" or "give-way"; and
 * the CUPTI to use, for "share". */
#define SHARE_WAY_VARIABLE   "CUSPAN_SHARE"
#define SHARE_CUPTI_VARIABLE "CUSPAN_SHARE_CUPTI"

typedef const struct share_api *share_api_fn(void);
share_api_fn cuspan_share_api;
