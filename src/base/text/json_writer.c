#include "base/text/json_writer.h"

#include <inttypes.h>

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void begin(struct json_writer *writer, const char *key)
{
    if (writer->needs_comma)
        fputc(',', writer->file);
    if (key)
        fprintf(writer->file, "\"%s\":", key);
    writer->needs_comma = true;
}

static void open(struct json_writer *writer, const char *key, char bracket)
{
    begin(writer, key);
    fputc(bracket, writer->file);
    writer->needs_comma = false;
}

static void end(struct json_writer *writer, char bracket)
{
    fputc(bracket, writer->file);
    writer->needs_comma = true;
}

void json_write_object(struct json_writer *writer, const char *key)
{
    open(writer, key, '{');
}

void json_write_object_end(struct json_writer *writer)
{
    end(writer, '}');
}

void json_write_array(struct json_writer *writer, const char *key)
{
    open(writer, key, '[');
}

void json_write_array_end(struct json_writer *writer)
{
    end(writer, ']');
}

void json_write_text(struct json_writer *writer, const char *key, const char *text)
{
    begin(writer, key);
    write_string(writer->file, text);
}

void json_write_unsigned(struct json_writer *writer, const char *key, uint64_t value)
{
    begin(writer, key);
    fprintf(writer->file, "%" PRIu64, value);
}

void json_write_signed(struct json_writer *writer, const char *key, int64_t value)
{
    begin(writer, key);
    fprintf(writer->file, "%" PRId64, value);
}

void json_write_bool(struct json_writer *writer, const char *key, bool value)
{
    begin(writer, key);
    fputs(value ? "true" : "false", writer->file);
}

void json_write_ms(struct json_writer *writer, const char *key, uint64_t ns)
{
    begin(writer, key);
    fprintf(writer->file, "%.3f", (double)ns / 1e6);
}
