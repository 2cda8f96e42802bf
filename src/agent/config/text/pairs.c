#include "agent/config/text/pairs.h"

#include "base/text/utf8.h"
#include "base/trace_context.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

/* In place. False: a '%' without two hex digits after it, or a NUL. */
static bool percent_decode(char *text)
{
    char *out = text;
    for (char *at = text; *at; at++) {
        if (*at != '%') {
            *out++ = *at;
            continue;
        }
        int high = hex_digit(at[1]);
        int low = high < 0 ? -1 : hex_digit(at[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *out++ = (char)(high * 16 + low);
        at += 2;
    }
    *out = '\0';
    return true;
}

char *text_trim(char *text, const char *blanks)
{
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        text[--length] = '\0';
    return text;
}

const char *text_next_word(const char **list, size_t *bytes)
{
    const char *word = *list + strspn(*list, " \t,");
    size_t length = strcspn(word, ",");
    *list = word + length;
    while (length > 0 && (word[length - 1] == ' ' || word[length - 1] == '\t'))
        length--;
    *bytes = length;
    return length > 0 ? word : NULL;
}

struct pair {
    char *key;
    char *value;
};

struct pairs {
    char *text; /* the pairs point into it */
    size_t count;
    struct pair items[PAIRS_MAX];
};

/* Splits one "key=value". Returns what is wrong with it, or NULL. */
static const char *split_pair(char *text, struct pair *pair)
{
    char *equals = strchr(text, '=');
    if (!equals)
        return "has no '='";
    *equals = '\0';
    pair->key = text_trim(text, BLANKS);
    pair->value = text_trim(equals + 1, BLANKS);
    if (!pair->key[0])
        return "has no key before its '='";
    if (!percent_decode(pair->key) || !percent_decode(pair->value))
        return "has a '%' without two hex digits after it (write %25 for a percent sign)";
    return utf8_is_valid(pair->key) && utf8_is_valid(pair->value) ? NULL : "is not UTF-8";
}

/* Messages have the number of a pair, because a malformed pair may be a secret. A trailing comma is allowed.
 */
static enum status split(const char *text, struct pairs *pairs, struct error *err)
{
    pairs->count = 0;
    pairs->text = strdup(text);
    if (!pairs->text)
        return STATUS_NO_MEMORY;
    char *at = pairs->text;
    for (size_t number = 1; at; number++) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        if (*text_trim(at, BLANKS)) {
            if (pairs->count == PAIRS_MAX)
                return error_set(err, STATUS_INVALID, "more than %d pairs: shorten the list", PAIRS_MAX);
            const char *problem = split_pair(at, &pairs->items[pairs->count]);
            if (problem)
                return error_set(err, STATUS_INVALID, "pair %zu %s: expected key=value,key=value", number,
                                 problem);
            pairs->count++;
        }
        at = comma ? comma + 1 : NULL;
    }
    return STATUS_OK;
}

enum status pairs_to_resource(const char *text, struct resource *resource, struct error *err)
{
    struct pairs pairs;
    enum status status = split(text, &pairs, err);
    struct resource *added = status == STATUS_OK ? calloc(1, sizeof *added) : NULL;
    if (status == STATUS_OK && !added)
        status = STATUS_NO_MEMORY;
    for (size_t i = 0; status == STATUS_OK && i < pairs.count; i++)
        status = resource_set_string(added, pairs.items[i].key, pairs.items[i].value);
    if (status == STATUS_OK)
        status = resource_merge(resource, added);
    if (status == STATUS_FULL)
        status =
            error_set(err, STATUS_INVALID, "more than %d attributes: shorten the list", RESOURCE_ATTRS_MAX);
    if (added)
        resource_deinit(added);
    free(added);
    free(pairs.text);
    return status;
}

/* A token of RFC 9110. */
static bool is_header_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "!#$%&'*+-.^_`|~";
    return name[0] && name[strspn(name, allowed)] == '\0';
}

static bool is_header_value(const char *value)
{
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if ((*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    }
    return true;
}

static enum status store_header(struct exporter_settings *exporter, const char *name, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < exporter->header_count; i++) {
        if (strcasecmp(exporter->headers[i].name, name) == 0) {
            free(exporter->headers[i].value);
            exporter->headers[i].value = copy;
            return STATUS_OK;
        }
    }
    struct header *grown = realloc(exporter->headers, (exporter->header_count + 1) * sizeof *grown);
    if (grown)
        exporter->headers = grown;
    char *name_copy = grown ? strdup(name) : NULL;
    if (!name_copy) {
        free(copy);
        return STATUS_NO_MEMORY;
    }
    grown[exporter->header_count++] = (struct header){name_copy, copy};
    return STATUS_OK;
}

enum status header_set(struct exporter_settings *exporter, const char *name, const char *value,
                       struct error *err)
{
    if (!is_header_name(name))
        return error_set(
            err, STATUS_INVALID,
            "a header's name has a character that HTTP does not allow: use letters, digits and '-'");
    if (!is_header_value(value))
        return error_set(err, STATUS_INVALID,
                         "a header's value contains a control character such as a line break: remove it");
    return store_header(exporter, name, value);
}

enum status pairs_to_headers(const char *text, struct exporter_settings *exporter, struct error *err)
{
    struct pairs pairs;
    enum status status = split(text, &pairs, err);
    for (size_t i = 0; i < pairs.count && status == STATUS_OK; i++) {
        if (!is_header_name(pairs.items[i].key) || !is_header_value(pairs.items[i].value))
            status = error_set(err, STATUS_INVALID,
                               "pair %zu is not a header: use letters, digits and '-' in the name, and no "
                               "control characters",
                               i + 1);
    }
    for (size_t i = 0; i < pairs.count && status == STATUS_OK; i++)
        status = store_header(exporter, pairs.items[i].key, pairs.items[i].value);
    free(pairs.text);
    return status;
}
