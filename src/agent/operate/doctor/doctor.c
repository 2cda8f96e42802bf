#include "agent/operate/doctor/doctor.h"

#include "base/text/json_writer.h"
#include "base/text/sanitize.h"
#include "cli/util/exit_code.h"
#include "cli/util/xalloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 12 /* columns before the text */

static const struct {
    const char *name, *color;
} results[RESULT_COUNT] = {[RESULT_OK] = {"ok", "\033[32m"},
                           [RESULT_WARNING] = {"warning", "\033[33m"},
                           [RESULT_PROBLEM] = {"problem", "\033[1;31m"},
                           [RESULT_UNKNOWN] = {"unknown", "\033[36m"},
                           [RESULT_SKIPPED] = {"skipped", "\033[2m"}};

/* The text contains data from files, variables and servers: escape sequences must not reach the terminal. */
static void print_sanitized(const struct doctor *doctor, const char *text)
{
    struct text clean = {0};
    text_add_clean(&clean, text, doctor->is_utf8);
    fputs(clean.data ? clean.data : "", stdout);
    text_deinit(&clean);
}

static void print_line(const struct doctor *doctor, const struct doctor_line *line)
{
    const char *color = doctor->is_colored ? results[line->result].color : "";
    const char *plain = doctor->is_colored ? "\033[0m" : "";
    printf("%s%-9s%s %s.%s: ", color, results[line->result].name, plain, line->group, line->name);
    print_sanitized(doctor, line->found);
    putchar('\n');
    if (line->fix) {
        printf("%*sfix: ", INDENT - 2, "");
        print_sanitized(doctor, line->fix);
        putchar('\n');
    }
    fflush(stdout);
}

/* Prints a line when the next one arrives, because doctor_fix() may still extend it. */
static void print_latest(const struct doctor *doctor)
{
    if (!doctor->is_json && doctor->line_count > 0)
        print_line(doctor, &doctor->lines[doctor->line_count - 1]);
}

void doctor_result(struct doctor *doctor, enum result result, const char *format, ...)
{
    char *found = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&found, format, args);
    va_end(args);
    print_latest(doctor);
    found = len >= 0 ? sanitize_secrets(found) : xstrdup("?");
    *XADD(doctor->lines, doctor->line_count, doctor->line_capacity) =
        (struct doctor_line){doctor->group, doctor->name, result, found, NULL};
    doctor->counts[result]++;
}

void doctor_fix(struct doctor *doctor, const char *format, ...)
{
    struct doctor_line *line = &doctor->lines[doctor->line_count - 1];
    va_list args;
    va_start(args, format);
    free(line->fix);
    if (vasprintf(&line->fix, format, args) < 0)
        line->fix = NULL;
    va_end(args);
    if (line->fix)
        sanitize_secrets(line->fix);
}

static void print_json(const struct doctor *doctor)
{
    struct json_writer json = JSON_WRITER(stdout);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "version", 1);
    json_write_text(&json, "cuspan", CUSPAN_VERSION);
    json_write_array(&json, "checks");
    for (size_t i = 0; i < doctor->line_count; i++) {
        const struct doctor_line *line = &doctor->lines[i];
        json_write_space(&json, "\n");
        json_write_object(&json, NULL);
        json_write_text(&json, "group", line->group);
        json_write_text(&json, "name", line->name);
        json_write_text(&json, "finding", results[line->result].name);
        json_write_text(&json, "found", line->found);
        if (line->fix)
            json_write_text(&json, "mend", line->fix);
        json_write_object_end(&json);
    }
    json_write_array_end(&json);
    json_write_space(&json, "\n");
    json_write_unsigned(&json, "problems", doctor->counts[RESULT_PROBLEM]);
    json_write_unsigned(&json, "warnings", doctor->counts[RESULT_WARNING]);
    json_write_object_end(&json);
    putchar('\n');
}

static void print_summary(const struct doctor *doctor)
{
    size_t problems = doctor->counts[RESULT_PROBLEM], warnings = doctor->counts[RESULT_WARNING];
    printf("\n%zu problem%s, %zu warning%s, %zu unknown; the page troubleshooting.md of cuspan's "
           "documentation explains each check\n",
           problems, problems == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s",
           doctor->counts[RESULT_UNKNOWN]);
}

/* False: something is missing, which is reported. */
static bool has_needs(struct doctor *doctor, enum doctor_needs needs)
{
    static const struct {
        enum result result;
        const char *text;
    } missing[] = {
        [NEEDS_SETTINGS] = {RESULT_UNKNOWN, "the configuration is invalid (configuration.check)"},
        [NEEDS_LIBRARY] = {RESULT_SKIPPED, "libcuspan.so was not found (injection.library)"},
        [NEEDS_API] = {RESULT_UNKNOWN, "libcuspan.so cannot be loaded (injection.library)"},
        [NEEDS_PROGRAM] = {RESULT_SKIPPED, "no program given (cuspan doctor -- PROGRAM)"},
    };
    const bool is_there[] = {[NEEDS_NOTHING] = true,
                             [NEEDS_SETTINGS] = doctor->has_settings,
                             [NEEDS_LIBRARY] = doctor->injection.library != NULL,
                             [NEEDS_API] = doctor->api != NULL,
                             [NEEDS_PROGRAM] = doctor->program != NULL};
    if (!is_there[needs])
        doctor_result(doctor, missing[needs].result, "%s", missing[needs].text);
    return is_there[needs];
}

bool doctor_selects(const char *only, const struct doctor_check *check)
{
    size_t group = strlen(check->group);
    if (!only)
        return true;
    if (strncmp(only, check->group, group) != 0)
        return false;
    return only[group] == '\0' || (only[group] == '.' && strcmp(only + group + 1, check->name) == 0);
}

int doctor_run(struct doctor *doctor, const struct doctor_check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct doctor_check *check = &checks[i];
        if (!doctor_selects(doctor->only, check))
            continue;
        size_t before = doctor->line_count;
        doctor->group = check->group;
        doctor->name = check->name;
        if (has_needs(doctor, check->needs))
            check->run(doctor);
        if (doctor->line_count == before)
            doctor_result(doctor, RESULT_SKIPPED, "nothing to check");
    }
    print_latest(doctor);
    if (doctor->is_json)
        print_json(doctor);
    else
        print_summary(doctor);
    return doctor->counts[RESULT_PROBLEM] ? EXIT_FAILED : EXIT_OK;
}

void doctor_deinit(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->line_count; i++) {
        free(doctor->lines[i].found);
        free(doctor->lines[i].fix);
    }
    free(doctor->lines);
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        free(doctor->collectors[i]);
    free(doctor->driver);
    free(doctor->nvml);
    free(doctor->cuptis);
    settings_deinit(&doctor->settings);
    free(doctor->report);
    injection_deinit(&doctor->injection);
}
