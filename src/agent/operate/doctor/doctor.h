/* `cuspan doctor`: options, cached facts and results.
 *
 * A check adds a line per result: the severity, what was found, and for problems and warnings a fix. The
 * table in checks.h has the checks in the order in which data flows. Facts that several checks need are
 * queried once and cached here. */
#pragma once

#include "agent/operate/run/injection.h"
#include "cli/util/text.h"
#include "agent/config/config.h"
#include "model/entries/doctor_entry.h"

#include <sys/types.h>

enum result {
    RESULT_OK,
    RESULT_WARNING, /* a possible cause */
    RESULT_PROBLEM, /* data is missing or incomplete */
    RESULT_UNKNOWN, /* cannot be determined on this machine */
    RESULT_SKIPPED, /* does not apply */
    RESULT_COUNT
};

struct doctor_line {
    const char *group, *name; /* of the check */
    enum result result;
    char *found; /* owned */
    char *fix;   /* owned; NULL: nothing to fix */
};

struct driver_facts; /* driver.h */
struct nvml_facts;
struct collector; /* collector.h */

struct doctor {
    /* Options. */
    struct injection injection; /* library: found or specified */
    char **program;             /* with arguments; NULL: none */
    const char *only;           /* GROUP or GROUP.NAME; NULL: all */
    const char *expected; /* kinds of data that the user expects, separated by commas; NULL: not specified */
    unsigned seconds;     /* time limit of the program */
    bool is_json;
    bool is_colored;
    bool is_utf8;
    const char *root; /* prefix of /dev, /proc and /sys; empty except in tests */

    /* Facts, those behind pointers queried on first use. */
    struct settings settings; /* as an agent would load them; zeroed unless has_settings */
    struct config_report *report;
    enum status config_status;
    bool has_settings;
    const struct doctor_api *api; /* NULL: the library cannot be loaded; api_error says why */
    char api_error[DOCTOR_TEXT_BYTES];
    struct driver_facts *driver;
    struct nvml_facts *nvml;
    struct doctor_cuptis *cuptis;
    struct collector *collectors[OUTPUTS_MAX];

    /* Results. */
    const char *group, *name; /* of the running check */
    struct doctor_line *lines;
    size_t line_count, line_capacity;
    size_t counts[RESULT_COUNT];
};

typedef void doctor_check_fn(struct doctor *doctor);

/* The requirement of a check. If it is missing, the check does not run, and a line reports it. */
enum doctor_needs {
    NEEDS_NOTHING,
    NEEDS_SETTINGS, /* has_settings */
    NEEDS_LIBRARY,  /* injection.library */
    NEEDS_API,
    NEEDS_PROGRAM
};

struct doctor_check {
    const char *group, *name;
    const char *question; /* one line, for --list and the help */
    enum doctor_needs needs;
    doctor_check_fn *run;
};

/* Adds a line for the running check. */
void doctor_result(struct doctor *doctor, enum result result, const char *format, ...) PRINTF_LIKE(3, 4);
/* Sets the fix of the latest line. */
void doctor_fix(struct doctor *doctor, const char *format, ...) PRINTF_LIKE(2, 3);

/* Runs those of the checks that are selected. Returns EXIT_FAILED if there is a problem, else EXIT_OK. */
int doctor_run(struct doctor *doctor, const struct doctor_check *checks, size_t count);
void doctor_deinit(struct doctor *doctor);

/* Whether --only `only` (NULL: all) selects this check. */
bool doctor_selects(const char *only, const struct doctor_check *check);
