/* An NVTX injection with our handlers (nvtx.c) and a replacement of context.c that logs each call as a line
 * on stderr. Tracks depths for one thread. */
#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/nvtx/nvtx.h"
#include "model/span.h"

#include <stdio.h>

#define DOMAINS_MAX 64

static uint32_t depths[DOMAINS_MAX];
static uint64_t starts;

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module);

int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module)
{
    return nvtx_attach_extension(module);
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    nvtx_begin();
    return nvtx_attach(export_table);
}

static void tell(const char *verb, const struct range_text *text)
{
    fprintf(stderr, "%s %.*s", verb, (int)text->name_bytes, text->name);
    for (uint32_t i = 0; i < text->attr_count; i++) {
        const struct range_attr *attr = &text->attrs[i];
        fprintf(stderr, " %.*s=", (int)attr->key_bytes, attr->key);
        if (attr->type == ATTR_STRING)
            fprintf(stderr, "%.*s", (int)attr->bytes, attr->s);
        else if (attr->type == ATTR_INT)
            fprintf(stderr, "%lld", (long long)attr->i);
        else
            fprintf(stderr, "%g", attr->d);
    }
    if (text->attrs_dropped)
        fprintf(stderr, " and %u more", text->attrs_dropped);
    fprintf(stderr, "\n");
}

uint64_t range_push(const struct range_text *text)
{
    tell("push", text);
    depths[text->domain % DOMAINS_MAX]++;
    return 1;
}

static void tell_end(const struct range_end *end)
{
    struct range_text text = {.name = "ends",
                              .name_bytes = 4,
                              .attrs = end->attrs,
                              .attr_count = end->attr_count,
                              .attrs_dropped = end->attrs_dropped};
    tell("it", &text);
}

uint64_t range_pop(uint32_t domain, const struct range_end *end)
{
    if (end)
        tell_end(end);
    fprintf(stderr, "pop\n");
    depths[domain % DOMAINS_MAX] -= depths[domain % DOMAINS_MAX] > 0;
    return 1;
}

_Atomic(const char *) steps_nvtx_pattern;
void steps_match_nvtx(const char *pattern, const char *name, size_t bytes)
{
    (void)pattern, (void)name, (void)bytes;
}

bool range_is_captured(void)
{
    return true;
}

uint32_t range_depth(uint32_t domain)
{
    return depths[domain % DOMAINS_MAX];
}

uint64_t range_start(const struct range_text *text)
{
    tell("start", text);
    return ++starts;
}

bool range_end(uint64_t id, const struct range_end *end)
{
    if (!end) {
        fprintf(stderr, "end %llu\n", (unsigned long long)id);
        return true;
    }
    char number[24];
    struct range_text text = {.name = number,
                              .name_bytes = (uint32_t)sprintf(number, "%llu", (unsigned long long)id),
                              .attrs = end->attrs,
                              .attr_count = end->attr_count};
    tell("end", &text);
    return true;
}

bool range_mark(const struct range_text *text)
{
    tell("mark", text);
    return true;
}

void context_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes)
{
    static const char *const objects[] = {"stream", "context", "device", "event", "thread"};
    fprintf(stderr, "%s %llu is %.*s\n", objects[object], (unsigned long long)handle, (int)name_bytes, name);
}
