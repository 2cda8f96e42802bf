/* Tables of a training job across its ranks: steps, collectives, ranks, clocks and findings. Without spans of
 * steps there are no tables. */
#include "analysis/stat/base/stat.h"

#include "analysis/stat/base/places.h"
#include "analysis/stat/tables/rank_job.h"
#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>

#define STEP_COLUMNS(X)                                                                                      \
    X(STEP_NUMBER, "step", "step", STAT_COUNT)                                                               \
    X(STEP_RANK, "process", "process", STAT_TEXT)                                                            \
    X(STEP_JOB, "job", "job", STAT_COUNT)                                                                    \
    X(STEP_DURATION_NS, "duration_ns", "duration", STAT_NS)                                                  \
    X(STEP_COMPUTE_NS, "compute_ns", "compute", STAT_NS)                                                     \
    X(STEP_EXPOSED_NS, "exposed_communication_ns", "exposed comm.", STAT_NS)                                 \
    X(STEP_WAITING_NS, "waiting_ns", "of it waiting", STAT_NS)                                               \
    X(STEP_COPIES_NS, "copies_ns", "copies", STAT_NS)                                                        \
    X(STEP_IDLE_NS, "idle_ns", "idle", STAT_NS)                                                              \
    X(STEP_DELAY_NS, "delay_ns", "delay", STAT_NS)                                                           \
    X(STEP_PARTIAL, "not_compared", "not compared", STAT_TEXT)
STAT_COLUMNS_OF(step_columns, STEP_COLUMNS);

static const char *process_name(const struct rank_job *job, const struct stat *stat, uint32_t rank)
{
    return rank == RANKS_NONE ? "all (mean)" : places_name(stat->places, job->processes[rank].process);
}

static void add_steps(const struct rank_job *job, const struct stat *stat, struct stat_report *report,
                      const struct ranks_report *found)
{
    struct stat_table *table = STAT_ADD_TABLE(
        report, "steps", "Steps",
        "Compute, exposed communication, copies and idle time are disjoint. The delay is that of the rank's "
        "own time against its peers. The first and the last step, and those that are cut, are not compared.",
        step_columns);
    for (size_t i = 0; i < found->step_count; i++) {
        const struct ranks_step_row *from = &found->steps[i];
        if (from->kind != RANKS_TRAIN)
            continue;
        struct stat_value *row = stat_table_add(table);
        row[STEP_NUMBER] = stat_int(from->number);
        row[STEP_RANK] = stat_text(process_name(job, stat, from->rank));
        if (found->job_count > 1)
            row[STEP_JOB] = stat_int(from->job + 1);
        row[STEP_DURATION_NS] = stat_int(from->parts.duration_ns);
        if (from->partial)
            row[STEP_PARTIAL] = stat_text(ranks_partial_word(from->partial));
        if (!from->has_parts)
            continue;
        row[STEP_COMPUTE_NS] = stat_int(from->parts.compute_ns);
        row[STEP_EXPOSED_NS] = stat_int(from->parts.exposed_ns);
        row[STEP_WAITING_NS] = stat_int(from->waiting_ns);
        row[STEP_COPIES_NS] = stat_int(from->parts.copies_ns);
        row[STEP_IDLE_NS] = stat_int(from->parts.idle_ns);
        if (from->has_delay)
            row[STEP_DELAY_NS] = (struct stat_value){.i = from->delay_ns};
    }
}

#define COLLECTIVE_COLUMNS(X)                                                                                \
    X(COLL_OPERATION, "operation", "operation", STAT_TEXT)                                                   \
    X(COLL_COMMUNICATOR, "communicator", "communicator", STAT_TEXT)                                          \
    X(COLL_RANKS, "ranks", "ranks", STAT_COUNT)                                                              \
    X(COLL_COUNT, "count", "count", STAT_COUNT)                                                              \
    X(COLL_BYTES, "bytes", "bytes", STAT_BYTES)                                                              \
    X(COLL_TRANSFER_NS, "transfer_ns", "transfer", STAT_NS)                                                  \
    X(COLL_BUSBW, "busbw", "busbw", STAT_RATE)                                                               \
    X(COLL_WAIT_NS, "wait_ns", "wait", STAT_NS)                                                              \
    X(COLL_SKEW_NS, "skew_ns", "skew", STAT_NS)                                                              \
    X(COLL_LAST, "last", "most often last", STAT_TEXT)                                                       \
    X(COLL_LAST_SHARE, "last_share", "of times", STAT_SHARE)
