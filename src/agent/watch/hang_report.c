#include "agent/watch/hang_report.h"

#include "base/clock.h"
#include "base/text/json_writer.h"
#include "model/semconv.h"
#include "model/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_VERSION 1
#define TAIL_BYTES     64 /* room to close what is open, and to count what is left out */
#define BRIEF_CALLS    2  /* of a communicator, in a brief report */
#define BRIEF_PYTHON   6  /* frames of a thread, in a brief report */
#define BRIEF_NATIVE   2
#define BRIEF_CHILDREN 4

/* The JSON, up to the limit. An item that does not fit is taken back. */
struct text {
    char *bytes;
    size_t used, limit;
    bool is_full;
};

static void put(void *to, const char *bytes, size_t len)
{
    struct text *text = to;
    text->is_full |= len > text->limit - text->used;
    if (text->is_full)
        return;
    memcpy(text->bytes + text->used, bytes, len);
    text->used += len;
}

struct builder {
    const struct hang_facts *facts;
    struct text text;
    struct json_writer json;
    bool is_brief;
};

struct mark {
    struct json_writer json;
    size_t used;
};

static struct mark mark_of(const struct builder *b)
{
    return (struct mark){b->json, b->text.used};
}

/* Ends an item. False: it did not fit, and is gone. */
static bool keep(struct builder *b, const struct mark *mark)
{
    if (!b->text.is_full && b->text.limit - b->text.used >= TAIL_BYTES)
        return true;
    b->json = mark->json;
    b->text.used = mark->used;
    b->text.is_full = false;
    return false;
}

static void write_seconds(struct builder *b, const char *key, uint64_t ns)
{
    char number[32];
    int len = snprintf(number, sizeof number, "%.6f", (double)ns / 1e9);
    json_write_raw(&b->json, key, number, (size_t)len);
}

static uint64_t since(const struct builder *b, uint64_t then_ns)
{
    return b->facts->now_ns > then_ns ? b->facts->now_ns - then_ns : 0;
}

static void write_id(struct builder *b, const char *key, uint64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)id);
    json_write_text(&b->json, key, text);
}

/* The call that the process waits for: the oldest that has not returned, else the latest whose end is not
 * known. */

static bool is_open(const struct live_call_view *call)
{
    return !(call->flags & LIVE_RETURNED);
}

static bool is_better(const struct live_call_view *call, const struct live_call_view *than)
{
    if (!than || is_open(call) != is_open(than))
        return !than || is_open(call);
    return is_open(call) ? call->enqueued_ns < than->enqueued_ns : call->enqueued_ns > than->enqueued_ns;
}

static const struct live_call_view *call_that_stands(const struct live_view *view,
                                                     const struct live_communicator_view **of)
{
    const struct live_call_view *best = NULL;
    for (uint32_t i = 0; i < view->communicator_count; i++)
        for (uint32_t n = 0; n < view->communicators[i].call_count; n++) {
            const struct live_call_view *call = &view->communicators[i].calls[n];
            if (call->flags & LIVE_ENDED || !is_better(call, best))
                continue;
            best = call;
            *of = &view->communicators[i];
        }
    return best;
}

static const char *operation_text(uint8_t operation)
{
    const char *text = collective_text((enum collective_operation)operation);
    return text ? text : "unknown";
}

/* The parts of the JSON. */

static const char *state_name(enum stall_event event)
{
    return event == STALL_BEGINS ? "begins" : event == STALL_ENDS ? "ended" : "lasts";
}

static void write_work(struct builder *b)
{
    static const char *const kinds[] = {
        [LIVE_WORK_NONE] = "none", [LIVE_WORK_KERNEL] = "kernel", [LIVE_WORK_COLLECTIVE] = "collective"};
    const struct live_view *view = b->facts->view;
    if (!view->work)
        return;
    json_write_object(&b->json, "oldest_work");
    json_write_text(&b->json, "kind", kinds[view->work]);
    if (view->work != LIVE_WORK_NONE)
        write_seconds(b, "seconds", since(b, view->work_began_ns));
    json_write_object_end(&b->json);
}

