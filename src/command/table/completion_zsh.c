#include "command/table/table_text.h"

#include <string.h>

/* Text inside single quotes of zsh. Before the characters in `special`, _arguments needs a backslash. */
static void print_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* Actions of _arguments that complete one argument. */
static const char *const actions[] = {[COMPLETES_NOTHING] = " ",
                                      [COMPLETES_FILE] = "_files",
                                      [COMPLETES_OUTPUT] = "_files",
                                      [COMPLETES_OUTPUT_FILE] = "_files",
                                      [COMPLETES_PROGRAM] = " _command_names -e",
                                      [COMPLETES_COMMAND] = "(%s)",
                                      [COMPLETES_WORDS] = "(%s)",
                                      [COMPLETES_SUGGESTIONS] = "(%s)",
                                      [COMPLETES_WORD_OR_FILE] = "{compadd -- %s; _files}"};

/* '(-o --output)--output=[help]:FILE:action'. _arguments offers an option once, except after a star. */
static void print_option(FILE *out, const struct command_option *option, bool is_letter)
{
    fputs("            '", out);
    if (option->id == OPTION_SET)
        fputc('*', out);
    else if (option->id < 256)
        fprintf(out, "(-%c --%s)", option->id, option->name);
    if (is_letter)
        fprintf(out, "-%c", option->id);
    else
        fprintf(out, "--%s%s", option->name, option->argument ? "=" : "");
    fputc('[', out);
    print_quoted(out, option->help, "[]\\");
    fputc(']', out);
    if (option->argument) {
        fputc(':', out);
        print_quoted(out, option->argument, ":\\");
        fputc(':', out);
        completion_print_values(out, actions, option->completes, option->words);
    }
    fputs("' \\\n", out);
}

/* A launcher's operands belong to the launched program: its own completion takes over after its name. Nothing
 * is printed for operands that cannot be completed: zsh would then list options without inserting them. */
static void print_operands(FILE *out, const struct command *command)
{
    if (command->completes != COMPLETES_NOTHING) {
        fprintf(out, " \\\n            '%s:", command->is_launcher ? "(-)1" : "*");
        print_quoted(out, command->is_launcher ? "program" : command->operands, ":\\");
        fputc(':', out);
        completion_print_values(out, actions, command->completes, command->words);
        fputc('\'', out);
    }
    if (command->is_launcher)
        fputs(" \\\n            '*::argument: _cuspan_program'", out);
    fputs(" && ret=0 ;;\n", out);
}

static void print_command_case(FILE *out, const struct command *command)
{
    fprintf(out, "    %s)\n        _arguments -s -S \\\n", command->name);
    for (const struct command_option *o = command->options; o && o->name; o++) {
        if (o->id < 256)
            print_option(out, o, true);
        print_option(out, o, false);
    }
    fputs("            '(- *)--help[print help on this command]'", out);
    print_operands(out, command);
}

void completion_print_zsh(FILE *out)
{
    fputs("#compdef cuspan\n"
          "# zsh completion of cuspan; made by: cuspan help --completion zsh\n"
          "# _arguments keeps a leading -- among the launched program's words.\n"
          "_cuspan_program() {\n"
          "    if [[ $words[1] == -- ]]; then shift words; (( CURRENT-- )); fi\n"
          "    _normal\n"
          "}\n"
          "_cuspan() {\n"
          "    local curcontext=$curcontext context state state_descr line ret=1\n"
          "    typeset -A opt_args\n"
          "    local -a subcommands=(\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "        '%s:", commands[i].name);
        print_quoted(out, commands[i].summary, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    _arguments -C '1: :->command' '*:: :->argument' && ret=0\n"
          "    case $state in\n"
          "    command) _describe -t commands command subcommands && return 0 ;;\n"
          "    argument) curcontext=${curcontext%:*:*}:cuspan-$words[1]: ;;\n"
          "    *) return ret ;;\n"
          "    esac\n"
          "    case $words[1] in\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        print_command_case(out, &commands[i]);
    fputs("    esac\n"
          "    return ret\n"
          "}\n"
          "# Loaded by zsh as a function, or read by `source`.\n"
          "if [ \"${funcstack[1]}\" = _cuspan ]; then _cuspan \"$@\"; else compdef _cuspan cuspan; fi\n",
          out);
}
