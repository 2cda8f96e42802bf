/* Other tools that use CUPTI in this process, as far as libcuspan-share.so, where it is preloaded, tells of
 * them (model/share.h). Without it others are seen only where CUPTI refuses us. */
#ifndef CUSPAN_CAPTURE_COEXIST_OTHER_TOOLS_H
#define CUSPAN_CAPTURE_COEXIST_OTHER_TOOLS_H

#include "model/settings.h"
#include "model/share_protocol.h"

/* Called on a guest's thread that is about to use CUPTI, where the settings say to give way; set before
 * other_tools_join, or NULL. */
extern void (*other_tools_on_guest)(void);

/* Before CUPTI is loaded: the one that must be, since a guest uses it already; NULL: none. */
const char *other_tools_cupti_path(void);
/* Capture is about to subscribe to the CUPTI at `path`. One line where the settings can't be met. */
void other_tools_join(const struct settings *settings, const char *path);
/* Capture never subscribes (again). Async-signal-safe. */
void other_tools_leave(void);

/* A guest beside us is there, or has records on. Any thread. */
bool other_tools_are_there(void);
bool other_tools_are_recording(void);

/* A guest's records stop for the moment between the two calls, which come from one thread. */
void other_tools_pause(bool begins);

/* Around a flush of ours: a guest's and ours exclude each other. False: the guest's lasts longer than
 * `wait_ms`, and is everyone's; there is nothing to end then. */
bool other_tools_flush_begin(uint32_t wait_ms);
void other_tools_flush_end(void);

/* Whether CUPTI may be had again after it was given away; it still may refuse. */
bool other_tools_take_back(uint64_t idle_ns);

#endif
