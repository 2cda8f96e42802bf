#include "agent/correlate/trace/session.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct session session;
static struct span span;
static struct span_link links[SPAN_LINKS_MAX];
static const uint8_t zeros[16];

struct options {
    struct settings settings;
    bool has_parent;
    struct trace_context parent;
};

static struct options options(void)
{
    return (struct options){.settings = {.session = {.spans_max = 3, .age_max_ms = 1}, .sampler_ratio = 1}};
}

static struct options options_below(const char *traceparent, const char *tracestate)
{
    struct options below = options();
    below.has_parent = true;
    below.settings.sampler_parent_based = true;
    assert_true(trace_context_parse(traceparent, tracestate, &below.parent));
    return below;
}

static bool refuses_random;

/* Instead of the C library's. */
ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    if (!refuses_random)
        return syscall(SYS_getrandom, to, bytes, flags);
    errno = EPERM;
    return -1;
}

static void begin(struct options options, uint64_t time_ns)
{
    static struct settings settings; /* for the session's life */
    settings = options.settings;
    session_init(&session, &settings, "program", options.has_parent ? &options.parent : NULL);
    session_open(&session, time_ns);
}

static void end(const char *reason)
{
    memset(&span, 0xff, sizeof span);
    session_close(&session, reason, &span, links);
    assert_null(span.shared);
}

static const struct span_attr *attr(const char *key)
{
    for (uint32_t i = 0; i < span.attr_count; i++)
        if (strcmp(span.attrs[i].key->name, key) == 0)
            return &span.attrs[i];
    return NULL;
}

static int setup(void **state)
{
    counters_reset();
    return 0;
}

