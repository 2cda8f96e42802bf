#include "agent/capture/nccl/nccl_replay.h"

#include "agent/capture/nccl/nccl_calls.h"
#include "model/semconv.h"
#include "model/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX SEMCONV_NVTX_PAYLOAD "."

/* Numbers above INT64_MAX are texts. */
static uint64_t number_of(const struct range_attr *attr)
{
    char text[24];
    if (attr->type != ATTR_STRING)
        return (uint64_t)attr->i;
    snprintf(text, sizeof text, "%.*s", (int)(attr->bytes < sizeof text ? attr->bytes : 0), attr->s);
    return strtoull(text, NULL, 10);
}

static bool is(const struct range_attr *attr, const char *key)
{
    return attr->key_bytes == strlen(key) && memcmp(attr->key, key, attr->key_bytes) == 0;
}

static void read_payload(struct live_start *start, const struct range_attr *attr)
{
    char name[64];
    if (attr->key_bytes <= strlen(PREFIX) || memcmp(attr->key, PREFIX, strlen(PREFIX)) != 0)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(attr->key_bytes - strlen(PREFIX)), attr->key + strlen(PREFIX));
    enum nccl_value value = nccl_value_of(name);
    if (value == NCCL_COMMUNICATOR)
        start->communicator = number_of(attr);
    else if (value == NCCL_BYTES)
        start->bytes = number_of(attr);
    else if (value == NCCL_PEER)
        start->peer = (int32_t)number_of(attr);
}

void nccl_replay_call(const char *name, const struct range_attr *attrs, uint32_t count)
{
    struct live_start start = {.name = name, .bytes = UINT64_MAX, .peer = LIVE_NO_PEER};
    uint32_t ranks = 0, rank = 0;
    if (!name) {
        live_return_from_call();
        return;
    }
    start.name_bytes = (uint32_t)strlen(name);
    if (start.name_bytes > 4)
        start.operation = collective_of_function(name + 4, start.name_bytes - 4);
    for (uint32_t i = 0; i < count; i++) {
        read_payload(&start, &attrs[i]);
        if (is(&attrs[i], SEMCONV_COLLECTIVE_ORDINAL))
            start.ordinal = number_of(&attrs[i]);
        else if (is(&attrs[i], SEMCONV_COLLECTIVE_RANKS))
            ranks = (uint32_t)number_of(&attrs[i]);
        else if (is(&attrs[i], SEMCONV_COLLECTIVE_RANK))
            rank = (uint32_t)number_of(&attrs[i]);
    }
    if (start.operation && ranks)
        live_note_communicator(start.communicator, ranks, rank, 1);
    live_begin_call(&start);
}
