#include "agent/replay/state/timeline.h"

#include "base/hash.h"
#include "agent/abi/cupti_abi.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "agent/recording/recording.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_FIELD_NULL_STREAM 4
#define INFOS_MAX                 1024
#define NULL_STREAM_USUAL         7 /* CUPTI's usual ID of the first context's NULL stream */

/* Makes room for one more entry in a doubling array. */
static bool grow(void **array, size_t count, size_t size)
{
    if (count & (count - 1))
        return true;
    void *larger = realloc(*array, (count ? 2 * count : 1) * size);
    if (larger)
        *array = larger;
    return larger != NULL;
}

static void *copy_of(const void *bytes, size_t count)
{
    void *copy = malloc(count);
    return copy ? memcpy(copy, bytes, count) : NULL;
}

static struct timeline_thread *thread_of(struct timeline *timeline, uint64_t tid)
{
    static size_t last; /* a thread's events come in runs */
    if (last < timeline->thread_count && timeline->threads[last].tid == tid)
        return &timeline->threads[last];
    for (last = 0; last < timeline->thread_count; last++) {
        if (timeline->threads[last].tid == tid)
            return &timeline->threads[last];
    }
    if (!grow((void **)&timeline->threads, timeline->thread_count, sizeof *timeline->threads))
        return NULL;
    timeline->threads[timeline->thread_count] = (struct timeline_thread){.tid = tid};
    return &timeline->threads[timeline->thread_count++];
}

static bool add_call(struct timeline *timeline, uint64_t tid, const struct call_record *call)
{
    struct timeline_thread *thread = thread_of(timeline, tid);
    if (!thread || !grow((void **)&thread->calls, thread->call_count, sizeof *thread->calls))
        return false;
    struct call_record *copy = copy_of(call, call->head.bytes);
    if (!copy)
        return false;
    if (copy->end_ns < copy->start_ns)
        copy->end_ns = copy->start_ns; /* the clock was set back during the call */
    thread->calls[thread->call_count++] = copy;
    return true;
}

static struct timeline_context *context_of(struct timeline *timeline, uint32_t id)
{
    for (size_t i = 0; i < timeline->context_count; i++) {
        if (timeline->contexts[i].id == id)
            return &timeline->contexts[i];
    }
    if (!grow((void **)&timeline->contexts, timeline->context_count, sizeof *timeline->contexts))
        return NULL;
    struct timeline_context *context = &timeline->contexts[timeline->context_count++];
    *context =
        (struct timeline_context){.id = id, .null_stream_id = NULL_STREAM_USUAL, .handle = 0x100000ull + id};
    return context;
}

/* Adds a record that starts with its head and time. */
static bool add_other(struct timeline *timeline, uint64_t tid, const void *record, size_t bytes)
{
    struct timeline_thread *thread = thread_of(timeline, tid);
    if (!thread || !grow((void **)&thread->others, thread->other_count, sizeof *thread->others))
        return false;
    thread->others[thread->other_count] = copy_of(record, bytes);
    return thread->others[thread->other_count++] != NULL;
}

static bool add_resource(struct timeline *timeline, uint64_t tid, const struct resource_record *resource)
{
    if (!add_other(timeline, tid, resource, sizeof *resource))
        return false;
    if (resource->head.cbid != CUPTI_RESOURCE_CONTEXT_CREATED)
        return true;
    struct timeline_context *context = context_of(timeline, resource->context_id);
    if (context && resource->handle)
        context->handle = resource->handle;
    if (context && resource->device_id != UINT32_MAX)
        context->device_id = resource->device_id;
    return context != NULL;
}

static bool add_annotation(struct timeline *timeline, uint64_t tid, const struct record_head *annotation)
{
    const struct name_record *name = (const struct name_record *)annotation;
    bool is_handle = annotation->type == RECORD_NAME && annotation->cbid == NAMED_CONTEXT_ID;
    struct timeline_context *context = is_handle ? context_of(timeline, name->id) : NULL;
    if (context)
        context->handle = name->handle;
    return add_other(timeline, tid, annotation, annotation->bytes);
}

static bool add_of_call(struct timeline_of_calls *list, uint32_t correlation_id, const void *record)
{
    if (!record || !grow((void **)&list->entries, list->count, sizeof *list->entries))
        return false;
    list->entries[list->count++] = (struct timeline_of_call){correlation_id, record};
    return true;
}

