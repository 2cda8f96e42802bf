#include "analysis/stat/tables/rank_job.h"

#include "analysis/stat/base/places.h"
#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t rank_of(struct rank_job *job, const struct stat *stat, const struct trace_span *span)
{
    uint32_t process = places_process(stat->places, span), rank = int_map_get(&job->rank_of, process);
    if (rank != MAP_NONE)
        return rank;
    const struct process_facts *place = &stat->places->list[process];
    unsigned number = place->rank ? (unsigned)strtoul(place->rank, NULL, 10) : 0;
    if (!place->rank) /* an engine's workers have theirs in the name of the span only */
        (void)sscanf(trace_string(stat->trace, span->name), "rank %u", &number);
    rank = ranks_add(job->ranks, number, place->host, NULL);
    if (rank == RANKS_NONE)
        return RANKS_NONE;
    const char *world = trace_resource_attr(stat->trace, &stat->trace->resources[span->resource],
                                            SEMCONV_CUDA_PROCESS_WORLD_SIZE);
    ranks_set_world(job->ranks, rank, world ? (uint32_t)strtoul(world, NULL, 10) : 0);
    int_map_set(&job->rank_of, process, rank);
    *XADD(job->processes, job->process_count, job->process_capacity) =
        (struct rank_job_process){.process = process};
    return rank;
}

static uint64_t step_key(const struct stat *stat, const struct trace_span *span)
{
    return (uint64_t)places_process(stat->places, span) << 32 | span->trace;
}

/* Returns the value of a hexadecimal digit; 16 or more: no digit. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (unsigned)((c | 0x20) - 'a' + 10) : 16;
}

/* Reads a collective's key. Only equality of keys matters. The agent writes 0x and 16 digits; other writers
 * may leave out 0x, write decimal numbers, which OTLP's integers become too (then negative ones from 2^63
 * on), or more than 64 bits, which are hashed. A number of up to 16 decimal digits without 0x reads as
 * hexadecimal, on all ranks alike. False: no key. */
static bool read_key(const char *text, uint64_t *key)
{
    bool is_decimal = true, has_prefix = text && text[0] == '0' && (text[1] | 0x20) == 'x';
    bool is_negative = text && text[0] == '-';
    const char *digits = !text ? "" : text + (has_prefix ? 2 : is_negative);
    size_t count = strlen(digits);
    uint64_t decimal = 0, hex = 0, hash = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = digit_of(digits[i]);
        if (digit > 15)
            return false;
        is_decimal &= digit < 10;
        decimal = decimal * 10 + digit;
        hash = i % 16 ? hash : int_map_mix(hash ^ hex);
        hex = hex << 4 | digit;
    }
    bool is_number = is_decimal && !has_prefix && (is_negative || (count > 16 && count <= 20));
    *key = is_number ? (is_negative ? 0 - decimal : decimal) : count > 16 ? int_map_mix(hash ^ hex) : hex;
    return count > 0 && (!is_negative || is_decimal);
}

/* Takes the span of a rank's step. The step's own span, the parent of all ranks, has a number, too, but no
 * other values of the first rank, whose process sends it. */
static void take_step(struct rank_job *job, const struct stat *stat, const struct trace_span *span,
                      unsigned number)
{
    if (!job->ranks)
        job->ranks = ranks_create(NULL);
    uint32_t rank = rank_of(job, stat, span), known = int_map_get(&job->step_of, step_key(stat, span));
    bool has_more = stat_has(stat, span, KEY_STEP_BACKLOG) || stat_has(stat, span, KEY_STEP_LEFT_OUT) ||
                    stat_has(stat, span, KEY_END_REASON);
    if (rank == RANKS_NONE || (known != MAP_NONE && !has_more))
        return;
    const char *word = stat_attr(stat, span, KEY_STEP_KIND), *reason = stat_attr(stat, span, KEY_END_REASON);
    enum ranks_step_kind kind = stat_is(word, "evaluation")   ? RANKS_EVALUATION
                                : stat_is(word, "checkpoint") ? RANKS_CHECKPOINT
                                                              : RANKS_TRAIN;
    struct ranks_step step = {.number = ranks_step_number(stat_attr_int(stat, span, number, 0), kind),
                              .start_ns = span->start_ns,
                              .end_ns = span->end_ns,
                              .kind = kind,
                              .end = !reason                   ? RANKS_END_UNKNOWN
                                     : stat_is(reason, "step") ? RANKS_END_STEP
                                                               : RANKS_END_CUT,
                              .has_backlog = stat_has(stat, span, KEY_STEP_BACKLOG),
                              .backlog_ns = stat_attr_int(stat, span, KEY_STEP_BACKLOG, 0),
                              .is_partial = stat_attr_int(stat, span, KEY_STEP_LEFT_OUT, 0) > 0,
                              .has_totals = stat_has(stat, span, KEY_STEP_COMPUTE),
                              .compute_ns = stat_attr_int(stat, span, KEY_STEP_COMPUTE, 0),
                              .exposed_ns = stat_attr_int(stat, span, KEY_STEP_EXPOSED, 0),
                              .copies_ns = stat_attr_int(stat, span, KEY_STEP_COPY, 0)};
    sscanf(trace_id_text(stat->trace, span->trace), "%16" SCNx64 "%16" SCNx64, &step.trace_id.high,
           &step.trace_id.low);
    ranks_add_step(job->ranks, rank, &step);
    if (known != MAP_NONE)
        return;
    int_map_set(&job->step_of, step_key(stat, span), (uint32_t)job->step_count);
    *XADD(job->steps, job->step_count, job->step_capacity) = (struct rank_job_step){rank, step.number};
}

