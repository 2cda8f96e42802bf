#include "agent/recording/recording_format.h"

#include <stdlib.h>
#include <string.h>

struct activity_record *format_state_activity(struct format_state *state, uint16_t kind)
{
    if (!state->activities[kind])
        state->activities[kind] = calloc(1, sizeof(struct activity_record));
    return state->activities[kind];
}

struct format_call *format_state_call(struct format_state *state, uint8_t domain, uint16_t cbid)
{
    struct format_call **call = &state->calls[domain - CALL_DRIVER][cbid];
    if (!*call)
        *call = calloc(1, sizeof(struct format_call));
    return *call;
}

void format_state_deinit(struct format_state *state)
{
    for (size_t i = 0; i < ACTIVITY_KINDS_MAX; i++)
        free(state->activities[i]);
    for (size_t domain = 0; domain < 2; domain++) {
        for (size_t i = 0; i < FORMAT_CBIDS_MAX; i++)
            free(state->calls[domain][i]);
    }
}

uint64_t format_role_get(const struct activity_record *activity, enum activity_role role)
{
    const uint64_t members[FORMAT_ROLES] = {[ROLE_START] = activity->start_ns,
                                            [ROLE_END] = activity->end_ns,
                                            [ROLE_CORRELATION] = activity->correlation_id,
                                            [ROLE_DEVICE] = activity->device_id,
                                            [ROLE_CONTEXT] = activity->context_id,
                                            [ROLE_STREAM] = activity->stream_id,
                                            [ROLE_GRAPH] = activity->graph_id,
                                            [ROLE_GRAPH_NODE] = activity->graph_node_id};
    return members[role];
}

bool format_annotation_is_valid(const struct record_head *annotation)
{
    const struct context_record *context = (const struct context_record *)annotation;
    const struct range_record *range = (const struct range_record *)annotation;
    const struct name_record *name = (const struct name_record *)annotation;
    if (annotation->bytes > FORMAT_ANNOTATION_BYTES_MAX || annotation->bytes % 8)
        return false;
    switch (annotation->type) {
    case RECORD_CONTEXT:
        return annotation->bytes >= sizeof *context &&
               context->state_bytes <= annotation->bytes - sizeof *context;
    case RECORD_RANGE_BEGIN:
    case RECORD_RANGE_END:
    case RECORD_MARK:
        return annotation->bytes >= sizeof *range && range->text_bytes <= annotation->bytes - sizeof *range &&
               range->name_bytes <= range->text_bytes;
    case RECORD_NAME:
        return annotation->bytes >= sizeof *name && name->name_bytes <= annotation->bytes - sizeof *name;
    default:
        return false;
    }
}

bool format_code_is_valid(const struct code_record *code)
{
    struct code_frame frame;
    uint32_t at = sizeof *code, bytes = code->head.bytes;
    bool is_described = code->flags & CODE_IS_DESCRIBED;
    if (bytes < at || bytes > CODE_RECORD_BYTES_MAX || code->frame_count > CODE_FRAMES_MAX ||
        code->flags & (CODE_IS_NATIVE | CODE_HAS_CALLER)) /* addresses mean nothing in another process */
        return false;
    for (uint32_t i = 0; is_described && i < code->frame_count; i++) {
        if (bytes - at < sizeof frame)
            return false;
        memcpy(&frame, (const uint8_t *)code + at, sizeof frame);
        at += (uint32_t)sizeof frame;
        if (bytes - at < (uint32_t)frame.file_bytes + frame.name_bytes)
            return false;
        at += (uint32_t)frame.file_bytes + frame.name_bytes;
    }
    return true;
}
