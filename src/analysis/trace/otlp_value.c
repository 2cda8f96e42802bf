#include "analysis/trace/otlp_value.h"

#include "cli/util/json_object.h"

#include <string.h>

/* Grids and blocks of kernels are lists of integers: without printf. */
static void add_int(struct text *text, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--at = '-';
    text_add_bytes(text, at, (size_t)(digits + sizeof digits - at));
}

void otlp_value_add_json(struct text *text, const struct otlp_value *value)
{
    char number[TRACE_NUMBER_BYTES];
    if (value->type == TRACE_STRING)
        json_add_string(text, value->text.at, value->text.len);
    else if (value->type == TRACE_BOOL)
        text_add(text, value->bits ? "true" : "false");
    else if (value->type == TRACE_INT)
        add_int(text, (int64_t)value->bits);
    else if (trace_write_double(number, value->bits))
        text_add(text, number);
    else
        text_add_format(text, "\"%s\"", number);
}

void otlp_value_place(struct otlp_value *value, const struct text *texts)
{
    if (value->text.at)
        return;
    value->text.at = texts->data ? texts->data + value->bits : "";
    value->bits = 0;
}
