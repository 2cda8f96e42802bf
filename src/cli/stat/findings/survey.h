/* Work, calls and memory of a trace, prepared for the detectors of findings. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_SURVEY_H
#define CUSPAN_CLI_STAT_FINDINGS_SURVEY_H

#include "cli/stat/intervals.h"
#include "cli/stat/memory/ledger.h"

/* What all detectors look at. Intervals are in the order of time, and merged but for `given`. */
struct survey {
    const struct stat *stat;
    struct places places;
    struct ledger ledger;
    struct device_survey {
        struct intervals busy;    /* any work */
        struct intervals kernels; /* kernels and graphs */
    } * devices;                  /* by resource */
    struct process_survey {
        uint64_t start_ns, end_ns;    /* the first GPU work's begin, the last one's end; equal: none */
        struct intervals outstanding; /* from the call that gave work until that work's end */
        struct intervals given;       /* from the begin of the call that gave work to that work's begin */
        struct intervals calls;       /* the host was in a call */
        struct intervals submits;     /* in one that gives work */
        struct intervals waits;       /* in one that waits for the GPU */
        uint64_t kernel_ns;           /* all kernels' time */
        bool has_managed;             /* memory that the host can read without a copy */
    } * processes;                    /* by places' numbers */
};

void survey_init(struct survey *survey, const struct stat *stat);
void survey_deinit(struct survey *survey);

/* When the GPU comes to what the host was at: the begin of the work that it gave next. A host that doesn't
 * wait is ahead by up to a thousand launches. UINT64_MAX: it gave no more. */
uint64_t survey_gpu_time(const struct process_survey *process, uint64_t host_ns);
/* The call of the process that gave a piece of GPU work; NULL: unknown, or no call. */
const struct trace_span *survey_call(const struct survey *survey, const struct trace_span *work);
/* The first work of a class that a call gave; CLASS_COUNT: of any. NULL: none. */
const struct trace_span *survey_work(const struct survey *survey, const struct trace_span *call,
                                     enum trace_class class);
/* By its name: a call that waits until the GPU is done. */
bool survey_waits(const struct survey *survey, const struct trace_span *call);
/* By its name: one that returns before its work is done. */
bool survey_is_async(const struct survey *survey, const struct trace_span *call);
/* Whether the call gives the GPU work: launch, copy or fill. */
bool survey_submits(const struct survey *survey, const struct trace_span *call);
/* The full name where there is one. */
const char *survey_kernel_name(const struct survey *survey, const struct trace_span *kernel);

#endif
