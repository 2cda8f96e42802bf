#include "cli/args/options.h"

#include "cli/args/command.h"
#include "command/table/table_text.h"
#include "support/cli_trace.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <ctype.h>

static struct options options;

static void begin(const char *command, char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    options_init(&options, command_find(command), argc, argv);
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

/* Mostly a variable of a shell that is not set. */
static void test_empty_arguments(void **state)
{
    char *lines[][4] = {{"show", "--trace", "", NULL}, {"show", "--trace=", NULL}, {"show", "", NULL}};
    const char *const texts[] = {"the argument of --trace is empty", "the argument of --trace is empty",
                                 "an argument is empty"};
    for (size_t i = 0; i < 3; i++) {
        begin("show", lines[i]);
        stderr_begin();
        assert_int_equal(options_next(&options), OPTION_WRONG);
        char *text = stderr_end();
        if (!strstr(text, texts[i]))
            fail_msg("%s", text);
        free(text);
    }
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
    char *numbers[] = {"12x", "101", "100"}, *words[] = {"never", "alway"};
    for (size_t i = 0; i < 3; i++) {
        char *argv[] = {"show", "--width", numbers[i], NULL};
        long number;
        begin("show", argv);
        assert_int_equal(options_next(&options), OPTION_WIDTH);
        assert_int_equal(options_number(&options, 0, 100, &number), i == 2);
    }
    for (size_t i = 0; i < 2; i++) {
        char *argv[] = {"show", "--color", words[i], NULL};
        begin("show", argv);
        assert_int_equal(options_next(&options), i ? OPTION_WRONG : OPTION_COLOR);
        assert_true(i || options.word == 2);
    }
}

static void test_the_nearest_name_is_near(void **state)
{
    const char *names[] = {"run", "record", "replay", "show"};
    assert_string_equal(options_suggest("recrod", names, 4), "record");
    assert_string_equal(options_suggest("shwo", names, 4), "show");
    assert_null(options_suggest("entirely-else", names, 4));
    assert_null(options_suggest("", names, 4));
}

static int take_operand(void *context, struct options *given, int option)
{
    assert_int_equal(option, OPTION_OPERAND);
    *(const char **)context = given->value;
    return strcmp(given->value, "bad") == 0 ? EXIT_USAGE : EXIT_OK;
}

static void test_options_set_their_targets(void **state)
{
    bool lines = false;
    const char *perfetto = NULL, *operand = NULL;
    int color = 0, format = 0;
    uint32_t rows = 0;
    const struct option_target targets[] = {{OPTION_LINES, .flag = &lines},
                                            {OPTION_PERFETTO, .text = &perfetto},
                                            {OPTION_COLOR, .choice = &color},
                                            {OPTION_LINEAR, .choice = &format, .value = 7},
                                            {OPTION_ROWS, .number = &rows, .min = 1, .max = 9},
                                            {0}};
    char *all[] = {"show", "--lines",  "--perfetto", "p", "--color=never",
                   "f",    "--linear", "--rows",     "9", NULL};
    begin("show", all);
    assert_true(options_read(&options, targets, take_operand, &operand));
    assert_true(lines);
    assert_string_equal(perfetto, "p");
    assert_string_equal(operand, "f");
    assert_int_equal(color, 2);
    assert_int_equal(format, 7);
    assert_int_equal(rows, 9);
    char *too_many[] = {"show", "--rows", "10", NULL}, *refused[] = {"show", "bad", "--lines", NULL};
    char *help[] = {"show", "--help", NULL}, *operand_of_none[] = {"version", "x", NULL};
    begin("show", too_many);
    assert_false(options_read(&options, targets, take_operand, &operand));
    assert_int_equal(options.status, EXIT_USAGE);
    begin("show", refused);
    assert_false(options_read(&options, targets, take_operand, &operand));
    assert_int_equal(options.status, EXIT_USAGE);
    begin("show", help);
    assert_false(options_read(&options, targets, take_operand, &operand));
    assert_int_equal(options.status, EXIT_OK);
    begin("version", operand_of_none);
    assert_false(options_read(&options, NULL, NULL, NULL));
    assert_int_equal(options.status, EXIT_USAGE);
}

/* Usage lines and commands of examples are not wrapped. */
static bool may_be_long(const char *line)
{
    return strncmp(line, "usage:", 6) == 0 ||
           (strncmp(line, "  ", 2) == 0 && line[2] != ' ' && line[2] != '-');
}

static void assert_text_is_well_formed(const struct command *command, const char *help)
{
    assert_true(isupper((unsigned char)command->text[0])); /* a sentence */
    assert_true(strlen(command->summary) <= 68);           /* the overview has 12 columns before it */
    for (const char *line = strtok(strdupa(help), "\n"); line; line = strtok(NULL, "\n"))
        assert_true(may_be_long(line) || strlen(line) <= 80);
    char *related = strdupa(command->related ? command->related : "");
    for (const char *name = strtok(related, " "); name; name = strtok(NULL, " "))
        assert_non_null(command_find(name));
}

static char *candidates(char *const *words)
{
    FILE *file = tmpfile();
    int count = 0;
    while (words[count])
        count++;
    completion_print_candidates(file, count, words);
    char *text = contents_of(file);
    fclose(file);
    return text;
}

#define assert_candidates(expected, ...)                                                                     \
    do {                                                                                                     \
        char *text = candidates((char *[]){__VA_ARGS__, NULL});                                              \
        assert_string_equal(text, expected);                                                                 \
        free(text);                                                                                          \
    } while (0)

static void test_candidates_of_words(void **state)
{
    assert_candidates("bash\nzsh\nfish\n", "help", "--completion", "");
    assert_candidates("--completion=bash\n--completion=zsh\n--completion=fish\n", "help", "--completion=z");
    assert_candidates(":files\n", "record", "-o", "a");
    assert_candidates(":files\n", "show", "a");
    assert_candidates(":files\n", "show", "--", "--x");
    assert_candidates("", "version", "");
    assert_candidates("", "run", "--endpoint", "");
    assert_candidates("", "nothing", "");
    assert_candidates("write\nremove\n", "cdi", "");
}

static void test_candidates_of_launchers(void **state)
{
    assert_candidates(":program 2\n", "run", "");
    assert_candidates(":program 2\n", "run", "prog", "--set");
    assert_candidates(":program 4\n", "run", "--detail", "full", "prog", "a");
    assert_candidates(":program 3\n", "run", "--detail=full", "prog", "a");
    assert_candidates(":program 3\n", "run", "--", "--x");
    assert_candidates(":program 3\n", "run", "-q", "prog", "");
}

static void test_candidates_name_every_command_and_option(void **state)
{
    char *names = candidates((char *[]){"", NULL});
    for (size_t c = 0; c < command_count; c++) {
        char *offered = candidates((char *[]){strdupa(commands[c].name), "-", NULL});
        char line[128];
        snprintf(line, sizeof line, "%s\t%s\n", commands[c].name, commands[c].summary);
        assert_non_null(strstr(names, line));
        for (const struct command_option *o = commands[c].options; o && o->name; o++) {
            snprintf(line, sizeof line, "--%s\t", o->name);
            assert_non_null(strstr(offered, line));
        }
        free(offered);
    }
    free(names);
}

/* Every option must be in the help and the man page. */
static void test_every_option_is_documented_everywhere(void **state)
{
    for (size_t i = 0; i < command_count; i++) {
        FILE *help_file = tmpfile(), *man_file = tmpfile();
        help_print_command(help_file, &commands[i]);
        man_print(man_file, &commands[i]);
        char *help = contents_of(help_file), *man = contents_of(man_file);
        assert_non_null(strstr(man, commands[i].summary));
        assert_text_is_well_formed(&commands[i], help);
        for (const struct command_option *o = commands[i].options; o && o->name; o++) {
            char option[64];
            snprintf(option, sizeof option, "--%s", o->name);
            assert_non_null(strstr(help, option));
            assert_non_null(o->help);
            assert_true((o->completes == COMPLETES_WORDS || o->completes == COMPLETES_SUGGESTIONS) ==
                        (o->words != NULL));
        }
        free(help);
        free(man);
        fclose(help_file);
        fclose(man_file);
    }
}

static void test_lines_and_paragraphs_are_kept(void **state)
{
    const struct command list = {
        .name = "list", .text = "Levels:\na: b\n.c\n\nEnd.", .summary = "s", .related = "run stat"};
    FILE *help_file = tmpfile(), *man_file = tmpfile();
    help_print_command(help_file, &list);
    man_print(man_file, &list);
    char *help = contents_of(help_file), *man = contents_of(man_file);
    assert_string_equal(help, "usage: cuspan list\n\nLevels:\na: b\n.c\n\nEnd.\n");
    assert_non_null(strstr(man, "\nLevels:\n.br\na: b\n.br\n\\&.c\n.PP\nEnd.\n"));
    assert_non_null(strstr(man, "\n.BR cuspan (1),\n.BR cuspan\\-run (1),\n.BR cuspan\\-stat (1)\n"));
    free(help);
    free(man);
    fclose(help_file);
    fclose(man_file);
}

static void test_option_ids_are_unique_in_a_command(void **state)
{
    for (size_t i = 0; i < command_count; i++) {
        for (const struct command_option *a = commands[i].options; a && a->name; a++) {
            for (const struct command_option *b = a + 1; b->name; b++)
                assert_true(a->id != b->id || a->id == OPTION_OF_FLEET);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_and_operands_in_any_order),
        cmocka_unit_test(test_a_launchers_options_end_at_its_program),
        cmocka_unit_test(test_empty_arguments),
        cmocka_unit_test(test_short_options_take_attached_values),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_options_set_their_targets),
        cmocka_unit_test(test_the_nearest_name_is_near),
        cmocka_unit_test(test_candidates_of_words),
        cmocka_unit_test(test_candidates_of_launchers),
        cmocka_unit_test(test_candidates_name_every_command_and_option),
        cmocka_unit_test(test_every_option_is_documented_everywhere),
        cmocka_unit_test(test_lines_and_paragraphs_are_kept),
        cmocka_unit_test(test_option_ids_are_unique_in_a_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
