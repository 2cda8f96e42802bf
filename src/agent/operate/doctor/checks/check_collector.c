#include "agent/operate/doctor/collector.h"

#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/text.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

/* Calls `check` for each network output, or reports that there is none. */
static void for_each_collector(struct doctor *doctor,
                               void (*check)(struct doctor *, const struct collector *))
{
    const struct collector *collector;
    size_t index = 0, count = 0;
    while ((collector = collector_next(doctor, &index))) {
        check(doctor, collector);
        count++;
    }
    if (count == 0)
        doctor_result(doctor, RESULT_SKIPPED, "no output uses the network");
}

static bool is_accepted(const struct collector *collector)
{
    return collector->has_answer && collector->answer.is_accepted;
}

static void check_proxy(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    if (!collector->proxy_variable) {
        doctor_result(doctor, RESULT_OK, "no proxy for %s", collector->host);
    } else if (is_accepted(collector)) {
        doctor_result(doctor, RESULT_OK, "requests to %s use the proxy %s (%s), and succeed", collector->host,
                      collector->proxy, collector->proxy_variable);
    } else {
        doctor_result(doctor, RESULT_PROBLEM, "requests to %s use the proxy %s (%s), and fail: %s",
                      collector->host, collector->proxy, collector->proxy_variable,
                      answer->is_answered ? answer->status
                      : *answer->error    ? answer->error
                                          : collector->failure);
        doctor_fix(doctor, "export no_proxy=%s%s%s", collector->host,
                   doctor_facts_variable("no_proxy") ? "," : "",
                   doctor_facts_variable("no_proxy") ? doctor_facts_variable("no_proxy") : "");
    }
}

static void check_host(struct doctor *doctor, const struct collector *collector)
{
    const struct reach *reach = &collector->reach;
    char took[TEXT_NUMBER_BYTES];
    if (!*collector->host) {
        doctor_result(doctor, RESULT_PROBLEM, "%s: %s", collector->url, collector->failure);
        doctor_fix(doctor, "set the endpoint to http://HOST:4318");
    } else if (!reach->is_complete) {
        doctor_result(doctor, RESULT_PROBLEM, "cannot resolve %s: %s", collector->host, reach->failure);
        doctor_fix(doctor, "check the name servers in /etc/resolv.conf");
    } else if (reach->resolve_error != 0) {
        doctor_result(doctor, collector->proxy_variable ? RESULT_WARNING : RESULT_PROBLEM, "%s: %s",
                      collector->host, gai_strerror(reach->resolve_error));
        doctor_fix(doctor, "correct the endpoint's host name%s",
                   doctor_facts_container(doctor) ? ", or add it to the container's network" : "");
    } else {
        doctor_result(doctor, RESULT_OK, "%s resolves to %s (%u address%s, %s)", collector->host,
                      reach->address, reach->addresses, reach->addresses == 1 ? "" : "es",
                      text_duration(took, reach->resolve_ns, doctor->is_utf8));
    }
}

static void suggest_port_fix(struct doctor *doctor, const struct collector *collector)
{
    const char *host = collector->host;
    bool is_local =
        strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
    if (is_local && doctor_facts_container(doctor))
        doctor_fix(doctor,
                   "in a container, %s is the container itself; use the collector's service name, or "
                   "host.docker.internal",
                   host);
    else if (collector->reach.connect_errno == ECONNREFUSED)
        doctor_fix(doctor,
                   "start the collector, or correct the port (4318 for OTLP/HTTP, 4317 for OTLP/gRPC); to "
                   "try Jaeger: docker run -p 4318:4318 -p 16686:16686 jaegertracing/jaeger");
    else
        doctor_fix(doctor, "check for a firewall or a network policy that blocks %s port %s", host,
                   collector->port);
}

static void check_port(struct doctor *doctor, const struct collector *collector)
{
    const struct reach *reach = &collector->reach;
    char took[TEXT_NUMBER_BYTES];
    if (!reach->is_complete || reach->resolve_error != 0) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s: the host name does not resolve", collector->url);
    } else if (reach->is_connected) {
        doctor_result(doctor, RESULT_OK, "%s port %s accepts connections (%s)", reach->address,
                      collector->port, text_duration(took, reach->connect_ns, doctor->is_utf8));
    } else {
        doctor_result(doctor, collector->proxy_variable ? RESULT_WARNING : RESULT_PROBLEM, "%s port %s: %s",
                      reach->address, collector->port, strerror(reach->connect_errno));
        suggest_port_fix(doctor, collector);
    }
}

