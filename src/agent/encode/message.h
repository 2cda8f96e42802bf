/* Messages that are not hot, in either format: everything of a request except its spans. A field is named by
 * its number, for protobuf, and by its name, for JSON. A JSON text and a protobuf message have the same
 * fields in the same order, and neither leaves out zeros. */
#pragma once

#include "agent/encode/json_text.h"

struct message {
    struct json_text out; /* in protobuf too */
    bool is_json;
    bool needs_comma; /* JSON: before the next field or item */
};

/* In JSON, 64-bit integers are strings. */
enum message_number {
    /* Protobuf leaves out zeros. */
    MESSAGE_INT32, /* also of unsigned and enum fields */
    MESSAGE_SINT32,
    MESSAGE_FIXED32,
    MESSAGE_FIXED64,
    /* Members of a oneof, whose zeros are values. */
    MESSAGE_INT64, /* also of unsigned fields with values below 2^63 */
    MESSAGE_SFIXED64,
    MESSAGE_BOOL
};

/* A nested message. Name NULL: an item of a list. Takes and returns what message_close() needs. */
uint8_t *message_open(struct message *m, unsigned number, const char *name);
void message_close(struct message *m, uint8_t *body);
/* Around the messages of a repeated field, which are opened with its number. */
void message_open_list(struct message *m, const char *name);
void message_close_list(struct message *m);
/* Around the numbers of a repeated field, which have number 0 and name NULL. Protobuf leaves out empty ones.
 */
uint8_t *message_open_packed(struct message *m, unsigned number, const char *name);
void message_close_packed(struct message *m, uint8_t *body);

void message_number(struct message *m, unsigned number, const char *name, enum message_number type,
                    int64_t value);
/* Nothing if it is 0. */
void message_count(struct message *m, unsigned number, const char *name, uint32_t count);
void message_double(struct message *m, unsigned number, const char *name, double value);
/* Made valid and truncated. Protobuf leaves out an empty message_string(). */
void message_text(struct message *m, unsigned number, const char *name, const char *text, size_t len,
                  size_t bytes_max);
void message_string(struct message *m, unsigned number, const char *name, const char *text, size_t bytes_max);
/* In hex in JSON. */
void message_id(struct message *m, unsigned number, const char *name, const uint8_t *id, uint8_t len);

/* Attributes up to the limit. The number of the others, if there are any, has the next field number. */
void message_attrs(struct message *m, unsigned number, const struct span_attr *attrs, uint32_t count,
                   const struct wire_limits *limits);
/* Events, links, status, and counts of what was dropped. Few spans have any. */
static inline bool span_has_details(const struct span *span, const struct wire_limits *limits)
{
    return span->event_count || span->link_count || span->events_dropped || span->attrs_dropped ||
           span->status != SPAN_STATUS_UNSET || span->status_message ||
           span_attr_total(span) > limits->attrs_max;
}
void message_details(struct message *m, const struct span *span, const struct wire_limits *limits);
