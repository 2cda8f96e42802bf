#include "cli/args/options.h"

#include "base/text/sanitize.h"
#include "base/text/suggest.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void options_init(struct options *options, const struct command *command, int argc, char **argv)
{
    *options = (struct options){.command = command, .argc = argc, .argv = argv, .next = 1};
}

int options_complain(const struct options *options, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = xvasprintf(format, args);
    va_end(args);
    fprintf(stderr, "cuspan %s: %s (see: cuspan help %s)\n", options->command->name,
            sanitize_in_place(message), options->command->name);
    free(message);
    return EXIT_USAGE;
}

const char *options_suggest(const char *wrong, const char *const *names, size_t count)
{
    struct suggest suggest = {.word = wrong};
    for (size_t i = 0; i < count; i++)
        suggest_offer(&suggest, names[i]);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], suggest.best) == 0)
            return names[i];
    }
    return NULL;
}

static int complain_unknown(const struct options *options, const char *argument, size_t name_len)
{
    const char *names[32] = {"help"};
    size_t count = 1;
    for (const struct command_option *o = options->command->options; o && o->name && count < 32; o++)
        names[count++] = o->name;
    char wrong[SUGGEST_WORD_MAX + 1];
    snprintf(wrong, sizeof wrong, "%.*s", (int)name_len, argument + (argument[1] == '-' ? 2 : 1));
    const char *nearest = options_suggest(wrong, names, count);
    if (nearest)
        options_complain(options, "unknown option %s; did you mean --%s?", argument, nearest);
    else
        options_complain(options, "unknown option %s", argument);
    return OPTION_WRONG;
}

/* By its long name, or by its letter if `name` is NULL. */
static const struct command_option *find(const struct command *command, const char *name, size_t len,
                                         char letter)
{
    for (const struct command_option *o = command->options; o && o->name; o++) {
        if (name ? strlen(o->name) == len && strncmp(o->name, name, len) == 0 : o->id == letter)
            return o;
    }
    return NULL;
}

/* Sets options->word. */
static int check_word(struct options *options)
{
    const char *words = options->option->words;
    size_t value_len = strlen(options->value);
    options->word = 0;
    for (const char *word = words; *word; options->word++) {
        size_t len = strcspn(word, " ");
        if (len == value_len && strncmp(word, options->value, len) == 0)
            return options->option->id;
        word += len + (word[len] == ' ');
    }
    options_complain(options, "--%s needs one of: %s; not \"%s\"", options->option->name, words,
                     options->value);
    return OPTION_WRONG;
}

/* `attached` is what stood in the same argument behind the name, or NULL. */
static int take(struct options *options, const struct command_option *option, const char *attached)
{
    options->option = option;
    if (!option->argument) {
        if (attached) {
            options_complain(options, "--%s takes no argument", option->name);
            return OPTION_WRONG;
        }
    } else if (attached) {
        options->value = attached;
    } else if (options->next < options->argc) {
        options->value = options->argv[options->next++];
    } else {
        options_complain(options, "--%s needs an argument: %s", option->name, option->argument);
        return OPTION_WRONG;
    }
    if (options->value && !*options->value) {
        options_complain(options, "the argument of --%s is empty: %s", option->name, option->argument);
        return OPTION_WRONG;
    }
    return option->argument && option->completes == COMPLETES_WORDS ? check_word(options) : option->id;
}

static int take_long(struct options *options, const char *argument)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct command_option *option = find(options->command, name, len, 0);
    if (option)
        return take(options, option, equals ? equals + 1 : NULL);
    if (strcmp(name, "help") == 0) {
        help_print_command(stdout, options->command);
        return OPTION_HELP;
    }
    return complain_unknown(options, argument, len);
}

static int take_short(struct options *options, const char *argument)
{
    const struct command_option *option = find(options->command, NULL, 0, argument[1]);
    if (option)
        return take(options, option, argument[2] ? argument + 2 : NULL);
    if (strcmp(argument, "-h") == 0) {
        help_print_command(stdout, options->command);
        return OPTION_HELP;
    }
    return complain_unknown(options, argument, strlen(argument + 1));
}

int options_next(struct options *options)
{
    options->value = NULL;
    options->option = NULL;
    if (options->next >= options->argc)
        return OPTION_END;
    const char *argument = options->argv[options->next];
    bool is_option = !options->only_operands && argument[0] == '-' && argument[1];
    if (is_option && strcmp(argument, "--") == 0) {
        options->only_operands = true;
        options->next++;
        return options->command->is_launcher ? OPTION_END : options_next(options);
    }
    if (!is_option && options->command->is_launcher)
        return OPTION_END;
    options->next++;
    if (!is_option && !*argument) {
        options_complain(options, "an argument is empty");
        return OPTION_WRONG;
    }
    if (!is_option) {
        options->value = argument;
        return OPTION_OPERAND;
    }
    return argument[1] == '-' ? take_long(options, argument) : take_short(options, argument);
}