static const char *state_of(const struct gpu_hardware *gpu)
{
    return gpu->values[HARDWARE_FAILED]     ? "failed"
           : gpu->values[HARDWARE_DEGRADED] ? "degraded"
           : gpu->values[HARDWARE_OK]       ? "ok"
                                            : "unknown";
}

static void write_slowdowns(struct builder *b, uint32_t slowdowns)
{
    static const struct {
        enum hardware_slowdown reason;
        const char *name;
    } reasons[] = {{HARDWARE_SLOW_HW, "hw_slowdown"},
                   {HARDWARE_SLOW_SW_THERMAL, "sw_thermal"},
                   {HARDWARE_SLOW_HW_THERMAL, "hw_thermal"},
                   {HARDWARE_SLOW_POWER_BRAKE, "hw_power_brake"}};
    if (!slowdowns)
        return;
    json_write_array(&b->json, "slowdowns");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (slowdowns & reasons[i].reason)
            json_write_text(&b->json, NULL, reasons[i].name);
    json_write_array_end(&b->json);
}

/* A brief report has only GPUs with an error. */
static bool write_gpu(struct builder *b, const struct gpu_hardware *gpu)
{
    static const struct {
        enum hardware_field field;
        const char *name;
    } counts[] = {{HARDWARE_XIDS, "xids"},
                  {HARDWARE_ECC_CORRECTED, "ecc_corrected"},
                  {HARDWARE_ECC_UNCORRECTED, "ecc_uncorrected"}};
    struct mark before = mark_of(b);
    if (b->is_brief && !gpu->values[HARDWARE_FAILED] && !gpu->values[HARDWARE_DEGRADED] &&
        !gpu->values[HARDWARE_XIDS] && !gpu->values[HARDWARE_ECC_UNCORRECTED])
        return true;
    json_write_object(&b->json, NULL);
    json_write_text(&b->json, "id", gpu->id);
    json_write_text(&b->json, "state", state_of(gpu));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (gpu->present & 1u << counts[i].field)
            json_write_unsigned(&b->json, counts[i].name, (uint64_t)gpu->values[counts[i].field]);
    if (gpu->last_xid)
        json_write_unsigned(&b->json, "last_xid", gpu->last_xid);
    write_slowdowns(b, gpu->slowdowns);
    json_write_object_end(&b->json);
    return keep(b, &before);
}

static void write_gpus(struct builder *b)
{
    bool fits = true;
    json_write_array(&b->json, "gpus");
    for (uint32_t i = 0; i < b->facts->hardware->count && fits; i++)
        fits = write_gpu(b, &b->facts->hardware->gpus[i]);
    json_write_array_end(&b->json);
}

/* Those that have ended first: a brief report has few. */
static void write_children(struct builder *b)
{
    const struct children *children = b->facts->children;
    uint32_t left = b->is_brief ? BRIEF_CHILDREN : CHILDREN_MAX;
    json_write_array(&b->json, "children");
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < children->count && left; i++) {
            const struct child *child = &children->list[i];
            bool has_ended = child->ended_ns || child->state == 'Z';
            if (has_ended != (pass == 0))
                continue;
            json_write_object(&b->json, NULL);
            json_write_signed(&b->json, "pid", child->pid);
            json_write_text(&b->json, "name", child->name);
            if (child->ended_ns)
                write_seconds(b, "ended_seconds", since(b, child->ended_ns));
            else
                json_write_text(&b->json, "state", (const char[]){child->state ? child->state : '?', 0});
            json_write_object_end(&b->json);
            left--;
        }
    json_write_array_end(&b->json);
}

