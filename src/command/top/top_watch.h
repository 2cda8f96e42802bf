/* The terminal of `cuspan top`: the only file that uses ncurses. */
#pragma once

#include "base/status.h"
#include "command/top/top_screen.h"

enum live_key {
    LIVE_NOTHING, /* timeout */
    LIVE_QUIT,
    LIVE_PAUSE,
    LIVE_SORT,
    LIVE_UP,
    LIVE_DOWN,
    LIVE_ALL,
    LIVE_FASTER,
    LIVE_SLOWER,
    LIVE_OTHER /* an unused key, or the screen was resized */
};

/* Initializes the terminal. UNAVAILABLE: it cannot be controlled. */
enum status top_watch_start(bool color, struct error *err) MUST_CHECK;
/* Restores the terminal; safe without top_watch_start(). */
void top_watch_end(void);

void top_watch_size(size_t *columns, size_t *lines);
void top_watch_draw(const struct top_screen *screen);
/* Waits for a key until the timeout. */
enum live_key top_watch_wait(uint64_t ms);
