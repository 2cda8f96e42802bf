#include "cli/args/command.h"

#include <string.h>

#define TEXT_COLUMNS  80
#define OPTION_INDENT 24

/* Writes words from `text`, wrapped, up to an empty line or the end; returns where it stopped. */
static const char *print_paragraph(FILE *out, const char *text, int indent, int column)
{
    while (*text && !(text[0] == '\n' && text[1] == '\n')) {
        bool is_line_end = *text == '\n';
        size_t len = strcspn(text, " \n");
        if (is_line_end || (column > indent && column + 1 + (int)len > TEXT_COLUMNS)) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += (int)len;
        text += len;
        if (is_line_end || *text == ' ')
            text++;
    }
    fputc('\n', out);
    return text + strspn(text, "\n");
}

static void print_option(FILE *out, const struct command_option *option)
{
    char left[64];
    char letter[8] = "";
    if (option->id < 256)
        snprintf(letter, sizeof letter, "-%c, ", option->id);
    int used = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
                        option->argument ? option->argument : "");
    fputs(left, out);
    if (used > OPTION_INDENT - 2) {
        fputc('\n', out);
        used = 0;
    }
    fprintf(out, "%*s", OPTION_INDENT - used, "");
    print_paragraph(out, option->help, OPTION_INDENT, OPTION_INDENT);
}

void help_print_command(FILE *out, const struct command *command)
{
    fprintf(out, "usage: cuspan %s%s%s%s\n\n", command->name, command->options ? " [OPTION...]" : "",
            command->operands ? " " : "", command->operands ? command->operands : "");
    for (const char *text = command->text; *text;) {
        text = print_paragraph(out, text, 0, 0);
        if (*text)
            fputc('\n', out);
    }
    if (command->options) {
        fputs("\noptions:\n", out);
        for (const struct command_option *option = command->options; option->name; option++)
            print_option(out, option);
    }
    if (command->examples)
        fputs("\nexamples:\n", out);
    for (const struct command_example *e = command->examples; e && e->command; e++)
        fprintf(out, "  %s\n      %s\n", e->command, e->text);
}
