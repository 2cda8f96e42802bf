/* Other tools that use CUPTI in this process, as reported by libcuspan-share.so where it is preloaded
 * (share/share.h). Without it, other tools are noticed only when CUPTI refuses our subscription. */
#ifndef CUSPAN_CAPTURE_COEXIST_OTHER_TOOLS_H
#define CUSPAN_CAPTURE_COEXIST_OTHER_TOOLS_H

#include "model/settings.h"
#include "model/share_protocol.h"

/* Called on another tool's thread when that tool is about to use CUPTI and the settings say to give way. Set
 * before other_tools_join(), or NULL. */
extern void (*other_tools_on_use)(void);

/* Path of the CUPTI that another tool already uses, which we must load as well; NULL: none. Call before
 * loading CUPTI. */
const char *other_tools_cupti_path(void);
/* Capture is about to subscribe to the CUPTI at `path`. `on_pause` is called on another tool's thread and
 * pauses our records (switches_pause). Logs one line if the settings cannot be met. */
void other_tools_join(const struct settings *settings, const char *path, void (*on_pause)(bool begins));
/* Capture will not subscribe again. Async-signal-safe. */
void other_tools_leave(void);

bool other_tools_are_recording(void);

/* Pauses another tool's records between the two calls, which come from one thread. */
void other_tools_pause(bool begins);

/* Our flush and another tool's exclude each other; call these around ours. False: the other tool's flush,
 * which also delivers our records, takes longer than `wait_ms`. `had_turn` is that result. */
bool other_tools_flush_begin(uint32_t wait_ms);
void other_tools_flush_end(bool had_turn);

/* Whether CUPTI may be free again after we released it. CUPTI can still refuse. */
bool other_tools_take_back(uint64_t idle_ns);

#endif
