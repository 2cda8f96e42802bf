#include "export/curl_module/curl_explain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OpenSSL's, which has the certificate's fault where libcurl has only "problem with the certificate". */
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

/* The variable that names a proxy for the URL, if there is one and the connection that failed was not to the
 * URL's own host. */
static const char *proxy_variable(CURL *easy, const char *detail)
{
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const secure[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
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
    if (strstr(detail, own))
        return NULL;
    for (const char *const *name = strncmp(url, "https", 5) == 0 ? secure : plain; *name; name++) {
        const char *value = secure_getenv(*name);
        if (value && *value)
            return *name;
    }
    return NULL;
}

static void explain_no_connection(CURL *easy, const char *detail, char *to, size_t size)
{
    long code = number(easy, CURLINFO_OS_ERRNO);
    const char *proxy = proxy_variable(easy, detail);
    if (code == 0) {
        snprintf(to, size, "%s", *detail ? detail : "no connection");
    } else {
        char reason[128];
        snprintf(to, size, "%s", strerror_r((int)code, reason, sizeof reason));
        to[0] = (char)tolower((unsigned char)to[0]);
    }
    size_t used = strlen(to);
    if (proxy)
        snprintf(to + used, size - used, " by the proxy of %s; what needs none stands in no_proxy", proxy);
}

static void explain_certificate(CURL *easy, const char *detail, char *to, size_t size)
{
    long fault = number(easy, CURLINFO_SSL_VERIFYRESULT);
    if (strstr(detail, "subject name")) /* libcurl compares it itself */
        snprintf(to, size, "the certificate is for another name (%s); set the endpoint to one of its names",
                 detail);
    else if (fault == VERIFY_TOO_EARLY || fault == VERIFY_HAS_EXPIRED)
        snprintf(
            to, size,
            "the certificate has expired or is not valid yet; renew it, or set this machine's clock right");
    else
        snprintf(to, size, "%s; " AUTHORITY " names the authority to trust", detail);
}

/* A handshake that failed, or, from TLS 1.3 on, what the server says of it with the first answer. */
static bool explain_tls(const char *detail, char *to, size_t size)
{
    static const char *const no_tls[] = {"wrong version number", "packet length too long", "http request",
                                         "record layer failure", NULL};
    static const char *const no_client[] = {"alert certificate required", "alert bad certificate",
                                            "alert unknown ca",           "alert handshake failure",
                                            "alert certificate expired",  NULL};
    if (has(detail, no_tls))
        snprintf(to, size, "the server speaks no TLS there; is the endpoint rather http:// than https://?");
    else if (has(detail, no_client))
        snprintf(to, size, "the server wants a client certificate that it trusts (%s); set " CLIENT_KEYS,
                 detail);
    else
        return false;
    return true;
}

/* A server that misses a client's certificate may be gone before its reason is read. */
static void explain_closed(CURL *easy, const char *detail, bool http2, char *to, size_t size)
{
    curl_off_t handshake = 0;
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &handshake);
    bool fresh_tls = handshake > 0 && number(easy, CURLINFO_NUM_CONNECTS) > 0;
    snprintf(to, size, "the connection was closed before an answer came (%s)%s%s", detail,
             http2 ? "; is it a gRPC endpoint, which speaks HTTP/2?" : "",
             fresh_tls ? "; if it wants a client certificate, set " CLIENT_KEYS : "");
}

void curl_explain_failure(CURL *easy, CURLcode code, const char *detail, bool http2, char *to, size_t size)
{
    long tunnel = number(easy, CURLINFO_HTTP_CONNECTCODE);
    if (!*detail)
        detail = curl_easy_strerror(code);
    if (tunnel >= 300) {
        snprintf(
            to, size,
            "the proxy answers HTTP %ld; check https_proxy (http_proxy for gRPC without TLS), or name the "
            "host in no_proxy",
            tunnel);
        return;
    }
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
        snprintf(to, size, "%s; " AUTHORITY " must name a file that can be read", detail);
        break;
    case CURLE_SSL_CERTPROBLEM:
        snprintf(to, size, "%s; " CLIENT_KEYS " must be a certificate and its own key, in PEM", detail);
        break;
    case CURLE_SSL_CONNECT_ERROR:
        if (!explain_tls(detail, to, size))
            snprintf(to, size, "no TLS connection (%s)", detail);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (strstr(detail, "HTTP/0.9"))
            snprintf(to, size,
                     "what listens there speaks no HTTP/1.1; OTLP/HTTP usually has port 4318, and for gRPC's "
                     "4317 set protocol to grpc");
        else
            snprintf(to, size, "%s", detail);
        break;
    case CURLE_OUT_OF_MEMORY:
        snprintf(to, size, "out of memory");
        break;
    default:
        snprintf(to, size, "%s", detail);
    }
}

void curl_explain_timeout(CURL *easy, char *to, size_t size)
{
    curl_off_t sending = 0, named = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sending);
    curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &named);
    if (sending > 0)
        snprintf(to, size, "no answer in time; is the collector overloaded, or timeout too short?");
    else if (named > 0)
        snprintf(to, size, "no connection in time; is the address right, and no firewall between?");
    else
        snprintf(to, size, "its name was not resolved in time");
}