static void write_head(struct builder *b)
{
    const struct live_view *view = b->facts->view;
    const struct stall *stall = b->facts->stall;
    json_write_unsigned(&b->json, "version", REPORT_VERSION);
    json_write_text(&b->json, "state", state_name(b->facts->event));
    json_write_unsigned(&b->json, "stall", stall->stalls);
    write_seconds(b, "seconds", since(b, stall->stalled_ns));
    write_seconds(b, "limit_seconds", stall_limit_ns(stall));
    json_write_bool(&b->json, "alarm", stall->is_alarm);
    json_write_unsigned(&b->json, "time_ns", b->facts->time_ns);
    json_write_signed(&b->json, "pid", view->pid);
    json_write_signed(&b->json, "rank", view->rank);
    json_write_signed(&b->json, "world_size", view->world_size);
    if (view->gpu_ended_ns)
        write_seconds(b, "gpu_ended_seconds", since(b, view->gpu_ended_ns));
    if (view->exact_ns)
        write_seconds(b, "exact_seconds", since(b, view->exact_ns));
    write_work(b);
    if (view->steps && view->step_kind != STEP_NONE) {
        json_write_object(&b->json, "step");
        json_write_signed(&b->json, "number", view->step_number);
        json_write_text(&b->json, "kind", step_kind_name((uint8_t)view->step_kind));
        write_seconds(b, "seconds", since(b, view->step_began_ns));
        json_write_object_end(&b->json);
    }
}

static bool write_call(struct builder *b, const struct live_thread_view *call)
{
    struct mark before = mark_of(b);
    json_write_object(&b->json, NULL);
    json_write_unsigned(&b->json, "thread", call->thread);
    json_write_text(&b->json, "call", call->name);
    write_seconds(b, "seconds", since(b, call->since_ns));
    if (call->communicator)
        write_id(b, "communicator", call->communicator);
    json_write_object_end(&b->json);
    return keep(b, &before);
}

static void write_calls(struct builder *b)
{
    const struct live_view *view = b->facts->view;
    bool fits = true;
    json_write_array(&b->json, "calls");
    for (uint32_t i = 0; i < view->nccl_call_count && fits; i++)
        fits = write_call(b, &view->nccl_calls[i]);
    for (uint32_t i = 0; i < view->cuda_call_count && fits; i++)
        fits = write_call(b, &view->cuda_calls[i]);
    json_write_array_end(&b->json);
}

static void write_collective(struct builder *b, const struct live_call_view *call)
{
    json_write_object(&b->json, NULL);
    json_write_unsigned(&b->json, "number", call->number);
    json_write_unsigned(&b->json, "ordinal", call->ordinal);
    json_write_text(&b->json, "operation", operation_text(call->operation));
    if (call->bytes != UINT64_MAX)
        json_write_unsigned(&b->json, "bytes", call->bytes);
    if (collective_is_p2p((enum collective_operation)call->operation))
        json_write_signed(&b->json, "peer", call->peer);
    if (call->datatype)
        json_write_unsigned(&b->json, "datatype", call->datatype - 1u);
    write_seconds(b, "seconds", since(b, call->enqueued_ns));
    json_write_unsigned(&b->json, "thread", call->thread);
    json_write_bool(&b->json, "returned", !is_open(call));
    json_write_bool(&b->json, "ended", call->flags & LIVE_ENDED);
    const char *line = live_view_code_line(b->facts->view, call->code);
    if (line && !b->is_brief)
        json_write_text(&b->json, "line", line);
    json_write_object_end(&b->json);
}

