/* Work, calls and memory of a trace, prepared for the detectors of findings. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_SURVEY_H
#define CUSPAN_CLI_STAT_FINDINGS_SURVEY_H

#include "cli/stat/intervals.h"
#include "cli/stat/memory/ledger.h"

/* Input of all detectors. Intervals are sorted, and all except `given` are merged. */
struct survey {
    const struct stat *stat;
    struct places places;
    struct ledger ledger;
    struct device_survey {
        struct intervals busy;    /* any work */
        struct intervals kernels; /* kernels and graphs */
    } * devices;                  /* by resource */
    struct process_survey {
        uint64_t start_ns, end_ns;    /* of all GPU work; equal: there is none */
        struct intervals outstanding; /* from the start of a submitting call to the end of its work */
        struct intervals given;       /* from the start of a submitting call to the start of its work */
        struct intervals calls;       /* the host was in a call */
        struct intervals submits;     /* in a call that submits work */
        struct intervals waits;       /* in a call that waits for the GPU */
        uint64_t kernel_ns;           /* all kernels' time */
        bool has_managed;             /* memory that the host can read without a copy */
    } * processes;                    /* by the process numbers of `places` */
};

void survey_init(struct survey *survey, const struct stat *stat);
void survey_deinit(struct survey *survey);

/* GPU time that corresponds to a host time: the start of the work submitted next. A host that does not wait
 * is up to a thousand launches ahead. UINT64_MAX: no more work was submitted. */
uint64_t survey_gpu_time(const struct process_survey *process, uint64_t host_ns);
/* The call that submitted the work; NULL: unknown. */
const struct trace_span *survey_call(const struct survey *survey, const struct trace_span *work);
/* The first work of a class that the call submitted; CLASS_COUNT: any class. NULL: none. */
const struct trace_span *survey_work(const struct survey *survey, const struct trace_span *call,
                                     enum trace_class class);
/* Whether the call waits for the GPU, by its name. */
bool survey_waits(const struct survey *survey, const struct trace_span *call);
/* Whether the call returns before its work is done, by its name. */
bool survey_is_async(const struct survey *survey, const struct trace_span *call);
/* Whether the call submits GPU work: launch, copy or fill. */
bool survey_submits(const struct survey *survey, const struct trace_span *call);

#endif
