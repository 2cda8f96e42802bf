#include "agent/core/pipeline/recorder.h"

#include "agent/core/pipeline/native_code.h"
#include "base/accounting/counters.h"
#include "base/files.h"
#include "base/log/log.h"
#include "agent/recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define THREADS_KNOWN 4096 /* indexed by a hash of the ID; a duplicate does no harm */

struct recorder {
    struct recording_writer *writer;
    char path[1024];
    bool has_failed;
    struct thread_info known[THREADS_KNOWN];
    union {
        struct code_record record; /* of the next call; 0 bytes: none */
        uint64_t words[CODE_RECORD_BYTES_MAX / 8];
    } code;
};

/* Only the first failure is logged; the writer counts events that it cannot write. */
static void check(struct recorder *recorder, enum status status)
{
    if (status == STATUS_OK || recorder->has_failed)
        return;
    recorder->has_failed = true;
    log_error("cannot write the recording %s: %s; check the free space of its disk", recorder->path,
              status_text(status));
}

static void introduce(struct recorder *recorder, const struct thread_info *thread, uint64_t time_ns)
{
    struct thread_info *known = &recorder->known[thread->tid % THREADS_KNOWN];
    if (known->tid == thread->tid && memcmp(known->name, thread->name, sizeof known->name) == 0)
        return;
    *known = *thread;
    check(recorder, RECORDING_WRITE(recorder->writer, THREAD, .tid = thread->tid, .time_ns = time_ns,
                                    .name = thread->name));
}

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    struct recorder *recorder = context;
    introduce(recorder, thread, call->start_ns);
    if (recorder->code.record.head.bytes)
        check(recorder, RECORDING_WRITE(recorder->writer, CODE, .correlation_id = call->correlation_id,
                                        .code = &recorder->code.record));
    recorder->code.record.head.bytes = 0;
    check(recorder, RECORDING_WRITE(recorder->writer, CALL, .tid = thread->tid, .call = call));
}

static void on_resource(void *context, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    struct recorder *recorder = context;
    introduce(recorder, thread, resource->time_ns);
    check(recorder, RECORDING_WRITE(recorder->writer, RESOURCE, .tid = thread->tid, .resource = resource));
}

static void say(struct recorder *recorder, const struct thread_info *thread, uint64_t time_ns,
                const struct record_head *annotation)
{
    introduce(recorder, thread, time_ns);
    check(recorder,
          RECORDING_WRITE(recorder->writer, ANNOTATION, .tid = thread->tid, .annotation = annotation));
}

static void on_context(void *context, const struct thread_info *thread, const struct context_record *attached)
{
    say(context, thread, attached->time_ns, &attached->head);
}

static void on_range(void *context, const struct thread_info *thread, const struct range_record *range)
{
    say(context, thread, range->time_ns, &range->head);
}

static void on_name(void *context, const struct thread_info *thread, const struct name_record *name)
{
    say(context, thread, name->time_ns, &name->head);
}

static void on_gpu_counters(void *context, const struct thread_info *thread,
                            const struct gpu_counters_record *counters)
{
    struct recorder *recorder = context;
    introduce(recorder, thread, counters->time_ns);
    bool has_values = false; /* otherwise they will follow, or the launch failed */
    for (uint32_t i = 0; i < counters->count; i++)
        has_values |= isfinite(counters->values[i]) != 0;
    if (has_values)
        check(recorder,
              RECORDING_WRITE(recorder->writer, GPU_COUNTERS, .tid = thread->tid, .gpu_counters = counters));
}

static bool on_code(void *context, const struct code_record *code)
{
    struct recorder *recorder = context;
    code = native_code_name(code);
    if (!code)
        return false;
    if (code->flags & CODE_IS_OF_NODES)
        check(recorder, RECORDING_WRITE(recorder->writer, CODE, .code = code));
    else
        memcpy(&recorder->code, code, code->head.bytes);
    return true;
}

static void on_step(void *context, struct step_boundary *boundary)
{
    struct recorder *recorder = context;
    check(recorder, boundary->event ? RECORDING_WRITE(recorder->writer, ENGINE, .step = boundary)
                                    : RECORDING_WRITE(recorder->writer, STEP, .step = boundary));
}

static void on_activity(void *context, const struct activity_record *activity)
{
    struct recorder *recorder = context;
    check(recorder, RECORDING_WRITE(recorder->writer, ACTIVITY, .activity = activity));
}

/* Creates the file if the path is free: processes of one command must not share a file. */
static void choose_path(struct recorder *recorder, const char *path)
{
    int file = files_open(path, O_WRONLY | O_CREAT | O_EXCL);
    if (file >= 0)
        close(file);
    snprintf(recorder->path, sizeof recorder->path, "%s", path);
    if (file < 0 && errno == EEXIST &&
        (file = files_create_numbered(path, recorder->path, sizeof recorder->path)) >= 0)
        close(file);
}

