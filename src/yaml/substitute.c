#include "yaml/substitute.h"

#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t length;
    size_t size;
};

static enum status append(struct buffer *buffer, const char *bytes, size_t length)
{
    if (length >= SUBSTITUTED_BYTES_MAX || buffer->length + length >= SUBSTITUTED_BYTES_MAX)
        return STATUS_FULL;
    if (buffer->length + length + 1 > buffer->size) {
        size_t size = 2 * (buffer->length + length + 1);
        char *grown = realloc(buffer->bytes, size);
        if (!grown)
            return STATUS_NO_MEMORY;
        buffer->bytes = grown;
        buffer->size = size;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
    return STATUS_OK;
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t name_length(const char *at, const char *end)
{
    const char *from = at;
    if (at < end && (is_alpha(*at) || *at == '_')) {
        do
            at++;
        while (at < end && (is_alpha(*at) || *at == '_' || (*at >= '0' && *at <= '9')));
    }
    return (size_t)(at - from);
}

struct reference {
    const char *name;
    size_t name_length;
    const char *fallback;
    size_t fallback_length;
};

/* Parses the text between "${" and "}". Returns what is wrong with it, or NULL. */
static const char *parse_reference(const char *at, const char *end, struct reference *reference)
{
    size_t length = name_length(at, end);
    bool has_prefix = length > 0 && at + length < end && at[length] == ':' &&
                      (at + length + 1 == end || at[length + 1] != '-');
    if (has_prefix) {
        if (length != 3 || memcmp(at, "env", 3) != 0)
            return "the only prefix is \"env:\", and a default is written ${NAME:-default}";
        at += 4;
        length = name_length(at, end);
    }
    if (length == 0)
        return "a variable's name starts with a letter or '_'";
    *reference = (struct reference){.name = at, .name_length = length};
    at += length;
    if (at == end)
        return NULL;
    if (end - at < 2 || at[0] != ':' || at[1] != '-')
        return "a variable's name has letters, digits and '_' only, and a default is written "
               "${NAME:-default}";
    reference->fallback = at + 2;
    reference->fallback_length = (size_t)(end - at - 2);
    if (memchr(reference->fallback, '\n', reference->fallback_length))
        return "a default must be on one line";
    return NULL;
}

static enum status append_value(struct buffer *out, const struct reference *reference,
                                const struct config_environment *environment)
{
    char *name = strndup(reference->name, reference->name_length);
    if (!name)
        return STATUS_NO_MEMORY;
    const char *value = environment->get(name, environment->context);
    free(name);
    size_t length = value ? strlen(value) : 0;
    while (length > 0 && strchr("\r\n", value[length - 1])) /* at the end of a Kubernetes secret */
        length--;
    if (length > 0)
        return append(out, value, length);
    return reference->fallback ? append(out, reference->fallback, reference->fallback_length) : STATUS_OK;
}

/* The message has only the name, because the default may be a secret. */
static enum status malformed(const char *open, const char *close, const char *problem, struct error *err)
{
    const char *colon = memchr(open, ':', (size_t)(close - open));
    int shown = (int)((colon ? colon + 1 : close) - open);
    return error_set(err, STATUS_INVALID, "malformed reference %.*s%s}: %s; write $$ for a plain dollar sign",
                     shown > 60 ? 60 : shown, open, colon || shown > 60 ? "..." : "", problem);
}

/* A piece without "$$" in it. */
static enum status substitute_piece(const char *at, const char *end,
                                    const struct config_environment *environment, struct buffer *out,
                                    struct substitution *result, struct error *err)
{
    enum status status = STATUS_OK;
    while (at < end && status == STATUS_OK) {
        const char *open = memmem(at, (size_t)(end - at), "${", 2);
        const char *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
        if (open && !close && *end == '\0')
            result->is_unfinished = true;
        if (!close)
            return append(out, at, (size_t)(end - at));
        struct reference reference;
        const char *problem = parse_reference(open + 2, close, &reference);
        if (problem)
            return malformed(open, close, problem, err);
        status = append(out, at, (size_t)(open - at));
        if (status == STATUS_OK)
            status = append_value(out, &reference, environment);
        result->is_changed = true;
        at = close + 1;
    }
    return status;
}

enum status substitute(const char *text, const struct config_environment *environment,
                       struct substitution *result, struct error *err)
{
    struct buffer out = {0};
    *result = (struct substitution){0};
    enum status status = append(&out, "", 0);
    while (status == STATUS_OK) {
        const char *escape = strstr(text, "$$");
        const char *end = escape ? escape : text + strlen(text);
        status = substitute_piece(text, end, environment, &out, result, err);
        if (!escape || status != STATUS_OK)
            break;
        status = append(&out, "$", 1);
        text = escape + 2;
    }
    if (status != STATUS_OK) {
        free(out.bytes);
        if (status == STATUS_FULL)
            error_set(err, status, "longer than %d bytes after substitution: shorten it",
                      SUBSTITUTED_BYTES_MAX);
        return status;
    }
    result->text = out.bytes;
    return STATUS_OK;
}
