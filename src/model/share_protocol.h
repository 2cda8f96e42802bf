/* What the agent and libcuspan-share.so tell each other. The latter is preloaded (`cuspan run --share`,
 * `--give-way`), stands before CUPTI's calls, and so sees what other tools of the process, the guests, ask of
 * CUPTI. Both are built together, which the size shows. */
#ifndef CUSPAN_MODEL_SHARE_PROTOCOL_H
#define CUSPAN_MODEL_SHARE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What becomes of a guest's calls. */
enum share_way {
    SHARE_PASSES,    /* they go on as they are */
    SHARE_GIVES_WAY, /* they go on as they are, once the agent has left CUPTI */
    SHARE_BESIDE     /* they become those of a second subscriber */
};

/* What the library wants of the agent. Called on a guest's thread, outside of CUDA's and CUPTI's callbacks.
 */
struct share_agent {
    /* GIVES_WAY: a guest is about to use CUPTI. Returns when the agent has left it, or can wait no longer. */
    void (*on_guest)(void);
    /* BESIDE: no activity may be enabled by anyone while the guest's clock is set: off, and on again. */
    void (*on_pause)(bool begins);
};

struct share_api {
    size_t bytes;
    /* The agent is about to use CUPTI, from the library at `path`. Returns the way that holds from now on:
     * the one that it asks for, or PASSES where a guest has used CUPTI as it is before. `agent` is borrowed
     * for good. */
    enum share_way (*join)(const struct share_agent *agent, enum share_way way, const char *path);
    /* BESIDE: the library that a guest uses already, which the agent must join; NULL: none yet. */
    const char *(*cupti_path)(void);
    /* It will not use it (any more): guests are on their own. */
    void (*leave)(void);
    /* BESIDE: a guest has subscribed or asked for records, at some time; and whether it has records on now.
     * Any thread. */
    bool (*has_guest)(void);
    bool (*is_guest_recording)(void);
    /* BESIDE: the guest's records stop for a moment, while what must be set before anyone records is set; and
     * go on. Both from one thread. */
    void (*pause)(bool begins);
    /* BESIDE: a flush is everyone's, and hands over on the thread that makes it. So that a guest finds its
     * records when its own flush returns, ours and its exclude each other. Begins: false where the guest's
     * lasts longer than `wait_ms`; ends, by the same thread, after a begin that was true. */
    bool (*flush_begin)(uint32_t wait_ms);
    void (*flush_end)(void);
    /* GIVES_WAY: whether CUPTI is free, or has been freed by this call, since the guest has had nothing on
     * and asked for nothing for `idle_ns`. What the guest had subscribed to is restored when it comes back.
     */
    bool (*take_back)(uint64_t idle_ns);
};

#define SHARE_LIBRARY    "libcuspan-share.so"
#define SHARE_API_SYMBOL "cuspan_share_api"
/* From the command line: the way until the agent says which, "share" or "give-way"; and the CUPTI that both
 * are to use, for "share". */
#define SHARE_WAY_VARIABLE   "CUSPAN_SHARE"
#define SHARE_CUPTI_VARIABLE "CUSPAN_SHARE_CUPTI"

typedef const struct share_api *share_api_fn(void);

#endif
