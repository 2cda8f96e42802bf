/* Recordings: capture's records in a file, so that the whole agent can run on them without a GPU.
 *
 * A recording is a stream of typed events in compressed blocks with checksums; recording_format.h describes
 * the file. The writer is used by one thread and has bounded memory. It returns its first failure, and counts
 * all later events as lost_recording. The reader validates everything it reads. */
#pragma once

#include "base/status.h"
#include "model/record.h"
#include "model/iteration.h"

#include <stdint.h>

/* Stored in files, so never renumber. Readers skip unknown types. */
enum recording_event_type {
    RECORDING_INFO = 1,       /* a property of the recorded process */
    RECORDING_THREAD = 2,     /* a thread is new or was renamed */
    RECORDING_THREAD_END = 3, /* a thread exited */
    RECORDING_CALL = 4,
    RECORDING_RESOURCE = 5,
    RECORDING_ACTIVITY = 6,
    RECORDING_LOSS = 7, /* events lost in capture */
    /* 8 is used internally. */
    RECORDING_ANNOTATION = 16,   /* an annotation by the program: a context, range, mark or name */
    RECORDING_GPU_COUNTERS = 17, /* hardware counters of one launch */
    RECORDING_STEP = 18,         /* a boundary between training steps */
    RECORDING_CODE = 19,         /* the code that makes the next call */
    RECORDING_ENGINE = 20        /* an iteration or a request of a serving engine: a STEP with an event */
};

/* Keys of INFO events that cuspan writes and reads. */
#define RECORDING_INFO_CUPTI_VERSION  "cupti.version"  /* as returned by cuptiGetVersion */
#define RECORDING_INFO_DRIVER_VERSION "driver.version" /* as returned by cuDriverGetVersion */
#define RECORDING_INFO_PROGRAM        "program"
#define RECORDING_INFO_DETAIL                                                                                \
    "detail" /* the settings' detail, because graphs are recorded whole or node by node */
#define RECORDING_INFO_API       "cupti.api"
#define RECORDING_INFO_CLOCK     "clock" /* "realtime" */
#define RECORDING_INFO_HOST_ARCH "host.arch"
#define RECORDING_INFO_GPU_COUNTER                                                                           \
    "counter" /* one per value of GPU_COUNTERS events, in their order, with the settings' names */
#define RECORDING_INFO_LINKS "device.links" /* of one device (model/metrics/links.h); the last one counts */
/* The process in its job, as far as known. */
#define RECORDING_INFO_HOST       "host.name"
#define RECORDING_INFO_RANK       "cuda.process.rank"
#define RECORDING_INFO_LOCAL_RANK "cuda.process.local_rank"
#define RECORDING_INFO_WORLD_SIZE "cuda.process.world_size"
#define RECORDING_INFO_JOB                                                                                   \
    "job" /* its identity (agent/core/resource/training_job.h), from which the traces of steps derive */
/* The settings of this name, which decide which steps have a trace. */
#define RECORDING_INFO_STEPS_TRACED "steps.traced"
#define RECORDING_INFO_STEPS_RATIO  "steps.ratio"
#define RECORDING_INFO_ENGINE_RATIO "engine.ratio"

#define RECORDING_INFO_LAUNCH_STACKS "capture.launch_stacks" /* the setting, if it is on */

struct recording_event {
    enum recording_event_type type;
    uint64_t tid;     /* THREAD, THREAD_END, CALL, RESOURCE, ANNOTATION, GPU_COUNTERS: kernel thread ID */
    uint64_t time_ns; /* THREAD, THREAD_END; 0: unknown */
    const char *name; /* THREAD: its name; INFO: the key; LOSS: the counter */
    const char *text; /* INFO: the value */
    uint64_t count;   /* LOSS */
    const struct call_record *call;
    const struct resource_record *resource;
    const struct record_head
        *annotation; /* CONTEXT, RANGE_BEGIN, RANGE_END, MARK, NAME of enum record_type */
    const struct activity_record *activity;
    const struct gpu_counters_record *gpu_counters;
    const struct code_record *code;
    uint32_t correlation_id;          /* CODE: of the call */
    const struct step_boundary *step; /* STEP, ENGINE: time in ns since 1970; 0: before capture started */
};

struct recording_writer;

/* Creates `path` with mode 0600, replacing an existing file. The caller owns the writer. */
enum status recording_writer_create(const char *path, struct recording_writer **writer,
                                    struct error *err) MUST_CHECK;

/* Returns OK or the first failure: IO, NO_MEMORY, or INVALID for an event that cannot be stored, which is
 * counted and otherwise ignored. After IO or NO_MEMORY the writer only counts, and returns OK. */
enum status recording_write(struct recording_writer *writer, const struct recording_event *event) MUST_CHECK;
/* RECORDING_WRITE(writer, CALL, .tid = tid, .call = call) */
#define RECORDING_WRITE(writer, event, ...)                                                                  \
    recording_write(writer, &(struct recording_event){.type = RECORDING_##event, __VA_ARGS__})

/* Writes a raw event of any type; for tests and later versions. */
enum status recording_write_raw(struct recording_writer *writer, unsigned type, const void *payload,
                                size_t bytes) MUST_CHECK;

/* Writes buffered events to the file, so that they survive if the process is killed. */
enum status recording_writer_flush(struct recording_writer *writer) MUST_CHECK;
/* The same, and the file is complete as of now. More events may follow. */
enum status recording_writer_checkpoint(struct recording_writer *writer) MUST_CHECK;

/* Events in the file so far. */
uint64_t recording_writer_events(const struct recording_writer *writer);

/* Writes the end and frees the writer in any case. Returns the first failure, including earlier ones. NULL is
 * allowed. */
enum status recording_writer_close(struct recording_writer *writer, struct error *err) MUST_CHECK;

struct recording;

/* NOT_FOUND, IO, CORRUPT (not a recording), UNSUPPORTED (another major version). The caller owns the
 * recording. */
enum status recording_open(const char *path, struct recording **recording, struct error *err) MUST_CHECK;

/* Returns the next event, valid until the next call; strings of activity records are valid until
 * recording_close(). END after the last event. CORRUPT if the file is damaged or truncated, with the offset
 * in the text: earlier events are good, and all further calls return the same. */
enum status recording_next(struct recording *recording, struct recording_event *event,
                           struct error *err) MUST_CHECK;

void recording_close(struct recording *recording);
