/* Plants faults in simulated jobs and counts how often cuspan's analysis names the cause.
 *
 *     hang_simulate [SEEDS [LARGE]]        also a job of 1,024 ranks, if LARGE is not 0
 *     hang_simulate json SHAPE FAULT SEED  prints the ranks as cuspan hang --json --this-host does
 *
 * Named: the verdict has the rank, alone or with one other; of a broken link and of NCCL, the communicator.
 */
#include "hang/simulator.h"

#include "analysis/hang/hang_analyze.h"
#include "analysis/hang/hang_read.h"
#include "cli/util/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct shape shapes[] = {
    {.tensor = 2, .pipeline = 2, .data = 2, .steps = 3, .layers = 2, .micro = 2, .buckets = 2},
    {.tensor = 1,
     .pipeline = 1,
     .data = 8,
     .steps = 3,
     .layers = 4,
     .micro = 1,
     .buckets = 1,
     .is_sharded = true},
    {.tensor = 4,
     .pipeline = 1,
     .data = 4,
     .steps = 4,
     .layers = 3,
     .micro = 2,
     .buckets = 3,
     .has_syncs = true},
    {.tensor = 2,
     .pipeline = 4,
     .data = 8,
     .steps = 3,
     .layers = 1,
     .micro = 4,
     .buckets = 2,
     .has_pairs = true},
    {.tensor = 8, .pipeline = 4, .data = 32, .steps = 3, .layers = 2, .micro = 2, .buckets = 2},
};
#define SMALL 4

static const struct {
    const char *name;
    enum knowledge knowledge;
    uint32_t lost;      /* of 1,000 reports */
    uint32_t named_min; /* percent */
} modes[] = {{"capture sleeps: lower limits of ends", KNOWS_LIMITS, 0, 70},
             {"a forced flush: exact ends, oldest work of the GPU", KNOWS_ENDS, 0, 95},
             {"with NCCL's profiler plugin: data types, too", KNOWS_DATATYPES, 0, 95},
             {"the same, 1 % of the reports lost", KNOWS_DATATYPES, 10, 95}};
#define MODES (sizeof modes / sizeof *modes)

struct tally {
    uint32_t count, named, sure, wrong;
};

static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
static struct live_view view;
static bool is_verbose;

static void read_job(struct job *job, size_t mode, struct hang_model *model)
{
    for (uint32_t r = 0; r < job_ranks(job); r++) {
        struct error err;
        if (job_random(job, 1000) < modes[mode].lost)
            continue;
        memset(memory, 0, sizeof memory);
        job_write(job, r, modes[mode].knowledge, 1000 + (int32_t)r, 1, memory);
        if (live_view_of(memory, memory, sizeof memory, &view, &err) != STATUS_OK) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        job_add_facts(job, r, hang_add_live(model, "host", &view));
    }
}

static bool is_right(const struct job *job, enum fault fault, const struct hang_model *model,
                     const struct hang_verdict *verdict)
{
    bool has_culprit = false;
    for (size_t i = 0; i < verdict->rank_count; i++)
        has_culprit |= job_is_culprit(job, (uint32_t)model->ranks[verdict->ranks[i]].rank);
    if (fault == FAULT_LINK || fault == FAULT_NCCL)
        return verdict->communicator != HANG_NONE &&
               job_is_communicator(job, model->communicators[verdict->communicator].id);
    return has_culprit && verdict->rank_count <= 2;
}

/* Which call is named depends on it. The next call of the communicator may also differ from that of the
 * others. */
static bool is_kind(enum fault fault, enum hang_kind kind)
{
    bool differs = kind == HANG_OPERATION || kind == HANG_SIZE || kind == HANG_DATATYPE;
    return fault == FAULT_SKIPPED ? kind == HANG_SKIPPED || differs
           : fault == FAULT_EXTRA ? kind == HANG_EXTRA || differs
           : fault == FAULT_ORDER ? kind == HANG_ORDER
                                  : true;
}

