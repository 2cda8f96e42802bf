/* Feeds the records of simulate.py from standard input to the analysis across ranks, and prints the report as
 * JSON.
 * `--limits RANKS STEPS ENTRIES` replaces the limits of the same names. */
#include "analysis/ranks/ranks.h"
#include "ranks_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void add_rank(struct ranks *ranks, const struct record *record)
{
    char host[32];
    snprintf(host, sizeof host, "node-%u", record->word);
    (void)ranks_add(ranks, record->rank, host, "GPU");
}

static void add_step(struct ranks *ranks, const struct record *record)
{
    struct ranks_step step = {
        .number = record->step,
        .start_ns = record->start_ns,
        .end_ns = record->end_ns,
        .kind = (enum ranks_step_kind)record->word,
    };
    step.trace_id.high = record->step;
    step.has_backlog = record->key != 0;
    step.backlog_ns = record->key - step.has_backlog;
    ranks_add_step(ranks, record->rank, &step);
}

static void add_collective(struct ranks *ranks, const struct record *record)
{
    ranks_add_collective(ranks, record->rank,
                         &(struct ranks_collective){record->key, record->communicator,
                                                    (enum ranks_operation)record->word, record->participants,
                                                    record->bytes, record->step, record->start_ns,
                                                    record->end_ns});
}

static void add(struct ranks *ranks, const struct record *record)
{
    switch (record->type) {
    case RECORD_RANK:
        add_rank(ranks, record);
        break;
    case RECORD_STEP:
        add_step(ranks, record);
        break;
    case RECORD_CALL:
        ranks_add_call(ranks, record->rank, record->step, record->start_ns, record->start_ns, false);
        break;
    case RECORD_WORK:
        ranks_add_work(ranks, record->rank, record->step, (enum ranks_category)record->word, record->start_ns,
                       record->end_ns);
        break;
    case RECORD_COLLECTIVE:
        add_collective(ranks, record);
        break;
    default:
        fprintf(stderr, "ranks_driver: unknown record type %u\n", record->type);
        exit(2);
    }
}

static void print_steps(const struct ranks_report *report)
{
    printf("\"steps\": [");
    for (size_t i = 0; i < report->step_count; i++) {
        const struct ranks_step_row *row = &report->steps[i];
        printf("%s{\"step\": %llu, \"rank\": %d, \"duration\": %llu, \"compute\": %llu, \"exposed\": %llu, "
               "\"copies\": %llu, \"idle\": %llu, \"loader\": %llu, \"waiting\": %llu, \"own\": %llu}",
               i ? ", " : "", (unsigned long long)row->number, (int)row->rank,
               (unsigned long long)row->parts.duration_ns, (unsigned long long)row->parts.compute_ns,
               (unsigned long long)row->parts.exposed_ns, (unsigned long long)row->parts.copies_ns,
               (unsigned long long)row->parts.idle_ns, (unsigned long long)row->parts.loader_ns,
               (unsigned long long)row->waiting_ns, (unsigned long long)row->own_ns);
    }
    printf("],\n");
}

static void print_collectives(const struct ranks_report *report)
{
    printf("\"collectives\": [");
    for (size_t i = 0; i < report->collective_count; i++) {
        const struct ranks_collective_row *row = &report->collectives[i];
        printf("%s{\"communicator\": %llu, \"operation\": \"%s\", \"count\": %llu, \"transfer\": %.1f, "
               "\"busbw\": %.0f, "
               "\"wait\": %.3f, \"skew\": %.1f, \"last\": %d, \"last_count\": %llu}",
               i ? ", " : "", (unsigned long long)row->communicator, ranks_operations[row->operation].word,
               (unsigned long long)row->count, row->transfer_ns, row->busbw, row->wait_ns, row->skew_ns,
               (int)row->last_rank, (unsigned long long)row->last_count);
    }
    printf("],\n");
}

static void print_ranks(const struct ranks_report *report)
{
    printf("\"ranks\": [");
    for (size_t i = 0; i < report->rank_count; i++) {
        const struct ranks_rank_row *row = &report->ranks[i];
        printf("%s{\"rank\": %u, \"host\": \"%s\", \"score\": %.5f, \"lateness\": %.1f, \"last\": %llu, "
               "\"instances\": %llu, \"shift\": %lld}",
               i ? ", " : "", row->rank, row->host, row->score, row->lateness_ns,
               (unsigned long long)row->last_count, (unsigned long long)row->instance_count,
               (long long)row->step_shift);
    }
    printf("],\n");
}

static void print_clocks(const struct ranks_report *report)
{
    printf("\"clocks\": [");
    for (size_t i = 0; i < report->clock_count; i++) {
        const struct ranks_clock_row *row = &report->clocks[i];
        printf("%s{\"host\": \"%s\", \"known\": %s, \"origin\": %llu, \"offset\": %.1f, \"drift\": %.9f, "
               "\"uncertainty\": %.1f, \"contradictions\": %llu}",
               i ? ", " : "", row->host, row->is_known ? "true" : "false", (unsigned long long)row->origin_ns,
               row->offset_ns, row->drift, row->uncertainty_ns, (unsigned long long)row->contradictions);
    }
    printf("],\n");
}

static void print_findings(const struct ranks_report *report)
{
    printf("\"findings\": [");
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ranks_finding *finding = &report->findings[i];
        printf(
            "%s{\"kind\": \"%s\", \"rank\": %d, \"communicator\": %llu, \"delay\": %.1f, \"saving\": %.1f, "
            "\"steps\": %llu, \"step\": %llu, \"evidence\": \"%s\"}",
            i ? ", " : "", ranks_finding_word(finding->kind), (int)finding->rank,
            (unsigned long long)finding->communicator, finding->delay_ns, finding->saving_ns,
            (unsigned long long)finding->steps, (unsigned long long)finding->step, finding->evidence);
    }
    printf("],\n");
}

static void print_report(const struct ranks_report *report)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{");
    print_steps(report);
    print_collectives(report);
    print_ranks(report);
    print_clocks(report);
    print_findings(report);
    printf("\"instances\": %llu, \"incomplete\": %llu, \"evicted\": %llu, \"ambiguous\": %llu, \"unsorted\": "
           "%llu, "
           "\"ranks_lost\": %llu, \"steps_lost\": %llu, \"cpu_s\": %.3f, \"peak_kib\": %ld}\n",
           (unsigned long long)report->instances, (unsigned long long)report->losses.incomplete,
           (unsigned long long)report->losses.evicted, (unsigned long long)report->losses.ambiguous,
           (unsigned long long)report->losses.unsorted, (unsigned long long)report->losses.ranks,
           (unsigned long long)report->losses.steps,
           (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6, usage.ru_maxrss);
}

int main(int argc, char **argv)
{
    static struct record records[4096];
    struct ranks_limits limits = ranks_default_limits;
    if (argc == 5 && !strcmp(argv[1], "--limits")) {
        limits.ranks_max = strtoull(argv[2], NULL, 10);
        limits.steps_max = strtoull(argv[3], NULL, 10);
        limits.open_entries_max = strtoull(argv[4], NULL, 10);
    }
    struct ranks *ranks = ranks_create(&limits);
    for (size_t count; (count = fread(records, sizeof *records, 4096, stdin)) > 0;)
        for (size_t i = 0; i < count; i++)
            add(ranks, &records[i]);
    struct ranks_report report;
    ranks_finish(ranks, &report);
    print_report(&report);
    ranks_report_deinit(&report);
    ranks_destroy(ranks);
    return 0;
}
