/* The scripts are the same for every release: they ask this program for candidates. */
#include "command/table/table_text.h"

#include <string.h>

/* --- candidates --- */

static void print_values(FILE *out, enum completes completes, const char *words, const char *prefix)
{
    for (size_t i = 0; completes == COMPLETES_COMMAND && i < command_count; i++)
        fprintf(out, "%s%s\t%s\n", prefix, commands[i].name, commands[i].summary);
    for (size_t length; words && *words; words += length + strspn(words + length, " ")) {
        length = strcspn(words, " ");
        fprintf(out, "%s%.*s\n", prefix, (int)length, words);
    }
    if (command_names_file(completes) || completes == COMPLETES_WORD_OR_FILE)
        fputs(":files\n", out);
}

static void print_options(FILE *out, const struct command *command)
{
    for (const struct command_option *o = command->options; o && o->name; o++) {
        fprintf(out, "--%s\t%s\n", o->name, o->help);
        if (o->id < 256)
            fprintf(out, "-%c\t%s\n", o->id, o->help);
    }
    fputs("--help\tprint help on this command\n", out);
}

/* The option with an argument that the first `length` bytes of a word name; NULL: none. */
static const struct command_option *find_option(const struct command *command, const char *word,
                                                size_t length)
{
    for (const struct command_option *o = command->options; o && o->name; o++) {
        bool is_letter = length == 2 && word[0] == '-' && word[1] == o->id;
        bool is_name = length == strlen(o->name) + 2 && memcmp(word, "--", 2) == 0 &&
                       memcmp(word + 2, o->name, length - 2) == 0;
        if (o->argument && (is_letter || is_name))
            return o;
    }
    return NULL;
}

static void print_option_candidates(FILE *out, const struct command *command, const char *word)
{
    char prefix[64];
    size_t length = strcspn(word, "=");
    const struct command_option *option = word[length] ? find_option(command, word, length) : NULL;
    if (!option)
        return print_options(out, command);
    snprintf(prefix, sizeof prefix, "--%s=", option->name);
    print_values(out, option->completes, option->words, prefix);
}

void completion_print_candidates(FILE *out, int count, char *const *words)
{
    const struct command *command = count > 1 ? command_find(words[0]) : NULL;
    const struct command_option *option = NULL; /* whose argument is the next word */
    bool only_operands = false;
    if (count == 1)
        print_values(out, COMPLETES_COMMAND, NULL, "");
    if (!command)
        return;
    for (int i = 1; i < count - 1; i++) {
        if (option) {
            option = NULL;
        } else if (only_operands || words[i][0] != '-') {
            if (command->is_launcher) {
                fprintf(out, ":program %d\n", i + 1);
                return;
            }
        } else if (strcmp(words[i], "--") == 0) {
            only_operands = true;
        } else {
            option = find_option(command, words[i], strlen(words[i]));
        }
    }
    if (option)
        print_values(out, option->completes, option->words, "");
    else if (!only_operands && words[count - 1][0] == '-')
        print_option_candidates(out, command, words[count - 1]);
    else if (command->completes == COMPLETES_PROGRAM)
        fprintf(out, ":program %d\n", count);
    else
        print_values(out, command->completes, command->words, "");
}

/* --- scripts --- */

static const char bash[] =
    "# bash completion of cuspan; made by: cuspan help --completion bash\n"
    "# shellcheck disable=SC2207 # compgen answers one word a line\n"
    "_cuspan() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} line\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files) COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n"
    "        \":program $COMP_CWORD\") COMPREPLY=($(compgen -c -- \"$cur\"; compgen -f -- \"$cur\")) ;;\n"
    "        :program*)\n"
    "            if declare -F _command_offset >/dev/null; then _command_offset \"${line#* }\"; return; fi\n"
    "            COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
    "        \"$cur\"*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" help --candidates \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -o filenames -o bashdefault -F _cuspan cuspan\n";

static const char zsh[] =
    "#compdef cuspan\n"
    "# zsh completion of cuspan; made by: cuspan help --completion zsh\n"
    "_cuspan() {\n"
    "    local line cuspan=${(Q)words[1]} ret=1\n"
    "    local -a candidates\n"
    "    for line in ${(f)\"$(${~cuspan} help --candidates \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\"}; do\n"
    "        case $line in\n"
    "        :files)\n"
    "            if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi\n"
    "            _files && ret=0 ;;\n"
    "        :program*)\n"
    "            shift ${line#* } words; (( CURRENT -= ${line#* } ))\n"
    "            _normal && ret=0 ;;\n"
    "        *) candidates+=(\"${${line//:/\\\\:}/$'\\t'/:}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    _describe -t candidates candidate candidates && ret=0\n"
    "    return ret\n"
    "}\n"
    "# Loaded by zsh as a function, or read by `source`.\n"
    "if [ \"${funcstack[1]}\" = _cuspan ]; then _cuspan \"$@\"; else compdef _cuspan cuspan; fi\n";

static const char fish[] =
    "# fish completion of cuspan; made by: cuspan help --completion fish\n"
    "function __cuspan_candidates\n"
    "    set -l words (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    set -l cuspan $words[1]\n"
    "    set -e words[1]\n"
    "    for line in ($cuspan help --candidates $words \"$current\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                set -l option (string match -r -- '^--[^=]*=' \"$current\")\n"
    "                set -l path (string replace -r -- '^--[^=]*=' '' \"$current\")\n"
    "                string replace -r -- '^' \"$option\" (__fish_complete_path \"$path\")\n"
    "            case ':program *'\n"
    "                set -l at (string split ' ' $line)[2]\n"
    "                set -l program (string escape -- $words) \"$current\"\n"
    "                complete --do-complete=(string join ' ' -- $program[$at..])\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c cuspan -f -a '(__cuspan_candidates)'\n";

/* In the order of the words of --completion. */
const char *const completion_scripts[] = {bash, zsh, fish};
