/* The left part of a line of the picture: who it is, how many, and what a person wants to know of it at once.
 */
#ifndef CUSPAN_CLI_SHOW_LABEL_H
#define CUSPAN_CLI_SHOW_LABEL_H

#include "cli/show/outline.h"
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
    size_t columns; /* that are left */
    bool color;
    bool utf8;
};

/* Switches the style on; style_end() switches it off. Nothing without colour. */
void style_begin(struct text *text, unsigned style, bool color);
void style_end(struct text *text, unsigned style, bool color);

/* Adds the label of a row, fitted into writer->columns, which is reduced by what it took. */
void label_add(struct label_writer *writer, const struct trace *trace, const struct outline_row *row);
/* Adds a string in a style; as much of it as fits. */
void label_add_part(struct label_writer *writer, const char *string, unsigned style);

/* The same, but all of it or nothing. */
void label_add_whole(struct label_writer *writer, const char *string, unsigned style);

/* Columns that the whole label would take. */
size_t label_columns(const struct trace *trace, const struct outline_row *row, bool utf8);

#endif
