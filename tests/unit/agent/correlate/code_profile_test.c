/* GPU time by stack: each ns once, links, intervals, and bounds that lose no time. */
#include "agent/correlate/stacks/code_profile.h"

#include "base/accounting/counters.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct code_stacks *stacks;
static struct code_profile *profile;

static union {
    struct code_record record;
    uint64_t words[CODE_RECORD_BYTES_MAX / 8];
} code;

static int setup(void **state)
{
    counters_reset();
    return code_stacks_create(NULL, true, &stacks) == STATUS_OK &&
                   code_profile_create(stacks, &profile) == STATUS_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    code_profile_destroy(profile);
    free(stacks);
    return 0;
}

static void add_frame(const char *file, uint32_t line, const char *name, uint8_t flags)
{
    struct code_frame frame = {line, (uint16_t)strlen(file), (uint8_t)strlen(name), flags};
    uint8_t *to = (uint8_t *)&code + code.record.head.bytes;
    memcpy(to, &frame, sizeof frame);
    memcpy(to + sizeof frame, file, frame.file_bytes);
    memcpy(to + sizeof frame + frame.file_bytes, name, frame.name_bytes);
    code.record.head.bytes += (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    code.record.frame_count++;
}

static void begin_stack(uint64_t id)
{
    code.record = (struct code_record){
        .head = {sizeof code.record, RECORD_CODE, 0, 0}, .id = id, .flags = CODE_IS_DESCRIBED};
}

/* "f" at line `line` of a.py, called in line 1 of main.py. */
static const struct code_stack *stack_at(uint32_t line)
{
    begin_stack(1000 + line);
    add_frame("a.py", line, "f", CODE_FRAME_IS_PROGRAMS);
    add_frame("main.py", 1, "<module>", CODE_FRAME_IS_PROGRAMS);
    return code_stacks_note(stacks, &code.record);
}

static struct profile_link link_of(uint32_t number)
{
    struct profile_link link = {.trace_id = {1}, .span_id = {2}};
    memcpy(link.span_id + 4, &number, sizeof number);
    return link;
}

static void add(uint32_t place, const char *name, uint64_t ns)
{
    code_profile_add(profile, place, PROFILE_KERNELS, (struct profile_string){name, (uint32_t)strlen(name)},
                     0, ns);
}

static uint64_t sum(const struct profile *of, enum profile_kind kind)
{
    uint64_t total = 0;
    for (uint32_t i = 1; i < of->sample_count; i++)
        total += of->samples[i].kind == (uint32_t)kind ? of->values[i] : 0;
    return total;
}

/* "kernel f:7 <module>:1", from the leaf. */
static const char *text_of(const struct profile *of, uint32_t sample)
{
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t node = of->stacks[of->samples[sample].stack].node; node; node = of->nodes[node].caller) {
        const struct profile_location *location = &of->locations[of->nodes[node].location];
        const struct profile_function *function = &of->functions[location->function];
        const struct profile_string *name = &of->strings[function->name],
                                    *file = &of->strings[function->file],
                                    *module = &of->strings[of->mappings[location->mapping].file];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u:%.*s:%.*s:%u:%.*s", used ? " " : "",
                                 location->type, (int)name->bytes, name->bytes ? name->text : "",
                                 (int)file->bytes, file->bytes ? file->text : "", location->line,
                                 (int)module->bytes, module->bytes ? module->text : "");
    }
    return text;
}

static uint64_t time_of(const struct profile *of, const char *text)
{
    for (uint32_t i = 1; i < of->sample_count; i++)
        if (strcmp(text_of(of, i), text) == 0)
            return of->values[i];
    fail_msg("no sample %s", text);
    return 0;
}

static void test_time_adds_up_by_stack(void **state)
{
    uint32_t seven = code_profile_place(profile, stack_at(7), NULL);
    uint32_t eight = code_profile_place(profile, stack_at(8), NULL);
    assert_int_not_equal(seven, eight);
    assert_int_equal(code_profile_place(profile, stack_at(7), NULL), seven);
    add(seven, "gemm", 10);
    add(eight, "gemm", 200);
    add(seven, "gemm", 3000);
    add(seven, "relu", 40000);
    add(0, "gemm", 500000);
    const struct profile *made = code_profile_end(profile);
    assert_int_equal(made->samples_of[PROFILE_KERNELS], 4);
    assert_int_equal(made->samples_of[PROFILE_COPIES], 0);
    assert_int_equal(time_of(made, "3:gemm::0: 1:f:a.py:7: 1:<module>:main.py:1:"), 3010);
    assert_int_equal(time_of(made, "3:gemm::0: 1:f:a.py:8: 1:<module>:main.py:1:"), 200);
    assert_int_equal(time_of(made, "3:relu::0: 1:f:a.py:7: 1:<module>:main.py:1:"), 40000);
    assert_int_equal(time_of(made, "3:gemm::0:"), 500000);
    assert_true(made->end_ns >= made->begin_ns && made->begin_ns > 0);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
}

