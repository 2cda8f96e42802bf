#include "export/last_error.h"

#include "base/limits.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define TROUBLE_BYTES 400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char troubles[OUTPUT_NUMBERS][TROUBLE_BYTES];

void last_error_note(unsigned output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    vsnprintf(troubles[output], TROUBLE_BYTES, format, arguments);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

void last_error_clear(unsigned output)
{
    pthread_mutex_lock(&lock);
    troubles[output][0] = 0;
    pthread_mutex_unlock(&lock);
}

bool last_error_get(unsigned output, char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    int length = snprintf(text, size, "%s", troubles[output]);
    pthread_mutex_unlock(&lock);
    return length > 0;
}
