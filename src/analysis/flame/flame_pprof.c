/* pprof's profile.proto. A location is a frame; inlining is not known. */
#include "analysis/flame/flame.h"

#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct encoder {
    struct text message;
    struct int_map strings; /* kept text → index in the string table */
    struct text string_table;
    uint64_t string_count;
};

static void add_varint(struct text *text, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_add_char(text, (char)(value | 0x80), 1);
    text_add_char(text, (char)value, 1);
}

static void add_number(struct text *text, unsigned field, uint64_t value)
{
    add_varint(text, field << 3 | WIRE_VARINT);
    add_varint(text, value);
}

static void add_bytes(struct text *text, unsigned field, const char *bytes, size_t len)
{
    add_varint(text, field << 3 | WIRE_BYTES);
    add_varint(text, len);
    text_add_bytes(text, bytes, len);
}

/* Adds the message and clears it. */
static void add_message(struct text *text, unsigned field, struct text *message)
{
    add_bytes(text, field, message->len ? message->data : "", message->len);
    text_clear(message);
}

/* Texts of frames are equal if their addresses are. */
static uint64_t string_of(struct encoder *encoder, const char *text)
{
    uint32_t number = int_map_number(&encoder->strings, (uint64_t)(uintptr_t)text);
    if (number == encoder->string_count) {
        add_bytes(&encoder->string_table, PROFILE_STRING, text, strlen(text));
        encoder->string_count++;
    }
    return number;
}

/* A function and a location of the same number for each frame. */
static void add_frames(struct encoder *encoder, const struct flame_tree *tree)
{
    struct text function = {0}, location = {0}, line = {0};
    for (size_t i = 0; i < tree->frame_count; i++) {
        const struct flame_frame *frame = &tree->frames[i];
        uint64_t name = string_of(encoder, *frame->name ? frame->name : *frame->file ? frame->file : "?");
        add_number(&function, FUNCTION_ID, i + 1);
        add_number(&function, FUNCTION_NAME, name);
        add_number(&function, FUNCTION_SYSTEM_NAME, name);
        if (*frame->file)
            add_number(&function, FUNCTION_FILE, string_of(encoder, frame->file));
        add_number(&line, LINE_FUNCTION, i + 1);
        if (frame->line)
            add_number(&line, LINE_LINE, frame->line);
        add_number(&location, LOCATION_ID, i + 1);
        add_message(&location, LOCATION_LINE, &line);
        add_message(&encoder->message, PROFILE_FUNCTION, &function);
        add_message(&encoder->message, PROFILE_LOCATION, &location);
    }
    text_deinit(&function);
    text_deinit(&location);
    text_deinit(&line);
}

static void add_samples(struct encoder *encoder, const struct flame_tree *tree)
{
    struct text sample = {0}, locations = {0}, values = {0};
    for (uint32_t at = 0; at != FLAME_NONE; at = flame_tree_next(tree, at)) {
        uint64_t value = tree->nodes[at].self[FLAME_NEW];
        if (!value)
            continue;
        for (uint32_t up = at; up; up = tree->nodes[up].parent)
            add_varint(&locations, tree->nodes[up].frame + 1ull);
        add_varint(&values, value);
        add_message(&sample, SAMPLE_LOCATION, &locations);
        add_message(&sample, SAMPLE_VALUE, &values);
        add_message(&encoder->message, PROFILE_SAMPLE, &sample);
    }
    text_deinit(&sample);
    text_deinit(&locations);
    text_deinit(&values);
}

static void encode(struct encoder *encoder, const struct flame *flame)
{
    static const char *const types[] = {"gpu_time", "wait", "copied", "launches"};
    static const char *const units[] = {"nanoseconds", "nanoseconds", "bytes", "count"};
    struct text type = {0};
    string_of(encoder, ""); /* the first string must be empty */
    add_number(&type, VALUE_TYPE, string_of(encoder, types[flame->weight]));
    add_number(&type, VALUE_UNIT, string_of(encoder, units[flame->weight]));
    add_message(&encoder->message, PROFILE_SAMPLE_TYPE, &type);
    add_samples(encoder, &flame->tree);
    add_frames(encoder, &flame->tree);
    text_add_bytes(&encoder->message, encoder->string_table.data, encoder->string_table.len);
    text_deinit(&type);
}

void flame_write_pprof(FILE *out, const struct flame *flame)
{
    struct encoder encoder = {0};
    encode(&encoder, flame);
    fwrite(encoder.message.data, 1, encoder.message.len, out);
    text_deinit(&encoder.message);
    text_deinit(&encoder.string_table);
    int_map_deinit(&encoder.strings);
}
