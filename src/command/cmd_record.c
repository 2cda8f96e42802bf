#include "command/table/command_table.h"

#include "base/files.h"
#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"
#include "cli/args/options.h"
#include "agent/operate/run/outcome.h"
#include "analysis/trace/trace_source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The agent creates the file exclusively, because the processes of one program must not share it. Only an
 * existing recording makes way for that: a mistyped -o must not destroy a file. It is renamed to `aside`
 * (empty: there was none) until the program has started. */
static enum status make_way(const char *path, char aside[PATH_MAX], struct error *err)
{
    struct stat facts;
    *aside = 0;
    if (stat(path, &facts) != 0)
        return STATUS_OK;
    if (!S_ISREG(facts.st_mode) || (facts.st_size > 0 && !trace_source_is_recording(path)))
        return error_set(err, STATUS_INVALID,
                         "%.300s exists and is not a recording; remove it or choose another name", path);
    int length = snprintf(aside, PATH_MAX, "%s.old-%d-%08x", path, (int)getpid(), files_random());
    errno = length < PATH_MAX ? 0 : ENAMETOOLONG;
    if (errno || rename(path, aside) != 0) {
        *aside = 0;
        return error_set(err, STATUS_IO, "%.300s cannot be replaced: %s", path, strerror(errno));
    }
    return STATUS_OK;
}

/* `has_run`: the old recording is no longer needed. */
static void end_way(const char *path, const char *aside, bool has_run)
{
    if (*aside && has_run)
        unlink(aside);
    else if (*aside)
        (void)rename(aside, path);
}

static void apply(void *context)
{
    injection_apply(context);
}

/* EXIT_OK: the program has ended, as `launched` tells. */
static int record_program(struct injection *injection, const char *path, char **program,
                          struct launched *launched)
{
    struct error err = {""};
    struct outcome outcome;
    char aside[PATH_MAX];
    int result = EXIT_USAGE;
    enum status status = injection_prepare(injection, &err);
    if (status == STATUS_OK)
        status = make_way(path, aside, &err);
    if (status == STATUS_OK) {
        status = launch(program, apply, injection, launched, &err);
        result = launch_exit_code(status);
        end_way(path, aside, status == STATUS_OK);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan record: %s\n", err.text);
        return result;
    }
    outcome_read(&outcome, injection->report_dir);
    if (!injection->is_quiet && injection->report_dir)
        outcome_print_recordings(&outcome, launched, path, stderr);
    outcome_deinit(&outcome);
    return EXIT_OK;
}

int cmd_record(const struct command *command, int argc, char **argv)
{
    struct injection injection = {0};
    struct options options;
    struct launched launched;
    const char *path = NULL;
    const struct option_target targets[] = {{'o', .text = &path}, {0}};
    int result = EXIT_OK;
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, injection_take_option, &injection)) {
        injection_deinit(&injection);
        return options.status;
    }
    if (!path)
        result = options_complain(&options, "-o FILE is required");
    else if (strcmp(path, "-") == 0)
        result = options_complain(&options, "-o -: a recording cannot go to standard output; name a file");
    else if (options.next >= argc)
        result = options_complain(&options, "name the program to run");
    else
        result = injection_set_path(&injection, &options, "record_file", path);
    if (result == EXIT_OK)
        result = record_program(&injection, path, argv + options.next, &launched);
    injection_deinit(&injection);
    return result == EXIT_OK ? launch_end(launched.wait_status) : result;
}
