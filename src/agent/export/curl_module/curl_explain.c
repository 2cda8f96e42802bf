#include "agent/export/curl_module/curl_explain.h"

#include "base/files.h"
#include "agent/export/curl_module/module_libc.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* X509_V_ERR codes of OpenSSL: libcurl itself reports only "problem with the certificate". */
#define VERIFY_TOO_EARLY   9
#define VERIFY_HAS_EXPIRED 10

#define CLIENT_KEYS "cert_file and key_file (OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY)"
#define AUTHORITY   "ca_file (OTEL_EXPORTER_OTLP_CERTIFICATE)"

static long number(CURL *easy, CURLINFO which)
{
    long value = 0;
    curl_easy_getinfo(easy, which, &value);
    return value;
}

static bool has(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(text, *parts))
            return true;
    return false;
}

/* Not HTTP_PROXY, which a CGI program's caller controls. */
const char *curl_explain_proxy_variable(const char *url)
{
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const secure[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    for (const char *const *name = strncasecmp(url, "https", 5) == 0 ? secure : plain; *name; name++)
        if (module_libc_variable(*name))
            return *name;
    return NULL;
}

/* The variable with the proxy that was used. NULL: none, or the failed connection was to the URL's own host.
 */
static const char *proxy_variable(CURL *easy, const char *detail)
{
    const char *url = NULL;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    if (!url)
        return NULL;
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL, own[300] = "";
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        snprintf(own, sizeof own, " to %s port %s ", host, port);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return strstr(detail, own) ? NULL : curl_explain_proxy_variable(url);
}

/* libcurl tells the error of the last address. Without IPv6, as in many containers, that is often the IPv6
 * address of localhost, which hides that the other one was refused. */
static bool lacks_ipv6(CURL *easy, long code)
{
    const struct sockaddr_in6 self = {
        .sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const char *url = NULL;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    if (code != EADDRNOTAVAIL || !url || strstr(url, "://["))
        return false;
    int probe = high_fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)); /* sends nothing */
    bool lacks = probe < 0 || connect(probe, (const struct sockaddr *)&self, sizeof self) != 0;
    if (probe >= 0)
        close(probe);
    return lacks;
}

static void explain_no_connection(CURL *easy, const char *detail, char *to, size_t size)
{
    long code = number(easy, CURLINFO_OS_ERRNO);
    const char *proxy = proxy_variable(easy, detail);
    if (lacks_ipv6(easy, code)) {
        snprintf(to, size, "connection refused or not possible by IPv4, and this machine has no IPv6");
    } else if (code == 0) {
        snprintf(to, size, "%s", *detail ? detail : "no connection");
    } else {
        char reason[128];
        snprintf(to, size, "%s", strerror_r((int)code, reason, sizeof reason));
        to[0] = (char)tolower((unsigned char)to[0]);
    }
    size_t used = strlen(to);
    if (proxy)
        snprintf(to + used, size - used, " by the proxy of %s; add hosts that need no proxy to no_proxy",
                 proxy);
}

static void explain_certificate(CURL *easy, const char *detail, char *to, size_t size)
{
    long fault = number(easy, CURLINFO_SSL_VERIFYRESULT);
    if (strstr(detail, "subject name")) /* checked by libcurl, not by OpenSSL */
        snprintf(to, size, "the certificate is for another name (%s); set the endpoint to one of its names",
                 detail);
    else if (fault == VERIFY_TOO_EARLY || fault == VERIFY_HAS_EXPIRED)
        snprintf(
            to, size,
            "the certificate has expired or is not valid yet; renew it, or correct this machine's clock");
    else
        snprintf(to, size, "%s; set " AUTHORITY " to the certificate authority of the server", detail);
}

/* A failed handshake, or with TLS 1.3 the alert that follows it. */
static bool explain_tls(const char *detail, char *to, size_t size)
{
    static const char *const no_tls[] = {"wrong version number", "packet length too long", "http request",
                                         "record layer failure", NULL};
    static const char *const no_client[] = {"alert certificate required", "alert bad certificate",
                                            "alert unknown ca",           "alert handshake failure",
                                            "alert certificate expired",  NULL};
    if (has(detail, no_tls))
        snprintf(to, size, "the server does not use TLS; set the endpoint to http:// instead of https://");
    else if (has(detail, no_client))
        snprintf(to, size, "the server requires a client certificate that it trusts (%s); set " CLIENT_KEYS,
                 detail);
    else
        return false;
    return true;
}

