#include "command/table/table_text.h"

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
        if (*text == '\n')
            fputs("\n.br\n", out);
        else if (*text == '\\')
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
    fputs(" 1 \"\" \"cuspan " CUSPAN_VERSION "\" \"cuspan\"\n.nh\n.ad l\n.SH NAME\ncuspan", out);
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

/* The same on all pages. */
static const char exit_status_and_environment[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nThe command succeeded.\n"
    ".TP\n.B 1\nThe command failed, or a condition is met for which DESCRIPTION gives this status.\n"
    ".TP\n.B 2\nThe command line is invalid. For cuspan diff, also: a file cannot be read.\n"
    ".PP\n"
    "cuspan run, cuspan record and cuspan stat exit with the status of the program that they run. "
    "The status is 126 if the program cannot be executed, and 127 if it is not found.\n"
    ".SH ENVIRONMENT\n"
    "OpenTelemetry's variables (OTEL_*) and cuspan's own (CUSPAN_*) configure the agent.\n"
    ".B cuspan help settings\nlists the variable of each setting.\n"
    ".B cuspan help environment\nlists the other variables.\n";

static void print_see_also(FILE *out, const char *names)
{
    fputs(".SH SEE ALSO\n.BR cuspan (1)", out);
    while (names && *names) {
        size_t len = strcspn(names, " ");
        fprintf(out, ",\n.BR cuspan\\-%.*s (1)", (int)len, names);
        names += len + strspn(names + len, " ");
    }
    fputc('\n', out);
}

static void print_overview(FILE *out)
{
    print_title(out, NULL, "CUDA calls and GPU work as OpenTelemetry spans");
    fputs(".SH SYNOPSIS\n.B cuspan\n.I COMMAND\n[\\fIOPTION\\fR...]\n"
          ".SH DESCRIPTION\n"
          "Traces CUDA programs without changes to them, and sends their calls and GPU work to an "
          "OpenTelemetry collector. The CUDA driver loads an agent into the program. cuspan starts the "
          "program with the agent, controls agents, and reads their files.\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, ".TP\n.BR cuspan\\-%s (1)\n", commands[i].name);
        print_line(out, "", commands[i].summary);
    }
    fputs(exit_status_and_environment, out);
    fputs(".SH SEE ALSO\n.BR cuspan\\-run (1),\n.BR cuspan\\-doctor (1),\n.BR cuspan\\-help (1)\n", out);
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
        fputs("[\\fIOPTION\\fR...]\\&\n", out); /* otherwise "...]" ends a sentence, and two spaces follow */
    if (command->operands)
        print_line(out, "", command->operands);
    fputs(".SH DESCRIPTION\n", out);
    print_line(out, "", command->text);
    if (command->options)
        print_options(out, command->options);
    if (command->examples)
        fputs(".SH EXAMPLES\n", out);
    for (const struct command_example *e = command->examples; e && e->command; e++) {
        print_line(out, ".TP\n.B", e->command);
        print_line(out, "", e->text);
    }
    fputs(exit_status_and_environment, out);
    print_see_also(out, command->related);
}

void overview_print(FILE *out)
{
    fputs("cuspan: CUDA calls and GPU work as OpenTelemetry spans\n"
          "\n"
          "usage: cuspan COMMAND [OPTION...]\n"
          "\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\ncuspan help COMMAND explains a command; cuspan help settings lists all settings.\n", out);
}
