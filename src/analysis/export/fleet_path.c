#include "analysis/export/fleet_path.h"

#include "base/text/utf8.h"
#include "cli/util/int_map.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define HOURS_PER_DAY    24
#define SECONDS_PER_HOUR 3600

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = int_map_mix(hash ^ (unsigned char)*text);
    return hash;
}

/* As in URLs, which is how engines read the names of partitions. */
static void add_service(struct text *path, const char *service)
{
    size_t begin = path->len, left = 0; /* of the current character, which stays whole */
    for (const char *at = service; *at; at++, left--) {
        left = left ? left : utf8_next((const uint8_t *)at, strlen(at)).len;
        if (path->len - begin + 3 * left > FLEET_SERVICE_MAX) {
            text_add_format(path, "~%016" PRIx64, hash_of(service));
            return;
        }
        if (is_plain(*at))
            text_add_bytes(path, at, 1);
        else
            text_add_format(path, "%%%02X", (unsigned char)*at);
    }
}

void fleet_path_add_partition(struct text *path, uint64_t hour, const char *service)
{
    char date[32];
    time_t seconds = (time_t)(hour / HOURS_PER_DAY * HOURS_PER_DAY * SECONDS_PER_HOUR);
    struct tm day;
    gmtime_r(&seconds, &day);
    strftime(date, sizeof date, "%Y-%m-%d", &day);
    text_add_format(path, "date=%s/hour=%02u/service=", date, (unsigned)(hour % HOURS_PER_DAY));
    if (service && *service)
        add_service(path, service);
    else
        text_add(path, FLEET_NO_SERVICE);
}
