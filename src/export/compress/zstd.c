/* zstd, by its own library. */
#define ZSTD_STATIC_LINKING_ONLY /* all memory in one piece of ours, and no buffer beside the output */
#include "export/compress/codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

/* The library calls these where somebody has them: its users, for measuring. Without ours it would be a
 * host's. */
unsigned long long ZSTD_trace_compress_begin(const struct ZSTD_CCtx_s *context);
void ZSTD_trace_compress_end(unsigned long long trace, const void *what);

unsigned long long ZSTD_trace_compress_begin(const struct ZSTD_CCtx_s *context)
{
    (void)context;
    return 0; /* nothing to be told of at the end */
}

void ZSTD_trace_compress_end(unsigned long long trace, const void *what)
{
    (void)trace, (void)what;
}

/* Spans repeat what was said within a few hundred of them: with 128 KiB a request of the PyTorch recording
 * takes 27.7 bytes a span, with 256 KiB 23.2, with 512 KiB 20.6, and each doubling has a receiver keep that
 * much. */
#define WINDOW_LOG 18

/* A context that allocates by itself does so with the first batch, and again when batches of another size
 * have come for a while. */
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

/* The size of the whole isn't told: zstd would then choose other parameters for each, and its versions before
 * 1.5 refuse a workspace that was far too large many times. */
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

/* With this window, 1 takes a fifth more time than -2 and makes 21 bytes a span in place of 23; -3 takes a
 * tenth less and makes 26 there, but over 28 of a service's spans. */
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
