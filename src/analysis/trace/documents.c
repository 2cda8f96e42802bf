#include "analysis/trace/documents.h"

#include "analysis/trace/byte_source.h"
#include "analysis/trace/file_kind.h"
#include "cli/util/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define READ_BYTES   (256u << 10) /* at a time, so that few bytes of the next document are there already */
#define FIRST_BYTES  (32u << 10)
#define PREFIX_BYTES 4
#define LOOK_BYTES   512 /* of the file, to recognize its format */
#define ZSTD_MAGIC   "\x28\xb5\x2f\xfd"

struct documents {
    struct byte_source *source;
    const char *name;
    bool are_messages;
    bool is_bare; /* one message without its length: the body of a request */
    bool is_end;  /* of the source */
    bool is_cut;  /* the last message is incomplete */
    char damage[160];
    char *bytes;
    size_t begin, filled, capacity;
    uint64_t offset; /* of `begin` */
    uint64_t number;
    char saved[DOCUMENT_PADDING]; /* of the bytes behind the current document */
    char *saved_from;
    ZSTD_DCtx *zstd;
    char *unpacked;
    size_t unpacked_capacity;
};

/* Reads until `needed` bytes are there or the file ends. */
static enum status fill(struct documents *documents, size_t needed, struct error *err)
{
    enum status status = STATUS_OK;
    if (documents->begin && documents->filled - documents->begin < needed) {
        memmove(documents->bytes, documents->bytes + documents->begin, documents->filled - documents->begin);
        documents->filled -= documents->begin;
        documents->begin = 0;
    }
    while (status == STATUS_OK && !documents->is_end && documents->filled - documents->begin < needed) {
        /* Not at once for a length that the file only claims. */
        size_t room = documents->filled + READ_BYTES;
        room = (documents->begin + needed < room ? documents->begin + needed : room) + DOCUMENT_PADDING;
        documents->bytes =
            xgrow(documents->bytes, &documents->capacity, room < FIRST_BYTES ? FIRST_BYTES : room, 1);
        size_t got = 0, room_left = documents->capacity - DOCUMENT_PADDING - documents->filled;
        status = byte_source_read(documents->source, documents->bytes + documents->filled,
                                  room_left < READ_BYTES ? room_left : READ_BYTES, &got, err);
        documents->filled += got;
        documents->is_end = got == 0;
    }
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static uint32_t length_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A message starts with the tag of its first field, or is compressed. No text has bytes like its length,
 * which starts with a zero below 16 MiB. */
static bool looks_like_messages(const struct documents *documents)
{
    const char *first = documents->bytes + documents->begin;
    size_t have = documents->filled - documents->begin;
    if (have < PREFIX_BYTES + 4) /* cut; a length below 16 MiB */
        return have > 0 && *first == 0;
    uint32_t len = length_at(first);
    bool has_tag = first[PREFIX_BYTES] == '\x0a' || memcmp(first + PREFIX_BYTES, ZSTD_MAGIC, 4) == 0;
    bool may_be_tag = *first == 0 && first[PREFIX_BYTES] != 0; /* else a text in UTF-16 */
    return !is_blank(*first) && len > 0 && len <= DOCUMENT_BYTES_MAX && (has_tag || may_be_tag);
}

/* A message without its length starts with that tag, which is also a newline. Other tags are no characters of
 * a text. */
static bool looks_bare(const struct documents *documents)
{
    const unsigned char *first = (const unsigned char *)documents->bytes + documents->begin;
    size_t have = documents->filled - documents->begin;
    bool has_tags = false;
    for (size_t i = 1; i < have && i < LOOK_BYTES; i++)
        has_tags |= first[i] < ' ' && !is_blank((char)first[i]);
    return have >= 4 && *first == '\x0a' && has_tags && first[1] != '{';
}

static void blank_byte_order_mark(char *bytes, size_t len)
{
    if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        memset(bytes, ' ', 3);
}

static void consume(struct documents *documents, size_t bytes)
{
    documents->begin += bytes;
    documents->offset += bytes;
}

/* A file that was truncated while its writer went on has zeros up to the writer's position, and a crash of
 * the machine leaves zeros before the next line. */
static void blank_zeros(char *bytes, size_t len)
{
    size_t zeros = 0;
    while (zeros < len && bytes[zeros] == 0)
        zeros++;
    if (zeros + 1 < len && bytes[zeros] == '{' && bytes[zeros + 1] != 0) /* else a text in UTF-16 */
        memset(bytes, ' ', zeros);
}

/* There can be any number at the start of the file. */
static enum status skip_zeros(struct documents *documents, struct error *err)
{
    enum status status = fill(documents, LOOK_BYTES + 1, err);
    for (;;) {
        const char *first = documents->bytes + documents->begin;
        size_t have = documents->filled - documents->begin;
        if (status != STATUS_OK || have <= LOOK_BYTES || *first || memcmp(first, first + 1, have - 1) != 0)
            return status;
        consume(documents, have - LOOK_BYTES);
        status = fill(documents, LOOK_BYTES + 1, err);
    }
}

enum status documents_open(int fd, const char *name, struct documents **out, struct error *err)
{
    struct documents *documents = xcalloc(1, sizeof *documents);
    documents->name = name;
    enum status status = byte_source_create(fd, name, &documents->source, err);
    if (status == STATUS_OK)
        status = skip_zeros(documents, err);
    if (status == STATUS_OK) {
        documents->is_bare = looks_bare(documents);
        documents->are_messages = documents->is_bare || looks_like_messages(documents);
        if (!documents->are_messages) /* a length can be zeros and a brace, too */
            blank_zeros(documents->bytes + documents->begin, documents->filled - documents->begin);
        blank_byte_order_mark(documents->bytes + documents->begin, documents->filled - documents->begin);
    } else {
        documents_close(documents);
        documents = NULL;
    }
    *out = documents;
    return status;
}

void documents_close(struct documents *documents)
{
    if (!documents)
        return;
    byte_source_destroy(documents->source);
    ZSTD_freeDCtx(documents->zstd);
    free(documents->bytes);
    free(documents->unpacked);
    free(documents);
}

/* Puts zero bytes behind the document, which the next call takes away again. */
static void pad(struct documents *documents, char *end)
{
    documents->saved_from = end;
    memcpy(documents->saved, end, DOCUMENT_PADDING);
    memset(end, 0, DOCUMENT_PADDING);
}

static void restore(struct documents *documents)
{
    if (documents->saved_from)
        memcpy(documents->saved_from, documents->saved, DOCUMENT_PADDING);
    documents->saved_from = NULL;
}

/* --- lines --- */

static enum status complain_too_long(const struct documents *documents, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%.300s:%llu: the line is longer than 1 GiB", documents->name,
                     (unsigned long long)documents->number);
}

