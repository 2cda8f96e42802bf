#include "agent/correlate/trace/named_objects.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static struct named_objects table, *const objects = &table;

static int setup(void **state)
{
    memset(&table, 0, sizeof table);
    return 0;
}

static const char *name_of(enum named_object kind, uint64_t handle)
{
    return named_objects_text(objects, named_objects_find(objects, kind, handle));
}

static void test_names_are_of_a_kind_and_a_handle(void **state)
{
    assert_false(objects->has[NAMED_STREAM]);
    assert_null(name_of(NAMED_STREAM, 7));
    named_objects_name(objects, NAMED_STREAM, 7, "copies and more", 6);
    named_objects_name(objects, NAMED_THREAD, 7, "loader", 6);
    assert_true(objects->has[NAMED_STREAM]);
    assert_string_equal(name_of(NAMED_STREAM, 7), "copies");
    assert_string_equal(name_of(NAMED_THREAD, 7), "loader");
    named_objects_name(objects, NAMED_STREAM, 7, "other", 5);
    assert_string_equal(name_of(NAMED_STREAM, 7), "other");
}

static void test_what_is_forgotten_has_no_name_and_keeps_its_index(void **state)
{
    named_objects_name(objects, NAMED_STREAM, 0, "null", 4);
    uint32_t index = named_objects_find(objects, NAMED_STREAM, 0);
    named_objects_forget(objects, NAMED_STREAM, 0);
    named_objects_forget(objects, NAMED_STREAM, 99);
    assert_null(name_of(NAMED_STREAM, 0));
    assert_null(named_objects_text(objects, index));
    named_objects_name(objects, NAMED_STREAM, 0, "again", 5);
    assert_int_equal(named_objects_find(objects, NAMED_STREAM, 0), index);
}

static void test_there_is_an_end_to_names(void **state)
{
    for (uint64_t handle = 1; handle <= OBJECTS_MAX + 10; handle++)
        named_objects_name(objects, NAMED_STREAM, handle * 64, "stream", 6);
    assert_string_equal(name_of(NAMED_STREAM, 64 * OBJECTS_MAX), "stream");
    assert_null(name_of(NAMED_STREAM, 64 * (OBJECTS_MAX + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_names_are_of_a_kind_and_a_handle, setup),
        cmocka_unit_test_setup(test_what_is_forgotten_has_no_name_and_keeps_its_index, setup),
        cmocka_unit_test_setup(test_there_is_an_end_to_names, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
