#include "base/trace_context.h"

#include <string.h>

#define TRACESTATE_MEMBERS_MAX 32

/* The value of a lower-case hex digit, or -1: upper case is invalid in a traceparent. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool hex_parse(const char *text, unsigned count, uint8_t *bytes)
{
    for (unsigned i = 0; i < count; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool all_zero(const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static bool parse_traceparent(const char *text, struct trace_context *context)
{
    size_t length = strlen(text);
    uint8_t version, flags;
    if (length < TRACEPARENT_BYTES || !hex_parse(text, 1, &version) || version == 0xff)
        return false;
    /* A later version may go on after a dash; version 00 ends here. */
    if (version == 0 ? length != TRACEPARENT_BYTES
                     : length > TRACEPARENT_BYTES && text[TRACEPARENT_BYTES] != '-')
        return false;
    if (text[2] != '-' || text[35] != '-' || text[52] != '-')
        return false;
    if (!hex_parse(text + 3, 16, context->trace_id) || !hex_parse(text + 36, 8, context->span_id) ||
        !hex_parse(text + 53, 1, &flags))
        return false;
    context->flags = flags & (TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    return !all_zero(context->trace_id, 16) && !all_zero(context->span_id, 8);
}

/* Only what would break the wire or the limits is refused; the members belong to other vendors. */
static bool is_acceptable_tracestate(const char *text)
{
    unsigned members = 1;
    for (const char *c = text; *c; c++) {
        if ((*c < 0x20 && *c != '\t') || (unsigned char)*c > 0x7e)
            return false;
        members += *c == ',';
    }
    return members <= TRACESTATE_MEMBERS_MAX && strlen(text) < TRACE_STATE_MAX && strchr(text, '=');
}

bool trace_context_parse(const char *traceparent, const char *tracestate, struct trace_context *context)
{
    memset(context, 0, sizeof *context);
    if (!traceparent || !parse_traceparent(traceparent, context)) {
        memset(context, 0, sizeof *context);
        return false;
    }
    if (tracestate && is_acceptable_tracestate(tracestate))
        strcpy(context->trace_state, tracestate);
    return true;
}

void hex_format(const uint8_t *bytes, unsigned count, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * count] = 0;
}

void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_BYTES + 1])
{
    memcpy(text, "00-", 3);
    hex_format(context->trace_id, 16, text + 3);
    text[35] = '-';
    hex_format(context->span_id, 8, text + 36);
    text[52] = '-';
    hex_format(&context->flags, 1, text + 53);
}
