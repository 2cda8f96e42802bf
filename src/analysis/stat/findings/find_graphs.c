/* Findings about repeated sequences of launches and asynchronous copies: candidates for CUDA graphs. */
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"
#include "base/hash.h"
#include "analysis/stat/findings/finding.h"
#include "analysis/stat/findings/repeats.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the entries of a thread that are searched together. A repetition that crosses the border of two
 * searches counts as two. */
#define ENTRIES_MAX       65536
#define ENTRIES_MIN       1024 /* limit for each thread, if there are many threads */
#define ENTRIES_TOTAL_MAX 524288

/* A call that can be a graph node, or that separates graphs: a wait, a blocking copy, an allocation. */
struct entry {
    uint64_t start_ns, duration_ns; /* times of the call */
    uint64_t work_ns;               /* start of the call's work */
    /* The time before the call and before its work in which the work's GPU was busy. */
    uint64_t busy_before_call_ns, busy_before_work_ns;
    uint32_t resource, work_name; /* of its work */
    uint32_t origin;              /* of its work */
    bool is_node;                 /* the call has work; otherwise it separates graphs */
    bool is_settled;              /* busy_before_work_ns is known */
};

struct sequence {
    struct entry *entries;
    uint32_t *tokens;
    bool *is_used; /* the entry is in a previous repetition */
    size_t count, capacity, token_capacity;
    size_t settled; /* number of first entries that are settled */
    bool is_counted;
};

struct candidates {
    struct paged sequences; /* by thread */
    size_t count;           /* threads with entries */
    struct int_map words;   /* hash of an entry → its token */
    struct tallies tallies; /* by the nodes of a graph. ns: host time of the calls; bytes: number of nodes;
                               extra: the GPU's idle time */
};

/* Returns a key for a node. Nodes are equal if their name, dimensions, size and stream are. Addresses may
 * differ, because graph nodes can be updated. */
static uint64_t word_of(const struct stat *stat, const struct trace_span *call, const struct trace_span *work)
{
    static const enum stat_key texts[] = {KEY_GRID, KEY_BLOCK, KEY_COPY_KIND};
    uint64_t key = call->name;
    if (!work)
        return int_map_mix(key);
    key = int_map_mix(key ^ (uint64_t)work->name << 32) ^ work->lane;
    key = int_map_mix(key) ^ stat_kernel_key(stat, work);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = stat_attr(stat, work, texts[i]);
        key = int_map_mix(key) ^ int_map_mix(hash_text(HASH_START, text ? text : ""));
    }
    key = int_map_mix(key) ^ stat_attr_int(stat, work, KEY_COPY_BYTES, 0);
    key = int_map_mix(key) ^ stat_attr_int(stat, work, KEY_FILL_BYTES, 0);
    return int_map_mix(key + 1);
}

/* Whether the call is an entry of a sequence. False: it neither belongs to a sequence nor ends it (a query,
 * an event record). */
static bool is_entry(const struct survey *survey, const struct trace_span *call,
                     const struct trace_span **work)
{
    struct stat_call what = stat_call_of(survey->stat, call);
    *work = NULL;
    if (what.group == CALL_GROUP_ALLOC || what.group == CALL_GROUP_FREE || what.waits)
        return true;
    if (!what.submits)
        return false;
    if (what.group == CALL_GROUP_LAUNCH)
        *work = survey_work(survey, call, CLASS_KERNEL);
    else if (what.is_async)
        *work = survey_work(survey, call, CLASS_COUNT);
    if (*work && stat_has(survey->stat, *work, KEY_GRAPH))
        *work = NULL; /* it is one */
    return true;
}

static uint64_t busy_before(const struct survey *survey, uint32_t resource, uint64_t time_ns)
{
    return intervals_covered(&survey_device(survey, resource)->busy, time_ns);
}

