#include "command/table/table_text.h"

#include <string.h>

/* Text inside single quotes of fish. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

/* A launcher's operands belong to the launched program: fish completes them as if it stood alone. */
static const char functions[] =
    "; or return 1\n"
    "    set -l at 3\n"
    "    while test $at -le (count $words)\n"
    "        switch $words[$at]\n"
    "            case --\n"
    "                math $at + 1\n"
    "                return 0\n"
    "            case $takes\n"
    "                set at (math $at + 2)\n"
    "            case '-*'\n"
    "                set at (math $at + 1)\n"
    "            case '*'\n"
    "                echo $at\n"
    "                return 0\n"
    "        end\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "# Whether an argument of one of these commands is to be completed.\n"
    "function __cuspan_is\n"
    "    set -l words (commandline -opc)\n"
    "    contains -- \"$words[2]\" $argv; and not __cuspan_program_at >/dev/null\n"
    "end\n"
    "function __cuspan_program\n"
    "    set -l words (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    set -l at (__cuspan_program_at); or set at (math (count $words) + 1)\n"
    "    complete --do-complete=(string join ' ' -- (string escape -- $words[$at..]) \"$current\")\n"
    "end\n";

static void print_functions(FILE *out)
{
    fputs(
        "# Prints the index of the program that a command such as `cuspan run` launches, once there is one.\n"
        "function __cuspan_program_at\n"
        "    set -l words (commandline -opc)\n"
        "    set -l takes",
        out);
    completion_print_launcher_options(out);
    fputs("\n    contains -- \"$words[2]\" ", out);
    completion_print_launchers(out, " ");
    fputs(functions, out);
}

/* Files, words or none. */
static const char *const candidates[] = {[COMPLETES_NOTHING] = "",
                                         [COMPLETES_FILE] = " -F",
                                         [COMPLETES_OUTPUT] = " -F",
                                         [COMPLETES_OUTPUT_FILE] = " -F",
                                         [COMPLETES_PROGRAM] = "",
                                         [COMPLETES_COMMAND] = " -a '%s'",
                                         [COMPLETES_WORDS] = " -a '%s'",
                                         [COMPLETES_SUGGESTIONS] = " -a '%s'",
                                         [COMPLETES_WORD_OR_FILE] = " -F -a '%s'"};

static void print_option(FILE *out, const struct command *command, const struct command_option *option)
{
    fprintf(out, "complete -c cuspan -n '__cuspan_is %s' -l %s", command->name, option->name);
    if (option->id < 256)
        fprintf(out, " -s %c", option->id);
    if (option->argument)
        fputs(command_names_file(option->completes) ? " -r" : " -x", out);
    completion_print_values(out, candidates, option->completes, option->words);
    fputs(" -d ", out);
    print_quoted(out, option->help);
    fputc('\n', out);
}

static void print_command(FILE *out, const struct command *command)
{
    fputs("complete -c cuspan -n 'test (count (commandline -opc)) = 1' -a ", out);
    print_quoted(out, command->name);
    fputs(" -d ", out);
    print_quoted(out, command->summary);
    fputc('\n', out);
    if (command->completes != COMPLETES_NOTHING && !command->is_launcher) {
        fprintf(out, "complete -c cuspan -n '__cuspan_is %s'", command->name);
        completion_print_values(out, candidates, command->completes, command->words);
        fputc('\n', out);
    }
    for (const struct command_option *o = command->options; o && o->name; o++)
        print_option(out, command, o);
    fprintf(out, "complete -c cuspan -n '__cuspan_is %s' -l help -d 'print help on this command'\n",
            command->name);
}

void completion_print_fish(FILE *out)
{
    fputs("# fish completion of cuspan; made by: cuspan help --completion fish\n", out);
    print_functions(out);
    fputs("complete -c cuspan -f\n"
          "complete -c cuspan -n 'contains -- (commandline -opc)[2] ",
          out);
    completion_print_launchers(out, " ");
    fputs("' -a '(__cuspan_program)'\n", out);
    for (size_t i = 0; i < command_count; i++)
        print_command(out, &commands[i]);
}
