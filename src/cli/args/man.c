#include "cli/args/help.h"

#include <ctype.h>
#include <string.h>

/* To roff, a leading dot or quote is a request, a backslash an escape, and a bare minus a hyphen. */
static void print_text(FILE *out, const char *text)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", out);
            text++;
            at_start = true;
            continue;
        }
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        at_start = *text == '\n';
    }
}

static void print_line(FILE *out, const char *request, const char *text)
{
    if (*request)
        fprintf(out, "%s ", request);
    print_text(out, text);
    fputc('\n', out);
}

static void print_upper(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), out);
}

static void print_title(FILE *out, const char *name, const char *summary)
{
    fputs(".TH CUSPAN", out);
    if (name) {
        fputs("\\-", out);
        print_upper(out, name);
    }
    fputs(" 1 \"\" \"cuspan " CUSPAN_VERSION "\" \"cuspan\"\n.SH NAME\ncuspan", out);
    if (name)
        fprintf(out, "\\-%s", name);
    fputs(" \\- ", out);
    print_line(out, "", summary);
}

static void print_options(FILE *out, const struct command_option *option)
{
    fputs(".SH OPTIONS\n", out);
    for (; option->name; option++) {
        fputs(".TP\n\\fB", out);
        if (option->id < 256)
            fprintf(out, "\\-%c\\fR, \\fB", option->id);
        fputs("\\-\\-", out);
        print_text(out, option->name);
        fputs("\\fR", out);
        if (option->argument)
            fprintf(out, " \\fI%s\\fR", option->argument);
        fputc('\n', out);
        print_line(out, "", option->help);
    }
}

static void print_overview(FILE *out)
{
    print_title(out, NULL, "CUDA calls and GPU work as OpenTelemetry spans");
    fputs(".SH SYNOPSIS\n.B cuspan\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, ".TP\n.BR cuspan\\-%s (1)\n", commands[i].name);
        print_line(out, "", commands[i].summary);
    }
}

void man_print(FILE *out, const struct command *command)
{
    if (!command) {
        print_overview(out);
        return;
    }
    print_title(out, command->name, command->summary);
    fprintf(out, ".SH SYNOPSIS\n.B cuspan %s\n", command->name);
    if (command->options)
        fputs("[\\fIOPTION\\fR...]\n", out);
    if (command->operands)
        print_line(out, "", command->operands);
    if (command->text) {
        fputs(".SH DESCRIPTION\n", out);
        print_line(out, "", command->text);
    }
    if (command->options)
        print_options(out, command->options);
    if (command->examples)
        fputs(".SH EXAMPLES\n", out);
    for (const struct command_example *e = command->examples; e && e->command; e++) {
        print_line(out, ".TP\n.B", e->command);
        print_line(out, "", e->text);
    }
    fputs(".SH SEE ALSO\n.BR cuspan (1)\n", out);
}
