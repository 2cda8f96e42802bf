#include "cli/trace/byte_source.h"

#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_BYTES (64u << 10)

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct byte_source {
    int fd;
    const char *name;
    enum packing packing;
    unsigned char *input; /* read from the file, and not passed on yet */
    size_t begin, filled;
    uint64_t read_bytes;
    bool is_inside; /* a compressed frame, which must not end here */
    ZSTD_DStream *zstd;
    z_stream gzip;
};

static enum status fill(struct byte_source *source, struct error *err)
{
    ssize_t got;
    if (source->begin < source->filled)
        return STATUS_OK;
    do
        got = read(source->fd, source->input, INPUT_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", source->name, strerror(errno));
    source->begin = 0;
    source->filled = (size_t)got;
    source->read_bytes += (uint64_t)got;
    return STATUS_OK;
}

static bool starts_with(const struct byte_source *source, const char *magic)
{
    size_t len = strlen(magic);
    return source->filled >= len && memcmp(source->input, magic, len) == 0;
}

static enum status start(struct byte_source *source, struct error *err)
{
    enum status status = fill(source, err);
    if (status != STATUS_OK)
        return status;
    if (starts_with(source, "\x28\xb5\x2f\xfd")) {
        source->packing = PACKING_ZSTD;
        source->zstd = ZSTD_createDStream();
    } else if (starts_with(source, "\x1f\x8b")) {
        source->packing = PACKING_GZIP;
    }
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

static enum status complain(const struct byte_source *source, const char *packing, const char *why,
                            struct error *err)
{
    return error_set(err, STATUS_CORRUPT, "%.300s: its %s data is damaged before byte %llu: %.80s",
                     source->name, packing,
                     (unsigned long long)(source->read_bytes - (source->filled - source->begin)), why);
}

static enum status unpack_zstd(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                               struct error *err)
{
    ZSTD_inBuffer in = {source->input, source->filled, source->begin};
    ZSTD_outBuffer out = {bytes, capacity, 0};
    size_t left = ZSTD_decompressStream(source->zstd, &out, &in);
    if (ZSTD_isError(left))
        return complain(source, "zstd", ZSTD_getErrorName(left), err);
    source->begin = in.pos;
    source->is_inside = left != 0;
    *got = out.pos;
    return STATUS_OK;
}

static enum status unpack_gzip(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                               struct error *err)
{
    z_stream *gzip = &source->gzip;
    gzip->next_in = source->input + source->begin;
    gzip->avail_in = (uInt)(source->filled - source->begin);
    gzip->next_out = (unsigned char *)bytes;
    gzip->avail_out = (uInt)capacity;
    int result = inflate(gzip, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return complain(source, "gzip", gzip->msg ? gzip->msg : "unknown format", err);
    source->begin = source->filled - gzip->avail_in;
    *got = capacity - gzip->avail_out;
    source->is_inside = result != Z_STREAM_END;
    if (result == Z_STREAM_END) /* another one may follow */
        inflateReset(gzip);
    return STATUS_OK;
}

/* Large reads bypass the buffer. */
static enum status read_plain(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                              struct error *err)
{
    ssize_t direct;
    *got = source->filled - source->begin < capacity ? source->filled - source->begin : capacity;
    memcpy(bytes, source->input + source->begin, *got);
    source->begin += *got;
    if (*got)
        return STATUS_OK;
    do
        direct = read(source->fd, bytes, capacity);
    while (direct < 0 && errno == EINTR);
    if (direct < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", source->name, strerror(errno));
    *got = (size_t)direct;
    source->read_bytes += *got;
    return STATUS_OK;
}

enum status byte_source_read(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                             struct error *err)
{
    *got = 0;
    if (capacity > 1u << 30)
        capacity = 1u << 30;
    if (source->packing == PACKING_NONE)
        return read_plain(source, bytes, capacity, got, err);
    for (;;) {
        enum status status = fill(source, err);
        bool is_end = source->begin == source->filled;
        if (status == STATUS_OK && !(is_end && !source->is_inside))
            status = (source->packing == PACKING_ZSTD ? unpack_zstd : unpack_gzip)(source, bytes, capacity,
                                                                                   got, err);
        if (status != STATUS_OK || *got || is_end)
            return status;
    }
}

bool byte_source_is_cut(const struct byte_source *source)
{
    return source->is_inside;
}

uint64_t byte_source_read_bytes(const struct byte_source *source)
{
    return source->read_bytes;
}
