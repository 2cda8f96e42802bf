#include "cli/args/options.h"

#include "cli/args/help.h"
#include "../support/cli_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct options options;

static void begin(const char *command, char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    options_init(&options, command, argc, argv);
}

static void test_options_and_operands_in_any_order(void **state)
{
    char *argv[] = {"show", "file", "--width=99", "--lines", "--trace", "abc", "-", "--", "--lines", NULL};
    begin("show", argv);
    assert_int_equal(options_next(&options), OPTION_OPERAND);
    assert_string_equal(options.value, "file");
    assert_int_equal(options_next(&options), OPTION_WIDTH);
    assert_string_equal(options.value, "99");
    assert_int_equal(options_next(&options), OPTION_LINES);
    assert_int_equal(options_next(&options), OPTION_TRACE);
    assert_string_equal(options.value, "abc");
    assert_int_equal(options_next(&options), OPTION_OPERAND);
    assert_string_equal(options.value, "-");
    assert_int_equal(options_next(&options), OPTION_OPERAND);
    assert_string_equal(options.value, "--lines");
    assert_int_equal(options_next(&options), OPTION_END);
}

static void test_a_launchers_options_end_at_its_program(void **state)
{
    char *argv[] = {"run", "-q", "--file", "f", "prog", "--file", "g", NULL};
    begin("run", argv);
    assert_int_equal(options_next(&options), 'q');
    assert_int_equal(options_next(&options), OPTION_FILE);
    assert_int_equal(options_next(&options), OPTION_END);
    assert_int_equal(options.next, 4);
    char *dashes[] = {"run", "-q", "--", "-prog", NULL};
    begin("run", dashes);
    assert_int_equal(options_next(&options), 'q');
    assert_int_equal(options_next(&options), OPTION_END);
    assert_int_equal(options.next, 3);
}

static void test_short_options_take_attached_values(void **state)
{
    char *argv[] = {"record", "-ofile", "-o", "other", NULL};
    begin("record", argv);
    assert_int_equal(options_next(&options), 'o');
    assert_string_equal(options.value, "file");
    assert_int_equal(options_next(&options), 'o');
    assert_string_equal(options.value, "other");
}

static void test_wrong_arguments_are_refused(void **state)
{
    char *unknown[] = {"show", "--linse", NULL}, *no_value[] = {"show", "--trace", NULL};
    char *too_much[] = {"show", "--lines=yes", NULL}, *letter[] = {"show", "-z", NULL};
    char **all[] = {unknown, no_value, too_much, letter};
    for (size_t i = 0; i < 4; i++) {
        begin("show", all[i]);
        assert_int_equal(options_next(&options), OPTION_WRONG);
    }
    long number;
    options.value = "12x";
    assert_false(options_number(&options, "width", 0, 100, &number));
    options.value = "101";
    assert_false(options_number(&options, "width", 0, 100, &number));
    options.value = "100";
    assert_true(options_number(&options, "width", 0, 100, &number));
    options.value = "never";
    assert_int_equal(options_word(&options, "color", "auto always never"), 2);
    options.value = "alway";
    assert_int_equal(options_word(&options, "color", "auto always never"), -1);
}

static void test_the_nearest_name_is_near(void **state)
{
    const char *names[] = {"run", "record", "replay", "show"};
    assert_string_equal(options_suggest("recrod", names, 4), "record");
    assert_string_equal(options_suggest("shwo", names, 4), "show");
    assert_null(options_suggest("entirely-else", names, 4));
    assert_null(options_suggest("", names, 4));
}

/* Every option must be in the help, the man page and the completion. */
static void test_every_option_is_documented_everywhere(void **state)
{
    FILE *completion_file = tmpfile();
    completion_print_bash(completion_file);
    char *completion = contents_of(completion_file);
    for (size_t i = 0; i < command_count; i++) {
        FILE *help_file = tmpfile(), *man_file = tmpfile();
        help_print_command(help_file, &commands[i]);
        man_print(man_file, &commands[i]);
        char *help = contents_of(help_file), *man = contents_of(man_file);
        assert_non_null(strstr(completion, commands[i].name));
        assert_non_null(strstr(man, commands[i].summary));
        for (const struct command_option *o = commands[i].options; o && o->name; o++) {
            char option[64];
            snprintf(option, sizeof option, "--%s", o->name);
            assert_non_null(strstr(help, option));
            assert_non_null(strstr(completion, option));
            assert_non_null(o->help);
            assert_true((o->completes == COMPLETES_WORDS) == (o->words != NULL));
        }
        free(help);
        free(man);
        fclose(help_file);
        fclose(man_file);
    }
    free(completion);
    fclose(completion_file);
}

static void test_option_ids_are_unique_in_a_command(void **state)
{
    for (size_t i = 0; i < command_count; i++) {
        for (const struct command_option *a = commands[i].options; a && a->name; a++) {
            for (const struct command_option *b = a + 1; b->name; b++)
                assert_int_not_equal(a->id, b->id);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_and_operands_in_any_order),
        cmocka_unit_test(test_a_launchers_options_end_at_its_program),
        cmocka_unit_test(test_short_options_take_attached_values),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_the_nearest_name_is_near),
        cmocka_unit_test(test_every_option_is_documented_everywhere),
        cmocka_unit_test(test_option_ids_are_unique_in_a_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
