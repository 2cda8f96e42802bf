/* Analysis of a training job across its ranks. The caller feeds steps, GPU work and collectives of all ranks,
 * in the order of their start times or rank by rank; ranks_finish() returns the tables and findings. Nothing
 * here knows where the data come from.
 *
 * Ranks have clocks of their own. Only durations are compared between ranks, except in ranks_clocks.h, which
 * estimates the offsets. Memory is bounded by struct ranks_limits; what exceeds a limit is counted in the
 * report.
 *
 * All times are ns; points in time are since 1970, by the clock of the rank's host. */
#ifndef CUSPAN_ANALYSIS_RANKS_RANKS_H
#define CUSPAN_ANALYSIS_RANKS_RANKS_H

#include "analysis/ranks/ranks_types.h"

/* About 1 GiB if all limits are reached. */
extern const struct ranks_limits ranks_default_limits;

struct ranks;

/* `limits`: NULL for the defaults. */
struct ranks *ranks_create(const struct ranks_limits *limits);
void ranks_destroy(struct ranks *ranks);

/* The index of a process, which is its rank everywhere below; RANKS_NONE if there are too many. `number` is
 * its number in the job. The texts are copied. */
uint32_t ranks_add(struct ranks *ranks, uint32_t number, const char *host, const char *gpu);
/* The size of the rank's job, by its launcher. */
void ranks_set_world(struct ranks *ranks, uint32_t rank, uint32_t size);
/* A collective whose key or communicator cannot be read. Counted. */
void ranks_add_unreadable(struct ranks *ranks);
/* A step is announced before its work. Work of an unknown step starts it. */
void ranks_add_step(struct ranks *ranks, uint32_t rank, const struct ranks_step *step);
/* A CUDA call of the step, in the order of the start times. `waits`: it returns when the GPU is done. */
void ranks_add_call(struct ranks *ranks, uint32_t rank, uint64_t step, uint64_t start_ns, uint64_t end_ns,
                    bool waits);
/* GPU work of a step. All work and collectives of a rank come in the order of their start times. Kernels of
 * collectives may be passed as communication too; that changes nothing. */
void ranks_add_work(struct ranks *ranks, uint32_t rank, uint64_t step, enum ranks_category category,
                    uint64_t start_ns, uint64_t end_ns);
/* Replaces the GPU's name; copied. */
void ranks_set_gpu(struct ranks *ranks, uint32_t rank, const char *gpu);
void ranks_add_collective(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective);

/* The operation of a word, or RANKS_OTHER. */
enum ranks_operation ranks_operation_of(const char *word);
const char *ranks_operation_word(enum ranks_operation operation);
/* Bus bandwidth divided by the bandwidth of the algorithm, for n ranks. */
double ranks_bus_factor(enum ranks_operation operation, uint32_t n);
bool ranks_is_p2p(enum ranks_operation operation);

/* The own time of a rank in a step. `others_ns`: of its duration, for other ranks and in transfers;
 * `host_ns`: that its host worked; 0: unknown. */
uint64_t ranks_own_time(uint64_t duration_ns, uint64_t others_ns, uint64_t host_ns);

/* Fills in the report, which borrows texts of `ranks`. Add nothing afterwards. */
void ranks_finish(struct ranks *ranks, struct ranks_report *report);
void ranks_report_deinit(struct ranks_report *report);
const char *ranks_finding_word(enum ranks_finding_kind kind);
const char *ranks_partial_word(enum ranks_partial partial);

#endif
