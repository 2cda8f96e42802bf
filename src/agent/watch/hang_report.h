/* The report of a hang, as a log record: a sentence for people as its body, the call that stands as
 * attributes, and everything as JSON in the attribute cuspan.hang.report (docs/hangs.md has its shape).
 *
 * A report has a limit in bytes. Communicators and threads that matter most come first; of threads that do
 * not fit, those that stand at the same place are counted together. */
#pragma once

#include "agent/watch/children.h"
#include "agent/watch/stacks/thread_stacks.h"
#include "model/hang/live_reader.h"
#include "model/hang/stall.h"
#include "model/log_record.h"
#include "model/metrics/hardware.h"

#define HANG_BRIEF_BYTES 2560 /* of the JSON, so that a record takes at most 4 KiB in either encoding */
#define HANG_FULL_BYTES  (40 * 1024) /* a request is at most a chunk */
#define HANG_ATTRS_MAX   12
#define HANG_GROUPS_MAX  64

struct hang_facts {
    enum stall_event event; /* not NOTHING */
    const struct stall *stall;
    uint64_t now_ns, time_ns; /* CLOCK_MONOTONIC, and since 1970 */
    const struct live_view *view;
    const struct children *children;    /* described */
    const struct hardware *hardware;    /* NULL: unknown */
    const struct thread_stacks *stacks; /* the later look, compared with the earlier one; NULL: none */
};

struct hang_report {
    struct log_record record;
    struct span_attr attrs[HANG_ATTRS_MAX];
    char body[512], communicator[24];
    char json[HANG_FULL_BYTES];
};

/* The innermost frame of Python in the program's own code, or else in any, such as "/srv/train.py:88
 * Trainer.step". False: the thread has none. */
bool hang_report_line(const struct thread_stacks *stacks, const struct thread_stack *thread, char *to,
                      size_t size);

/* Makes a report whose JSON has at most `bytes_max` bytes, HANG_BRIEF_BYTES or HANG_FULL_BYTES. The record
 * refers to the report's memory. On the watch thread. */
void hang_report_make(const struct hang_facts *facts, size_t bytes_max, struct hang_report *report);