/* The latest calls, the newest first. A full report has all that are kept. */
static bool write_communicator(struct builder *b, const struct live_communicator_view *communicator)
{
    struct mark before = mark_of(b);
    uint32_t wanted = b->is_brief ? BRIEF_CALLS : LIVE_ENTRIES;
    json_write_object(&b->json, NULL);
    write_id(b, "id", communicator->id);
    json_write_unsigned(&b->json, "ranks", communicator->ranks);
    if (communicator->ranks && communicator->local_ranks == 1)
        json_write_unsigned(&b->json, "rank", communicator->rank);
    json_write_unsigned(&b->json, "local_ranks", communicator->local_ranks);
    json_write_unsigned(&b->json, "enqueued", communicator->enqueued);
    json_write_unsigned(&b->json, "completed", communicator->completed);
    json_write_bool(&b->json, "exact", live_view_is_exact(b->facts->view, communicator));
    json_write_array(&b->json, "calls");
    for (uint32_t i = communicator->call_count; i > 0 && wanted > 0; i--, wanted--)
        write_collective(b, &communicator->calls[i - 1]);
    json_write_array_end(&b->json);
    json_write_object_end(&b->json);
    return keep(b, &before);
}

/* With a call that has not returned first, then by the time of the latest call. */
static int by_importance(const void *a, const void *b)
{
    const struct live_communicator_view *left = *(const struct live_communicator_view *const *)a;
    const struct live_communicator_view *right = *(const struct live_communicator_view *const *)b;
    bool is_left_open = left->call_count && is_open(&left->calls[left->call_count - 1]);
    bool is_right_open = right->call_count && is_open(&right->calls[right->call_count - 1]);
    if (is_left_open != is_right_open)
        return is_left_open ? -1 : 1;
    return (left->last_enqueued_ns < right->last_enqueued_ns) -
           (left->last_enqueued_ns > right->last_enqueued_ns);
}

static uint32_t write_communicators(struct builder *b)
{
    const struct live_view *view = b->facts->view;
    const struct live_communicator_view *order[LIVE_COMMUNICATORS];
    uint32_t written = 0, half = b->is_brief ? (uint32_t)b->text.limit / 2 : (uint32_t)b->text.limit * 3 / 4;
    for (uint32_t i = 0; i < view->communicator_count; i++)
        order[i] = &view->communicators[i];
    qsort(order, view->communicator_count, sizeof *order, by_importance);
    json_write_array(&b->json, "communicators");
    /* The first one in any case; others leave room for threads. */
    while (written < view->communicator_count && (!written || b->text.used < half) &&
           write_communicator(b, order[written]))
        written++;
    json_write_array_end(&b->json);
    return view->communicator_count - written;
}

/* Threads. */

struct candidate {
    const struct thread_stack *thread;
    bool is_in_call, is_taken;
};

static struct candidate candidates[STACK_THREADS_MAX]; /* of the watch thread */

/* In a call first, then those with Python frames that stand still, then the busiest. */
static int by_interest(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    int rank_left = left->is_in_call ? 2 : left->thread->python_count && left->thread->is_still ? 1 : 0;
    int rank_right = right->is_in_call ? 2 : right->thread->python_count && right->thread->is_still ? 1 : 0;
    if (rank_left != rank_right)
        return rank_right - rank_left;
    if (left->thread->used_ns != right->thread->used_ns)
        return left->thread->used_ns < right->thread->used_ns ? 1 : -1;
    return (left->thread->tid > right->thread->tid) - (left->thread->tid < right->thread->tid);
}

static uint32_t collect(const struct hang_facts *facts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->stacks->count && i < STACK_THREADS_MAX; i++) {
        const struct thread_stack *thread = &facts->stacks->threads[i];
        if (!thread->is_ours)
            candidates[count++] = (struct candidate){
                .thread = thread, .is_in_call = live_view_is_in_call(facts->view, (uint32_t)thread->tid)};
    }
    qsort(candidates, count, sizeof *candidates, by_interest);
    return count;
}

static void describe_python(const struct thread_stacks *stacks, const struct stack_python_frame *frame,
                            char *to, size_t size)
{
    const struct stack_code *code =
        frame->function < stacks->code_count ? &stacks->codes[frame->function] : NULL;
    const char *file = code ? thread_stacks_text(stacks, code->file) : "";
    const char *name = code ? thread_stacks_text(stacks, code->name) : "?";
    if (*file)
        snprintf(to, size, "%s:%u %s", file, frame->line, name);
    else
        snprintf(to, size, "%s", name);
}

