#include "analysis/stat/groups.h"

#include "base/hash.h"
#include "analysis/stat/base/places.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

static const char *const by_names[STAT_BY_COUNT] = {"range",   "stream",  "thread", "device",
                                                    "request", "process", "rank",   "step"};

const char *stat_by_name(enum stat_by by)
{
    return by < STAT_BY_COUNT ? by_names[by] : "";
}

/* --- the group of a span --- */

/* Returns the span itself, or its first child that ran on a GPU; NULL: none. */
static const struct trace_span *work_of(const struct trace *trace, const struct trace_span *span)
{
    if (trace_class_is_gpu(span->class))
        return span;
    uint32_t child = span->class == CLASS_CALL ? span->first_child : TRACE_NONE;
    while (child != TRACE_NONE && !trace_class_is_gpu(trace->spans[child].class))
        child = trace->spans[child].next_sibling;
    return child == TRACE_NONE ? NULL : &trace->spans[child];
}

static const struct trace_span *parent_of(const struct trace *trace, const struct trace_span *span)
{
    return span->parent == TRACE_NONE ? NULL : &trace->spans[span->parent];
}

/* Returns the resource of the span's GPU; STAT_GROUP_NONE: unknown. */
static uint32_t by_device(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *work = work_of(stat->trace, span);
    uint32_t device =
        work ? work->resource
             : places_device(stat->places, places_process(stat->places, span), places_context(stat, span));
    bool is_known = device != TRACE_NONE && stat->trace->resources[device].device;
    return is_known ? device : STAT_GROUP_NONE;
}

static uint32_t by_lane(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *work = work_of(stat->trace, span);
    return work && work->lane != TRACE_NONE ? work->lane : STAT_GROUP_NONE;
}

static uint32_t by_thread(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && trace_class_is_gpu(at->class))
        at = parent_of(stat->trace, at);
    return at && at->thread != TRACE_NONE ? at->thread : STAT_GROUP_NONE;
}

/* Returns the name of the range around the span, a string of the trace; STAT_GROUP_NONE: none. */
static uint32_t by_range(const struct stat *stat, const struct trace_span *span)
{
    const struct trace_span *at = span;
    while (at && at->class != CLASS_OTHER && at->class != CLASS_SESSION)
        at = parent_of(stat->trace, at);
    return at && at->class == CLASS_OTHER ? at->name : STAT_GROUP_NONE;
}

/* Returns the index of the span's trace; STAT_GROUP_NONE: it belongs to a session. */
static uint32_t by_request(const struct stat *stat, const struct trace_span *span)
{
    for (const struct trace_span *at = span; at; at = parent_of(stat->trace, at)) {
        if (at->class == CLASS_SESSION)
            return STAT_GROUP_NONE;
    }
    return span->trace;
}

static uint32_t by_rank(const struct stat *stat, const struct trace_span *span)
{
    uint32_t process = places_process(stat->places, span);
    return stat->places->list[process].rank ? process : STAT_GROUP_NONE;
}

/* Returns the name of a step, such as "48" or "48 (evaluation)". */
static const char *step_name(const struct stat *stat, const struct trace_span *span, uint64_t number)
{
    const char *kind = stat_attr(stat, span, KEY_STEP_KIND);
    bool is_usual = !kind || stat_is(kind, "train");
    char *text = xasprintf("%llu%s%s%s", (unsigned long long)number, is_usual ? "" : " (",
                           is_usual ? "" : kind, is_usual ? "" : ")");
    const char *kept = stat_keep(stat, text);
    free(text);
    return kept;
}

/* Learns the step of a span's trace. Several traces may belong to one step: each rank has its own if the job
 * has no identity. */
static void learn_step(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span)
{
    const char *name = step_name(stat, span, stat_attr_int(stat, span, KEY_STEP_NUMBER, 0));
    uint32_t place = stat_number(&groups->step_places, (uint64_t)(uintptr_t)name);
    if (place == groups->step_count) {
        groups->steps =
            xgrow(groups->steps, &groups->step_capacity, groups->step_count + 1, sizeof *groups->steps);
        groups->steps[groups->step_count++] = name;
    }
    int_map_set(&groups->steps_of, span->trace, place);
}

