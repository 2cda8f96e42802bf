/* Analyzes a training job across its ranks. The caller adds steps, GPU work and collectives of all ranks, in
 * the order of their start times or rank by rank; ranks_finish() returns the tables and findings. The
 * analysis does not depend on the source of the data.
 *
 * Ranks have clocks of their own. Only durations are compared between ranks, except in ranks_clocks.h, which
 * estimates the offsets. Memory is bounded by struct ranks_limits; what exceeds a limit is counted in the
 * report.
 *
 * All times are ns; points in time are since 1970, by the clock of the rank's host. */
#pragma once

#include "analysis/ranks/ranks_types.h"

/* The default limits. The analysis takes about 1 GiB if all are reached. */
extern const struct ranks_limits ranks_default_limits;

struct ranks;

/* `limits` is copied; NULL: the defaults. Never returns NULL. */
struct ranks *ranks_create(const struct ranks_limits *limits);
void ranks_destroy(struct ranks *ranks);

/* Adds a process and returns its index, which the functions below call its rank; RANKS_NONE: there are too
 * many. `number` is its rank number in the job. The texts are copied. */
uint32_t ranks_add(struct ranks *ranks, uint32_t number, const char *host, const char *gpu);
/* Sets the size of the rank's job, as its launcher gives it. */
void ranks_set_world(struct ranks *ranks, uint32_t rank, uint32_t size);
/* Counts a collective whose key or communicator cannot be read. */
void ranks_add_unreadable(struct ranks *ranks);
/* Announces a step, before its work. Work of a step that was not announced creates the step. */
void ranks_add_step(struct ranks *ranks, uint32_t rank, const struct ranks_step *step);
/* Adds a CUDA call of a step, in the order of the start times. `waits`: the call returns when the GPU is
 * done. */
void ranks_add_call(struct ranks *ranks, uint32_t rank, uint64_t step, uint64_t start_ns, uint64_t end_ns,
                    bool waits);
/* Adds GPU work of a step. All work and collectives of a rank must come in the order of their start times.
 * Kernels of collectives may be passed as communication, too; that changes nothing. */
void ranks_add_work(struct ranks *ranks, uint32_t rank, uint64_t step, enum ranks_category category,
                    uint64_t start_ns, uint64_t end_ns);
/* Replaces the name of the rank's GPU; `gpu` is copied. */
void ranks_set_gpu(struct ranks *ranks, uint32_t rank, const char *gpu);
void ranks_add_collective(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective);

/* Returns the operation that the word names; RANKS_OTHER: none. */
enum ranks_operation ranks_operation_of(const char *word);
const char *ranks_operation_word(enum ranks_operation operation);
/* Returns the bus bandwidth divided by the bandwidth of the algorithm, for n ranks. */
double ranks_bus_factor(enum ranks_operation operation, uint32_t n);
bool ranks_is_p2p(enum ranks_operation operation);

/* Returns the own time of a rank in a step. `others_ns` is the part of the duration that the rank waited for
 * other ranks or transferred data. `host_ns` is the time for which its host worked; 0: unknown. */
uint64_t ranks_own_time(uint64_t duration_ns, uint64_t others_ns, uint64_t host_ns);

/* Fills the report, which borrows texts of `ranks`. The caller frees it by ranks_report_deinit(), and adds no
 * data afterwards. */
void ranks_finish(struct ranks *ranks, struct ranks_report *report);
void ranks_report_deinit(struct ranks_report *report);
const char *ranks_finding_word(enum ranks_finding_kind kind);
const char *ranks_partial_word(enum ranks_partial partial);
