#include "agent/export/otlp/headers.h"

#include "base/log/log.h"
#include "base/process/variables.h"
#include "base/text/sanitize.h"
#include "agent/export/otlp/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_ours(const char *name)
{
    static const char *const ours[] = {
        "content-type", "content-encoding", "content-length", "transfer-encoding", "connection", "te",
        "expect"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcasecmp(name, ours[i]) == 0)
            return true;
    return strncasecmp(name, "grpc-", 5) == 0;
}

static enum status add_line(struct headers *headers, const char *name, const char *value)
{
    /* libcurl sends "Name;" as a header without a value, and "Name:" removes a header. */
    char *line;
    int made = *value ? asprintf(&line, "%s: %s", name, value) : asprintf(&line, "%s;", name);
    if (made < 0)
        return STATUS_NO_MEMORY;
    headers->owned[headers->fixed] = line;
    headers->lines[headers->fixed++] = line;
    return STATUS_OK;
}

static enum status add_user_header(struct headers *headers, const struct header *header, bool *has_user_agent)
{
    if (is_ours(header->name)) {
        log_warn("ignoring the header '%s' (cuspan sets it itself); remove it from the settings",
                 header->name);
        return STATUS_OK;
    }
    *has_user_agent |= strcasecmp(header->name, "user-agent") == 0;
    enum status status = secrets_add_header(&headers->secrets, header->value);
    return status == STATUS_OK ? add_line(headers, header->name, header->value) : status;
}

/* The proxy's, too: its answers and libcurl's messages may repeat them. */
static enum status add_secrets_of_urls(struct headers *headers, const char *endpoint)
{
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY"};
    enum status status = endpoint ? secrets_add_url(&headers->secrets, endpoint) : STATUS_OK;
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies && status == STATUS_OK; i++)
        if (variables_get(proxies[i]))
            status = secrets_add_url(&headers->secrets, variables_get(proxies[i]));
    return status;
}

enum status headers_init(struct headers *headers, const struct exporter_settings *settings,
                         const char *user_agent_prefix)
{
    *headers = (struct headers){0};
    headers->owned = calloc(settings->header_count + 1, sizeof *headers->owned);
    headers->lines = calloc(settings->header_count + 1 + HEADERS_PER_REQUEST_MAX + 1, sizeof *headers->lines);
    enum status status = headers->owned && headers->lines ? STATUS_OK : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = add_secrets_of_urls(headers, settings->endpoint);
    bool has_user_agent = false;
    for (size_t i = 0; i < settings->header_count && status == STATUS_OK; i++)
        status = add_user_header(headers, &settings->headers[i], &has_user_agent);
    if (status == STATUS_OK && !has_user_agent) {
        char agent[256];
        snprintf(agent, sizeof agent, "%s%scuspan/%s OTel-OTLP-Exporter-C/%s",
                 user_agent_prefix ? user_agent_prefix : "", user_agent_prefix ? " " : "", CUSPAN_VERSION,
                 CUSPAN_VERSION);
        status = add_line(headers, "User-Agent", agent);
    }
    if (status != STATUS_OK)
        headers_deinit(headers);
    return status;
}

void headers_deinit(struct headers *headers)
{
    for (size_t i = 0; i < headers->fixed; i++)
        free(headers->owned[i]);
    free(headers->owned);
    free(headers->lines);
    secrets_deinit(&headers->secrets);
    *headers = (struct headers){0};
}

char *headers_sanitize(const struct headers *headers, char *to, size_t size, const char *text)
{
    sanitize_line(to, size, text, strlen(text));
    if (secrets_leak(&headers->secrets, to))
        snprintf(to, size, "(text not shown: it contains a secret)");
    return to;
}

static const char *encoding_line(struct headers *headers, const char *name, const char *encoding)
{
    snprintf(headers->encoding, sizeof headers->encoding, "%s: %s", name, encoding);
    return headers->encoding;
}

const char *const *headers_for(struct headers *headers, const struct request_kind *kind)
{
    const char **line = headers->lines + headers->fixed;
    if (kind->grpc) {
        *line++ = "Content-Type: application/grpc";
        *line++ = "TE: trailers";
        if (kind->encoding)
            *line++ = encoding_line(headers, "grpc-encoding", kind->encoding);
        if (kind->timeout_ns) {
            size_t used = (size_t)snprintf(headers->timeout, sizeof headers->timeout, "grpc-timeout: ");
            grpc_timeout(headers->timeout + used, sizeof headers->timeout - used, kind->timeout_ns);
            *line++ = headers->timeout;
        }
    } else {
        *line++ = kind->json ? "Content-Type: application/json" : "Content-Type: application/x-protobuf";
        if (kind->encoding)
            *line++ = encoding_line(headers, "Content-Encoding", kind->encoding);
    }
    *line = NULL;
    return headers->lines;
}
