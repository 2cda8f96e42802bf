/* Native stacks get names, in parts if a library is large. */
#include "agent/core/pipeline/native_code.h"

#include "agent/capture/stacks/native_frames.h"
#include "support/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ONE_PART 1 /* ns: each call does the least that it can */
#define RECORDS  20

/* Records in the rings of several threads. */
static union {
    struct code_record record;
    uint8_t bytes[sizeof(struct code_record) + sizeof(struct code_addresses) + CODE_FRAMES_MAX * 8];
} codes[RECORDS];

/* A copy of the large library, whose names are not known yet. */
struct library {
    char path[128];
    void *handle;
    uint64_t address; /* in its function */
};

static char folder[] = "/tmp/cuspan-native-code-XXXXXX";

static int setup_all(void **state)
{
    return mkdtemp(folder) && native_frames_start() == STATUS_OK ? 0 : -1;
}

static int teardown_all(void **state)
{
    return rmdir(folder);
}

static int setup(void **state)
{
    native_code_allow(UINT64_MAX);
    return 0;
}

static struct library copy(void)
{
    static int number;
    struct library library;
    char command[512];
    snprintf(library.path, sizeof library.path, "%s/libmany%d.so", folder, number++);
    snprintf(command, sizeof command, "cp '%s' '%s'", MANY_FUNCTIONS, library.path);
    assert_int_equal(system(command), 0);
    return library;
}

static struct library load_copy(struct library library)
{
    library.handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL);
    if (!library.handle)
        fail_msg("%s", dlerror());
    uint64_t (*get)(void) = (uint64_t(*)(void))(uintptr_t)dlsym(library.handle, "many_functions");
    assert_non_null(get);
    library.address = get();
    return library;
}

static struct library load(void)
{
    return load_copy(copy());
}

/* A library of the same size with other unwind tables, and so another library. */
static struct library load_other(void)
{
    struct library library = copy();
    Elf64_Ehdr file;
    int fd = open(library.path, O_RDWR);
    assert_int_equal(pread(fd, &file, sizeof file, 0), sizeof file);
    for (int i = 0; i < file.e_phnum; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(file.e_phoff + (uint64_t)i * sizeof part);
        assert_int_equal(pread(fd, &part, sizeof part, at), sizeof part);
        if (part.p_type == PT_GNU_EH_FRAME)
            assert_int_equal(pwrite(fd, "\xff\xff", 2, (off_t)part.p_offset + 4), 2);
    }
    close(fd);
    return load_copy(library);
}

static void unload(struct library *library)
{
    dlclose(library->handle);
    unlink(library->path);
}

/* As of a walk now, after a poll. */
static uint32_t generation(void)
{
    uint64_t frame;
    struct native_walk walk, rest;
    native_frames_poll();
    native_frames_walk(NULL, NATIVE_FROM_HERE, &frame, 1, &walk);
    native_frames_finish(walk.ticket, NULL, 0, &rest);
    return walk.generation;
}

/* A stack as a walk writes it. */
static const struct code_record *make(unsigned number, const uint64_t *frames, uint32_t count,
                                      uint64_t ticket, uint32_t flags)
{
    static uint64_t id;
    struct code_record *code = &codes[number].record;
    struct code_addresses *addresses = (struct code_addresses *)(void *)code->frames;
    *code = (struct code_record){
        .head = {(uint32_t)(sizeof *code + sizeof *addresses + 8 * count), RECORD_CODE, 0, 0},
        .id = ++id,
        .frame_count = count,
        .flags = CODE_IS_DESCRIBED | CODE_IS_NATIVE | flags};
    addresses->ticket = ticket;
    addresses->generation = generation();
    memcpy(addresses->frames, frames, count * sizeof *frames);
    return code;
}

