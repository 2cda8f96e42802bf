/* gzip with ISA-L's igzip: a third of libdeflate's time at level 1, with 4 to 10 % more bytes. */
#include "agent/export/compress/compress.h"

#include <igzip_lib.h>
#include <stdlib.h>

struct gzip {
    struct isal_zstream stream;
    _Alignas(16) uint8_t work[]; /* hash table and the symbols of the current block */
};

static enum status gzip_create(int level, void **state)
{
    static const uint32_t work_bytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                          ISAL_DEF_LVL3_DEFAULT};
    struct gzip *gzip = malloc(sizeof *gzip + work_bytes[level]);
    if (!gzip)
        return STATUS_NO_MEMORY;
    isal_deflate_init(&gzip->stream);
    gzip->stream.level = (uint32_t)level;
    gzip->stream.level_buf = gzip->work;
    gzip->stream.level_buf_size = work_bytes[level];
    *state = gzip;
    return STATUS_OK;
}

static enum status gzip_compress(void *state, const struct chunk *chunks, uint8_t *to, size_t size,
                                 size_t *made)
{
    struct isal_zstream *stream = &((struct gzip *)state)->stream;
    isal_deflate_reset(stream);
    stream->gzip_flag = IGZIP_GZIP; /* isal_deflate clears it after the header */
    stream->next_out = to;
    stream->avail_out = (uint32_t)size;
    for (; chunks; chunks = chunks->next) {
        stream->next_in = (uint8_t *)(uintptr_t)chunks->data + chunks->begin; /* it only reads */
        stream->avail_in = chunks->end - chunks->begin;
        stream->end_of_stream = !chunks->next;
        if (isal_deflate(stream) != COMP_OK || stream->avail_in > 0)
            return STATUS_FULL;
    }
    *made = stream->total_out;
    return stream->internal_state.state == ZSTATE_END ? STATUS_OK : STATUS_FULL;
}

/* Level 2 takes as long as level 1 and gives 1 % fewer bytes; level 3 takes three to four times as long for
 * another 2 %. */
const struct codec codec_gzip_isal = {
    .library = "ISA-L",
    .encoding = "gzip",
    .level_min = ISAL_DEF_MIN_LEVEL,
    .level_max = ISAL_DEF_MAX_LEVEL,
    .level_default = 2,
    .create = gzip_create,
    .destroy = free,
    .compress = gzip_compress,
};
