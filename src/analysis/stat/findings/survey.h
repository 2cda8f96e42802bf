/* Keeps the work and calls of a trace up to now for the detectors of findings, and the sums of their matches.
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

/* A detector's sums of the matches with one key. */
struct tally {
    uint32_t process;
    /* The earliest match, typical of the others: a copy of its span, without attributes, parents and
     * children. */
    struct trace_span first;
    struct trace_span call; /* the call of `first`, if the detector sets it */
    const char *text;       /* meaning by detector */
    uint64_t count;
    uint64_t ns; /* meaning by detector */
    uint64_t bytes;
    uint64_t saving_ns;
    uint64_t extra;
};

struct tallies {
    struct tally *items;
    size_t count, capacity;
    struct int_map numbers;
    /* The places in the program (analysis/code/code_book.h) that a tally's matches come from. */
    struct tally_origin {
        uint32_t tally, origin;
        uint64_t count;
    } * origins;
    size_t origin_count, origin_capacity;
    struct int_map origin_numbers;
};

#define TALLY_ORIGINS_MAX (1u << 18) /* origins of all tallies; later ones are not counted */

/* Returns the tally of the key, created for its first span. The pointer is valid until the next call; the
 * number that tallies_number() returns stays valid. */
struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span);
static inline uint32_t tallies_number(const struct tallies *tallies, const struct tally *tally)
{
    return (uint32_t)(tally - tallies->items);
}
/* Notes that `count` of the tally's matches come from this origin. */
void tallies_add_origin(struct tallies *tallies, const struct tally *tally, uint32_t origin, uint64_t count);
void tallies_deinit(struct tallies *tallies);

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
/* Counts a match that comes from this origin, and returns its tally, as tallies_at(). */
struct tally *tallies_count(struct tallies *tallies, const struct survey *survey, uint64_t key,
                            const struct trace_span *span, uint32_t origin);