/* Takes a collective. For send and recv, two ranks take part, although the communicator has more. */
static void take_collective(struct rank_job *job, const struct stat *stat, const struct trace_span *span,
                            const struct rank_job_step *step)
{
    const char *word = stat_attr(stat, span, KEY_COLLECTIVE_OPERATION);
    enum ranks_operation operation = word ? ranks_operation_of(word) : RANKS_OTHER;
    bool is_p2p = ranks_is_p2p(operation);
    /* Without a key, for example if only the kernel's name is known, nothing connects the ranks. Sends and
     * receives of one kernel match if they are one send, one receive, or one of each with the same peer. */
    bool is_matchable = stat_has(stat, span, KEY_COLLECTIVE_KEY) &&
                        (!is_p2p || (stat_has(stat, span, KEY_COLLECTIVE_PEER) &&
                                     stat_attr_int(stat, span, KEY_COLLECTIVE_GROUPED, 1) <= 2));
    struct ranks_collective collective = {
        .operation = operation,
        .participants = is_p2p ? 2 : (uint32_t)stat_attr_int(stat, span, KEY_COLLECTIVE_RANKS, 0),
        .bytes = stat_attr_int(stat, span, KEY_COLLECTIVE_BYTES, 0),
        .step = step->number,
        .start_ns = span->start_ns,
        .end_ns = span->end_ns,
    };
    if (is_matchable && read_key(stat_attr(stat, span, KEY_COLLECTIVE_KEY), &collective.key) &&
        read_key(stat_attr(stat, span, KEY_COLLECTIVE_COMMUNICATOR), &collective.communicator)) {
        ranks_add_collective(job->ranks, step->rank, &collective);
        return;
    }
    if (is_matchable)
        ranks_add_unreadable(job->ranks);
    ranks_add_work(job->ranks, step->rank, step->number, RANKS_COMMUNICATION, span->start_ns, span->end_ns);
}

static void learn_gpu(struct rank_job *job, const struct stat *stat, const struct trace_span *work,
                      uint32_t rank)
{
    const struct trace_resource *resource = &stat->trace->resources[work->resource];
    if (job->processes[rank].has_gpu || !resource->device)
        return;
    job->processes[rank].has_gpu = true;
    char *name =
        xasprintf("GPU %s%s%s", trace_string(stat->trace, resource->device),
                  resource->device_name ? ", " : "", trace_string(stat->trace, resource->device_name));
    ranks_set_gpu(job->ranks, rank, name);
    free(name);
}

static void take_work(struct rank_job *job, const struct stat *stat, const struct trace_span *span,
                      const struct rank_job_step *step)
{
    enum ranks_category category = RANKS_COMPUTE;
    const char *name = stat_kernel_name(stat, span);
    learn_gpu(job, stat, span, step->rank);
    if (span->class == CLASS_COPY || span->class == CLASS_FILL)
        category = RANKS_COPY;
    else if (!strncmp(name, "nccl", 4) || strstr(name, "cross_device_reduce") || strstr(name, "deep_ep::"))
        category = RANKS_COMMUNICATION;
    ranks_add_work(job->ranks, step->rank, step->number, category, span->start_ns, span->end_ns);
}

void rank_job_take(struct rank_job *job, const struct stat *stat, const struct trace_span *span)
{
    bool is_step = stat_has(stat, span, KEY_STEP_NUMBER);
    /* The spans of summaries are no sessions. */
    bool is_iteration = span->class == CLASS_SESSION && stat_has(stat, span, KEY_ITERATION_NUMBER);
    job->has_steps |= is_step;
    if (is_step || is_iteration) {
        take_step(job, stat, span, is_step ? KEY_STEP_NUMBER : KEY_ITERATION_NUMBER);
        return;
    }
    uint32_t at = job->ranks ? int_map_get(&job->step_of, step_key(stat, span)) : MAP_NONE;
    if (at == MAP_NONE)
        return;
    const struct rank_job_step *step = &job->steps[at];
    if (stat_is(stat_attr(stat, span, KEY_ACTIVITY), "collective"))
        take_collective(job, stat, span, step);
    else if (span->class == CLASS_CALL)
        ranks_add_call(job->ranks, step->rank, step->number, span->start_ns, span->end_ns,
                       stat_call_of(stat, span).waits);
    else if (stat_is_work(stat, span))
        take_work(job, stat, span, step);
}

void rank_job_deinit(struct rank_job *job)
{
    ranks_destroy(job->ranks);
    int_map_deinit(&job->rank_of);
    int_map_deinit(&job->step_of);
    free(job->steps);
    free(job->processes);
    *job = (struct rank_job){0};
}
