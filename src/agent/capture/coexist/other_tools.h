/* Coexists with other tools that use CUPTI in this process. Their calls are redirected from CUPTI to
 * src/agent/share/, which is part of the agent, or preloaded (model/share_protocol.h).
 *
 * To give way, capture waits for a moment in which no thread is inside a traced call, up to half of
 * others_wait_ms, then for the GPU's work; it forces a flush and unsubscribes. It uses the classic API,
 * because only classic records may be switched. It subscribes again through agent_resume, or tries to every
 * others_retry_ms. A tool that has nothing enabled and has made no call for that long is unsubscribed by us,
 * and subscribed again at its next call. One such tool is PyTorch's profiler, which never unsubscribes
 * between two profiles. Graph records are not enabled again.
 *
 * If a tool subscribed before its calls were redirected, capture polls until CUPTI's subscription is free.
 * The clock of such a tool is unknown, and is replaced once cuspan has subscribed. */
#pragma once

#include "model/settings/settings.h"
#include "model/share_protocol.h"

/* Sets the agent's own src/agent/share/, used unless one is preloaded. Call it before the other functions. */
void other_tools_set_built_in(share_api_fn *give);

/* Called on another tool's thread when that tool is about to use CUPTI and the settings say to give way. Set
 * before other_tools_join(), or NULL. */
extern void (*other_tools_on_use)(void);

/* Redirects the calls of the tools that are loaded now, none of which may have used CUPTI. Call it long
 * before capture starts. */
void other_tools_expect(void);

/* Returns the path of the CUPTI that another tool already uses, which capture must load as well; NULL: none.
 * Call it before loading CUPTI. */
const char *other_tools_cupti_path(void);
/* Call it when capture is about to subscribe to the CUPTI at `path`, which supports several subscribers if
 * `can_share`. `on_pause` is called on another tool's thread and pauses our records (switches_pause). Logs
 * one line if the settings cannot be met. */
void other_tools_join(const struct settings *settings, const char *path, bool can_share,
                      void (*on_pause)(bool begins));
/* Redirects the calls of other tools from now on. Call it when capture has subscribed to the CUPTI at `path`,
 * a string that must stay valid: no other tool has a subscription of its own now. No effect if the settings
 * say to hold. */
void other_tools_redirect(const char *path);
/* Call it when another tool subscribed first, and capture waits until CUPTI is free. Capture then cannot
 * become a second subscriber. */
void other_tools_wait(const char *path);
/* Redirects the calls of libraries loaded since other_tools_redirect(). Called on a thread of ours. */
void other_tools_follow(void);
/* Whether other tools become further subscribers. Valid after other_tools_join(). */
bool other_tools_share(void);
/* Whether capture releases CUPTI, and waits until it is free, when another tool uses it. */
bool other_tools_may_release(void);
/* Call it when capture will not subscribe again. Async-signal-safe. */
void other_tools_leave(void);

bool other_tools_are_recording(void);

/* Disables another tool's records (`begins`), and enables them again with a second call on the same thread.
 */
void other_tools_pause(bool begins);

/* Exclude another tool's flush during ours: call them around our flush. False: the other tool's flush, which
 * also delivers our records, takes longer than `wait_ms`. `had_turn` is the result of
 * other_tools_flush_begin(). */
bool other_tools_flush_begin(uint32_t wait_ms);
void other_tools_flush_end(bool had_turn);

/* Excludes all flushes and switches of records, by other tools and ours, until the same thread calls
 * other_tools_turn_end(). Only where other tools share CUPTI. False: another turn takes longer than
 * `wait_ms`. Turns may be nested. */
bool other_tools_turn_begin(uint32_t wait_ms);
void other_tools_turn_end(void);

/* Whether CUPTI may be free again after capture released it. For this, unsubscribes another tool that has
 * nothing enabled and has made no call for `idle_ns`. CUPTI can still refuse. */
bool other_tools_take_back(uint64_t idle_ns);
