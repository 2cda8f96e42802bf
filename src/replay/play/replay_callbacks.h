/* The subscribers: which callbacks each has on, and calling them. */
#ifndef CUSPAN_REPLAY_PLAY_REPLAY_CALLBACKS_H
#define CUSPAN_REPLAY_PLAY_REPLAY_CALLBACKS_H

#include "abi/cupti_abi.h"
#include "replay/timeline.h"

#include <stdbool.h>

struct cupti_subscriber;

/* CUPTI's answers: an enum cupti_result. `name` may be NULL. Who doesn't allow others is alone or refused. */
uint32_t replay_callbacks_subscribe(cupti_callback_fn *callback, void *userdata, const char *name,
                                    bool allows_others, cupti_subscriber_handle *subscriber);
uint32_t replay_callbacks_unsubscribe(cupti_subscriber_handle subscriber);
/* The name of who is subscribed, "" for nobody. */
const char *replay_callbacks_holder(void);
bool replay_callbacks_is_subscriber(cupti_subscriber_handle subscriber);
/* From 0, below SUBSCRIBERS_MAX: the place of its records (records.h). */
unsigned replay_callbacks_place(cupti_subscriber_handle subscriber);
/* Somebody is subscribed, and allows others: no classic call about activities works then. */
bool replay_callbacks_allow_several(void);
uint32_t replay_callbacks_enable(cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid,
                                 bool enable);
uint32_t replay_callbacks_enable_domain(cupti_subscriber_handle subscriber, uint32_t domain, bool enable);
bool replay_callbacks_is_enabled(const struct cupti_subscriber *subscriber, uint32_t domain, uint32_t cbid);

/* Each is true if a subscriber was called. `data`: a word for each of them, from the call's enter to its
 * exit. */
bool replay_callbacks_call(const struct item *item, uint64_t *data);
bool replay_callbacks_resource(const struct resource_record *resource);
bool replay_callbacks_fatal(void);

#endif
