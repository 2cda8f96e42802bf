#include "agent/export/compress/zstd_frame.h"

#include <zstd.h>

static void *create(int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context && (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
                    ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))) {
        ZSTD_freeCCtx(context);
        return NULL;
    }
    return context;
}

static void destroy(void *state)
{
    ZSTD_freeCCtx(state);
}

static size_t compress(void *state, void *to, size_t capacity, const void *from, size_t len)
{
    size_t made = ZSTD_compress2(state, to, capacity, from, len);
    return ZSTD_isError(made) ? 0 : made;
}

const struct zstd_api zstd_frame_api = {create, destroy, ZSTD_compressBound, compress};
