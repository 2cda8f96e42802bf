/* The subscribers, their enabled callbacks, and the callback calls. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "agent/replay/state/timeline.h"

#include <stdbool.h>

struct cupti_subscriber;

/* CUPTI functions; each returns an enum cupti_result. `name` may be NULL. A subscriber that does not allow
 * others must be the only one. */
uint32_t replay_callbacks_subscribe(cupti_callback_fn *callback, void *userdata, const char *name,
                                    bool allows_others, cupti_subscriber_handle *subscriber);
uint32_t replay_callbacks_unsubscribe(cupti_subscriber_handle subscriber);
/* The subscriber's name; "": none. */
void replay_callbacks_holder(char *to, size_t size);
bool replay_callbacks_is_subscriber(cupti_subscriber_handle subscriber);
/* From 0 to SUBSCRIBERS_MAX - 1: the place of its records (replay_records.h). */
unsigned replay_callbacks_place(cupti_subscriber_handle subscriber);
/* A subscriber allows others, so that classic activity functions fail. */
bool replay_callbacks_allow_several(void);
uint32_t replay_callbacks_enable(cupti_subscriber_handle subscriber, uint32_t domain, uint32_t cbid,
                                 bool enable);
uint32_t replay_callbacks_enable_domain(cupti_subscriber_handle subscriber, uint32_t domain, bool enable);
bool replay_callbacks_is_enabled(const struct cupti_subscriber *subscriber, uint32_t domain, uint32_t cbid);

/* Return true if a subscriber was called. `data` has one word per subscriber, kept from the call's entry to
 * its exit. */
bool replay_callbacks_call(const struct item *item, uint64_t *data);
bool replay_callbacks_resource(const struct resource_record *resource);
bool replay_callbacks_fatal(void);
