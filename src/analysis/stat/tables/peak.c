#include "analysis/stat/tables/peak.h"

#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KB_PER_S       1000.0
#define DEVICE_TO_SELF 2 /* a copy within memory reads and writes each byte */

static struct peak of_memory(const struct stat *stat, const struct trace_span *span)
{
    double all = KB_PER_S * stat_device_number(stat, span->resource, SEMCONV_CUDA_DEVICE_MEMORY_BANDWIDTH);
    return (struct peak){"memory", span->class == CLASS_FILL ? all : all / DEVICE_TO_SELF, false};
}

static double number_of(const struct stat *stat, const struct trace_resource *device, const char *attribute)
{
    const char *text = trace_resource_attr(stat->trace, device, attribute);
    return text ? strtod(text, NULL) : 0;
}

static struct peak of_pcie(const struct stat *stat, const struct trace_resource *device)
{
    struct peak peak = {.is_link = true,
                        .bytes_per_s = number_of(stat, device, SEMCONV_CUDA_DEVICE_PCIE_BANDWIDTH)};
    if (peak.bytes_per_s > 0)
        snprintf(peak.name, sizeof peak.name, "PCIe %.0f.0 x%.0f",
                 number_of(stat, device, SEMCONV_CUDA_DEVICE_PCIE_GENERATION),
                 number_of(stat, device, SEMCONV_CUDA_DEVICE_PCIE_WIDTH));
    return peak;
}

static const struct trace_resource *device_by_id(const struct stat *stat, const char *id)
{
    for (size_t i = 0; i < stat->trace->resource_count; i++)
        if (stat_is(trace_resource_attr(stat->trace, &stat->trace->resources[i], SEMCONV_HW_ID), id))
            return &stat->trace->resources[i];
    return NULL;
}

/* Counts the ends that are `wanted`. `ends` is a JSON array of texts. */
static unsigned count_ends(const char *ends, const char *wanted)
{
    char quoted[64];
    unsigned count = 0;
    int length = snprintf(quoted, sizeof quoted, "\"%s\"", wanted);
    for (const char *at = ends; (at = strstr(at, quoted)) != NULL; at += length)
        count++;
    return count;
}

/* The NVLinks to the other GPU, direct or through a switch. Without NVLink the copy uses PCIe at the peak of
 * the slower GPU. If only one GPU is known, the peak is unknown. */
static struct peak of_peers(const struct stat *stat, const char *from_id, const char *to_id)
{
    const struct trace_resource *from = device_by_id(stat, from_id), *to = device_by_id(stat, to_id);
    struct peak unknown = {.is_link = true};
    const char *links =
        from ? trace_resource_attr(stat->trace, from, SEMCONV_CUDA_DEVICE_NVLINK_LINKS) : NULL;
    if (!links)
        return unknown;
    double count = strtod(links, NULL), all = number_of(stat, from, SEMCONV_CUDA_DEVICE_NVLINK_BANDWIDTH);
    if (count < 1) {
        struct peak slower = of_pcie(stat, from), other = to ? of_pcie(stat, to) : unknown;
        return other.bytes_per_s < slower.bytes_per_s ? other : slower;
    }
    const char *ends = trace_resource_attr(stat->trace, from, SEMCONV_CUDA_DEVICE_NVLINK_ENDS);
    const char *address = to ? trace_resource_attr(stat->trace, to, SEMCONV_CUDA_DEVICE_PCI_ADDRESS) : NULL;
    unsigned there = ends ? count_ends(ends, "switch") : 0;
    if (ends && address)
        there += count_ends(ends, address);
    if (!there || all <= 0)
        return unknown;
    struct peak peak = {.is_link = true, .bytes_per_s = all * there / count};
    snprintf(peak.name, sizeof peak.name, "NVLink x%u", there);
    return peak;
}

static struct peak find(const struct stat *stat, const struct trace_span *span)
{
    const char *direction = stat_attr(stat, span, KEY_COPY_KIND);
    const char *from = stat_attr(stat, span, KEY_COPY_SOURCE), *to = stat_attr(stat, span, KEY_COPY_TARGET);
    if (span->class == CLASS_FILL)
        return of_memory(stat, span);
    if (stat_is(direction, "HostToDevice") || stat_is(direction, "DeviceToHost"))
        return of_pcie(stat, &stat->trace->resources[span->resource]);
    if (from && to && strcmp(from, to) != 0)
        return of_peers(stat, from, to);
    if (stat_is(direction, "DeviceToDevice") || (from && to))
        return of_memory(stat, span);
    return (struct peak){.is_link = stat_is(direction, "PeerToPeer")};
}

static bool has_same(const struct stat *stat, const struct trace_span *a, const struct trace_span *b,
                     enum stat_key key)
{
    const char *x = stat_attr(stat, a, key), *y = stat_attr(stat, b, key);
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool is_same_way(const struct stat *stat, const struct trace_span *a, const struct trace_span *b)
{
    return a->resource == b->resource && a->class == b->class && has_same(stat, a, b, KEY_COPY_KIND) &&
           has_same(stat, a, b, KEY_COPY_SOURCE) && has_same(stat, a, b, KEY_COPY_TARGET);
}

struct peak peak_of(struct peaks *peaks, const struct stat *stat, const struct trace_span *span)
{
    if (!peaks->last || !is_same_way(stat, peaks->last, span))
        peaks->answer = find(stat, span);
    peaks->last = span;
    return peaks->answer;
}

bool peak_is(const struct peak *peak, const struct peak *other)
{
    return peak->bytes_per_s == other->bytes_per_s && strcmp(peak->name, other->name) == 0;
}
