/* The terminal's capabilities, and the user's choices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TERMINAL_COLUMNS_MIN 40
#define TERMINAL_COLUMNS_MAX 300

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* The width of the terminal behind fd, else COLUMNS, else 80; within the bounds above. */
size_t terminal_columns(int fd);
/* COLOR_AUTO: on a terminal that is not dumb, unless NO_COLOR is set (https://no-color.org). */
bool terminal_wants_color(enum color_when when, int fd);
