/* Takes the data of the ranks, divides the time of their steps, and makes the report. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MAX       256 /* collectives of a rank that are in flight at most */
#define BLOCKED_OVER_BUSY 4

const struct ranks_limits ranks_default_limits = {
    .ranks_max = 16384,
    .steps_max = 2000000,
    .open_entries_max = 12000000,
    .classes_max = 100000,
    .lateness_values_max = 16000000,
    .host_pairs_max = 20000,
    .speeds_max = 8000000,
};

struct ranks *ranks_create(const struct ranks_limits *limits)
{
    struct ranks *ranks = xcalloc(1, sizeof *ranks);
    ranks->limits = limits ? *limits : ranks_default_limits;
    ranks->free_instance = ranks->oldest_instance = ranks->newest_instance = RANKS_NONE;
    return ranks;
}

void ranks_destroy(struct ranks *ranks)
{
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        free(ranks->ranks[i].gpu);
        free(ranks->ranks[i].pending);
    }
    for (size_t i = 0; i < ranks->host_count; i++)
        free(ranks->hosts[i].name);
    for (size_t i = 0; i < ranks->instance_count; i++)
        free(ranks->instances[i].arrivals);
    for (size_t i = 0; i < ranks->communicator_count; i++)
        free(ranks->communicators[i].members);
    for (size_t i = 0; i < ranks->lateness_count; i++)
        free(ranks->lateness[i].late_ns);
    for (size_t i = 0; i < ranks->class_count; i++) {
        ranks_series_deinit(&ranks->classes[i].shortest);
        ranks_series_deinit(&ranks->classes[i].skew);
        ranks_series_deinit(&ranks->classes[i].algbw);
        free(ranks->classes[i].speeds);
        free(ranks->classes[i].last);
    }
    for (size_t i = 0; i < ranks->pair_count; i++)
        free(ranks->pairs[i].samples);
    struct int_map *maps[] = {
        &ranks->step_numbers,     &ranks->open,          &ranks->communicator_numbers, &ranks->slots,
        &ranks->lateness_numbers, &ranks->class_numbers, &ranks->pair_numbers,         &ranks->host_numbers};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        int_map_deinit(maps[i]);
    void *arrays[] = {ranks->jobs,          ranks->ranks,    ranks->hosts,   ranks->steps, ranks->instances,
                      ranks->communicators, ranks->lateness, ranks->classes, ranks->pairs, ranks->scratch};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(ranks);
}

static uint32_t host_of(struct ranks *ranks, const char *name)
{
    uint32_t host = int_map_number(&ranks->host_numbers, hash_text(HASH_START, name));
    if (host == ranks->host_count)
        *XADD(ranks->hosts, ranks->host_count, ranks->host_capacity) = (struct host){.name = xstrdup(name)};
    return host;
}

uint32_t ranks_add(struct ranks *ranks, uint32_t number, const char *host, const char *gpu)
{
    if (ranks->rank_count >= ranks->limits.ranks_max) {
        ranks->losses.ranks++;
        return RANKS_NONE;
    }
    *XADD(ranks->ranks, ranks->rank_count, ranks->rank_capacity) = (struct process_rank){
        .number = number,
        .host = host_of(ranks, host ? host : RANKS_TEXT_NONE),
        .gpu = xstrdup(gpu ? gpu : RANKS_TEXT_NONE),
        .last_step = RANKS_NONE,
    };
    return (uint32_t)ranks->rank_count - 1;
}

void ranks_set_gpu(struct ranks *ranks, uint32_t rank, const char *gpu)
{
    if (rank >= ranks->rank_count)
        return;
    free(ranks->ranks[rank].gpu);
    ranks->ranks[rank].gpu = xstrdup(gpu);
}

void ranks_set_world(struct ranks *ranks, uint32_t rank, uint32_t size)
{
    if (rank < ranks->rank_count)
        ranks->ranks[rank].world = size;
}

void ranks_add_unreadable(struct ranks *ranks)
{
    ranks->losses.unreadable++;
}

struct rank_step *ranks_find_step(const struct ranks *ranks, uint32_t rank, uint64_t number)
{
    uint32_t at = int_map_get(&ranks->step_numbers, ranks_pair_key(rank, number));
    return at == MAP_NONE ? NULL : &ranks->steps[at];
}

