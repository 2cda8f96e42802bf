#include "analysis/export/parquet.h"

#include "base/files.h"
#include "analysis/export/parquet_encode.h"
#include "analysis/export/thrift.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC          "PAR1"
#define MAGIC_BYTES    4
#define CREATED_BY     "cuspan"
#define FORMAT_VERSION 2
#define ZSTD_LEVEL     3
#define OUT_BYTES      (256u << 10)
#define PAGE_BYTES_MAX INT32_MAX

/* Numbers of parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6, TYPE_FIXED = 7 };
enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum { CONVERTED_UTF8 = 0, CONVERTED_MAP = 1, CONVERTED_UINT64 = 14, CONVERTED_INT64 = 18 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_NONE = 0, CODEC_ZSTD = 6 };
enum { LOGICAL_STRING = 1, LOGICAL_MAP = 2, LOGICAL_INTEGER = 10 };

struct chunk_facts {
    int encoding;
    uint64_t dictionary_at, data_at; /* offsets in the file; 0: no dictionary */
    uint64_t bytes, compressed;      /* with headers */
    uint64_t values, nulls;
    uint64_t min, max; /* of numbers */
    bool has_range;
};

struct group_facts {
    struct chunk_facts *chunks;
    uint64_t rows, at;
};

struct parquet_file {
    int fd;
    const struct parquet_schema *schema;
    const struct zstd_api *zstd; /* NULL: no compression */
    void *zstd_state;
    uint64_t offset;  /* with `out` */
    struct bytes out; /* not yet written: pages of small files are short */
    struct group_facts *groups;
    size_t group_count, group_capacity;
    size_t chunk; /* the next one of the open row group */
    struct chunk_facts *chunks;
    uint64_t group_at;
    struct bytes page, packed, header, other;
};

struct parquet_file *parquet_create(int fd, const struct parquet_schema *schema, const struct zstd_api *zstd)
{
    struct parquet_file *file = xcalloc(1, sizeof *file);
    file->fd = fd;
    file->schema = schema;
    file->zstd = zstd;
    return file;
}

void parquet_destroy(struct parquet_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->group_count; i++)
        free(file->groups[i].chunks);
    free(file->groups);
    free(file->chunks);
    if (file->zstd_state)
        file->zstd->destroy(file->zstd_state);
    free(file->out.data);
    free(file->page.data);
    free(file->packed.data);
    free(file->header.data);
    free(file->other.data);
    free(file);
}

uint64_t parquet_bytes(const struct parquet_file *file)
{
    return file->offset;
}

static enum status write_all(int fd, const void *data, size_t len, struct error *err)
{
    return files_write(fd, data, len) ? STATUS_OK : error_set(err, STATUS_IO, "%s", strerror(errno));
}

static enum status flush(struct parquet_file *file, struct error *err)
{
    enum status status = write_all(file->fd, file->out.data, file->out.len, err);
    file->out.len = 0;
    return status;
}

static enum status add_bytes(struct parquet_file *file, const void *data, size_t len, struct error *err)
{
    enum status status = STATUS_OK;
    file->offset += len;
    if (file->out.len + len > OUT_BYTES)
        status = flush(file, err);
    if (len >= OUT_BYTES)
        return status == STATUS_OK ? write_all(file->fd, data, len, err) : status;
    bytes_add(&file->out, data, len);
    return status;
}

/* --- pages --- */

static enum status compress_page(struct parquet_file *file, struct error *err)
{
    if (!file->zstd_state)
        file->zstd_state = file->zstd->create(ZSTD_LEVEL);
    size_t capacity = file->zstd->bound(file->page.len);
    file->packed.len = 0;
    uint8_t *to = bytes_room(&file->packed, capacity);
    size_t made = file->zstd_state
                      ? file->zstd->compress(file->zstd_state, to, capacity, file->page.data, file->page.len)
                      : 0;
    if (made == 0)
        return error_set(err, STATUS_NO_MEMORY, "zstd cannot compress %zu bytes", file->page.len);
    file->packed.len = made;
    return STATUS_OK;
}

