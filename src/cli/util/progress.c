#include "cli/util/progress.h"

#include "base/clock.h"
#include "cli/util/terminal.h"
#include "cli/util/text.h"

#include <stdio.h>
#include <unistd.h>

#define SHOW_AFTER_NS (300 * NS_PER_MS)
#define SHOW_EVERY_NS (100 * NS_PER_MS)

void progress_begin(struct progress *progress, const char *what)
{
    *progress = (struct progress){.what = what, .is_on = isatty(STDERR_FILENO) != 0};
    progress->begun_ns = progress->shown_ns = clock_monotonic_ns();
}

void progress_update(void *context, uint64_t part, uint64_t whole)
{
    struct progress *progress = context;
    if (!progress->is_on)
        return;
    uint64_t now = clock_monotonic_ns();
    if (now - progress->begun_ns < SHOW_AFTER_NS || now - progress->shown_ns < SHOW_EVERY_NS)
        return;
    char amount[TEXT_NUMBER_BYTES];
    struct text line = {0};
    text_add_fitted(&line, progress->what, terminal_columns(STDERR_FILENO) - 16, text_locale_is_utf8());
    text_add_format(&line, "  %s", whole ? text_share(amount, part, whole) : text_bytes(amount, part));
    fprintf(stderr, "\r%s\033[K", line.data);
    fflush(stderr);
    text_deinit(&line);
    progress->shown_ns = now;
    progress->is_shown = true;
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
