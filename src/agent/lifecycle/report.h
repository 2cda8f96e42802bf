/* What became of the spans, for whoever asks at the end: the log when something was lost, a JSON file on
 * request. */
#ifndef CUSPAN_AGENT_REPORT_H
#define CUSPAN_AGENT_REPORT_H

#include "base/accounting/balance.h"
#include "model/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_TRACES_MAX 16

/* A process that ends without its exit handlers leaves the report of its last state. */
enum report_state {
    REPORT_ENDED,     /* the agent ended, or its deadline at exit passed; then "shutdown" says so */
    REPORT_EXITING,   /* the agent ends, or was ended meanwhile */
    REPORT_RUNNING,   /* the process runs, or ended without its exit handlers */
    REPORT_NOT_TRACED /* the agent was loaded, and doesn't trace: `why` */
};

struct report {
    enum report_state state;
    const char *why; /* NOT_TRACED */
    const char *program;
    uint64_t start_ns;         /* since 1970, as is the next one; 0: unknown, not written */
    uint64_t last_delivery_ns; /* 0: none yet */
    const struct settings *settings;
    const char *recording; /* path, or NULL */
    uint64_t recording_events;
    uint32_t trace_total;
    uint32_t trace_count; /* of `traces` */
    uint8_t traces[REPORT_TRACES_MAX][16];
    const struct balance *balance; /* what to report; NULL: the counters as they stand */
};

/* One line that names each kind of loss and its count; nothing if nothing was lost. `trouble`: why, or NULL.
 * `balance`: as in struct report. */
void report_log_losses(const struct balance *balance, const char *trouble);

/* Writes settings->report_file with ".PID" appended, whole or not at all (false). Any thread. A failure is
 * logged where the state is ENDED. After a report of that state no other is written. */
bool report_write(const struct report *report);
/* One line if what was captured and made doesn't add up: nothing is held or on its way any more. */
void report_log_imbalance(size_t output_count);

/* Members of an object of JSON, each after a comma: counters, losses, outputs, and the sums. */
void report_accounts(FILE *file, const struct settings *settings, const struct balance *balance);
void report_string(FILE *file, const char *text);

#endif
