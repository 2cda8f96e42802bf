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

/* --- between two --- */

/* An estimate may fall. */
static uint64_t less(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

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

static void subtract_device(struct top_device *device, const struct top_device *before)
{
    device->busy_ns = less(device->busy_ns, before->busy_ns);
    device->kernels = less(device->kernels, before->kernels);
    device->kernel_ns = less(device->kernel_ns, before->kernel_ns);
    device->copies = less(device->copies, before->copies);
    device->copy_bytes = less(device->copy_bytes, before->copy_bytes);
    device->fills = less(device->fills, before->fills);
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

static void subtract_own(const struct top_sample *before, struct top_sample *difference)
{
    difference->spans = less(difference->spans, before->spans);
    difference->lost = less(difference->lost, before->lost);
    difference->callback_ns = less(difference->callback_ns, before->callback_ns);
    difference->threads_ns = less(difference->threads_ns, before->threads_ns);
    difference->cupti_ns = less(difference->cupti_ns, before->cupti_ns);
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
    difference->calls = less(now->calls, from->calls);
    difference->call_ns = less(now->call_ns, from->call_ns);
    difference->errors = less(now->errors, from->errors);
    difference->waiting_ns = less(now->waiting_ns, from->waiting_ns);
    difference->launches = less(now->launches, from->launches);
    for (size_t i = 0; i < difference->device_count; i++) {
        const struct top_device *past = find_device(from, difference->devices[i].id);
        if (past)
            subtract_device(&difference->devices[i], past);
    }
    subtract_kernels(from, now, difference);
    subtract_own(before, difference); /* counted from the agent's start */
    difference->steps.count = less(now->steps.count, before->steps.count); /* as long as the process lives */
    difference->steps.total_ns = less(now->steps.total_ns, before->steps.total_ns);
    return true;
}

/* --- several agents --- */

static void add_device(struct top_sample *sum, const struct top_device *device)
{
    for (size_t i = 0; i < sum->device_count; i++) {
        struct top_device *found = &sum->devices[i];
        if (strcmp(found->id, device->id) != 0)
            continue;
        found->busy_ns += device->busy_ns;
        found->kernels += device->kernels;
        found->kernel_ns += device->kernel_ns;
        found->copies += device->copies;
        found->copy_bytes += device->copy_bytes;
        found->fills += device->fills;
        found->memory_live += device->memory_live;
        found->memory_peak += device->memory_peak;
        return;
    }
    if (sum->device_count < DEVICES_MAX)
        sum->devices[sum->device_count++] = *device;
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
    sum->calls += other->calls;
    sum->call_ns += other->call_ns;
    sum->errors += other->errors;
    sum->waiting_ns += other->waiting_ns;
    sum->launches += other->launches;
    for (size_t i = 0; i < other->device_count; i++)
        add_device(sum, &other->devices[i]);
    for (size_t i = 0; i < other->kernel_count; i++)
        add_kernel(sum, &other->kernels[i]);
    sum->others_count += other->others_count;
    sum->others_ns += other->others_ns;
    sum->spans += other->spans;
    sum->lost += other->lost;
    sum->has_callbacks |= other->has_callbacks;
    sum->callback_ns += other->callback_ns;
    sum->threads_ns += other->threads_ns;
    sum->cupti_ns += other->cupti_ns;
}
