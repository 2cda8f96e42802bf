#include "agent/export/delivery/last_error.h"

#include "base/limits.h"
#include "base/text/sanitize.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define LAST_ERROR_BYTES 400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last_errors[OUTPUT_NUMBERS][LAST_ERROR_BYTES];

static char exit_error[2 * ERROR_TEXT_MAX];
enum { EXIT_ERROR_NONE, EXIT_ERROR_WRITING, EXIT_ERROR_SET };
static _Atomic int exit_error_state;

void last_error_note(unsigned output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    vsnprintf(last_errors[output], LAST_ERROR_BYTES, format, arguments);
    sanitize_secrets(last_errors[output]);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

void last_error_clear(unsigned output)
{
    pthread_mutex_lock(&lock);
    last_errors[output][0] = 0;
    pthread_mutex_unlock(&lock);
}

bool last_error_get(unsigned output, char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    int length = snprintf(text, size, "%s", last_errors[output]);
    pthread_mutex_unlock(&lock);
    return length > 0;
}

/* Without the lock: a thread abandoned at exit may hold it. */
void last_error_note_at_exit(const char *format, ...)
{
    int none = EXIT_ERROR_NONE;
    va_list arguments;
    if (!atomic_compare_exchange_strong(&exit_error_state, &none, EXIT_ERROR_WRITING))
        return;
    va_start(arguments, format);
    vsnprintf(exit_error, sizeof exit_error, format, arguments);
    sanitize_secrets(exit_error);
    va_end(arguments);
    atomic_store_explicit(&exit_error_state, EXIT_ERROR_SET, memory_order_release);
}

const char *last_error_at_exit(void)
{
    return atomic_load_explicit(&exit_error_state, memory_order_acquire) == EXIT_ERROR_SET ? exit_error
                                                                                           : NULL;
}