/* Returns the end of the GPU's known work for a step. */
static uint64_t work_end(const struct rank_step *step)
{
    uint64_t end = 0;
    for (int i = 0; i < RANKS_CATEGORIES; i++)
        end = step->until_ns[i] > end ? step->until_ns[i] : end;
    return end;
}

/* Returns the rank's step, new if needed; NULL: the limit is reached. */
static struct rank_step *step_at(struct ranks *ranks, uint32_t rank, uint64_t number)
{
    struct process_rank *process = &ranks->ranks[rank];
    if (process->last_step != RANKS_NONE && ranks->steps[process->last_step].step.number == number)
        return &ranks->steps[process->last_step];
    struct rank_step *known = ranks_find_step(ranks, rank, number);
    if (known)
        return known;
    if (ranks->step_count >= ranks->limits.steps_max) {
        ranks->losses.steps++;
        return NULL;
    }
    int_map_set(&ranks->step_numbers, ranks_pair_key(rank, number), (uint32_t)ranks->step_count);
    process->last_step = (uint32_t)ranks->step_count;
    process->steps++;
    struct rank_step *step = XADD(ranks->steps, ranks->step_count, ranks->step_capacity);
    *step = (struct rank_step){
        .step.number = number, .rank = rank, .first_call_ns = UINT64_MAX, .first_work_ns = UINT64_MAX};
    return step;
}

void ranks_add_step(struct ranks *ranks, uint32_t rank, const struct ranks_step *step)
{
    struct rank_step *to = rank < ranks->rank_count ? step_at(ranks, rank, step->number) : NULL;
    if (!to)
        return;
    bool is_repeated =
        to->is_announced && to->step.start_ns == step->start_ns && to->step.has_backlog && step->has_backlog;
    /* The data are from a rank's span. The step's own span has no values of the rank. */
    bool is_of_rank = to->step.has_backlog || to->step.has_totals || to->step.is_partial;
    ranks->losses.repeated += is_repeated;
    ranks->ranks[rank].repeated += is_repeated;
    if (to->is_announced && to->step.start_ns != step->start_ns && is_of_rank)
        to->step.kind = RANKS_DIVIDED;
    else
        to->step = *step;
    to->is_announced = true;
}

void ranks_add_call(struct ranks *ranks, uint32_t rank, uint64_t number, uint64_t start_ns, uint64_t end_ns,
                    bool waits)
{
    struct rank_step *step = rank < ranks->rank_count ? step_at(ranks, rank, number) : NULL;
    if (!step || end_ns < start_ns)
        return;
    step->first_call_ns = start_ns < step->first_call_ns ? start_ns : step->first_call_ns;
    step_host_add_call(&step->host, step->is_announced ? step->step.start_ns : start_ns, start_ns, end_ns,
                       waits, step->until_ns[RANKS_COMMUNICATION]);
}

/* Sets the start of the step's time on the GPU. It starts where its predecessor's ends, so that consecutive
 * steps add up to the time of the job although the GPU is behind the host. If that end is unknown, because
 * the step before was not sampled, the GPU may still have worked for that step, so that no time before the
 * first work is known to be idle. */
static void open_window(const struct ranks *ranks, struct rank_step *step, uint64_t first_work_ns)
{
    const struct rank_step *before =
        step->step.number ? ranks_find_step(ranks, step->rank, step->step.number - 1) : NULL;
    uint64_t start = first_work_ns;
    if (step->is_announced && step->step.has_backlog)
        start = step->step.start_ns + step->step.backlog_ns;
    else if (step->is_announced && before && !before->step.is_partial && work_end(before))
        start = work_end(before) > step->step.start_ns ? work_end(before) : step->step.start_ns;
    step->first_work_ns = first_work_ns;
    step->window_ns = step->swept_ns = start < first_work_ns ? start : first_work_ns;
}

/* Returns the effect of a collective. `next_ns` is the start of the next work of the step. */
static struct blocking blocking_of(const struct pending *pending, const struct rank_step *step,
                                   uint64_t next_ns)
{
    uint64_t end = pending->collective.end_ns, busy = end - pending->blocked_until_ns;
    uint64_t blocked = busy > pending->blocked_ns / BLOCKED_OVER_BUSY ? 0 : pending->blocked_ns;
    return (struct blocking){.blocked_ns = (float)blocked,
                             .idle_ns = next_ns > end && work_end(step) <= end ? (float)(next_ns - end) : 0};
}

