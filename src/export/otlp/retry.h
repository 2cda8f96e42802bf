/* When to try again: exponential backoff with jitter, and what servers ask for. No state but the caller's. */
#ifndef CUSPAN_EXPORT_OTLP_RETRY_H
#define CUSPAN_EXPORT_OTLP_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_INITIAL_MS 500
#define RETRY_MAX_MS     10000
#define RETRY_SERVER_MAX_MS                                                                                  \
    300000 /* of a Retry-After; a collector that is gone for longer gets asked again */

struct retry {
    uint64_t initial_ns;
    uint32_t failures; /* in a row */
    uint64_t random;   /* state of the jitter */
};

/* `initial_ms` 0: RETRY_INITIAL_MS. */
void retry_init(struct retry *retry, uint32_t initial_ms, uint64_t seed);
void retry_reset(struct retry *retry);

/* The pause after one more failure: doubles from the initial one up to RETRY_MAX_MS, and a random part of up
 * to half is taken off, so that the processes of a cluster don't come back all at once. */
uint64_t retry_next_ns(struct retry *retry);

/* The same, and no shorter than `server_ns`, for which the server asks (0: for nothing), cut at
 * RETRY_SERVER_MAX_MS: it may ask for patience, not for haste. `server_asked`: the pause is the server's. */
uint64_t retry_pause_ns(struct retry *retry, uint64_t server_ns, bool *server_asked);

/* A Retry-After header: seconds, or an HTTP date (in the form that is sent today, or the two that may still
 * be read), against the time `now_s` since 1970. False when it is neither. Cut at RETRY_SERVER_MAX_MS; a date
 * in the past is 0. */
bool retry_after_parse(const char *text, int64_t now_s, uint64_t *delay_ns);

/* 429, 502, 503 and 504, and no other. */
bool retry_http_status(long status);

#endif
