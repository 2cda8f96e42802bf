#include "model/settings/settings.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status set_array(struct resource *resource, const char *key, enum resource_value type,
                             const union resource_item *items, size_t count)
{
    struct resource_attr attr = {.key = key,
                                 .type = type,
                                 .is_array = true,
                                 .item_count = count,
                                 .items = (union resource_item *)(uintptr_t)items};
    return resource_set(resource, &attr);
}

static const union resource_item words[] = {{.string = "one"}, {.string = "two"}};

static void test_each_type_is_found_again(void **state)
{
    struct resource resource = {0};
    assert_int_equal(resource_set_string(&resource, "service.name", "shop"), STATUS_OK);
    assert_int_equal(resource_set_int(&resource, "process.pid", -7), STATUS_OK);
    assert_int_equal(resource_set_bool(&resource, "b", true), STATUS_OK);
    assert_int_equal(resource_set_double(&resource, "d", 0.5), STATUS_OK);
    assert_int_equal(set_array(&resource, "s", RESOURCE_STRING, words, 2), STATUS_OK);
    const union resource_item numbers[] = {{.integer = 1}, {.integer = -2}};
    assert_int_equal(set_array(&resource, "i", RESOURCE_INT, numbers, 2), STATUS_OK);
    assert_int_equal(resource.attr_count, 6);
    assert_string_equal(resource_find(&resource, "service.name")->items->string, "shop");
    assert_int_equal(resource_find(&resource, "process.pid")->items->integer, -7);
    assert_int_equal(resource_find(&resource, "b")->type, RESOURCE_BOOL);
    assert_true(resource_find(&resource, "d")->items->real == 0.5);
    assert_true(resource_find(&resource, "s")->is_array);
    assert_string_equal(resource_find(&resource, "s")->items[1].string, "two");
    assert_string_equal(resource_text(&resource, "service.name"), "shop");
    assert_null(resource_text(&resource, "s"));
    assert_null(resource_text(&resource, "b"));
    assert_null(resource_text(&resource, "none"));
    assert_int_equal(resource_find(&resource, "i")->type, RESOURCE_INT);
    assert_int_equal(resource_find(&resource, "i")->item_count, 2);
    assert_int_equal(resource_find(&resource, "i")->items[1].integer, -2);
    assert_null(resource_find(&resource, "none"));
    resource_deinit(&resource);
    assert_int_equal(resource.attr_count, 0);
}

static void test_setting_again_replaces_value_and_type(void **state)
{
    struct resource resource = {0};
    assert_int_equal(set_array(&resource, "k", RESOURCE_STRING, words, 1), STATUS_OK);
    assert_int_equal(resource_set_int(&resource, "k", 3), STATUS_OK);
    assert_int_equal(resource.attr_count, 1);
    assert_int_equal(resource.attrs[0].type, RESOURCE_INT);
    assert_false(resource.attrs[0].is_array);
    assert_int_equal(resource_set_string(&resource, "k", "x"), STATUS_OK);
    assert_string_equal(resource.attrs[0].items->string, "x");
    const union resource_item half = {.real = 0.5};
    assert_int_equal(set_array(&resource, "k", RESOURCE_DOUBLE, &half, 1), STATUS_OK);
    assert_true(resource.attrs[0].items[0].real == half.real);
    assert_int_equal(set_array(&resource, "k", RESOURCE_BOOL, NULL, 0), STATUS_OK);
    assert_int_equal(resource.attrs[0].item_count, 0);
    resource_deinit(&resource);
}

static void test_a_full_resource_takes_no_more_but_still_replaces(void **state)
{
    struct resource resource = {0};
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(resource_set_string(&resource, key, "v"), STATUS_OK);
    }
    assert_int_equal(resource_set_string(&resource, "one more", "v"), STATUS_FULL);
    assert_int_equal(set_array(&resource, "one more", RESOURCE_STRING, words, 2), STATUS_FULL);
    assert_int_equal(resource_set_string(&resource, "k5", "w"), STATUS_OK);
    assert_string_equal(resource_find(&resource, "k5")->items->string, "w");
    resource_deinit(&resource);
}

