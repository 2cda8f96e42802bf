#include "cli/util/json_object.h"

#include <inttypes.h>
#include <string.h>

/* The text functions end at a NUL. */
void json_add_string(struct text *text, const char *string, size_t len)
{
    text_add_bytes(text, "\"", 1);
    while (len > 0) {
        char part[256];
        size_t count = len < sizeof part - 1 ? len : sizeof part - 1;
        /* Characters of UTF-8 stay whole. */
        while (count < len && count > sizeof part - 5 && (string[count] & 0xc0) == 0x80)
            count--;
        const char *nul = memchr(string, 0, count);
        count = nul ? (size_t)(nul - string) : count;
        memcpy(part, string, count);
        part[count] = 0;
        text_add_json(text, part);
        if (nul) {
            text_add(text, "\\u0000");
            count++;
        }
        string += count;
        len -= count;
    }
    text_add_bytes(text, "\"", 1);
}

void json_object_key(struct json_object *object, const char *key, size_t len)
{
    if (object->has_fields)
        text_add_bytes(object->text, ",", 1);
    object->has_fields = true;
    json_add_string(object->text, key, len);
    text_add_bytes(object->text, ":", 1);
}

void json_object_text(struct json_object *object, const char *key, const char *text, size_t len)
{
    if (len == 0)
        return;
    json_object_key(object, key, strlen(key));
    json_add_string(object->text, text, len);
}

void json_object_number(struct json_object *object, const char *key, uint64_t value)
{
    if (value == 0)
        return;
    json_object_key(object, key, strlen(key));
    text_add_format(object->text, "%" PRIu64, value);
}
