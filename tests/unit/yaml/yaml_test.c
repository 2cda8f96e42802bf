/* Scalars, references to variables, and the tree of a YAML document. */
#include "yaml/tree.h"

#include "support/test.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variables of the specification's table of examples. */
static const char *variable(const char *name, void *context)
{
    static const char *const pairs[][2] = {
        {"STRING_VALUE", "value"},
        {"BOOL_VALUE", "true"},
        {"INT_VALUE", "1"},
        {"FLOAT_VALUE", "1.1"},
        {"HEX_VALUE", "0xdeadbeef"},
        {"INVALID_MAP_VALUE", "value\nkey:value"},
        {"DO_NOT_REPLACE_ME", "Never use this value"},
        {"REPLACE_ME", "${DO_NOT_REPLACE_ME}"},
        {"VALUE_WITH_ESCAPE", "value$$"},
        {"EMPTY", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    }
    if (strcmp(name, "LONG") == 0) {
        static char text[40000];
        memset(text, 'x', sizeof text - 1);
        return text;
    }
    return NULL;
}

static const struct config_environment environment = {.get = variable};
static struct config_report report;

static void test_plain_scalars_have_the_types_of_the_core_schema(void **state)
{
    static const struct {
        const char *text;
        enum scalar_type type;
    } cases[] = {
        {"", SCALAR_NULL},        {"~", SCALAR_NULL},       {"null", SCALAR_NULL},
        {"Null", SCALAR_NULL},    {"nULL", SCALAR_STRING},  {"true", SCALAR_BOOL},
        {"FALSE", SCALAR_BOOL},   {"yes", SCALAR_STRING},   {"on", SCALAR_STRING},
        {"tRue", SCALAR_STRING},  {"0", SCALAR_INT},        {"-12", SCALAR_INT},
        {"+3", SCALAR_INT},       {"0o17", SCALAR_INT},     {"0o8", SCALAR_STRING},
        {"0xFf", SCALAR_INT},     {"0x", SCALAR_STRING},    {"017", SCALAR_INT},
        {"1_000", SCALAR_STRING}, {"1.", SCALAR_FLOAT},     {".5", SCALAR_FLOAT},
        {"-1.5e3", SCALAR_FLOAT}, {"1e3", SCALAR_FLOAT},    {"1e", SCALAR_STRING},
        {".", SCALAR_STRING},     {"-", SCALAR_STRING},     {".inf", SCALAR_FLOAT},
        {"-.Inf", SCALAR_FLOAT},  {".nan", SCALAR_FLOAT},   {"+.nan", SCALAR_STRING},
        {"inf", SCALAR_STRING},   {"1.2.3", SCALAR_STRING}, {"12:30", SCALAR_STRING},
        {"1 2", SCALAR_STRING},   {"-0x10", SCALAR_STRING}, {"0X10", SCALAR_STRING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (scalar_type_of(cases[i].text) != cases[i].type)
            fail_msg("%s is %s", cases[i].text, scalar_type_name(scalar_type_of(cases[i].text)));
    }
}

static void test_numbers_keep_to_their_range(void **state)
{
    uint64_t u;
    int64_t i;
    assert_true(scalar_parse_uint("18446744073709551615", &u) && u == UINT64_MAX);
    assert_false(scalar_parse_uint("18446744073709551616", &u));
    assert_false(scalar_parse_uint("-1", &u));
    assert_false(scalar_parse_uint("", &u));
    assert_false(scalar_parse_uint("5s", &u));
    assert_true(scalar_parse_uint("0xdeadbeef", &u) && u == 3735928559u);
    assert_true(scalar_parse_uint("0o777", &u) && u == 511);
    assert_true(scalar_parse_uint("0010", &u) && u == 10);
    assert_true(scalar_parse_int("-9223372036854775808", &i) && i == INT64_MIN);
    assert_false(scalar_parse_int("9223372036854775808", &i));
    assert_false(scalar_parse_int("-9223372036854775809", &i));
}

static void test_decimals_do_not_depend_on_the_locale(void **state)
{
    double d;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if installed, strtod expects "0,25" */
    assert_true(scalar_parse_float("0.25", &d) && d == 0.25);
    assert_true(scalar_parse_float("-.inf", &d) && isinf(d) && d < 0);
    assert_true(scalar_parse_float(".NaN", &d) && isnan(d));
    assert_true(scalar_parse_float("0x10", &d) && d == 16);
    assert_false(scalar_parse_float("0,25", &d));
    setlocale(LC_ALL, "C");
}

static struct node root_copy;

/* The value of `key:` in a document of this one key; text and type in root_copy. */
static const struct node *value_of(struct tree *tree, const char *yaml)
{
    config_report_init(&report);
    if (tree_parse(tree, yaml, strlen(yaml), "f", &environment, &report) != STATUS_OK)
        return NULL;
    root_copy = *node_find(tree->root, "key")->value;
    return &root_copy;
}

static void test_references_are_replaced_as_in_the_specification(void **state)
{
    static const struct {
        const char *input, *text;
        enum scalar_type type;
    } cases[] = {
        {"${STRING_VALUE}", "value", SCALAR_STRING},
        {"${BOOL_VALUE}", "true", SCALAR_BOOL},
        {"${INT_VALUE}", "1", SCALAR_INT},
        {"${FLOAT_VALUE}", "1.1", SCALAR_FLOAT},
        {"${HEX_VALUE}", "0xdeadbeef", SCALAR_INT},
        {"\"${STRING_VALUE}\"", "value", SCALAR_STRING},
        {"\"${BOOL_VALUE}\"", "true", SCALAR_STRING},
        {"'${INT_VALUE}'", "1", SCALAR_STRING},
        {"${env:STRING_VALUE}", "value", SCALAR_STRING},
        {"${INVALID_MAP_VALUE}", "value\nkey:value", SCALAR_STRING},
        {"foo ${STRING_VALUE} ${FLOAT_VALUE}", "foo value 1.1", SCALAR_STRING},
        {"${UNDEFINED_KEY}", "", SCALAR_NULL},
        {"\"${UNDEFINED_KEY}\"", "", SCALAR_STRING},
        {"${UNDEFINED_KEY:-fallback}", "fallback", SCALAR_STRING},
        {"${env:UNDEFINED_KEY:-12}", "12", SCALAR_INT},
        {"${EMPTY:-fallback}", "fallback", SCALAR_STRING},
        {"${UNDEFINED_KEY:-}", "", SCALAR_NULL},
        {"${REPLACE_ME}", "${DO_NOT_REPLACE_ME}", SCALAR_STRING},
        {"${UNDEFINED_KEY:-${STRING_VALUE}}", "${STRING_VALUE}", SCALAR_STRING},
        {"$${STRING_VALUE}", "${STRING_VALUE}", SCALAR_STRING},
        {"$$${STRING_VALUE}", "$value", SCALAR_STRING},
        {"$$$${STRING_VALUE}", "$${STRING_VALUE}", SCALAR_STRING},
        {"$${STRING_VALUE:-fallback}", "${STRING_VALUE:-fallback}", SCALAR_STRING},
        {"$${STRING_VALUE:-${STRING_VALUE}}", "${STRING_VALUE:-value}", SCALAR_STRING},
        {"${UNDEFINED_KEY:-$${UNDEFINED_KEY}}", "${UNDEFINED_KEY:-${UNDEFINED_KEY}}", SCALAR_STRING},
        {"${VALUE_WITH_ESCAPE}", "value$$", SCALAR_STRING},
        {"a $$ b", "a $ b", SCALAR_STRING},
        {"a $ b", "a $ b", SCALAR_STRING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[200];
        struct tree tree;
        snprintf(yaml, sizeof yaml, "key: %s\n", cases[i].input);
        const struct node *node = value_of(&tree, yaml);
        assert_non_null(node);
        if (strcmp(node->text, cases[i].text) != 0 || node->type != cases[i].type)
            fail_msg("%s became '%s', %s", cases[i].input, node->text, scalar_type_name(node->type));
        assert_int_equal(report.warnings, 0);
        tree_deinit(&tree);
    }
}

static void test_malformed_references_give_an_error_and_no_tree(void **state)
{
    static const char *const inputs[] = {"${STRING_VALUE:?error}",
                                         "${1API_KEY}",
                                         "${API_$KEY}",
                                         "${}",
                                         "${sys:x}",
                                         "${A B}",
                                         "${A:}",
                                         "${env:}"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        char yaml[100];
        struct tree tree;
        snprintf(yaml, sizeof yaml, "ok: 1\nkey:\n  - x: \"%s\"\n", inputs[i]);
        config_report_init(&report);
        assert_int_equal(tree_parse(&tree, yaml, strlen(yaml), "f.yaml", &environment, &report),
                         STATUS_INVALID);
        assert_null(tree.root);
        assert_int_equal(report.errors, 1);
        assert_non_null(strstr(report.messages[0].text, "f.yaml:3:8: key[0].x: malformed reference ${"));
    }
}

static void test_a_default_is_never_shown(void **state)
{
    struct substitution result;
    struct error err;
    assert_int_equal(substitute("${TOKEN?:-secret}", &environment, &result, &err), STATUS_INVALID);
    assert_null(strstr(err.text, "secret"));
    assert_int_equal(substitute("${TOKEN:?secret}", &environment, &result, &err), STATUS_INVALID);
    assert_null(strstr(err.text, "secret"));
    assert_null(result.text);
}

static void test_an_unfinished_reference_is_a_warning(void **state)
{
    struct tree tree;
    const struct node *node = value_of(&tree, "key: ${STRING_VALUE\n");
    assert_non_null(node);
    assert_string_equal(node->text, "${STRING_VALUE");
    assert_int_equal(report.warnings, 1);
    tree_deinit(&tree);
}

static void test_keys_are_never_substituted(void **state)
{
    struct tree tree;
    assert_non_null(value_of(&tree, "key: {\"${STRING_VALUE}\": 1}\n"));
    assert_non_null(node_find(&root_copy, "${STRING_VALUE}"));
    tree_deinit(&tree);
}

static void test_a_scalar_that_grows_too_long_is_refused(void **state)
{
    struct substitution result;
    struct error err;
    assert_int_equal(substitute("${LONG}", &environment, &result, &err), STATUS_OK);
    free(result.text);
    assert_int_equal(substitute("${LONG}${LONG}", &environment, &result, &err), STATUS_FULL);
    assert_null(result.text);
}

static void test_nodes_know_their_place(void **state)
{
    struct tree tree;
    static const char yaml[] = "a: 1\nkey:\n  - x\n  - {b: c}\n";
    const struct node *node = value_of(&tree, yaml);
    assert_non_null(node);
    assert_int_equal(node->kind, NODE_LIST);
    assert_int_equal(node->count, 2);
    const struct item *second = node->items->next;
    assert_int_equal(second->value->kind, NODE_MAP);
    assert_int_equal(second->value->items->line, 4);
    assert_int_equal(second->value->items->column, 6);
    assert_string_equal(second->value->items->value->text, "c");
    tree_deinit(&tree);
}

static void test_anchors_and_tags_work(void **state)
{
    struct tree tree;
    assert_non_null(value_of(&tree, "x: &a {n: 1}\nkey: [*a, *a, !!str 5, !!float 1, ! 7]\n"));
    const struct item *item = root_copy.items;
    assert_ptr_equal(item->value, item->next->value);
    item = item->next->next;
    assert_int_equal(item->value->type, SCALAR_STRING);
    assert_int_equal(item->next->value->type, SCALAR_FLOAT);
    assert_int_equal(item->next->next->value->type, SCALAR_STRING);
    tree_deinit(&tree);
}

static void assert_refused(const char *yaml, size_t length, const char *expected)
{
    struct tree tree;
    config_report_init(&report);
    assert_int_equal(tree_parse(&tree, yaml, length, "f", &environment, &report), STATUS_INVALID);
    assert_null(tree.root);
    assert_int_equal(report.errors, 1);
    if (!strstr(report.messages[0].text, expected))
        fail_msg("'%s' lacks '%s'", report.messages[0].text, expected);
}

static void test_surprises_are_refused_in_words(void **state)
{
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"a: 1\nb: {c: 1, c: 2}\n", "f:2:11: b.c: duplicate key, first on line 2"},
        {"a: [1\n", "f:2:1: not valid YAML"},
        {"a:\n\tb: 1\n", "not by tabs"},
        {"a: {b: ${C}}\n",
         "f:1:9: not valid YAML: did not find expected ',' or '}': put ${...} in quotes inside"},
        {"a: 1\n---\nb: 2\n", "f:2:1: a second document"},
        {"a: *none\n", "f:1:4: a: an alias without an earlier anchor"},
        {"a: &x [*x]\n", "an alias inside its own anchor"},
        {"? [a]\n: 1\n", "a key is a mapping or a list"},
        {"x: &k a\n*k : 1\n", "a key is an alias"},
        {"a: !!int abc\n", "does not match its tag"},
        {"a: !local b\n", "unknown tag"},
        {"a: !!set {b}\n", "unknown tag"},
        {"a: \"x\\0y\"\n", "NUL character"},
        {"\"x\\0y\": 1\n", "NUL character"},
        {"a: \xff\n", "save the file as UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].yaml, strlen(cases[i].yaml), cases[i].expected);
}

static char *repeat(const char *piece, size_t times, const char *end)
{
    size_t length = strlen(piece);
    char *text = malloc(length * times + strlen(end) + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * length, piece, length);
    strcpy(text + length * times, end);
    return text;
}

static void test_depth_and_size_are_bounded(void **state)
{
    struct tree tree;
    char *deep = repeat("[", TREE_DEPTH_MAX, "");
    char *closed = repeat("]", TREE_DEPTH_MAX, "");
    char *yaml = repeat(deep, 1, closed);
    config_report_init(&report);
    assert_int_equal(tree_parse(&tree, yaml, strlen(yaml), "f", &environment, &report), STATUS_OK);
    tree_deinit(&tree);
    free(yaml);
    yaml = repeat("[", TREE_DEPTH_MAX + 1, closed);
    assert_refused(yaml, strlen(yaml), "nested too deep");
    free(yaml);
    free(deep);
    free(closed);
    yaml = repeat("- a\n", TREE_NODES_MAX, "");
    assert_refused(yaml, strlen(yaml), "too many values");
    free(yaml);
    yaml = repeat("- ${LONG}\n", 110, "");
    assert_refused(yaml, strlen(yaml), "over 4 MiB");
    free(yaml);
}

static void test_too_many_keys_are_refused(void **state)
{
    char *yaml = malloc(16 * (TREE_KEYS_MAX + 1));
    size_t used = 0;
    for (int i = 0; i <= TREE_KEYS_MAX; i++)
        used += (size_t)sprintf(yaml + used, "k%d: 1\n", i);
    assert_refused(yaml, used, "too many keys");
    free(yaml);
}

static void test_an_empty_document_has_no_root(void **state)
{
    struct tree tree;
    config_report_init(&report);
    assert_int_equal(tree_parse(&tree, "# nothing\n", 10, "f", &environment, &report), STATUS_OK);
    assert_null(tree.root);
    tree_deinit(&tree);
}

static void test_messages_are_one_line_and_bounded(void **state)
{
    config_report_init(&report);
    char *key = repeat("\xc3\xa9", 400, "");
    config_error(&report, "a\nb\x1b[31m%s", key);
    free(key);
    assert_null(strchr(report.messages[0].text, '\n'));
    assert_null(strchr(report.messages[0].text, '\x1b'));
    size_t length = strlen(report.messages[0].text);
    assert_true(length < CONFIG_MESSAGE_BYTES);
    assert_int_equal(((unsigned char)report.messages[0].text[length - 1] & 0xc0),
                     0x80); /* not half a character */
    for (int i = 0; i < 100; i++)
        config_warning(&report, "w");
    assert_int_equal(report.count, CONFIG_WARNINGS_MAX);
    for (int i = 0; i < 100; i++)
        config_error(&report, "e");
    assert_int_equal(report.count, CONFIG_MESSAGES_MAX);
    assert_int_equal(report.errors, 101);
    assert_int_equal(report.warnings, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_scalars_have_the_types_of_the_core_schema),
        cmocka_unit_test(test_numbers_keep_to_their_range),
        cmocka_unit_test(test_decimals_do_not_depend_on_the_locale),
        cmocka_unit_test(test_references_are_replaced_as_in_the_specification),
        cmocka_unit_test(test_malformed_references_give_an_error_and_no_tree),
        cmocka_unit_test(test_a_default_is_never_shown),
        cmocka_unit_test(test_an_unfinished_reference_is_a_warning),
        cmocka_unit_test(test_keys_are_never_substituted),
        cmocka_unit_test(test_a_scalar_that_grows_too_long_is_refused),
        cmocka_unit_test(test_nodes_know_their_place),
        cmocka_unit_test(test_anchors_and_tags_work),
        cmocka_unit_test(test_surprises_are_refused_in_words),
        cmocka_unit_test(test_depth_and_size_are_bounded),
        cmocka_unit_test(test_too_many_keys_are_refused),
        cmocka_unit_test(test_an_empty_document_has_no_root),
        cmocka_unit_test(test_messages_are_one_line_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
