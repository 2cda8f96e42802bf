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
/* The same from the spans of one trace, which must have all attributes. */
struct clock_offsets *clock_offsets_of_trace(struct trace *trace);
/* Writes to standard error how many clocks are aligned, and which cannot be. `command`: for example "stat".
 */
void clock_offsets_tell(const struct clock_offsets *offsets, const char *command);
/* Corrects the times of all spans and events of a segment or trace, and sorts and links it again. Earlier
 * links and indices of spans are then invalid. */
void clock_offsets_apply(struct clock_offsets *offsets, struct trace *segment);
void clock_offsets_destroy(struct clock_offsets *offsets);