/* A server that requires a client certificate may close the connection before its alert is read. */
static void explain_closed(CURL *easy, const char *detail, bool http2, char *to, size_t size)
{
    curl_off_t handshake = 0;
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &handshake);
    bool fresh_tls = handshake > 0 && number(easy, CURLINFO_NUM_CONNECTS) > 0;
    snprintf(to, size, "the connection was closed before a response arrived (%s)%s%s", detail,
             http2 ? "; check that the endpoint supports gRPC over HTTP/2" : "",
             fresh_tls ? "; if it requires a client certificate, set " CLIENT_KEYS : "");
}

static void explain_protocol(const char *detail, char *to, size_t size)
{
    if (strstr(detail, "HTTP/0.9"))
        snprintf(to, size,
                 "the server does not speak HTTP/1.1; OTLP/HTTP usually uses port 4318, and for gRPC on 4317 "
                 "set protocol to grpc");
    else
        snprintf(to, size, "%s", detail);
}

static void explain_code(CURL *easy, CURLcode code, const char *detail, bool http2, char *to, size_t size)
{
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        explain_no_connection(easy, detail, to, size);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        curl_explain_timeout(easy, to, size);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        if (!explain_tls(detail, to, size))
            explain_closed(easy, detail, http2, to, size);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        explain_certificate(easy, detail, to, size);
        break;
    case CURLE_SSL_CACERT_BADFILE:
        snprintf(to, size, "%s; set " AUTHORITY " to a readable file", detail);
        break;
    case CURLE_SSL_CERTPROBLEM:
        snprintf(to, size, "%s; set " CLIENT_KEYS " to a certificate and its own key, in PEM", detail);
        break;
    case CURLE_SSL_CONNECT_ERROR:
        if (!explain_tls(detail, to, size))
            snprintf(to, size, "no TLS connection (%s)", detail);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
        explain_protocol(detail, to, size);
        break;
    case CURLE_OUT_OF_MEMORY:
        snprintf(to, size, "out of memory");
        break;
    default:
        snprintf(to, size, "%s", detail);
    }
}

void curl_explain_failure(CURL *easy, CURLcode code, const char *detail, bool http2, char *to, size_t size)
{
    long tunnel_status = number(easy, CURLINFO_HTTP_CONNECTCODE);
    if (tunnel_status >= 300)
        snprintf(
            to, size,
            "the proxy returned HTTP %ld; check https_proxy (http_proxy for gRPC without TLS), or add the "
            "host to no_proxy",
            tunnel_status);
    else
        explain_code(easy, code, *detail ? detail : curl_easy_strerror(code), http2, to, size);
}

void curl_explain_timeout(CURL *easy, char *to, size_t size)
{
    curl_off_t sending = 0, named = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sending);
    curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &named);
    if (sending > 0)
        snprintf(to, size, "no response in time; check the collector's load, or raise timeout");
    else if (named > 0)
        snprintf(to, size, "no connection in time; check the address and firewalls");
    else
        snprintf(to, size, "the host name was not resolved in time; check the DNS server");
}

/* PEM: "BEGIN ENCRYPTED PRIVATE KEY", or "Proc-Type: 4,ENCRYPTED" in the older format. */
bool curl_explain_locked_key(const char *path, char *to, size_t size)
{
    char line[128];
    bool is_locked = false;
    FILE *file = path ? files_open_stream(path) : NULL;
    while (file && !is_locked && fgets(line, sizeof line, file))
        is_locked = strstr(line, "BEGIN ENCRYPTED PRIVATE KEY") || strstr(line, "4,ENCRYPTED");
    if (file)
        fclose(file);
    if (is_locked)
        snprintf(to, size,
                 "the client's key %.200s has a pass phrase, which cuspan cannot ask for; set key_file "
                 "(OTEL_EXPORTER_OTLP_CLIENT_KEY) to a key without one (openssl pkey -in KEY -out NEW)",
                 path);
    return is_locked;
}