static void add_page_header(struct parquet_file *file, int type, const struct bytes *body, size_t values,
                            int encoding)
{
    struct thrift thrift;
    file->header.len = 0;
    thrift_begin(&thrift, &file->header);
    thrift_int(&thrift, 1, THRIFT_I32, type);
    thrift_int(&thrift, 2, THRIFT_I32, (int64_t)file->page.len);
    thrift_int(&thrift, 3, THRIFT_I32, (int64_t)body->len);
    thrift_int(&thrift, 4, THRIFT_I32, (int32_t)crc32_z(0, body->data, body->len));
    thrift_open(&thrift, type == PAGE_DATA ? 5 : 7);
    thrift_int(&thrift, 1, THRIFT_I32, (int64_t)values);
    thrift_int(&thrift, 2, THRIFT_I32, encoding);
    if (type == PAGE_DATA) {
        thrift_int(&thrift, 3, THRIFT_I32, ENCODING_RLE);
        thrift_int(&thrift, 4, THRIFT_I32, ENCODING_RLE);
    }
    thrift_close(&thrift);
    thrift_close(&thrift);
}

/* Writes file->page. */
static enum status write_page(struct parquet_file *file, int type, size_t values, int encoding,
                              struct chunk_facts *facts, struct error *err)
{
    if (file->page.len > PAGE_BYTES_MAX)
        return error_set(err, STATUS_FULL, "a page of more than 2 GiB");
    enum status status = file->zstd ? compress_page(file, err) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    const struct bytes *body = file->zstd ? &file->packed : &file->page;
    add_page_header(file, type, body, values, encoding);
    facts->bytes += file->header.len + file->page.len;
    facts->compressed += file->header.len + body->len;
    status = add_bytes(file, file->header.data, file->header.len, err);
    return status == STATUS_OK ? add_bytes(file, body->data, body->len, err) : status;
}

/* Levels are preceded by their length. */
static void add_levels(struct bytes *page, const uint32_t *levels, uint32_t constant, size_t count)
{
    size_t at = page->len;
    bytes_add_le32(page, 0);
    if (levels)
        parquet_add_hybrid(page, levels, count, 1);
    else
        parquet_add_run(page, constant, count, 1);
    uint32_t len = htole32((uint32_t)(page->len - at - sizeof len));
    memcpy(page->data + at, &len, sizeof len);
}

static void add_plain(struct bytes *page, const uint64_t *numbers, size_t count)
{
    uint8_t *at = bytes_room(page, count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = htole64(numbers[i]);
        memcpy(at + i * sizeof value, &value, sizeof value);
    }
    page->len += count * sizeof *numbers;
}

/* IDs that count up, and times, are small differences; others are random. */
static int add_numbers(struct parquet_file *file, const struct parquet_chunk *chunk)
{
    file->other.len = 0;
    parquet_add_delta(&file->other, chunk->numbers, chunk->count);
    if (file->other.len >= chunk->count * sizeof *chunk->numbers) {
        add_plain(&file->page, chunk->numbers, chunk->count);
        return ENCODING_PLAIN;
    }
    bytes_add(&file->page, file->other.data, file->other.len);
    return ENCODING_DELTA;
}

static bool is_less(enum parquet_type type, uint64_t a, uint64_t b)
{
    return type == PARQUET_INT64 ? (int64_t)a < (int64_t)b : a < b;
}

static void take_range(struct chunk_facts *facts, enum parquet_type type, const uint64_t *numbers,
                       size_t count)
{
    facts->has_range = count > 0;
    facts->min = facts->max = count > 0 ? numbers[0] : 0;
    for (size_t i = 1; i < count; i++) {
        if (is_less(type, numbers[i], facts->min))
            facts->min = numbers[i];
        else if (is_less(type, facts->max, numbers[i]))
            facts->max = numbers[i];
    }
}

static bool is_map(enum parquet_type type)
{
    return type == PARQUET_MAP_KEY || type == PARQUET_MAP_VALUE;
}

static bool is_number(enum parquet_type type)
{
    return type == PARQUET_INT64 || type == PARQUET_UINT64;
}

static enum status add_dictionary(struct parquet_file *file, const struct parquet_chunk *chunk,
                                  struct chunk_facts *facts, struct error *err)
{
    facts->dictionary_at = file->offset;
    file->page.len = 0;
    bytes_add(&file->page, chunk->dictionary->data, chunk->dictionary->len);
    return write_page(file, PAGE_DICTIONARY, chunk->dictionary_count, ENCODING_PLAIN, facts, err);
}

