/* Findings about repeated sequences of launches and asynchronous copies: candidates for CUDA graphs. */
#include "cli/util/xalloc.h"
#include "base/hash.h"
#include "cli/stat/findings/detectors.h"
#include "cli/stat/findings/repeats.h"

#include <stdlib.h>
#include <string.h>

/* A call that can be a graph node, or that separates graphs: a wait, a blocking copy, an allocation. */
struct step {
    const struct trace_span *call;
    const struct trace_span *work; /* NULL: not a node, but separates graphs */
};

struct sequence {
    struct step *steps;
    uint32_t *tokens;
    bool *is_used; /* by a previous repetition */
    size_t count, capacity, token_capacity;
};

struct candidates {
    struct findings *findings;
    struct sequence sequence; /* of the current thread */
    struct int_map words;     /* hash of a step → its token */
    struct tallies tallies;   /* by the nodes of a graph; ns: host time of its calls, bytes: its nodes, extra:
                                 the GPU's idle time */
};

static uint64_t text_key(const char *text)
{
    return int_map_mix(hash_text(HASH_START, text ? text : ""));
}

/* Nodes are equal if name, dimensions, size and stream are. Addresses may differ, because graph nodes can be
 * updated. */
static uint64_t word_of(const struct stat *stat, const struct step *step)
{
    static const enum stat_key keys[] = {KEY_KERNEL_NAME, KEY_GRID,       KEY_BLOCK,
                                         KEY_COPY_KIND,   KEY_COPY_BYTES, KEY_FILL_BYTES};
    uint64_t key = step->call->name;
    if (!step->work)
        return int_map_mix(key);
    key = int_map_mix(key ^ (uint64_t)step->work->name << 32) ^ step->work->lane;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        key = int_map_mix(key) ^ text_key(stat_attr(stat, step->work, keys[i]));
    return int_map_mix(key + 1);
}

/* False: the call neither belongs to a sequence nor ends it (a query, an event record). */
static bool step_of(const struct survey *survey, const struct trace_span *call, struct step *step)
{
    enum call_group group = stat_call_group(survey->stat, call);
    bool is_launch = group == CALL_GROUP_LAUNCH,
         is_move = group == CALL_GROUP_COPY || group == CALL_GROUP_FILL;
    *step = (struct step){call, NULL};
    if (group == CALL_GROUP_ALLOC || group == CALL_GROUP_FREE || survey_waits(survey, call))
        return true;
    if (!is_launch && !is_move)
        return false;
    if (is_launch)
        step->work = survey_work(survey, call, CLASS_KERNEL);
    else if (survey_is_async(survey, call))
        step->work = survey_work(survey, call, CLASS_COUNT);
    if (step->work && stat_attr(survey->stat, step->work, KEY_GRAPH))
        step->work = NULL; /* it is one */
    return true;
}

/* The calls of each thread, in order: thread t has calls[firsts[t]] to calls[firsts[t + 1] - 1]. */
struct calls_by_thread {
    uint32_t *calls; /* spans */
    size_t *firsts;
};

static bool has_thread(const struct trace_span *span)
{
    return span->class == CLASS_CALL && span->thread != TRACE_NONE;
}

static struct calls_by_thread sort_calls(const struct trace *trace)
{
    struct calls_by_thread by_thread = {xcalloc(trace->span_count + 1, sizeof *by_thread.calls),
                                        xcalloc(trace->thread_count + 2, sizeof *by_thread.firsts)};
    /* The next free index of each thread; at the end, the first index of the following thread. */
    size_t *next = by_thread.firsts + 1;
    for (size_t i = 0; i < trace->span_count; i++) {
        if (has_thread(&trace->spans[i]))
            next[trace->spans[i].thread + 1]++;
    }
    for (size_t t = 1; t <= trace->thread_count; t++)
        next[t] += next[t - 1];
    for (size_t i = 0; i < trace->span_count; i++) {
        if (has_thread(&trace->spans[i]))
            by_thread.calls[next[trace->spans[i].thread]++] = (uint32_t)i;
    }
    return by_thread;
}

static void collect(struct candidates *candidates, const uint32_t *calls, size_t count)
{
    const struct survey *survey = candidates->findings->survey;
    struct sequence *sequence = &candidates->sequence;
    struct step step;
    sequence->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!step_of(survey, &survey->stat->trace->spans[calls[i]], &step))
            continue;
        size_t at = sequence->count++;
        sequence->steps =
            xgrow(sequence->steps, &sequence->capacity, sequence->count, sizeof *sequence->steps);
        sequence->tokens =
            xgrow(sequence->tokens, &sequence->token_capacity, sequence->count, sizeof *sequence->tokens);
        sequence->steps[at] = step;
        sequence->tokens[at] = stat_number(&candidates->words, word_of(survey->stat, &step));
    }
}

