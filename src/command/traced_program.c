#include "command/traced_program.h"

#include "agent/operate/run/outcome.h"
#include "analysis/trace/trace_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_executable(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* Some file systems mark every file as executable. Spans are JSON, messages, or compressed by gzip or zstd.
 */
static bool is_data(const char *path)
{
    FILE *file = fopen(path, "re");
    int first = file ? fgetc(file) : EOF;
    if (file)
        fclose(file);
    return first == '{' || first == 0 || first == 0x1f || first == 0x28 || trace_source_is_recording(path);
}

bool traced_program_is_program(const char *operand)
{
    if (access(operand, F_OK) == 0)
        return is_executable(operand) && !is_data(operand);
    char *found = *operand && !strchr(operand, '/') ? launch_find(operand) : NULL;
    bool is_found = found != NULL;
    free(found);
    return is_found;
}

static void apply(void *context)
{
    injection_apply(context);
}

static enum status run(struct traced_program *live, char **program, int *result, struct error *err)
{
    *result = EXIT_USAGE;
    enum status status = injection_prepare(&live->injection, err);
    if (status != STATUS_OK)
        return status;
    status = launch(program, apply, &live->injection, &live->launched, err);
    *result = launch_exit_code(status);
    return status;
}

static void report(const struct traced_program *live)
{
    struct outcome outcome;
    outcome_read(&outcome, live->injection.report_dir);
    if (!live->injection.is_quiet && live->injection.report_dir)
        outcome_print_shortfall(&outcome, &live->launched, stderr);
    outcome_deinit(&outcome);
}

int traced_program_run(struct traced_program *live, const struct options *options, char **program)
{
    struct error err = {""};
    int result = EXIT_FAILED;
    enum status status = temporary_choose(&live->spans, "spans.jsonl", &err);
    if (status == STATUS_OK) {
        result = injection_set_path(&live->injection, options, "output_file", live->spans.path);
        if (result != EXIT_OK)
            return result;
        status = run(live, program, &result, &err);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan %s: %s\n", options->command->name, err.text);
        return result;
    }
    report(live);
    return EXIT_OK;
}

void traced_program_deinit(struct traced_program *live)
{
    temporary_deinit(&live->spans);
    injection_deinit(&live->injection);
    *live = (struct traced_program){0};
}