/* Returns the collective of the step that ends first after the time, and of equal ones, the one that started
 * last; NULL: none. */
static struct pending *first_to_end(struct process_rank *process, uint32_t step, uint64_t time_ns)
{
    struct pending *first = NULL;
    for (size_t i = process->pending_count; i--;) {
        struct pending *pending = &process->pending[i];
        if (pending->step == step && pending->collective.end_ns > time_ns &&
            (!first || pending->collective.end_ns < first->collective.end_ns))
            first = pending;
    }
    return first;
}

/* Assigns exposed communication to collectives. It belongs to the one that ends first, so that no time counts
 * twice: compute goes on when that one has ended. A send of a pipeline may last longer, beside that compute.
 */
static void expose(struct ranks *ranks, struct rank_step *step, uint64_t from_ns, uint64_t until_ns)
{
    struct process_rank *process = &ranks->ranks[step->rank];
    while (from_ns < until_ns) {
        struct pending *pending = first_to_end(process, (uint32_t)(step - ranks->steps), from_ns);
        if (!pending) {
            step->unknown_ns += until_ns - from_ns;
            return;
        }
        /* A short kernel in between, of another stream, does not end the waiting. */
        if (from_ns - pending->blocked_until_ns > pending->blocked_ns / BLOCKED_OVER_BUSY)
            pending->blocked_ns = 0;
        uint64_t end = pending->collective.end_ns < until_ns ? pending->collective.end_ns : until_ns;
        pending->blocked_ns += end - from_ns;
        pending->blocked_until_ns = from_ns = end;
    }
}

/* Divides the time up to `time_ns` among the categories. */
static void sweep(struct ranks *ranks, struct rank_step *step, uint64_t time_ns)
{
    uint64_t at = step->swept_ns;
    for (int i = 0; i < RANKS_CATEGORIES; i++) {
        uint64_t until = step->until_ns[i] < time_ns ? step->until_ns[i] : time_ns;
        if (until <= at)
            continue;
        step->parts_ns[i] += until - at;
        if (i == RANKS_COMMUNICATION)
            expose(ranks, step, at, until);
        at = until;
    }
    step->idle_ns += time_ns - at;
    step->swept_ns = time_ns;
}

/* Matches the pending collectives that end until `time_ns`, which is the start of the next work of `current`,
 * and the oldest ones if more than `keep_max` would remain. */
static void match_pending(struct ranks *ranks, uint32_t rank, const struct rank_step *current,
                          uint64_t time_ns, size_t keep_max)
{
    struct process_rank *process = &ranks->ranks[rank];
    size_t kept = 0, count = process->pending_count;
    for (size_t i = 0; i < count; i++) {
        struct rank_step *step = &ranks->steps[process->pending[i].step];
        uint64_t end_ns = process->pending[i].collective.end_ns;
        if (end_ns <= time_ns && end_ns > step->swept_ns) /* an earlier step, whose work is complete */
            sweep(ranks, step, end_ns);
    }
    for (size_t i = 0; i < count; i++) {
        struct pending pending = process->pending[i];
        if (pending.collective.end_ns > time_ns && count - i <= keep_max) {
            process->pending[kept++] = pending;
            continue;
        }
        const struct rank_step *step = &ranks->steps[pending.step];
        struct blocking blocking = blocking_of(&pending, step, step == current ? time_ns : 0);
        ranks_match(ranks, rank, &pending.collective, &blocking);
    }
    process->pending_count = kept;
}

/* Returns the step, swept until the start of its next work; NULL: the limit is reached. */
static struct rank_step *sweep_to(struct ranks *ranks, uint32_t rank, uint64_t number, uint64_t start_ns)
{
    struct rank_step *step = rank < ranks->rank_count ? step_at(ranks, rank, number) : NULL;
    if (!step)
        return NULL;
    if (step->first_work_ns == UINT64_MAX)
        open_window(ranks, step, start_ns);
    if (start_ns > step->swept_ns)
        sweep(ranks, step, start_ns);
    else
        ranks->losses.unsorted += start_ns < step->swept_ns;
    match_pending(ranks, rank, step, start_ns, PENDING_MAX);
    return step;
}

