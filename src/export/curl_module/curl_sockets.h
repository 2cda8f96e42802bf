/* The module's descriptors in a host that may close all descriptors, and have files of its own under their
 * numbers then: those get none of our bytes, lose none of theirs, and are not closed by us. */
#ifndef CUSPAN_EXPORT_CURL_MODULE_CURL_SOCKETS_H
#define CUSPAN_EXPORT_CURL_MODULE_CURL_SOCKETS_H

#include "base/process/guarded_fd.h"

#include <curl/curl.h>
#include <stdbool.h>

#define CURL_SOCKETS_MAX 16

struct curl_sockets {
    /* Made beside libcurl's handle, whose own descriptors can't be asked for: where this one has gone, they
     * have. The one end is waited for, the other wakes. */
    struct guarded_fd wait, wake;
    struct guarded_fd open[CURL_SOCKETS_MAX];
};

/* Without descriptors left in the process it has no way to be woken, and does without. */
void curl_sockets_init(struct curl_sockets *sockets);
void curl_sockets_deinit(struct curl_sockets *sockets);

/* Has libcurl tell of the sockets that it opens and closes. */
void curl_sockets_follow(struct curl_sockets *sockets, CURL *easy);

/* Whether libcurl may go on with what it has open. If not, its handles are to be left as they are for good.
 */
bool curl_sockets_are_ours(const struct curl_sockets *sockets);

/* Any thread. */
void curl_sockets_wake(const struct curl_sockets *sockets);

/* As curl_multi_poll(), which reads and writes a descriptor that can't be checked. */
void curl_sockets_wait(const struct curl_sockets *sockets, CURLM *multi, int timeout_ms);

#endif
