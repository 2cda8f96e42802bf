/* A log record, on its way from its maker to encode. It owns nothing. */
#pragma once

#include "model/span.h"

enum log_severity { LOG_SEVERITY_INFO = 9, LOG_SEVERITY_WARN = 13, LOG_SEVERITY_ERROR = 17 }; /* OTLP's */

struct log_record {
    uint64_t time_ns; /* since 1970 */
    enum log_severity severity;
    const char *event_name; /* NUL-terminated */
    const char *body;       /* NUL-terminated */
    uint32_t attr_count;
    const struct span_attr *attrs;
};
