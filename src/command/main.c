#include "command/table/command_table.h"

#include "base/log/log.h"
#include "base/text/sanitize.h"
#include "command/table/table_text.h"
#include "cli/args/options.h"

#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int complain_unknown(const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (; count < command_count && count < 32; count++)
        names[count] = commands[count].name;
    const char *nearest = options_suggest(name, names, count);
    char shown[256];
    sanitize_line(shown, sizeof shown, name, strlen(name));
    if (nearest)
        fprintf(stderr, "cuspan: unknown command %s; did you mean %s? (see: cuspan help)\n", shown, nearest);
    else
        fprintf(stderr, "cuspan: unknown command %s (see: cuspan help)\n", shown);
    return EXIT_USAGE;
}

/* glibc keeps freed arrays in its heap once an array of that size was freed. */
static void return_freed_arrays(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

/* Otherwise the next file that is opened would get the number of a closed one, and what is printed would go
 * into it. For a program that `cuspan run` starts, they are closed again. */
static void occupy_standard_descriptors(void)
{
    int number;
    do
        number = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (number >= 0 && number < STDERR_FILENO);
    if (number > STDERR_FILENO)
        close(number);
}

/* A file beyond the limit (ulimit -f) is an error, which the command reports. A program that it starts does
 * not inherit a handler. */
static void go_on(int number) {}

int main(int argc, char **argv)
{
    struct sigaction too_large = {.sa_handler = go_on}, before;
    occupy_standard_descriptors();
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &too_large, NULL);
    return_freed_arrays();
    setlocale(LC_CTYPE, "");
    log_set_level(LOG_INFO);
    if (argc < 2) {
        overview_print(stderr);
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
    int status = command->run(command, argc - 1, argv + 1);
    /* A full disk or a closed pipe may only show at the last flush. */
    if (fflush(stdout) == 0)
        return status;
    perror("cuspan: standard output");
    return status == EXIT_OK ? EXIT_FAILED : status;
}
