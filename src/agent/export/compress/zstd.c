#define ZSTD_STATIC_LINKING_ONLY /* for a static workspace and a stable output buffer */
#include "agent/export/compress/compress.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

/* The library has weak references to these hooks for measurements. Without these definitions, it would call
 * the host's. */
unsigned long long ZSTD_trace_compress_begin(const struct ZSTD_CCtx_s *context);
void ZSTD_trace_compress_end(unsigned long long trace, const void *what);

unsigned long long ZSTD_trace_compress_begin(const struct ZSTD_CCtx_s *context)
{
    return 0; /* disables the call at the end */
}

void ZSTD_trace_compress_end(unsigned long long trace, const void *what)
{
    (void)trace, (void)what;
}

/* Spans repeat within a few hundred spans: for the PyTorch recording, a window of 128 KiB gives 27.7 bytes
 * per span, 256 KiB 23.2, 512 KiB 20.6. A receiver needs as much memory as the window. */
#define WINDOW_LOG 18

/* A context without a static workspace would allocate with the first batch, and again when sizes change. */
struct zstd {
    ZSTD_CCtx *context;
    _Alignas(16) uint8_t workspace[];
};

static bool set_parameters(ZSTD_CCtx_params *parameters, int level)
{
    return parameters && !ZSTD_isError(ZSTD_CCtxParams_init(parameters, level)) &&
           !ZSTD_isError(ZSTD_CCtxParams_setParameter(parameters, ZSTD_c_windowLog, WINDOW_LOG)) &&
           !ZSTD_isError(ZSTD_CCtxParams_setParameter(parameters, ZSTD_c_stableOutBuffer, 1));
}

static struct zstd *make(const ZSTD_CCtx_params *parameters)
{
    size_t bytes = ZSTD_estimateCStreamSize_usingCCtxParams(parameters);
    struct zstd *zstd = ZSTD_isError(bytes) ? NULL : malloc(sizeof *zstd + bytes);
    if (!zstd)
        return NULL;
    zstd->context = ZSTD_initStaticCStream(zstd->workspace, bytes);
    if (!zstd->context || ZSTD_isError(ZSTD_CCtx_setParametersUsingCCtxParams(zstd->context, parameters))) {
        free(zstd);
        return NULL;
    }
    return zstd;
}

static enum status zstd_create(int level, void **state)
{
    ZSTD_CCtx_params *parameters = ZSTD_createCCtxParams();
    *state = set_parameters(parameters, level) ? make(parameters) : NULL;
    ZSTD_freeCCtxParams(parameters);
    return *state ? STATUS_OK : STATUS_NO_MEMORY;
}

static bool take(ZSTD_CCtx *context, ZSTD_outBuffer *out, const struct chunk *chunk)
{
    ZSTD_inBuffer in = {.src = chunk->data + chunk->begin, .size = chunk->end - chunk->begin};
    return !ZSTD_isError(ZSTD_compressStream2(context, out, &in, ZSTD_e_continue)) && in.pos == in.size;
}

/* Does not pledge the source size: zstd would then choose parameters per batch, and versions before 1.5
 * reject a workspace that was far too large many times. */
static enum status zstd_compress(void *state, const struct chunk *chunks, uint8_t *to, size_t size,
                                 size_t *made)
{
    ZSTD_CCtx *context = ((struct zstd *)state)->context;
    ZSTD_outBuffer out = {.dst = to, .size = size};
    ZSTD_inBuffer nothing = {0};
    if (ZSTD_isError(ZSTD_CCtx_reset(context, ZSTD_reset_session_only)))
        return STATUS_FULL;
    for (; chunks; chunks = chunks->next)
        if (!take(context, &out, chunks))
            return STATUS_FULL;
    size_t left = ZSTD_compressStream2(context, &out, &nothing, ZSTD_e_end);
    *made = out.pos;
    return left == 0 ? STATUS_OK : STATUS_FULL;
}

/* With this window, level 1 takes a fifth more time than -2 and gives 21 instead of 23 bytes per span; -3
 * takes a tenth less and gives 26, and more than 28 for the spans of a service. */
const struct codec codec_zstd = {
    .library = "zstd",
    .encoding = "zstd",
    .level_min = -5,
    .level_max = 6,
    .level_default = -2,
    .create = zstd_create,
    .destroy = free,
    .compress = zstd_compress,
};

static void *frame_create(int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context && (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
                    ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))) {
        ZSTD_freeCCtx(context);
        return NULL;
    }
    return context;
}

static void frame_destroy(void *state)
{
    ZSTD_freeCCtx(state);
}

static size_t frame_compress(void *state, void *to, size_t capacity, const void *from, size_t len)
{
    size_t made = ZSTD_compress2(state, to, capacity, from, len);
    return ZSTD_isError(made) ? 0 : made;
}

const struct zstd_api zstd_frame_api = {frame_create, frame_destroy, ZSTD_compressBound, frame_compress};