static int compare_of_calls(const void *a, const void *b)
{
    const struct timeline_of_call *one = a, *other = b;
    return (one->correlation_id > other->correlation_id) - (one->correlation_id < other->correlation_id);
}

static void sort_of_calls(struct timeline_of_calls *list)
{
    if (list->count > 0)
        qsort(list->entries, list->count, sizeof *list->entries, compare_of_calls);
}

const void *timeline_of_call(const struct timeline_of_calls *list, uint32_t correlation_id)
{
    struct timeline_of_call wanted = {.correlation_id = correlation_id};
    const struct timeline_of_call *found =
        list->count ? bsearch(&wanted, list->entries, list->count, sizeof wanted, compare_of_calls) : NULL;
    return found ? found->record : NULL;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct code_record *one = a, *other = b;
    return (one->id > other->id) - (one->id < other->id);
}

const struct code_record *timeline_stack(const struct timeline *timeline, uint64_t id)
{
    struct code_record wanted = {.id = id};
    struct code_record *const *found = tfind(&wanted, &timeline->stacks, compare_stacks);
    return found ? *found : NULL;
}

/* A stack without its frames is left out: the recording began later. */
static bool add_code(struct timeline *timeline, uint32_t correlation_id, const struct code_record *code)
{
    const struct code_record *stack = timeline_stack(timeline, code->id);
    if (!stack && !(code->flags & CODE_IS_DESCRIBED))
        return true;
    if (!stack) {
        struct code_record *copy = copy_of(code, code->head.bytes);
        if (!copy || !tsearch(copy, &timeline->stacks, compare_stacks)) {
            free(copy);
            return false;
        }
        copy->flags &= ~(uint32_t)CODE_IS_OF_NODES; /* calls may have the same stack */
        stack = copy;
    }
    return code->flags & CODE_IS_OF_NODES || add_of_call(&timeline->codes, correlation_id, stack);
}

/* The copy is followed by its fixed arrays, which belong to the reader and change with its next event. */
static struct activity_record *copy_activity(const struct activity_record *activity)
{
    const struct activity_info *info = &activity_table[activity->kind];
    uint64_t arrays = 0;
    for (unsigned f = 0; info->fields && f < info->field_count; f++)
        if (info->fields[f].type == FIELD_BYTES)
            arrays |= activity->present & 1ull << f;
    struct activity_record *copy = malloc(sizeof *copy + (size_t)__builtin_popcountll(arrays) * UINT8_MAX);
    if (!copy)
        return NULL;
    *copy = *activity;
    for (char *to = (char *)(copy + 1); arrays; arrays &= arrays - 1, to += UINT8_MAX) {
        uint64_t *value = &copy->values[__builtin_ctzll(arrays)];
        *value = (uint64_t)(uintptr_t)memcpy(to, (const void *)(uintptr_t)*value, UINT8_MAX);
    }
    return copy;
}

static bool add_activity(struct timeline *timeline, const struct activity_record *activity)
{
    if (!grow((void **)&timeline->activities, timeline->activity_count, sizeof *timeline->activities))
        return false;
    struct activity_record *copy = copy_activity(activity);
    if (!copy)
        return false;
    timeline->activities[timeline->activity_count++] = (struct timeline_activity){.record = copy};
    if (activity->kind != ACTIVITY_CONTEXT)
        return true;
    struct timeline_context *context = context_of(timeline, activity->context_id);
    if (!context)
        return false;
    context->device_id = activity->device_id;
    if (activity->present >> CONTEXT_FIELD_NULL_STREAM & 1)
        context->null_stream_id = (uint32_t)activity->values[CONTEXT_FIELD_NULL_STREAM];
    return true;
}

static bool begins_with_word(const char *text, const char *words)
{
    size_t length = strcspn(words, " ");
    return strncmp(text, words, length) == 0 && strchr(" ", text[length]);
}

const char *timeline_info(const struct timeline *timeline, const char *key, const char *of)
{
    for (size_t i = timeline->info_count; i > 0; i--) {
        const struct timeline_info *info = &timeline->infos[i - 1];
        if (strcmp(info->key, key) == 0 && (!of || begins_with_word(info->value, of)))
            return info->value;
    }
    return NULL;
}

