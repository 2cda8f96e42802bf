/* Enables and disables CUPTI's callbacks and records, according to the settings. capture.c handles the
 * records that CUPTI then delivers. The starting thread and the pipeline thread call these functions, unless
 * noted. The program's first graph enables graph records, on the host thread that makes it. */
#pragma once

#include "agent/capture/cupti/cupti.h"
#include "model/settings/settings.h"

#include <stdbool.h>

/* Whether this CUPTI accepts several subscribers, and the settings permit the API for that. */
bool switches_can_share(const struct cupti *cupti, const struct settings *settings);

/* Chooses one of CUPTI's two APIs, subscribes, and enables calls, kinds and fields, which stay enabled in
 * sleep (docs/cupti.md). Borrows both structs permanently. On failure everything is disabled. UNSUPPORTED,
 * UNAVAILABLE (another tool is subscribed, or CUPTI refuses). */
enum status switches_on(const struct cupti *cupti, const struct settings *settings,
                        struct error *err) MUST_CHECK;

/* Whether the subscriber API was chosen; false before switches_on(). */
bool switches_use_subscriber_api(void);

/* Call it periodically: enables records that need an initialized CUDA, and logs which ones CUPTI refused on
 * host threads. */
void switches_follow(void);

/* Flushes CUPTI's finished records, or `everything`. Returns whether CUPTI did. */
bool switches_flush(bool everything);

/* Counts the records that CUPTI had dropped at the last flush. Call it after reading the calls from the
 * rings: the reason depends on whether one of them failed with a fatal error. */
void switches_count_dropped(void);

/* Returns and forgets the reason for which CUPTI refused to flush or to be disabled; NULL: it did not. The
 * text is static. */
const char *switches_take_error(void);

/* Stops all records and callbacks. Records of earlier work still arrive. */
void switches_quiet(void);

/* After switches_off(): restores everything that switches_on() enabled, except graph records, which existing
 * graphs may not have (docs/cupti.md). */
enum status switches_on_again(struct error *err) MUST_CHECK;
/* Whether the last switches_on() or switches_on_again() failed because another tool is subscribed. */
bool switches_are_held(void);

/* Disables our records (`begins`), and enables them again with a second call on the same thread, so that
 * another subscriber can set its timestamp source in between. Any thread; no effect while nothing is enabled.
 */
void switches_pause(bool begins);

/* Disables everything and unsubscribes; no effect while nothing is enabled. */
void switches_off(void);
