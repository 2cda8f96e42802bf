/* Keeps the work and calls of a trace up to now for the detectors of findings.
 *
 * Spans arrive sorted by start, so at each span everything before its start is known. Detectors ask about the
 * past. A question about the future (how long is the GPU idle until a call ends?) is answered when all spans
 * before that time are known, and the answer is added to a tally. Between segments, only the latest intervals
 * are kept: SURVEY_INTERVALS_MAX in all. Detectors that look back further find a GPU that was busy, so they
 * report smaller savings. */
#pragma once

#include "analysis/stat/base/intervals.h"
#include "analysis/stat/memory/ledger.h"
#include "cli/util/paged.h"

#define SURVEY_INTERVALS_MAX (1u << 20) /* 24 bytes each */
#define SURVEY_INTERVALS_MIN 256        /* intervals kept of each list, however many lists there are */

struct tallies;

struct device_survey {
    struct intervals busy;    /* any work */
    struct intervals kernels; /* kernels and graphs */
};

struct process_survey {
    uint64_t start_ns, end_ns; /* first start and last end of all GPU work; equal: there is none */
    uint64_t paused_ns;        /* part of that time in long pauses of all GPU work */
    bool has_work;
    bool is_pytorch;           /* the process uses PyTorch, by the names of its kernels */
    uint64_t pending_until_ns; /* end of all work whose submitting call has started */
    struct intervals calls;    /* times when the host was in a call */
    struct intervals submits;  /* times when the host was in a call that submits work */
    struct intervals waits;    /* times when the host was in a call that waits for the GPU */
    uint64_t kernel_ns;        /* sum of all kernels' durations */
    bool has_managed; /* the process uses memory that the host can read without a copy; known at the end */
};

/* A question: for how long is a GPU idle between two times? */
struct idle_time {
    uint64_t from_ns, until_ns;
    uint32_t resource;
    bool of_kernels; /* count time without kernels, instead of without any work */
};

struct survey {
    const struct stat *stat;
    struct paged devices;   /* by resource */
    struct paged processes; /* by the process numbers of places */
    uint64_t now_ns;        /* everything that starts earlier is known */
    struct question {
        struct idle_time time;
        struct tallies *tallies;
        uint32_t tally; /* number of the tally to whose saving the answer is added */
    } * questions;
    size_t question_count, question_capacity;
};

/* Takes a span of the current segment. */
void survey_take(struct survey *survey, const struct stat *stat, const struct trace_span *span);
/* Notes that all spans that start before stat->now_ns are known. `stat` may be at another address than
 * before, and may have had no span. */
void survey_advance(struct survey *survey, const struct stat *stat);
void survey_end_segment(struct survey *survey);
/* Answers all remaining questions. Call it once all spans were taken. */
void survey_finish(struct survey *survey, const struct stat *stat);
void survey_deinit(struct survey *survey);

/* Returns the idle time in ns. Its end must be in the past, before survey->now_ns. */
uint64_t survey_idle(const struct survey *survey, const struct idle_time *time);
/* Adds the answer to the saving of the tally with this number, now or later. */
void survey_ask(struct survey *survey, const struct idle_time *time, struct tallies *tallies, uint32_t tally);
/* Return a device or process as it is known up to now, not owned; zeroed: unknown. */
const struct device_survey *survey_device(const struct survey *survey, uint32_t resource);
const struct process_survey *survey_process_at(const struct survey *survey, uint32_t process);
/* Returns the process of a span, as survey_process_at(). */
const struct process_survey *survey_process(const struct survey *survey, const struct trace_span *span);
/* Returns the origin of a call or work: the place in the program that it comes from
 * (analysis/code/code_book.h). */
uint32_t survey_origin(const struct survey *survey, const struct trace_span *span);
/* Returns the first work of the class that the call submitted; NULL: none. CLASS_COUNT: of any class. */
const struct trace_span *survey_work(const struct survey *survey, const struct trace_span *call,
                                     enum trace_class class);
