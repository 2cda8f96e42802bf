#include "agent/core/resource/detect.h"

#include "base/files.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES  256
#define LINES_MAX   512    /* nodes of clusters may have many routes; the default one comes first */
#define NAME_FORMAT "%15s" /* IFNAMSIZ - 1 */

static FILE *open_table(const char *root, const char *name)
{
    char path[LINE_BYTES];
    snprintf(path, sizeof path, "%s/proc/net/%s", root, name);
    return files_open_stream(path);
}

/* "Iface Destination Gateway Flags RefCnt Use Metric Mask ...", in hexadecimal. Of several default routes,
 * the one with the lowest metric. */
static bool find_interface(const char *root, char name[IFNAMSIZ])
{
    char line[LINE_BYTES], found[IFNAMSIZ];
    unsigned destination, mask, metric, best = 0;
    bool has_default = false;
    FILE *routes = open_table(root, "route");
    *name = '\0';
    for (unsigned i = 0; routes && i < LINES_MAX && fgets(line, sizeof line, routes); i++) {
        if (sscanf(line, NAME_FORMAT " %x %*x %*x %*u %*u %u %x", found, &destination, &metric, &mask) != 4)
            continue;
        bool is_default = destination == 0 && mask == 0;
        if (is_default ? has_default && metric >= best : *name)
            continue;
        strcpy(name, found);
        best = metric;
        has_default |= is_default;
    }
    if (routes)
        fclose(routes);
    return *name;
}

static bool find_ipv4(const char *name, char address[HOST_ADDRESS_BYTES])
{
    struct ifreq request = {0};
    int asked = high_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    bool is_found = asked >= 0 && ioctl(asked, SIOCGIFADDR, &request) == 0;
    if (asked >= 0)
        close(asked);
    struct sockaddr_in found;
    memcpy(&found, &request.ifr_addr, sizeof found);
    return is_found && inet_ntop(AF_INET, &found.sin_addr, address, HOST_ADDRESS_BYTES);
}

/* "ADDRESS INDEX PREFIX SCOPE FLAGS Iface": the first one that is global. */
static bool find_ipv6(const char *root, char address[HOST_ADDRESS_BYTES])
{
    char line[LINE_BYTES], text[40];
    unsigned scope;
    bool is_found = false;
    FILE *addresses = open_table(root, "if_inet6");
    for (unsigned i = 0; addresses && !is_found && i < LINES_MAX && fgets(line, sizeof line, addresses);
         i++) {
        struct in6_addr binary;
        if (sscanf(line, "%32s %*x %*x %x", text, &scope) != 2 || scope != 0 || strlen(text) != 32)
            continue;
        for (unsigned byte = 0; byte < sizeof binary.s6_addr; byte++) {
            unsigned value = 0;
            sscanf(text + 2 * byte, "%2x", &value);
            binary.s6_addr[byte] = (uint8_t)value;
        }
        is_found = inet_ntop(AF_INET6, &binary, address, HOST_ADDRESS_BYTES);
    }
    if (addresses)
        fclose(addresses);
    return is_found;
}

void host_address(const char *root, char address[HOST_ADDRESS_BYTES])
{
    char name[IFNAMSIZ];
    bool is_found = find_interface(root, name) && strcmp(name, "lo") != 0 && find_ipv4(name, address);
    if (!is_found && !find_ipv6(root, address))
        strcpy(address, "127.0.0.1");
}
