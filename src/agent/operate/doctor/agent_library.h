/* Loads the agent's library, which answers the queries of checks. */
#pragma once

#include "agent/operate/doctor/doctor.h"

/* Loads doctor->injection.library, after a trial in a child process. Sets doctor->api, or api_error. */
void library_open(struct doctor *doctor);

/* A library as seen by loading it in a child process. */
struct library_facts {
    bool is_loaded;
    bool is_agent;                 /* exports DOCTOR_API_SYMBOL */
    bool is_same_build;            /* has the same settings layout as this program */
    char version[32];              /* of an agent */
    char error[DOCTOR_TEXT_BYTES]; /* of the loader or the child process */
};
void library_probe(const char *path, struct library_facts *facts);

/* The file or folder on the way to `path` that not every user can read or enter; allocated. NULL: all can, or
 * `path` does not exist. */
char *library_unreadable(const char *path);

/* Adds a line for each libcuspan.so beside a `cuspan` in PATH or in a usual place, except this program's. */
void library_report_others(struct doctor *doctor);
