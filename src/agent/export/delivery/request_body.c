#include "agent/export/delivery/request_body.h"

#include "base/accounting/invariant.h"
#include "agent/export/compress/compress.h"

#include <stdlib.h>

enum status packer_init(struct packer *packer, enum compression compression)
{
    *packer = (struct packer){.codec = compress_codec(compression)};
    if (!packer->codec)
        return STATUS_OK;
    return compressor_create(packer->codec, packer->codec->level_default, &packer->compressor);
}

void packer_deinit(struct packer *packer)
{
    compressor_destroy(packer->compressor);
    free(packer->parts);
}

static bool reserve(struct packer *packer, const struct batch *batch)
{
    size_t needed = 2;
    for (const struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next)
        needed++;
    if (needed <= packer->capacity)
        return true;
    struct iovec *parts = realloc(packer->parts, needed * sizeof *parts);
    if (!parts)
        return false;
    packer->parts = parts;
    packer->capacity = needed;
    return true;
}

static bool add_part(const struct packer *packer, struct request_body *body, const void *data, size_t bytes)
{
    if (!INVARIANT(body->part_count + 1 < packer->capacity))
        return false;
    /* An iovec has no const; its readers only read. */
    body->parts[++body->part_count] = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    return true;
}

bool packer_pack(struct packer *packer, struct batch *batch, struct request_body *body)
{
    const uint8_t *compressed;
    size_t bytes;
    if (!reserve(packer, batch))
        return false;
    *body = (struct request_body){.parts = packer->parts, .spans = batch->spans, .format = batch->format};
    if (packer->compressor &&
        compress_chunks(packer->compressor, batch->chunks, &compressed, &bytes) == STATUS_OK) {
        chunk_give_back(batch->pool, batch->chunks->next);
        batch->chunks->next = NULL;
        body->encoding = packer->codec->encoding;
        return add_part(packer, body, compressed, bytes);
    }
    for (struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next) {
        if (!add_part(packer, body, chunk->data + chunk->begin, chunk->end - chunk->begin))
            return false;
    }
    return true;
}
