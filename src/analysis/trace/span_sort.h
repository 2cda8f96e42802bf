/* Sorts records of spans by start, then longest first, then in the order of arrival. More than `bytes_max` of
 * them go to an unlinked file in TMPDIR, in sorted runs that are merged. A second thread writes a run while
 * the next records arrive, so up to twice `bytes_max` are in memory. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Then follow attr_count `struct trace_attr`, event_count `struct record_event`, and texts. */
struct span_record {
    uint32_t size; /* of all, a multiple of 8 */
    uint32_t attr_count;
    uint64_t start_ns, end_ns;
    uint64_t id, parent_id;
    uint32_t event_count;
    uint32_t span_attrs; /* of attr_count: the span's own; then come its events' */
    uint32_t name, trace, resource, error;
    uint32_t thread, thread_name, stream, context; /* strings; 0: none */
    uint32_t class;                                /* enum trace_class */
    uint32_t filler;
};

struct record_event {
    uint64_t time_ns;
    uint32_t name;
    uint32_t attr_count;
};

/* Set in trace_attr.type: the value is the place (upper half) and length (lower half) of a text in the
 * record. */
#define RECORD_TEXT 0x80000000u
/* Set in trace_attr.type: the key is an enum span_field (span_store.h). */
#define RECORD_FIELD 0x40000000u

struct span_sort;

struct span_sort *span_sort_create(size_t bytes_max);
void span_sort_destroy(struct span_sort *sort);
/* Before the first record: sorts by resource first. */
void span_sort_by_resource(struct span_sort *sort);

/* Room for a record of `size` bytes (a multiple of 8), which the caller fills completely before the next
 * call. IO: the disk is full, noticed late. */
enum status span_sort_add(struct span_sort *sort, uint32_t size, struct span_record **record,
                          struct error *err) MUST_CHECK;
/* After the last record. */
enum status span_sort_finish(struct span_sort *sort, struct error *err) MUST_CHECK;
/* The next record, valid until the next call; NULL at the end. */
enum status span_sort_next(struct span_sort *sort, const struct span_record **record,
                           struct error *err) MUST_CHECK;