static bool is_programs(const struct thread_stacks *stacks, const struct stack_python_frame *frame)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/", "/lib/python3", "<frozen "};
    const struct stack_code *code =
        frame->function < stacks->code_count ? &stacks->codes[frame->function] : NULL;
    const char *file = code ? thread_stacks_text(stacks, code->file) : "";
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strstr(file, packages[i]))
            return false;
    return *file != 0;
}

bool hang_report_line(const struct thread_stacks *stacks, const struct thread_stack *thread, char *to,
                      size_t size)
{
    const struct stack_python_frame *frames = &stacks->python_frames[thread->python_first];
    uint32_t chosen = 0;
    while (chosen < thread->python_count && !is_programs(stacks, &frames[chosen]))
        chosen++;
    if (thread->python_count)
        describe_python(stacks, &frames[chosen < thread->python_count ? chosen : 0], to, size);
    return thread->python_count > 0;
}

static void describe_native(const struct thread_stacks *stacks, const struct stack_native_frame *frame,
                            char *to, size_t size)
{
    const char *library = thread_stacks_text(stacks, frame->library);
    const char *symbol = thread_stacks_text(stacks, frame->symbol);
    if (*symbol)
        snprintf(to, size, "%s (%s)", symbol, library);
    else
        snprintf(to, size, "%s+0x%llx", library, (unsigned long long)frame->offset);
}

static void write_frames(struct builder *b, const struct thread_stack *thread)
{
    const struct thread_stacks *stacks = b->facts->stacks;
    uint32_t python =
        b->is_brief && thread->python_count > BRIEF_PYTHON ? BRIEF_PYTHON : thread->python_count;
    uint32_t native =
        b->is_brief && thread->native_count > BRIEF_NATIVE ? BRIEF_NATIVE : thread->native_count;
    char frame[STACK_FILE_BYTES + STACK_NAME_BYTES + 32];
    if (python)
        json_write_array(&b->json, "python");
    for (uint32_t i = 0; i < python; i++) {
        describe_python(stacks, &stacks->python_frames[thread->python_first + i], frame, sizeof frame);
        json_write_text(&b->json, NULL, frame);
    }
    if (python)
        json_write_array_end(&b->json);
    if (native)
        json_write_array(&b->json, "native");
    for (uint32_t i = 0; i < native; i++) {
        describe_native(stacks, &stacks->native_frames[thread->native_first + i], frame, sizeof frame);
        json_write_text(&b->json, NULL, frame);
    }
    if (native)
        json_write_array_end(&b->json);
}

static bool write_thread(struct builder *b, const struct candidate *candidate)
{
    const struct thread_stack *thread = candidate->thread;
    const char state[2] = {thread->state ? thread->state : '?', 0};
    struct mark before = mark_of(b);
    json_write_object(&b->json, NULL);
    json_write_signed(&b->json, "thread", thread->tid);
    json_write_text(&b->json, "name", thread->name);
    json_write_text(&b->json, "state", state);
    json_write_bool(&b->json, "still", thread->is_still);
    json_write_ms(&b->json, "cpu_ms", candidate->thread->used_ns);
    if (*thread->wait)
        json_write_text(&b->json, "wait", thread->wait);
    if (thread->holds_gil)
        json_write_bool(&b->json, "gil", true);
    if (thread->is_torn)
        json_write_bool(&b->json, "torn", true);
    write_frames(b, thread);
    json_write_object_end(&b->json);
    return keep(b, &before);
}

/* Where a thread stands, in one line. */
static void place_of(const struct thread_stacks *stacks, const struct thread_stack *thread, char *to,
                     size_t size)
{
    if (thread->python_count)
        describe_python(stacks, &stacks->python_frames[thread->python_first], to, size);
    else if (thread->native_count)
        describe_native(stacks, &stacks->native_frames[thread->native_first], to, size);
    else
        snprintf(to, size, "%s", thread->wait);
}

