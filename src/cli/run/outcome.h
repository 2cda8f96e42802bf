/* What the agents of a program reported: one JSON file for each process that initialized CUDA. The root span
 * of the command has a report as well, which is no process of the program. */
#ifndef CUSPAN_CLI_RUN_OUTCOME_H
#define CUSPAN_CLI_RUN_OUTCOME_H

#include "base/status.h"
#include "cli/run/launch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OUTCOME_TRACES_MAX  64
#define OUTCOME_LOSSES_MAX  64
#define OUTCOME_OUTPUTS_MAX 16
#define OUTCOME_FILES_MAX   64
#define OUTCOME_ENDS_MAX    16 /* more are counted */

#define OUTCOME_ROOT_REPORT                                                                                  \
    "0root" /* what its name begins with: it is read first, so its trace comes first */

/* A process that left no final report, or was not traced. */
struct outcome_end {
    enum { OUTCOME_NOT_TRACED, OUTCOME_RUNNING, OUTCOME_EXITING } state; /* of its agent, as last reported */
    pid_t pid;
    char *program;
    char *why;                           /* NOT_TRACED */
    uint64_t start_ns, last_delivery_ns; /* since 1970; 0: unknown, none */
};

struct outcome {
    size_t reports;   /* that were read */
    size_t processes; /* of the program, that have reported */
    size_t unreadable;
    uint64_t spans;
    uint64_t delivered;                   /* to every output of its process */
    uint64_t sleeps, asleep_ns;           /* while nothing that is sampled was in flight */
    uint64_t spooled;                     /* left in the spool */
    uint64_t callback_ns, callback_calls; /* on the program's threads; by so many calls that were timed */
    uint64_t own_threads_ns;              /* processor's time of cuspan's threads */
    uint64_t trace_total;
    size_t trace_count;
    char traces[OUTCOME_TRACES_MAX][33];
    size_t loss_count;
    struct {
        char *name;
        uint64_t count;
    } losses[OUTCOME_LOSSES_MAX];
    size_t output_count;
    struct outcome_output {
        char *kind;
        char *endpoint; /* NULL: none */
        size_t processes;
        size_t last_report; /* the last one's number, from 1 */
        uint64_t spans;     /* that its processes made */
        uint64_t delivered;
        uint64_t spooled; /* left in the spool */
    } outputs[OUTCOME_OUTPUTS_MAX];
    size_t recording_count;
    struct {
        char *path;
        uint64_t events;
    } recordings[OUTCOME_FILES_MAX];
    size_t unfinished, not_traced; /* processes; of `processes` the former */
    size_t end_count;
    struct outcome_end ends[OUTCOME_ENDS_MAX];
};

/* Reads all reports of the directory. What is missing in one counts as zero; what can't be read is counted.
 */
void outcome_read(struct outcome *outcome, const char *directory);
/* Adds one report, of a process or of the root span; false if it isn't one. */
bool outcome_add(struct outcome *outcome, const char *json, bool is_root);
void outcome_deinit(struct outcome *outcome);

/* Whether any span has arrived anywhere. */
bool outcome_has_arrived(const struct outcome *outcome);
/* Whether spans were made and an output got not one of them, nor its spool. */
bool outcome_failed(const struct outcome *outcome);

/* For a person, after `cuspan run`: how many spans went where, what was lost, where to look. `launched`: the
 * program, here as below. */
void outcome_print(const struct outcome *outcome, const struct launched *launched, FILE *out);
/* For commands that read the spans themselves: only what keeps them from being complete. */
void outcome_print_shortfall(const struct outcome *outcome, const struct launched *launched, FILE *out);
/* After `cuspan record`: what was written. */
void outcome_print_recordings(const struct outcome *outcome, const struct launched *launched,
                              const char *path, FILE *out);

/* "http://HOST:16686/trace/ID" into `out` for an OTLP endpoint on one of Jaeger's ports; false for any other.
 */
bool outcome_trace_link(const char *endpoint, const char *trace_id, char *out, size_t size);

#endif
