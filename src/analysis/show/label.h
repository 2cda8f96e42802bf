/* The left part of a line of the picture: the name, the count, and the most important facts. */
#pragma once

#include "analysis/show/outline.h"
#include "cli/util/text.h"

enum style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_ERROR,
    STYLE_CLASS /* + enum trace_class */
};

struct label_writer {
    struct text *text;
    size_t columns; /* columns that are left */
    bool color;
    bool utf8;
};

/* Switches the style on; style_end() switches it off. Writes nothing without color. */
void style_begin(struct text *text, unsigned style, bool color);
void style_end(struct text *text, unsigned style, bool color);

/* Adds the label of a row, fitted into writer->columns, which decreases by the columns used. */
void label_add(struct label_writer *writer, const struct trace *trace, const struct outline_row *row);
/* Adds as much of a string as fits, in a style. */
void label_add_part(struct label_writer *writer, const char *string, unsigned style);

/* The same, formatted, but the whole string or nothing. */
void label_add_whole(struct label_writer *writer, unsigned style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The columns that the whole label would take. */
size_t label_columns(const struct trace *trace, const struct outline_row *row, bool utf8);