static void add_indices(struct bytes *page, const struct parquet_chunk *chunk)
{
    unsigned width = parquet_bit_width(chunk->dictionary_count ? chunk->dictionary_count - 1 : 0);
    bytes_add_byte(page, (uint8_t)width);
    if (chunk->indices)
        parquet_add_hybrid(page, chunk->indices, chunk->count, width);
    else
        parquet_add_run(page, 0, chunk->count, width);
}

static enum status add_data(struct parquet_file *file, const struct parquet_column *column,
                            const struct parquet_chunk *chunk, struct chunk_facts *facts, struct error *err)
{
    facts->data_at = file->offset;
    file->page.len = 0;
    if (is_map(column->type))
        add_levels(&file->page, chunk->repeated, 0, chunk->level_count);
    if (is_map(column->type) || column->is_optional)
        add_levels(&file->page, chunk->defined, chunk->count > 0, chunk->level_count);
    facts->encoding = chunk->dictionary ? ENCODING_DICTIONARY : ENCODING_PLAIN;
    if (chunk->dictionary)
        add_indices(&file->page, chunk);
    else if (chunk->count)
        facts->encoding = add_numbers(file, chunk);
    return write_page(file, PAGE_DATA, chunk->level_count, facts->encoding, facts, err);
}

static enum status start_file(struct parquet_file *file, struct error *err)
{
    return file->offset == 0 ? add_bytes(file, MAGIC, MAGIC_BYTES, err) : STATUS_OK;
}

enum status parquet_add_chunk(struct parquet_file *file, const struct parquet_chunk *chunk, struct error *err)
{
    const struct parquet_schema *schema = file->schema;
    const struct parquet_column *column = &schema->columns[file->chunk];
    enum status status = start_file(file, err);
    if (!file->chunks)
        file->chunks = xcalloc(schema->column_count, sizeof *file->chunks);
    if (file->chunk == 0)
        file->group_at = file->offset;
    struct chunk_facts *facts = &file->chunks[file->chunk++];
    facts->values = chunk->level_count;
    facts->nulls = chunk->level_count - chunk->count;
    if (is_number(column->type) && chunk->numbers)
        take_range(facts, column->type, chunk->numbers, chunk->count);
    if (status == STATUS_OK && chunk->dictionary)
        status = add_dictionary(file, chunk, facts, err);
    return status == STATUS_OK ? add_data(file, column, chunk, facts, err) : status;
}

void parquet_end_group(struct parquet_file *file, size_t rows)
{
    *XADD(file->groups, file->group_count, file->group_capacity) =
        (struct group_facts){.chunks = file->chunks, .rows = rows, .at = file->group_at};
    file->chunks = NULL;
    file->chunk = 0;
}

/* --- the footer --- */

static int physical_type(enum parquet_type type)
{
    return is_number(type) ? TYPE_INT64 : type == PARQUET_ID ? TYPE_FIXED : TYPE_BYTE_ARRAY;
}

static void add_group_element(struct thrift *thrift, const char *name, int repetition, int children)
{
    thrift_open_element(thrift);
    if (repetition >= 0)
        thrift_int(thrift, 3, THRIFT_I32, repetition);
    thrift_string(thrift, 4, name);
    thrift_int(thrift, 5, THRIFT_I32, children);
}

static void add_leaf_element(struct thrift *thrift, const char *name, const struct parquet_column *column)
{
    thrift_open_element(thrift);
    thrift_int(thrift, 1, THRIFT_I32, physical_type(column->type));
    if (column->type == PARQUET_ID)
        thrift_int(thrift, 2, THRIFT_I32, PARQUET_ID_BYTES);
    thrift_int(thrift, 3, THRIFT_I32, column->is_optional ? OPTIONAL : REQUIRED);
    thrift_string(thrift, 4, name);
    if (is_number(column->type)) {
        bool is_signed = column->type == PARQUET_INT64;
        thrift_int(thrift, 6, THRIFT_I32, is_signed ? CONVERTED_INT64 : CONVERTED_UINT64);
        thrift_open(thrift, 10);
        thrift_open(thrift, LOGICAL_INTEGER);
        thrift_int(thrift, 1, THRIFT_BYTE, 64);
        thrift_bool(thrift, 2, is_signed);
        thrift_close(thrift);
        thrift_close(thrift);
    } else if (column->type != PARQUET_ID) {
        thrift_int(thrift, 6, THRIFT_I32, CONVERTED_UTF8);
        thrift_open(thrift, 10);
        thrift_open(thrift, LOGICAL_STRING);
        thrift_close(thrift);
        thrift_close(thrift);
    }
    thrift_close(thrift);
}

