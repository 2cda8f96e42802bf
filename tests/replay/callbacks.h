/* The one subscriber: which callbacks it has on, and calling them. */
#ifndef CUSPAN_REPLAY_CALLBACKS_H
#define CUSPAN_REPLAY_CALLBACKS_H

#include "capture/cupti_abi.h"
#include "timeline.h"

#include <stdbool.h>

struct cupti_subscriber;

/* CUPTI's answers: an enum cupti_result. `name` may be NULL. */
uint32_t callbacks_subscribe(cupti_callback_fn *callback, void *userdata, const char *name,
                             cupti_subscriber_handle *subscriber);
uint32_t callbacks_unsubscribe(cupti_subscriber_handle subscriber);
/* The name of who is subscribed, "" for nobody. */
const char *callbacks_holder(void);
bool callbacks_is_subscriber(cupti_subscriber_handle subscriber);
uint32_t callbacks_enable(uint32_t domain, uint32_t cbid, bool enable);
uint32_t callbacks_enable_domain(uint32_t domain, bool enable);
bool callbacks_is_enabled(uint32_t domain, uint32_t cbid);

/* Each is true if the subscriber was called. `data` is the call's word from enter to exit. */
bool callbacks_call(const struct item *item, uint64_t *data);
bool callbacks_resource(const struct resource_record *resource);
bool callbacks_fatal(void);

#endif
