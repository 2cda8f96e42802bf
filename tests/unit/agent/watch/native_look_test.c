/* Walks stacks of sleeping threads, whose functions have noted their return addresses; and damaged stacks and
 * tables. */
#include "agent/watch/stacks/native_look.h"

#include "agent/frames/eh_frame.h"
#include "agent/watch/stacks/thread_facts.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct process_map map;
static struct native_look look;
static struct thread_stacks result;

static struct thread_stack *walk(uint64_t sp, uint64_t pc)
{
    memset(&look, 0, sizeof look);
    memset(&result, 0, offsetof(struct thread_stacks, threads));
    result.text_bytes = result.count = 1;
    result.threads[0] = (struct thread_stack){.sp = sp, .pc = pc};
    native_look_walk(&look, &map, &result, &result.threads[0]);
    native_look_name(&look, &map, &result);
    return &result.threads[0];
}

/* ---- Sleeping threads ------------------------------------------------------------------------------------
 */

static struct {
    sem_t go;
    _Atomic int32_t tid;
    uint64_t returns[3]; /* innermost first */
    void (*generated)(void (*)(void));
} sleeper;

#define NOTE(number) (sleeper.returns[number] = (uint64_t)(uintptr_t)__builtin_return_address(0))

__attribute__((noinline)) static void sleeps(void)
{
    NOTE(0);
    sleeper.tid = (int32_t)syscall(SYS_gettid);
    while (sem_wait(&sleeper.go) != 0)
        continue;
    __asm__ volatile("" ::: "memory");
}

/* This function has a frame pointer, because its frame's size is known only when it runs. */
__attribute__((noinline)) static void calls_with_frame_pointer(size_t bytes)
{
    volatile char *memory = __builtin_alloca(bytes);
    NOTE(1);
    memory[0] = 1;
    if (sleeper.generated)
        sleeper.generated(sleeps);
    else
        sleeps();
    memory[bytes - 1] = 1;
}

__attribute__((noinline)) static void calls(size_t bytes)
{
    NOTE(2);
    calls_with_frame_pointer(bytes);
    __asm__ volatile("" ::: "memory");
}

static void *run(void *bytes)
{
    calls((size_t)(uintptr_t)bytes);
    return NULL;
}

static pthread_t start(size_t stack_bytes, struct thread_stack *facts)
{
    pthread_t thread;
    memset(sleeper.returns, 0, sizeof sleeper.returns);
    sleeper.tid = 0;
    sem_init(&sleeper.go, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, run, (void *)(uintptr_t)stack_bytes), 0);
    memset(facts, 0, sizeof *facts);
    for (int i = 0;
         i < 10000 && !(sleeper.tid && thread_facts_read(sleeper.tid, facts) && facts->state == 'S'); i++)
        usleep(1000);
    process_map_read(&map);
    return thread;
}

static void stop(pthread_t thread)
{
    sem_post(&sleeper.go);
    pthread_join(thread, NULL);
}

/* Returns the index of the frame with this address; the count: it is not there. */
static uint32_t index_of(const struct thread_stack *thread, uint64_t address)
{
    uint32_t at = 0;
    while (at < thread->native_count && result.native_frames[thread->native_first + at].address != address)
        at++;
    return at;
}

static const char *text(uint32_t offset)
{
    return thread_stacks_text(&result, offset);
}

static void test_sleeping_thread(void **state)
{
    if (is_emulated())
        skip();
    struct thread_stack facts;
    pthread_t thread = start(100, &facts);
    const struct thread_stack *found = walk(facts.sp, facts.pc);
    uint32_t first = index_of(found, sleeper.returns[0]);
    assert_true(first >= 2 && first < found->native_count); /* the C library's functions and sleeps() */
    assert_int_equal(index_of(found, sleeper.returns[1]), first + 1);
    assert_int_equal(index_of(found, sleeper.returns[2]), first + 2);
    assert_int_equal(found->native, STACK_NATIVE_COMPLETE);
    assert_int_equal(result.native_frames[0].address, facts.pc);
    assert_non_null(strstr(text(result.native_frames[0].library), "libc"));
    assert_string_equal(text(result.native_frames[first].library), "native_look_test");
    assert_false(result.native_frames[first - 1].is_guessed);
    stop(thread);
}

