#include "agent/export/curl_module/json_response.h"

#include "base/clock.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_DELAY_SECONDS_MAX 86400

static void copy_message(const cJSON *object, const char *key, struct otlp_response *response)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    if (text)
        snprintf(response->message, sizeof response->message, "%s", text);
}

/* A 64-bit integer is a string in OTLP JSON, but some servers send a number. */
static uint64_t count_of(const cJSON *item)
{
    if (cJSON_IsString(item)) {
        long long value = strtoll(item->valuestring, NULL, 10);
        return value > 0 ? (uint64_t)value : 0;
    }
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 9e18
               ? (uint64_t)item->valuedouble
               : 0;
}

/* A google.protobuf.Duration: "1.5s", or an object with its fields. */
static uint64_t duration_of(const cJSON *item)
{
    double seconds = 0;
    if (cJSON_IsString(item)) {
        /* Not strtod, which uses the decimal point of the host's locale. */
        const char *text = item->valuestring;
        double scale = 1;
        for (; *text >= '0' && *text <= '9'; text++)
            seconds = seconds * 10 + (*text - '0');
        for (text += *text == '.'; *text >= '0' && *text <= '9'; text++)
            seconds += (*text - '0') * (scale /= 10);
    } else {
        seconds = (double)count_of(cJSON_GetObjectItemCaseSensitive(item, "seconds")) +
                  (double)count_of(cJSON_GetObjectItemCaseSensitive(item, "nanos")) / 1e9;
    }
    if (seconds > RETRY_DELAY_SECONDS_MAX)
        seconds = RETRY_DELAY_SECONDS_MAX;
    return (uint64_t)(seconds * 1e9);
}

static void read_details(const cJSON *details, struct otlp_response *response)
{
    const cJSON *detail;
    cJSON_ArrayForEach(detail, details)
    {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(detail, "@type"));
        if (!type || strcmp(type, "type.googleapis.com/google.rpc.RetryInfo") != 0)
            continue;
        response->has_retry_delay = true;
        response->retry_delay_ns = duration_of(cJSON_GetObjectItemCaseSensitive(detail, "retryDelay"));
    }
}

bool json_response_read(const uint8_t *text, size_t bytes, struct otlp_response *response)
{
    cJSON *root = bytes ? cJSON_ParseWithLength((const char *)text, bytes) : NULL;
    bool understood = cJSON_IsObject(root);
    if (understood) {
        const cJSON *partial = cJSON_GetObjectItemCaseSensitive(root, "partialSuccess");
        const cJSON *code = cJSON_GetObjectItemCaseSensitive(root, "code");
        const cJSON *rejected = cJSON_GetObjectItemCaseSensitive(partial, "rejectedSpans");
        if (!rejected)
            rejected = cJSON_GetObjectItemCaseSensitive(partial, "rejectedDataPoints");
        response->rejected_spans = count_of(rejected);
        response->code = cJSON_IsNumber(code) ? code->valueint : 0;
        copy_message(partial, "errorMessage", response);
        copy_message(root, "message", response);
        read_details(cJSON_GetObjectItemCaseSensitive(root, "details"), response);
    }
    cJSON_Delete(root);
    return understood;
}
