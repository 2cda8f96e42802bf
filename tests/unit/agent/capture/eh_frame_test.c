#include "agent/frames/eh_frame.h"

#include "support/test.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#define FP      29
#define SP      31
#define LINK    30
#define BREG_SP 0x8f
#define BREG_FP 0x8d
#else
#define FP      6
#define SP      7
#define LINK    16
#define BREG_SP 0x77
#define BREG_FP 0x76
#define BREG_PC 0x80
#endif

/* A header with one function and its entry, made for each test. */
struct made {
    uint8_t bytes[1024] __attribute__((aligned(16))); /* of which PLT entries are a multiple */
    size_t length;
};

#define FUNCTION_AT    512 /* within `bytes`, where no function is: only its address counts */
#define FUNCTION_BYTES 100

static void put(struct made *to, const void *bytes, size_t length)
{
    assert_true(to->length + length <= FUNCTION_AT);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_byte(struct made *to, int byte)
{
    uint8_t value = (uint8_t)byte;
    put(to, &value, 1);
}

static void put_word(struct made *to, int64_t value)
{
    int32_t word = (int32_t)value;
    put(to, &word, 4);
}

static void end_entry(struct made *to, size_t begin)
{
    while ((to->length - begin) % 4)
        put_byte(to, 0);
    uint32_t length = (uint32_t)(to->length - begin - 4);
    memcpy(to->bytes + begin, &length, 4);
}

/* version 1, the entries' address relative to itself, the count as 4 bytes, the table relative to the header
 */
static void put_header(struct made *made, int count)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b};
    *made = (struct made){.length = 0};
    put(made, header, 4);
    put_word(made, 0);
    put_word(made, count);
    put_word(made, FUNCTION_AT);
    put_word(made, 64);
    made->length = 20;
}

static void make(struct made *made, const char *augmentation, const uint8_t *program, size_t bytes)
{
    put_header(made, 1);
    size_t common = made->length;
    put_word(made, 0);
    put_word(made, 0); /* a CIE */
    put_byte(made, 1);
    put(made, augmentation, strlen(augmentation) + 1);
    put_byte(made, 1);    /* code alignment */
    put_byte(made, 0x78); /* data alignment: -8 */
    put_byte(made, LINK);
    if (*augmentation == 'z') {
        put_byte(made, 1);
        put_byte(made, 0x1b); /* relative to the place, 4 bytes with sign */
    }
    put_byte(made, 0x0c); /* def_cfa sp, 8 */
    put_byte(made, SP);
    put_byte(made, 8);
#if !defined(__aarch64__)
    put_byte(made, 0x80 | LINK); /* offset: 1 * -8 */
    put_byte(made, 1);
#endif
    end_entry(made, common);
    assert_true(made->length <= 64);
    made->length = 64;
    put_word(made, 0);
    put_word(made, 68 - (int64_t)common);
    put_word(made, FUNCTION_AT - 72);
    put_word(made, FUNCTION_BYTES);
    put_byte(made, 0);
    put(made, program, bytes);
    end_entry(made, 64);
}

static struct unwind_rule rule_at(const struct made *made, size_t at)
{
    struct eh_frame tables = {made->bytes, made->bytes, made->bytes + made->length};
    struct unwind_rule rule;
    eh_frame_find_rule(&tables, (uint64_t)(uintptr_t)made->bytes + at, &rule);
    return rule;
}

static struct unwind_rule rule_of(const uint8_t *program, size_t bytes, size_t at)
{
    struct made made;
    make(&made, "zR", program, bytes);
    return rule_at(&made, FUNCTION_AT + at);
}

#define RULE(at, ...) rule_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), at)

