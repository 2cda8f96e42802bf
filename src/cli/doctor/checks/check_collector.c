#include "cli/doctor/collector.h"

#include "cli/doctor/checks.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/util/text.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

static bool is_local(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* For each output over the network, or a line that says why there is none. */
static void each(struct doctor *doctor, void (*judge)(struct doctor *, const struct collector *))
{
    const struct collector *collector;
    size_t index = 0, count = 0;
    while ((collector = collector_next(doctor, &index))) {
        judge(doctor, collector);
        count++;
    }
    if (!doctor->has_settings)
        doctor_say(doctor, FOUND_UNKNOWN, "the configuration is wrong (configuration.check)");
    else if (count == 0)
        doctor_say(doctor, FOUND_NOT_HERE, "no output goes over the network");
}

/* --- proxy --- */

static bool is_well(const struct collector *collector)
{
    return collector->has_answer && collector->answer.is_accepted;
}

static void judge_proxy(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    if (!collector->proxy_variable) {
        doctor_say(doctor, FOUND_OK, "none for %s", collector->host);
    } else if (is_well(collector)) {
        doctor_say(doctor, FOUND_OK, "%s goes by %s (%s), and arrives", collector->host, collector->proxy,
                   collector->proxy_variable);
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "%s goes by %s (%s), and fails there: %s", collector->host,
                   collector->proxy, collector->proxy_variable,
                   answer->is_answered ? answer->status
                   : *answer->error    ? answer->error
                                       : collector->how);
        doctor_mend(doctor, "export no_proxy=%s%s%s", collector->host,
                    doctor_facts_variable("no_proxy") ? "," : "",
                    doctor_facts_variable("no_proxy") ? doctor_facts_variable("no_proxy") : "");
    }
}

void check_collector_proxy(struct doctor *doctor)
{
    each(doctor, judge_proxy);
}

/* --- host and port --- */

static void judge_host(struct doctor *doctor, const struct collector *collector)
{
    const struct reach *reach = &collector->reach;
    char took[TEXT_NUMBER_BYTES];
    if (!*collector->host) {
        doctor_say(doctor, FOUND_PROBLEM, "%s: %s", collector->url, collector->how);
        doctor_mend(doctor, "write the endpoint as http://HOST:4318");
    } else if (!reach->is_asked) {
        doctor_say(doctor, FOUND_PROBLEM, "%s: the resolver gives no answer: %s", collector->host,
                   reach->how);
        doctor_mend(doctor, "check the name servers in /etc/resolv.conf");
    } else if (reach->resolve_error != 0) {
        doctor_say(doctor, collector->proxy_variable ? FOUND_WARNING : FOUND_PROBLEM, "%s: %s",
                   collector->host, gai_strerror(reach->resolve_error));
        doctor_mend(doctor, "correct the endpoint's host%s",
                    doctor_facts_container(doctor) ? "; in a container, its network must know that name"
                                                   : "");
    } else {
        doctor_say(doctor, FOUND_OK, "%s is %s (%u address%s, %s)", collector->host, reach->address,
                   reach->addresses, reach->addresses == 1 ? "" : "es",
                   text_duration(took, reach->resolve_ns, doctor->is_utf8));
    }
}

void check_collector_host(struct doctor *doctor)
{
    each(doctor, judge_host);
}

static void mend_port(struct doctor *doctor, const struct collector *collector)
{
    if (is_local(collector->host) && doctor_facts_container(doctor))
        doctor_mend(doctor,
                    "in a container %s is the container itself: name the collector's host (its service, or "
                    "host.docker.internal)",
                    collector->host);
    else if (collector->reach.connect_errno == ECONNREFUSED)
        doctor_mend(doctor,
                    "start the collector, or correct the port (OTLP: 4318 by HTTP, 4317 by gRPC); docker run "
                    "-p 4318:4318 -p 16686:16686 jaegertracing/jaeger is one");
    else
        doctor_mend(doctor, "look for a firewall or a network policy between here and %s port %s",
                    collector->host, collector->port);
}

static void judge_port(struct doctor *doctor, const struct collector *collector)
{
    const struct reach *reach = &collector->reach;
    char took[TEXT_NUMBER_BYTES];
    if (!reach->is_asked || reach->resolve_error != 0) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s: the host isn't known", collector->url);
    } else if (reach->is_connected) {
        doctor_say(doctor, FOUND_OK, "%s port %s takes connections (%s)", reach->address, collector->port,
                   text_duration(took, reach->connect_ns, doctor->is_utf8));
    } else {
        doctor_say(doctor, collector->proxy_variable ? FOUND_WARNING : FOUND_PROBLEM, "%s port %s: %s",
                   reach->address, collector->port, strerror(reach->connect_errno));
        mend_port(doctor, collector);
    }
}

