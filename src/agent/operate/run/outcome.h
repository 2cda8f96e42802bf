/* The reports of the agents of a program: a JSON file for each process that initialized CUDA. The root span
 * of the command has a report, too, which is not of a process. */
#pragma once

#include "base/status.h"
#include "agent/operate/run/launch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OUTCOME_TRACES_MAX  64
#define OUTCOME_LOSSES_MAX  64
#define OUTCOME_OUTPUTS_MAX 16
#define OUTCOME_FILES_MAX   64
#define OUTCOME_ENDS_MAX    16 /* more are only counted */

#define OUTCOME_ROOT_REPORT "0root" /* prefix of its name: it is read first, so its trace is the first */

/* A process that left no final report, or was not traced. */
struct outcome_end {
    enum {
        OUTCOME_NOT_TRACED,
        OUTCOME_RUNNING,
        OUTCOME_EXITING
    } state; /* last reported state of its agent */
    pid_t pid;
    char *program;
    char *why;                           /* NOT_TRACED */
    uint64_t start_ns, last_delivery_ns; /* since 1970; 0: unknown or none */
    bool is_recorded;                    /* delivered to a recording */
};

/* The unit of an output's data. */
struct outcome_unit {
    const char *one, *many;
};
extern const struct outcome_unit outcome_spans, outcome_points, outcome_samples;

struct outcome {
    size_t reports;   /* reports read */
    size_t processes; /* processes of the program with a report */
    size_t unreadable;
    uint64_t spans;
    uint64_t delivered;                   /* to all outputs of the process */
    uint64_t calls, activities, sessions; /* captured */
    uint64_t unsampled, filtered;         /* spans that were not created */
    uint64_t sleeps, asleep_ns;           /* while nothing sampled was in flight */
    uint64_t releases;                    /* times that another tool had CUPTI */
    uint64_t spooled;                     /* left in the spool */
    uint64_t callback_ns, callback_calls; /* on the program's threads; number of timed calls */
    uint64_t own_threads_ns;              /* CPU time of cuspan's threads */
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
        const struct outcome_unit *unit; /* what it gets */
        char *kind;
        char *endpoint; /* NULL: none */
        size_t processes;
        size_t last_report; /* number of the last report, from 1 */
        uint64_t made;      /* by its processes */
        uint64_t delivered;
        uint64_t spooled; /* left in the spool */
    } outputs[OUTCOME_OUTPUTS_MAX];
    size_t outputs_more;    /* of single processes, that are only counted */
    size_t recording_count; /* processes that were recorded instead of traced */
    struct {
        char *path;
        uint64_t events;
    } recordings[OUTCOME_FILES_MAX];
    size_t unfinished, not_traced; /* number of processes; the former are among `processes` */
    size_t end_count;
    struct outcome_end ends[OUTCOME_ENDS_MAX];
};

/* Reads all reports in the directory (NULL: there are none). Missing values are 0; unreadable reports are
 * counted. */
void outcome_read(struct outcome *outcome, const char *directory);
/* Adds one report, of a process or of the root span; false if it is not a report. */
bool outcome_add(struct outcome *outcome, const char *json, bool is_root);
void outcome_deinit(struct outcome *outcome);

/* Whether any span was delivered. */
bool outcome_has_arrived(const struct outcome *outcome);
/* Whether spans were made and an output or its spool got none of them. */
bool outcome_failed(const struct outcome *outcome);

/* For `cuspan run`: how many spans were delivered where, losses, ends of processes, and links. `launched`:
 * the program, here and below; NULL: unknown. */
void outcome_print(const struct outcome *outcome, const struct launched *launched, FILE *out);
/* For commands that read the spans themselves: only what makes them incomplete. */
void outcome_print_shortfall(const struct outcome *outcome, const struct launched *launched, FILE *out);
/* For `cuspan record`: the recordings. */
void outcome_print_recordings(const struct outcome *outcome, const struct launched *launched,
                              const char *path, FILE *out);

/* Writes "http://HOST:16686/trace/ID" for an OTLP endpoint on a port of Jaeger; false for other endpoints. */
bool outcome_trace_link(const char *endpoint, const char *trace_id, char *out, size_t size);
