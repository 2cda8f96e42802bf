#include "export/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

struct gzip {
    struct libdeflate_compressor *compressor;
    uint8_t *in;
    uint8_t *out;
    size_t capacity; /* of each */
};

enum status gzip_create(int level, struct gzip **gzip)
{
    struct gzip *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->compressor = libdeflate_alloc_compressor(level);
    if (!made->compressor) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    *gzip = made;
    return STATUS_OK;
}

void gzip_destroy(struct gzip *gzip)
{
    if (!gzip)
        return;
    libdeflate_free_compressor(gzip->compressor);
    free(gzip->in);
    free(gzip->out);
    free(gzip);
}

static enum status reserve(struct gzip *gzip, size_t bytes)
{
    if (bytes <= gzip->capacity)
        return STATUS_OK;
    free(gzip->in);
    free(gzip->out);
    /* Not touched beyond what is used, so not resident either: the compressed side stays a tenth. */
    gzip->in = malloc(bytes);
    gzip->out = malloc(bytes);
    gzip->capacity = gzip->in && gzip->out ? bytes : 0;
    return gzip->capacity ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status gzip_chunks(struct gzip *gzip, const struct chunk *chunks, size_t bytes,
                        const uint8_t **compressed, size_t *compressed_bytes)
{
    enum status status = reserve(gzip, bytes);
    if (status != STATUS_OK)
        return status;
    size_t used = 0;
    for (; chunks; chunks = chunks->next) {
        size_t count = chunks->end - chunks->begin;
        if (count > bytes - used)
            return STATUS_INVALID;
        memcpy(gzip->in + used, chunks->data + chunks->begin, count);
        used += count;
    }
    size_t made = libdeflate_gzip_compress(gzip->compressor, gzip->in, used, gzip->out, used);
    if (made == 0)
        return STATUS_FULL;
    *compressed = gzip->out;
    *compressed_bytes = made;
    return STATUS_OK;
}
