/* Writes an object of JSON, field by field. */
#ifndef CUSPAN_CLI_UTIL_JSON_OBJECT_H
#define CUSPAN_CLI_UTIL_JSON_OBJECT_H

#include "cli/util/text.h"

struct json_object {
    struct text *text;
    bool has_fields;
};

/* `text` is the caller's. Nested objects use the same text. */
static inline struct json_object json_object_begin(struct text *text)
{
    text_add_bytes(text, "{", 1);
    return (struct json_object){.text = text};
}

static inline void json_object_end(struct json_object *object)
{
    text_add_bytes(object->text, "}", 1);
}

/* The value follows. */
void json_object_key(struct json_object *object, const char *key, size_t len);

/* Fields that are left out if they are empty or 0. The text may have NULs. */
void json_object_text(struct json_object *object, const char *key, const char *text, size_t len);
void json_object_number(struct json_object *object, const char *key, uint64_t value);

/* A string in quotes; may have NULs. */
void json_add_string(struct text *text, const char *string, size_t len);

#endif
