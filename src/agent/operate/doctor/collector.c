#include "agent/operate/doctor/collector.h"

#include "base/text/sanitize.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_TIMEOUT_MS 20000

bool collector_split(const char *endpoint, bool has_tls_by_default, struct collector *collector)
{
    const char *scheme_end = strstr(endpoint, "://");
    const char *host = scheme_end ? scheme_end + 3 : endpoint;
    size_t user_len;
    const char *user = sanitize_find_user(endpoint, strlen(endpoint), &user_len);
    if (user)
        host = user + user_len + 1;
    size_t len = strcspn(host, "/?#");
    collector->is_tls = scheme_end ? strncasecmp(endpoint, "https", 5) == 0 : has_tls_by_default;
    const char *bracket = *host == '[' ? memchr(host, ']', len) : NULL;
    const char *after = bracket ? bracket : host;
    const char *colon = memrchr(after, ':', len - (size_t)(after - host));
    size_t host_len = bracket ? (size_t)(bracket - host - 1) : colon ? (size_t)(colon - host) : len;
    const char *port = colon ? colon + 1 : collector->is_tls ? "443" : "80";
    size_t port_len = colon ? len - (size_t)(port - host) : strlen(port);
    if (host_len == 0 || host_len >= sizeof collector->host || port_len >= sizeof collector->port)
        return false;
    snprintf(collector->host, sizeof collector->host, "%.*s", (int)host_len, host + (bracket ? 1 : 0));
    snprintf(collector->port, sizeof collector->port, "%.*s", (int)port_len, port);
    return true;
}

bool collector_is_exempt(const char *no_proxy, const char *host)
{
    size_t host_len = strlen(host);
    for (const char *at = no_proxy; at && *at;) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        const char *name = *at == '.' ? at + 1 : at;
        size_t name_len = len - (size_t)(name - at);
        if (len == 1 && *at == '*')
            return true;
        if (name_len > 0 && name_len <= host_len &&
            strncasecmp(host + host_len - name_len, name, name_len) == 0 &&
            (name_len == host_len || host[host_len - name_len - 1] == '.'))
            return true;
        at += len;
    }
    return false;
}

static void find_proxy(struct collector *collector)
{
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    const char *exempt = doctor_facts_variable("no_proxy") ? doctor_facts_variable("no_proxy")
                                                           : doctor_facts_variable("NO_PROXY");
    if (collector_is_exempt(exempt, collector->host))
        return;
    for (const char *const *name = collector->is_tls ? tls : plain; *name; name++) {
        if (!doctor_facts_variable(*name))
            continue;
        collector->proxy_variable = *name;
        sanitize_url(collector->proxy, sizeof collector->proxy, doctor_facts_variable(*name));
        return;
    }
}

struct collector_query {
    const struct doctor_api *api;
    const struct exporter_settings *exporter;
};

static void send_request(const void *query, void *answer)
{
    const struct collector_query *input = query;
    input->api->ask_collector(input->exporter, answer);
}

static struct collector *probe_collector(const struct doctor *doctor,
                                         const struct exporter_settings *exporter)
{
    struct collector *collector = xcalloc(1, sizeof *collector);
    bool is_grpc = exporter->kind == EXPORTER_OTLP_GRPC;
    collector->exporter = exporter;
    collector->is_grpc = is_grpc;
    sanitize_url(collector->url, sizeof collector->url, exporter->endpoint);
    if (!collector_split(exporter->endpoint, is_grpc && !exporter->insecure, collector)) {
        snprintf(collector->failure, sizeof collector->failure, "the endpoint has no host");
        return collector;
    }
    find_proxy(collector);
    reach_probe(collector->host, collector->port, "/", &collector->reach);
    if (!doctor->api || (!collector->reach.is_connected && !collector->proxy_variable))
        return collector;
    const struct collector_query query = {doctor->api, exporter};
    collector->has_answer = probe_child_run(send_request, &query, &collector->answer,
                                            sizeof collector->answer, ANSWER_TIMEOUT_MS, collector->failure);
    return collector;
}

const struct collector *collector_next(struct doctor *doctor, size_t *index)
{
    while (*index < doctor->settings.output_count) {
        size_t i = (*index)++;
        const struct exporter_settings *exporter = &doctor->settings.outputs[i].exporter;
        if (!exporter_is_otlp(exporter) || !exporter->endpoint)
            continue;
        if (!doctor->collectors[i])
            doctor->collectors[i] = probe_collector(doctor, exporter);
        return doctor->collectors[i];
    }
    return NULL;
}
