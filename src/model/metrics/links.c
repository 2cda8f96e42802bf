#include "model/metrics/links.h"

#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    double transfers_per_s;
    double payload, of; /* efficiency of the encoding */
} generations[] = {{2.5e9, 8, 10},   {5e9, 8, 10},     {8e9, 128, 130},  {16e9, 128, 130},
                   {32e9, 128, 130}, {64e9, 242, 256}, {128e9, 242, 256}};

#define GENERATIONS ((uint32_t)(sizeof generations / sizeof *generations))
#define WIDTH_MAX   32 /* lanes; an absent link reads as 63 or 255 */

uint64_t links_pcie_bytes_per_s(uint32_t generation, uint32_t width)
{
    if (generation == 0 || generation > GENERATIONS || width > WIDTH_MAX)
        return 0;
    double lane = generations[generation - 1].transfers_per_s * generations[generation - 1].payload /
                  generations[generation - 1].of / 8;
    return (uint64_t)(lane * width);
}

uint32_t links_pcie_generation(const char *speed)
{
    char *end;
    double wanted = strtod(speed, &end) * 1e9;
    if (end == speed || strncmp(end, " GT/s", 5) != 0)
        return 0;
    for (uint32_t i = 0; i < GENERATIONS; i++)
        if (wanted == generations[i].transfers_per_s)
            return i + 1;
    return 0;
}

void links_address(const char *text, char address[LINKS_ADDRESS_BYTES])
{
    unsigned domain, bus, device, function;
    int length = 0;
    *address = '\0';
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) == 4 && !text[length])
        snprintf(address, LINKS_ADDRESS_BYTES, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

/* "GPU-… address=… pcie=5x16 nvlink=18 version=4 rate=26562000000 ends=switch,switch" */

void links_to_text(const struct device_links *links, char text[LINKS_TEXT_BYTES])
{
    FILE *to = fmemopen(text, LINKS_TEXT_BYTES - 1, "w");
    text[0] = text[LINKS_TEXT_BYTES - 1] = '\0';
    if (!to)
        return;
    fprintf(to, "%s", links->id);
    if (*links->address)
        fprintf(to, " address=%s", links->address);
    if (links->pcie_generation && links->pcie_width)
        fprintf(to, " pcie=%ux%u", links->pcie_generation, links->pcie_width);
    if (links->has_nvlinks)
        fprintf(to, " nvlink=%u version=%u rate=%llu", links->nvlink_count, links->nvlink_version,
                (unsigned long long)links->nvlink_bytes_per_s);
    for (uint32_t i = 0; links->has_nvlinks && i < links->nvlink_count; i++)
        fprintf(to, "%s%s", i ? "," : " ends=", links->nvlink_ends[i]);
    fclose(to);
}

static void take_ends(char *list, struct device_links *links)
{
    uint32_t count = 0;
    for (char *at = list, *end; at && count < LINKS_NVLINKS_MAX; at = end) {
        end = strchr(at, ',');
        if (end)
            *end++ = '\0';
        if (strcmp(at, LINKS_END_SWITCH) == 0)
            snprintf(links->nvlink_ends[count], LINKS_ADDRESS_BYTES, LINKS_END_SWITCH);
        else
            links_address(at, links->nvlink_ends[count]);
        count++;
    }
}

/* False if it is not a number. */
static bool take_fact(const char *name, char *value, struct device_links *links)
{
    if (strcmp(name, "address") == 0)
        links_address(value, links->address);
    else if (strcmp(name, "pcie") == 0)
        return sscanf(value, "%9ux%9u", &links->pcie_generation, &links->pcie_width) == 2;
    else if (strcmp(name, "nvlink") == 0)
        return (links->has_nvlinks = sscanf(value, "%9u", &links->nvlink_count) == 1);
    else if (strcmp(name, "version") == 0)
        return sscanf(value, "%9u", &links->nvlink_version) == 1;
    else if (strcmp(name, "rate") == 0)
        return sscanf(value, "%19" SCNu64, &links->nvlink_bytes_per_s) == 1;
    else if (strcmp(name, "ends") == 0)
        take_ends(value, links);
    return true;
}

enum status links_from_text(const char *text, struct device_links *links)
{
    char copy[LINKS_TEXT_BYTES], *rest;
    *links = (struct device_links){.pcie_generation = 0};
    snprintf(copy, sizeof copy, "%s", text);
    const char *id = strtok_r(copy, " ", &rest);
    if (!id || strlen(id) >= sizeof links->id)
        return STATUS_INVALID;
    memcpy(links->id, id, strlen(id) + 1);
    for (char *fact; (fact = strtok_r(NULL, " ", &rest)) != NULL;) {
        char *value = strchr(fact, '=');
        if (!value)
            return STATUS_INVALID;
        *value++ = '\0';
        if (!take_fact(fact, value, links))
            return STATUS_INVALID;
    }
    return links->nvlink_count <= LINKS_NVLINKS_MAX ? STATUS_OK : STATUS_INVALID;
}

static enum status set_ends(const struct device_links *links, struct resource *resource)
{
    union resource_item ends[LINKS_NVLINKS_MAX];
    for (uint32_t i = 0; i < links->nvlink_count; i++)
        ends[i].string = *links->nvlink_ends[i] ? links->nvlink_ends[i] : "unknown";
    return resource_set(resource, &(struct resource_attr){.key = SEMCONV_CUDA_DEVICE_NVLINK_ENDS,
                                                          .type = RESOURCE_STRING,
                                                          .is_array = true,
                                                          .item_count = links->nvlink_count,
                                                          .items = ends});
}

/* Sets a number that is known. */
static void set(struct resource *resource, const char *key, uint64_t value, enum status *status)
{
    if (value && *status == STATUS_OK)
        *status = resource_set_int(resource, key, (int64_t)value);
}

enum status links_describe(const struct device_links *links, struct resource *resource)
{
    uint64_t pcie = links_pcie_bytes_per_s(links->pcie_generation, links->pcie_width);
    enum status status = STATUS_OK;
    if (*links->address)
        status = resource_set_string(resource, SEMCONV_CUDA_DEVICE_PCI_ADDRESS, links->address);
    set(resource, SEMCONV_CUDA_DEVICE_PCIE_GENERATION, pcie ? links->pcie_generation : 0, &status);
    set(resource, SEMCONV_CUDA_DEVICE_PCIE_WIDTH, pcie ? links->pcie_width : 0, &status);
    set(resource, SEMCONV_CUDA_DEVICE_PCIE_BANDWIDTH, pcie, &status);
    if (status == STATUS_OK && links->has_nvlinks)
        status = resource_set_int(resource, SEMCONV_CUDA_DEVICE_NVLINK_LINKS, links->nvlink_count);
    if (!links->has_nvlinks)
        return status;
    set(resource, SEMCONV_CUDA_DEVICE_NVLINK_VERSION, links->nvlink_version, &status);
    set(resource, SEMCONV_CUDA_DEVICE_NVLINK_BANDWIDTH, links->nvlink_bytes_per_s * links->nvlink_count,
        &status);
    return status == STATUS_OK && links->nvlink_count ? set_ends(links, resource) : status;
}
