/* Recordings: what capture handed over, in a file, so that the whole agent can be run on it again without a
 * GPU.
 *
 * A recording is a stream of typed events in compressed, checked blocks; recording_format.h says how it looks
 * on disk. The writer is called by one thread, keeps a bounded amount of memory and loses nothing in silence:
 * the first failure is returned, from then on events are counted as lost_recording. The reader trusts nothing
 * that it reads. */
#ifndef CUSPAN_RECORDING_RECORDING_H
#define CUSPAN_RECORDING_RECORDING_H

#include "base/status.h"
#include "model/record.h"

#include <stdint.h>

/* On disk, so never renumbered. A reader skips types that it doesn't know. */
enum recording_event_type {
    RECORDING_INFO = 1,       /* a fact about the recorded process */
    RECORDING_THREAD = 2,     /* a thread is first seen, or has another name */
    RECORDING_THREAD_END = 3, /* a thread is gone */
    RECORDING_CALL = 4,
    RECORDING_RESOURCE = 5,
    RECORDING_ACTIVITY = 6,
    RECORDING_LOSS = 7, /* events that capture lost before they came here */
    /* 8 is used inside the format. */
    RECORDING_SAID = 16, /* what the program said of a thread's work: a context, a range, a mark, a name */
    RECORDING_GPU_COUNTERS = 17 /* what the hardware counted of one launch */
};

/* The keys of INFO events that cuspan itself writes and looks for. */
#define RECORDING_INFO_CUPTI_VERSION  "cupti.version"  /* as cuptiGetVersion says */
#define RECORDING_INFO_DRIVER_VERSION "driver.version" /* as cuDriverGetVersion says */
#define RECORDING_INFO_PROGRAM        "program"
#define RECORDING_INFO_DETAIL         "detail" /* of the settings: graphs as a whole or node by node */
#define RECORDING_INFO_API            "cupti.api"
#define RECORDING_INFO_CLOCK          "clock" /* "realtime" */
#define RECORDING_INFO_HOST_ARCH      "host.arch"
#define RECORDING_INFO_GPU_COUNTER                                                                           \
    "counter" /* one for each of GPU_COUNTERS' values, in their order, as settings have it */

struct recording_event {
    enum recording_event_type type;
    uint64_t tid;     /* THREAD, THREAD_END, CALL, RESOURCE: the kernel's thread ID */
    uint64_t time_ns; /* THREAD, THREAD_END; 0: unknown */
    const char *name; /* THREAD: the thread's; INFO: the key; LOSS: the counter */
    const char *text; /* INFO: the value */
    uint64_t count;   /* LOSS */
    const struct call_record *call;
    const struct resource_record *resource;
    const struct record_head *said; /* CONTEXT, RANGE_BEGIN, RANGE_END, MARK, NAME of enum record_type */
    const struct activity_record *activity;
    const struct gpu_counters_record *gpu_counters;
};

struct recording_writer;

/* Creates `path` (0600; what stood there is replaced). The caller owns the writer. */
enum status recording_writer_create(const char *path, struct recording_writer **writer,
                                    struct error *err) MUST_CHECK;

/* Each returns OK, or the first failure: IO, NO_MEMORY, or INVALID for an event that no recording can hold,
 * which is counted and has no further effect. After IO or NO_MEMORY the writer only counts, and returns OK.
 */
enum status recording_write_info(struct recording_writer *writer, const char *key,
                                 const char *value) MUST_CHECK;
enum status recording_write_thread(struct recording_writer *writer, const struct thread_info *thread,
                                   uint64_t time_ns) MUST_CHECK;
enum status recording_write_thread_end(struct recording_writer *writer, uint64_t tid,
                                       uint64_t time_ns) MUST_CHECK;
enum status recording_write_call(struct recording_writer *writer, uint64_t tid,
                                 const struct call_record *call) MUST_CHECK;
enum status recording_write_resource(struct recording_writer *writer, uint64_t tid,
                                     const struct resource_record *resource) MUST_CHECK;
/* A context, range or name record; `time_ns` stands behind its head. */
enum status recording_write_said(struct recording_writer *writer, uint64_t tid, uint64_t time_ns,
                                 const struct record_head *said) MUST_CHECK;
enum status recording_write_gpu_counters(struct recording_writer *writer, uint64_t tid,
                                         const struct gpu_counters_record *counters) MUST_CHECK;
enum status recording_write_activity(struct recording_writer *writer,
                                     const struct activity_record *activity) MUST_CHECK;
enum status recording_write_loss(struct recording_writer *writer, const char *counter,
                                 uint64_t count) MUST_CHECK;

/* An event of any type, its payload as it stands in the file; for tests and for later versions. */
enum status recording_write_raw(struct recording_writer *writer, unsigned type, const void *payload,
                                size_t bytes) MUST_CHECK;

/* Brings what was written so far to the file: a process that is killed later loses none of it. */
enum status recording_writer_flush(struct recording_writer *writer) MUST_CHECK;

/* Events in the file so far; bytes of the file so far. */
uint64_t recording_writer_events(const struct recording_writer *writer);
uint64_t recording_writer_bytes(const struct recording_writer *writer);

/* Writes the end and frees the writer, whatever happens. Fails with what failed first, then or now. NULL is
 * fine. */
enum status recording_writer_close(struct recording_writer *writer, struct error *err) MUST_CHECK;

struct recording;

/* NOT_FOUND, IO, CORRUPT (no recording at all), UNSUPPORTED (of another major version). The caller owns it.
 */
enum status recording_open(const char *path, struct recording **recording, struct error *err) MUST_CHECK;

/* The next event, valid until the next call; strings that come with an activity record live until
 * recording_close. END after the last one. CORRUPT for what is damaged or truncated, with the offset in the
 * text; what came before is good, and every further call says the same. */
enum status recording_next(struct recording *recording, struct recording_event *event,
                           struct error *err) MUST_CHECK;

/* How much of the file is read, for a progress line. */
uint64_t recording_bytes_read(const struct recording *recording);
uint64_t recording_bytes_total(const struct recording *recording);

void recording_close(struct recording *recording);

#endif
