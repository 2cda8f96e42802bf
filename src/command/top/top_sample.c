#include "command/top/top_sample.h"

#include "agent/operate/agents/agents.h"

#include <stdio.h>
#include <string.h>

static void read_device(const cJSON *item, struct top_device *device)
{
    *device = (struct top_device){.index = (uint32_t)agents_number(item, "index"),
                                  .busy_ns = agents_number(item, "busy_ns"),
                                  .kernels = agents_number(item, "kernels"),
                                  .kernel_ns = agents_number(item, "kernel_ns"),
                                  .copies = agents_number(item, "copies"),
                                  .copy_bytes = agents_number(item, "copy_bytes"),
                                  .fills = agents_number(item, "fills"),
                                  .memory_live = agents_number(item, "memory_live"),
                                  .memory_peak = agents_number(item, "memory_peak")};
    snprintf(device->name, sizeof device->name, "%s", agents_text(item, "name"));
    snprintf(device->id, sizeof device->id, "%s", agents_text(item, "uuid"));
    if (!*device->id)
        snprintf(device->id, sizeof device->id, "%u", device->index);
}

static void read_own(const cJSON *own, struct top_sample *sample)
{
    const cJSON *cost = cJSON_GetObjectItemCaseSensitive(own, "cost");
    sample->spans = agents_number(own, "spans");
    sample->lost = agents_number(own, "lost");
    sample->has_callbacks = cJSON_HasObjectItem(cost, "callback_ns");
    sample->callback_ns = agents_number(cost, "callback_ns");
    sample->threads_ns = agents_number(cost, "pipeline_ns") + agents_number(cost, "sender_ns") +
                         agents_number(cost, "control_ns");
    sample->cupti_ns = agents_number(cost, "cupti_flush_ns") +
                       agents_number(cost, "cupti_instrumentation_ns") +
                       agents_number(cost, "cupti_resource_ns") + agents_number(cost, "cupti_request_ns") +
                       agents_number(cost, "cupti_other_ns");
}

static void read_kernels(const cJSON *answer, struct top_sample *sample)
{
    const cJSON *item, *others = cJSON_GetObjectItemCaseSensitive(answer, "kernels_other");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer, "kernels"))
    {
        if (sample->kernel_count == TOP_KERNELS_MAX)
            break;
        struct top_kernel *kernel = &sample->kernels[sample->kernel_count++];
        snprintf(kernel->name, sizeof kernel->name, "%s", agents_text(item, "name"));
        kernel->count = agents_number(item, "count");
        kernel->total_ns = agents_number(item, "total_ns");
    }
    sample->others_count = agents_number(others, "count");
    sample->others_ns = agents_number(others, "total_ns");
}

static void read_steps(const cJSON *from, struct top_steps *steps)
{
    const cJSON *item;
    if (!cJSON_IsObject(from))
        return;
    steps->is_there = true;
    snprintf(steps->job, sizeof steps->job, "%s", agents_text(from, "job"));
    snprintf(steps->kind, sizeof steps->kind, "%s", agents_text(from, "kind"));
    steps->rank = agents_signed(from, "rank", -1);
    steps->number = agents_signed(from, "number", 0);
    steps->count = agents_number(from, "count");
    steps->total_ns = agents_number(from, "total_ns");
    steps->last_ns = agents_number(from, "last_ns");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(from, "sampled"))
    {
        if (steps->sampled_count == TOP_STEPS_MAX)
            break;
        steps->sampled[steps->sampled_count++] =
            (struct top_step){.number = agents_signed(item, "number", 0),
                              .compute_ns = agents_number(item, "compute_ns"),
                              .exposed_ns = agents_number(item, "exposed_communication_ns"),
                              .copies_ns = agents_number(item, "copies_ns"),
                              .idle_ns = agents_number(item, "idle_ns"),
                              .communication_ns = agents_number(item, "communication_ns"),
                              .host_ns = agents_number(item, "host_ns"),
                              .is_whole = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item, "whole"))};
    }
}

bool top_sample_read(const cJSON *answer, struct top_sample *sample)
{
    const cJSON *item, *calls = cJSON_GetObjectItemCaseSensitive(answer, "calls");
    memset(sample, 0, sizeof *sample);
    if (!cJSON_IsObject(calls) || !agents_number(answer, "time_ns"))
        return false;
    sample->is_on = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "is_on"));
    sample->time_ns = agents_number(answer, "time_ns");
    sample->since_ns = agents_number(answer, "since_ns");
    sample->calls = agents_number(calls, "count");
    sample->call_ns = agents_number(calls, "total_ns");
    sample->errors = agents_number(calls, "errors");
    sample->waiting_ns = agents_number(calls, "waiting_ns");
    sample->launches = agents_number(answer, "launches");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer, "devices"))
    {
        if (sample->device_count < DEVICES_MAX)
            read_device(item, &sample->devices[sample->device_count++]);
    }
    read_kernels(answer, sample);
    read_own(cJSON_GetObjectItemCaseSensitive(answer, "own"), sample);
    read_steps(cJSON_GetObjectItemCaseSensitive(answer, "steps"), &sample->steps);
    return true;
}

/* The counts from the start, X(member): of calls, of cuspan itself, and of a device. */
#define CALL_COUNTS(X)   X(calls) X(call_ns) X(errors) X(waiting_ns) X(launches)
#define OWN_COUNTS(X)    X(spans) X(lost) X(callback_ns) X(threads_ns) X(cupti_ns)
#define DEVICE_COUNTS(X) X(busy_ns) X(kernels) X(kernel_ns) X(copies) X(copy_bytes) X(fills)

