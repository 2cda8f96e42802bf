/* Prints tables to a terminal or as Markdown, CSV and JSON. */
#ifndef CUSPAN_CLI_STAT_STAT_PRINT_H
#define CUSPAN_CLI_STAT_STAT_PRINT_H

#include "cli/stat/stat.h"

#include <stdio.h>

enum stat_format { STAT_FORMAT_TEXT, STAT_FORMAT_MARKDOWN, STAT_FORMAT_CSV, STAT_FORMAT_JSON };

struct stat_look {
    size_t columns; /* of the terminal: the widest text columns are shortened */
    bool color;
    bool utf8;
};

/* Omits empty tables, except in JSON, where each is a list under its key. */
void stat_print(FILE *out, const struct stat_report *report, enum stat_format format,
                const struct stat_look *look);

#endif
