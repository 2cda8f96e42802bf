#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/context/lasting_states.h"
#include "agent/capture/threads/thread_context.h"
#include "model/span.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct trace_context make_context(uint8_t number, const char *state)
{
    struct trace_context context = {.flags = TRACE_FLAG_SAMPLED};
    memset(context.trace_id, number, sizeof context.trace_id);
    memset(context.span_id, number + 1, sizeof context.span_id);
    strcpy(context.trace_state, state);
    return context;
}

static uint64_t attach(uint8_t number)
{
    struct trace_context context = make_context(number, "");
    uint64_t token = context_attach(&context, context.flags & TRACE_FLAG_SAMPLED);
    assert_true(token != 0);
    assert_int_equal(token >> 63, 0); /* reserved for cuspan.h */
    return token;
}

static void expect_current(uint8_t number)
{
    struct trace_context context;
    assert_true(context_current(&context));
    assert_int_equal(context.trace_id[0], number);
    assert_int_equal(context.span_id[7], number + 1);
}

/* Runs each test on a new thread, without context. */
static void on_a_thread(void (*body)(void))
{
    pthread_t thread;
    union {
        void (*body)(void);
        void *(*start)(void *);
    } function = {body};
    assert_int_equal(pthread_create(&thread, NULL, function.start, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define ON_A_THREAD(name)                                                                                    \
    static void name##_body(void);                                                                           \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        (void)state;                                                                                         \
        on_a_thread(name##_body);                                                                            \
    }                                                                                                        \
    static void name##_body(void)

static int setup(void **state)
{
    counters_reset();
    atomic_store(&mode_now, MODE_ON);
    return 0;
}

static const struct record_head *next(void)
{
    return thread_known() ? ring_peek(&thread_known()->ring, ring_published(&thread_known()->ring)) : NULL;
}

static void release(void)
{
    ring_release(&thread_known()->ring);
}

static void expect_context(uint8_t number, const char *trace_state)
{
    const struct context_record *record = (const struct context_record *)next();
    assert_non_null(record);
    assert_int_equal(record->head.type, RECORD_CONTEXT);
    assert_int_equal(record->trace_id[15], number);
    assert_int_equal(record->span_id[0], number ? number + 1 : 0);
    assert_int_equal(record->state_bytes, strlen(trace_state));
    assert_memory_equal(record->state, trace_state, record->state_bytes);
    release();
}

static struct range_record expect_range(enum record_type type, const char *name)
{
    const struct range_record *record = (const struct range_record *)next();
    assert_non_null(record);
    assert_int_equal(record->head.type, type);
    assert_int_equal(record->name_bytes, strlen(name));
    assert_memory_equal(record->text, name, record->name_bytes);
    struct range_record copy;
    memcpy(&copy, record, sizeof copy);
    release();
    return copy;
}

static struct range_text text_of(const char *name)
{
    return (struct range_text){.name = name, .name_bytes = (uint32_t)strlen(name)};
}

static uint64_t push(const char *name, uint32_t domain)
{
    struct range_text text = text_of(name);
    text.domain = domain;
    return range_push(&text);
}

ON_A_THREAD(test_contexts_nest)
{
    struct trace_context context;
    context_set_session((const uint8_t[16]){9}, (const uint8_t[8]){9}, 1);
    assert_true(context_current(&context));
    assert_int_equal(context.trace_id[0], 9); /* the session's */
    uint64_t outer = attach(10), inner = attach(20);
    expect_current(20);
    assert_true(context_detach(inner));
    expect_current(10);
    assert_false(context_detach(inner));
    assert_true(context_detach(outer));
    assert_true(context_current(&context));
    assert_int_equal(context.trace_id[0], 9);
}

ON_A_THREAD(test_the_outer_one_ends_those_inside)
{
    uint64_t outer = attach(10), inner = attach(20);
    attach(30);
    assert_true(context_detach(outer));
    assert_false(context_detach(inner));
    assert_false(context_detach(outer));
    assert_null(context_trace_state());
}

static uint64_t token_of_another;

static void detach_on_another(void)
{
    assert_false(context_detach(token_of_another)); /* has nothing */
    uint64_t own = attach(50);
    assert_false(context_detach(token_of_another));
    expect_current(50);
    assert_true(context_detach(own));
}

ON_A_THREAD(test_a_token_is_of_its_thread)
{
    token_of_another = attach(10);
    on_a_thread(detach_on_another);
    expect_current(10);
    assert_true(context_detach(token_of_another));
}

ON_A_THREAD(test_thousands_of_contexts_have_an_end)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < RANGE_DEPTH_MAX; i++)
        last = attach(7);
    struct trace_context context = make_context(8, "");
    assert_int_equal(context_attach(&context, context.flags & TRACE_FLAG_SAMPLED), 0);
    expect_current(7);
    assert_true(context_detach(last));
}

ON_A_THREAD(test_the_ring_gets_the_context_with_the_next_record)
{
    struct trace_context first = make_context(10, "vendor=a"), second = make_context(20, "");
    context_attach(&first, true);
    uint64_t inner = context_attach(&second, true);
    assert_null(next()); /* no call happened in them */
    context_detach(inner);
    assert_string_equal(context_trace_state(), "vendor=a");
    uint64_t id = push("range", 0);
    expect_context(10, "vendor=a");
    assert_int_equal(expect_range(RECORD_RANGE_BEGIN, "range").id, id);
    assert_true(range_end(id, NULL));
    expect_range(RECORD_RANGE_END, "");
    assert_null(next());
}

ON_A_THREAD(test_the_end_of_a_context_in_the_ring_is_told_at_once)
{
    uint64_t outer = attach(10);
    context_detach(attach(20));
    assert_null(next()); /* neither was written */
    push("range", 0);
    expect_context(10, "");
    expect_range(RECORD_RANGE_BEGIN, "range");
    context_detach(attach(20));
    assert_null(next()); /* the ring still has the outer one */
    uint64_t inner = attach(20);
    push("range", 0);
    expect_context(20, "");
    expect_range(RECORD_RANGE_BEGIN, "range");
    context_detach(inner);
    expect_context(10, "");
    attach(30);
    context_detach(outer); /* and the inner one, which was never written */
    expect_context(0, "");
    assert_null(next());
    context_detach(attach(40));
    assert_null(next());
}

ON_A_THREAD(test_while_nothing_is_captured_no_end_is_told)
{
    uint64_t token = attach(10);
    push("range", 0);
    expect_context(10, "");
    expect_range(RECORD_RANGE_BEGIN, "range");
    atomic_store(&mode_now, MODE_OFF);
    context_detach(token);
    assert_null(next());
    atomic_store(&mode_now, MODE_ON);
    push("range", 0);
    expect_context(0, ""); /* written with the next record */
}

ON_A_THREAD(test_a_context_of_before_counts_from_where_capture_sees_it)
{
    atomic_store(&mode_now, MODE_OFF);
    uint64_t token = attach(10);
    assert_int_equal(thread_context_self->since_ticks, 0);
    atomic_store(&mode_now, MODE_ON);
    uint64_t before = clock_ticks();
    push("range", 1);
    const struct context_record *record = (const struct context_record *)next();
    assert_int_equal(record->head.type, RECORD_CONTEXT);
    assert_true(record->time_ns >= before && record->time_ns <= clock_ticks());
    range_pop(1, NULL);
    context_detach(token);
}

ON_A_THREAD(test_ranges_of_domains_nest_apart)
{
    uint64_t a1 = push("a1", 1), b1 = push("b1", 2), a2 = push("a2", 1);
    assert_int_equal(range_depth(1), 2);
    assert_int_equal(range_depth(2), 1);
    assert_int_equal(range_pop(2, NULL), b1);
    assert_int_equal(range_pop(2, NULL), 0);
    assert_int_equal(range_pop(1, NULL), a2);
    assert_int_equal(range_pop(1, NULL), a1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(((const struct range_record *)next())->flags, RANGE_ON_THREAD), release();
    assert_int_equal(expect_range(RECORD_RANGE_END, "").id, b1);
}

ON_A_THREAD(test_the_innermost_range_is_the_current_context)
{
    struct trace_context context;
    uint64_t token = attach(10), outer = push("outer", 0), inner = push("inner", 0);
    assert_true(context_current(&context));
    assert_memory_equal(context.span_id, &inner, 8);
    assert_int_equal(context.trace_id[0], 10);
    uint64_t other = attach(20);
    expect_current(20); /* the range belongs to the other context */
    context_detach(other);
    assert_true(range_end(outer, NULL)); /* in the wrong order */
    assert_true(context_current(&context));
    assert_memory_equal(context.span_id, &inner, 8);
    assert_true(range_end(inner, NULL));
    expect_current(10);
    assert_true(context_detach(token));
}

ON_A_THREAD(test_attributes_are_copied)
{
    struct range_attr attrs[] = {
        {.key = "layer", .key_bytes = 5, .type = ATTR_INT, .i = 7},
        {.key = "name", .key_bytes = 4, .type = ATTR_STRING, .s = "conv", .bytes = 4},
        {.key = "", .key_bytes = 0, .type = ATTR_INT}};
    struct range_text text = text_of("forward");
    text.attrs = attrs;
    text.attr_count = 3;
    assert_true(range_start(&text) != 0);
    const struct range_record *record = (const struct range_record *)next();
    struct range_attr_head head;
    int64_t seven;
    assert_int_equal(record->flags, 0);
    assert_int_equal(record->attr_count, 2);
    assert_int_equal(record->attrs_dropped, 1);
    const char *at = record->text + record->name_bytes;
    memcpy(&head, at, sizeof head);
    assert_int_equal(head.value_bytes, 8);
    assert_memory_equal(at + sizeof head, "layer", 5);
    memcpy(&seven, at + sizeof head + 5, 8);
    assert_int_equal(seven, 7);
    at += sizeof head + 5 + 8;
    memcpy(&head, at, sizeof head);
    assert_int_equal(head.type, ATTR_STRING);
    assert_memory_equal(at + sizeof head, "nameconv", 8);
    assert_ptr_equal(at + sizeof head + 8, record->text + record->text_bytes);
}

ON_A_THREAD(test_long_texts_are_cut)
{
    static char name[RANGE_TEXT_BYTES + 100];
    struct range_attr attrs[3];
    memset(name, 'n', sizeof name);
    for (unsigned i = 0; i < 3; i++)
        attrs[i] = (struct range_attr){
            .key = "long", .key_bytes = 4, .type = ATTR_STRING, .s = name, .bytes = sizeof name};
    struct range_text text = {.name = name, .name_bytes = sizeof name, .attrs = attrs, .attr_count = 3};
    assert_true(range_push(&text) != 0);
    const struct range_record *record = (const struct range_record *)next();
    assert_int_equal(record->name_bytes, RANGE_TEXT_BYTES);
    assert_true(record->head.bytes <= RANGE_RECORD_BYTES);
    assert_int_equal(record->attr_count + record->attrs_dropped, 3);
    assert_true(record->attrs_dropped > 0);
}

ON_A_THREAD(test_while_nothing_is_captured_only_contexts_are_kept)
{
    atomic_store(&mode_now, MODE_OFF);
    uint64_t token = attach(10);
    assert_int_equal(push("unseen", 1), 0);
    assert_int_equal(range_depth(1), 1);
    expect_current(10);
    atomic_store(&mode_now, MODE_ON);
    uint64_t id = push("seen", 1);
    expect_context(10, "");
    assert_int_equal(expect_range(RECORD_RANGE_BEGIN, "seen").id, id);
    assert_int_equal(range_pop(1, NULL), id);
    assert_int_equal(range_pop(1, NULL), 0); /* the range that was not captured closes silently */
    assert_int_equal(range_depth(1), 0);
    expect_range(RECORD_RANGE_END, "");
    assert_null(next());
    assert_true(context_detach(token));
}

/* Their end names no range, so they must leave no state. */
ON_A_THREAD(test_ranges_of_the_api_that_are_not_captured_leave_nothing)
{
    atomic_store(&mode_now, MODE_ASLEEP);
    for (int i = 0; i < 2 * RANGE_DEPTH_MAX; i++)
        assert_int_equal(push("unseen", 0), 0);
    assert_int_equal(range_depth(0), 0);
    assert_int_equal(counter_get(COUNTER_lost_range), 0);
    atomic_store(&mode_now, MODE_ON);
}

/* A range captured while awake gets its end while asleep, too. */
ON_A_THREAD(test_a_range_may_end_in_sleep)
{
    uint64_t id = push("range", 0);
    expect_range(RECORD_RANGE_BEGIN, "range");
    atomic_store(&mode_now, MODE_ASLEEP);
    assert_true(range_end(id, NULL));
    assert_int_equal(expect_range(RECORD_RANGE_END, "").id, id);
    assert_false(range_mark(&(struct range_text){.name = "mark", .name_bytes = 4}));
    assert_null(next());
    atomic_store(&mode_now, MODE_ON);
}

ON_A_THREAD(test_a_full_ring_is_counted)
{
    unsigned captured = 0;
    while (push("range", 0))
        captured++;
    assert_true(captured > 50);
    assert_int_equal(atomic_load(&thread_known()->lost), 1);
    context_name_object(NAMED_STREAM, 1, "stream", 6);
    assert_int_equal(atomic_load(&thread_known()->lost) >= 1, 1);
}

static void fill_ring(void)
{
    struct range_text mark = text_of("mark");
    while (range_mark(&mark)) {
    }
}

static void empty_ring(void)
{
    while (next())
        release();
}

static void launch_now(void)
{
    struct cupti_callback_data data = {.callbackSite = CUPTI_SITE_ENTER, .correlationId = 7};
    uint64_t start = 0;
    data.correlationData = &start;
    callbacks_handle(NULL, CUPTI_DOMAIN_RUNTIME, 1, &data);
    data.callbackSite = CUPTI_SITE_EXIT;
    callbacks_handle(NULL, CUPTI_DOMAIN_RUNTIME, 1, &data);
}

/* Its range would be the parent of all later work. */
ON_A_THREAD(test_an_end_that_finds_the_ring_full_is_written_later)
{
    struct range_end end = {.status = SPAN_STATUS_ERROR, .message = "late", .message_bytes = 4};
    uint64_t outer = push("outer", 0), inner = push("inner", 5);
    fill_ring();
    uint64_t lost = atomic_load(&thread_known()->lost);
    range_pop(5, NULL);
    range_end(outer, &end);
    assert_int_equal(atomic_load(&thread_known()->notes_lost), 1); /* the message */
    assert_int_equal(push("no room", 0), 0);
    launch_now();
    assert_int_equal(atomic_load(&thread_known()->lost), lost + 2);
    uint64_t now = clock_ticks();
    empty_ring();
    launch_now();
    struct range_record first = expect_range(RECORD_RANGE_END, "");
    assert_int_equal(first.id, inner);
    assert_true(first.time_ns <= now);
    struct range_record second = expect_range(RECORD_RANGE_END, "");
    assert_int_equal(second.id, outer);
    assert_int_equal(second.status, SPAN_STATUS_ERROR);
    assert_int_equal(next()->type, RECORD_CALL); /* and no context: none was ever attached */
    release();
    assert_null(next());
    assert_int_equal(counter_get(COUNTER_range_ends_lost), 0);
}

/* A short call that fits must not be captured in the old context. */
ON_A_THREAD(test_a_context_that_finds_the_ring_full_comes_before_all_else)
{
    char state[400];
    memset(state, 'x', sizeof state - 1);
    state[sizeof state - 1] = 0;
    push("first", 0);
    fill_ring();
    for (int i = 0; i < 4; i++, release()) /* makes room for a call, and not for the context */
        assert_non_null(next());
    struct trace_context context = make_context(30, state);
    uint64_t token = context_attach(&context, true), lost = atomic_load(&thread_known()->lost);
    launch_now();
    assert_int_equal(atomic_load(&thread_known()->lost), lost + 1);
    empty_ring();
    launch_now();
    expect_context(30, state);
    assert_int_equal(next()->type, RECORD_CALL);
    release();
    context_detach(token);
    empty_ring();
}

static void *end_while_off(void *id)
{
    atomic_store(&mode_now, MODE_OFF);
    range_end(*(uint64_t *)id, NULL);
    return NULL;
}

/* While CUPTI is released to another tool nothing is captured, but ranges end. */
ON_A_THREAD(test_an_end_while_nothing_is_captured_is_written_afterwards)
{
    uint64_t id = push("range", 0);
    expect_range(RECORD_RANGE_BEGIN, "range");
    atomic_store(&mode_now, MODE_OFF);
    assert_true(range_end(id, NULL));
    atomic_store(&mode_now, MODE_ON);
    uint64_t later = push("later", 0);
    assert_int_equal(expect_range(RECORD_RANGE_END, "").id, id);
    assert_int_equal(expect_range(RECORD_RANGE_BEGIN, "later").id, later);
    range_end(later, NULL);
    empty_ring();
}

ON_A_THREAD(test_an_end_that_is_never_written_is_counted)
{
    pthread_t thread;
    struct range_text text = text_of("span");
    uint64_t id = range_start(&text);
    assert_int_equal(pthread_create(&thread, NULL, end_while_off, &id), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(counter_get(COUNTER_range_ends_lost), 1);
    empty_ring();
}

ON_A_THREAD(test_tracestates_outlive_their_contexts)
{
    char text[32];
    const char *given[64], *first = NULL;
    for (int i = 0; i < LASTING_STATES_MAX + 64; i++) {
        snprintf(text, sizeof text, "vendor=%d", i);
        struct trace_context context = make_context(1, text);
        uint64_t token = context_attach(&context, true);
        const char *state = context_trace_state();
        assert_ptr_equal(context_trace_state(), state);
        first = first ? first : state;
        given[i % 64] = state;
        context_detach(token);
        assert_string_equal(state, text);
        if (i < 64 || i >= LASTING_STATES_MAX)
            continue;
        snprintf(text, sizeof text, "vendor=%d", i - 63);
        assert_string_equal(given[(i + 1) % 64], text);
    }
    struct trace_context again = make_context(1, "vendor=1060");
    uint64_t token = context_attach(&again, true);
    assert_ptr_equal(context_trace_state(), given[1060 % 64]);
    context_detach(token);
    assert_string_not_equal(first, "vendor=0"); /* its place was needed */
}

ON_A_THREAD(test_ranges_that_are_too_deep_close_no_others)
{
    atomic_store(&mode_now, MODE_OFF);
    for (unsigned i = 0; i < RANGE_DEPTH_MAX; i++)
        push("range", 1);
    assert_int_equal(counter_get(COUNTER_lost_range), 0); /* nothing is captured */
    atomic_store(&mode_now, MODE_ON);
    assert_int_equal(push("too deep", 1), 0);
    assert_int_equal(push("too deep", 0), 0);
    assert_int_equal(counter_get(COUNTER_lost_range), 2);
    assert_int_equal(range_pop(1, NULL), 0);
    assert_int_equal(range_depth(1), RANGE_DEPTH_MAX);
    range_pop(1, NULL);
    assert_int_equal(range_depth(1), RANGE_DEPTH_MAX - 1);
}

ON_A_THREAD(test_marks_and_names)
{
    struct range_text text = text_of("loaded");
    assert_true(range_mark(&text));
    expect_range(RECORD_MARK, "loaded");
    context_name_object(NAMED_STREAM, 0x7f00, "copies", 6);
    const struct name_record *record = (const struct name_record *)next();
    assert_int_equal(record->head.type, RECORD_NAME);
    assert_int_equal(record->head.cbid, NAMED_STREAM);
    assert_int_equal(record->handle, 0x7f00);
    assert_memory_equal(record->name, "copies", 6);
    assert_false(range_end(0, NULL));
}

/* Parent and child may be traced in the same trace. */
ON_A_THREAD(test_a_forked_child_has_ids_of_its_own)
{
    uint64_t of_child = 0, first = push("before", 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        uint64_t id = push("child", 0);
        _exit(write(ends[1], &id, sizeof id) != sizeof id);
    }
    uint64_t of_parent = push("parent", 0);
    assert_int_equal(read(ends[0], &of_child, sizeof of_child), sizeof of_child);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(of_parent, first + 1);
    assert_true(of_child != 0 && of_child - first > 1000); /* nor the following IDs */
    while (next())
        release();
}

ON_A_THREAD(test_what_is_left_out_is_counted_and_an_end_may_say_more)
{
    struct range_text text = text_of("payload");
    struct range_attr attr = {.key = "loss", .key_bytes = 4, .type = ATTR_INT, .i = 7};
    struct range_end end = {.attrs = &attr, .attr_count = 1, .attrs_dropped = 3};
    text.domain = 5;
    text.attrs_dropped = 2;
    uint64_t id = range_push(&text);
    assert_int_equal(expect_range(RECORD_RANGE_BEGIN, "payload").attrs_dropped, 2);
    assert_int_equal(range_pop(5, &end), id);
    struct range_record ended = expect_range(RECORD_RANGE_END, "");
    assert_int_equal(ended.id, id);
    assert_int_equal(ended.attr_count, 1);
    assert_int_equal(ended.attrs_dropped, 3);
    assert_true(range_mark(&text));
    assert_int_equal(expect_range(RECORD_MARK, "payload").attrs_dropped, 2);
    assert_int_equal(range_pop(5, &end), 0);
    assert_null(next());
}

static void expect_handle(uint32_t context_id, uint64_t handle)
{
    const struct name_record *record = (const struct name_record *)next();
    assert_non_null(record);
    assert_int_equal(record->head.type, RECORD_NAME);
    assert_int_equal(record->head.cbid, NAMED_CONTEXT_ID);
    assert_int_equal(record->time_ns, 77);
    assert_int_equal(record->id, context_id);
    assert_int_equal(record->handle, handle);
    assert_int_equal(record->name_bytes, 0);
    release();
}

static void tell_handle(uint32_t context_id, uint64_t handle)
{
    thread_context_write_handle(thread_known(), context_id, (const void *)(uintptr_t)handle, 77);
}

ON_A_THREAD(test_a_named_context_s_handle_is_told_once_a_thread)
{
    atomic_store(&thread_context_has_names, false);
    context_name_object(NAMED_STREAM, 0x7f00, "copies", 6);
    release();
    assert_false(atomic_load(&thread_context_has_names));
    context_name_object(NAMED_CONTEXT, 0xc1, "training", 8);
    assert_true(atomic_load(&thread_context_has_names));
    release();
    tell_handle(1, 0xc1);
    expect_handle(1, 0xc1);
    tell_handle(1, 0xc1);
    assert_null(next());
    tell_handle(64, 0xc2);
    expect_handle(64, 0xc2);
    tell_handle(65, 0xc3); /* beyond the tracked context IDs */
    tell_handle(0, 0);     /* none */
    assert_null(next());
    tell_handle(2, 0xc4);
    expect_handle(2, 0xc4);
}

static int setup_all(void **state)
{
    return callbacks_init(true) != STATUS_OK || threads_init(32 * 1024, 1024 * 1024) != STATUS_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_contexts_nest, setup),
        cmocka_unit_test_setup(test_the_outer_one_ends_those_inside, setup),
        cmocka_unit_test_setup(test_a_token_is_of_its_thread, setup),
        cmocka_unit_test_setup(test_thousands_of_contexts_have_an_end, setup),
        cmocka_unit_test_setup(test_the_ring_gets_the_context_with_the_next_record, setup),
        cmocka_unit_test_setup(test_the_end_of_a_context_in_the_ring_is_told_at_once, setup),
        cmocka_unit_test_setup(test_while_nothing_is_captured_no_end_is_told, setup),
        cmocka_unit_test_setup(test_ranges_of_domains_nest_apart, setup),
        cmocka_unit_test_setup(test_the_innermost_range_is_the_current_context, setup),
        cmocka_unit_test_setup(test_attributes_are_copied, setup),
        cmocka_unit_test_setup(test_long_texts_are_cut, setup),
        cmocka_unit_test_setup(test_while_nothing_is_captured_only_contexts_are_kept, setup),
        cmocka_unit_test_setup(test_a_context_of_before_counts_from_where_capture_sees_it, setup),
        cmocka_unit_test_setup(test_ranges_of_the_api_that_are_not_captured_leave_nothing, setup),
        cmocka_unit_test_setup(test_a_range_may_end_in_sleep, setup),
        cmocka_unit_test_setup(test_a_full_ring_is_counted, setup),
        cmocka_unit_test_setup(test_an_end_that_finds_the_ring_full_is_written_later, setup),
        cmocka_unit_test_setup(test_a_context_that_finds_the_ring_full_comes_before_all_else, setup),
        cmocka_unit_test_setup(test_an_end_while_nothing_is_captured_is_written_afterwards, setup),
        cmocka_unit_test_setup(test_an_end_that_is_never_written_is_counted, setup),
        cmocka_unit_test_setup(test_tracestates_outlive_their_contexts, setup),
        cmocka_unit_test_setup(test_ranges_that_are_too_deep_close_no_others, setup),
        cmocka_unit_test_setup(test_marks_and_names, setup),
        cmocka_unit_test_setup(test_a_forked_child_has_ids_of_its_own, setup),
        cmocka_unit_test_setup(test_what_is_left_out_is_counted_and_an_end_may_say_more, setup),
        cmocka_unit_test_setup(test_a_named_context_s_handle_is_told_once_a_thread, setup),
    };
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
