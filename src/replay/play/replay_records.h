/* Activity records on their way to the agent: which kinds and fields it has on, its buffers, their delivery.
 */
#ifndef CUSPAN_REPLAY_PLAY_REPLAY_RECORDS_H
#define CUSPAN_REPLAY_PLAY_REPLAY_RECORDS_H

#include "abi/cupti_abi.h"
#include "replay/timeline.h"

#include <stdbool.h>

#define SUBSCRIBERS_MAX 3

struct replay_records_counts {
    uint64_t filled;  /* of all subscribers, as the others */
    uint64_t off;     /* of kinds that aren't on */
    uint64_t dropped; /* for want of a buffer */
};

/* A subscriber takes the place, or leaves it: then nothing is on for it. The place 0 is that of the classic
 * calls, which need no subscriber. */
void replay_records_begin(unsigned place);
void replay_records_end(unsigned place);

/* CUPTI's answers: an enum cupti_result. */
uint32_t replay_records_register(cupti_request_fn *request, cupti_complete_fn *complete);
uint32_t replay_records_register_v2(unsigned place, cupti_request_v2_fn *request,
                                    cupti_complete_v2_fn *complete);
uint32_t replay_records_enable(unsigned place, uint32_t kind, const struct cupti_activity_config *config);
uint32_t replay_records_disable(unsigned place, uint32_t kind);
/* A call begins whose work, if it has any, is recorded if its kind is on now. By the recording's ID. */
void replay_records_note_launch(uint32_t correlation_id);
uint32_t replay_records_set_attribute(unsigned place, uint32_t attr, size_t *size, const void *value);
uint32_t replay_records_get_attribute(unsigned place, uint32_t attr, size_t *size, void *value);
uint32_t replay_records_next(unsigned place, uint8_t *buffer, size_t valid, struct cupti_activity **record);
uint32_t replay_records_dropped(unsigned place, size_t *dropped);
uint32_t replay_records_flush(uint32_t flag);

/* A call is being made that may have GPU work: CUPTI asks for the buffer then, on the thread that calls. */
void replay_records_expect(void);

/* A repetition begins: no record has been filled. */
void replay_records_rewind(void);
/* Fills in all that is due: with a lower number than `reached`. False when the agent has no buffer for them
 * now. One thread calls this. */
bool replay_records_fill(uint64_t reached);
/* The number of the next record to fill in, and its recorded time; UINT64_MAX: all are. */
uint64_t replay_records_position(uint64_t *order_ns);
struct replay_records_counts replay_records_counts(void);

/* The subscriber is going: fault AFTER_SHUTDOWN still has a buffer to deliver, on a thread of its own. */
void replay_records_after_shutdown(void);
void replay_records_join(void);

/* Around a fork: the child must not find a lock that another thread held. */
void replay_records_hold(void);
void replay_records_release(void);

#endif