static void judge(struct job *job, enum fault fault, uint64_t seed, size_t mode, struct tally *tally)
{
    struct hang_model model = {0};
    struct hang_verdict verdict;
    size_t jobs;
    read_job(job, mode, &model);
    struct hang_model *split = hang_split(&model, &jobs);
    hang_analyze(split, &verdict);
    bool named = is_right(job, fault, split, &verdict);
    tally->count++;
    tally->named += named;
    tally->sure += verdict.is_sure;
    tally->wrong += verdict.is_sure && !(named && is_kind(fault, verdict.kind));
    if (is_verbose && (!named || (verdict.is_sure && !is_kind(fault, verdict.kind)))) {
        struct text text = {0};
        hang_add_headline(&text, split, &verdict);
        printf("  %s, seed %llu: %s%s\n", fault_names[fault], (unsigned long long)seed,
               verdict.is_sure ? "SURE: " : "", text.data);
        if (verdict.evidence.len)
            printf("%s", verdict.evidence.data);
        text_deinit(&text);
    }
    hang_verdict_deinit(&verdict);
    for (size_t i = 0; i < jobs; i++)
        hang_deinit(&split[i]);
    free(split);
    hang_deinit(&model);
}

static void run_fault(const struct shape *shape, enum fault fault, uint64_t seed, struct tally tallies[MODES])
{
    for (uint64_t attempt = 0; attempt < 20; attempt++) {
        struct job *job = job_create(shape, seed * 7919 + attempt * 31 + fault);
        if (job_plant(job, fault) && job_run(job)) {
            for (size_t mode = 0; mode < MODES; mode++)
                judge(job, fault, seed, mode, &tallies[mode]);
            job_destroy(job);
            return;
        }
        job_destroy(job);
    }
}

static void print_row(const char *name, const struct tally tallies[MODES])
{
    printf("  %-10s", name);
    for (size_t mode = 0; mode < MODES; mode++)
        printf("  %4u of %4u %3u", tallies[mode].named, tallies[mode].count, tallies[mode].wrong);
    printf("\n");
}

static void add(struct tally sums[MODES], const struct tally tallies[MODES])
{
    for (size_t mode = 0; mode < MODES; mode++) {
        sums[mode].count += tallies[mode].count;
        sums[mode].named += tallies[mode].named;
        sums[mode].wrong += tallies[mode].wrong;
    }
}

static void run_shape(const struct shape *shape, uint64_t seeds, struct tally sums[MODES])
{
    struct tally all[MODES] = {0};
    printf("%u ranks (%u x %u x %u)\n", shape->tensor * shape->pipeline * shape->data, shape->tensor,
           shape->pipeline, shape->data);
    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        struct tally tallies[MODES] = {0};
        for (uint64_t seed = 1; seed <= seeds; seed++)
            run_fault(shape, (enum fault)fault, seed, tallies);
        print_row(fault_names[fault], tallies);
        add(all, tallies);
    }
    print_row("all", all);
    add(sums, all);
}

static int print_json(const struct shape *shape, const char *name, uint64_t seed)
{
    struct hang_model model = {0};
    struct job *job = job_create(shape, seed);
    int fault = 0;
    while (fault < FAULT_COUNT - 1 && strcmp(fault_names[fault], name) != 0)
        fault++;
    if (!job_plant(job, (enum fault)fault) || !job_run(job))
        return 1;
    read_job(job, 2, &model);
    struct json_writer json = JSON_WRITER(stdout);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "cuspan_hang", 1);
    hang_write_ranks(&json, &model);
    json_write_object_end(&json);
    hang_deinit(&model);
    job_destroy(job);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5)
        return print_json(&shapes[strtoull(argv[2], NULL, 10) % (SMALL + 1)], argv[3],
                          strtoull(argv[4], NULL, 10));
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 4;
    bool is_large = argc > 2 && atoi(argv[2]);
    struct tally sums[MODES] = {0};
    int status = 0;
    is_verbose = argc > 3;
    printf("Named, and wrong though sure:\n");
    for (size_t mode = 0; mode < MODES; mode++)
        printf("  column %zu: %s\n", mode + 1, modes[mode].name);
    for (size_t i = 0; i < SMALL + (size_t)is_large; i++)
        run_shape(&shapes[i], i < SMALL ? seeds : 1 + seeds / 10, sums);
    print_row("sum", sums);
    for (size_t mode = 0; mode < MODES; mode++)
        if (sums[mode].wrong || sums[mode].named * 100 < sums[mode].count * modes[mode].named_min) {
            printf("FAILED: %s: %u %% must be named, and none wrong though sure\n", modes[mode].name,
                   modes[mode].named_min);
            status = 1;
        }
    return status;
}