/* The rest is beyond what is read. */
static void test_large_frame(void **state)
{
    if (is_emulated())
        skip();
    struct thread_stack facts;
    pthread_t thread = start(2 * NATIVE_STACK_BYTES, &facts);
    const struct thread_stack *found = walk(facts.sp, facts.pc);
    assert_int_equal(index_of(found, sleeper.returns[0]), found->native_count - 1);
    assert_int_equal(found->native, STACK_NATIVE_BROKEN);
    stop(thread);
}

/* Machine code without unwind tables, as Triton, Numba and Python's own compiler make. */
static void test_generated_code(void **state)
{
    if (is_emulated())
        skip();
#if defined(__aarch64__)
    static const uint32_t code[] = {0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd,
                                    0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
    static const uint8_t code[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x83,
                                   0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
#endif
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, code, sizeof code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    __builtin___clear_cache((char *)page, (char *)page + sizeof code);
    *(void **)&sleeper.generated = page + 8;
    struct thread_stack facts;
    pthread_t thread = start(100, &facts);
    const struct thread_stack *found = walk(facts.sp, facts.pc);
    uint32_t generated = index_of(found, sleeper.returns[0]);
    assert_true(generated < found->native_count);
    const struct stack_native_frame *frames = &result.native_frames[found->native_first];
    assert_string_equal(text(frames[generated].library), "");
    assert_false(frames[generated].is_guessed);
    assert_int_equal(frames[generated].offset, frames[generated].address);
    /* Behind it are frames that were guessed, and the right ones are among them. */
    uint32_t caller = index_of(found, sleeper.returns[2]);
    assert_true(caller > generated && caller < found->native_count);
    assert_true(frames[caller].is_guessed);
    stop(thread);
    sleeper.generated = NULL;
    munmap(page, 4096);
}

/* ---- Symbols ---------------------------------------------------------------------------------------------
 */

static void test_names(void **state)
{
    process_map_read(&map);
    uint64_t function_at = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "a64l");
    walk(0, function_at + 4); /* the stack is not readable */
    assert_int_equal(result.threads[0].native_count, 1);
    assert_int_equal(result.threads[0].native, STACK_NATIVE_BROKEN);
    assert_string_equal(text(result.native_frames[0].symbol), "a64l");
    assert_int_equal(result.native_frames[0].offset, 4);
    walk(0, (uint64_t)(uintptr_t)test_names + 1); /* a static function has no dynamic symbol */
    assert_string_equal(text(result.native_frames[0].symbol), "");
    assert_string_equal(text(result.native_frames[0].library), "native_look_test");
    const struct map_range *range = process_map_find(&map, (uint64_t)(uintptr_t)test_names);
    assert_int_equal(result.native_frames[0].offset,
                     (uint64_t)(uintptr_t)test_names + 1 - map.libraries[range->library].base);
}

/* ---- Unwind tables ----------------------------------------------------------------------------------------
 */

static uint64_t next_random(void)
{
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
}

/* Rules from copies of single entries are those from the tables in memory. */
static void test_rules_are_those_of_the_tables(void **state)
{
    process_map_read(&map);
    const struct map_range *range = process_map_find(&map, (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "a64l"));
    const struct map_library *libc = process_map_library(&map, range->library);
    struct eh_frame tables = {.header = (const uint8_t *)(uintptr_t)libc->unwind};
    tables.begin = (const uint8_t *)(uintptr_t)libc->base;
    tables.end = (const uint8_t *)(uintptr_t)range->end + (1 << 16); /* .eh_frame is behind the code */
    while (tables.end < tables.header + (1 << 16))
        tables.end += 4096;
    int known = 0;
    for (int i = 0; i < 1500; i++) {
        uint64_t address = range->begin + 1 + next_random() % (range->end - range->begin - 1);
        struct unwind_rule expected;
        eh_frame_find_rule(&tables, address - 1, &expected);
        walk(0, address);
        assert_int_equal(look.count, 1);
        if (expected.kind != UNWIND_DAMAGED) /* the end of the tables is not known exactly */
            assert_memory_equal(&look.places[0].rule, &expected, sizeof expected);
        known += expected.kind == UNWIND_SP || expected.kind == UNWIND_FP;
    }
    assert_true(known > 300);
}

/* A library in the map, with tables that are damaged at random. */
static void test_damaged_tables(void **state)
{
    static _Alignas(16) uint8_t image[1 << 16];
    static uint64_t stack[512];
    static uint64_t pristine_bytes;
    process_map_read(&map);
    const struct map_range *range = process_map_find(&map, (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "a64l"));
    struct map_library *libc = &map.libraries[range->library];
    assert_non_null(process_map_library(&map, range->library));
    uint64_t header = libc->unwind;
    pristine_bytes = sizeof image;
    uint32_t ends[4] = {0};
    for (int i = 0; i < 512; i++)
        stack[i] =
            i % 3 ? (uint64_t)(uintptr_t)&stack[next_random() % 512] : range->begin + next_random() % 100000;
    for (int round = 0; round < 1000; round++) {
        memcpy(image, (const void *)(uintptr_t)header, pristine_bytes);
        for (int i = 0; i < 1 << round % 12; i++)
            image[next_random() % (round % 2 ? 12 : sizeof image)] = (uint8_t)next_random();
        /* The tables' addresses are relative, so those of a copy describe other code, or none. */
        libc->unwind = round % 4 ? (uint64_t)(uintptr_t)image : next_random();
        const struct thread_stack *found =
            walk((uint64_t)(uintptr_t)&stack[next_random() % 512] + (round % 5 == 0),
                 range->begin + next_random() % 100000);
        assert_true(found->native_count >= 1 && found->native_count <= STACK_NATIVE_FRAMES_MAX);
        ends[found->native]++;
    }
    libc->unwind = header;
    assert_true(ends[STACK_NATIVE_BROKEN] > 10);
}

static void test_registers_that_are_wrong(void **state)
{
    process_map_read(&map);
    uint64_t here = (uint64_t)(uintptr_t)test_registers_that_are_wrong + 4;
    static const uint64_t wrong[] = {
        0, 1, 4096, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX / 2, (uint64_t)1 << 47};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct thread_stack *found = walk(wrong[i], here);
        assert_int_equal(found->native, STACK_NATIVE_BROKEN);
        assert_int_equal(found->native_count, 1);
        found = walk((uint64_t)(uintptr_t)&wrong, wrong[i]);
        assert_int_equal(found->native_count, 0);
        assert_int_equal(found->native, wrong[i] ? STACK_NATIVE_BROKEN : STACK_NATIVE_COMPLETE);
    }
}