static void test_merge_adds_only_what_is_missing(void **state)
{
    struct resource to = {0}, from = {0};
    assert_int_equal(resource_set_string(&to, "service.name", "mine"), STATUS_OK);
    assert_int_equal(resource_set_string(&from, "service.name", "theirs"), STATUS_OK);
    assert_int_equal(resource_set_double(&from, "d", 1.5), STATUS_OK);
    assert_int_equal(resource_set_bool(&from, "b", false), STATUS_OK);
    assert_int_equal(resource_set_int(&from, "n", 9), STATUS_OK);
    const union resource_item truth = {.integer = 1};
    assert_int_equal(set_array(&from, "i", RESOURCE_BOOL, &truth, 1), STATUS_OK);
    assert_int_equal(set_array(&from, "s", RESOURCE_STRING, words, 2), STATUS_OK);
    from.schema_url = strdup("http://schema");
    assert_int_equal(resource_merge(&to, &from), STATUS_OK);
    resource_deinit(&from);
    assert_int_equal(to.attr_count, 6);
    assert_string_equal(resource_find(&to, "s")->items[0].string, "one");
    assert_string_equal(resource_find(&to, "service.name")->items->string, "mine");
    assert_true(resource_find(&to, "d")->items->real == 1.5);
    assert_int_equal(resource_find(&to, "b")->items->integer, 0);
    assert_int_equal(resource_find(&to, "n")->items->integer, 9);
    assert_int_equal(resource_find(&to, "i")->type, RESOURCE_BOOL);
    assert_int_equal(resource_find(&to, "i")->items[0].integer, 1);
    assert_string_equal(to.schema_url, "http://schema");
    resource_deinit(&to);
    assert_null(to.schema_url);
}

static void test_merge_into_a_full_resource_fails(void **state)
{
    struct resource to = {0}, from = {0};
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(resource_set_int(&to, key, i), STATUS_OK);
    }
    assert_int_equal(resource_set_int(&from, "k1", 1), STATUS_OK);
    assert_int_equal(resource_merge(&to, &from), STATUS_OK);
    assert_int_equal(resource_set_int(&from, "new", 1), STATUS_OK);
    assert_int_equal(resource_merge(&to, &from), STATUS_FULL);
    resource_deinit(&to);
    resource_deinit(&from);
}

static void test_deinit_is_safe_on_zeroes_and_twice(void **state)
{
    struct settings settings = {0};
    struct output_settings output = {0};
    settings_deinit(&settings);
    output_settings_deinit(&output);
    settings.accounts_file = strdup("x");
    settings_deinit(&settings);
    assert_null(settings.accounts_file);
    settings_deinit(&settings);
}

static void test_queue_gets_what_the_buffers_leave(void **state)
{
    struct settings settings = {.memory_bytes_max = SETTINGS_FIXED_BYTES + 10 * 1024 * 1024};
    settings.cupti.host_buffer_bytes = 1024 * 1024;
    settings.cupti.host_buffer_count = 4;
    settings.rings.total_bytes = 2 * 1024 * 1024;
    settings.correlation.pending_max = 1024 * 1024 / SETTINGS_PENDING_BYTES + 1;
    uint64_t buffers = settings_buffer_bytes(&settings) - SETTINGS_FIXED_BYTES;
    assert_in_range(buffers, 7 * 1024 * 1024, 7 * 1024 * 1024 + SETTINGS_PENDING_BYTES);
    assert_true(settings_have_room_for_engines(&settings));
    assert_int_equal(settings_queue_bytes(&settings), 10 * 1024 * 1024 - buffers - SETTINGS_ENGINE_BYTES);
    settings.detail = DETAIL_GRAPH_NODES; /* the calls that captured nodes are kept */
    assert_false(settings_have_room_for_engines(&settings));
    assert_int_equal(settings_queue_bytes(&settings),
                     10 * 1024 * 1024 - buffers - SETTINGS_GRAPH_NODES_BYTES);
    settings.detail = DETAIL_SUMMARY;
    assert_int_equal(settings_queue_bytes(&settings), 10 * 1024 * 1024 - buffers - SETTINGS_SUMMARIES_BYTES);
    settings.memory_bytes_max = 1;
    assert_int_equal(settings_queue_bytes(&settings), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_is_found_again),
        cmocka_unit_test(test_setting_again_replaces_value_and_type),
        cmocka_unit_test(test_a_full_resource_takes_no_more_but_still_replaces),
        cmocka_unit_test(test_merge_adds_only_what_is_missing),
        cmocka_unit_test(test_merge_into_a_full_resource_fails),
        cmocka_unit_test(test_deinit_is_safe_on_zeroes_and_twice),
        cmocka_unit_test(test_queue_gets_what_the_buffers_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
