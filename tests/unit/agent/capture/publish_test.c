#include "agent/capture/context/publish.h"

#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/context/thread_ctx_symbol.h"
#include "support/test.h"
#include "support/thread_ctx_reader.h"
#include "support/under_qemu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The order of the tests matters: loaded libraries stay, and an SDK ends publishing. */

static void (*after_load)(void); /* called once when a library was loaded, before its user knows that */

void *dlopen(const char *path, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))(uintptr_t)dlsym(RTLD_NEXT, "dlopen");
    void *library = next(path, mode);
    void (*call)(void) = library && path && strstr(path, THREAD_CTX_LIBRARY) ? after_load : NULL;
    if (call) {
        after_load = NULL;
        call();
    }
    return library;
}

static uint64_t attach(uint8_t number)
{
    struct trace_context context = {.flags = number & 1};
    memset(context.trace_id, number, 16);
    memset(context.span_id, number, 8);
    return context_attach(&context, context.flags & TRACE_FLAG_SAMPLED);
}

static uint64_t push(const char *name)
{
    struct range_text text = {.name = name, .name_bytes = (uint32_t)strlen(name)};
    return range_push(&text);
}

static void expect_none(void)
{
    struct read_context seen;
    reader_read(&seen);
    assert_true(!seen.has_record || seen.valid != 1);
}

/* `span` NULL: the context's span. */
static void expect(uint8_t number, const uint64_t *span)
{
    struct read_context seen;
    uint8_t trace_id[16], span_id[8];
    memset(trace_id, number, 16);
    memset(span_id, number, 8);
    if (span)
        memcpy(span_id, span, 8);
    reader_read(&seen);
    assert_true(seen.has_record);
    assert_int_equal(seen.valid, 1);
    assert_memory_equal(seen.trace_id, trace_id, 16);
    assert_memory_equal(seen.span_id, span_id, 8);
    assert_int_equal(seen.flags, number & 1);
    assert_int_equal(seen.attrs_bytes, 0);
}

static void test_nothing_is_there_without_a_request(void **state)
{
    uint64_t token = attach(1);
    assert_int_equal(reader_find(), 0);
    assert_null(publish_variable());
    assert_true(context_detach(token));
}

static void test_a_library_that_is_missing_is_named(void **state)
{
    struct error err = {""};
    assert_int_equal(publish_begin("/nowhere", &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/libcuspan-thread-ctx.so"));
    assert_false(atomic_load(&publish_is_on));
}

static void test_the_attached_context_and_its_ranges_are_seen(void **state)
{
    struct error err = {""};
    uint64_t before = attach(2);
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_OK);
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_OK); /* our own library is not another publisher */
    assert_int_equal(reader_find(), 1);
    expect_none();
    context_publish(); /* attached before */
    expect(2, NULL);
    uint64_t inner = attach(3);
    expect(3, NULL);
    uint64_t outer_range = push("outer");
    expect(3, &outer_range);
    uint64_t inner_range = push("inner");
    expect(3, &inner_range);
    uint64_t other = attach(4); /* another context, which the ranges do not belong to */
    expect(4, NULL);
    assert_true(context_detach(other));
    expect(3, &inner_range);
    assert_true(range_end(inner_range, NULL));
    expect(3, &outer_range);
    assert_int_equal(range_pop(0, NULL), outer_range);
    expect(3, NULL);
    assert_true(context_detach(inner));
    expect(2, NULL);
    assert_true(context_detach(before));
    expect_none();
}

static void test_work_of_no_request_is_not_shown(void **state)
{
    uint64_t range = push("of the session");
    assert_true(range != 0);
    expect_none();
    assert_true(range_end(range, NULL));
}

static pthread_key_t later_key;
static bool was_seen, is_gone;

/* Destructors run in the order of key creation, so context.c's has run. */
static void after_the_thread(void *unused)
{
    (void)unused;
    struct read_context seen;
    reader_read(&seen);
    is_gone = !seen.has_record;
}

static void *thread_that_ends_attached(void *unused)
{
    (void)unused;
    struct read_context seen;
    reader_read(&seen);
    bool was_none = !seen.has_record;
    attach(5);
    reader_read(&seen);
    was_seen = was_none && seen.valid == 1 && seen.trace_id[0] == 5;
    pthread_setspecific(later_key, &later_key);
    return NULL;
}