/* --- between two --- */

/* An estimate may fall. */
static uint64_t less(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

#define SUBTRACT(member) difference->member = less(difference->member, before->member);

static const struct top_device *find_device(const struct top_sample *sample, const char *id)
{
    for (size_t i = 0; i < sample->device_count; i++)
        if (strcmp(sample->devices[i].id, id) == 0)
            return &sample->devices[i];
    return NULL;
}

static const struct top_kernel *find_kernel(const struct top_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->kernel_count; i++)
        if (strcmp(sample->kernels[i].name, name) == 0)
            return &sample->kernels[i];
    return NULL;
}

static void subtract_device(struct top_device *difference, const struct top_device *before)
{
    DEVICE_COUNTS(SUBTRACT)
}

static void subtract_calls(struct top_sample *difference, const struct top_sample *before)
{
    CALL_COUNTS(SUBTRACT)
}

static void subtract_own(struct top_sample *difference, const struct top_sample *before)
{
    OWN_COUNTS(SUBTRACT)
}

/* Agents report the kernels with the most time so far. A kernel that is new in this list may have spent part
 * of its time before the interval. Until the next sample it counts as unnamed. */
static void subtract_kernels(const struct top_sample *before, const struct top_sample *now,
                             struct top_sample *difference)
{
    bool was_cut = before->kernel_count == TOP_KERNELS_MAX;
    uint64_t named_ns = 0, named = 0;
    difference->kernel_count = 0;
    for (size_t i = 0; i < now->kernel_count; i++) {
        const struct top_kernel *kernel = &now->kernels[i], *past = find_kernel(before, kernel->name);
        if (!past && was_cut)
            continue;
        struct top_kernel more = *kernel;
        more.count = less(kernel->count, past ? past->count : 0);
        more.total_ns = less(kernel->total_ns, past ? past->total_ns : 0);
        named += more.count;
        named_ns += more.total_ns;
        if (more.count)
            difference->kernels[difference->kernel_count++] = more;
    }
    uint64_t all = 0, all_ns = 0;
    for (size_t i = 0; i < difference->device_count; i++) {
        all += difference->devices[i].kernels;
        all_ns += difference->devices[i].kernel_ns;
    }
    difference->others_count = less(all, named);
    difference->others_ns = less(all_ns, named_ns);
}

bool top_sample_difference(const struct top_sample *before, const struct top_sample *now,
                           struct top_sample *difference)
{
    static const struct top_sample nothing;
    bool is_same_run = before->is_on && before->since_ns == now->since_ns;
    const struct top_sample *from = is_same_run ? before : &nothing;
    uint64_t begin_ns = is_same_run ? before->time_ns : now->since_ns;
    if (!now->is_on || now->time_ns <= begin_ns)
        return false;
    *difference = *now;
    difference->window_ns = now->time_ns - begin_ns;
    subtract_calls(difference, from);
    for (size_t i = 0; i < difference->device_count; i++) {
        const struct top_device *past = find_device(from, difference->devices[i].id);
        if (past)
            subtract_device(&difference->devices[i], past);
    }
    subtract_kernels(from, now, difference);
    subtract_own(difference, before); /* counted from the agent's start */
    difference->steps.count = less(now->steps.count, before->steps.count); /* as long as the process lives */
    difference->steps.total_ns = less(now->steps.total_ns, before->steps.total_ns);
    return true;
}

/* --- several agents --- */

#define ADD(member) sum->member += other->member;

static void add_device(struct top_sample *all, const struct top_device *other)
{
    for (size_t i = 0; i < all->device_count; i++) {
        struct top_device *sum = &all->devices[i];
        if (strcmp(sum->id, other->id) != 0)
            continue;
        DEVICE_COUNTS(ADD)
        ADD(memory_live)
        ADD(memory_peak)
        return;
    }
    if (all->device_count < DEVICES_MAX)
        all->devices[all->device_count++] = *other;
}

static void add_kernel(struct top_sample *sum, const struct top_kernel *kernel)
{
    for (size_t i = 0; i < sum->kernel_count; i++) {
        if (strcmp(sum->kernels[i].name, kernel->name) != 0)
            continue;
        sum->kernels[i].count += kernel->count;
        sum->kernels[i].total_ns += kernel->total_ns;
        return;
    }
    if (sum->kernel_count < TOP_KERNELS_ALL) {
        sum->kernels[sum->kernel_count++] = *kernel;
        return;
    }
    sum->others_count += kernel->count;
    sum->others_ns += kernel->total_ns;
}

void top_sample_add(struct top_sample *sum, const struct top_sample *other)
{
    sum->is_on |= other->is_on;
    sum->window_ns = other->window_ns > sum->window_ns ? other->window_ns : sum->window_ns;
    CALL_COUNTS(ADD)
    OWN_COUNTS(ADD)
    for (size_t i = 0; i < other->device_count; i++)
        add_device(sum, &other->devices[i]);
    for (size_t i = 0; i < other->kernel_count; i++)
        add_kernel(sum, &other->kernels[i]);
    sum->others_count += other->others_count;
    sum->others_ns += other->others_ns;
    sum->has_callbacks |= other->has_callbacks;
}
