/* Protects the host's files when the host closes all descriptors, including the module's, and reuses their
 * numbers: the module then neither writes to, reads from, nor closes them. */
#pragma once

#include "base/process/guarded_fd.h"

#include <curl/curl.h>
#include <stdbool.h>

#define CURL_SOCKETS_MAX 16

struct curl_sockets {
    /* The two ends of a socket pair. libcurl does not reveal its internal descriptors; if this pair is gone,
     * they are gone too. */
    struct guarded_fd wait, wake;
    struct guarded_fd open[CURL_SOCKETS_MAX];
};

/* If the process has no free descriptors, curl_sockets_wake has no effect. */
void curl_sockets_init(struct curl_sockets *sockets);
void curl_sockets_deinit(struct curl_sockets *sockets);

/* Registers callbacks for the sockets that libcurl opens and closes. */
void curl_sockets_follow(struct curl_sockets *sockets, CURL *easy);

/* Whether libcurl's sockets are still its own. If not, its handles must never be used or freed again. */
bool curl_sockets_are_ours(const struct curl_sockets *sockets);

/* Any thread. */
void curl_sockets_wake(const struct curl_sockets *sockets);

/* Replaces curl_multi_poll(), which uses a descriptor that cannot be checked. */
void curl_sockets_wait(const struct curl_sockets *sockets, CURLM *multi, int timeout_ms);