/* The line's length without its newline. */
static enum status find_line(struct documents *documents, size_t *len, bool *is_complete, struct error *err)
{
    size_t searched = 0;
    enum status status = fill(documents, 1, err);
    while (status == STATUS_OK) {
        const char *first = documents->bytes + documents->begin;
        size_t have = documents->filled - documents->begin;
        const char *end = have > searched ? memchr(first + searched, '\n', have - searched) : NULL;
        *len = end ? (size_t)(end - first) : have;
        *is_complete = end != NULL;
        if (end || documents->is_end)
            return STATUS_OK;
        if (have >= DOCUMENT_BYTES_MAX)
            return complain_too_long(documents, err);
        searched = have;
        status = fill(documents, have + 1, err);
    }
    return status;
}

static enum status next_line(struct documents *documents, struct document *document, struct error *err)
{
    for (;;) {
        size_t len, blank = 0;
        bool is_complete;
        documents->number++;
        enum status status = find_line(documents, &len, &is_complete, err);
        if (status != STATUS_OK || (len == 0 && !is_complete))
            return status; /* the end */
        char *first = documents->bytes + documents->begin;
        *document = (struct document){first, len, true, is_complete, documents->number, documents->offset};
        consume(documents, len + is_complete);
        blank_byte_order_mark(first, len); /* of each file that was joined */
        blank_zeros(first, len);
        while (blank < len && is_blank(first[blank]))
            blank++;
        if (blank < len) {
            pad(documents, first + len);
            return STATUS_OK;
        }
        document->len = 0;
    }
}