static void report_wrong_protocol(struct doctor *doctor, const struct collector *collector,
                                  const char *protocol, const char *fix)
{
    doctor_result(doctor, RESULT_PROBLEM, "%s: configured for %s%s, but port %s speaks %s", collector->url,
                  collector->is_grpc ? "gRPC" : "HTTP", collector->is_tls ? " over TLS" : " without TLS",
                  collector->port, protocol);
    doctor_fix(doctor, "%s", fix);
}

static void check_protocol(struct doctor *doctor, const struct collector *collector)
{
    enum protocol protocol = collector->reach.protocol;
    if (!collector->reach.is_connected) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s: no connection", collector->url);
    } else if (is_accepted(collector)) {
        doctor_result(doctor, RESULT_OK, "the server accepts OTLP/%s", collector->is_grpc ? "gRPC" : "HTTP");
    } else if (strcmp(collector->port, "16686") == 0) {
        report_wrong_protocol(
            doctor, collector, "Jaeger's web page",
            "send to port 4318 (HTTP) or 4317 (gRPC); 16686 is the web page that shows traces");
    } else if (!collector->is_tls && protocol == PROTOCOL_TLS) {
        report_wrong_protocol(doctor, collector, "TLS", "use https:// instead of http:// in the endpoint");
    } else if (collector->is_tls && protocol != PROTOCOL_TLS && protocol != PROTOCOL_UNKNOWN) {
        report_wrong_protocol(doctor, collector, "HTTP without TLS",
                              collector->is_grpc
                                  ? "put http:// before the endpoint's host, or set tls.insecure: true"
                                  : "use http:// instead of https:// in the endpoint");
    } else if (collector->is_grpc && protocol == PROTOCOL_HTTP1) {
        report_wrong_protocol(doctor, collector, "HTTP/1.1",
                              "use port 4317, or keep the port and set "
                              "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf (--protocol http/protobuf)");
    } else if (!collector->is_grpc && protocol == PROTOCOL_HTTP2) {
        report_wrong_protocol(
            doctor, collector, "HTTP/2 (gRPC)",
            "use port 4318, or keep the port and set OTEL_EXPORTER_OTLP_PROTOCOL=grpc (--protocol grpc)");
    } else if (collector->has_answer && collector->answer.is_answered) {
        doctor_result(doctor, RESULT_OK, "the server speaks %s, but rejects the request (collector.answer)",
                      collector->is_grpc ? "gRPC" : "HTTP");
    } else {
        doctor_result(doctor, RESULT_UNKNOWN, "port %s accepts connections but does not respond",
                      collector->port);
    }
}

static bool is_tls_error(const char *error)
{
    return strcasestr(error, "ssl") || strcasestr(error, "tls") || strcasestr(error, "certificate");
}

/* A server may report a missing client certificate by an alert after the handshake, or just close the
 * connection. The alert may get lost, which leaves only a closed connection. */
static bool is_disconnected(const struct collector *collector)
{
    const char *error = collector->answer.error;
    return collector->reach.protocol == PROTOCOL_TLS && !collector->exporter->client_certificate_file &&
           (strcasestr(error, "closed") || strcasestr(error, "reset") || strcasestr(error, "pipe"));
}

static void suggest_tls_fix(struct doctor *doctor, const char *error)
{
    if (strcasestr(error, "does not match") || strcasestr(error, "subject name") ||
        strcasestr(error, "hostname"))
        doctor_fix(doctor, "use the host name of the certificate, or issue a certificate for this host name");
    else if (strcasestr(error, "expired"))
        doctor_fix(doctor, "renew the collector's certificate, and check this machine's clock");
    else if (strcasestr(error, "client certificate") || strcasestr(error, "alert") ||
             strcasestr(error, "required") || !is_tls_error(error))
        doctor_fix(doctor, "the server requires a client certificate: set "
                           "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY");
    else
        doctor_fix(doctor,
                   "set OTEL_EXPORTER_OTLP_CERTIFICATE=ca.pem (tls.ca_file) to the CA that signed it");
}

/* A certificate or key file of the settings that cannot be read, with errno; else NULL. */
static const char *unreadable_file(const struct exporter_settings *exporter)
{
    const char *const files[] = {exporter->ca_file, exporter->client_certificate_file,
                                 exporter->client_key_file};
    for (size_t i = 0; i < 3; i++)
        if (files[i] && access(files[i], R_OK) != 0)
            return files[i];
    return NULL;
}