/* Counts the threads that did not fit, together with those at the same place. */
static uint32_t write_groups(struct builder *b, uint32_t first, uint32_t count)
{
    char place[STACK_FILE_BYTES + STACK_NAME_BYTES + 32], other[sizeof place];
    uint32_t left = count - first, groups = 0;
    bool fits = true;
    json_write_array(&b->json, "groups");
    for (uint32_t i = first; i < count && fits && groups < HANG_GROUPS_MAX; i++) {
        uint32_t same = 0;
        if (candidates[i].is_taken)
            continue;
        place_of(b->facts->stacks, candidates[i].thread, place, sizeof place);
        for (uint32_t j = i; j < count; j++) {
            place_of(b->facts->stacks, candidates[j].thread, other, sizeof other);
            if (candidates[j].is_taken || strcmp(place, other) != 0)
                continue;
            candidates[j].is_taken = true;
            same++;
        }
        struct mark before = mark_of(b);
        json_write_object(&b->json, NULL);
        json_write_unsigned(&b->json, "threads", same);
        json_write_text(&b->json, "at", place);
        json_write_object_end(&b->json);
        fits = keep(b, &before);
        left -= fits ? same : 0;
        groups++;
    }
    json_write_array_end(&b->json);
    return left;
}

static uint32_t write_threads(struct builder *b)
{
    uint32_t count = b->facts->stacks ? collect(b->facts) : 0, written = 0;
    size_t limit = b->text.limit;
    if (!b->facts->stacks)
        return 0;
    b->text.limit -= b->is_brief ? 512 : 2048; /* for the groups */
    json_write_array(&b->json, "threads");
    if (b->text.used < b->text.limit)
        while (written < count && write_thread(b, &candidates[written]))
            written++;
    json_write_array_end(&b->json);
    b->text.limit = limit;
    return write_groups(b, written, count) + b->facts->stacks->left_out;
}

static void write_json(struct builder *b)
{
    json_write_object(&b->json, NULL);
    write_head(b);
    write_calls(b);
    if (b->facts->hardware)
        write_gpus(b);
    if (b->facts->children && b->facts->children->count)
        write_children(b);
    uint32_t communicators = b->facts->event == STALL_ENDS ? 0 : write_communicators(b);
    uint32_t threads = b->facts->event == STALL_ENDS ? 0 : write_threads(b);
    b->text.limit += TAIL_BYTES;
    if (communicators)
        json_write_unsigned(&b->json, "communicators_left_out", communicators);
    if (threads)
        json_write_unsigned(&b->json, "threads_left_out", threads);
    json_write_object_end(&b->json);
}

/* The sentence. */

static void write_body(const struct hang_facts *facts, const struct live_call_view *call,
                       const struct live_communicator_view *communicator, char *to, size_t size)
{
    const struct live_view *view = facts->view;
    double seconds = (double)(facts->now_ns - facts->stall->stalled_ns) / 1e9;
    int used = view->rank >= 0 ? snprintf(to, size, "rank %lld of %lld", (long long)view->rank,
                                          (long long)view->world_size)
                               : snprintf(to, size, "process %d", view->pid);
    used += snprintf(to + used, size - (size_t)used,
                     facts->event == STALL_ENDS ? " moves again after %.1f s" : " has not moved for %.1f s",
                     seconds);
    if (facts->event == STALL_ENDS)
        return;
    char ranks[32] = "";
    if (call && communicator->ranks)
        snprintf(ranks, sizeof ranks, " (%u ranks)", communicator->ranks);
    if (call)
        used += snprintf(to + used, size - (size_t)used, ": %s %llu of communicator 0x%llx%s %s",
                         operation_text(call->operation), (unsigned long long)call->ordinal,
                         (unsigned long long)communicator->id, ranks,
                         is_open(call) ? "has not returned" : "is the latest collective");
    else if (view->nccl_call_count)
        used += snprintf(to + used, size - (size_t)used, ": %s has not returned", view->nccl_calls[0].name);
    if (view->cuda_call_count)
        snprintf(to + used, size - (size_t)used, "; thread %u is in %s", view->cuda_calls[0].thread,
                 view->cuda_calls[0].name);
}

