/* Explains why a request failed, and what to do about it. Part of the export module only. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* The name of the environment variable with the proxy for the URL, or NULL. */
const char *curl_explain_proxy_variable(const char *url);

/* `detail`: libcurl's message, or ""; may contain text from the server. `http2`: it is required. */
void curl_explain_failure(CURL *easy, CURLcode code, const char *detail, bool http2, char *to, size_t size);

/* The request failed because of the client's certificate or key. False: it is not that the key has a pass
 * phrase. */
bool curl_explain_locked_key(const char *path, char *to, size_t size);

/* The request did not finish before its deadline. */
void curl_explain_timeout(CURL *easy, char *to, size_t size);
