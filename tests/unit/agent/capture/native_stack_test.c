#include "agent/capture/threads/native_stack.h"

#include "support/test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096

static uint64_t here(void)
{
    return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static uint64_t page_end(uint64_t sp)
{
    return (sp | (PAGE_BYTES - 1)) + 1;
}

static void find(struct native_stack *stack)
{
    struct native_stack *stacks[] = {stack};
    assert_true(native_stack_is_waiting(stack));
    assert_true(native_stacks_find(stacks, 1));
    assert_false(native_stack_is_waiting(stack));
}

/* The limits as pthread knows them. */
static void real_limits(uint64_t *low, uint64_t *high)
{
    pthread_attr_t attributes;
    void *begin;
    size_t bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
    *low = (uint64_t)(uintptr_t)begin;
    *high = *low + bytes;
}

static void expect_limits(bool is_main)
{
    struct native_stack stack = {0};
    uint64_t low, high, sp = here();
    assert_int_equal(native_stack_end(NULL, sp), page_end(sp));
    assert_false(native_stack_is_waiting(&stack));
    uint64_t first = native_stack_end(&stack, sp); /* notes */
    uint64_t meanwhile = native_stack_end(&stack, sp);
    find(&stack);
    real_limits(&low, &high);
    uint64_t end = native_stack_end(&stack, sp);
    /* A thread's own variables are above its stack, and the program's environment above the main stack. */
    assert_true(end > sp && end % 8 == 0);
    assert_true(is_main ? first > page_end(sp) && first <= end : first == page_end(sp));
    assert_int_equal(meanwhile, first);
    assert_true(is_main ? end >= high && end - high < 1024 * 1024 : end <= high && high - end < 65536);
    assert_int_equal(native_stack_end(&stack, low + 64), end);
    assert_int_equal(native_stack_end(&stack, end), page_end(end)); /* not on the stack */
    assert_false(native_stack_is_waiting(&stack));                  /* and not noted: its own is known */
    /* Another thread in the same place. */
    native_stack_begin(&stack);
    assert_int_equal(native_stack_end(&stack, sp), first);
    find(&stack);
    assert_int_equal(native_stack_end(&stack, sp), end);
}

static void test_the_main_thread(void **state)
{
    volatile char room[2 * PAGE_BYTES]; /* so that the stack's end is on another page */
    room[0] = 0;
    expect_limits(true);
    room[1] = room[0];
}

static void *run_thread(void *unused)
{
    (void)unused;
    expect_limits(false);
    return NULL;
}

static void test_a_thread(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_thread, NULL), 0);
    pthread_join(thread, NULL);
}

/* Their stack is memory of the program. */
static void test_a_thread_with_a_stack_of_the_program(void **state)
{
    pthread_t thread;
    pthread_attr_t attributes;
    const size_t size = 8 * 1024 * 1024; /* sanitizers need much of it */
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, bytes + size / 4, size / 2), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_thread, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(bytes, size);
}

static void test_other_memory_is_no_stack(void **state)
{
    static char bytes[8192];
    struct native_stack stack = {0};
    uint64_t sp = (uint64_t)(uintptr_t)(bytes + 128);
    native_stack_begin(&stack);
    atomic_store(&stack.noted_sp, sp);
    find(&stack);
    assert_true(atomic_load(&stack.high) == 0);
    /* Noted again, but not forever. */
    int notes = 0;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(native_stack_end(&stack, sp), page_end(sp));
        if (native_stack_is_waiting(&stack)) {
            find(&stack);
            notes++;
        }
    }
    assert_in_range(notes, 1, 16);
}

static void test_a_thread_that_has_ended(void **state)
{
    struct native_stack stack = {0};
    native_stack_begin(&stack);
    atomic_store(&stack.noted_sp, 64); /* mapped nowhere */
    find(&stack);
    assert_true(atomic_load(&stack.high) == 0);
}

static void test_several_at_once(void **state)
{
    struct native_stack some[3] = {{0}};
    struct native_stack *stacks[] = {&some[0], &some[1], &some[2]};
    native_stack_begin(&some[0]);
    native_stack_begin(&some[2]);
    assert_true(native_stacks_find(stacks, 3));
    assert_true(native_stack_end(&some[0], here()) > page_end(here()) ||
                native_stack_end(&some[0], here()) == atomic_load(&some[0].high));
    assert_int_equal(atomic_load(&some[0].high), atomic_load(&some[2].high));
    assert_true(atomic_load(&some[1].high) == 0);
    assert_false(native_stack_is_waiting(&some[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_main_thread),
        cmocka_unit_test(test_a_thread),
        cmocka_unit_test(test_a_thread_with_a_stack_of_the_program),
        cmocka_unit_test(test_other_memory_is_no_stack),
        cmocka_unit_test(test_a_thread_that_has_ended),
        cmocka_unit_test(test_several_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
