#include "cli/args/command_table.h"

#include "base/log.h"
#include "cli/args/help.h"
#include "cli/args/options.h"

#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

static int complain_unknown(const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (; count < command_count && count < 32; count++)
        names[count] = commands[count].name;
    const char *nearest = options_suggest(name, names, count);
    if (nearest)
        fprintf(stderr, "cuspan: unknown command %s; did you mean %s? (see: cuspan help)\n", name, nearest);
    else
        fprintf(stderr, "cuspan: unknown command %s (see: cuspan help)\n", name);
    return EXIT_USAGE;
}

/* glibc keeps freed arrays in its heap once an array of that size was freed. */
static void return_freed_arrays(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

int main(int argc, char **argv)
{
    return_freed_arrays();
    setlocale(LC_CTYPE, "");
    log_set_level(LOG_INFO);
    if (argc < 2) {
        help_print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const struct command *command = command_find(name);
    if (!command)
        return complain_unknown(name);
    int status = command->run(argc - 1, argv + 1);
    /* A full disk or a closed pipe may only show at the last flush. */
    if (fflush(stdout) != 0 && status == EXIT_OK) {
        perror("cuspan: standard output");
        status = EXIT_FAILED;
    }
    return status;
}