void ranks_add_collective(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective)
{
    ranks_add_work(ranks, rank, collective->step, RANKS_COMMUNICATION, collective->start_ns,
                   collective->end_ns);
    struct rank_step *step = rank < ranks->rank_count ? ranks_find_step(ranks, rank, collective->step) : NULL;
    if (!step || collective->end_ns < collective->start_ns || collective->participants < 2)
        return;
    struct process_rank *process = &ranks->ranks[rank];
    *XADD(process->pending, process->pending_count, process->pending_capacity) =
        (struct pending){.collective = *collective,
                         .step = (uint32_t)(step - ranks->steps),
                         .blocked_until_ns = collective->start_ns};
}

void ranks_add_work(struct ranks *ranks, uint32_t rank, uint64_t number, enum ranks_category category,
                    uint64_t start_ns, uint64_t end_ns)
{
    struct rank_step *step = end_ns >= start_ns ? sweep_to(ranks, rank, number, start_ns) : NULL;
    if (!step)
        return;
    uint64_t *until = &step->until_ns[category], from = *until > start_ns ? *until : start_ns;
    if (category == RANKS_COMMUNICATION && end_ns > from)
        step->communication_ns += end_ns - from;
    if (end_ns > *until)
        *until = end_ns;
}

bool ranks_has_parts(const struct rank_step *step)
{
    return !step->step.is_partial || step->step.has_totals;
}

struct ranks_parts ranks_parts_of(const struct rank_step *step)
{
    struct ranks_parts parts = {
        .duration_ns = step->swept_ns - step->window_ns,
        .compute_ns = step->parts_ns[RANKS_COMPUTE],
        .exposed_ns = step->parts_ns[RANKS_COMMUNICATION],
        .copies_ns = step->parts_ns[RANKS_COPY],
        .idle_ns = step->idle_ns,
    };
    if (step->step.is_partial && step->step.has_totals) {
        uint64_t busy = step->step.compute_ns + step->step.exposed_ns + step->step.copies_ns;
        parts.compute_ns = step->step.compute_ns;
        parts.exposed_ns = step->step.exposed_ns;
        parts.copies_ns = step->step.copies_ns;
        parts.duration_ns = parts.duration_ns > busy ? parts.duration_ns : busy;
        parts.idle_ns = parts.duration_ns - busy;
    }
    /* A selection has no calls, or only failed ones. */
    uint64_t active = step->first_call_ns < step->first_work_ns ? step->first_call_ns : step->first_work_ns;
    if (!step->step.is_partial && step->first_call_ns != UINT64_MAX && active > step->window_ns)
        parts.loader_ns = active - step->window_ns;
    return parts;
}

/* The own time is not below that of the host: a rank that waits for another one on its GPU may hide that its
 * own host would need almost as long. Collectives of several streams may overlap, so `others_ns` may exceed
 * the duration. */
uint64_t ranks_own_time(uint64_t duration_ns, uint64_t others_ns, uint64_t host_ns)
{
    uint64_t own_ns = duration_ns > others_ns ? duration_ns - others_ns : 0;
    return host_ns > own_ns ? host_ns : own_ns;
}

double ranks_own_ns(const struct rank_step *step)
{
    uint64_t duration = step->swept_ns - step->window_ns;
    uint64_t others = step->waiting_ns + step->transfer_ns + step->unknown_ns;
    if (step->step.is_partial) { /* waiting and transfers of collectives that are not passed are unknown */
        struct ranks_parts parts = ranks_parts_of(step);
        duration = parts.duration_ns;
        others = parts.exposed_ns;
    }
    bool has_host = step->step.has_backlog && !step->step.is_partial;
    return (double)ranks_own_time(duration, others, has_host ? step->host.worked_ns : 0);
}

/* Divides the rest of a step: until its end on the host or its last work, whichever is later. */
static void end_sweep(struct ranks *ranks, struct rank_step *step)
{
    if (step->first_work_ns == UINT64_MAX)
        step->window_ns = step->swept_ns = step->step.start_ns;
    uint64_t end = work_end(step);
    end = step->step.end_ns > end ? step->step.end_ns : end;
    if (end > step->swept_ns)
        sweep(ranks, step, end);
}

