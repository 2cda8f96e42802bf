/* The errors and warnings of a configuration: a bounded list of lines that the agent logs and `cuspan check`
 * prints. A line has the place, the key, what is wrong and what is expected; never the value of a header. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_MESSAGES_MAX  40
#define CONFIG_WARNINGS_MAX  24 /* leaves room for errors */
#define CONFIG_MESSAGE_BYTES 512
#define CONFIG_SOURCE_BYTES  256

enum config_severity { CONFIG_ERROR, CONFIG_WARNING };

struct config_message {
    enum config_severity severity;
    char text[CONFIG_MESSAGE_BYTES];
};

struct config_report {
    char source[CONFIG_SOURCE_BYTES]; /* the file that was read, or "the environment" */
    bool is_file;
    uint32_t errors;   /* including those that did not fit into the list */
    uint32_t warnings; /* likewise */
    uint32_t count;
    struct config_message messages[CONFIG_MESSAGES_MAX];
};

void config_report_init(struct config_report *report);

/* Adds a line. Control characters are replaced by '?'. */
void config_error(struct config_report *report, const char *format, ...) PRINTF_LIKE(2, 3);
void config_warning(struct config_report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* The text of the first error, or NULL. */
const char *config_first_error(const struct config_report *report);