/* No room: frames are cut, addresses without a place end the stack. */
static void test_limits(void **state)
{
    if (is_emulated())
        skip();
    struct thread_stack facts;
    pthread_t thread = start(100, &facts);
    walk(facts.sp, facts.pc);
    uint32_t all = result.threads[0].native_count;
    assert_true(all >= 5);
    memset(&result.threads[0], 0, sizeof result.threads[0]);
    result.threads[0].sp = facts.sp;
    result.threads[0].pc = facts.pc;
    result.native_total = STACK_FRAMES_TOTAL - 2;
    native_look_walk(&look, &map, &result, &result.threads[0]);
    assert_int_equal(result.threads[0].native, STACK_NATIVE_CUT);
    assert_int_equal(result.threads[0].native_count, 2);
    assert_int_equal(result.threads[0].native_first, STACK_FRAMES_TOTAL - 2);

    memset(&look, 0, sizeof look);
    look.count = NATIVE_PLACES;
    result.native_total = 0;
    native_look_walk(&look, &map, &result, &result.threads[0]);
    assert_int_equal(result.threads[0].native, STACK_NATIVE_BROKEN);
    assert_int_equal(result.threads[0].native_count, 0);

    walk(facts.sp, facts.pc); /* again, with no room for texts */
    memset(&look, 0, sizeof look);
    result.native_total = 0;
    native_look_walk(&look, &map, &result, &result.threads[0]);
    result.text_bytes = STACK_TEXT_BYTES - 4;
    native_look_name(&look, &map, &result);
    assert_int_equal(result.native_frames[0].library, 0);
    assert_int_equal(result.text_bytes, STACK_TEXT_BYTES - 4);
    stop(thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeping_thread),
        cmocka_unit_test(test_large_frame),
        cmocka_unit_test(test_generated_code),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_rules_are_those_of_the_tables),
        cmocka_unit_test(test_damaged_tables),
        cmocka_unit_test(test_registers_that_are_wrong),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
