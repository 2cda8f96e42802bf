#include "command/top/top_watch.h"

#include <curses.h>
#include <limits.h>
#include <stdlib.h>

static SCREEN *terminal;
static attr_t attributes[TOP_FAINT + 1];

static void choose_attributes(bool color)
{
    attributes[TOP_TITLE] = attributes[TOP_WARNING] = A_BOLD;
    attributes[TOP_HEAD] = A_UNDERLINE;
    attributes[TOP_SELECTED] = A_REVERSE;
    attributes[TOP_FAINT] = A_DIM;
    if (!color || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
        return;
    init_pair(1, COLOR_YELLOW, -1);
    init_pair(2, COLOR_CYAN, -1);
    attributes[TOP_WARNING] = (attr_t)COLOR_PAIR(1) | A_BOLD;
    attributes[TOP_HEAD] = (attr_t)COLOR_PAIR(2) | A_BOLD;
}

void top_watch_end(void)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

enum status top_watch_start(bool color, struct error *err)
{
    const char *type = getenv("TERM");
    terminal = newterm(NULL, stdout, stdin);
    const char *move_cursor = terminal ? tigetstr("cup") : NULL;
    if (!move_cursor) /* such as "dumb": its screen would be a long line of text */
        top_watch_end();
    if (!move_cursor)
        return error_set(err, STATUS_UNAVAILABLE,
                         "cannot control this terminal (TERM is %s); use --once to print one screen as text",
                         type && *type ? type : "not set");
    choose_attributes(color);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    return STATUS_OK;
}

void top_watch_size(size_t *columns, size_t *lines)
{
    *columns = COLS > 0 ? (size_t)COLS : 1;
    *lines = LINES > 0 ? (size_t)LINES : 1;
}

void top_watch_draw(const struct top_screen *screen)
{
    erase();
    for (size_t i = 0; i < screen->count && i < (size_t)LINES; i++) {
        const struct top_line *line = &screen->lines[i];
        attrset((int)attributes[line->style]);
        mvaddstr((int)i, 0, line->text.data ? line->text.data : "");
        if (line->style == TOP_SELECTED)
            chgat(-1, attributes[line->style], 0, NULL); /* to the edge */
    }
    attrset(A_NORMAL);
    refresh();
}

int top_watch_wait(uint64_t ms)
{
    timeout(ms < INT_MAX ? (int)ms : INT_MAX);
    int key = getch();
    return key == ERR ? 0 : key == KEY_UP ? 'k' : key == KEY_DOWN ? 'j' : key;
}
