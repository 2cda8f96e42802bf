/* The terminal of `cuspan top`: the only file that uses ncurses. */
#pragma once

#include "base/status.h"
#include "command/top/top_screen.h"

/* Initializes the terminal. UNAVAILABLE: it cannot be controlled. */
enum status top_watch_start(bool color, struct error *err) MUST_CHECK;
/* Restores the terminal; safe without top_watch_start(). */
void top_watch_end(void);

void top_watch_size(size_t *columns, size_t *lines);
void top_watch_draw(const struct top_screen *screen);
/* Waits for a key until the timeout, 0. Arrows are 'k' (up) and 'j' (down), as in vi. */
int top_watch_wait(uint64_t ms);
