/* The screen of `cuspan top` as lines of text. Independent of the terminal. */
#pragma once

#include "cli/util/text.h"
#include "command/top/top_poll.h"

enum top_sort { TOP_BY_TIME, TOP_BY_COUNT, TOP_BY_AVERAGE, TOP_BY_NAME, TOP_SORTS };

struct top_view {
    const struct top_poll *poll;
    size_t selected; /* an agent's number, or their count: all together */
    enum top_sort sort;
    bool is_paused;
    uint64_t interval_ms;
    const char *clock;     /* "11:43:07" */
    const char *untraced;  /* a line about processes without an agent; NULL: there are none */
    size_t columns, lines; /* of the screen; lines 0: as many as there are */
    bool utf8;
    bool has_keys; /* the last line names them */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEAD, TOP_SELECTED, TOP_WARNING, TOP_FAINT };

struct top_screen {
    struct top_line {
        struct text text;
        enum top_style style;
    } * lines;
    size_t count, capacity;
};

/* Builds the screen again; every line has at most view->columns columns. */
void top_screen_make(const struct top_view *view, struct top_screen *screen);
void top_screen_deinit(struct top_screen *screen);