static void test_a_function_with_a_frame_pointer(void **state)
{
    /* advance 1, cfa offset 16, fp at cfa - 16, advance 3, cfa register fp */
    const uint8_t program[] = {0x41, 0x0e, 16, 0x80 | FP, 2, 0x43, 0x0d, FP, 0x50, 0x0c, SP, 8, 0xc0 | FP};
    struct unwind_rule rule = rule_of(program, sizeof program, 0);
    assert_int_equal(rule.kind, UNWIND_SP);
    assert_int_equal(rule.cfa_offset, 8);
    assert_int_equal(rule.fp, UNWIND_FP_SAME);
    rule = rule_of(program, sizeof program, 1);
    assert_int_equal(rule.kind, UNWIND_SP);
    assert_int_equal(rule.cfa_offset, 16);
    assert_int_equal(rule.fp, UNWIND_FP_AT_CFA);
    assert_int_equal(rule.fp_offset, -16);
    rule = rule_of(program, sizeof program, 3);
    assert_int_equal(rule.kind, UNWIND_SP);
    rule = rule_of(program, sizeof program, 4);
    assert_int_equal(rule.kind, UNWIND_FP);
    assert_int_equal(rule.cfa_offset, 16);
    rule = rule_of(program, sizeof program, 19);
    assert_int_equal(rule.kind, UNWIND_FP);
    rule = rule_of(program, sizeof program, 20);
    assert_int_equal(rule.kind, UNWIND_SP);
    assert_int_equal(rule.fp, UNWIND_FP_SAME);
    assert_int_equal(rule.return_in, LINK == 30 ? UNWIND_RETURN_IN_LINK : UNWIND_RETURN_AT_CFA);
    assert_int_equal(rule.return_offset, LINK == 30 ? 0 : -8);
}

static void test_other_instructions(void **state)
{
    struct unwind_rule rule;
    /* remember, cfa offset 200 and 300 (two bytes), recall */
    const uint8_t remember[] = {0x0a, 0x0e, 0xc8, 1,    0x41, 0x0e, 0xac, 2,
                                0x02, 10,   0x0b, 0x03, 5,    0,    0x0e, 64};
    assert_int_equal(rule_of(remember, sizeof remember, 0).cfa_offset, 200);
    assert_int_equal(rule_of(remember, sizeof remember, 1).cfa_offset, 300);
    assert_int_equal(rule_of(remember, sizeof remember, 11).cfa_offset, 8);
    assert_int_equal(rule_of(remember, sizeof remember, 16).cfa_offset, 64);
    /* with signs and scaled: def_cfa_sf, def_cfa_offset_sf, offset_extended_sf, arguments' size, 4-byte
     * advance */
    assert_int_equal(RULE(0, 0x12, SP, 0x7e).cfa_offset, 16);
    assert_int_equal(RULE(0, 0x13, 0x7c).cfa_offset, 32);
    assert_int_equal(RULE(0, 0x11, FP, 3).fp_offset, -24);
    assert_int_equal(RULE(0, 0x05, FP, 4).fp_offset, -32);
    assert_int_equal(RULE(0, 0x2f, FP, 4).fp_offset, 32);
    assert_int_equal(RULE(0, 0x2e, 16, 0x2d, 0x2c, 0, 0x0e, 24).cfa_offset, 24);
    assert_int_equal(RULE(50, 0x04, 50, 0, 0, 0, 0x0e, 40).cfa_offset, 40);
    assert_int_equal(RULE(49, 0x04, 50, 0, 0, 0, 0x0e, 40).cfa_offset, 8);
    /* Other registers are read and ignored. */
    assert_int_equal(
        RULE(0, 0x83, 2, 0x09, 3, 4, 0x14, 3, 4, 0x15, 3, 4, 0x10, 3, 1, 0x30, 0x16, 3, 1, 0x30, 0x0e, 32)
            .cfa_offset,
        32);
    /* The saved fp is in a register or undefined. */
    assert_int_equal(RULE(0, 0x09, FP, 3).fp, UNWIND_FP_LOST);
    assert_int_equal(RULE(0, 0x07, FP).fp, UNWIND_FP_LOST);
    assert_int_equal(RULE(0, 0x80 | FP, 2, 0x08, FP).fp, UNWIND_FP_SAME);
    assert_int_equal(RULE(0, 0x80 | FP, 2, 0x06, FP).fp, UNWIND_FP_SAME);
    rule = RULE(0, 0x07, LINK, 0xc0 | LINK);
    assert_int_equal(rule.kind, UNWIND_SP);
    assert_int_equal(rule.return_offset, LINK == 30 ? 0 : -8);
    assert_int_equal(RULE(0, 0x07, LINK, 0x06, LINK).kind, UNWIND_SP);
    /* An undefined return address marks the first function. */
    assert_int_equal(RULE(0, 0x07, LINK).kind, UNWIND_OUTERMOST);
}

