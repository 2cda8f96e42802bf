#include "agent/recording/recording_strings.h"

#include "base/hash.h"
#include "agent/recording/recording_format.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 256

static uint32_t hash(const char *text, size_t length)
{
    uint64_t h = hash_bytes(HASH_START, text, length);
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of the string, or the free slot where it belongs. */
static uint32_t *slot_of(const struct strings *strings, const char *text, size_t length)
{
    uint32_t mask = 2 * strings->capacity - 1;
    for (uint32_t i = hash(text, length) & mask;; i = (i + 1) & mask) {
        uint32_t index = strings->slots[i];
        if (index == 0 ||
            (strings->lengths[index - 1] == length && memcmp(strings->texts[index - 1], text, length) == 0))
            return &strings->slots[i];
    }
}

static bool grow(struct strings *strings)
{
    uint32_t capacity = strings->capacity ? 2 * strings->capacity : CAPACITY_MIN;
    char **texts = realloc(strings->texts, capacity * sizeof *texts);
    if (texts)
        strings->texts = texts;
    uint32_t *lengths = realloc(strings->lengths, capacity * sizeof *lengths);
    if (lengths)
        strings->lengths = lengths;
    uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
    if (!texts || !lengths || !slots) {
        free(slots);
        return false;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->capacity = capacity;
    for (uint32_t i = 0; i < strings->count; i++)
        *slot_of(strings, strings->texts[i], strings->lengths[i]) = i + 1;
    return true;
}

bool recording_strings_has_room(const struct strings *strings, size_t length)
{
    return strings->count < FORMAT_STRINGS_MAX && strings->bytes + length <= FORMAT_STRINGS_BYTES_MAX;
}

bool recording_strings_add(struct strings *strings, const char *text, size_t length)
{
    if (strings->count == strings->capacity && !grow(strings))
        return false;
    char *copy = malloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    uint32_t index = strings->count++;
    strings->texts[index] = copy;
    strings->lengths[index] = (uint32_t)length;
    strings->bytes += length;
    *slot_of(strings, copy, length) = index + 1;
    return true;
}

bool recording_strings_find(const struct strings *strings, const char *text, size_t length, uint32_t *index)
{
    if (strings->count == 0)
        return false;
    uint32_t found = *slot_of(strings, text, length);
    *index = found - 1;
    return found != 0;
}

const char *recording_strings_get(const struct strings *strings, uint64_t index)
{
    return index < strings->count ? strings->texts[index] : NULL;
}

void recording_strings_deinit(struct strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++)
        free(strings->texts[i]);
    free(strings->texts);
    free(strings->lengths);
    free(strings->slots);
    *strings = (struct strings){0};
}
