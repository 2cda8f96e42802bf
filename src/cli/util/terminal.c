#include "cli/util/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t terminal_columns(int fd)
{
    struct winsize size;
    long columns = 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    const char *variable = getenv("COLUMNS");
    if (columns <= 0 && variable)
        columns = strtol(variable, NULL, 10);
    if (columns <= 0)
        columns = 80;
    if (columns < TERMINAL_COLUMNS_MIN)
        columns = TERMINAL_COLUMNS_MIN;
    return columns > TERMINAL_COLUMNS_MAX ? TERMINAL_COLUMNS_MAX : (size_t)columns;
}

bool terminal_wants_color(enum color_when when, int fd)
{
    if (when != COLOR_AUTO)
        return when == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
}