/* Corrects the step numbers of shifted ranks. Afterward, equal numbers mean the same step of the job. */
static void number_steps(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->rank_count; i++) {
        struct process_rank *rank = &ranks->ranks[i];
        if (rank->shift_votes)
            rank->shift = rank->shift_seen;
    }
    int_map_deinit(&ranks->step_numbers);
    for (size_t i = 0; i < ranks->step_count; i++) {
        struct rank_step *step = &ranks->steps[i];
        step->step.number -= (uint64_t)ranks->ranks[step->rank].shift;
        int_map_set(&ranks->step_numbers, ranks_pair_key(step->rank, step->step.number), (uint32_t)i);
    }
}

static int compare_steps(const void *a, const void *b)
{
    const struct ranks_step_row *x = a, *y = b;
    int order = ORDER(x->job, y->job);
    order = order ? order : ORDER(x->number, y->number);
    order = order ? order : ORDER(x->rank_number, y->rank_number);
    return order ? order : ORDER(x->rank, y->rank);
}

static void add_parts(struct ranks_step_row *sum, const struct ranks_step_row *row)
{
    sum->parts.duration_ns += row->parts.duration_ns;
    sum->parts.compute_ns += row->parts.compute_ns;
    sum->parts.exposed_ns += row->parts.exposed_ns;
    sum->parts.copies_ns += row->parts.copies_ns;
    sum->parts.idle_ns += row->parts.idle_ns;
    sum->parts.loader_ns += row->parts.loader_ns;
    sum->communication_ns += row->communication_ns;
    sum->waiting_ns += row->waiting_ns;
    sum->own_ns += row->own_ns;
    sum->has_parts &= row->has_parts;
    sum->partial = sum->partial ? sum->partial : row->partial;
    sum->rank_count++;
}

static void divide_parts(struct ranks_step_row *sum)
{
    uint64_t n = sum->rank_count;
    sum->parts.duration_ns /= n;
    sum->parts.compute_ns /= n;
    sum->parts.exposed_ns /= n;
    sum->parts.copies_ns /= n;
    sum->parts.loader_ns /= n;
    sum->communication_ns /= n;
    sum->waiting_ns /= n;
    sum->own_ns /= n;
    /* The rest, so that the parts still add up. */
    sum->parts.idle_ns =
        sum->parts.duration_ns - sum->parts.compute_ns - sum->parts.exposed_ns - sum->parts.copies_ns;
}

/* Fills the report's rows of steps. The mean row of all ranks follows those of the step's ranks. */
static void report_steps(const struct ranks *ranks, struct ranks_report *report)
{
    size_t count = ranks->step_count;
    struct ranks_step_row *rows = xcalloc(count * 2 + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        rows[i] = (struct ranks_step_row){.number = step->step.number,
                                          .job = ranks->ranks[step->rank].job,
                                          .partial = step->partial,
                                          .rank = step->rank,
                                          .rank_number = ranks->ranks[step->rank].number,
                                          .rank_count = 1,
                                          .kind = step->step.kind,
                                          .communication_ns = step->communication_ns,
                                          .waiting_ns = step->waiting_ns,
                                          .own_ns = (uint64_t)ranks_own_ns(step),
                                          .has_delay = step->has_delay,
                                          .is_late = step->is_late,
                                          .delay_ns = (int64_t)step->delay_ns,
                                          .has_parts = ranks_has_parts(step),
                                          .parts = ranks_parts_of(step),
                                          .trace_id = step->step.trace_id};
    }
    size_t all = count;
    qsort(rows, count, sizeof *rows, compare_steps);
    for (size_t i = 0; i < count; i++) {
        if (!i || rows[i].number != rows[i - 1].number || rows[i].job != rows[i - 1].job)
            rows[all++] = (struct ranks_step_row){.number = rows[i].number,
                                                  .job = rows[i].job,
                                                  .rank = RANKS_NONE,
                                                  .rank_number = RANKS_NONE,
                                                  .kind = rows[i].kind,
                                                  .has_parts = true,
                                                  .trace_id = rows[i].trace_id};
        add_parts(&rows[all - 1], &rows[i]);
    }
    for (size_t i = count; i < all; i++)
        divide_parts(&rows[i]);
    qsort(rows, all, sizeof *rows, compare_steps);
    report->steps = rows;
    report->step_count = all;
}

