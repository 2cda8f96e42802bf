#include "cli/args/command_table.h"

#include "cli/run/injection.h"
#include "cli/run/launch.h"
#include "cli/args/options.h"
#include "cli/run/outcome.h"
#include "cli/trace/trace_source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The agent creates the file exclusively, because the processes of one program must not share it. Only an
 * existing recording is removed for that: a mistyped -o must not destroy a file. */
static enum status make_way(const char *path, struct error *err)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return STATUS_OK;
    if (!S_ISREG(facts.st_mode) || (facts.st_size > 0 && !trace_source_is_recording(path)))
        return error_set(err, STATUS_INVALID,
                         "%.300s exists and is not a recording; remove it or choose another name", path);
    if (unlink(path) != 0)
        return error_set(err, STATUS_IO, "%.300s cannot be replaced: %s", path, strerror(errno));
    return STATUS_OK;
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
    int result = EXIT_USAGE;
    enum status status = injection_prepare(injection, &err);
    if (status == STATUS_OK)
        status = make_way(path, &err);
    if (status == STATUS_OK) {
        status = launch(program, apply, injection, launched, &err);
        result = launch_exit_code(status);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan record: %s\n", err.text);
        return result;
    }
    outcome_read(&outcome, injection->report_dir);
    if (!injection->is_quiet)
        outcome_print_recordings(&outcome, launched, path, stderr);
    outcome_deinit(&outcome);
    return EXIT_OK;
}

int cmd_record(int argc, char **argv)
{
    struct injection injection = {0};
    struct options options;
    struct launched launched;
    const char *path = NULL;
    const struct option_target targets[] = {{'o', .text = &path}, {0}};
    int result = EXIT_OK;
    options_init(&options, "record", argc, argv);
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