static enum status fill_all(struct documents *documents, struct error *err)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !documents->is_end) {
        size_t have = documents->filled - documents->begin;
        if (have >= DOCUMENT_BYTES_MAX)
            return error_set(err, STATUS_INVALID,
                             "%.300s: it is neither JSON lines nor one document of up to 1 GiB",
                             documents->name);
        status = fill(documents, have + 1, err);
    }
    return status;
}

enum status documents_join_rest(struct documents *documents, struct document *document, struct error *err)
{
    restore(documents);
    documents->begin = (size_t)(document->bytes - documents->bytes);
    documents->offset = document->offset;
    enum status status = fill_all(documents, err);
    document->bytes = documents->bytes + documents->begin;
    document->len = documents->filled - documents->begin;
    return status;
}

void documents_drop_lines(struct documents *documents, struct document *document, size_t lines)
{
    size_t have = documents->filled - documents->begin;
    documents->number = document->number - 1;
    for (; lines && have; lines--, documents->number++) {
        const char *first = documents->bytes + documents->begin, *end = memchr(first, '\n', have);
        size_t len = end ? (size_t)(end + 1 - first) : have;
        consume(documents, len);
        have -= len;
    }
}

/* --- messages --- */

static enum status unpack(struct documents *documents, struct document *document, struct error *err)
{
    if (!documents->zstd && !(documents->zstd = ZSTD_createDCtx()))
        return error_set(err, STATUS_UNAVAILABLE, "%.300s: no memory to decompress it", documents->name);
    ZSTD_DCtx_reset(documents->zstd, ZSTD_reset_session_only);
    ZSTD_inBuffer in = {document->bytes, document->len, 0};
    size_t filled = 0, left = 1;
    while (left != 0 || in.pos < in.size) {
        documents->unpacked = xgrow(documents->unpacked, &documents->unpacked_capacity,
                                    filled + READ_BYTES / 2 + DOCUMENT_PADDING, 1);
        ZSTD_outBuffer out = {documents->unpacked, documents->unpacked_capacity - DOCUMENT_PADDING, filled};
        left = ZSTD_decompressStream(documents->zstd, &out, &in);
        bool is_stuck = left != 0 && in.pos == in.size && out.pos == filled;
        filled = out.pos;
        if (ZSTD_isError(left) || is_stuck || filled > DOCUMENT_BYTES_MAX)
            return error_set(err, STATUS_CORRUPT, "its zstd data is damaged: %.80s",
                             ZSTD_isError(left) ? ZSTD_getErrorName(left) : "cut off or too large");
    }
    document->bytes = documents->unpacked;
    document->len = filled;
    memset(document->bytes + filled, 0, DOCUMENT_PADDING);
    return STATUS_OK;
}

static void stop_at_length(struct documents *documents, uint32_t len)
{
    snprintf(documents->damage, sizeof documents->damage,
             "message %llu (offset %llu) would have %u bytes: this is not a file of OTLP messages",
             (unsigned long long)documents->number, (unsigned long long)documents->offset, len);
    documents->begin = documents->filled;
    documents->is_end = true;
}

static void stop_at_cut(struct documents *documents, size_t have, size_t len)
{
    const char *what = have < PREFIX_BYTES ? "its length" : "";
    snprintf(documents->damage, sizeof documents->damage,
             *what ? "message %llu at offset %llu lacks %s"
                   : "message %llu at offset %llu has %s%zu of %zu bytes",
             (unsigned long long)documents->number, (unsigned long long)documents->offset, what,
             have - PREFIX_BYTES, len);
    documents->is_cut = true;
}

/* The only message. */
static enum status next_bare(struct documents *documents, struct document *document, struct error *err)
{
    documents->number++;
    enum status status = fill_all(documents, err);
    size_t len = documents->filled - documents->begin;
    if (status != STATUS_OK || len == 0)
        return status;
    *document = (struct document){documents->bytes + documents->begin, len, false, true, 1, 0};
    consume(documents, len);
    pad(documents, document->bytes + len);
    return STATUS_OK;
}

