#include "agent/export/otlp/retry.h"

#include "base/clock.h"

void retry_init(struct retry *retry, uint32_t initial_ms, uint64_t seed)
{
    retry->initial_ns = (initial_ms ? initial_ms : RETRY_INITIAL_MS) * NS_PER_MS;
    retry->failures = 0;
    retry->random = seed | 1;
}

void retry_reset(struct retry *retry)
{
    retry->failures = 0;
}

static uint64_t next_random(struct retry *retry)
{
    uint64_t x = retry->random; /* xorshift64 */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return retry->random = x;
}

uint64_t retry_next_ns(struct retry *retry)
{
    uint64_t delay_ns = retry->initial_ns, max_ns = RETRY_MAX_MS * NS_PER_MS;
    for (uint32_t i = 0; i < retry->failures && delay_ns < max_ns; i++)
        delay_ns = delay_ns * 2 < max_ns ? delay_ns * 2 : max_ns;
    if (retry->failures < UINT32_MAX)
        retry->failures++;
    return delay_ns - next_random(retry) % (delay_ns / 2 + 1);
}

uint64_t retry_pause_ns(struct retry *retry, uint64_t server_ns, bool *server_asked)
{
    uint64_t pause_ns = retry_next_ns(retry);
    if (server_ns > RETRY_SERVER_MAX_MS * NS_PER_MS)
        server_ns = RETRY_SERVER_MAX_MS * NS_PER_MS;
    *server_asked = server_ns > pause_ns;
    return *server_asked ? server_ns : pause_ns;
}

bool retry_http_status(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}
