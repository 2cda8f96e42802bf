/* Other tools that use CUPTI in this process. Their calls come to src/agent/share/ instead of CUPTI: it is
 * part of the agent, or preloaded (model/share_protocol.h).
 *
 * To give way, capture waits for a moment in which no thread is inside a traced call, up to half of
 * others_wait_ms, then for the GPU's work; it forces a flush and unsubscribes. It uses the classic calls,
 * because only their records may be switched. It comes back through agent_resume or tries every
 * others_retry_ms. A tool that has nothing enabled and has made no call for that long is unsubscribed by us,
 * and restored at its next call, as PyTorch's profiler between two profiles, which never unsubscribes. Graph
 * records are not enabled again.
 *
 * If a tool subscribed before its calls were redirected, CUPTI's slot is polled. The clock of such a tool is
 * unknown, and is replaced once cuspan has CUPTI. */
#ifndef CUSPAN_AGENT_CAPTURE_COEXIST_OTHER_TOOLS_H
#define CUSPAN_AGENT_CAPTURE_COEXIST_OTHER_TOOLS_H

#include "model/settings/settings.h"
#include "model/share_protocol.h"

/* The agent's own src/agent/share/, used unless one is preloaded. Call before the other functions. */
void other_tools_set_built_in(share_api_fn *give);

/* Called on another tool's thread when that tool is about to use CUPTI and the settings say to give way. Set
 * before other_tools_join(), or NULL. */
extern void (*other_tools_on_use)(void);

/* Long before capture starts: redirects the calls of the tools that are loaded now, none of which may have
 * used CUPTI. */
void other_tools_expect(void);

/* Path of the CUPTI that another tool already uses, which we must load as well; NULL: none. Call before
 * loading CUPTI. */
const char *other_tools_cupti_path(void);
/* Capture is about to subscribe to the CUPTI at `path`, which supports several subscribers if `can_share`.
 * `on_pause` is called on another tool's thread and pauses our records (switches_pause). Logs one line if the
 * settings cannot be met. */
void other_tools_join(const struct settings *settings, const char *path, bool can_share,
                      void (*on_pause)(bool begins));
/* Capture has subscribed to the CUPTI at `path`, which must stay valid: no other tool has a subscription of
 * its own now, and from now on, their calls come to us. Without effect if the settings say to hold. */
void other_tools_redirect(const char *path);
/* Another tool had CUPTI first, and capture waits until it is free: it cannot become a second subscriber. */
void other_tools_wait(const char *path);
/* As other_tools_redirect(), for libraries loaded since; from a thread of ours. */
void other_tools_follow(void);
/* After other_tools_join(): whether other tools become further subscribers. */
bool other_tools_share(void);
/* Whether capture releases CUPTI, and waits until it is free, when another tool uses it. */
bool other_tools_may_release(void);
/* Capture will not subscribe again. Async-signal-safe. */
void other_tools_leave(void);

bool other_tools_are_recording(void);

/* Pauses another tool's records between the two calls, which come from one thread. */
void other_tools_pause(bool begins);

/* Our flush and another tool's exclude each other; call these around ours. False: the other tool's flush,
 * which also delivers our records, takes longer than `wait_ms`. `had_turn` is that result. */
bool other_tools_flush_begin(uint32_t wait_ms);
void other_tools_flush_end(bool had_turn);

/* Where other tools share CUPTI: no flush of theirs or ours, and no other switch, runs until the same thread
 * calls other_tools_turn_end(). False: that takes longer than `wait_ms`. Recursive. */
bool other_tools_turn_begin(uint32_t wait_ms);
void other_tools_turn_end(void);

/* Whether CUPTI may be free again after we released it. CUPTI can still refuse. */
bool other_tools_take_back(uint64_t idle_ns);

#endif