static uint32_t by_step(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span)
{
    if (stat_has(stat, span, KEY_STEP_NUMBER))
        learn_step(groups, stat, span);
    uint32_t step = int_map_get(&groups->steps_of, span->trace);
    return step == MAP_NONE ? STAT_GROUP_NONE : step;
}

static uint32_t what_of(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span)
{
    switch (groups->by) {
    case STAT_BY_RANGE:
        return by_range(stat, span);
    case STAT_BY_STREAM:
        return by_lane(stat, span);
    case STAT_BY_THREAD:
        return by_thread(stat, span);
    case STAT_BY_DEVICE:
        return by_device(stat, span);
    case STAT_BY_REQUEST:
        return by_request(stat, span);
    case STAT_BY_PROCESS:
        return places_process(stat->places, span);
    case STAT_BY_RANK:
        return by_rank(stat, span);
    case STAT_BY_STEP:
        return by_step(groups, stat, span);
    case STAT_BY_COUNT:
        break;
    }
    return STAT_GROUP_NONE;
}

/* Returns the identity of a group: several resources, lanes and threads of the trace can be one group for
 * people. */
static uint64_t identity(enum stat_by by, const struct stat *stat, uint32_t what)
{
    const struct trace *trace = stat->trace;
    if (what == STAT_GROUP_NONE)
        return UINT64_MAX;
    if (by == STAT_BY_STREAM) {
        const struct trace_lane *lane = &trace->lanes[what];
        uint64_t key = int_map_mix((uint64_t)lane->context << 32 | lane->stream);
        return int_map_mix(key ^ trace->resources[lane->resource].device) ^
               stat->places->process_of[lane->resource];
    }
    if (by == STAT_BY_THREAD)
        return (uint64_t)trace->threads[what].id << 32 |
               stat->places->process_of[trace->threads[what].resource];
    if (by == STAT_BY_RANK)
        return hash_text(HASH_START, stat->places->list[what].rank);
    if (by == STAT_BY_DEVICE) {
        const struct trace_resource *device = &trace->resources[what];
        const char *uuid = trace_resource_attr(trace, device, SEMCONV_HW_ID);
        return int_map_mix((uint64_t)device->device << 32 | device->device_name) ^
               hash_text(HASH_START, uuid ? uuid : "");
    }
    return what;
}

/* --- groups that are left out --- */

/* Whether the key is a request, a trace by its index. There may be millions, so one bit is kept for each. */
static bool is_request(const struct stat_groups *groups, uint64_t key)
{
    return groups->by == STAT_BY_REQUEST && key < STAT_GROUP_NONE;
}

static bool was_left_out(const struct stat_groups *groups, uint64_t key)
{
    if (is_request(groups, key))
        return key / 64 < groups->left_words && groups->left_requests[key / 64] >> key % 64 & 1;
    return int_map_get(&groups->left, key) != MAP_NONE;
}

static void note_left_out(struct stat_groups *groups, uint64_t key)
{
    if (!is_request(groups, key)) {
        int_map_set(&groups->left, key, 0);
        return;
    }
    size_t words = groups->left_words, needed = (size_t)key / 64 + 1;
    if (needed > words) {
        groups->left_requests =
            xgrow(groups->left_requests, &groups->left_words, needed, sizeof *groups->left_requests);
        memset(groups->left_requests + words, 0,
               (groups->left_words - words) * sizeof *groups->left_requests);
    }
    groups->left_requests[key / 64] |= UINT64_C(1) << key % 64;
}

void stat_groups_leave_out(struct stat_groups *groups, const bool *is_left_out)
{
    size_t kept = 0;
    int_map_clear(&groups->numbers);
    for (size_t i = 0; i < groups->count; i++) {
        if (is_left_out[i]) {
            note_left_out(groups, groups->list[i].key);
            continue;
        }
        int_map_set(&groups->numbers, groups->list[i].key, (uint32_t)kept);
        groups->list[kept++] = groups->list[i];
    }
    groups->count = kept;
}

