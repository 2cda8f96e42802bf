/* Shared by the tests of correlate: passes records in and keeps the spans that come out. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/correlate/correlate.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define SPANS_MAX       512
#define KEPT_ITEMS_MAX  132                    /* links and items of a span */
#define BASE_NS         1700000000000000000ull /* origin of the times of calls and work */
#define SPAN_OF(number) (0x0101010101010101ull * (number))
#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)

struct kept {
    struct span span;
    char name[256];
    struct span_event events[16];
    struct span_link links[KEPT_ITEMS_MAX];
    struct span_attr items[KEPT_ITEMS_MAX]; /* of its arrays */
};

struct kept_device {
    uint16_t index;
    char name[64];
    char label[64];
};

/* The output. */
extern struct kept spans[SPANS_MAX];
extern uint32_t span_count;
extern struct kept_device devices[16];
extern uint32_t device_count;

/* The options of correlate; tests change them before begin(). */
extern struct settings settings;
extern struct trace_context parent;
extern struct correlate *correlate;
extern uint64_t monotonic_ns;

extern const struct thread_info thread, other_thread, next_thread; /* the last two use the same slot */

const struct span_attr *attr(const struct kept *kept, const char *key);
int64_t attr_int(const struct kept *kept, const char *key);
const struct span_attr *attr_item(const struct kept *kept, const char *key, uint32_t index);
void expect_text(const struct kept *kept, const char *key, const char *want);
struct kept *only(const char *name);
void expect_child(const struct kept *child, const struct kept *of);
uint16_t find_call(enum call_domain domain, const char *name);
void call_full(enum call_domain domain, const char *name, uint32_t id, uint64_t start, uint64_t end,
               int32_t result);
void launch(uint32_t id, uint64_t start);
uint8_t field(uint16_t kind, const char *key);
void set_field(struct activity_record *record, const char *key, uint64_t value);
struct activity_record make(uint16_t kind, uint32_t id, uint64_t start, uint64_t end);
struct activity_record make_kernel(const char *name, uint32_t id, uint64_t start, uint64_t end);
void kernel(const char *name, uint32_t id, uint64_t start, uint64_t end);
/* The stack of the next call, or of graph nodes: "capture" in this line of graph.py. */
void describe_code(uint64_t id, uint32_t line, uint32_t flags);
void tick_after(uint64_t ms);
struct correlate_options usual_options(void);
void begin_before_the_first_tick(const struct correlate_options *options);
void begin_as(const struct correlate_options *options);
void begin(void);
int setup(void **state);
int teardown(void **state);
/* setup(), and begin() with metrics and steps. `rules` must outlive the test. */
int setup_metrics(void **state, const struct step_rules *rules);
int teardown_metrics(void **state);
uint64_t later_clock(void);
void attach_flags(const struct thread_info *on, uint8_t number, uint8_t flags, const char *state);
void attach(uint8_t number);
/* `attr`: the value of an int attribute named "answer"; 0: none. */
void say(const struct thread_info *on, enum record_type type, uint64_t id, uint64_t time, const char *name,
         uint8_t flags, int64_t attr);
void push_range(uint64_t id, uint64_t time, const char *name);
void end_range(uint64_t id, uint64_t time);
void expect_below(const struct kept *span, uint8_t trace, uint64_t parent_id);
void name_object(enum named_object object, uint64_t handle, const char *text);
