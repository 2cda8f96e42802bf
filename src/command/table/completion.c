#include "command/table/table_text.h"

#include <string.h>

static void print_command_names(FILE *out)
{
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i].name);
}

static void print_option_names(FILE *out, const struct command *command)
{
    for (const struct command_option *o = command->options; o && o->name; o++) {
        fprintf(out, "--%s ", o->name);
        if (o->id < 256)
            fprintf(out, "-%c ", o->id);
    }
    fputs("--help", out);
}

/* The statement that fills COMPREPLY for one argument. */
static void print_reply(FILE *out, enum completes completes, const char *words)
{
    switch (completes) {
    case COMPLETES_FILE:
    case COMPLETES_OUTPUT:
    case COMPLETES_OUTPUT_FILE:
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
        break;
    case COMPLETES_PROGRAM:
        fputs("COMPREPLY=($(compgen -c -- \"$cur\"; compgen -f -- \"$cur\"))", out);
        break;
    case COMPLETES_COMMAND:
        fputs("COMPREPLY=($(compgen -W \"", out);
        print_command_names(out);
        fprintf(out, "%s%s\" -- \"$cur\"))", words ? " " : "", words ? words : "");
        break;
    case COMPLETES_WORDS:
    case COMPLETES_SUGGESTIONS:
        fprintf(out, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))", words);
        break;
    case COMPLETES_WORD_OR_FILE:
        fprintf(out, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"; compgen -f -- \"$cur\"))", words);
        break;
    case COMPLETES_NOTHING:
        fputs("COMPREPLY=()", out);
        break;
    }
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
        print_reply(out, o->completes, o->words);
        fputs("; return ;;\n", out);
    }
    fputs("        esac\n        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"", out);
    print_option_names(out, command);
    fputs("\" -- \"$cur\"))\n        else ", out);
    print_reply(out, command->completes, command->words);
    fputs("; fi ;;\n", out);
}

/* A launcher's operands belong to the launched program: bash completes them as if it stood alone. */
static void print_program_arguments(FILE *out)
{
    fputs("    case \"${COMP_WORDS[1]}\" in\n    ", out);
    bool is_first = true;
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].is_launcher) {
            fprintf(out, "%s%s", is_first ? "" : "|", commands[i].name);
            is_first = false;
        }
    }
    fputs(")\n        local i takes=\" ", out);
    for (size_t i = 0; i < command_count; i++) {
        for (const struct command_option *o = commands[i].options; commands[i].is_launcher && o && o->name;
             o++) {
            if (o->argument)
                fprintf(out, "--%s ", o->name);
            if (o->argument && o->id < 256)
                fprintf(out, "-%c ", o->id);
        }
    }
    fputs("\"\n"
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
    print_command_names(out);
    fputs("\" -- \"$cur\")); return; fi\n", out);
    print_program_arguments(out);
    fputs("    case \"${COMP_WORDS[1]}\" in\n", out);
    for (size_t i = 0; i < command_count; i++)
        print_command_case(out, &commands[i]);
    fputs("    esac\n}\ncomplete -o filenames -o bashdefault -F _cuspan cuspan\n", out);
}