static void test_expressions(void **state)
{
    /* The CFA is at fp - 8, and fp is saved at fp + 0: an aligned frame. */
    struct unwind_rule rule = RULE(0, 0x0f, 3, BREG_FP, 0x78, 0x06, 0x10, FP, 2, BREG_FP, 0);
    assert_int_equal(rule.kind, UNWIND_AT_FP);
    assert_int_equal(rule.cfa_offset, -8);
    assert_int_equal(rule.cfa_add, 0);
    assert_int_equal(rule.fp, UNWIND_FP_AT_FP);
    assert_int_equal(rule.fp_offset, 0);
    /* deref(sp + 40) + 8 */
    rule = RULE(0, 0x0f, 5, BREG_SP, 40, 0x06, 0x23, 8);
    assert_int_equal(rule.kind, UNWIND_AT_SP);
    assert_int_equal(rule.cfa_offset, 40);
    assert_int_equal(rule.cfa_add, 8);
    /* sp + 16 + 5 - 1, from constants of several kinds */
    rule = RULE(0, 0x0f, 13, BREG_SP, 16, 0x08, 5, 0x22, 0x0c, 1, 0, 0, 0, 0x1c, 0x31, 0x22);
    assert_int_equal(rule.kind, UNWIND_SP);
    assert_int_equal(rule.cfa_offset, 21);
    assert_int_equal(RULE(0, 0x0f, 6, 0x10, 0x90, 1, BREG_FP, 0, 0x22).cfa_offset, 144);
    assert_int_equal(RULE(0, 0x0f, 6, 0x11, 0x70, BREG_FP, 0, 0x22, 0x96).kind, UNWIND_UNSUPPORTED);
#if !defined(__aarch64__)
    /* The PLT's: sp + 8, and 8 more from the 11th byte of each entry on. */
    for (size_t at = 0; at < 64; at++) {
        rule = RULE(at, 0x0f, 11, BREG_SP, 8, BREG_PC, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
        assert_int_equal(rule.kind, UNWIND_SP);
        assert_int_equal(rule.cfa_offset, at % 16 >= 11 ? 16 : 8);
    }
#endif
}

static void expect_unsupported(struct unwind_rule rule)
{
    static const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};
    assert_memory_equal(&rule, &unsupported, sizeof rule);
}

