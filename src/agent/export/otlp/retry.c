#include "agent/export/otlp/retry.h"

#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static uint64_t cut_seconds(int64_t seconds)
{
    if (seconds < 0)
        seconds = 0;
    if (seconds > RETRY_SERVER_MAX_MS / 1000)
        seconds = RETRY_SERVER_MAX_MS / 1000;
    return (uint64_t)seconds * NS_PER_SECOND;
}

static bool parse_seconds(const char *text, uint64_t *delay_ns)
{
    int64_t seconds = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++)
        if (seconds <= RETRY_SERVER_MAX_MS)
            seconds = seconds * 10 + (*text - '0');
    if (text[strspn(text, " \t")] != '\0')
        return false;
    *delay_ns = cut_seconds(seconds);
    return true;
}

static int month_number(const char *name)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(name, months + 3 * i, 3) == 0)
            return i;
    return -1;
}

/* Not strptime, which reads names in the host's locale. */
static bool parse_date(const char *text, struct tm *date)
{
    char month[4] = "";
    char zone[4] = "";
    int used = 0;
    const char *comma = strchr(text, ',');
    if (comma && sscanf(comma + 1, " %2d %3s %4d %2d:%2d:%2d %3s%n", &date->tm_mday, month, &date->tm_year,
                        &date->tm_hour, &date->tm_min, &date->tm_sec, zone, &used) == 7) {
        /* Sun, 06 Nov 1994 08:49:37 GMT */
    } else if (comma &&
               sscanf(comma + 1, " %2d-%3[A-Za-z]-%2d %2d:%2d:%2d %3s%n", &date->tm_mday, month,
                      &date->tm_year, &date->tm_hour, &date->tm_min, &date->tm_sec, zone, &used) == 7) {
        /* Sunday, 06-Nov-94 08:49:37 GMT */
        date->tm_year += date->tm_year < 70 ? 2000 : 1900;
    } else if (!comma && sscanf(text, "%*3s %3s %2d %2d:%2d:%2d %4d%n", month, &date->tm_mday, &date->tm_hour,
                                &date->tm_min, &date->tm_sec, &date->tm_year, &used) == 6) {
        /* Sun Nov  6 08:49:37 1994 */
        strcpy(zone, "GMT");
    } else {
        return false;
    }
    date->tm_mon = month_number(month);
    date->tm_year -= 1900;
    return date->tm_mon >= 0 && strcmp(zone, "GMT") == 0 && date->tm_hour < 24 && date->tm_min < 60 &&
           date->tm_sec <= 60 && date->tm_mday >= 1 && date->tm_mday <= 31;
}

bool retry_after_parse(const char *text, int64_t now_s, uint64_t *delay_ns)
{
    text += strspn(text, " \t");
    if (parse_seconds(text, delay_ns))
        return true;
    struct tm date = {0};
    if (!parse_date(text, &date))
        return false;
    *delay_ns = cut_seconds((int64_t)timegm(&date) - now_s);
    return true;
}

bool retry_http_status(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}
