/* Values in spans, for both encodings of OTLP. */
#pragma once

#include "analysis/trace/span_store.h"

#define OTLP_DEPTH_MAX 64 /* of lists in attributes; deeper ones are null */

/* Writes a scalar as JSON, which has no NaN and no infinity: they are strings, as in OTLP JSON. */
void otlp_value_write(struct json_writer *json, const struct otlp_value *value);
/* Fields that are left out if they are empty or 0. */
void otlp_text_write(struct json_writer *json, const char *key, struct slice text);
void otlp_number_write(struct json_writer *json, const char *key, uint64_t number);

/* Lists are appended to a text first, which may move. `bits` is the offset there until all were added. */
static inline struct otlp_value otlp_value_at(enum trace_value type, const struct text *texts, size_t offset)
{
    return (struct otlp_value){.type = type, .bits = offset, .text = {NULL, texts->len - offset}};
}
void otlp_value_place(struct otlp_value *value, const struct text *texts);
