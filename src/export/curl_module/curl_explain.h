/* Why a request came to nothing, in words that say what to do. In the module alone. */
#ifndef CUSPAN_EXPORT_CURL_MODULE_CURL_EXPLAIN_H
#define CUSPAN_EXPORT_CURL_MODULE_CURL_EXPLAIN_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* `detail`: libcurl's own words, or "". A server's may be among them. `http2`: nothing less would do. */
void curl_explain_failure(CURL *easy, CURLcode code, const char *detail, bool http2, char *to, size_t size);

/* The time is over, and the request still under way. */
void curl_explain_timeout(CURL *easy, char *to, size_t size);

#endif