static void add_map_element(struct thrift *thrift, const char *name)
{
    add_group_element(thrift, name, REQUIRED, 1);
    thrift_int(thrift, 6, THRIFT_I32, CONVERTED_MAP);
    thrift_open(thrift, 10);
    thrift_open(thrift, LOGICAL_MAP);
    thrift_close(thrift);
    thrift_close(thrift);
    thrift_close(thrift);
    add_group_element(thrift, "key_value", REPEATED, 2);
    thrift_close(thrift);
}

static size_t count_type(const struct parquet_schema *schema, enum parquet_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < schema->column_count; i++)
        count += schema->columns[i].type == type;
    return count;
}

/* A map has two elements around its two leaves, and counts as one column. */
static void add_schema(struct thrift *thrift, const struct parquet_schema *schema)
{
    size_t maps = count_type(schema, PARQUET_MAP_KEY);
    thrift_list(thrift, 2, THRIFT_STRUCT, 1 + schema->column_count + 2 * maps);
    add_group_element(thrift, "schema", -1, (int)(schema->column_count - maps));
    thrift_close(thrift);
    for (size_t i = 0; i < schema->column_count; i++) {
        const struct parquet_column *column = &schema->columns[i];
        if (column->type == PARQUET_MAP_KEY)
            add_map_element(thrift, column->name);
        add_leaf_element(thrift,
                         column->type == PARQUET_MAP_KEY     ? "key"
                         : column->type == PARQUET_MAP_VALUE ? "value"
                                                             : column->name,
                         column);
    }
}

static void add_statistics(struct thrift *thrift, const struct chunk_facts *facts, enum parquet_type type)
{
    uint64_t min = htole64(facts->min), max = htole64(facts->max);
    if (is_map(type))
        return;
    thrift_open(thrift, 12);
    thrift_int(thrift, 3, THRIFT_I64, (int64_t)facts->nulls);
    if (facts->has_range) {
        thrift_binary(thrift, 5, &max, sizeof max);
        thrift_binary(thrift, 6, &min, sizeof min);
    }
    thrift_close(thrift);
}

static void add_path(struct thrift *thrift, const struct parquet_column *column)
{
    thrift_list(thrift, 3, THRIFT_BINARY, is_map(column->type) ? 3 : 1);
    thrift_add_string(thrift, column->name);
    if (is_map(column->type)) {
        thrift_add_string(thrift, "key_value");
        thrift_add_string(thrift, column->type == PARQUET_MAP_KEY ? "key" : "value");
    }
}

static void add_chunk_facts(const struct parquet_file *file, struct thrift *thrift,
                            const struct parquet_column *column, const struct chunk_facts *facts)
{
    bool has_dictionary = facts->dictionary_at != 0;
    thrift_open_element(thrift);
    thrift_int(thrift, 2, THRIFT_I64, 0); /* no metadata outside the footer */
    thrift_open(thrift, 3);
    thrift_int(thrift, 1, THRIFT_I32, physical_type(column->type));
    thrift_list(thrift, 2, THRIFT_I32, has_dictionary ? 3 : 2);
    if (has_dictionary)
        thrift_add_int(thrift, ENCODING_PLAIN);
    thrift_add_int(thrift, ENCODING_RLE);
    thrift_add_int(thrift, facts->encoding);
    add_path(thrift, column);
    thrift_int(thrift, 4, THRIFT_I32, file->zstd ? CODEC_ZSTD : CODEC_NONE);
    thrift_int(thrift, 5, THRIFT_I64, (int64_t)facts->values);
    thrift_int(thrift, 6, THRIFT_I64, (int64_t)facts->bytes);
    thrift_int(thrift, 7, THRIFT_I64, (int64_t)facts->compressed);
    thrift_int(thrift, 9, THRIFT_I64, (int64_t)facts->data_at);
    if (has_dictionary)
        thrift_int(thrift, 11, THRIFT_I64, (int64_t)facts->dictionary_at);
    add_statistics(thrift, facts, column->type);
    thrift_close(thrift);
    thrift_close(thrift);
}