/* Counts a graph of the steps from `first` to `last`: the host time that it saves, limited to the GPU's idle
 * time. */
static void take_graph(struct candidates *candidates, struct tally *tally, size_t first, size_t last)
{
    const struct survey *survey = candidates->findings->survey;
    const struct sequence *sequence = &candidates->sequence;
    uint64_t host_ns = 0, idle_ns = 0;
    for (size_t i = first; i <= last; i++)
        host_ns += stat_duration(sequence->steps[i].call);
    const struct trace_span *work = sequence->steps[last].work;
    idle_ns = intervals_gaps(&survey->devices[work->resource].busy, sequence->steps[first].call->start_ns,
                             work->start_ns);
    tally->count++;
    tally->ns += host_ns;
    tally->extra += idle_ns;
    uint64_t spared = host_ns > GRAPH_LAUNCH_NS ? host_ns - GRAPH_LAUNCH_NS : 0;
    tally->saving_ns += spared < idle_ns ? spared : idle_ns;
}

/* Independent of the rotation of the repeated sequence. */
static uint64_t key_of(const struct sequence *sequence, size_t first, size_t nodes)
{
    uint64_t key = nodes;
    for (size_t i = first; i < first + nodes; i++)
        key += int_map_mix(sequence->tokens[i] + 1ull);
    return key;
}

/* Splits a repetition into graphs, at steps that cannot be nodes and at the ends of rounds. */
static void take_repeat(struct candidates *candidates, const struct repeat *repeat, uint32_t thread)
{
    struct sequence *sequence = &candidates->sequence;
    const struct survey *survey = candidates->findings->survey;
    size_t nodes = 0;
    for (size_t i = 0; i < repeat->length; i++) {
        size_t at = repeat->start + i;
        bool is_node = sequence->steps[at].work && !sequence->is_used[at];
        bool ends_round = (i + 1) % repeat->period == 0;
        nodes = is_node ? nodes + 1 : 0;
        bool is_next_node =
            i + 1 < repeat->length && sequence->steps[at + 1].work && !sequence->is_used[at + 1];
        sequence->is_used[at] = true;
        if (nodes < GRAPH_NODES_MIN || (is_next_node && !ends_round))
            continue;
        size_t first = at + 1 - nodes;
        const struct step *step = &sequence->steps[first];
        struct tally *tally =
            tallies_at(&candidates->tallies, int_map_mix(key_of(sequence, first, nodes)) ^ thread,
                       places_process(&survey->places, step->call), step->work);
        tally->bytes = nodes;
        take_graph(candidates, tally, first, at);
        nodes = 0;
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct repeat *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void search_thread(struct candidates *candidates, const struct calls_by_thread *by_thread,
                          uint32_t thread)
{
    struct sequence *sequence = &candidates->sequence;
    struct repeat *repeats;
    size_t first = by_thread->firsts[thread];
    collect(candidates, by_thread->calls + first, by_thread->firsts[thread + 1] - first);
    size_t count =
        repeats_find(sequence->tokens, sequence->count, GRAPH_PERIOD_MAX, GRAPH_TIMES_MIN, &repeats);
    if (count > 1)
        qsort(repeats, count, sizeof *repeats, longest_first);
    sequence->is_used = xcalloc(sequence->count + 1, sizeof *sequence->is_used);
    for (size_t i = 0; i < count; i++)
        take_repeat(candidates, &repeats[i], thread);
    free(sequence->is_used);
    free(repeats);
}

static char *evidence_of(const struct survey *survey, const struct tally *tally, struct finding *finding,
                         const void *context)
{
    char host[EVIDENCE_TIME_BYTES], idle[EVIDENCE_TIME_BYTES], launch[EVIDENCE_TIME_BYTES];
    return xasprintf(
        "a sequence of %llu launches and copies that starts with %s repeats %llu times; its calls take "
        "%s of host time each, a graph launch takes %s; the GPU was idle for %s meanwhile",
        (unsigned long long)tally->bytes, finding->where, (unsigned long long)tally->count,
        evidence_time(host, tally->ns / tally->count), evidence_time(launch, GRAPH_LAUNCH_NS),
        evidence_time(idle, tally->extra));
}

void find_graph_candidates(struct findings *findings)
{
    struct candidates candidates = {.findings = findings};
    const struct trace *trace = findings->survey->stat->trace;
    struct calls_by_thread by_thread = sort_calls(trace);
    for (uint32_t thread = 0; thread < trace->thread_count; thread++)
        search_thread(&candidates, &by_thread, thread);
    free(by_thread.calls);
    free(by_thread.firsts);
    findings_offer(findings, FINDING_GRAPH_CANDIDATE, &candidates.tallies, GRAPH_TIMES_MIN, evidence_of,
                   NULL);
    free(candidates.sequence.steps);
    free(candidates.sequence.tokens);
    int_map_deinit(&candidates.words);
}