static void take(void *state, struct survey *survey, const struct trace_span *call)
{
    struct candidates *candidates = state;
    const struct trace_span *work;
    if (call->class != CLASS_CALL || call->thread == TRACE_NONE || !is_entry(survey, call, &work))
        return;
    struct sequence *sequence = paged_at(&candidates->sequences, call->thread, sizeof *sequence);
    candidates->count += !sequence->is_counted;
    sequence->is_counted = true;
    struct entry entry = {.start_ns = call->start_ns, .duration_ns = stat_duration(call)};
    if (work) {
        entry.is_node = true;
        entry.work_ns = work->start_ns;
        entry.resource = work->resource;
        entry.work_name = work->name;
        entry.origin = survey_origin(survey, work);
        entry.busy_before_call_ns = busy_before(survey, work->resource, call->start_ns);
    }
    *XADD(sequence->entries, sequence->count, sequence->capacity) = entry;
    sequence->tokens =
        xgrow(sequence->tokens, &sequence->token_capacity, sequence->count, sizeof *sequence->tokens);
    sequence->tokens[sequence->count - 1] =
        int_map_number(&candidates->words, word_of(survey->stat, call, work));
}

/* Returns the idle time of a GPU from the first call to the work of the last. If the entries are on several
 * GPUs, only those on the last entry's GPU count. */
static uint64_t idle_between(const struct sequence *sequence, size_t first, size_t last)
{
    const struct entry *end = &sequence->entries[last], *start = &sequence->entries[first];
    while (start->resource != end->resource)
        start++;
    if (end->work_ns <= start->start_ns)
        return 0;
    uint64_t busy = end->busy_before_work_ns - start->busy_before_call_ns;
    uint64_t whole = end->work_ns - start->start_ns;
    return whole > busy ? whole - busy : 0;
}

/* Counts a graph of the entries from `first` to `last`: the host time that it saves, limited to the GPU's
 * idle time. */
static void take_graph(struct candidates *candidates, const struct survey *survey,
                       const struct sequence *sequence, uint32_t thread, size_t first, size_t last)
{
    const struct entry *entry = &sequence->entries[first];
    struct trace_span work = {.start_ns = entry->work_ns,
                              .name = entry->work_name,
                              .resource = survey->stat->trace->threads[thread].resource,
                              .thread = thread};
    uint64_t host_ns = 0, idle_ns = idle_between(sequence, first, last), nodes = last + 1 - first;
    uint64_t key = nodes; /* of the nodes, whatever the rotation of the repeated sequence */
    for (size_t i = first; i <= last; i++) {
        host_ns += sequence->entries[i].duration_ns;
        key += int_map_mix(sequence->tokens[i] + 1ull);
    }
    struct tally *tally =
        tallies_count(&candidates->tallies, survey, int_map_mix(key) ^ thread, &work, entry->origin);
    tally->bytes = nodes;
    tally->ns += host_ns;
    tally->extra += idle_ns;
    uint64_t spared = host_ns > GRAPH_LAUNCH_NS ? host_ns - GRAPH_LAUNCH_NS : 0;
    tally->saving_ns += spared < idle_ns ? spared : idle_ns;
}