/* Frame `number` of a named record: "place|function" or "place", and its flags. */
static uint8_t text_of(const struct code_record *named, uint32_t number, char text[512])
{
    struct code_frame frame = {.line = 0};
    uint32_t at = sizeof *named;
    assert_true(number < named->frame_count);
    for (uint32_t i = 0; i <= number; i++) {
        at += i ? (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes : 0;
        memcpy(&frame, (const uint8_t *)named + at, sizeof frame);
        assert_true(at + sizeof frame + frame.file_bytes + frame.name_bytes <= named->head.bytes);
    }
    const char *file = (const char *)named + at + sizeof frame;
    snprintf(text, 512, "%.*s%s%.*s", frame.file_bytes, file, frame.name_bytes ? "|" : "", frame.name_bytes,
             file + frame.file_bytes);
    assert_int_equal(frame.line, 0);
    return frame.flags;
}

static void expect_frame(const struct code_record *named, uint32_t number, const char *module,
                         const char *function, bool is_programs)
{
    char text[512];
    uint8_t flags = text_of(named, number, text);
    if (strncmp(text, module, strlen(module)) != 0 || !strstr(text, "+0x") ||
        (function ? !strstr(text, function) : strchr(text, '|') != NULL))
        fail_msg("\"%s\" is not \"%s\" in \"%s\"", text, function ? function : "", module);
    assert_int_equal(flags, CODE_FRAME_IS_NATIVE | (is_programs ? CODE_FRAME_IS_PROGRAMS : 0));
}

static const struct code_record *expect_named(const struct code_record *code)
{
    const struct code_record *named = native_code_name(code);
    assert_non_null(named);
    assert_int_equal(named->head.type, RECORD_CODE);
    assert_int_equal(named->head.bytes % 8, 0);
    assert_true(named->head.bytes <= CODE_RECORD_BYTES_MAX);
    assert_int_equal(named->id, code->id);
    assert_true(named->flags & CODE_IS_DESCRIBED);
    assert_false(named->flags & CODE_IS_NATIVE);
    return named;
}

/* Returns the number of calls until it is named. */
static unsigned name_in_parts(const struct code_record *code)
{
    unsigned count = 1;
    native_code_allow(ONE_PART);
    while (!native_code_name(code)) {
        count++;
        native_code_allow(ONE_PART);
    }
    return count;
}

static uint64_t a_function_with_a_name_that_takes_so_much_room_that_not_all_of_them_fit_into_a_record(void)
{
    return (uint64_t)(uintptr_t)folder;
}

static uint64_t here(void)
{
    return (uint64_t)(uintptr_t)here + 1;
}

/* As in a program that is linked with the CUDA runtime: nvcc's stub, and its caller with the kernel's name.
 */
uint64_t cudaLaunchAny(void), cuLaunchAny(void), cudistance(void);
uint64_t stub_of_fill(void) __asm__("__device_stub__ZN2ns4fillEPi");
uint64_t fill_of_ns(void) __asm__("_ZN2ns4fillEPi");
uint64_t fill_all(void) __asm__("_ZN2ns8fill_allEPi");
uint64_t fil_of_ns(void) __asm__("_ZN2ns3filEPi");
uint64_t ns_of_none(void) __asm__("_Z2nsPi");
uint64_t stub_of_scale(void) __asm__("__device_stub__scale");
uint64_t scale(void);
#define TEN(x) x x x x x x x x x x
uint64_t stub_of_long(void) __asm__("__device_stub__ZN2ns202x" TEN(TEN("xx")) "xEPi");

uint64_t cudaLaunchAny(void)
{
    return 1;
}
uint64_t cuLaunchAny(void)
{
    return 2;
}
uint64_t cudistance(void)
{
    return 3;
}
uint64_t stub_of_fill(void)
{
    return 4;
}
uint64_t fill_of_ns(void)
{
    return 5;
}
uint64_t fill_all(void)
{
    return 6;
}
uint64_t fil_of_ns(void)
{
    return 7;
}
uint64_t ns_of_none(void)
{
    return 8;
}
uint64_t stub_of_scale(void)
{
    return 9;
}
uint64_t scale(void)
{
    return 10;
}
uint64_t stub_of_long(void)
{
    return 11;
}

/* ---- Names ----------------------------------------------------------------------------------------------
 */

static void test_names_are_not_those_of_a_library_that_came_later(void **state)
{
    struct library library = load();
    const struct code_record *code = make(0, (uint64_t[]){here(), library.address}, 2, 0, 0);
    unload(&library);
    struct library other = load_other();
    if (other.address != library.address)
        skip(); /* it is somewhere else */
    const struct code_record *named = expect_named(code);
    assert_int_equal(named->frame_count, 0);
    assert_int_equal(named->head.bytes, sizeof *named);
    /* The same addresses again, of a walk in the other library. */
    code = make(0, (uint64_t[]){here(), library.address}, 2, 0, 0);
    expect_frame(expect_named(code), 1, "libmany", "|many_functions+0x1", true);
    unload(&other);
    /* Without a library at this place, the others keep their names. */
    code = make(0, (uint64_t[]){here(), library.address}, 2, 0, 0);
    library = load();
    unload(&library);
    named = expect_named(code);
    assert_int_equal(named->frame_count, 2);
    expect_frame(named, 0, "native_code_test", "|here+0x1", true);
}

static void test_before_the_start_nothing_changes(void **state)
{
    const struct code_record *code = make(0, (uint64_t[]){here()}, 1, 0, 0);
    assert_ptr_equal(native_code_name(code), code);
    assert_int_equal(native_code_start(), STATUS_OK);
    assert_int_equal(native_code_start(), STATUS_OK);
}

static void test_other_stacks_stay_as_they_are(void **state)
{
    struct code_record known = {.head = {sizeof known, RECORD_CODE, 0, 0}, .id = 7, .frame_count = 2};
    native_code_allow(0);
    assert_ptr_equal(native_code_name(&known), &known);
    known.flags = CODE_IS_DESCRIBED;
    assert_ptr_equal(native_code_name(&known), &known);
}

static void test_frames_have_names(void **state)
{
    struct library library = load();
    void *libc = dlopen("libc.so.6", RTLD_NOW); /* sanitizers have a qsort() of their own */
    assert_non_null(libc);
    uint64_t in_libc = (uint64_t)(uintptr_t)dlsym(libc, "qsort") + 1;
    const struct code_record *code =
        make(0, (uint64_t[]){here(), in_libc, library.address, 0x10}, 4, 0, CODE_IS_OF_NODES);
    const struct code_record *named = expect_named(code);
    assert_int_equal(named->frame_count, 4);
    assert_int_equal(named->flags, CODE_IS_DESCRIBED | CODE_IS_OF_NODES);
    expect_frame(named, 0, "native_code_test+0x", "|here+0x1", true);
    expect_frame(named, 1, "libc", "|qsort+0x1", false);
    expect_frame(named, 2, "libmany", "|many_functions+0x1", true);
    char text[512];
    assert_int_equal(text_of(named, 3, text), CODE_FRAME_IS_NATIVE); /* in no module */
    assert_string_equal(text, "0x10");
    unload(&library);
}

static void test_the_runtime_and_stubs_are_not_the_programs(void **state)
{
    uint64_t (*const functions[])(void) = {cudaLaunchAny, stub_of_fill, fill_of_ns, fill_all,
                                           fill_of_ns,    cuLaunchAny,  cudistance};
    static const char *const names[] = {"|cudaLaunchAny+",      "|__device_stub__", "|ns::fill(int*)+",
                                        "|ns::fill_all(int*)+", "|ns::fill(int*)+", "|cuLaunchAny+",
                                        "|cudistance+"};
    static const bool is_programs[] = {false, false, false, true, true, false, true};
    uint64_t frames[7];
    for (int i = 0; i < 7; i++)
        frames[i] = (uint64_t)(uintptr_t)functions[i] + 1;
    const struct code_record *named = expect_named(make(0, frames, 7, 0, 0));
    for (uint32_t i = 0; i < 7; i++)
        expect_frame(named, i, "native_code_test", names[i], is_programs[i]);
}

/* With optimization, the stub is called by the code that launches. */
static void test_a_launcher_with_a_part_of_the_kernels_name_is_the_programs(void **state)
{
    uint64_t (*const stubs[])(void) = {stub_of_fill, stub_of_scale, stub_of_long};
    uint64_t (*const launchers[])(void) = {fil_of_ns, fill_of_ns, scale, ns_of_none};
    static const char *const names[] = {"|ns::fil(int*)+", "|ns::fill(int*)+", "|scale+", "|ns(int*)+"};
    static const bool is_programs[3][4] = {
        {true, false, true, true}, {true, true, false, true}, {true, true, true, true}};
    for (int stub = 0; stub < 3; stub++)
        for (int i = 0; i < 4; i++) {
            uint64_t frames[2] = {(uint64_t)(uintptr_t)stubs[stub] + 1,
                                  (uint64_t)(uintptr_t)launchers[i] + 1};
            const struct code_record *named = expect_named(make(0, frames, 2, 0, 0));
            expect_frame(named, 0, "native_code_test", "|__device_stub__", false);
            expect_frame(named, 1, "native_code_test", names[i], is_programs[stub][i]);
        }
}

static void test_a_cut_stack_stays_cut(void **state)
{
    const struct code_record *named = expect_named(make(0, (uint64_t[]){here()}, 1, 0, CODE_IS_CUT));
    assert_int_equal(named->flags, CODE_IS_DESCRIBED | CODE_IS_CUT);
    assert_int_equal(expect_named(make(0, (uint64_t[]){here()}, 1, 0, 0))->flags, CODE_IS_DESCRIBED);
}

/* ---- The native caller of Python frames ------------------------------------------------------------------
 */

/* A stack of Python frames with names of so many bytes. */
static const struct code_record *make_python(uint64_t address, uint32_t count, uint8_t name_bytes,
                                             uint32_t flags)
{
    static union {
        struct code_record record;
        uint8_t bytes[CODE_RECORD_BYTES_MAX];
    } python;
    struct code_record *code = &python.record;
    static uint64_t id = 1000;
    struct code_caller caller = {.address = address, .generation = generation()};
    uint32_t bytes = (uint32_t)(sizeof *code + sizeof caller);
    memset(&python, 0, sizeof python);
    *code = (struct code_record){
        .id = ++id, .frame_count = count, .flags = CODE_IS_DESCRIBED | CODE_HAS_CALLER | flags};
    memcpy(code->frames, &caller, sizeof caller);
    for (uint32_t i = 0; i < count; i++) {
        struct code_frame frame = {
            .line = i + 1, .file_bytes = 4, .name_bytes = name_bytes, .flags = CODE_FRAME_IS_PROGRAMS};
        memcpy(python.bytes + bytes, &frame, sizeof frame);
        memcpy(python.bytes + bytes + sizeof frame, "a.py", 4);
        memset(python.bytes + bytes + sizeof frame + 4, 'f', name_bytes);
        bytes += (uint32_t)sizeof frame + 4 + name_bytes;
    }
    bytes = (bytes + 7) / 8 * 8;
    assert_true(bytes <= sizeof python);
    code->head = (struct record_head){bytes, RECORD_CODE, 0, 0};
    return code;
}

/* The frames that follow the caller are those of the stack, from the innermost one on. */
static void expect_python(const struct code_record *named, const struct code_record *code)
{
    struct code_frame caller;
    assert_false(named->flags & CODE_HAS_CALLER);
    assert_true(named->frame_count > 1);
    memcpy(&caller, named->frames, sizeof caller);
    uint32_t skip = (uint32_t)sizeof caller + caller.file_bytes + caller.name_bytes, bytes = 0;
    for (uint32_t i = 1; i < named->frame_count; i++) {
        struct code_frame frame;
        memcpy(&frame, named->frames + skip + bytes, sizeof frame);
        assert_int_equal(frame.line, i);
        bytes += (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    }
    assert_memory_equal(named->frames + skip, code->frames + sizeof(struct code_caller), bytes);
    assert_in_range(named->head.bytes - sizeof *named - skip - bytes, 0, 7);
}

static void test_a_native_caller_comes_before_python(void **state)
{
    const struct code_record *code = make_python(here(), 3, 7, CODE_IS_OF_NODES);
    const struct code_record *named = expect_named(code);
    assert_int_equal(named->frame_count, 4);
    assert_int_equal(named->flags, CODE_IS_DESCRIBED | CODE_IS_OF_NODES);
    expect_frame(named, 0, "native_code_test+0x", "|here+0x1", false); /* is not the program's */
    expect_python(named, code);
    assert_int_equal(expect_named(make_python(here(), 1, 0, CODE_IS_CUT))->flags,
                     CODE_IS_DESCRIBED | CODE_IS_CUT);
}

static void test_a_native_caller_takes_the_place_of_outermost_frames(void **state)
{
    const struct code_record *code = make_python(here(), 16, 241, 0);
    assert_true(code->head.bytes + 20 > CODE_RECORD_BYTES_MAX);
    const struct code_record *named = expect_named(code);
    assert_int_equal(named->frame_count, 16); /* the caller, and all but one */
    assert_true(named->flags & CODE_IS_CUT);
    expect_python(named, code);
}

static void test_a_native_caller_in_parts(void **state)
{
    struct library library = load();
    const struct code_record *code = make_python(library.address, 2, 3, 0), *named;
    unsigned parts = 0;
    do {
        native_code_allow(ONE_PART);
        parts++;
    } while ((named = native_code_name(code)) == NULL);
    assert_true(parts > 1);
    assert_int_equal(named->frame_count, 3);
    assert_int_equal(named->flags, CODE_IS_DESCRIBED);
    expect_frame(named, 0, "libmany", "|many_functions+0x1", false);
    expect_python(named, code);
    unload(&library);
}

static void test_an_empty_stack(void **state)
{
    const struct code_record *named = expect_named(make(0, (uint64_t[]){0}, 0, 0, CODE_IS_CUT));
    assert_int_equal(named->frame_count, 0);
    assert_int_equal(named->head.bytes, sizeof *named);
}

static const struct code_record *name_long_ones(uint32_t count)
{
    uint64_t frames[CODE_FRAMES_MAX];
    uint64_t (*function)(void) =
        a_function_with_a_name_that_takes_so_much_room_that_not_all_of_them_fit_into_a_record;
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (uint64_t)(uintptr_t)function + 1;
    return expect_named(make(0, frames, count, 0, 0));
}

static void test_long_names_become_shorter(void **state)
{
    const struct code_record *named = name_long_ones(20);
    assert_int_equal(named->frame_count, 20);
    expect_frame(named, 19, "native_code_test", "fit_into_a_record+0x1", true);
    named = name_long_ones(36);
    assert_int_equal(named->frame_count, 36);
    assert_int_equal(named->flags, CODE_IS_DESCRIBED);
    expect_frame(named, 0, "native_code_test", "|a_function_with_a_name_that_takes_so_much_room_that_not_all",
                 true);
    expect_frame(named, 35, "native_code_test",
                 "|a_function_with_a_name_that_takes_so_much_room_that_not_all", true);
}

/* Frames that do not fit are left out, and the stack is marked as cut. */
static void test_a_stack_that_does_not_fit(void **state)
{
    const struct code_record *named = name_long_ones(CODE_FRAMES_MAX);
    assert_in_range(named->frame_count, 30, CODE_FRAMES_MAX - 1);
    assert_true(named->flags & CODE_IS_CUT);
    expect_frame(named, named->frame_count - 1, "native_code_test", "|a_function_with_a_name", true);
}

/* ---- In parts -------------------------------------------------------------------------------------------
 */

static void test_a_large_library_takes_many_parts(void **state)
{
    struct library library = load();
    const struct code_record *code = make(0, (uint64_t[]){here(), library.address}, 2, 0, 0);
    assert_true(name_in_parts(code) > 1);
    code = make(0, (uint64_t[]){here(), library.address}, 2, 0, 0); /* its names are known now */
    assert_int_equal(name_in_parts(code), 2);
    unload(&library);
}

static void test_parts_give_the_same_names(void **state)
{
    struct library library = load();
    const struct code_record *code =
                                 make(0, (uint64_t[]){here(), library.address, here()}, 3, 0, CODE_IS_CUT),
                             *named;
    do
        native_code_allow(ONE_PART);
    while ((named = native_code_name(code)) == NULL);
    assert_int_equal(named->frame_count, 3);
    assert_int_equal(named->flags, CODE_IS_DESCRIBED | CODE_IS_CUT);
    expect_frame(named, 0, "native_code_test", "|here+0x1", true);
    expect_frame(named, 1, "libmany", "|many_functions+0x1", true);
    expect_frame(named, 2, "native_code_test", "|here+0x1", true);
    unload(&library);
}

static void test_stacks_share_the_time(void **state)
{
    const struct code_record *one = make(0, (uint64_t[]){here()}, 1, 0, 0),
                             *other = make(1, (uint64_t[]){here()}, 1, 0, 0);
    native_code_allow(ONE_PART);
    expect_named(one);
    assert_null(native_code_name(other));
    native_code_allow(ONE_PART);
    expect_named(other);
}

/* A flush or the end of the process comes in between. */
static void test_without_a_limit_it_is_done_at_once(void **state)
{
    struct library library = load();
    const struct code_record *code = make(0, (uint64_t[]){library.address}, 1, 0, 0);
    native_code_allow(ONE_PART);
    assert_null(native_code_name(code));
    assert_null(native_code_name(code)); /* the time is used up */
    native_code_allow(UINT64_MAX);
    expect_frame(expect_named(code), 0, "libmany", "|many_functions+0x1", true);
    unload(&library);
}

static void test_no_stack_waits_without_end(void **state)
{
    struct library library = load();
    const struct code_record *code = make(0, (uint64_t[]){library.address}, 1, 0, 0);
    native_code_allow(ONE_PART);
    assert_null(native_code_name(code));
    nanosleep(&(struct timespec){.tv_nsec = 260000000}, NULL);
    native_code_allow(ONE_PART);
    expect_frame(expect_named(code), 0, "libmany", "|many_functions+0x1", true);
    unload(&library);
}

/* More threads than are remembered; each asks in each round, and one round has the time for one part. */
static void test_stacks_of_many_threads(void **state)
{
    struct library library = load();
    const struct code_record *waiting[RECORDS];
    unsigned left = RECORDS, rounds = 0;
    for (unsigned i = 0; i < RECORDS; i++)
        waiting[i] = make(i, (uint64_t[]){here(), library.address}, 2, 0, 0);
    for (; left; rounds++) {
        native_code_allow(ONE_PART);
        for (unsigned i = 0; i < RECORDS; i++) {
            const struct code_record *named = waiting[i] ? native_code_name(waiting[i]) : NULL;
            if (!named)
                continue;
            assert_int_equal(named->id, waiting[i]->id);
            expect_frame(named, 1, "libmany", "|many_functions+0x1", true);
            waiting[i] = NULL;
            left--;
        }
    }
    assert_true(rounds > 1);
    unload(&library);
}

static void prepare_all(void)
{
    static uint64_t now_ns;
    unsigned calls = 0;
    do {
        native_code_allow(ONE_PART);
        calls++;
        now_ns += 1000000000;
    } while (native_code_prepare(now_ns, 0));
    assert_true(calls > 1);
}

static void test_symbols_are_read_in_advance(void **state)
{
    struct library library = load(), other = load();
    prepare_all();
    assert_int_equal(name_in_parts(make(0, (uint64_t[]){library.address}, 1, 0, 0)), 1);
    assert_int_equal(name_in_parts(make(0, (uint64_t[]){other.address}, 1, 0, 0)), 1);
    struct library late = load();
    assert_true(name_in_parts(make(0, (uint64_t[]){late.address}, 1, 0, 0)) > 1);
    unload(&late);
    unload(&other);
    unload(&library);
}

static void test_a_stack_comes_before_symbols_in_advance(void **state)
{
    const uint64_t later_ns = UINT64_MAX / 2;
    struct library library = load(), other = load();
    const struct code_record *code = make(0, (uint64_t[]){library.address}, 1, 0, 0);
    native_code_allow(ONE_PART);
    assert_null(native_code_name(code));
    native_code_allow(ONE_PART);
    assert_false(native_code_prepare(later_ns, 0));
    assert_true(name_in_parts(code) > 0);
    native_code_allow(ONE_PART);
    assert_true(native_code_prepare(later_ns, 0)); /* there was more to read */
    unload(&other);
    unload(&library);
}

/* ---- The rest of a walk ---------------------------------------------------------------------------------
 */

struct walked {
    struct native_walk walk;
    uint64_t frames[CODE_FRAMES_MAX];
};

static __attribute__((noinline)) void walk_here(struct walked *walked)
{
    static struct native_stack stack; /* without it, a walk ends with the page */
    native_stack_begin(&stack);
    native_frames_walk(&stack, NATIVE_FROM_HERE, walked->frames, CODE_FRAMES_MAX, &walked->walk);
    __asm__ volatile("" ::: "memory");
}

static bool has_function(const struct code_record *named, const char *function)
{
    char text[512];
    bool has = false;
    for (uint32_t i = 0; i < named->frame_count; i++) {
        (void)text_of(named, i, text);
        has |= strstr(text, function) != NULL;
    }
    return has;
}

/* The rules of these frames are not known yet, so the walk has copied the stack. The copy is gone after its
 * first use. */
static void test_the_rest_of_a_stack_is_taken_once(void **state)
{
    struct library library = load();
    struct walked walked;
    walk_here(&walked);
    assert_true(walked.walk.ticket != 0);
    /* The innermost frame is one of the large library, as if that had made the call. */
    memmove(&walked.frames[1], walked.frames, walked.walk.count * sizeof *walked.frames);
    walked.frames[0] = library.address;
    const struct code_record *code = make(0, walked.frames, walked.walk.count + 1, walked.walk.ticket, 0),
                             *named;
    unsigned parts = 0;
    do {
        native_code_allow(ONE_PART);
        parts++;
    } while ((named = native_code_name(code)) == NULL);
    assert_true(parts > 1);
    expect_frame(named, 0, "libmany", "|many_functions+0x1", true);
    assert_true(has_function(named, "test_the_rest_of_a_stack_is_taken_once+0x"));
    native_code_allow(UINT64_MAX);
    named = expect_named(make(1, walked.frames, 1, walked.walk.ticket, 0)); /* again: the copy is gone */
    assert_int_equal(named->frame_count, 1);
    assert_true(named->flags & CODE_IS_CUT);
    unload(&library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_before_the_start_nothing_changes, setup),
        cmocka_unit_test_setup(test_other_stacks_stay_as_they_are, setup),
        cmocka_unit_test_setup(test_frames_have_names, setup),
        cmocka_unit_test_setup(test_the_runtime_and_stubs_are_not_the_programs, setup),
        cmocka_unit_test_setup(test_names_are_not_those_of_a_library_that_came_later, setup),
        cmocka_unit_test_setup(test_a_launcher_with_a_part_of_the_kernels_name_is_the_programs, setup),
        cmocka_unit_test_setup(test_a_cut_stack_stays_cut, setup),
        cmocka_unit_test_setup(test_a_native_caller_comes_before_python, setup),
        cmocka_unit_test_setup(test_a_native_caller_takes_the_place_of_outermost_frames, setup),
        cmocka_unit_test_setup(test_a_native_caller_in_parts, setup),
        cmocka_unit_test_setup(test_an_empty_stack, setup),
        cmocka_unit_test_setup(test_long_names_become_shorter, setup),
        cmocka_unit_test_setup(test_a_stack_that_does_not_fit, setup),
        cmocka_unit_test_setup(test_a_large_library_takes_many_parts, setup),
        cmocka_unit_test_setup(test_parts_give_the_same_names, setup),
        cmocka_unit_test_setup(test_stacks_share_the_time, setup),
        cmocka_unit_test_setup(test_without_a_limit_it_is_done_at_once, setup),
        cmocka_unit_test_setup(test_no_stack_waits_without_end, setup),
        cmocka_unit_test_setup(test_stacks_of_many_threads, setup),
        cmocka_unit_test_setup(test_symbols_are_read_in_advance, setup),
        cmocka_unit_test_setup(test_a_stack_comes_before_symbols_in_advance, setup),
        cmocka_unit_test_setup(test_the_rest_of_a_stack_is_taken_once, setup),
    };
    return cmocka_run_group_tests_name("native_code", tests, setup_all, teardown_all);
}
