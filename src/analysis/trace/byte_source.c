#include "analysis/trace/byte_source.h"

#include "cli/util/xalloc.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_BYTES    (64u << 10)
#define MAGIC_BYTES    4
#define WINDOW_LOG_MAX 31 /* of zstd --long=31 */
#define ZSTD_FRAME     0xfd2fb528u
#define ZSTD_SKIPPABLE 0x184d2a50u /* in the first one of pzstd's files; the last digit is any */
#define GZIP_MEMBER    0x8b1fu

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct byte_source {
    int fd;
    const char *name;
    enum packing packing;
    unsigned char *input; /* read from the file, and not passed on yet */
    size_t begin, filled;
    uint64_t read_bytes;
    bool is_inside; /* a compressed frame, which must not end here */
    bool is_over;   /* what follows is damaged, or is not compressed */
    char damage[160];
    ZSTD_DStream *zstd;
    z_stream gzip;
};

static enum status read_some(struct byte_source *source, unsigned char *bytes, size_t capacity, size_t *got,
                             struct error *err)
{
    ssize_t read_now;
    do
        read_now = read(source->fd, bytes, capacity);
    while (read_now < 0 && errno == EINTR);
    if (read_now < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", source->name, strerror(errno));
    *got = (size_t)read_now;
    source->read_bytes += *got;
    return STATUS_OK;
}

/* Until `needed` bytes are there, or the file ends. */
static enum status fill(struct byte_source *source, size_t needed, struct error *err)
{
    size_t have = source->filled - source->begin, got = 1;
    enum status status = STATUS_OK;
    if (have >= needed)
        return STATUS_OK;
    memmove(source->input, source->input + source->begin, have);
    source->begin = 0;
    source->filled = have;
    while (status == STATUS_OK && got && source->filled < needed) {
        status = read_some(source, source->input + source->filled, INPUT_BYTES - source->filled, &got, err);
        source->filled += status == STATUS_OK ? got : 0;
    }
    return status;
}

static enum packing packing_of(const struct byte_source *source)
{
    uint32_t magic = 0;
    size_t have = source->filled - source->begin;
    memcpy(&magic, source->input + source->begin, have < MAGIC_BYTES ? have : MAGIC_BYTES);
    magic = le32toh(magic);
    if (magic == ZSTD_FRAME || (magic & 0xfffffff0u) == ZSTD_SKIPPABLE)
        return PACKING_ZSTD;
    return (magic & 0xffff) == GZIP_MEMBER ? PACKING_GZIP : PACKING_NONE;
}

static enum status start(struct byte_source *source, struct error *err)
{
    enum status status = fill(source, MAGIC_BYTES, err);
    if (status != STATUS_OK)
        return status;
    source->packing = packing_of(source);
    if (source->packing == PACKING_ZSTD && (source->zstd = ZSTD_createDStream()))
        ZSTD_DCtx_setParameter(source->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    bool is_bad = source->packing == PACKING_ZSTD
                      ? !source->zstd
                      : source->packing == PACKING_GZIP && inflateInit2(&source->gzip, 15 + 16) != Z_OK;
    return is_bad ? error_set(err, STATUS_UNAVAILABLE, "%.300s: no memory to decompress it", source->name)
                  : STATUS_OK;
}

enum status byte_source_create(int fd, const char *name, struct byte_source **out, struct error *err)
{
    struct byte_source *source = xcalloc(1, sizeof *source);
    source->fd = fd;
    source->name = name;
    size_t capacity = 0;
    source->input = xgrow(NULL, &capacity, INPUT_BYTES, 1);
    enum status status = start(source, err);
    if (status != STATUS_OK) {
        byte_source_destroy(source);
        source = NULL;
    }
    *out = source;
    return status;
}

void byte_source_destroy(struct byte_source *source)
{
    if (!source)
        return;
    if (source->packing == PACKING_GZIP)
        inflateEnd(&source->gzip);
    ZSTD_freeDStream(source->zstd);
    free(source->input);
    free(source);
}

static const char *packing_name(const struct byte_source *source)
{
    return source->packing == PACKING_ZSTD ? "zstd" : "gzip";
}

static unsigned long long position(const struct byte_source *source)
{
    return source->read_bytes - (source->filled - source->begin);
}

static void stop_at_damage(struct byte_source *source, const char *why)
{
    snprintf(source->damage, sizeof source->damage, "its %s data is damaged before byte %llu: %.80s",
             packing_name(source), position(source), why);
    source->is_over = true;
}

static size_t unpack_zstd(struct byte_source *source, char *bytes, size_t capacity)
{
    ZSTD_inBuffer in = {source->input, source->filled, source->begin};
    ZSTD_outBuffer out = {bytes, capacity, 0};
    size_t left = ZSTD_decompressStream(source->zstd, &out, &in);
    source->begin = in.pos;
    source->is_inside = left != 0;
    if (ZSTD_isError(left))
        stop_at_damage(source, ZSTD_getErrorName(left));
    return out.pos;
}

static size_t unpack_gzip(struct byte_source *source, char *bytes, size_t capacity)
{
    z_stream *gzip = &source->gzip;
    gzip->next_in = source->input + source->begin;
    gzip->avail_in = (uInt)(source->filled - source->begin);
    gzip->next_out = (unsigned char *)bytes;
    gzip->avail_out = (uInt)capacity;
    int result = inflate(gzip, Z_NO_FLUSH);
    source->begin = source->filled - gzip->avail_in;
    source->is_inside = result != Z_STREAM_END;
    if (result == Z_STREAM_END)
        inflateReset(gzip);
    else if (result != Z_OK && result != Z_BUF_ERROR)
        stop_at_damage(source, gzip->msg ? gzip->msg : "unknown format");
    return capacity - gzip->avail_out;
}

/* Between two frames: tapes and block devices add zeros. Anything else ends the data. */
static enum status skip_padding(struct byte_source *source, struct error *err)
{
    enum status status = STATUS_OK;
    do {
        status = fill(source, MAGIC_BYTES, err);
        while (source->begin < source->filled && source->input[source->begin] == 0)
            source->begin++;
    } while (status == STATUS_OK && source->begin == source->filled && source->filled > 0);
    if (status == STATUS_OK)
        status = fill(source, MAGIC_BYTES, err); /* of a frame behind zeros */
    if (status != STATUS_OK || source->begin == source->filled || packing_of(source) == source->packing)
        return status;
    snprintf(source->damage, sizeof source->damage, "what follows its %s data from byte %llu on is not %s",
             packing_name(source), position(source), packing_name(source));
    source->is_over = true;
    return STATUS_OK;
}

/* Large reads bypass the buffer. */
static enum status read_plain(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                              struct error *err)
{
    *got = source->filled - source->begin < capacity ? source->filled - source->begin : capacity;
    memcpy(bytes, source->input + source->begin, *got);
    source->begin += *got;
    return *got ? STATUS_OK : read_some(source, (unsigned char *)bytes, capacity, got, err);
}

enum status byte_source_read(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                             struct error *err)
{
    *got = 0;
    if (capacity > 1u << 30)
        capacity = 1u << 30;
    if (source->packing == PACKING_NONE)
        return read_plain(source, bytes, capacity, got, err);
    while (!*got && !source->is_over) {
        enum status status = source->is_inside ? fill(source, 1, err) : skip_padding(source, err);
        bool is_end = source->begin == source->filled;
        if (status == STATUS_OK && !source->is_over && !(is_end && !source->is_inside))
            *got = (source->packing == PACKING_ZSTD ? unpack_zstd : unpack_gzip)(source, bytes, capacity);
        if (status != STATUS_OK || is_end)
            return status;
    }
    return STATUS_OK;
}

const char *byte_source_damage(const struct byte_source *source)
{
    return source->is_over                   ? source->damage
           : !source->is_inside              ? NULL
           : source->packing == PACKING_ZSTD ? "its zstd data ends early"
                                             : "its gzip data ends early";
}

bool byte_source_is_cut(const struct byte_source *source)
{
    return source->is_inside && !source->is_over;
}

bool byte_source_is_packed(const struct byte_source *source)
{
    return source->packing != PACKING_NONE;
}

uint64_t byte_source_read_bytes(const struct byte_source *source)
{
    return source->read_bytes;
}