/* Splits a repetition into graphs, at entries that cannot be nodes and at the ends of rounds. */
static void take_repeat(struct candidates *candidates, const struct survey *survey, struct sequence *sequence,
                        const struct repeat *repeat, uint32_t thread)
{
    size_t nodes = 0;
    for (size_t i = 0; i < repeat->length; i++) {
        size_t at = repeat->start + i;
        bool is_node = sequence->entries[at].is_node && !sequence->is_used[at];
        bool ends_round = (i + 1) % repeat->period == 0;
        nodes = is_node ? nodes + 1 : 0;
        bool is_next_node =
            i + 1 < repeat->length && sequence->entries[at + 1].is_node && !sequence->is_used[at + 1];
        sequence->is_used[at] = true;
        if (nodes < GRAPH_NODES_MIN || (is_next_node && !ends_round))
            continue;
        take_graph(candidates, survey, sequence, thread, at + 1 - nodes, at);
        nodes = 0;
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct repeat *x = a, *y = b;
    int order = ORDER(y->length, x->length);
    return order ? order : ORDER(x->start, y->start);
}

/* Searches the entries of a thread and forgets them. */
static void search(struct candidates *candidates, const struct survey *survey, struct sequence *sequence,
                   uint32_t thread, size_t count)
{
    struct repeat *repeats;
    size_t found = repeats_find(sequence->tokens, count, GRAPH_PERIOD_MAX, GRAPH_TIMES_MIN, &repeats);
    sort_array(repeats, found, sizeof *repeats, longest_first);
    sequence->is_used = xcalloc(count + 1, sizeof *sequence->is_used);
    for (size_t i = 0; i < found; i++)
        take_repeat(candidates, survey, sequence, &repeats[i], thread);
    free(sequence->is_used);
    free(repeats);
    sequence->count -= count;
    sequence->settled -= count;
    if (!sequence->count) /* the sequence may have no arrays */
        return;
    memmove(sequence->entries, sequence->entries + count, sequence->count * sizeof *sequence->entries);
    memmove(sequence->tokens, sequence->tokens + count, sequence->count * sizeof *sequence->tokens);
}

/* Looks up how long the GPUs were busy before the work of entries, which is known once it has started. */
static void settle(struct sequence *sequence, const struct survey *survey)
{
    bool is_complete = true;
    for (size_t i = sequence->settled; i < sequence->count; i++) {
        struct entry *entry = &sequence->entries[i];
        if (entry->is_node && !entry->is_settled && entry->work_ns <= survey->now_ns) {
            entry->busy_before_work_ns = busy_before(survey, entry->resource, entry->work_ns);
            entry->is_settled = true;
        }
        is_complete &= !entry->is_node || entry->is_settled;
        sequence->settled += is_complete;
    }
}

static void free_arrays(struct sequence *sequence)
{
    free(sequence->entries);
    free(sequence->tokens);
    *sequence = (struct sequence){.is_counted = sequence->is_counted};
}

/* Searches long sequences, and frees those of threads whose process has ended: a fleet has thousands of such
 * threads. */
static void end_segment(void *state, struct survey *survey)
{
    struct candidates *candidates = state;
    const struct trace *trace = survey->stat->trace;
    struct sequence *sequence;
    size_t most = ENTRIES_TOTAL_MAX / (candidates->count ? candidates->count : 1);
    most = most > ENTRIES_MAX ? ENTRIES_MAX : most > ENTRIES_MIN ? most : ENTRIES_MIN;
    for (size_t i = 0; (sequence = paged_next(&candidates->sequences, &i, sizeof *sequence)); i++) {
        uint32_t thread = (uint32_t)i;
        settle(sequence, survey);
        while (sequence->settled >= most)
            search(candidates, survey, sequence, thread, most);
        if (sequence->entries && sequence->settled == sequence->count &&
            trace->resources[trace->threads[thread].resource].end_ns < survey->now_ns) {
            search(candidates, survey, sequence, thread, sequence->count);
            free_arrays(sequence);
        }
    }
}

static char *evidence_of(const struct survey *survey, const struct tally *tally, struct finding *finding,
                         const void *context)
{
    return xasprintf(
        "a sequence of %llu launches and copies that starts with %s repeats %llu times; its calls take "
        "%s of host time each, a graph launch takes %s; the GPU was idle for %s meanwhile",
        (unsigned long long)tally->bytes, finding->where, (unsigned long long)tally->count,
        EVIDENCE_TIME(tally->ns / tally->count), EVIDENCE_TIME(GRAPH_LAUNCH_NS), EVIDENCE_TIME(tally->extra));
}

static void finish(void *state, struct findings *findings)
{
    struct candidates *candidates = state;
    struct sequence *sequence;
    for (size_t i = 0; (sequence = paged_next(&candidates->sequences, &i, sizeof *sequence)); i++) {
        if (findings) {
            settle(sequence, findings->survey);
            search(candidates, findings->survey, sequence, (uint32_t)i, sequence->count);
        }
        free_arrays(sequence);
    }
    findings_offer(findings, FINDING_GRAPH_CANDIDATE, &candidates->tallies, GRAPH_TIMES_MIN, evidence_of,
                   NULL);
    paged_deinit(&candidates->sequences);
    int_map_deinit(&candidates->words);
}

const struct detector find_graph_candidates = {sizeof(struct candidates), take, end_segment, finish};