static bool add_info(struct timeline *timeline, const char *key, const char *value)
{
    if (strcmp(key, RECORDING_INFO_GPU_COUNTER) == 0 && timeline->counter_count < GPU_COUNTERS_MAX)
        snprintf(timeline->counters[timeline->counter_count++], sizeof timeline->counters[0], "%s", value);
    if (timeline->info_count == INFOS_MAX)
        return true;
    if (!grow((void **)&timeline->infos, timeline->info_count, sizeof *timeline->infos))
        return false;
    struct timeline_info *info = &timeline->infos[timeline->info_count++];
    *info = (struct timeline_info){copy_of(key, strlen(key) + 1), copy_of(value, strlen(value) + 1)};
    return info->key && info->value;
}

static bool add_step(struct timeline *timeline, const struct step_boundary *step)
{
    if (!grow((void **)&timeline->steps, timeline->step_count, sizeof *timeline->steps))
        return false;
    struct engine_event *event = step->event ? copy_of(step->event, step->event->bytes) : NULL;
    if (step->event && !event)
        return false;
    struct step_boundary *added = &timeline->steps[timeline->step_count++];
    *added = *step;
    added->event = event;
    if (timeline->step_count > 1 && added->time < added[-1].time)
        added->time = added[-1].time; /* the clock was set back */
    return true;
}

uint64_t timeline_nonce(const struct timeline *timeline, uint64_t time_ns)
{
    size_t low = 0, high = timeline->step_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (timeline->steps[middle].time <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? timeline->steps[low - 1].nonce : 0;
}

static bool add_event(struct timeline *timeline, const struct recording_event *event)
{
    struct timeline_thread *thread;
    switch (event->type) {
    case RECORDING_CALL:
        return add_call(timeline, event->tid, event->call);
    case RECORDING_RESOURCE:
        return add_resource(timeline, event->tid, event->resource);
    case RECORDING_ANNOTATION:
        return add_annotation(timeline, event->tid, event->annotation);
    case RECORDING_ACTIVITY:
        return add_activity(timeline, event->activity);
    case RECORDING_THREAD:
        thread = thread_of(timeline, event->tid);
        if (thread)
            strncpy(thread->name, event->name, sizeof thread->name - 1);
        return thread != NULL;
    case RECORDING_INFO:
        return add_info(timeline, event->name, event->text);
    case RECORDING_GPU_COUNTERS:
        return add_of_call(&timeline->counts, event->gpu_counters->correlation_id,
                           copy_of(event->gpu_counters, event->gpu_counters->head.bytes));
    case RECORDING_CODE:
        return add_code(timeline, event->correlation_id, event->code);
    case RECORDING_STEP:
    case RECORDING_ENGINE:
        return add_step(timeline, event->step);
    default:
        return true;
    }
}

static enum status read_events(struct timeline *timeline, const char *path, struct error *err)
{
    struct recording_event event;
    enum status status = recording_open(path, &timeline->recording, err);
    while (status == STATUS_OK) {
        status = recording_next(timeline->recording, &event, err);
        if (status == STATUS_OK && !add_event(timeline, &event))
            status = error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory for the replay", path);
    }
    sort_of_calls(&timeline->counts);
    sort_of_calls(&timeline->codes);
    return status == STATUS_END ? STATUS_OK : status;
}

struct link {
    uint32_t correlation_id;
    uint64_t enter_ns;
    const char *symbol;
};

struct links {
    struct link *links;
    size_t count;
};

static int compare_links(const void *a, const void *b)
{
    const struct link *one = a, *other = b;
    if (one->correlation_id != other->correlation_id)
        return one->correlation_id < other->correlation_id ? -1 : 1;
    return one->enter_ns < other->enter_ns ? -1 : one->enter_ns > other->enter_ns;
}

static struct link *link_find(const struct links *links, uint32_t correlation_id)
{
    size_t low = 0, high = links->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (links->links[middle].correlation_id < correlation_id)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low < links->count && links->links[low].correlation_id == correlation_id;
    return is_found && correlation_id != 0 ? &links->links[low] : NULL;
}

static bool links_init(struct links *links, const struct timeline *timeline)
{
    size_t count = 0;
    for (size_t t = 0; t < timeline->thread_count; t++)
        count += timeline->threads[t].call_count;
    links->count = 0;
    links->links = malloc((count + 1) * sizeof *links->links);
    if (!links->links)
        return false;
    for (size_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];
        for (size_t i = 0; i < thread->call_count; i++)
            links->links[links->count++] =
                (struct link){thread->calls[i]->correlation_id, thread->calls[i]->start_ns, NULL};
    }
    qsort(links->links, links->count, sizeof *links->links, compare_links);
    for (size_t i = 0; i < timeline->activity_count; i++) {
        const struct activity_record *record = timeline->activities[i].record;
        struct link *link = record->kind == ACTIVITY_KERNEL ? link_find(links, record->correlation_id) : NULL;
        if (link && !link->symbol)
            link->symbol = record->name;
    }
    return true;
}