bool options_number(const struct options *options, long min, long max, long *number)
{
    char *end;
    errno = 0;
    long value = strtol(options->value, &end, 10);
    if (errno || end == options->value || *end || value < min || value > max) {
        options_complain(options, "--%s needs a number from %ld to %ld, not \"%s\"", options->option->name,
                         min, max, options->value);
        return false;
    }
    *number = value;
    return true;
}

static int set_target(struct options *options, const struct option_target *target)
{
    long number;
    if (target->flag)
        *target->flag = true;
    if (target->text)
        *target->text = options->value;
    if (target->list)
        *XADD(target->list->items, target->list->count, target->list->capacity) = options->value;
    if (target->choice && !options->value && options->chosen == target->choice &&
        *target->choice != target->value)
        return options_complain(options, "--%s and --%s exclude each other", options->chosen_by,
                                options->option->name);
    if (target->choice && !options->value) {
        options->chosen = target->choice;
        options->chosen_by = options->option->name;
    }
    if (target->choice)
        *target->choice = options->value ? options->word : target->value;
    if (!target->number)
        return EXIT_OK;
    if (!options_number(options, target->min, target->max, &number))
        return EXIT_USAGE;
    *target->number = (uint32_t)number;
    return EXIT_OK;
}

static int read_option(struct options *options, int option, const struct option_target *targets,
                       options_take_fn *take_other, void *context)
{
    if (option == OPTION_WRONG)
        return EXIT_USAGE;
    if (option == OPTION_OPERAND && !options->command->operands)
        return options_complain(options, "takes no operand: %s", options->value);
    for (const struct option_target *target = targets; target && target->id; target++)
        if (target->id == option)
            return set_target(options, target);
    return take_other(context, options, option);
}

/* A file that the command reads or writes. */
struct file_use {
    const char *path;
    const char *option; /* that names it; NULL: an operand */
    bool is_written;
};

static bool is_stdin(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(path, names[i]))
            return true;
    return false;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (!strcmp(a, "-") || !strcmp(b, "-"))
        return false;
    if (stat(a, &of_a) != 0)
        return !strcmp(a, b); /* it would be made, and read as an empty file */
    return S_ISREG(of_a.st_mode) && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* Writing would destroy what is to be read, and standard input has one reader. */
static int check_uses(const struct options *options, const struct file_use *a, const struct file_use *b)
{
    const struct file_use *written = a->is_written ? a : b;
    if (!a->is_written && !b->is_written && is_stdin(a->path) && is_stdin(b->path))
        return options_complain(options, "\"%s\" (standard input) can be given only once", b->path);
    if (a->is_written != b->is_written && is_same_file(a->path, b->path))
        return options_complain(options, "--%s %s would overwrite what is to be read; name another file",
                                written->option, written->path);
    return EXIT_OK;
}

/* `uses`: of the options and operands before, with room for this one. */
static int note_file(const struct options *options, struct file_use *uses, size_t *count)
{
    enum completes completes = options->option ? options->option->completes : COMPLETES_FILE;
    if (!options->value || !command_names_file(completes))
        return EXIT_OK;
    if (completes == COMPLETES_OUTPUT_FILE && !strcmp(options->value, "-"))
        return options_complain(options, "--%s cannot write to standard output; name a file",
                                options->option->name);
    uses[*count] = (struct file_use){options->value, options->option ? options->option->name : NULL,
                                     command_writes_file(completes)};
    for (size_t i = 0; i < *count; i++)
        if (check_uses(options, &uses[i], &uses[*count]) != EXIT_OK)
            return EXIT_USAGE;
    ++*count;
    return EXIT_OK;
}

bool options_read(struct options *options, const struct option_target *targets, options_take_fn *take_other,
                  void *context)
{
    int option = OPTION_END;
    size_t count = 0;
    struct file_use *uses = xcalloc((size_t)options->argc + 1, sizeof *uses);
    options->status = EXIT_OK;
    while (options->status == EXIT_OK && (option = options_next(options)) != OPTION_END) {
        if (option == OPTION_HELP)
            break;
        if (option != OPTION_WRONG)
            options->status = note_file(options, uses, &count);
        if (options->status == EXIT_OK)
            options->status = read_option(options, option, targets, take_other, context);
    }
    free(uses);
    return options->status == EXIT_OK && option == OPTION_END;
}
