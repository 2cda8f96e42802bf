/* The agent's library in this process, whose answers the checks need. */
#ifndef CUSPAN_CLI_DOCTOR_CHECKS_CHECK_LIBRARY_H
#define CUSPAN_CLI_DOCTOR_CHECKS_CHECK_LIBRARY_H

#include "cli/doctor/doctor.h"

/* Loads doctor->injection.library, first in a child. Sets doctor->api, or api_error. */
void library_open(struct doctor *doctor);

/* What a library at `path` says when it is loaded: its version, or why it isn't an agent of ours. */
struct library_facts {
    bool is_loaded;
    bool is_agent;                 /* has our entry */
    bool has_our_settings;         /* was built with the same */
    char version[32];              /* of an agent */
    char error[DOCTOR_TEXT_BYTES]; /* the loader's, or what became of the child */
};
void library_look(const char *path, struct library_facts *facts);

#endif
