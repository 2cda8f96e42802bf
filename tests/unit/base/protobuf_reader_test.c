#include "base/text/protobuf_reader.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READER(text) protobuf_reader_of(text, sizeof(text) - 1)

/* The number of fields before the message ends or is bad. */
static unsigned fields_of(struct protobuf_reader reader, bool *is_bad)
{
    struct protobuf_field field;
    unsigned count = 0;
    while (protobuf_next(&reader, &field))
        count++;
    *is_bad = reader.is_bad;
    return count;
}

#define EXPECT_BAD(text, before)                                                                             \
    do {                                                                                                     \
        bool found_bad;                                                                                      \
        assert_int_equal(fields_of(READER(text), &found_bad), before);                                       \
        assert_true(found_bad);                                                                              \
    } while (0)

static void test_fields_of_each_type(void **state)
{
    struct protobuf_reader reader = READER("\x08\x96\x01"
                                           "\x11\1\2\3\4\5\6\7\x08"
                                           "\x1a\3abc"
                                           "\x25\4\3\2\1"
                                           "\xfa\x7f\0");
    struct protobuf_field field;
    assert_true(protobuf_next(&reader, &field));
    assert_true(protobuf_is(&field, 1, PROTOBUF_VARINT));
    assert_int_equal(field.value, 150);
    assert_true(protobuf_next(&reader, &field));
    assert_true(protobuf_is(&field, 2, PROTOBUF_FIXED64));
    assert_true(field.value == 0x0807060504030201);
    assert_true(protobuf_next(&reader, &field));
    assert_true(protobuf_is(&field, 3, PROTOBUF_BYTES));
    assert_int_equal(field.length, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_true(protobuf_next(&reader, &field));
    assert_true(protobuf_is(&field, 4, PROTOBUF_FIXED32));
    assert_int_equal(field.value, 0x01020304);
    assert_true(protobuf_next(&reader, &field));
    assert_true(protobuf_is(&field, 2047, PROTOBUF_BYTES));
    assert_int_equal(field.length, 0);
    assert_non_null(field.bytes);
    assert_false(protobuf_next(&reader, &field));
    assert_false(reader.is_bad);
}

static void test_the_largest_numbers(void **state)
{
    struct protobuf_reader reader = READER("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                           "\xf8\xff\xff\xff\x7f\x01");
    struct protobuf_field field;
    assert_true(protobuf_next(&reader, &field));
    assert_true(field.value == UINT64_MAX);
    assert_true(protobuf_next(&reader, &field));
    assert_true(field.number == UINT32_MAX);
}

static void test_an_empty_message(void **state)
{
    bool is_bad;
    assert_int_equal(fields_of(protobuf_reader_of(NULL, 0), &is_bad), 0);
    assert_false(is_bad);
}

static void test_messages_inside(void **state)
{
    struct protobuf_reader reader = READER("\x0a\2\x08\7"
                                           "\x08\1"),
                           inner;
    struct protobuf_field field;
    assert_true(protobuf_next(&reader, &field));
    inner = protobuf_message(&field);
    assert_true(protobuf_next(&inner, &field));
    assert_int_equal(field.value, 7);
    assert_false(protobuf_next(&inner, &field));
    assert_true(protobuf_next(&reader, &field));
    inner = protobuf_message(&field); /* a number is no message */
    assert_true(inner.is_bad);
    assert_false(protobuf_next(&inner, &field));
}

static void test_bad_messages(void **state)
{
    EXPECT_BAD("\x80", 0); /* the tag ends early */
    EXPECT_BAD("\x08", 0); /* and a number */
    EXPECT_BAD("\x08\xff", 0);
    EXPECT_BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 0); /* more than 64 bits */
    EXPECT_BAD("\x08\1\x11\1\2\3", 1);
    EXPECT_BAD("\x08\1\x15\1\2\3", 1);
    EXPECT_BAD("\x0a\4abc", 0);
    EXPECT_BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 0); /* the length has no end */
    EXPECT_BAD("\x02\0", 0);                                     /* there is no field 0 */
    EXPECT_BAD("\x80\x80\x80\x80\x80\1\0", 0);                   /* nor one of more than 32 bits */
    EXPECT_BAD("\x0e", 0);                                       /* nor types 6 and 7 */
    EXPECT_BAD("\x0f", 0);
}

static void test_the_beginning_of_a_message(void **state)
{
    struct protobuf_reader reader = READER("\x0a\x20\x0a\x10"
                                           "abc"),
                           inner;
    struct protobuf_field field;
    reader.is_cut = true;
    assert_true(protobuf_next(&reader, &field));
    assert_int_equal(field.length, 5);
    inner = protobuf_message(&field);
    assert_true(protobuf_next(&inner, &field));
    assert_int_equal(field.length, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_false(protobuf_next(&reader, &field));
    assert_false(reader.is_bad);
}

static void test_groups_are_skipped(void **state)
{
    char deep[2 * 65 + 1];
    bool is_bad;
    assert_int_equal(fields_of(READER("\x0b\x08\1\x13\x14\x0c"
                                      "\x08\1"),
                               &is_bad),
                     2);
    assert_false(is_bad);
    EXPECT_BAD("\x0b\x08\1", 0);     /* it doesn't end */
    EXPECT_BAD("\x0b\x08\1\x14", 0); /* another one ends */
    EXPECT_BAD("\x08\1\x0c", 1);     /* none is open */
    memset(deep, 0x0b, 65);
    memset(deep + 65, 0x0c, 65);
    fields_of(protobuf_reader_of(deep + 1, 128), &is_bad);
    assert_false(is_bad);
    fields_of(protobuf_reader_of(deep, 130), &is_bad);
    assert_true(is_bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_each_type), cmocka_unit_test(test_the_largest_numbers),
        cmocka_unit_test(test_an_empty_message),    cmocka_unit_test(test_messages_inside),
        cmocka_unit_test(test_bad_messages),        cmocka_unit_test(test_the_beginning_of_a_message),
        cmocka_unit_test(test_groups_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