/* The attributes. */

static struct span_attr *add(struct hang_report *report, const struct attr_key *key, enum attr_type type)
{
    struct span_attr *attr = &report->attrs[report->record.attr_count++];
    *attr = (struct span_attr){.key = key, .type = (uint8_t)type};
    return attr;
}

static void add_text(struct hang_report *report, const struct attr_key *key, const char *text, size_t len)
{
    struct span_attr *attr = add(report, key, ATTR_STRING);
    attr->s = text;
    attr->len = (uint32_t)len;
}

static void add_call(struct hang_report *report, const struct live_call_view *call,
                     const struct live_communicator_view *communicator)
{
    const char *operation = operation_text(call->operation);
    snprintf(report->communicator, sizeof report->communicator, "0x%llx",
             (unsigned long long)communicator->id);
    add_text(report, ATTR(SEMCONV_COLLECTIVE_COMMUNICATOR), report->communicator,
             strlen(report->communicator));
    add_text(report, ATTR(SEMCONV_COLLECTIVE_OPERATION), operation, strlen(operation));
    add(report, ATTR(SEMCONV_COLLECTIVE_ORDINAL), ATTR_INT)->i = (int64_t)call->ordinal;
    if (call->bytes != UINT64_MAX)
        add(report, ATTR(SEMCONV_COLLECTIVE_BYTES), ATTR_INT)->i = (int64_t)call->bytes;
    if (communicator->ranks)
        add(report, ATTR(SEMCONV_COLLECTIVE_RANKS), ATTR_INT)->i = communicator->ranks;
    if (collective_is_p2p((enum collective_operation)call->operation))
        add(report, ATTR(SEMCONV_COLLECTIVE_PEER), ATTR_INT)->i = call->peer;
}

void hang_report_make(const struct hang_facts *facts, size_t bytes_max, struct hang_report *report)
{
    const struct live_communicator_view *communicator = NULL;
    const struct live_call_view *call = call_that_stands(facts->view, &communicator);
    const char *state = state_name(facts->event);
    struct builder b = {.facts = facts,
                        .text = {report->json, 0, bytes_max - TAIL_BYTES, false},
                        .is_brief = bytes_max < HANG_FULL_BYTES};
    b.json = (struct json_writer){.put = put, .to = &b.text};
    write_json(&b);
    write_body(facts, call, communicator, report->body, sizeof report->body);
    report->record = (struct log_record){.time_ns = facts->time_ns,
                                         .severity = facts->event != STALL_ENDS && facts->stall->is_alarm
                                                         ? LOG_SEVERITY_WARN
                                                         : LOG_SEVERITY_INFO,
                                         .event_name = SEMCONV_EVENT_CUSPAN_HANG,
                                         .body = report->body,
                                         .attrs = report->attrs};
    add_text(report, ATTR(SEMCONV_CUSPAN_HANG_STATE), state, strlen(state));
    add(report, ATTR(SEMCONV_CUSPAN_HANG_NUMBER), ATTR_INT)->i = (int64_t)facts->stall->stalls;
    add(report, ATTR(SEMCONV_CUSPAN_HANG_DURATION), ATTR_DOUBLE)->d =
        (double)(facts->now_ns - facts->stall->stalled_ns) / 1e9;
    if (call && facts->event != STALL_ENDS)
        add_call(report, call, communicator);
    if (facts->view->steps && facts->view->step_kind != STEP_NONE)
        add(report, ATTR(SEMCONV_TRAINING_STEP_NUMBER), ATTR_INT)->i = facts->view->step_number;
    add_text(report, ATTR(SEMCONV_CUSPAN_HANG_REPORT), report->json, b.text.used);
}
