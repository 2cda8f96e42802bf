#include "yaml/problems.h"

#include "base/text/sanitize.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void config_report_init(struct config_report *report)
{
    report->source[0] = '\0';
    report->is_file = false;
    report->errors = report->warnings = report->count = 0;
}

/* vsnprintf may have cut a UTF-8 character. */
static void drop_partial_character(char *text, size_t size)
{
    size_t length = strlen(text);
    if (length + 1 < size)
        return;
    while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        text[--length] = '\0';
    if (length > 0 && ((unsigned char)text[length - 1] & 0x80))
        text[length - 1] = '\0';
}

static void add(struct config_report *report, enum config_severity severity, const char *format, va_list args)
{
    uint32_t room = severity == CONFIG_ERROR ? CONFIG_MESSAGES_MAX : CONFIG_WARNINGS_MAX;
    if (report->count >= room)
        return;
    struct config_message *message = &report->messages[report->count++];
    message->severity = severity;
    vsnprintf(message->text, sizeof message->text, format, args);
    drop_partial_character(message->text, sizeof message->text);
    sanitize_in_place(message->text); /* keys and values must not forge a second line or control a terminal */
}

void config_error(struct config_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(report, CONFIG_ERROR, format, args);
    va_end(args);
    report->errors++;
}

void config_warning(struct config_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(report, CONFIG_WARNING, format, args);
    va_end(args);
    report->warnings++;
}

const char *config_first_error(const struct config_report *report)
{
    for (uint32_t i = 0; i < report->count; i++) {
        if (report->messages[i].severity == CONFIG_ERROR)
            return report->messages[i].text;
    }
    return NULL;
}
