#include "analysis/trace/otlp_value.h"

#include <string.h>

void otlp_value_write(struct json_writer *json, const struct otlp_value *value)
{
    char number[TRACE_NUMBER_BYTES];
    if (value->type == TRACE_STRING)
        json_write_bytes(json, NULL, value->text.at, value->text.len);
    else if (value->type == TRACE_BOOL)
        json_write_bool(json, NULL, value->bits);
    else if (value->type == TRACE_INT)
        json_write_signed(json, NULL, (int64_t)value->bits);
    else if (trace_write_double(number, value->bits))
        json_write_raw(json, NULL, number, strlen(number));
    else
        json_write_text(json, NULL, number);
}

void otlp_text_write(struct json_writer *json, const char *key, struct slice text)
{
    if (text.len)
        json_write_bytes(json, key, text.at, text.len);
}

void otlp_number_write(struct json_writer *json, const char *key, uint64_t number)
{
    if (number)
        json_write_unsigned(json, key, number);
}

void otlp_value_place(struct otlp_value *value, const struct text *texts)
{
    if (value->text.at || (value->type != TRACE_STRING && value->type != TRACE_JSON))
        return;
    value->text.at = texts->data ? texts->data + value->bits : "";
    value->bits = 0;
}
