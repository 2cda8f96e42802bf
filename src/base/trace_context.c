#include "base/trace_context.h"

#include <string.h>

#define KEY_BYTES_MAX    256
#define TENANT_BYTES_MAX 241
#define VENDOR_BYTES_MAX 14
#define VALUE_BYTES_MAX  256

/* Upper case is invalid in a traceparent. */
static bool hex_parse(const char *text, unsigned count, uint8_t *bytes)
{
    if (strcspn(text, "ABCDEF") < 2 * count)
        return false;
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Trims blanks. */
static void trim(const char **text, size_t *length)
{
    while (*length && is_blank(**text)) {
        ++*text;
        --*length;
    }
    while (*length && is_blank((*text)[*length - 1]))
        --*length;
}

static bool parse_traceparent(const char *text, struct trace_context *context)
{
    size_t length = strlen(text);
    uint8_t version, flags;
    trim(&text, &length);
    if (length < TRACEPARENT_BYTES || !hex_parse(text, 1, &version) || version == 0xff)
        return false;
    /* Later versions may continue after a dash; version 00 ends here. */
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

bool trace_state_next(const char **at, struct trace_state_member *member)
{
    while (**at) {
        const char *text = *at;
        size_t length = strcspn(text, ",");
        *at = text + length + (text[length] == ',');
        trim(&text, &length);
        if (length == 0)
            continue;
        const char *equals = memchr(text, '=', length);
        *member = (struct trace_state_member){text, length, equals ? (size_t)(equals - text) : length};
        return true;
    }
    return false;
}

static bool is_key_text(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
              (text[i] && strchr("_-*/", text[i]))))
            return false;
    return length > 0 && (text[0] >= '0' && strchr("_-*/", text[0]) == NULL);
}

/* "vendor", or "tenant@vendor". */
static bool is_key(const char *text, size_t length)
{
    const char *at = memchr(text, '@', length);
    if (!at)
        return length <= KEY_BYTES_MAX && is_key_text(text, length);
    size_t tenant = (size_t)(at - text), vendor = length - tenant - 1;
    return tenant <= TENANT_BYTES_MAX && vendor <= VENDOR_BYTES_MAX && is_key_text(text, tenant) &&
           is_key_text(at + 1, vendor) && at[1] >= 'a';
}

static bool is_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '=')
            return false;
    return length > 0 && length <= VALUE_BYTES_MAX;
}

/* As the specification requires, one invalid member discards the whole tracestate. */
static bool is_acceptable_tracestate(const char *text)
{
    struct trace_state_member members[TRACE_STATE_MEMBERS_MAX + 1];
    unsigned count = 0;
    while (trace_state_next(&text, &members[count])) {
        const struct trace_state_member *member = &members[count];
        size_t key = member->key_length;
        if (count == TRACE_STATE_MEMBERS_MAX || key >= member->length || !is_key(member->text, key) ||
            !is_value(member->text + key + 1, member->length - key - 1))
            return false;
        for (unsigned i = 0; i < count; i++)
            if (members[i].key_length == key && memcmp(members[i].text, member->text, key) == 0)
                return false;
        count++;
    }
    return count > 0;
}

bool trace_context_parse(const char *traceparent, const char *tracestate, struct trace_context *context)
{
    memset(context, 0, sizeof *context);
    if (!traceparent || !parse_traceparent(traceparent, context)) {
        memset(context, 0, sizeof *context);
        return false;
    }
    size_t length = tracestate ? strlen(tracestate) : 0;
    if (length > 0)
        trim(&tracestate, &length);
    if (length > 0 && length < TRACE_STATE_MAX && is_acceptable_tracestate(tracestate))
        memcpy(context->trace_state, tracestate, length);
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
