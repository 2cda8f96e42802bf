/* Estimates the offsets of the hosts' clocks against the first host from the collectives of a training job
 * (src/analysis/ranks), to draw or count the spans of all hosts on one time axis. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace_read.h"

struct clock_offsets;

/* Reads the whole input, which must not be standard input. Without hosts that share collectives, all offsets
 * are 0. The caller destroys the result. Errors: those of trace_read(). */
enum status clock_offsets_read(const struct trace_input *input, struct clock_offsets **offsets,
                               struct error *err) MUST_CHECK;
/* Return the number of hosts whose clocks are known, apart from the first one, and of hosts whose clocks are
 * not. */
size_t clock_offsets_known(const struct clock_offsets *offsets);
size_t clock_offsets_unknown(const struct clock_offsets *offsets);
/* Corrects the times of all spans and events of a segment or trace, and sorts and links it again. Earlier
 * links and indices of spans are then invalid. */
void clock_offsets_apply(struct clock_offsets *offsets, struct trace *segment);
void clock_offsets_destroy(struct clock_offsets *offsets);
