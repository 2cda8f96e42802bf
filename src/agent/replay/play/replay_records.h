/* Delivers activity records to the agent: enabled kinds and fields, and buffers. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "agent/replay/state/timeline.h"

#include <stdbool.h>

#define SUBSCRIBERS_MAX 3

struct replay_records_counts {
    uint64_t filled;  /* over all subscribers, like the others */
    uint64_t off;     /* of kinds that are disabled */
    uint64_t dropped; /* no buffer was available */
};

/* Resets a subscriber's place when it subscribes or leaves, so that nothing is enabled. Place 0 belongs to
 * the classic API, which needs no subscriber. */
void replay_records_begin(unsigned place);
void replay_records_end(unsigned place);

/* CUPTI functions; each returns an enum cupti_result. */
uint32_t replay_records_register(cupti_request_fn *request, cupti_complete_fn *complete);
uint32_t replay_records_register_v2(unsigned place, cupti_request_v2_fn *request,
                                    cupti_complete_v2_fn *complete);
uint32_t replay_records_enable(unsigned place, uint32_t kind, const struct cupti_activity_config *config);
uint32_t replay_records_disable(unsigned place, uint32_t kind);
/* A call with a correlation ID starts; its GPU work is recorded if the kind is enabled now. */
void replay_records_note_launch(const struct call_record *call);
/* An executable graph is created. */
void replay_records_note_exec(uint64_t handle);
uint32_t replay_records_set_attribute(unsigned place, uint32_t attr, size_t *size, const void *value);
uint32_t replay_records_get_attribute(unsigned place, uint32_t attr, size_t *size, void *value);
uint32_t replay_records_next(unsigned place, uint8_t *buffer, size_t valid, struct cupti_activity **record);
uint32_t replay_records_dropped(unsigned place, size_t *dropped);
uint32_t replay_records_flush(uint32_t flag);

/* A call with possible GPU work is in progress: CUPTI requests the buffer now, on the calling thread. */
void replay_records_expect(void);

/* A repetition starts: no record has been written. */
void replay_records_rewind(void);
/* Writes all records with a number below `reached`. False: the agent has no buffer now. Called by one
 * thread. */
bool replay_records_fill(uint64_t reached);
/* The number of the next record and its recorded time; UINT64_MAX: all are written. */
uint64_t replay_records_position(uint64_t *order_ns);
struct replay_records_counts replay_records_counts(void);

/* The subscriber leaves; the fault AFTER_SHUTDOWN delivers one more buffer later, on its own thread. */
void replay_records_after_shutdown(void);
void replay_records_join(void);