struct open_call {
    const struct call_record *call;
    const char *symbol;
};

struct sweep {
    struct timeline_thread *thread;
    struct open_call *open; /* a stack */
    uint32_t depth;
    uint64_t order_ns;
};

static struct item *sweep_add(struct sweep *sweep, enum item_type type, uint64_t time_ns)
{
    if (time_ns > sweep->order_ns)
        sweep->order_ns = time_ns;
    struct item *item = &sweep->thread->items[sweep->thread->item_count++];
    *item = (struct item){
        .time_ns = time_ns, .order_ns = sweep->order_ns, .depth = sweep->depth, .type = (uint8_t)type};
    return item;
}

static void sweep_exit(struct sweep *sweep)
{
    const struct open_call *open = &sweep->open[--sweep->depth];
    struct item *item = sweep_add(sweep, ITEM_EXIT, open->call->end_ns);
    item->call = open->call;
    item->symbol = open->symbol;
}

static void sweep_enter(struct sweep *sweep, const struct call_record *call, const struct links *links)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    struct link *link = link_find(links, call->correlation_id);
    bool is_launch = info && info->group == CALL_GROUP_LAUNCH;
    struct open_call open = {.call = call, .symbol = link && is_launch ? link->symbol : NULL};
    struct item *item = sweep_add(sweep, ITEM_ENTER, call->start_ns);
    item->call = call;
    item->symbol = open.symbol;
    sweep->open[sweep->depth++] = open;
    if (sweep->depth > sweep->thread->depth_max)
        sweep->thread->depth_max = sweep->depth;
}

struct call_order {
    const struct call_record *call;
    size_t recorded;
};

/* By start. Of calls that start together, the enclosing one comes first, which was recorded last. */
static int compare_calls(const void *a, const void *b)
{
    const struct call_order *one = a, *other = b;
    if (one->call->start_ns != other->call->start_ns)
        return one->call->start_ns < other->call->start_ns ? -1 : 1;
    if (one->call->end_ns != other->call->end_ns)
        return one->call->end_ns > other->call->end_ns ? -1 : 1;
    return one->call->start_ns == one->call->end_ns
               ? (one->recorded > other->recorded) - (one->recorded < other->recorded)
               : (one->recorded < other->recorded) - (one->recorded > other->recorded);
}

static void sweep_other(struct sweep *sweep, const struct resource_record *other)
{
    bool is_resource = other->head.type == RECORD_RESOURCE;
    struct item *item = sweep_add(sweep, is_resource ? ITEM_RESOURCE : ITEM_SAID, other->time_ns);
    if (is_resource)
        item->resource = other;
    else
        item->annotation = &other->head;
}

static void sweep_run(struct sweep *sweep, const struct call_order *calls, const struct links *links)
{
    const struct timeline_thread *thread = sweep->thread;
    size_t call = 0, other = 0;
    while (call < thread->call_count || other < thread->other_count || sweep->depth > 0) {
        uint64_t enter_ns = call < thread->call_count ? calls[call].call->start_ns : UINT64_MAX;
        uint64_t other_ns = other < thread->other_count ? thread->others[other]->time_ns : UINT64_MAX;
        uint64_t exit_ns = sweep->depth > 0 ? sweep->open[sweep->depth - 1].call->end_ns : UINT64_MAX;
        if (sweep->depth > 0 && exit_ns <= enter_ns && exit_ns <= other_ns)
            sweep_exit(sweep);
        else if (other_ns <= enter_ns && other < thread->other_count)
            sweep_other(sweep, thread->others[other++]);
        else if (call < thread->call_count)
            sweep_enter(sweep, calls[call++].call, links);
        else
            sweep_exit(sweep);
    }
}