void check_collector_port(struct doctor *doctor)
{
    each(doctor, judge_port);
}

/* --- protocol --- */

static void say_protocol(struct doctor *doctor, const struct collector *collector, const char *spoken,
                         const char *mend)
{
    doctor_say(doctor, FOUND_PROBLEM, "%s: cuspan is to speak %s%s, and %s is spoken at port %s",
               collector->url, collector->is_grpc ? "gRPC" : "HTTP",
               collector->is_tls ? " over TLS" : " without TLS", spoken, collector->port);
    doctor_mend(doctor, "%s", mend);
}

static void judge_protocol(struct doctor *doctor, const struct collector *collector)
{
    enum spoken spoken = collector->reach.spoken;
    if (!collector->reach.is_connected) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s: no connection, so nothing is spoken", collector->url);
    } else if (is_well(collector)) {
        doctor_say(doctor, FOUND_OK, "OTLP by %s is understood", collector->is_grpc ? "gRPC" : "HTTP");
    } else if (strcmp(collector->port, "16686") == 0) {
        say_protocol(doctor, collector, "what Jaeger's page needs",
                     "send to port 4318 (HTTP) or 4317 (gRPC); 16686 is where traces are looked at");
    } else if (!collector->is_tls && spoken == SPEAKS_TLS) {
        say_protocol(doctor, collector, "TLS", "write https:// in place of http:// in the endpoint");
    } else if (collector->is_tls && spoken != SPEAKS_TLS && spoken != SPEAKS_NOTHING) {
        say_protocol(doctor, collector, "HTTP without TLS",
                     collector->is_grpc ? "write http:// before the endpoint's host (or tls.insecure: true)"
                                        : "write http:// in place of https:// in the endpoint");
    } else if (collector->is_grpc && spoken == SPEAKS_HTTP1) {
        say_protocol(doctor, collector, "HTTP/1.1",
                     "send by gRPC to port 4317, or keep the port: OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf "
                     "(--protocol http/protobuf)");
    } else if (!collector->is_grpc && spoken == SPEAKS_HTTP2) {
        say_protocol(doctor, collector, "HTTP/2, so gRPC",
                     "send by HTTP to port 4318, or keep the port: OTEL_EXPORTER_OTLP_PROTOCOL=grpc "
                     "(--protocol grpc)");
    } else if (collector->has_answer && collector->answer.is_answered) {
        doctor_say(doctor, FOUND_OK, "%s is spoken there; what was asked is refused (collector.answer)",
                   collector->is_grpc ? "gRPC" : "HTTP");
    } else {
        doctor_say(doctor, FOUND_UNKNOWN, "port %s takes connections and says nothing", collector->port);
    }
}

void check_collector_protocol(struct doctor *doctor)
{
    each(doctor, judge_protocol);
}

/* --- TLS --- */

static bool is_of_tls(const char *error)
{
    return strcasestr(error, "ssl") || strcasestr(error, "tls") || strcasestr(error, "certificate");
}

/* A server that misses the client's certificate says so by an alert after the handshake, or just goes: the
 * alert may be lost then, and what is left is a connection that ended. */
static bool has_gone(const struct collector *collector)
{
    const char *error = collector->answer.error;
    return collector->reach.spoken == SPEAKS_TLS && !collector->exporter->client_certificate_file &&
           (strcasestr(error, "closed") || strcasestr(error, "reset") || strcasestr(error, "pipe"));
}

static void mend_tls(struct doctor *doctor, const char *error)
{
    if (strcasestr(error, "does not match") || strcasestr(error, "subject name") ||
        strcasestr(error, "hostname"))
        doctor_mend(doctor,
                    "name the collector as its certificate does, or have that name put into the certificate");
    else if (strcasestr(error, "expired"))
        doctor_mend(doctor, "have the collector's certificate renewed (and check this machine's clock)");
    else if (strcasestr(error, "client certificate") || strcasestr(error, "alert") ||
             strcasestr(error, "required") || !is_of_tls(error))
        doctor_mend(
            doctor,
            "the server asks for a client's certificate: set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and "
            "OTEL_EXPORTER_OTLP_CLIENT_KEY");
    else
        doctor_mend(doctor,
                    "name the authority that signed it: OTEL_EXPORTER_OTLP_CERTIFICATE=ca.pem (tls.ca_file)");
}

/* A file of the settings that can't be read, or NULL. */
static const char *unreadable_file(const struct exporter_settings *exporter)
{
    const char *const files[] = {exporter->ca_file, exporter->client_certificate_file,
                                 exporter->client_key_file};
    for (size_t i = 0; i < 3; i++)
        if (files[i] && access(files[i], R_OK) != 0)
            return files[i];
    return NULL;
}

