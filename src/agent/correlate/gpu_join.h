/* Joins each GPU record with its call (join/gpu_work.h) and passes it on to its span (activity_spans.h). A
 * record waits, in a bounded queue, until its call, its device's description and its hardware counter values
 * are known.
 *
 * If the settings leave calls out, a record without a call does not wait, because its call may never come. */
#pragma once

#include "agent/correlate/join/pending.h"
#include "base/status.h"
#include "model/record.h"
#include "model/settings/settings.h"

struct correlate;
struct gpu_join;

enum status gpu_join_init(struct gpu_join *join, const struct settings *settings) MUST_CHECK;
void gpu_join_deinit(struct gpu_join *join);

/* Call them before a forced flush, and after all of its records. False: not all ends are known. */
void gpu_join_begin_flush(struct correlate *correlate);
bool gpu_join_end_flush(struct correlate *correlate, struct gpu_left *left);

void gpu_join_add(struct correlate *correlate, const struct activity_record *record);
/* Retries the waiting records, and gives up those that have waited too long; at exit, all. */
void gpu_join_sweep(struct correlate *correlate);