static int compare_findings(const void *a, const void *b)
{
    const struct ranks_finding *x = a, *y = b;
    bool x_first = x->kind == RANKS_NOT_COMPARED, y_first = y->kind == RANKS_NOT_COMPARED;
    int order = ORDER(y_first, x_first);
    order = order ? order : ORDER(y->saving_ns, x->saving_ns);
    return order ? order : ORDER(x->kind, y->kind);
}

/* Moves findings of exposed communication behind the late ranks and slow links of their job. These lengthen
 * the communication, and its saving is reached only if no communication remains without compute beside it. */
static void sort_exposed(struct ranks_report *report)
{
    for (size_t i = report->finding_count; i-- > 0;) {
        struct ranks_finding exposed = report->findings[i];
        size_t last = i;
        for (size_t j = i + 1; exposed.kind == RANKS_EXPOSED && j < report->finding_count; j++) {
            const struct ranks_finding *other = &report->findings[j];
            bool is_cause = other->kind == RANKS_STRAGGLER || other->kind == RANKS_SLOW_LINK;
            last = is_cause && other->job == exposed.job ? j : last;
        }
        memmove(&report->findings[i], &report->findings[i + 1], (last - i) * sizeof exposed);
        report->findings[last] = exposed;
    }
}

void ranks_finish(struct ranks *ranks, struct ranks_report *report)
{
    *report = (struct ranks_report){0};
    for (size_t i = 0; i < ranks->step_count; i++)
        end_sweep(ranks, &ranks->steps[i]);
    for (size_t i = 0; i < ranks->rank_count; i++)
        match_pending(ranks, (uint32_t)i, NULL, UINT64_MAX, 0);
    ranks_instances_end(ranks);
    number_steps(ranks);
    ranks_find_jobs(ranks);
    ranks_find_stages(ranks);
    report->collectives = xcalloc(ranks->class_count + 1, sizeof *report->collectives);
    for (size_t i = 0; i < ranks->class_count; i++) {
        struct ranks_collective_row *row = &report->collectives[report->collective_count++];
        *row = ranks->classes[i].row;
        row->job = ranks->ranks[row->first_rank].job;
    }
    ranks_clocks_report(ranks, report);
    ranks_find_stragglers(ranks, report);
    report_steps(ranks, report);
    ranks_find_late_hosts(ranks, report);
    ranks_find_slow_links(ranks, report);
    ranks_find_in_job(ranks, report);
    ranks_find_not_compared(ranks, report);
    sort_array(report->findings, report->finding_count, sizeof *report->findings, compare_findings);
    sort_exposed(report);
    report->instances = ranks->complete;
    report->job_count = (uint32_t)ranks->job_count;
    report->losses = ranks->losses;
}

void ranks_report_deinit(struct ranks_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++)
        free(report->findings[i].evidence);
    free(report->findings);
    free(report->steps);
    free(report->collectives);
    free(report->ranks);
    free(report->clocks);
    *report = (struct ranks_report){0};
}

#define FACTS(id, word, rounds, all) [id] = {word, rounds, all},
const struct ranks_operation_facts ranks_operations[] = {RANKS_OPERATIONS(FACTS)};

enum ranks_operation ranks_operation_of(const char *word)
{
    unsigned operation = 0;
    while (operation < RANKS_OTHER && strcmp(word, ranks_operations[operation].word) != 0)
        operation++;
    return (enum ranks_operation)operation;
}

double ranks_bus_factor(enum ranks_operation operation, uint32_t count)
{
    double n = count, rounds = ranks_operations[operation].rounds;
    return count < 2 ? 0 : rounds > 0 ? rounds * (n - 1) / n : 1;
}

bool ranks_is_p2p(enum ranks_operation operation)
{
    return operation == RANKS_SEND || operation == RANKS_RECV || operation == RANKS_SEND_RECV;
}

#define WORD(id, word) [id] = (word),

const char *ranks_finding_word(enum ranks_finding_kind kind)
{
    static const char *const words[] = {RANKS_FINDINGS(WORD)};
    return words[kind];
}

const char *ranks_partial_word(enum ranks_partial partial)
{
    static const char *const words[] = {RANKS_PARTIALS(WORD)};
    return words[partial];
}