static void judge_tls(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    const char *file = collector->is_tls ? unreadable_file(collector->exporter) : NULL;
    bool speaks_none = collector->reach.spoken == SPEAKS_HTTP1 || collector->reach.spoken == SPEAKS_HTTP2;
    if (!collector->is_tls) {
        doctor_say(doctor, FOUND_NOT_HERE, "%s has none", collector->url);
    } else if (file) {
        doctor_say(doctor, FOUND_PROBLEM, "%s: %s", file, strerror(errno));
        doctor_mend(doctor, "correct the path, or make it readable to the program's user");
    } else if (collector->has_answer && answer->is_answered && !collector->exporter->verify) {
        doctor_say(doctor, FOUND_WARNING,
                   "the handshake works, and nobody checks the certificate: tls_verify is false");
        doctor_mend(
            doctor,
            "set tls_verify: true, and OTEL_EXPORTER_OTLP_CERTIFICATE where the authority is your own");
    } else if (collector->has_answer && answer->is_answered) {
        doctor_say(doctor, FOUND_OK, "the certificate is one that %s vouches for",
                   collector->exporter->ca_file ? collector->exporter->ca_file : "the system");
    } else if (collector->has_answer && !speaks_none && (is_of_tls(answer->error) || has_gone(collector))) {
        doctor_say(doctor, FOUND_PROBLEM, "%s: %s", collector->url, answer->error);
        mend_tls(doctor, answer->error);
    } else {
        doctor_say(doctor, FOUND_UNKNOWN, "%s: it didn't come to a handshake%s%s", collector->url,
                   *answer->error ? ": " : "", answer->error);
    }
}

void check_collector_tls(struct doctor *doctor)
{
    each(doctor, judge_tls);
}

/* --- the answer --- */

static void say_unanswered(struct doctor *doctor, const struct collector *collector)
{
    const char *error = *collector->answer.error ? collector->answer.error : collector->how;
    doctor_say(doctor, FOUND_PROBLEM, "%s: %s", collector->url, error);
    if (!collector->answer.has_module && collector->has_answer)
        doctor_mend(doctor, "install cuspan again (injection.module)");
    else
        doctor_mend(doctor, "look at the lines above on its %s, and at the collector's log",
                    is_of_tls(error) ? "TLS" : "port and protocol");
}

static const char *why_unconnected(const struct reach *reach)
{
    if (!reach->is_asked)
        return reach->how;
    return reach->resolve_error != 0 ? gai_strerror(reach->resolve_error) : strerror(reach->connect_errno);
}

static void judge_answer(struct doctor *doctor, const struct collector *collector)
{
    const struct doctor_answer *answer = &collector->answer;
    char took[TEXT_NUMBER_BYTES];
    if (!doctor->api) {
        doctor_say(doctor, FOUND_UNKNOWN, "the agent's library can't ask (injection.library)");
    } else if (!collector->reach.is_connected && !collector->proxy_variable) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s: no connection, so nobody to ask: %s", collector->url,
                   why_unconnected(&collector->reach));
    } else if (!collector->has_answer || !answer->is_answered) {
        say_unanswered(doctor, collector);
    } else if (answer->is_accepted) {
        doctor_say(doctor, FOUND_OK,
                   "%s accepts an empty export request with %zu header%s of yours: %s in %s%s%s",
                   collector->url, collector->exporter->header_count,
                   collector->exporter->header_count == 1 ? "" : "s", answer->status,
                   text_duration(took, answer->took_ns, doctor->is_utf8), *answer->message ? ": " : "",
                   answer->message);
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "%s refuses an empty export request: %s%s%s", collector->url,
                   answer->status, *answer->message ? ": " : "", answer->message);
        doctor_mend(doctor, "%s",
                    *answer->hint ? answer->hint : "look at the collector's log, which says more");
    }
}

void check_collector_answer(struct doctor *doctor)
{
    each(doctor, judge_answer);
}

/* --- Jaeger --- */

static void judge_jaeger(struct doctor *doctor, const struct collector *collector)
{
    struct reach page;
    if (!collector->reach.is_connected) {
        doctor_say(doctor, FOUND_NOT_HERE, "no collector, so nothing beside it");
        return;
    }
    reach_ask(collector->host, "16686", "/api/services", &page);
    if (!page.is_connected) {
        doctor_say(doctor, FOUND_NOT_HERE, "nobody listens at %s port 16686", collector->host);
    } else if (strstr(page.first, " 200")) {
        doctor_say(doctor, FOUND_OK, "traces are at http://%s:16686", collector->host);
    } else {
        doctor_say(doctor, FOUND_WARNING, "%s port 16686 answers %s", collector->host,
                   *page.first ? page.first : "nothing in HTTP");
        doctor_mend(doctor, "look at Jaeger's log: spans may arrive and not be shown");
    }
}

void check_collector_jaeger(struct doctor *doctor)
{
    each(doctor, judge_jaeger);
}