static void test_what_is_not_supported(void **state)
{
    expect_unsupported(RULE(0, 0x0d, 3));                               /* the CFA in another register */
    expect_unsupported(RULE(0, 0x0f, 2, 0x73, 0));                      /* the same in an expression */
    expect_unsupported(RULE(0, 0x0f, 0));                               /* empty */
    expect_unsupported(RULE(0, 0x0f, 1, 0x22));                         /* no values */
    expect_unsupported(RULE(0, 0x0f, 2, 0x30, 0x22));                   /* one value */
    expect_unsupported(RULE(0, 0x0f, 2, 0x30, 0x31));                   /* two results */
    expect_unsupported(RULE(0, 0x0f, 1, 0x30));                         /* a number */
    expect_unsupported(RULE(0, 0x0f, 4, BREG_SP, 0, 0x06, 0x06));       /* two accesses */
    expect_unsupported(RULE(0, 0x0f, 5, BREG_SP, 0, BREG_FP, 0, 0x22)); /* the sum of two registers */
    expect_unsupported(RULE(0, 0x0f, 9, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30));
    expect_unsupported(RULE(0, 0x0f, 3, 0x08, 1, 0x06));                             /* an absolute address */
    expect_unsupported(RULE(0, 0x0f, 10, BREG_SP, 0, 0x0e, 0, 0, 0, 0, 1, 0, 0x22)); /* cut short */
    expect_unsupported(RULE(0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f));                 /* 4 GiB */
    expect_unsupported(RULE(0, 0x09, LINK, 3));                                      /* the return address */
    expect_unsupported(RULE(0, 0x1c)); /* an unknown instruction */
    expect_unsupported(RULE(0, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

static void test_damaged_programs(void **state)
{
    assert_int_equal(RULE(0, 0x0b, 0, 0).kind, UNWIND_DAMAGED); /* recalls what was not remembered */
    assert_int_equal(RULE(0, 0, 0, 0x0e).kind, UNWIND_DAMAGED); /* without its operand */
    assert_int_equal(RULE(0, 0, 0x0f, 9).kind, UNWIND_DAMAGED); /* longer than the entry */
    assert_int_equal(RULE(0, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0).kind,
                     UNWIND_DAMAGED);
}

static void test_signal_frames_and_augmentations(void **state)
{
    struct made made;
    const uint8_t none[] = {0};
    make(&made, "zRS", none, 1);
    assert_int_equal(rule_at(&made, FUNCTION_AT).kind, UNWIND_SIGNAL);
    make(&made, "zRB", none, 1);
    assert_int_equal(rule_at(&made, FUNCTION_AT).kind, UNWIND_SP);
    make(&made, "zRx", none, 1);
    assert_int_equal(rule_at(&made, FUNCTION_AT).kind, UNWIND_DAMAGED);
    make(&made, "eh", none, 1);
    assert_int_equal(rule_at(&made, FUNCTION_AT).kind, UNWIND_DAMAGED);
}

static void test_addresses_outside_of_functions(void **state)
{
    struct made made;
    const uint8_t none[] = {0};
    make(&made, "zR", none, 1);
    assert_int_equal(rule_at(&made, FUNCTION_AT - 1).kind, UNWIND_NONE);
    assert_int_equal(rule_at(&made, FUNCTION_AT + FUNCTION_BYTES - 1).kind, UNWIND_SP);
    assert_int_equal(rule_at(&made, FUNCTION_AT + FUNCTION_BYTES).kind, UNWIND_NONE);
    put_header(&made, 0);
    assert_int_equal(rule_at(&made, FUNCTION_AT).kind, UNWIND_NONE);
}

static enum unwind_kind kind_with(size_t at, int64_t value, size_t bytes)
{
    struct made made;
    const uint8_t none[] = {0};
    make(&made, "zR", none, 1);
    memcpy(made.bytes + at, &value, bytes);
    return rule_at(&made, FUNCTION_AT).kind;
}

static void test_damaged_headers(void **state)
{
    assert_int_equal(kind_with(0, 2, 1), UNWIND_DAMAGED);        /* version */
    assert_int_equal(kind_with(1, 0x9b, 1), UNWIND_DAMAGED);     /* indirect */
    assert_int_equal(kind_with(2, 0xff, 1), UNWIND_UNSUPPORTED); /* no table */
    assert_int_equal(kind_with(3, 0x1b, 1), UNWIND_UNSUPPORTED); /* another table */
    assert_int_equal(kind_with(8, 1000, 4), UNWIND_DAMAGED);     /* longer than the section */
    assert_int_equal(kind_with(8, -1, 4), UNWIND_DAMAGED);
    assert_int_equal(kind_with(16, 100000, 4), UNWIND_DAMAGED); /* the entry is outside */
    assert_int_equal(kind_with(16, -4, 4), UNWIND_DAMAGED);
    assert_int_equal(kind_with(64, -1, 4), UNWIND_DAMAGED); /* a length of 64 bits */
    assert_int_equal(kind_with(64, 4000, 4), UNWIND_DAMAGED);
    assert_int_equal(kind_with(64, 3, 4), UNWIND_DAMAGED);
    assert_int_equal(kind_with(68, 0, 4), UNWIND_DAMAGED);     /* a CIE instead of an FDE */
    assert_int_equal(kind_with(68, 60000, 4), UNWIND_DAMAGED); /* its CIE is outside */
    assert_int_equal(kind_with(28, 9, 1), UNWIND_DAMAGED);     /* the CIE's version */
    assert_int_equal(kind_with(24, 1, 4), UNWIND_DAMAGED);     /* an FDE instead of the CIE */
    assert_int_equal(kind_with(34, 5, 1), UNWIND_UNSUPPORTED); /* the return address's register */
    assert_int_equal(kind_with(35, 90, 1), UNWIND_DAMAGED);    /* the augmentation's length */
    assert_int_equal(kind_with(36, 0xab, 1), UNWIND_DAMAGED);  /* an unknown encoding */
}

/* ---- Copies of the C library's tables -------------------------------------------------------------------
 */

struct original {
    uint64_t base, code_begin, code_end; /* of its code */
    const uint8_t *header, *begin, *end;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
    struct original *original = context, found = {.base = info->dlpi_addr};
    (void)size;
    uint64_t inside = (uint64_t)(uintptr_t)qsort, header = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < info->dlpi_phnum; i++) {
            const ElfW(Phdr) *part = &info->dlpi_phdr[i];
            uint64_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
            if (part->p_type == PT_GNU_EH_FRAME)
                header = begin;
            if (part->p_type == PT_LOAD && inside >= begin && inside < end)
                found.code_begin = begin, found.code_end = end;
            if (part->p_type == PT_LOAD && header >= begin && header < end) {
                found.header = (const uint8_t *)(uintptr_t)header;
                found.begin = (const uint8_t *)(uintptr_t)begin;
                found.end = (const uint8_t *)(uintptr_t)end;
            }
        }
    if (!found.code_begin || !found.header)
        return 0;
    *original = found;
    return 1;
}

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Addresses in the tables are relative, so a copy describes code that is as far from it. */
static void test_copies_with_damage(void **state)
{
    struct original libc = {0};
    assert_true(dl_iterate_phdr(find_libc, &libc));
    size_t bytes = (size_t)(libc.end - libc.begin), header_at = (size_t)(libc.header - libc.begin);
    uint32_t kinds[UNWIND_DAMAGED + 1] = {0}, intact = 0;
    uint8_t *copy = malloc(bytes); /* of exactly this size, for AddressSanitizer */
    assert_non_null(copy);
    memcpy(copy, libc.begin, bytes);
    struct eh_frame original = {libc.header, libc.begin, libc.end};
    struct eh_frame damaged = {copy + header_at, copy, copy + bytes};
    for (int i = 0; i < 20000; i++) {
        uint64_t address = libc.code_begin + next_random() % (libc.code_end - libc.code_begin);
        struct unwind_rule expected, rule;
        eh_frame_find_rule(&original, address, &expected);
        uint64_t moved = address + (uint64_t)(uintptr_t)copy - (uint64_t)(uintptr_t)libc.begin;
        eh_frame_find_rule(&damaged, moved, &rule);
        assert_memory_equal(&rule, &expected, sizeof rule);
        intact += rule.kind == UNWIND_SP || rule.kind == UNWIND_FP;
    }
    assert_true(intact > 5000); /* on some systems, the code's segment has much else */
    for (int round = 0; round < 60; round++) {
        memcpy(copy, libc.begin, bytes);
        int changes = 1 << (round % 16);
        for (int i = 0; i < changes; i++)
            copy[header_at + next_random() % (bytes - header_at)] = (uint8_t)next_random();
        if (round % 3 == 0) /* the tables' beginning, where all lookups pass */
            copy[header_at + next_random() % 12] = (uint8_t)next_random();
        damaged.end = copy + (round % 4 == 3 ? header_at + next_random() % (bytes - header_at) : bytes);
        for (int i = 0; i < 2000; i++) {
            struct unwind_rule rule;
            uint64_t address = libc.code_begin + next_random() % (libc.code_end - libc.code_begin);
            address += (uint64_t)(uintptr_t)copy - (uint64_t)(uintptr_t)libc.begin;
            eh_frame_find_rule(&damaged, i % 8 ? address : next_random(), &rule);
            assert_true(rule.kind <= UNWIND_DAMAGED);
            kinds[rule.kind]++;
        }
    }
    free(copy);
    assert_true(kinds[UNWIND_DAMAGED] > 100 && kinds[UNWIND_SP] > 1000 && kinds[UNWIND_NONE] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_with_a_frame_pointer),
        cmocka_unit_test(test_other_instructions),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_what_is_not_supported),
        cmocka_unit_test(test_damaged_programs),
        cmocka_unit_test(test_signal_frames_and_augmentations),
        cmocka_unit_test(test_addresses_outside_of_functions),
        cmocka_unit_test(test_damaged_headers),
        cmocka_unit_test(test_copies_with_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
