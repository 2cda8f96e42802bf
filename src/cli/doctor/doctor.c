#include "cli/doctor/doctor.h"

#include "cli/doctor/checks.h"
#include "cli/util/xalloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 12 /* columns before what was found */

static const struct {
    const char *name, *color;
} findings[FINDING_COUNT] = {[FOUND_OK] = {"ok", "\033[32m"},
                             [FOUND_WARNING] = {"warning", "\033[33m"},
                             [FOUND_PROBLEM] = {"problem", "\033[1;31m"},
                             [FOUND_UNKNOWN] = {"unknown", "\033[36m"},
                             [FOUND_NOT_HERE] = {"not here", "\033[2m"}};

/* --- lines --- */

/* Evidence comes from files, variables and servers: nothing of it may move a cursor. */
static void print_clean(const struct doctor *doctor, const char *text)
{
    struct text clean = {0};
    text_add_clean(&clean, text, doctor->is_utf8);
    fputs(clean.data ? clean.data : "", stdout);
    text_deinit(&clean);
}

static void print_line(const struct doctor *doctor, const struct doctor_line *line)
{
    const char *color = doctor->is_colored ? findings[line->finding].color : "";
    const char *plain = doctor->is_colored ? "\033[0m" : "";
    printf("%s%-9s%s %s.%s: ", color, findings[line->finding].name, plain, line->group, line->name);
    print_clean(doctor, line->found);
    putchar('\n');
    if (line->mend) {
        printf("%*smend: ", INDENT - 2, "");
        print_clean(doctor, line->mend);
        putchar('\n');
    }
    fflush(stdout);
}

/* A line is printed when the next one comes: what mends it may still follow. */
static void print_latest(const struct doctor *doctor)
{
    if (!doctor->is_json && doctor->line_count > 0)
        print_line(doctor, &doctor->lines[doctor->line_count - 1]);
}

void doctor_say(struct doctor *doctor, enum finding finding, const char *format, ...)
{
    char *found = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&found, format, args);
    va_end(args);
    print_latest(doctor);
    doctor->lines =
        xgrow(doctor->lines, &doctor->line_capacity, doctor->line_count + 1, sizeof *doctor->lines);
    doctor->lines[doctor->line_count++] =
        (struct doctor_line){doctor->group, doctor->name, finding, len >= 0 ? found : xstrdup("?"), NULL};
    doctor->counts[finding]++;
}

void doctor_mend(struct doctor *doctor, const char *format, ...)
{
    struct doctor_line *line = &doctor->lines[doctor->line_count - 1];
    va_list args;
    va_start(args, format);
    free(line->mend);
    if (vasprintf(&line->mend, format, args) < 0)
        line->mend = NULL;
    va_end(args);
}

/* --- the end --- */

static void add_json_member(struct text *json, const char *key, const char *value)
{
    text_add_format(json, "\"%s\":\"", key);
    text_add_json(json, value);
    text_add(json, "\"");
}

static void print_json(const struct doctor *doctor)
{
    struct text json = {0};
    text_add(&json, "{\"version\":1,");
    add_json_member(&json, "cuspan", CUSPAN_VERSION);
    text_add(&json, ",\"checks\":[");
    for (size_t i = 0; i < doctor->line_count; i++) {
        const struct doctor_line *line = &doctor->lines[i];
        text_add(&json, i ? ",\n{" : "\n{");
        add_json_member(&json, "group", line->group);
        text_add(&json, ",");
        add_json_member(&json, "name", line->name);
        text_add(&json, ",");
        add_json_member(&json, "finding", findings[line->finding].name);
        text_add(&json, ",");
        add_json_member(&json, "found", line->found);
        if (line->mend) {
            text_add(&json, ",");
            add_json_member(&json, "mend", line->mend);
        }
        text_add(&json, "}");
    }
    text_add_format(&json, "],\n\"problems\":%zu,\"warnings\":%zu}\n", doctor->counts[FOUND_PROBLEM],
                    doctor->counts[FOUND_WARNING]);
    fputs(json.data, stdout);
    text_deinit(&json);
}

static void print_sum(const struct doctor *doctor)
{
    size_t problems = doctor->counts[FOUND_PROBLEM], warnings = doctor->counts[FOUND_WARNING];
    printf("\n%zu problem%s, %zu warning%s, %zu unknown; docs/troubleshooting.md has more of each\n",
           problems, problems == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s",
           doctor->counts[FOUND_UNKNOWN]);
}

/* --- the checks --- */

bool doctor_wants(const char *only, const struct doctor_check *check)
{
    size_t group = strlen(check->group);
    if (!only)
        return true;
    if (strncmp(only, check->group, group) != 0)
        return false;
    return only[group] == '\0' || (only[group] == '.' && strcmp(only + group + 1, check->name) == 0);
}

int doctor_run(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];
        if (!doctor_wants(doctor->only, check))
            continue;
        size_t before = doctor->line_count;
        doctor->group = check->group;
        doctor->name = check->name;
        check->run(doctor);
        if (doctor->line_count == before)
            doctor_say(doctor, FOUND_NOT_HERE, "nothing to look at");
    }
    print_latest(doctor);
    if (doctor->is_json)
        print_json(doctor);
    else
        print_sum(doctor);
    return doctor->counts[FOUND_PROBLEM] ? EXIT_FAILED : EXIT_OK;
}

void doctor_deinit(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->line_count; i++) {
        free(doctor->lines[i].found);
        free(doctor->lines[i].mend);
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