static void check_tls(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    const char *file = collector->is_tls ? unreadable_file(collector->exporter) : NULL;
    bool is_plain =
        collector->reach.protocol == PROTOCOL_HTTP1 || collector->reach.protocol == PROTOCOL_HTTP2;
    if (!collector->is_tls) {
        doctor_result(doctor, RESULT_SKIPPED, "%s does not use TLS", collector->url);
    } else if (file) {
        doctor_result(doctor, RESULT_PROBLEM, "%s: %s", file, strerror(errno));
        doctor_fix(doctor, "correct the path, or make the file readable for the program's user");
    } else if (collector->has_answer && answer->is_answered && !collector->exporter->verify) {
        doctor_result(doctor, RESULT_WARNING,
                      "the handshake succeeds, but the certificate is not verified: tls_verify is false");
        doctor_fix(doctor, "set tls_verify: true, and for a private CA OTEL_EXPORTER_OTLP_CERTIFICATE");
    } else if (collector->has_answer && answer->is_answered) {
        doctor_result(doctor, RESULT_OK, "the certificate is trusted by %s",
                      collector->exporter->ca_file ? collector->exporter->ca_file : "the system's CAs");
    } else if (collector->has_answer && !is_plain &&
               (is_tls_error(answer->error) || is_disconnected(collector))) {
        doctor_result(doctor, RESULT_PROBLEM, "%s: %s", collector->url, answer->error);
        suggest_tls_fix(doctor, answer->error);
    } else {
        doctor_result(doctor, RESULT_UNKNOWN, "%s: no TLS handshake took place%s%s", collector->url,
                      *answer->error ? ": " : "", answer->error);
    }
}

static void report_no_response(struct doctor *doctor, const struct collector *collector)
{
    const char *error = *collector->answer.error ? collector->answer.error : collector->failure;
    doctor_result(doctor, RESULT_PROBLEM, "%s: %s", collector->url, error);
    if (!collector->answer.has_module && collector->has_answer)
        doctor_fix(doctor, "reinstall cuspan (injection.module)");
    else
        doctor_fix(doctor, "check the results above for its %s, and the collector's log",
                   is_tls_error(error) ? "TLS" : "port and protocol");
}

static void check_answer(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    char took[TEXT_NUMBER_BYTES];
    if (!doctor->api) {
        doctor_result(doctor, RESULT_UNKNOWN,
                      "cannot send a request without libcuspan.so (injection.library)");
    } else if (!collector->reach.is_connected && !collector->proxy_variable) {
        const struct reach *reach = &collector->reach;
        doctor_result(doctor, RESULT_UNKNOWN, "%s: no connection: %s", collector->url,
                      !reach->is_complete    ? reach->failure
                      : reach->resolve_error ? gai_strerror(reach->resolve_error)
                                             : strerror(reach->connect_errno));
    } else if (!collector->has_answer || !answer->is_answered) {
        report_no_response(doctor, collector);
    } else if (answer->is_accepted) {
        doctor_result(doctor, RESULT_OK,
                      "%s accepts an empty export request with %zu custom header%s: %s in %s%s%s",
                      collector->url, collector->exporter->header_count,
                      collector->exporter->header_count == 1 ? "" : "s", answer->status,
                      text_duration(took, answer->took_ns, doctor->is_utf8), *answer->message ? ": " : "",
                      answer->message);
    } else {
        doctor_result(doctor, RESULT_PROBLEM, "%s rejects an empty export request: %s%s%s", collector->url,
                      answer->status, *answer->message ? ": " : "", answer->message);
        doctor_fix(doctor, "%s", *answer->hint ? answer->hint : "check the collector's log");
    }
}

static void check_jaeger(struct doctor *doctor, const struct collector *collector)
{
    struct reach page;
    if (!collector->reach.is_connected) {
        doctor_result(doctor, RESULT_SKIPPED, "no connection to the collector");
        return;
    }
    reach_probe(collector->host, "16686", "/api/services", &page);
    if (!page.is_connected) {
        doctor_result(doctor, RESULT_SKIPPED, "nothing listens on %s port 16686", collector->host);
    } else if (strstr(page.first_line, " 200")) {
        doctor_result(doctor, RESULT_OK, "Jaeger responds at http://%s:16686", collector->host);
    } else {
        doctor_result(doctor, RESULT_WARNING, "%s port 16686 responds with %s", collector->host,
                      *page.first_line ? page.first_line : "no HTTP response");
        doctor_fix(doctor, "check Jaeger's log: it may receive spans without showing them");
    }
}

#define CHECK_EACH_COLLECTOR(name)                                                                           \
    void check_collector_##name(struct doctor *doctor)                                                       \
    {                                                                                                        \
        for_each_collector(doctor, check_##name);                                                            \
    }
CHECK_EACH_COLLECTOR(proxy)
CHECK_EACH_COLLECTOR(host)
CHECK_EACH_COLLECTOR(port)
CHECK_EACH_COLLECTOR(protocol)
CHECK_EACH_COLLECTOR(tls)
CHECK_EACH_COLLECTOR(answer)
CHECK_EACH_COLLECTOR(jaeger)