STAT_COLUMNS_OF(collective_columns, COLLECTIVE_COLUMNS);

static void add_collectives(const struct rank_job *job, const struct stat *stat, struct stat_report *report,
                            const struct ranks_report *found)
{
    struct stat_table *table =
        STAT_ADD_TABLE(report, "collectives", "Collectives",
                       "Transfer is the median of the shortest durations over the ranks, wait the mean time "
                       "beyond them. Neither needs equal clocks.",
                       collective_columns);
    for (size_t i = 0; i < found->collective_count; i++) {
        const struct ranks_collective_row *from = &found->collectives[i];
        struct stat_value *row = stat_table_add(table);
        row[COLL_OPERATION] = stat_text(ranks_operations[from->operation].word);
        row[COLL_COMMUNICATOR] =
            stat_table_own(table, xasprintf("%016llx", (unsigned long long)from->communicator));
        row[COLL_RANKS] = stat_int(from->participants);
        row[COLL_COUNT] = stat_int(from->count);
        row[COLL_BYTES] = stat_int(from->bytes);
        row[COLL_TRANSFER_NS] = stat_int((uint64_t)from->transfer_ns);
        if (from->has_transfer)
            row[COLL_BUSBW] = stat_real(from->busbw);
        row[COLL_WAIT_NS] = stat_int((uint64_t)from->wait_ns);
        row[COLL_SKEW_NS] = stat_int((uint64_t)from->skew_ns);
        if (from->last_rank == RANKS_NONE || ranks_is_p2p(from->operation))
            continue;
        row[COLL_LAST] = stat_text(process_name(job, stat, from->last_rank));
        row[COLL_LAST_SHARE] = stat_ratio((double)from->last_count, (double)from->count);
    }
    stat_table_sort(table, COLL_BYTES);
}

#define RANK_COLUMNS(X)                                                                                      \
    X(RANK_PROCESS, "process", "process", STAT_TEXT)                                                         \
    X(RANK_NUMBER, "rank", "rank", STAT_COUNT)                                                               \
    X(RANK_JOB, "job", "job", STAT_COUNT)                                                                    \
    X(RANK_HOST, "host", "host", STAT_TEXT)                                                                  \
    X(RANK_GPU, "gpu", "GPU", STAT_TEXT)                                                                     \
    X(RANK_STEPS, "steps", "steps", STAT_COUNT)                                                              \
    X(RANK_SCORE, "score", "score", STAT_REAL)                                                               \
    X(RANK_LATENESS_NS, "lateness_ns", "lateness", STAT_NS)                                                  \
    X(RANK_LAST_SHARE, "last_share", "last in", STAT_SHARE)                                                  \
    X(RANK_OWN_NS, "own_ns", "own time", STAT_NS)                                                            \
    X(RANK_PEERS_NS, "peers_own_ns", "of its peers", STAT_NS)                                                \
    X(RANK_DELAY_NS, "delay_ns", "delay", STAT_NS)
STAT_COLUMNS_OF(rank_columns, RANK_COLUMNS);

