/* Captures standard error between two calls, for tests of messages. */
#pragma once

#include "base/log/standard_fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int stderr_saved = -1;
static FILE *stderr_file;

static inline void stderr_begin(void)
{
    fflush(stderr);
    stderr_saved = dup(STDERR_FILENO);
    stderr_file = tmpfile();
    if (!stderr_file || dup2(fileno(stderr_file), STDERR_FILENO) < 0)
        abort();
    standard_fd_remember();
}

/* Returns the text, which the caller frees. */
static inline char *stderr_end(void)
{
    fflush(stderr);
    dup2(stderr_saved, STDERR_FILENO);
    close(stderr_saved);
    standard_fd_remember();
    char *text = calloc(1, 65536);
    ssize_t got = pread(fileno(stderr_file), text, 65535, 0);
    if (got < 0)
        abort();
    fclose(stderr_file);
    return text;
}

static inline size_t times_in(const char *text, const char *wanted)
{
    size_t times = 0;
    for (; (text = strstr(text, wanted)); text += strlen(wanted))
        times++;
    return times;
}