static void test_copies_are_apart(void **state)
{
    code_profile_add(profile, 0, PROFILE_COPIES, (struct profile_string){"gemm", 4}, 0, 7);
    add(0, "gemm", 5);
    const struct profile *made = code_profile_end(profile);
    assert_int_equal(sum(made, PROFILE_COPIES), 7);
    assert_int_equal(sum(made, PROFILE_KERNELS), 5);
    assert_int_equal(made->samples_of[PROFILE_COPIES], 1);
}

static void test_native_frames_have_their_library(void **state)
{
    begin_stack(1);
    add_frame("/usr/lib/libtorch.so+0x1189", 0, "at::add+0x1c", CODE_FRAME_IS_NATIVE);
    add_frame("/opt/program+0x20", 0, "", CODE_FRAME_IS_NATIVE);
    add_frame("libstdc++.so.6+0x30", 0, "std::f()+0x1", CODE_FRAME_IS_NATIVE);
    add(code_profile_place(profile, code_stacks_note(stacks, &code.record), NULL), "gemm", 5);
    const struct profile *made = code_profile_end(profile);
    assert_int_equal(time_of(made, "3:gemm::0: 2:at::add::0:/usr/lib/libtorch.so "
                                   "2:/opt/program+0x20::0:/opt/program 2:std::f()::0:libstdc++.so.6"),
                     5);
}

static void test_a_frame_without_a_name_keeps_its_stack(void **state)
{
    begin_stack(1);
    add_frame("a.py", 7, "", 0);
    add_frame("", 0, "", 0);
    add_frame("", 0, "", CODE_FRAME_IS_NATIVE);
    add(code_profile_place(profile, code_stacks_note(stacks, &code.record), NULL), "gemm", 5);
    assert_int_equal(time_of(code_profile_end(profile), "3:gemm::0: 1:a.py:a.py:7: 1:?::0: 2:?::0:"), 5);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
}

static void test_links_lead_to_spans(void **state)
{
    struct profile_link one = link_of(1), two = link_of(2);
    uint32_t first = code_profile_place(profile, stack_at(7), &one);
    uint32_t second = code_profile_place(profile, stack_at(7), &two);
    uint32_t alone = code_profile_place(profile, NULL, &two);
    assert_true(first != second && second != alone);
    add(first, "gemm", 10);
    add(second, "gemm", 20);
    add(first, "gemm", 100);
    add(alone, "gemm", 1000);
    const struct profile *made = code_profile_end(profile);
    uint64_t by_link[2] = {0};
    for (uint32_t i = 1; i < made->sample_count; i++) {
        const struct profile_link *link = &made->links[made->samples[i].link];
        if (made->values[i])
            by_link[memcmp(link, &two, sizeof two) == 0] += made->values[i];
    }
    assert_int_equal(by_link[0], 110);
    assert_int_equal(by_link[1], 1020);
    assert_int_equal(made->link_count, 3);
}

static void test_the_next_interval_begins_empty(void **state)
{
    struct profile_link link = link_of(1);
    uint32_t place = code_profile_place(profile, stack_at(7), &link);
    for (uint64_t number = 1; number <= 3; number++) {
        if (number > 1) /* so that "gemm" has another index than before */
            code_profile_add(profile, 0, PROFILE_KERNELS, (struct profile_string){"relu", 4}, 98, 50);
        code_profile_add(profile, place, PROFILE_KERNELS, (struct profile_string){"gemm", 4}, 99, number);
        const struct profile *made = code_profile_end(profile);
        assert_int_equal(made->samples_of[PROFILE_KERNELS], number > 1 ? 2 : 1);
        assert_int_equal(time_of(made, "3:gemm::0: 1:f:a.py:7: 1:<module>:main.py:1:"), number);
        code_profile_begin(profile);
    }
    const struct profile *empty = code_profile_end(profile);
    assert_int_equal(empty->samples_of[PROFILE_KERNELS], 0);
    assert_int_equal(sum(empty, PROFILE_KERNELS), 0);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
}

static void test_a_forgotten_stack_is_counted_and_never_another_one(void **state)
{
    uint32_t place = code_profile_place(profile, stack_at(1), NULL);
    for (uint32_t line = 2; line <= CODE_STACKS_MAX + 1; line++)
        assert_non_null(stack_at(line)); /* the last one makes all others be forgotten */
    add(place, "gemm", 5);
    assert_int_equal(time_of(code_profile_end(profile), "3:gemm::0: 1:f:a.py:1: 1:<module>:main.py:1:"), 5);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
    code_profile_begin(profile);
    add(place, "gemm", 6);
    assert_int_equal(time_of(code_profile_end(profile), "3:gemm::0:"), 6);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 1);
}

