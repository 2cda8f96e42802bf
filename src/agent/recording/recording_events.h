/* The payloads of events (recording_format.h). Each event's parts are listed once, for both directions.
 * Private to the writer and the reader. */
#pragma once

#include "agent/recording/recording.h"
#include "agent/recording/recording_strings.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/gpu_counter_names.h"

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_VARINT_BYTES_MAX     10
#define FORMAT_CBIDS_MAX            2048
#define FORMAT_ANNOTATION_BYTES_MAX 2048
#define FORMAT_ROLES                (ROLE_GRAPH_NODE + 1)

/* The fields of one kind's records in this file. */
struct format_schema {
    bool is_known;
    uint64_t strings;                  /* bit f: field f is a string */
    uint64_t bytes;                    /* bit f: field f is a fixed array */
    uint64_t usable;                   /* bit f: this build uses field f with the same type */
    uint8_t role[FORMAT_ROLES];        /* field that repeats this member of the record, + 1; 0: none */
    uint8_t size[ACTIVITY_FIELDS_MAX]; /* of fixed arrays */
};

struct format_call {
    uint32_t words;
    uint32_t context_id;
    uint64_t values[CALL_VALUES_MAX];
};

/* The previous values that numbers are stored relative to. Writer and reader keep identical copies. */
struct format_state {
    uint64_t tid;
    uint64_t time_ns;
    uint32_t correlation_id;
    struct resource_record resource;
    struct format_schema schemas[ACTIVITY_KINDS_MAX];
    struct activity_record *activities[ACTIVITY_KINDS_MAX]; /* numbers only; NULL: none yet */
    struct format_call *calls[2][FORMAT_CBIDS_MAX];
};

struct recording_events {
    bool is_reading;
    /* The rest of the payload that is read, or of the room to write one. */
    uint8_t *at, *end;
    bool is_bad;             /* what was read is damaged: numbers are 0 after the end of the payload */
    const char *unallocated; /* what could not be kept, because there is no memory; NULL: all was */
    struct strings strings;
    struct loose_string *loose; /* strings that did not fit into the table */
    struct format_state state;
    /* The record that was read last, and its arrays. */
    union {
        uint64_t call[CALL_RECORD_BYTES / 8];
        struct resource_record resource;
        uint64_t annotation[FORMAT_ANNOTATION_BYTES_MAX / 8];
        uint64_t gpu_counters[sizeof(struct gpu_counters_record) / 8 + GPU_COUNTERS_MAX];
        uint64_t code[CODE_RECORD_BYTES_MAX / 8];
        struct step_boundary step;
        struct activity_record activity;
    } record;
    uint8_t arrays[ACTIVITY_FIELDS_MAX][UINT8_MAX + 1];
    struct engine_event
        *engine; /* the one that was read last, with room for the most parts; NULL: none so far */
};

/* Reads or writes what precedes a payload: the event's type and the payload's size. */
void recording_events_head(struct recording_events *events, uint64_t *type, uint64_t *bytes);

/* Whether the event's record is valid and fits into a payload of so many bytes. */
bool recording_events_can_store(const struct recording_events *events, const struct recording_event *event,
                                size_t room);

/* Reads the payload of an event with this type, or writes the payload of the event. False: what was read is
 * for the reader itself, or of a later version. */
bool recording_events_exchange(struct recording_events *events, struct recording_event *event);

void recording_events_deinit(struct recording_events *events);
