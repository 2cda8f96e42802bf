/* The limits that are not settings, with checks of their relations. Limits that users may want to change are
 * settings (model/settings/settings.h) within these bounds. */
#pragma once

#include <assert.h>

#define LOG_LINES_MAX      100
#define LOG_LINE_BYTES_MAX 1024

/* Rings: one per host thread that calls CUDA. A record is a header and at most CALL_PARAMS_MAX values. */
#define CACHE_LINE_BYTES   64
#define RING_BYTES_MIN     (8 * 1024)
#define RING_BYTES_MAX     (16 * 1024 * 1024)
#define CALL_PARAMS_MAX    32  /* bits in call_record.present */
#define CALL_STRING_BYTES  120 /* longer string parameters are truncated; 15 words */
#define CALL_VALUES_MAX    128 /* words after a call record's header */
#define CALL_RECORD_BYTES  (40 + 8 * CALL_VALUES_MAX)
#define RANGE_TEXT_BYTES   512  /* longer names and string attributes of ranges are truncated */
#define RANGE_RECORD_BYTES 1024 /* further attributes are dropped and counted */
#define RANGE_MARKS_BYTES  512  /* of marks inside a range; further ones are dropped and counted */
#define RANGE_DEPTH_MAX    4096 /* open ranges, and attached contexts, of one thread */
#define RANGE_PARENTS_MAX  64   /* of these can be parents of calls; deeper ones are only spans */
#define RANGES_OPEN_MAX    2048 /* of the process */
#define THREADS_MAX        1024 /* captured at once */
#define THREAD_NAME_BYTES  16   /* the kernel's limit, including the NUL */

/* Names that programs register with NVTX: domains, strings, categories; about 20,000. */
#define NVTX_NAMES_BYTES (1024 * 1024)

/* Activity. */
#define ACTIVITY_FIELDS_MAX       64  /* bits in activity_record.present */
#define ACTIVITY_KINDS_MAX        64  /* CUPTI 13.5 numbers its kinds up to 59 */
#define ACTIVITY_HOST_BUFFERS_MAX 256 /* four words of free bits */
#define ACTIVITY_BUFFER_BYTES_MIN (16 * 1024)
#define ACTIVITY_BUFFER_BYTES_MAX (64 * 1024 * 1024)

/* Spans. */
#define SPAN_ATTRS_MAX          64
#define SPAN_SHARED_MAX         1024 /* parts that many spans share, known at once */
#define SPAN_SHARED_ATTRS_MAX   16
#define SPAN_EVENTS_MAX         128
#define SPAN_LINKS_MAX          4
#define SPAN_STRING_MAX         (32 * 1024) /* longer names and string values are truncated */
#define ATTR_KEY_BYTES_MAX      62
#define TRACE_STATE_MAX         512
#define TRACE_STATE_MEMBERS_MAX 32
#define SCHEMA_URL_MAX          1024 /* of a resource, in bytes; it is part of each request */
#define DEVICES_MAX             64
#define GRAPH_NODES_MAX         32768 /* with known capturing calls */
#define OUTPUTS_MAX             4
/* Outputs are numbered: those of spans, then that of metrics, that of profiles and that of reports of hangs.
 */
#define METRICS_OUTPUT  OUTPUTS_MAX
#define PROFILES_OUTPUT (OUTPUTS_MAX + 1)
#define LOGS_OUTPUT     (OUTPUTS_MAX + 2)
#define OUTPUT_NUMBERS  (OUTPUTS_MAX + 3)

/* Encoded spans are in chunks of one pool; a span never crosses a chunk. By default a Collector refuses
 * requests over 20 MiB, a gRPC receiver over 4 MiB; smaller ones are also sent earlier. */
#define CHUNK_BYTES        (64 * 1024)
#define BATCH_BYTES_MAX    (3 * 1024 * 1024)
#define BATCH_BYTES_MIN    (2 * CHUNK_BYTES) /* the lower limit if the queue is small: any span fits */
#define RESPONSE_BYTES_MAX (4 * 1024 * 1024) /* more is an error by the specification */
/* More than any reasonable response; the rest is read and discarded. A JSON parser needs 50 times this size.
 */
#define RESPONSE_BYTES_KEPT       (16 * 1024)
#define RESPONSE_HEADER_BYTES_MAX (256 * 1024) /* including interim responses and trailers */

#define MEMORY_BYTES_MIN (8 * 1024 * 1024)

static_assert(CALL_RECORD_BYTES * 4 <= RING_BYTES_MIN, "a ring holds several of the largest records");
static_assert(CALL_STRING_BYTES % 8 == 0, "string parameters fill whole words");
static_assert(SPAN_STRING_MAX <= CHUNK_BYTES / 2, "a span with a long string fits into a chunk");