static void test_a_root_session(void **state)
{
    begin(options(), 100);
    assert_true(session.is_sampled);
    session_open(&session, 50); /* already open: nothing happens */
    assert_int_equal(counter_get(COUNTER_sessions), 1);
    session_cover(&session, 90, 95);
    session_cover(&session, 120, 150);
    end("exit");
    assert_memory_not_equal(span.trace_id, zeros, 16);
    assert_memory_not_equal(span.span_id, zeros, 8);
    assert_memory_equal(span.parent_span_id, zeros, 8);
    assert_int_equal(span.flags, 0x100 | TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    assert_int_equal(span.start_ns, 90);
    assert_int_equal(span.end_ns, 150);
    assert_int_equal(span.name_len, 7);
    assert_memory_equal(span.name, "program", 7);
    assert_null(span.trace_state);
    assert_null(span.status_message);
    assert_int_equal(span.link_count, 0);
    assert_int_equal(attr("cuda.session.number")->i, 1);
    assert_int_equal(attr("cuda.session.spans")->i, 2);
    assert_memory_equal(attr("cuda.session.end_reason")->s, "exit", 4);
    assert_null(attr("cuda.session.lost"));
    assert_false(session.is_open);
}

static void test_an_empty_session_has_a_length(void **state)
{
    counter_add(COUNTER_lost_ring_full, 4);
    begin(options(), 100);
    end("exit");
    assert_int_equal(span.start_ns, 100);
    assert_int_equal(span.end_ns, 101);
    assert_int_equal(attr("cuda.session.lost")->i, 4);
    assert_int_equal(attr("cuspan.lost.ring_full")->i, 4);
    assert_null(attr("cuspan.lost.no_ring"));
}

static void test_a_session_is_due_by_spans_and_by_age(void **state)
{
    begin(options(), 100);
    assert_false(session_is_due(&session, 1000100));
    assert_true(session_is_due(&session, 1000101));
    assert_false(session_is_due(&session, 0));
    session_cover(&session, 100, 101);
    session_cover(&session, 100, 101);
    assert_false(session_is_due(&session, 100));
    session_cover(&session, 100, 101);
    assert_true(session_is_due(&session, 100));
    end("spans");
    assert_false(session_is_due(&session, 5000000)); /* none is open */
}

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"

static void test_the_first_session_is_the_process_s_child(void **state)
{
    struct options below = options_below(PARENT "1", "vendor=1");
    begin(below, 100);
    uint8_t first_span[8];
    memcpy(first_span, session.span_id, 8);
    end("age");
    assert_memory_equal(span.trace_id, below.parent.trace_id, 16);
    assert_memory_equal(span.parent_span_id, below.parent.span_id, 8);
    assert_string_equal(span.trace_state, "vendor=1");
    assert_int_equal(span.flags, 0x301);
    assert_int_equal(span.link_count, 0);
    session_open(&session, 2000);
    assert_int_equal(session.begin_ns, 2000);
    assert_int_equal(session.spans, 0);
    end("exit");
    assert_memory_not_equal(span.trace_id, below.parent.trace_id, 16);
    assert_memory_equal(span.parent_span_id, zeros, 8);
    assert_null(span.trace_state);
    assert_int_equal(span.flags, 0x100 | TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    assert_int_equal(span.link_count, 2);
    assert_memory_equal(links[0].trace_id, below.parent.trace_id, 16);
    assert_memory_equal(links[0].span_id, first_span, 8);
    assert_int_equal(links[0].flags, 0x101);
    assert_memory_equal(links[0].attr.s, "previous session", links[0].attr.len);
    assert_memory_equal(links[1].trace_id, below.parent.trace_id, 16);
    assert_memory_equal(links[1].span_id, below.parent.span_id, 8);
    assert_int_equal(links[1].flags, 0x301);
    assert_string_equal(links[1].trace_state, "vendor=1");
    assert_memory_equal(links[1].attr.s, "process", links[1].attr.len);
    assert_int_equal(session.number, 2);
    assert_memory_equal(session.traces[0], below.parent.trace_id, 16);
    assert_memory_equal(session.traces[1], span.trace_id, 16);
}

static void test_the_parent_s_flag_decides(void **state)
{
    struct options below = options_below(PARENT "0", NULL);
    begin(below, 1);
    assert_false(session.is_sampled);
    end("age");
    assert_int_equal(span.flags & TRACE_FLAG_SAMPLED, 0);
    session_open(&session, 2); /* and for the sessions after it */
    assert_false(session.is_sampled);
    below.settings.sampler_parent_based = false;
    begin(below, 1);
    assert_true(session.is_sampled);
    below = options_below(PARENT "1", NULL);
    below.settings.sampler = SAMPLER_ALWAYS_OFF;
    begin(below, 1);
    assert_true(session.is_sampled);
    below.settings.sampler_parent_based = false;
    begin(below, 1);
    assert_false(session.is_sampled);
    below = options_below(PARENT "3", NULL);
    begin(below, 1);
    assert_int_equal(session.flags, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
}

static void test_the_ratio_is_kept(void **state)
{
    static const double ratios[] = {0, 0.25, 0.5, 1};
    for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
        struct options some = options();
        unsigned sampled = 0;
        some.settings.sampler = SAMPLER_TRACE_ID_RATIO;
        some.settings.sampler_ratio = ratios[r];
        session_init(&session, &some.settings, "program", NULL);
        for (int i = 0; i < 4000; i++) {
            session_open(&session, 1);
            sampled += session.is_sampled;
            end("age");
        }
        double share = sampled / 4000.0;
        if (ratios[r] == 0 || ratios[r] == 1)
            assert_true(share == ratios[r]);
        else
            assert_true(share > ratios[r] - 0.06 && share < ratios[r] + 0.06);
    }
}

/* All processes of a trace decide equally, because the trace ID decides. */
static void test_the_trace_id_decides(void **state)
{
    struct options low = options_below("00-0af7651916cd43ddff7fffffffffffff-b7ad6b7169203331-01", "a=1");
    struct options high = options_below("00-0af7651916cd43dd0080000000000000-b7ad6b7169203331-01", "a=1");
    low.settings.sampler = high.settings.sampler = SAMPLER_TRACE_ID_RATIO;
    low.settings.sampler_parent_based = high.settings.sampler_parent_based = false;
    low.settings.sampler_ratio = high.settings.sampler_ratio = 0.5;
    begin(low, 1);
    assert_false(session.is_sampled);
    begin(high, 1);
    assert_true(session.is_sampled);
    end("age");
    assert_string_equal(span.trace_state, "ot=th:8,a=1");
    do {
        session_open(&session, 1);
        end("age");
    } while (!session.is_sampled);
    assert_string_equal(span.trace_state, "ot=th:8");
}

static void test_the_limit_holds_for_sessions(void **state)
{
    struct options limited = options();
    limited.settings.sampling.traces_per_second = 1;
    begin(limited, 1000);
    assert_true(session.is_sampled);
    end("spans");
    session_open(&session, 2000);
    assert_false(session.is_sampled);
    assert_int_equal(session.flags, TRACE_FLAG_RANDOM);
    end("spans");
    session_open(&session, 1000 + 1000000000);
    assert_true(session.is_sampled);
    limited = options_below(PARENT "1", NULL); /* the first is in the parent's trace and does not count */
    limited.settings.sampling.traces_per_second = 1;
    begin(limited, 1000);
    assert_true(session.is_sampled);
    end("spans");
    session_open(&session, 2000);
    assert_true(session.is_sampled);
    end("spans");
    session_open(&session, 3000);
    assert_false(session.is_sampled);
}

static void test_span_ids_count_up_and_are_never_zero(void **state)
{
    uint8_t a[8], b[8];
    begin(options(), 1);
    session_next_span_id(&session, a);
    session_next_span_id(&session, b);
    assert_true(memcmp(a, b, 8) != 0);
    session.next_id = UINT64_MAX;
    session_next_span_id(&session, a);
    assert_int_equal(a[7], 1);
    assert_memory_equal(a, zeros, 7);
    session_next_span_id(&session, a);
    assert_int_equal(a[7], 2); /* big-endian */
}

static void test_events_are_bounded(void **state)
{
    struct span_event event = {.time_ns = 1, .name = "e"};
    begin(options(), 1);
    for (int i = 0; i < SPAN_EVENTS_MAX + 3; i++)
        session_add_event(&session, &event);
    end("exit");
    assert_int_equal(span.event_count, SPAN_EVENTS_MAX);
    assert_int_equal(span.events_dropped, 3);
    assert_string_equal(span.events[0].name, "e");
    session_open(&session, 2);
    end("exit");
    assert_int_equal(span.event_count, 0);
    assert_int_equal(span.events_dropped, 0);
}

static void test_only_the_first_traces_are_kept(void **state)
{
    begin(options(), 1);
    end("age");
    for (int i = 0; i < 2 * SESSION_TRACES_KEPT; i++) {
        session_open(&session, 1);
        end("age");
    }
    assert_int_equal(session.number, 2 * SESSION_TRACES_KEPT + 1);
    assert_int_equal(span.link_count, 1);
}

/* As where a filter of system calls forbids it, from some moment on. */
static void test_traces_have_ids_without_getrandom(void **state)
{
    uint8_t last[16] = {0};
    refuses_random = true;
    begin(options(), 1);
    for (int i = 0; i < 2000; i++) { /* the number of one in 256 ends with a zero */
        end("exit");
        session_open(&session, 2);
        assert_true(session.trace_id[0] != 0 || session.trace_id[15] != 0);
        assert_memory_not_equal(session.trace_id, last, 16);
        memcpy(last, session.trace_id, 16);
    }
    refuses_random = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_root_session, setup),
        cmocka_unit_test_setup(test_traces_have_ids_without_getrandom, setup),
        cmocka_unit_test_setup(test_an_empty_session_has_a_length, setup),
        cmocka_unit_test_setup(test_a_session_is_due_by_spans_and_by_age, setup),
        cmocka_unit_test_setup(test_the_first_session_is_the_process_s_child, setup),
        cmocka_unit_test_setup(test_the_parent_s_flag_decides, setup),
        cmocka_unit_test_setup(test_the_ratio_is_kept, setup),
        cmocka_unit_test_setup(test_the_trace_id_decides, setup),
        cmocka_unit_test_setup(test_the_limit_holds_for_sessions, setup),
        cmocka_unit_test_setup(test_span_ids_count_up_and_are_never_zero, setup),
        cmocka_unit_test_setup(test_events_are_bounded, setup),
        cmocka_unit_test_setup(test_only_the_first_traces_are_kept, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
