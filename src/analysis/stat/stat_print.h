/* Prints tables to a terminal or as Markdown, CSV and JSON. */
#pragma once

#include "cli/args/options.h"
#include "analysis/stat/base/stat.h"
#include "cli/util/terminal.h"

#include <stdio.h>

enum stat_format { STAT_FORMAT_TEXT, STAT_FORMAT_MARKDOWN, STAT_FORMAT_CSV, STAT_FORMAT_JSON };

/* The user's choices. */
struct stat_style {
    int format;       /* enum stat_format */
    int color;        /* enum color_when */
    bool has_names;   /* the titles show the tables' names for --table */
    uint32_t columns; /* width to which the widest text columns are shortened; 0: the terminal's */
};

/* The command-line options that set `style`, for options_read(). */
#define STAT_STYLE_TARGETS(style)                                                                            \
    {OPTION_JSON, .choice = &(style)->format, .value = STAT_FORMAT_JSON},                                    \
        {OPTION_CSV, .choice = &(style)->format, .value = STAT_FORMAT_CSV},                                  \
        {OPTION_MARKDOWN, .choice = &(style)->format, .value = STAT_FORMAT_MARKDOWN},                        \
        {OPTION_COLOR, .choice = &(style)->color},                                                           \
    {                                                                                                        \
        OPTION_WIDTH, .number = &(style)->columns, .min = TERMINAL_COLUMNS_MIN, .max = TERMINAL_COLUMNS_MAX  \
    }

/* Prints the report's tables. Omits empty ones, except in JSON, where each is a list under its key. */
void stat_print(FILE *out, const struct stat_report *report, const struct stat_style *style);