static enum status next_message(struct documents *documents, struct document *document, struct error *err)
{
    uint32_t len = 0;
    documents->number++;
    enum status status = fill(documents, PREFIX_BYTES, err);
    size_t have = documents->filled - documents->begin;
    if (status == STATUS_OK && have >= PREFIX_BYTES) {
        len = length_at(documents->bytes + documents->begin);
        if (len > DOCUMENT_BYTES_MAX) {
            stop_at_length(documents, len);
            return STATUS_OK; /* the end */
        }
        status = fill(documents, PREFIX_BYTES + (size_t)len, err);
        have = documents->filled - documents->begin;
    }
    if (status != STATUS_OK)
        return status;
    if (have < PREFIX_BYTES + (size_t)len || have < PREFIX_BYTES) {
        if (have > 0)
            stop_at_cut(documents, have, len);
        return STATUS_OK; /* the end */
    }
    *document = (struct document){documents->bytes + documents->begin + PREFIX_BYTES,
                                  len,
                                  false,
                                  true,
                                  documents->number,
                                  documents->offset};
    consume(documents, PREFIX_BYTES + (size_t)len);
    if (len >= 4 && memcmp(document->bytes, ZSTD_MAGIC, 4) == 0)
        status = unpack(documents, document, err);
    else
        pad(documents, document->bytes + len);
    document->is_json = document->len > 0 && *document->bytes == '{';
    return status;
}

enum status documents_next(struct documents *documents, struct document *document, struct error *err)
{
    enum status status;
    do { /* past empty messages */
        restore(documents);
        *document = (struct document){.is_complete = true};
        status = documents->is_bare        ? next_bare(documents, document, err)
                 : documents->are_messages ? next_message(documents, document, err)
                                           : next_line(documents, document, err);
    } while (status == STATUS_OK && documents->are_messages && document->len == 0 && document->bytes);
    return status;
}

static void copy(const struct document *document, char **bytes, size_t *capacity)
{
    if (*capacity < document->len + DOCUMENT_PADDING) {
        free(*bytes);
        *bytes = NULL;
        *bytes = xgrow(NULL, capacity, document->len + DOCUMENT_PADDING, 1);
    }
    memcpy(*bytes, document->bytes, document->len + DOCUMENT_PADDING);
}

static void swap(char **bytes, size_t *capacity, char **other, size_t *other_capacity)
{
    char *swapped = *bytes;
    size_t swapped_capacity = *capacity;
    *bytes = *other;
    *capacity = *other_capacity;
    *other = swapped;
    *other_capacity = swapped_capacity;
}

/* The bytes behind the document move to the other buffer, which becomes the reader's. */
static void swap_buffer(struct documents *documents, const struct document *document, char **bytes,
                        size_t *capacity)
{
    size_t rest = documents->filled - documents->begin;
    restore(documents);
    *bytes = xgrow(*bytes, capacity, rest + DOCUMENT_PADDING, 1);
    memcpy(*bytes, documents->bytes + documents->begin, rest);
    memset(document->bytes + document->len, 0, DOCUMENT_PADDING);
    documents->begin = 0;
    documents->filled = rest;
    swap(&documents->bytes, &documents->capacity, bytes, capacity);
}

void documents_take(struct documents *documents, struct document *document, char **bytes, size_t *capacity)
{
    if (document->bytes == documents->unpacked) {
        swap(&documents->unpacked, &documents->unpacked_capacity, bytes, capacity);
    } else if (document->len > documents->filled - documents->begin) {
        swap_buffer(documents, document, bytes, capacity);
    } else { /* a short one: cheaper to copy than what follows it */
        copy(document, bytes, capacity);
        document->bytes = *bytes;
    }
}

enum status documents_are_loaded(struct documents *documents, bool *are_loaded, struct error *err)
{
    restore(documents);
    enum status status = fill(documents, documents->filled - documents->begin + 1, err);
    *are_loaded = documents->is_end;
    return status;
}

const char *documents_damage(const struct documents *documents)
{
    const char *damage = byte_source_damage(documents->source);
    return damage ? damage : *documents->damage ? documents->damage : NULL;
}

bool documents_are_cut(const struct documents *documents)
{
    return byte_source_damage(documents->source) ? byte_source_is_cut(documents->source) : documents->is_cut;
}

const char *documents_other_kind(const struct documents *documents)
{
    return file_kind(documents->bytes ? documents->bytes + documents->begin : "",
                     documents->filled - documents->begin);
}

bool documents_are_messages(const struct documents *documents)
{
    return documents->are_messages;
}

uint64_t documents_read_bytes(const struct documents *documents)
{
    return byte_source_read_bytes(documents->source);
}