static bool make_items(struct timeline_thread *thread, const struct links *links)
{
    struct call_order *calls = malloc((thread->call_count + 1) * sizeof *calls);
    struct sweep sweep = {.thread = thread};
    sweep.open = malloc((thread->call_count + 1) * sizeof *sweep.open);
    thread->items = malloc((2 * thread->call_count + thread->other_count + 1) * sizeof *thread->items);
    bool is_done = calls && sweep.open && thread->items;
    if (is_done) {
        for (size_t i = 0; i < thread->call_count; i++)
            calls[i] = (struct call_order){thread->calls[i], i};
        qsort(calls, thread->call_count, sizeof *calls, compare_calls);
        sweep_run(&sweep, calls, links);
    }
    free(calls);
    free(sweep.open);
    return is_done;
}

/* The first thread, so that a boundary comes before everything else of its time. */
static bool make_step_thread(struct timeline *timeline)
{
    if (timeline->step_count == 0)
        return true;
    struct item *items = malloc(timeline->step_count * sizeof *items);
    if (!items || !grow((void **)&timeline->threads, timeline->thread_count, sizeof *timeline->threads)) {
        free(items);
        return false;
    }
    for (size_t i = 0; i < timeline->step_count; i++) {
        const struct step_boundary *step = &timeline->steps[i];
        items[i] =
            (struct item){.time_ns = step->time, .order_ns = step->time, .type = ITEM_STEP, .step = step};
    }
    memmove(timeline->threads + 1, timeline->threads, timeline->thread_count * sizeof *timeline->threads);
    timeline->threads[0] =
        (struct timeline_thread){.name = "steps", .items = items, .item_count = timeline->step_count};
    timeline->thread_count++;
    return true;
}

static void shuffle_activities(struct timeline *timeline, uint32_t window)
{
    uint64_t random = HASH_SPREAD; /* the same sequence in each replay */
    for (size_t begin = 0; begin < timeline->activity_count; begin += window) {
        size_t rest = timeline->activity_count - begin;
        size_t count = rest < window ? rest : window;
        struct timeline_activity *activities = &timeline->activities[begin];
        uint64_t last_ns = activities[count - 1].order_ns;
        for (size_t i = count; i > 0; i--) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            size_t other = (size_t)(random >> 33) % i;
            struct timeline_activity swapped = activities[other];
            activities[other] = activities[i - 1];
            activities[i - 1] = swapped;
            activities[i - 1].order_ns = last_ns; /* none completes before its whole window */
        }
    }
}

/* In recorded order, which is that of CUPTI's buffers: a record waits for those before it. */
static void place_activities(struct timeline *timeline, const struct links *links, uint32_t shuffle)
{
    uint64_t order_ns = 0;
    for (size_t i = 0; i < timeline->activity_count; i++) {
        struct timeline_activity *activity = &timeline->activities[i];
        const struct activity_record *record = activity->record;
        const struct link *link = link_find(links, record->correlation_id);
        bool is_interval = activity_table[record->kind].is_interval;
        uint64_t done_ns = !is_interval ? 0 : record->end_ns ? record->end_ns : record->start_ns;
        if (link && link->enter_ns > done_ns)
            done_ns = link->enter_ns;
        if (done_ns > order_ns)
            order_ns = done_ns;
        activity->order_ns = order_ns;
    }
    if (shuffle)
        shuffle_activities(timeline, shuffle);
}

struct item_order {
    uint64_t order_ns;
    size_t source; /* thread index; from thread_count on, activity records */
    size_t number;
};

static int compare_places(const void *a, const void *b)
{
    const struct item_order *one = a, *other = b;
    if (one->order_ns != other->order_ns)
        return one->order_ns < other->order_ns ? -1 : 1;
    if (one->source != other->source)
        return one->source < other->source ? -1 : 1;
    return one->number < other->number ? -1 : 1;
}

