/* Findings about memory: repeated allocation, leaks and invalid frees. */
#include "cli/util/xalloc.h"
#include "analysis/stat/findings/finding.h"

#include <stdlib.h>

/* Returns the start of the second half of the process's GPU work. Setup is complete by then. */
static uint64_t steady_from(const struct process_survey *process)
{
    return process->start_ns + (process->end_ns - process->start_ns) / 2;
}

static bool is_steady(const struct process_survey *process, uint64_t time_ns)
{
    return process->end_ns > process->start_ns && time_ns >= steady_from(process) &&
           time_ns < process->end_ns;
}

static struct tally *tally_at(struct tallies *tallies, uint64_t key, const struct ledger_call *call)
{
    struct trace_span span = {.start_ns = call->start_ns,
                              .end_ns = call->end_ns,
                              .name = call->name,
                              .error = call->error,
                              .thread = call->thread};
    return tallies_at(tallies, key, call->process, &span);
}

/* --- allocations and frees in the steady state --- */

static char *steady_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                             const void *context)
{
    const struct process_survey *process = survey_process_at(survey, tally->process);
    finding->base_ns = process->end_ns - steady_from(process);
    return xasprintf(
        "%llu times in the second half of the run, thread %s allocated with %s and freed the memory "
        "%s later on average; the calls took %s",
        (unsigned long long)tally->count, places_thread(survey->stat->places, tally->first.thread),
        finding->where, EVIDENCE_TIME(tally->ns / tally->count), EVIDENCE_TIME(tally->saving_ns));
}

static void find_steady(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct ledger *ledger = survey->stat->ledger;
    struct tallies tallies = {0};
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        const struct process_survey *process = survey_process_at(survey, block->process);
        /* Pools are the recommended way, and mapped physical memory belongs to some pool. */
        if (block->kind == MEMORY_POOL || block->kind == MEMORY_VIRTUAL || !block->freed_by ||
            !is_steady(process, block->call->start_ns) || !is_steady(process, block->freed_by->start_ns))
            continue;
        uint64_t key = (uint64_t)block->call->name << 32 | block->call->thread;
        struct tally *tally = tally_at(&tallies, key, block->call);
        tally->count++;
        tally->ns += block->until_ns - block->from_ns;
        tallies_add_origin(&tallies, tally, block->call->origin, 1);
        tally->saving_ns += block->call->end_ns - block->call->start_ns;
        tally->saving_ns += block->freed_by->end_ns - block->freed_by->start_ns;
    }
    findings_offer(findings, FINDING_STEADY_ALLOCATION, &tallies, REPEATED_MIN, steady_evidence, NULL);
}

/* --- leaks --- */

/* Returns the evidence of a leak: blocks that one place allocated for the work of most slices of the second
 * half, and that still exist, so they grow with the work. A block's time is that of its work, not of its
 * call: a host that does not wait has made all calls when half of the GPU work is done. */
static char *leak_evidence(const struct survey *survey, const struct tally *tally, struct finding *finding,
                           const void *context)
{
    const struct process_survey *process = survey_process_at(survey, tally->process);
    const char *range = tally->text, *call = finding->where;
    uint64_t half = process->end_ns - steady_from(process);
    if (__builtin_popcountll(tally->extra) < LEAK_SLICES_MIN)
        return NULL;
    finding->where = *range ? range : call;
    finding->saving_bytes = tally->bytes;
    return xasprintf("%llu blocks that thread %s allocated with %s%s%s in the second half of the "
                     "run were never freed: %llu bytes in %s, %.1f MB/s",
                     (unsigned long long)tally->count,
                     places_thread(survey->stat->places, tally->first.thread), call,
                     *range ? " in range " : "", range, (unsigned long long)tally->bytes, EVIDENCE_TIME(half),
                     (double)tally->bytes * 1e3 / (double)half);
}

static void find_leaks(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct ledger *ledger = survey->stat->ledger;
    struct tallies tallies = {0}; /* extra: slices with such blocks, as bits; text: the range, or "" */
    if (ledger->left_out)         /* blocks may have been freed by calls that are unknown */
        return;
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        const struct process_survey *process = survey_process_at(survey, block->process);
        uint64_t used_ns = block->call->used_ns;
        /* A segment of PyTorch's caching allocator, whose inner blocks are not visible. */
        bool is_cached = process->is_pytorch && block->bytes && block->bytes % CACHED_SEGMENT_BYTES == 0;
        if (block->until_ns != UINT64_MAX || !is_steady(process, used_ns) || is_cached)
            continue;
        uint64_t from = steady_from(process);
        double half = (double)(process->end_ns - from);
        uint32_t range = block->call->range;
        uint64_t key = int_map_mix((uint64_t)block->call->name << 32 | block->call->thread) ^ range;
        struct tally *tally = tally_at(&tallies, key, block->call);
        tally->count++;
        tally->bytes += block->bytes;
        tallies_add_origin(&tallies, tally, block->call->origin, 1);
        tally->text = trace_string(survey->stat->trace, range);
        tally->extra |= 1ull << (uint64_t)((double)(used_ns - from) * LEAK_SLICES / (half + 1));
    }
    findings_offer(findings, FINDING_LEAK, &tallies, REPEATED_MIN, leak_evidence, NULL);
}

/* --- wrong frees --- */

static char *wrong_free_evidence(const struct survey *survey, const struct tally *tally,
                                 struct finding *finding, const void *context)
{
    return xasprintf("%llu calls on thread %s failed (first with %s): %llu addresses had already been "
                     "freed, %llu were never allocated while tracing",
                     (unsigned long long)tally->count,
                     places_thread(survey->stat->places, tally->first.thread),
                     trace_string(survey->stat->trace, tally->first.error), (unsigned long long)tally->extra,
                     (unsigned long long)(tally->count - tally->extra));
}

static void find_wrong_frees(struct findings *findings)
{
    const struct survey *survey = findings->survey;
    const struct ledger *ledger = survey->stat->ledger;
    struct tallies tallies = {0};
    for (size_t i = 0; i < ledger->free_count; i++) {
        const struct ledger_free *wrong = &ledger->frees[i];
        if (wrong->wrong == LEDGER_FOREIGN)
            continue;
        uint64_t key = (uint64_t)wrong->call->name << 32 | wrong->call->thread;
        struct tally *tally = tally_at(&tallies, key, wrong->call);
        tally->count++;
        tally->extra += wrong->wrong == LEDGER_TWICE;
    }
    findings_offer(findings, FINDING_WRONG_FREE, &tallies, 1, wrong_free_evidence, NULL);
}

static void finish(void *state, struct findings *findings)
{
    if (!findings)
        return;
    find_steady(findings);
    find_leaks(findings);
    find_wrong_frees(findings);
}

const struct detector find_memory_faults = {1, NULL, NULL, finish};
