#include "agent/pipeline/recorder.h"

#include "base/accounting/counters.h"
#include "base/log.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define THREADS_KNOWN 4096 /* by a hash of the ID: a thread that is told twice does no harm */

struct tape {
    struct recording_writer *writer;
    char path[1024];
    bool has_failed;
    struct thread_info known[THREADS_KNOWN];
};

/* The first failure is told; the writer counts what it can't take from then on. */
static void check(struct tape *tape, enum status status)
{
    if (status == STATUS_OK || tape->has_failed)
        return;
    tape->has_failed = true;
    log_error("can't write the recording %s: %s; is there room on its disk?", tape->path,
              status_text(status));
}

static void introduce(struct tape *tape, const struct thread_info *thread, uint64_t time_ns)
{
    struct thread_info *known = &tape->known[thread->tid % THREADS_KNOWN];
    if (known->tid == thread->tid && memcmp(known->name, thread->name, sizeof known->name) == 0)
        return;
    *known = *thread;
    check(tape, recording_write_thread(tape->writer, thread, time_ns));
}

static void on_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    struct tape *tape = context;
    introduce(tape, thread, call->start_ns);
    check(tape, recording_write_call(tape->writer, thread->tid, call));
}

static void on_resource(void *context, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    struct tape *tape = context;
    introduce(tape, thread, resource->time_ns);
    check(tape, recording_write_resource(tape->writer, thread->tid, resource));
}

static void say(struct tape *tape, const struct thread_info *thread, uint64_t time_ns,
                const struct record_head *said)
{
    introduce(tape, thread, time_ns);
    check(tape, recording_write_said(tape->writer, thread->tid, time_ns, said));
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
    struct tape *tape = context;
    introduce(tape, thread, counters->time_ns);
    bool has_values = false; /* else they will come, or the launch failed */
    for (uint32_t i = 0; i < counters->count; i++)
        has_values |= isfinite(counters->values[i]) != 0;
    if (has_values)
        check(tape, recording_write_gpu_counters(tape->writer, thread->tid, counters));
}

static void on_activity(void *context, const struct activity_record *activity)
{
    struct tape *tape = context;
    check(tape, recording_write_activity(tape->writer, activity));
}

/* Takes the path if it is free: the processes of one command must not write into one file. */
static void choose_path(struct tape *tape, const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0)
        close(file);
    if (file < 0 && errno == EEXIST)
        snprintf(tape->path, sizeof tape->path, "%s.%d", path, (int)getpid());
    else
        snprintf(tape->path, sizeof tape->path, "%s", path);
}

enum status tape_create(const char *path, struct tape **tape, struct error *err)
{
    struct tape *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a recording");
    choose_path(made, path);
    enum status status = recording_writer_create(made->path, &made->writer, err);
    if (status == STATUS_OK)
        *tape = made;
    else
        free(made);
    return status;
}

struct capture_sink tape_sink(struct tape *tape)
{
    return (struct capture_sink){.context = tape,
                                 .on_call = on_call,
                                 .on_call_asleep = on_call,
                                 .on_resource = on_resource,
                                 .on_activity = on_activity,
                                 .on_context = on_context,
                                 .on_range = on_range,
                                 .on_name = on_name,
                                 .on_gpu_counters = on_gpu_counters};
}

void tape_describe(struct tape *tape, const struct capture_info *info, const char *program,
                   const struct settings *settings)
{
    struct utsname system;
    char driver[16], version[16];
    snprintf(driver, sizeof driver, "%d", info->driver_version);
    snprintf(version, sizeof version, "%u", info->cupti_version_number);
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_CUPTI_VERSION, version));
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_DRIVER_VERSION, driver));
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_API, info->api));
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_PROGRAM, program));
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_DETAIL, detail_name(settings->detail)));
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_CLOCK, "realtime"));
    for (size_t i = 0; i < settings->counters.metrics.count; i++)
        check(tape, recording_write_info(tape->writer, RECORDING_INFO_GPU_COUNTER,
                                         settings->counters.metrics.patterns[i]));
    if (uname(&system) == 0)
        check(tape, recording_write_info(tape->writer, RECORDING_INFO_HOST_ARCH, system.machine));
}

void tape_links(struct tape *tape, const struct device_links *links)
{
    char text[LINKS_TEXT_BYTES];
    links_to_text(links, text);
    check(tape, recording_write_info(tape->writer, RECORDING_INFO_LINKS, text));
}

const char *tape_path(const struct tape *tape)
{
    return tape->path;
}

uint64_t tape_close(struct tape *tape)
{
    struct error err;
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (counter_is_loss(i) && counter_get(i))
            check(tape, recording_write_loss(tape->writer, counter_name(i), counter_get(i)));
    check(tape, recording_writer_flush(tape->writer));
    uint64_t events = recording_writer_events(tape->writer);
    if (recording_writer_close(tape->writer, &err) != STATUS_OK)
        log_error("the recording %s is not complete: %s", tape->path, err.text);
    return events;
}
