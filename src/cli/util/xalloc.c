#include "cli/util/xalloc.h"

#include "cli/util/exit_code.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        fputs("cuspan: out of memory\n", stderr);
        exit(EXIT_FAILED);
    }
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

void *xgrow(void *old, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity && old)
        return old;
    size_t wanted = *capacity * 2 > needed ? *capacity * 2 : needed;
    if (wanted < 16)
        wanted = 16;
    if (wanted > SIZE_MAX / size)
        return checked(NULL);
    *capacity = wanted;
    return checked(realloc(old, wanted * size));
}

void *xshrink(void *old, size_t *capacity, size_t needed, size_t size)
{
    void *smaller = needed > 0 && needed <= *capacity / 2 ? realloc(old, needed * size) : NULL;
    *capacity = smaller ? needed : *capacity;
    return smaller ? smaller : old;
}

char *xstrdup(const char *text)
{
    return checked(strdup(text));
}

char *xvasprintf(const char *format, va_list args)
{
    char *text = NULL;
    int bytes = vasprintf(&text, format, args);
    return checked(bytes < 0 ? NULL : text);
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    return text;
}