enum status recorder_create(const char *path, struct recorder **recorder, struct error *err)
{
    struct recorder *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a recording");
    choose_path(made, path);
    enum status status = recording_writer_create(made->path, &made->writer, err);
    if (status == STATUS_OK)
        *recorder = made;
    else
        free(made);
    return status;
}

struct capture_sink recorder_sink(struct recorder *recorder)
{
    return (struct capture_sink){.context = recorder,
                                 .on_call = on_call,
                                 .on_call_asleep = on_call,
                                 .on_resource = on_resource,
                                 .on_activity = on_activity,
                                 .on_context = on_context,
                                 .on_range = on_range,
                                 .on_step = on_step,
                                 .on_name = on_name,
                                 .on_code = on_code,
                                 .on_gpu_counters = on_gpu_counters};
}

static void write_info(struct recorder *recorder, const char *key, const char *value)
{
    check(recorder, RECORDING_WRITE(recorder->writer, INFO, .name = key, .text = value));
}

void recorder_describe(struct recorder *recorder, const struct capture_info *info, const char *program,
                       const struct settings *settings)
{
    struct utsname system;
    char driver[16], version[16];
    snprintf(driver, sizeof driver, "%d", info->driver_version);
    snprintf(version, sizeof version, "%u", info->cupti_version_number);
    write_info(recorder, RECORDING_INFO_CUPTI_VERSION, version);
    write_info(recorder, RECORDING_INFO_DRIVER_VERSION, driver);
    write_info(recorder, RECORDING_INFO_API, info->api);
    write_info(recorder, RECORDING_INFO_PROGRAM, program);
    write_info(recorder, RECORDING_INFO_DETAIL, detail_name(settings->detail));
    write_info(recorder, RECORDING_INFO_CLOCK, "realtime");
    if (settings_have_stacks(settings))
        write_info(recorder, RECORDING_INFO_LAUNCH_STACKS, "python"); /* their frames have text */
    for (size_t i = 0; i < settings->counters.metrics.count; i++)
        write_info(recorder, RECORDING_INFO_GPU_COUNTER, settings->counters.metrics.patterns[i]);
    if (uname(&system) == 0)
        write_info(recorder, RECORDING_INFO_HOST_ARCH, system.machine);
}

static void write_ratio(struct recorder *recorder, const char *key, double ratio)
{
    char number[32];
    snprintf(number, sizeof number, "%.17g", ratio);
    for (char *c = number; *c; c++) /* the host's locale may have a comma */
        *c = *c == ',' ? '.' : *c;
    write_info(recorder, key, number);
}

void recorder_describe_job(struct recorder *recorder, const struct resource *resource, const char *job,
                           const struct settings *settings)
{
    static const char *const keys[] = {RECORDING_INFO_HOST, RECORDING_INFO_RANK, RECORDING_INFO_LOCAL_RANK,
                                       RECORDING_INFO_WORLD_SIZE};
    static const char *const traced[] = {"auto", "all", "sampled"};
    char number[32];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct resource_attr *attr = resource_find(resource, keys[i]);
        if (!attr || attr->is_array)
            continue;
        if (attr->type == RESOURCE_STRING) {
            write_info(recorder, keys[i], attr->items->string);
        } else if (attr->type == RESOURCE_INT) {
            snprintf(number, sizeof number, "%lld", (long long)attr->items->integer);
            write_info(recorder, keys[i], number);
        }
    }
    if (*job)
        write_info(recorder, RECORDING_INFO_JOB, job);
    write_info(recorder, RECORDING_INFO_STEPS_TRACED, traced[settings->steps.traced]);
    write_ratio(recorder, RECORDING_INFO_STEPS_RATIO, settings->steps.ratio);
    write_ratio(recorder, RECORDING_INFO_ENGINE_RATIO, settings->engine.ratio);
}

void recorder_links(struct recorder *recorder, const struct device_links *links)
{
    char text[LINKS_TEXT_BYTES];
    links_to_text(links, text);
    write_info(recorder, RECORDING_INFO_LINKS, text);
}

const char *recorder_path(const struct recorder *recorder)
{
    return recorder->path;
}

void recorder_checkpoint(struct recorder *recorder)
{
    check(recorder, recording_writer_checkpoint(recorder->writer));
}

uint64_t recorder_close(struct recorder *recorder)
{
    struct error err;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (counter_is_loss(i) && counter_get(i))
            check(recorder,
                  RECORDING_WRITE(recorder->writer, LOSS, .name = counter_name(i), .count = counter_get(i)));
    check(recorder, recording_writer_flush(recorder->writer));
    uint64_t events = recording_writer_events(recorder->writer);
    if (recording_writer_close(recorder->writer, &err) != STATUS_OK)
        log_error("the recording %s is not complete: %s", recorder->path, err.text);
    return events;
}