static void add_group_facts(const struct parquet_file *file, struct thrift *thrift,
                            const struct group_facts *group, size_t ordinal)
{
    const struct parquet_schema *schema = file->schema;
    uint64_t bytes = 0, compressed = 0;
    thrift_open_element(thrift);
    thrift_list(thrift, 1, THRIFT_STRUCT, schema->column_count);
    for (size_t i = 0; i < schema->column_count; i++) {
        add_chunk_facts(file, thrift, &schema->columns[i], &group->chunks[i]);
        bytes += group->chunks[i].bytes;
        compressed += group->chunks[i].compressed;
    }
    thrift_int(thrift, 2, THRIFT_I64, (int64_t)bytes);
    thrift_int(thrift, 3, THRIFT_I64, (int64_t)group->rows);
    if (schema->sorted_by != SIZE_MAX) {
        thrift_list(thrift, 4, THRIFT_STRUCT, 1);
        thrift_open_element(thrift);
        thrift_int(thrift, 1, THRIFT_I32, (int64_t)schema->sorted_by);
        thrift_bool(thrift, 2, false);
        thrift_bool(thrift, 3, false);
        thrift_close(thrift);
    }
    thrift_int(thrift, 5, THRIFT_I64, (int64_t)group->at);
    thrift_int(thrift, 6, THRIFT_I64, (int64_t)compressed);
    if (ordinal <= INT16_MAX)
        thrift_int(thrift, 7, THRIFT_I16, (int64_t)ordinal);
    thrift_close(thrift);
}

static void add_metadata(struct thrift *thrift, const struct parquet_schema *schema)
{
    if (schema->metadata_count == 0)
        return;
    thrift_list(thrift, 5, THRIFT_STRUCT, schema->metadata_count);
    for (size_t i = 0; i < schema->metadata_count; i++) {
        thrift_open_element(thrift);
        thrift_string(thrift, 1, schema->metadata[i].key);
        thrift_string(thrift, 2, schema->metadata[i].value);
        thrift_close(thrift);
    }
}

static void add_footer(struct parquet_file *file)
{
    const struct parquet_schema *schema = file->schema;
    struct thrift thrift;
    uint64_t rows = 0;
    for (size_t i = 0; i < file->group_count; i++)
        rows += file->groups[i].rows;
    thrift_begin(&thrift, &file->page);
    thrift_int(&thrift, 1, THRIFT_I32, FORMAT_VERSION);
    add_schema(&thrift, schema);
    thrift_int(&thrift, 3, THRIFT_I64, (int64_t)rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, file->group_count);
    for (size_t i = 0; i < file->group_count; i++)
        add_group_facts(file, &thrift, &file->groups[i], i);
    add_metadata(&thrift, schema);
    thrift_string(&thrift, 6, CREATED_BY);
    /* Minimum and maximum follow the type's own order. */
    thrift_list(&thrift, 7, THRIFT_STRUCT, schema->column_count);
    for (size_t i = 0; i < schema->column_count; i++) {
        thrift_open_element(&thrift);
        thrift_open(&thrift, 1);
        thrift_close(&thrift);
        thrift_close(&thrift);
    }
    thrift_close(&thrift);
}

enum status parquet_finish(struct parquet_file *file, struct error *err)
{
    enum status status = start_file(file, err);
    file->page.len = 0;
    add_footer(file);
    uint32_t len = (uint32_t)file->page.len;
    bytes_add_le32(&file->page, len);
    bytes_add(&file->page, MAGIC, MAGIC_BYTES);
    if (status == STATUS_OK)
        status = add_bytes(file, file->page.data, file->page.len, err);
    return status == STATUS_OK ? flush(file, err) : status;
}