/* Adds sentences about the data that the analysis could not use. */
static void add_losses(struct text *note, const struct ranks_losses *lost)
{
    const struct {
        uint64_t count;
        const char *text;
    } losses[] = {
        {lost->incomplete, "collectives are not used, because spans of some ranks are missing"},
        {lost->ambiguous, "collectives are not used, because a rank has two spans with their key"},
        {lost->unreadable, "collectives are not used, because their key or communicator cannot be read"},
        {lost->repeated, "steps of ranks are there more than once"},
        {lost->unsorted, "pieces of GPU work came too late to be used"},
        {lost->ranks + lost->steps + lost->classes + lost->lateness + lost->host_pairs + lost->speeds,
         "ranks, steps or kinds of collectives are beyond the limits"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].count)
            text_add_format(note, " %llu %s.", (unsigned long long)losses[i].count, losses[i].text);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct ranks_rank_row *x = a, *y = b;
    int order = ORDER(x->job, y->job);
    order = order ? order : ORDER(x->number, y->number);
    return order ? order : ORDER(x->rank, y->rank);
}

/* Adds the table of ranks, by number, because findings name the late ones. */
static void add_ranks(const struct rank_job *job, const struct stat *stat, struct stat_report *report,
                      struct ranks_report *found)
{
    struct stat_table *table = STAT_ADD_TABLE(report, "ranks", "Ranks",
                                              "The score is the own time of the peers divided by that of the "
                                              "rank: below 1 is slower. Lateness is how "
                                              "much later than the median rank it arrives, the sum over the "
                                              "collectives of a step; negative is earlier. "
                                              "The delay is what a step loses by it.",
                                              rank_columns);
    qsort(found->ranks, found->rank_count, sizeof *found->ranks, compare_numbers);
    for (size_t i = 0; i < found->rank_count; i++) {
        const struct ranks_rank_row *from = &found->ranks[i];
        struct stat_value *row = stat_table_add(table);
        row[RANK_PROCESS] = stat_text(process_name(job, stat, from->rank));
        row[RANK_NUMBER] = stat_int(from->number);
        if (found->job_count > 1)
            row[RANK_JOB] = stat_int(from->job + 1);
        row[RANK_HOST] = stat_text(stat_keep(stat, from->host));
        row[RANK_GPU] = stat_text(stat_keep(stat, from->gpu));
        row[RANK_STEPS] = stat_int(from->steps);
        row[RANK_SCORE] = stat_real(from->score);
        row[RANK_LATENESS_NS] = (struct stat_value){.i = (int64_t)from->lateness_ns};
        row[RANK_LAST_SHARE] = stat_ratio((double)from->last_count, (double)from->instance_count);
        row[RANK_OWN_NS] = stat_int((uint64_t)from->own_ns);
        row[RANK_PEERS_NS] = stat_int((uint64_t)from->peers_own_ns);
        row[RANK_DELAY_NS] = (struct stat_value){.i = (int64_t)from->delay_ns};
    }
    struct text note = {0};
    text_add(&note, table->note);
    add_losses(&note, &found->losses);
    table->note = stat_table_own(table, note.data).text;
}

#define CLOCK_COLUMNS(X)                                                                                     \
    X(CLOCK_HOST, "host", "host", STAT_TEXT)                                                                 \
    X(CLOCK_OFFSET_NS, "offset_ns", "offset", STAT_NS)                                                       \
    X(CLOCK_DRIFT, "drift_ppm", "drift (ppm)", STAT_REAL)                                                    \
    X(CLOCK_UNCERTAINTY_NS, "uncertainty_ns", "uncertainty", STAT_NS)                                        \
    X(CLOCK_SAMPLES, "samples", "collectives", STAT_COUNT)                                                   \
    X(CLOCK_CONTRADICTIONS, "contradictions", "contradictions", STAT_COUNT)
STAT_COLUMNS_OF(clock_columns, CLOCK_COLUMNS);

