/* `cuspan doctor`: what it was asked, what it knows by now, and what its checks have found.
 *
 * A check looks at one thing and says one line for each that it finds: how it stands, the evidence, and for a
 * problem what mends it. The checks stand in one table (checks.h), in the order of the data's way. What
 * several of them need is looked up once and kept here. */
#ifndef CUSPAN_CLI_DOCTOR_DOCTOR_H
#define CUSPAN_CLI_DOCTOR_DOCTOR_H

#include "cli/run/injection.h"
#include "cli/util/text.h"
#include "config/config.h"
#include "model/doctor_entry.h"

#include <sys/types.h>

enum finding {
    FOUND_OK,
    FOUND_WARNING,  /* it may be what you look for, or not */
    FOUND_PROBLEM,  /* no data, or not the data that was asked for */
    FOUND_UNKNOWN,  /* this machine doesn't tell */
    FOUND_NOT_HERE, /* nothing to look at */
    FINDING_COUNT
};

struct doctor_line {
    const char *group, *name; /* of the check */
    enum finding finding;
    char *found; /* owned, like the next */
    char *mend;  /* NULL: nothing to mend */
};

struct driver_facts; /* driver.h */
struct nvml_facts;
struct collector; /* collector.h: what is between here and one of the outputs' servers */

struct doctor {
    /* Asked. */
    struct injection injection; /* library: found or named */
    char **program;             /* with its arguments; NULL: none */
    const char *only;           /* GROUP or GROUP.NAME; NULL: all */
    const char *expected;       /* kinds of data that the user misses, separated by commas; NULL: none said */
    unsigned seconds;           /* that the program may take */
    bool is_json;
    bool is_colored;
    bool is_utf8;
    const char *root; /* stands before /dev, /proc and /sys: "", but for tests */

    /* Known. */
    struct settings settings; /* as an agent would have them; zeroed where has_settings is false */
    struct config_report *report;
    enum status config_status;
    bool has_settings;
    const struct doctor_api *api; /* NULL: the library can't be loaded; api_error says why */
    char api_error[DOCTOR_TEXT_BYTES];
    struct driver_facts *driver; /* these are made when first asked for */
    struct nvml_facts *nvml;
    struct doctor_cuptis *cuptis;
    struct collector *collectors[OUTPUTS_MAX];

    /* Found. */
    const char *group, *name; /* of the check that runs */
    struct doctor_line *lines;
    size_t line_count, line_capacity;
    size_t counts[FINDING_COUNT];
};

typedef void doctor_check_fn(struct doctor *doctor);

struct doctor_check {
    const char *group, *name;
    const char *question; /* one line, for --list and the help */
    doctor_check_fn *run;
};

/* A line of the check that runs. */
void doctor_say(struct doctor *doctor, enum finding finding, const char *format, ...) PRINTF_LIKE(3, 4);
/* What mends what the latest line says. */
void doctor_mend(struct doctor *doctor, const char *format, ...) PRINTF_LIKE(2, 3);

/* Runs the checks that are asked for. The exit status: EXIT_FAILED where a problem was found. */
int doctor_run(struct doctor *doctor);
void doctor_deinit(struct doctor *doctor);

/* Whether `only` means this check. */
bool doctor_wants(const char *only, const struct doctor_check *check);

#endif
