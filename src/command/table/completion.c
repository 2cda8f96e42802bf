#include "command/table/table_text.h"

#include <string.h>

/* --- for all shells --- */

void completion_print_words(FILE *out, enum completes completes, const char *words)
{
    bool has_names = completes == COMPLETES_COMMAND;
    for (size_t i = 0; has_names && i < command_count; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i].name);
    if (words)
        fprintf(out, "%s%s", has_names ? " " : "", words);
}

void completion_print_values(FILE *out, const char *const *texts, enum completes completes, const char *words)
{
    const char *text = texts[completes], *place = strstr(text, "%s");
    fwrite(text, 1, place ? (size_t)(place - text) : strlen(text), out);
    if (!place)
        return;
    completion_print_words(out, completes, words);
    fputs(place + 2, out);
}

void completion_print_launchers(FILE *out, const char *separator)
{
    bool is_first = true;
    for (size_t i = 0; i < command_count; i++) {
        if (!commands[i].is_launcher)
            continue;
        fprintf(out, "%s%s", is_first ? "" : separator, commands[i].name);
        is_first = false;
    }
}

void completion_print_launcher_options(FILE *out)
{
    for (size_t i = 0; i < command_count; i++) {
        const struct command_option *o = commands[i].options;
        for (; commands[i].is_launcher && o && o->name; o++) {
            if (o->argument && o->id < 256)
                fprintf(out, " -%c", o->id);
            if (o->argument)
                fprintf(out, " --%s", o->name);
        }
    }
}

/* --- bash --- */

#define REPLY(words) "COMPREPLY=($(" words "))"
#define WORDS        "compgen -W \"%s\" -- \"$cur\""
#define FILES        "compgen -f -- \"$cur\""

/* Statements that fill COMPREPLY for one argument. */
static const char *const replies[] = {[COMPLETES_NOTHING] = "COMPREPLY=()",
                                      [COMPLETES_FILE] = REPLY(FILES),
                                      [COMPLETES_OUTPUT] = REPLY(FILES),
                                      [COMPLETES_OUTPUT_FILE] = REPLY(FILES),
                                      [COMPLETES_PROGRAM] = REPLY("compgen -c -- \"$cur\"; " FILES),
                                      [COMPLETES_COMMAND] = REPLY(WORDS),
                                      [COMPLETES_WORDS] = REPLY(WORDS),
                                      [COMPLETES_SUGGESTIONS] = REPLY(WORDS),
                                      [COMPLETES_WORD_OR_FILE] = REPLY(WORDS "; " FILES)};

static void print_option_names(FILE *out, const struct command *command)
{
    for (const struct command_option *o = command->options; o && o->name; o++) {
        fprintf(out, "--%s ", o->name);
        if (o->id < 256)
            fprintf(out, "-%c ", o->id);
    }
    fputs("--help", out);
}

static void print_command_case(FILE *out, const struct command *command)
{
    fprintf(out, "    %s)\n        case \"$prev\" in\n", command->name);
    for (const struct command_option *o = command->options; o && o->name; o++) {
        if (!o->argument)
            continue;
        fputs("        ", out);
        if (o->id < 256)
            fprintf(out, "-%c|", o->id);
        fprintf(out, "--%s) ", o->name);
        completion_print_values(out, replies, o->completes, o->words);
        fputs("; return ;;\n", out);
    }
    fputs("        esac\n        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"", out);
    print_option_names(out, command);
    fputs("\" -- \"$cur\"))\n        else ", out);
    completion_print_values(out, replies, command->completes, command->words);
    fputs("; fi ;;\n", out);
}

/* A launcher's operands belong to the launched program: bash completes them as if it stood alone. */
static void print_program_arguments(FILE *out)
{
    fputs("    case \"${COMP_WORDS[1]}\" in\n    ", out);
    completion_print_launchers(out, "|");
    fputs(")\n        local i takes=\"", out);
    completion_print_launcher_options(out);
    fputs(" \"\n"
          "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            case \"${COMP_WORDS[i]}\" in\n"
          "            --) ((i++)); break ;;\n"
          "            -*) [[ $takes == *\" ${COMP_WORDS[i]} \"* ]] && ((i++)) ;;\n"
          "            *) break ;;\n"
          "            esac\n"
          "        done\n"
          "        if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then _command_offset "
          "\"$i\"; return; fi\n"
          "        if ((i < COMP_CWORD)); then COMPREPLY=($(compgen -f -- \"$cur\")); return; fi ;;\n"
          "    esac\n",
          out);
}

void completion_print_bash(FILE *out)
{
    fputs("# bash completion of cuspan; made by: cuspan help --completion bash\n"
          "# shellcheck disable=SC2207 # compgen answers one word a line\n"
          "_cuspan() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W \"",
          out);
    completion_print_words(out, COMPLETES_COMMAND, NULL);
    fputs("\" -- \"$cur\")); return; fi\n", out);
    print_program_arguments(out);
    fputs("    case \"${COMP_WORDS[1]}\" in\n", out);
    for (size_t i = 0; i < command_count; i++)
        print_command_case(out, &commands[i]);
    fputs("    esac\n}\ncomplete -o filenames -o bashdefault -F _cuspan cuspan\n", out);
}