static void test_a_place_lives_while_thousands_are_made(void **state)
{
    struct profile_link first = link_of(1);
    uint32_t place = code_profile_place(profile, stack_at(7), &first);
    for (uint32_t i = 2; i < 4096; i++) {
        struct profile_link link = link_of(i);
        assert_int_not_equal(code_profile_place(profile, stack_at(7), &link), 0);
    }
    add(place, "gemm", 5);
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 0);
    for (uint32_t i = 0; i < 2 * 4096; i++) {
        struct profile_link link = link_of(10000 + i);
        assert_int_not_equal(code_profile_place(profile, stack_at(8), &link), place);
    }
    add(place, "gemm", 5); /* its place has another owner by now */
    assert_int_equal(counter_get(COUNTER_profile_unplaced), 1);
    const struct profile *made = code_profile_end(profile);
    assert_int_equal(time_of(made, "3:gemm::0:"), 5);
    assert_int_equal(time_of(made, "3:gemm::0: 1:f:a.py:7: 1:<module>:main.py:1:"), 5);
}

static void test_without_room_for_a_link_the_stack_stays(void **state)
{
    struct profile_link link = link_of(1);
    uint32_t plain = code_profile_place(profile, stack_at(7), NULL);
    uint32_t linked = code_profile_place(profile, stack_at(7), &link);
    uint32_t other = code_profile_place(profile, stack_at(8), NULL);
    add(plain, "gemm", 1);
    for (uint32_t i = 0; i < PROFILE_SAMPLES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u", i % 4000);
        add(i < 4000 ? 0 : i < 8000 ? plain : other, name, 1);
    }
    add(linked, "gemm", 100);
    assert_int_equal(time_of(code_profile_end(profile), "3:gemm::0: 1:f:a.py:7: 1:<module>:main.py:1:"), 101);
}

/* `more` fills one table or another. */
static void fill(void (*more)(uint32_t number))
{
    uint64_t all = 0;
    bool was_full = false;
    for (uint32_t i = 1; i <= 3 * PROFILE_NODES_MAX; i++, all++) {
        more(i);
        was_full |= code_profile_is_full(profile);
    }
    const struct profile *made = code_profile_end(profile);
    assert_true(was_full);
    assert_true(counter_get(COUNTER_profile_unplaced) > 0);
    assert_int_equal(sum(made, PROFILE_KERNELS), all);
    assert_true(made->sample_count <= PROFILE_SAMPLES_MAX && made->string_count <= PROFILE_STRINGS_MAX &&
                made->node_count <= PROFILE_NODES_MAX && made->link_count <= PROFILE_LINKS_MAX);
    code_profile_begin(profile);
    assert_false(code_profile_is_full(profile));
}

static void more_names(uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "kernel_%u", number);
    add(0, name, 1);
}

static void more_text(uint32_t number)
{
    char name[1000];
    memset(name, 'x', sizeof name);
    snprintf(name, sizeof name, "%u", number);
    code_profile_add(profile, 0, PROFILE_KERNELS, (struct profile_string){name, sizeof name}, 0, 1);
}

static void more_lines(uint32_t number)
{
    add(code_profile_place(profile, stack_at(number), NULL), "gemm", 1);
}

static void more_links(uint32_t number)
{
    struct profile_link link = link_of(number);
    add(code_profile_place(profile, stack_at(7), &link), "gemm", 1);
}

static void more_names_at_lines(uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "kernel_%u", number % 100);
    add(code_profile_place(profile, stack_at(number / 100), NULL), name, 1);
}

static void test_full_tables_lose_no_time(void **state)
{
    void (*const all[])(uint32_t) = {more_names, more_text, more_lines, more_links, more_names_at_lines};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        counters_reset();
        fill(all[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_time_adds_up_by_stack),
        TEST(test_copies_are_apart),
        TEST(test_native_frames_have_their_library),
        TEST(test_a_frame_without_a_name_keeps_its_stack),
        TEST(test_links_lead_to_spans),
        TEST(test_the_next_interval_begins_empty),
        TEST(test_a_forgotten_stack_is_counted_and_never_another_one),
        TEST(test_a_place_lives_while_thousands_are_made),
        TEST(test_without_room_for_a_link_the_stack_stays),
        TEST(test_full_tables_lose_no_time),
    };
    return cmocka_run_group_tests_name("code_profile", tests, NULL, NULL);
}
