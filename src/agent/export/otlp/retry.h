/* Time of the next attempt: exponential backoff with jitter, and the server's Retry-After. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RETRY_INITIAL_MS    500
#define RETRY_MAX_MS        10000
#define RETRY_SERVER_MAX_MS 300000 /* limit of the server's delays */

struct retry {
    uint64_t initial_ns;
    uint32_t failures; /* in a row */
    uint64_t random;   /* state of the jitter */
};

/* `initial_ms` 0: RETRY_INITIAL_MS. More than RETRY_MAX_MS is also the maximum. */
void retry_init(struct retry *retry, uint32_t initial_ms, uint64_t seed);
void retry_reset(struct retry *retry);

/* The pause after one more failure. It doubles up to RETRY_MAX_MS, minus a random part of up to half, so that
 * the processes of a cluster do not retry at the same time. */
uint64_t retry_next_ns(struct retry *retry);

/* The same, but at least the server's delay `server_ns` (0: none), limited to RETRY_SERVER_MAX_MS. Sets
 * `server_asked` if that is the pause. */
uint64_t retry_pause_ns(struct retry *retry, uint64_t server_ns, bool *server_asked);

/* 429, 502, 503 and 504. */
bool retry_http_status(long status);