uint32_t stat_groups_take(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span)
{
    uint32_t what = what_of(groups, stat, span);
    uint64_t key = identity(groups->by, stat, what);
    uint32_t number = int_map_get(&groups->numbers, key);
    if (number == MAP_NONE && (span->is_margin || was_left_out(groups, key)))
        return STAT_GROUP_NONE;
    if (span->is_margin)
        return number;
    if (number == MAP_NONE) {
        number = (uint32_t)groups->count;
        groups->list = xgrow(groups->list, &groups->capacity, groups->count + 1, sizeof *groups->list);
        groups->list[groups->count++] = (struct stat_group){.key = key, .what = what};
        int_map_set(&groups->numbers, key, number);
    }
    struct stat_group *group = &groups->list[number];
    group->counted += span->class == CLASS_CALL || trace_class_is_gpu(span->class);
    if (span->class == CLASS_CALL)
        group->call_ns += stat_duration(span);
    else if (trace_class_is_gpu(span->class))
        group->gpu_ns += stat_duration(span);
    return number;
}

void stat_groups_deinit(struct stat_groups *groups)
{
    int_map_deinit(&groups->numbers);
    int_map_deinit(&groups->steps_of);
    int_map_deinit(&groups->step_places);
    free(groups->steps);
    int_map_deinit(&groups->left);
    free(groups->left_requests);
    free(groups->list);
    *groups = (struct stat_groups){0};
}

/* --- names --- */

static const char *keep_and_free(const struct stat *stat, char *text)
{
    const char *kept = stat_keep(stat, text);
    free(text);
    return kept;
}

/* Returns " of" and the process's name, if there are several processes; otherwise "". The caller frees it. */
static char *of_process(const struct stat *stat, uint32_t resource)
{
    const char *name = places_name(stat->places, stat->places->process_of[resource]);
    return stat->places->process_count > 1 && *name ? xasprintf(" of %s", name) : xstrdup("");
}

static const char *device_name(const struct stat *stat, uint32_t resource)
{
    const struct trace *trace = stat->trace;
    const struct trace_resource *of = &trace->resources[resource];
    const char *uuid = trace_resource_attr(trace, of, SEMCONV_HW_ID),
               *device = trace_string(trace, of->device);
    bool has_uuid = uuid && *uuid && strcmp(uuid, device) != 0;
    return keep_and_free(stat, xasprintf("%s %s%s%s", device, trace_string(trace, of->device_name),
                                         has_uuid ? " " : "", has_uuid ? uuid : ""));
}

/* Returns the name of a lane, such as "GPU 0, context 1, stream 7". */
static const char *lane_name(const struct stat *stat, uint32_t lane)
{
    const struct trace *trace = stat->trace;
    const struct trace_lane *of = &trace->lanes[lane];
    char *process = of_process(stat, of->resource);
    char *text = xasprintf("GPU %s, context %s, stream %s%s",
                           trace_string(trace, trace->resources[of->resource].device),
                           trace_string(trace, of->context), trace_string(trace, of->stream), process);
    free(process);
    return keep_and_free(stat, text);
}

/* Returns the name of a thread, such as "4243 worker". */
static const char *thread_name(const struct stat *stat, uint32_t thread)
{
    const struct trace *trace = stat->trace;
    const struct trace_thread *of = &trace->threads[thread];
    char *process = of_process(stat, of->resource);
    char *text = xasprintf("%s%s%s%s", trace_string(trace, of->id), of->name ? " " : "",
                           trace_string(trace, of->name), process);
    free(process);
    return keep_and_free(stat, text);
}

const char *stat_groups_name(const struct stat_groups *groups, const struct stat *stat,
                             const struct stat_group *group)
{
    const char *name = "";
    if (group->what == STAT_GROUP_NONE)
        ;
    else if (groups->by == STAT_BY_DEVICE)
        name = device_name(stat, group->what);
    else if (groups->by == STAT_BY_STREAM)
        name = lane_name(stat, group->what);
    else if (groups->by == STAT_BY_THREAD)
        name = thread_name(stat, group->what);
    else if (groups->by == STAT_BY_PROCESS)
        name = places_name(stat->places, group->what);
    else if (groups->by == STAT_BY_RANK)
        name = stat->places->list[group->what].rank;
    else if (groups->by == STAT_BY_STEP)
        name = groups->steps[group->what];
    else if (groups->by == STAT_BY_REQUEST)
        name = trace_is_rest(stat->trace, group->what)
                   ? "(other requests)"
                   : stat_keep(stat, trace_id_text(stat->trace, group->what));
    else
        name = trace_string(stat->trace, group->what);
    return *name ? name : keep_and_free(stat, xasprintf("(no %s)", stat_by_name(groups->by)));
}