static void test_a_thread_that_ends_leaves_nothing(void **state)
{
    pthread_t thread;
    uint64_t token = attach(6);
    assert_int_equal(pthread_key_create(&later_key, after_the_thread), 0);
    assert_int_equal(pthread_create(&thread, NULL, thread_that_ends_attached, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(was_seen);
    assert_true(is_gone);
    expect(6, NULL); /* each thread has its own */
    assert_true(context_detach(token));
}

static void test_a_forked_child_goes_on_by_itself(void **state)
{
    int status;
    uint64_t token = attach(7);
    pid_t child = fork();
    if (child == 0) {
        struct read_context seen;
        reader_read(&seen);
        bool was_seen_there = seen.valid == 1 && seen.trace_id[0] == 7;
        context_detach(token);
        reader_read(&seen);
        _exit(was_seen_there && seen.valid != 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect(7, NULL);
    assert_true(context_detach(token));
}

static volatile sig_atomic_t reads, whole, torn;

static bool is_all(const uint8_t *bytes, size_t count, uint8_t byte)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void read_now(int signal)
{
    (void)signal;
    struct read_context seen;
    reader_read(&seen);
    reads++;
    if (!seen.has_record || seen.valid != 1)
        return;
    whole++;
    uint8_t number = *seen.trace_id;
    if (!is_all(seen.trace_id, 16, number) || !is_all(seen.span_id, 8, number) || seen.flags != (number & 1))
        torn++;
}

/* Switches between contexts so that old contents are overwritten. */
static void change(uint8_t number)
{
    uint64_t token = attach(number);
    uint64_t other = attach(number + 1);
    context_detach(other);
    context_detach(token);
}

#if defined(__x86_64__)
/* Sets the trap flag, which raises a signal after each instruction. Preserves the red zone. */
static void trap_each_instruction(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
            : "cc", "memory");
}

static void trap_no_more(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
            : "cc", "memory");
}

static void interrupt_each_instruction(void)
{
    struct sigaction action = {.sa_handler = read_now};
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    for (uint8_t number = 60; number < 70; number++) {
        trap_each_instruction();
        change(number);
        trap_no_more();
    }
}
#endif

static void interrupt_often(void)
{
    struct sigaction action = {.sa_handler = read_now, .sa_flags = SA_RESTART};
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    for (uint32_t i = 0; whole < 10000 && i < 100000000; i++)
        change((uint8_t)(1 + i % 250));
    timer_delete(timer);
}

/* Valgrind ignores the trap flag, and delivers signals only after a block of instructions. */
static bool is_under_valgrind(void)
{
    return getenv("CUSPAN_UNDER_VALGRIND") != NULL;
}

static void interrupt_changes(void)
{
#if defined(__x86_64__)
    if (!is_under_valgrind()) {
        interrupt_each_instruction();
        return;
    }
#endif
    interrupt_often();
}

static void test_an_interrupted_writer_shows_no_halves(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* blocks signals, but each instruction raises one here */
#endif
    uint64_t token = attach(59);
    interrupt_changes();
    assert_int_equal(torn, 0);
    assert_true(whole > 1000);
    if (!is_under_valgrind() && !is_under_qemu())
        assert_true(reads > whole); /* invalid while it is being written */
    assert_true(context_detach(token));
}

static void test_publishing_ends_on_request(void **state)
{
    struct error err = {""};
    uint64_t outer = attach(8);
    expect(8, NULL);
    publish_end();
    uint64_t inner = attach(9);
    expect_none();
    assert_true(context_detach(inner));
    expect_none();
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_OK);
    context_publish();
    expect(8, NULL);
    publish_end();
    context_publish();
    expect_none();
    assert_true(context_detach(outer));
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_OK);
}

static void test_an_sdk_goes_first(void **state)
{
    struct error err = {""};
    uint64_t token = attach(10);
    sdk_context_poll(publish_variable);
    assert_false(atomic_load(&sdk_context_is_there)); /* our own is not an SDK's */
    expect(10, NULL);
    void *library = dlopen(FAKE_SDK, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_UNAVAILABLE);
    assert_true(sdk_context_poll(publish_variable));
    publish_give_way();
    assert_true(atomic_load(&sdk_context_is_there));
    assert_false(atomic_load(&publish_is_on));
    reader_find(); /* the SDK's may come last; check our own variable */
    assert_true(context_detach(token));
    const struct thread_record *const *ours = publish_variable();
    assert_non_null(*ours);
    assert_int_equal((*ours)->valid, 0);
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_UNAVAILABLE);
}

static pid_t child_of_load;
static pthread_t poller;
static _Atomic bool has_polled, has_found_an_sdk;

static void *poll_once(void *unused)
{
    atomic_store(&has_found_an_sdk, sdk_context_poll(publish_variable));
    atomic_store(&has_polled, true);
    return unused;
}

/* Time enough to find the library, if that does not wait. */
static void poll_meanwhile(void)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    assert_int_equal(pthread_create(&poller, NULL, poll_once, NULL), 0);
    for (int i = 0; i < 200 && !atomic_load(&has_polled); i++)
        nanosleep(&pause, NULL);
    child_of_load = fork();
    if (child_of_load == 0) {
        alarm(300); /* ends a child that hangs */
        publish_forget();
        _exit(publish_variable() == NULL ? 7 : 1);
    }
}

static void test_our_library_is_no_sdk_while_it_is_loaded(void **state)
{
    struct error err;
    after_load = poll_meanwhile;
    assert_int_equal(publish_begin(FOLDER, &err), STATUS_OK);
    assert_null(after_load);
    int status = 0;
    assert_int_equal(waitpid(child_of_load, &status, 0), child_of_load);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_join(poller, NULL);
    assert_false(atomic_load(&has_found_an_sdk));
    publish_end();
}

static int setup(void **state)
{
    bool has_failed = callbacks_init(true) != STATUS_OK || threads_init(32 * 1024, 1024 * 1024) != STATUS_OK;
    atomic_store(&mode_now, MODE_ON);
    return has_failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_there_without_a_request),
        cmocka_unit_test(test_a_library_that_is_missing_is_named),
        cmocka_unit_test(test_our_library_is_no_sdk_while_it_is_loaded),
        cmocka_unit_test(test_the_attached_context_and_its_ranges_are_seen),
        cmocka_unit_test(test_work_of_no_request_is_not_shown),
        cmocka_unit_test(test_a_thread_that_ends_leaves_nothing),
        cmocka_unit_test(test_a_forked_child_goes_on_by_itself),
        cmocka_unit_test(test_an_interrupted_writer_shows_no_halves),
        cmocka_unit_test(test_publishing_ends_on_request),
        cmocka_unit_test(test_an_sdk_goes_first),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
