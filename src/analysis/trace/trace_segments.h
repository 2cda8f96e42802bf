/* Passes sorted records on as segments with margins. */
#pragma once

#include "analysis/trace/span_sort.h"
#include "analysis/trace/trace.h"
#include "analysis/trace/trace_facts.h"

/* `sort` is finished. `trace` has the resources and the list of traces. SIZE_MAX spans: one segment. */
enum status trace_segments_pass(struct span_sort *sort, struct trace *trace, size_t segment_spans,
                                size_t margin_spans, trace_segment_fn *take, void *context,
                                struct trace_facts *facts, struct error *err) MUST_CHECK;