static void add_clocks(const struct stat *stat, struct stat_report *report, const struct ranks_report *found)
{
    if (found->clock_count < 2)
        return;
    struct stat_table *table = STAT_ADD_TABLE(
        report, "clocks", "Clocks of the hosts",
        "Against the first host, estimated from the ends of collectives. No other table depends on them.",
        clock_columns);
    for (size_t i = 0; i < found->clock_count; i++) {
        const struct ranks_clock_row *from = &found->clocks[i];
        struct stat_value *row = stat_table_add(table);
        row[CLOCK_HOST] = stat_text(stat_keep(stat, from->host));
        if (!from->is_known)
            continue;
        row[CLOCK_OFFSET_NS] = (struct stat_value){.i = (int64_t)from->offset_ns};
        row[CLOCK_DRIFT] = stat_real(from->drift * 1e6);
        row[CLOCK_UNCERTAINTY_NS] = stat_int((uint64_t)from->uncertainty_ns);
        row[CLOCK_SAMPLES] = stat_int(from->samples);
        row[CLOCK_CONTRADICTIONS] = stat_int(from->contradictions);
    }
}

#define FINDING_COLUMNS(X)                                                                                   \
    X(FIND_KIND, "finding", "finding", STAT_TEXT)                                                            \
    X(FIND_JOB, "job", "job", STAT_COUNT)                                                                    \
    X(FIND_STEPS, "steps", "shown in steps", STAT_COUNT)                                                     \
    X(FIND_OF_STEPS, "of_steps", "of steps", STAT_COUNT)                                                     \
    X(FIND_SAVING_NS, "saving_ns", "saves per step", STAT_NS)                                                \
    X(FIND_SHARE, "saving_share", "of the step", STAT_SHARE)                                                 \
    X(FIND_STEP, "step", "see step", STAT_COUNT)                                                             \
    X(FIND_TRACE, "trace_id", "trace", STAT_TEXT)                                                            \
    X(FIND_EVIDENCE, "evidence", "evidence", STAT_TEXT)                                                      \
    X(FIND_ADVICE, "advice", "action", STAT_TEXT)
STAT_COLUMNS_OF(finding_columns, FINDING_COLUMNS);

static void add_findings(const struct rank_job *job, struct stat_report *report,
                         const struct ranks_report *found)
{
    struct stat_table *table = STAT_ADD_TABLE(report, "rank_findings", "Findings across ranks",
                                              "The saving is an upper bound.", finding_columns);
    for (size_t i = 0; i < found->finding_count; i++) {
        const struct ranks_finding *from = &found->findings[i];
        /* Communication of engines is often in CUDA graphs, without spans, and they load no data. */
        if (!job->has_steps && (from->kind == RANKS_NOT_COMPARED || from->kind == RANKS_DATA_LOADER))
            continue;
        struct stat_value *row = stat_table_add(table);
        row[FIND_KIND] = stat_text(ranks_finding_word(from->kind));
        if (found->job_count > 1)
            row[FIND_JOB] = stat_int(from->job + 1);
        if (from->kind != RANKS_NOT_COMPARED) {
            row[FIND_STEPS] = stat_int(from->steps);
            row[FIND_OF_STEPS] = stat_int(from->steps_seen);
            row[FIND_SAVING_NS] = stat_int((uint64_t)from->saving_ns);
            row[FIND_SHARE] = stat_real(from->saving_share);
            row[FIND_STEP] = stat_int(from->step);
            row[FIND_TRACE] = stat_table_own(
                table, xasprintf("%016" PRIx64 "%016" PRIx64, from->trace_id.high, from->trace_id.low));
        }
        row[FIND_EVIDENCE] = stat_table_own(table, xstrdup(from->evidence));
        row[FIND_ADVICE] = stat_text(from->advice);
    }
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct rank_job *job = state;
    if (job->ranks && report && (job->has_steps || job->process_count > 1)) {
        struct ranks_report found;
        ranks_finish(job->ranks, &found);
        add_steps(job, stat, report, &found);
        add_collectives(job, stat, report, &found);
        add_ranks(job, stat, report, &found);
        if (stat->scope == STAT_SCOPE_JOB) {
            add_clocks(stat, report, &found);
            add_findings(job, report, &found);
        }
        ranks_report_deinit(&found);
    }
    rank_job_deinit(job);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    if (stat->scope != STAT_SCOPE_PART)
        rank_job_take(state, stat, span);
}

const struct stat_section stat_ranks = {sizeof(struct rank_job), take, NULL, finish};