static void note_times(struct timeline *timeline, uint64_t time_ns)
{
    if (time_ns == 0)
        return;
    if (timeline->first_ns == 0 || time_ns < timeline->first_ns)
        timeline->first_ns = time_ns;
    if (time_ns > timeline->last_ns)
        timeline->last_ns = time_ns;
}

static bool number_everything(struct timeline *timeline)
{
    size_t count = timeline->activity_count, at = 0;
    for (size_t t = 0; t < timeline->thread_count; t++)
        count += timeline->threads[t].item_count;
    struct item_order *places = malloc((count + 1) * sizeof *places);
    if (!places)
        return false;
    for (size_t t = 0; t < timeline->thread_count; t++) {
        for (size_t i = 0; i < timeline->threads[t].item_count; i++)
            places[at++] = (struct item_order){timeline->threads[t].items[i].order_ns, t, i};
    }
    for (size_t i = 0; i < timeline->activity_count; i++)
        places[at++] = (struct item_order){timeline->activities[i].order_ns, timeline->thread_count, i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++) {
        if (places[i].source < timeline->thread_count)
            timeline->threads[places[i].source].items[places[i].number].index = i;
        else
            timeline->activities[places[i].number].index = i;
        note_times(timeline, places[i].order_ns);
    }
    timeline->index_count = count;
    free(places);
    return true;
}

static void note_correlation(struct timeline *timeline, uint32_t id)
{
    if (id == 0)
        return;
    if (timeline->correlation_min == 0 || id < timeline->correlation_min)
        timeline->correlation_min = id;
    if (id > timeline->correlation_max)
        timeline->correlation_max = id;
}

static void measure(struct timeline *timeline)
{
    for (size_t t = 0; t < timeline->thread_count; t++) {
        for (size_t i = 0; i < timeline->threads[t].call_count; i++)
            note_correlation(timeline, timeline->threads[t].calls[i]->correlation_id);
    }
    for (size_t i = 0; i < timeline->activity_count; i++) {
        note_correlation(timeline, timeline->activities[i].record->correlation_id);
        if (activity_table[timeline->activities[i].record->kind].is_interval)
            note_times(timeline, timeline->activities[i].record->start_ns);
    }
}

enum status timeline_load(const char *path, uint32_t shuffle, struct timeline *timeline, struct error *err)
{
    struct links links = {0};
    memset(timeline, 0, sizeof *timeline);
    enum status status = read_events(timeline, path, err);
    bool is_done = status == STATUS_OK && links_init(&links, timeline);
    for (size_t t = 0; t < timeline->thread_count && is_done; t++)
        is_done = make_items(&timeline->threads[t], &links);
    is_done = is_done && make_step_thread(timeline);
    if (is_done) {
        place_activities(timeline, &links, shuffle);
        is_done = number_everything(timeline);
    }
    free(links.links);
    if (status == STATUS_OK && !is_done)
        status = error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory for the replay", path);
    if (status == STATUS_OK)
        measure(timeline);
    else
        timeline_deinit(timeline);
    return status;
}

static void thread_deinit(struct timeline_thread *thread)
{
    for (size_t i = 0; i < thread->call_count; i++)
        free(thread->calls[i]);
    for (size_t i = 0; i < thread->other_count; i++)
        free(thread->others[i]);
    free(thread->calls);
    free(thread->others);
    free(thread->items);
}

void timeline_deinit(struct timeline *timeline)
{
    for (size_t t = 0; t < timeline->thread_count; t++)
        thread_deinit(&timeline->threads[t]);
    for (size_t i = 0; i < timeline->activity_count; i++)
        free(timeline->activities[i].record);
    for (size_t i = 0; i < timeline->counts.count; i++)
        free((void *)(uintptr_t)timeline->counts.entries[i].record);
    for (size_t i = 0; i < timeline->info_count; i++) {
        free(timeline->infos[i].key);
        free(timeline->infos[i].value);
    }
    free(timeline->infos);
    for (size_t i = 0; i < timeline->step_count; i++)
        free(timeline->steps[i].event);
    free(timeline->steps);
    free(timeline->counts.entries);
    free(timeline->codes.entries);
    tdestroy(timeline->stacks, free);
    free(timeline->threads);
    free(timeline->activities);
    free(timeline->contexts);
    recording_close(timeline->recording);
    memset(timeline, 0, sizeof *timeline);
}
