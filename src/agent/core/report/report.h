/* The fate of the spans: a log line if some were lost, and the JSON file that settings.accounts_file names.
 */
#pragma once

#include "base/accounting/balance.h"
#include "base/text/json_writer.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

#define REPORT_TRACES_MAX 16

/* A process that ends without its exit handlers leaves the report of its last state. */
enum report_state {
    REPORT_ENDED,      /* final: the agent ended, or its deadline passed ("shutdown" tells) */
    REPORT_EXITING,    /* the agent is delivering, or the process ended meanwhile */
    REPORT_RUNNING,    /* the process runs, or ended without its exit handlers */
    REPORT_NOT_TRACED, /* the agent was loaded and does not trace, because of `why` */
    REPORT_COMPLETE    /* called "ended", too: all is delivered, and the process may end now or run on */
};

struct report {
    enum report_state state;
    const char *why; /* NOT_TRACED */
    const char *program;
    uint64_t start_ns;         /* ns since 1970, like the next; 0: unknown, not written */
    uint64_t last_delivery_ns; /* 0: none yet */
    const struct settings *settings;
    const char *recording; /* its path, or NULL */
    uint64_t recording_events;
    uint32_t trace_total;
    uint32_t trace_count; /* of `traces` */
    uint8_t traces[REPORT_TRACES_MAX][16];
    const struct balance *balance; /* NULL: the current counters */
};

/* Logs one line with the count of each kind of loss, or nothing if nothing was lost. `trouble`: the reason,
 * or NULL. `balance`: as in struct report. */
void report_log_losses(const struct balance *balance, const char *trouble);

/* Writes settings->accounts_file with ".PID" appended, completely or not at all (false). Any thread. Failures
 * are logged for the state ENDED only. After ENDED no other state is written. */
bool report_write(const struct report *report);
/* Logs one line if the counters do not add up at the end, when nothing is held or in transit. */
void report_log_imbalance(size_t output_count);

/* Writes members of a JSON object: counters, losses, outputs and sums. */
void report_accounts(struct json_writer *json, const struct settings *settings,
                     const struct balance *balance);
