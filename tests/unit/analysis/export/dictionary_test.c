/* Dictionaries, names of folders, and JSON: everything that makes foreign text safe in an export. */
#include "analysis/export/dictionary.h"
#include "analysis/export/fleet_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_equal_texts_share_an_index(void **state)
{
    struct dictionary dictionary = {0};
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3000; i++) {
            int len = snprintf(text, sizeof text, "kernel %u", i);
            assert_int_equal(dictionary_add(&dictionary, text, (size_t)len, DICTIONARY_TEXT), i);
        }
    }
    assert_int_equal(dictionary.count, 3000);
    assert_int_equal(dictionary_add(&dictionary, "", 0, DICTIONARY_TEXT), 3000);
    assert_int_equal(dictionary_add(&dictionary, "a\0b", 3, DICTIONARY_TEXT), 3001);
    assert_int_equal(dictionary_add(&dictionary, "a", 1, DICTIONARY_TEXT), 3002);
    assert_int_equal(dictionary_add(&dictionary, NULL, 0, DICTIONARY_TEXT), 3000);
    dictionary_clear(&dictionary);
    assert_int_equal(dictionary.count, 0);
    assert_int_equal(dictionary_add(&dictionary, "x", 1, DICTIONARY_TEXT), 0);
    assert_int_equal(dictionary.plain.len, 5); /* its length in 4 bytes, and "x" */
    assert_memory_equal(dictionary.plain.data, "\1\0\0\0x", 5);
    dictionary_deinit(&dictionary);
}

static void test_fixed_values_have_no_length(void **state)
{
    struct dictionary dictionary = {0};
    assert_int_equal(dictionary_add(&dictionary, "0123456789abcdef", 16, DICTIONARY_FIXED), 0);
    assert_int_equal(dictionary_add(&dictionary, "0123456789abcdeX", 16, DICTIONARY_FIXED), 1);
    assert_int_equal(dictionary_add(&dictionary, "0123456789abcdef", 16, DICTIONARY_FIXED), 0);
    assert_int_equal(dictionary.plain.len, 32);
    dictionary_deinit(&dictionary);
}

static void check_path(uint64_t hour, const char *service, const char *expected)
{
    struct text path = {0};
    fleet_path_add_partition(&path, hour, service);
    assert_string_equal(path.data, expected);
    text_deinit(&path);
}

static void test_names_of_services_stay_in_one_folder(void **state)
{
    check_path(0, "app-1.2_x", "date=1970-01-01/hour=00/service=app-1.2_x");
    check_path(497000 + 23, "a/b", "date=2026-09-13/hour=07/service=a%2Fb");
    check_path(0, "../../etc", "date=1970-01-01/hour=00/service=..%2F..%2Fetc");
    check_path(0, "..", "date=1970-01-01/hour=00/service=..");
    check_path(0, "a b%\n=&", "date=1970-01-01/hour=00/service=a%20b%25%0A%3D%26");
    check_path(0, "\xff", "date=1970-01-01/hour=00/service=%FF");
    check_path(0, "", "date=1970-01-01/hour=00/service=__HIVE_DEFAULT_PARTITION__");
    check_path(0, NULL, "date=1970-01-01/hour=00/service=__HIVE_DEFAULT_PARTITION__");
}

/* A folder's name has at most 255 bytes. */
static void test_long_names_are_cut_and_distinct(void **state)
{
    struct text one = {0}, two = {0};
    char name[1001];
    for (size_t len = 150; len < sizeof name; len += 50) {
        memset(name, '/', len);
        name[len] = 0;
        text_clear(&one);
        text_clear(&two);
        fleet_path_add_partition(&one, 0, name);
        name[len - 1] = 'x';
        fleet_path_add_partition(&two, 0, name);
        assert_in_range(strlen(strrchr(one.data, '/')), 1, 255);
        assert_string_not_equal(one.data, two.data);
    }
    text_deinit(&one);
    text_deinit(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_texts_share_an_index),
        cmocka_unit_test(test_fixed_values_have_no_length),
        cmocka_unit_test(test_names_of_services_stay_in_one_folder),
        cmocka_unit_test(test_long_names_are_cut_and_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
