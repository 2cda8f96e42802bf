#include "agent/export/compress/compress.h"

#include "support/batches.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const struct codec *const codecs[] = {
#ifdef CUSPAN_ISAL
    &codec_gzip_isal,
#endif
#ifdef CUSPAN_DEFLATE
    &codec_gzip_deflate,
#endif
    &codec_zstd,
};
#define CODECS (sizeof codecs / sizeof *codecs)

/* The allocations that are to succeed before one fails; -1: all. The linker leads the codecs' and their
 * libraries' calls here. */
static int allocations_left = -1;
static int allocations;
static size_t allocated;

static bool may_allocate(size_t bytes)
{
    allocations++;
    allocated += bytes;
    bool may = allocations_left != 0;
    allocations_left -= allocations_left > 0;
    return may;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return may_allocate(bytes) ? __real_malloc(bytes) : NULL;
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return may_allocate(count * bytes) ? __real_calloc(count, bytes) : NULL;
}

/* Decompresses with zlib, which is independent of the codecs. */
static size_t inflate_all(const uint8_t *from, size_t bytes, uint8_t *to, size_t size)
{
    z_stream stream = {0};
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)from; /* older versions of zlib have no const */
    stream.avail_in = (uInt)bytes;
    stream.next_out = to;
    stream.avail_out = (uInt)size;
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    size_t made = stream.total_out;
    inflateEnd(&stream);
    return made;
}

static size_t undo(const struct codec *codec, const uint8_t *from, size_t bytes, uint8_t *to, size_t size)
{
    if (strcmp(codec->encoding, "gzip") == 0)
        return inflate_all(from, bytes, to, size);
    size_t made = ZSTD_decompress(to, size, from, bytes);
    assert_false(ZSTD_isError(made));
    return made;
}

static uint64_t random_state = 88172645463325252u;

static uint8_t random_byte(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint8_t)(random_state >> 32);
}

/* Like requests: repetitive, with a few random bytes. */
static uint8_t *make_text(size_t bytes)
{
    uint8_t *text = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = i % 100 < 8 ? random_byte() : (uint8_t)("kernel span "[i % 12] + (i / 1000) % 3);
    return text;
}

static void check_round_trip(const struct codec *codec, struct compressor *compressor, const uint8_t *text,
                             size_t bytes, const struct chunk *chunks)
{
    uint8_t *back = malloc(bytes + 1);
    const uint8_t *compressed;
    size_t compressed_bytes;
    assert_int_equal(compress_chunks(compressor, chunks, &compressed, &compressed_bytes), STATUS_OK);
    assert_in_range(compressed_bytes, 1, bytes / 2);
    assert_int_equal(undo(codec, compressed, compressed_bytes, back, bytes + 1), bytes);
    assert_memory_equal(text, back, bytes);
    free(back);
}

static void check_size(const struct codec *codec, struct compressor *compressor, struct chunk_pool *pool,
                       size_t bytes)
{
    uint8_t *text = make_text(bytes);
    struct batch *batch = make_batch(pool, BATCH_PROTOBUF, text, bytes, 1);
    check_round_trip(codec, compressor, text, bytes, batch->chunks);
    batch_release(batch);
    free(text);
}

static void test_each_level_gives_back_what_it_took(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(16, &pool), STATUS_OK);
    for (size_t i = 0; i < CODECS; i++) {
        for (int level = codecs[i]->level_min; level <= codecs[i]->level_max; level++) {
            struct compressor *compressor;
            assert_int_equal(compressor_create(codecs[i], level, &compressor), STATUS_OK);
            check_size(codecs[i], compressor, pool, 1000);
            check_size(codecs[i], compressor, pool, 10 * CHUNK_BYTES);
            check_size(codecs[i], compressor, pool, 2000);
            compressor_destroy(compressor);
        }
    }
    assert_int_equal(chunk_pool_free(pool), 16);
    chunk_pool_destroy(pool);
}

/* A zstd context may reallocate when many small requests follow large ones. */
static void test_no_memory_is_taken_after_the_beginning(void **state)
{
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(48, &pool), STATUS_OK);
    for (size_t i = 0; i < CODECS; i++) {
        struct compressor *compressor;
        const uint8_t *compressed;
        size_t compressed_bytes;
        assert_int_equal(compressor_create(codecs[i], codecs[i]->level_default, &compressor), STATUS_OK);
        for (int round = 0; round < 300; round++) {
            size_t bytes = round % 150 == 0 ? 2 * 1024 * 1024 + 5 : 300;
            uint8_t *text = make_text(bytes);
            struct batch *batch = make_batch(pool, BATCH_PROTOBUF, text, bytes, 1);
            allocations = 0;
            assert_int_equal(compress_chunks(compressor, batch->chunks, &compressed, &compressed_bytes),
                             STATUS_OK);
            assert_int_equal(allocations, 0);
            batch_release(batch);
            free(text);
        }
        compressor_destroy(compressor);
    }
    chunk_pool_destroy(pool);
}

static void test_chunks_may_be_empty_or_hold_little(void **state)
{
    static const uint32_t sizes[] = {0, 1, 0, 7, 3000, 0, 40000, 300, 0};
    struct chunk_pool *pool;
    assert_int_equal(chunk_pool_create(16, &pool), STATUS_OK);
    uint8_t *text = make_text(CHUNK_BYTES);
    struct chunk *chunks = NULL, **last = &chunks;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, last = &(*last)->next) {
        *last = chunk_take(pool);
        (*last)->begin = 100;
        (*last)->end = 100 + sizes[i];
        memcpy((*last)->data + 100, text + bytes, sizes[i]);
        bytes += sizes[i];
    }
    for (size_t i = 0; i < CODECS; i++) {
        struct compressor *compressor;
        assert_int_equal(compressor_create(codecs[i], codecs[i]->level_default, &compressor), STATUS_OK);
        check_round_trip(codecs[i], compressor, text, bytes, chunks);
        compressor_destroy(compressor);
    }
    free(text);
    chunk_give_back(pool, chunks);
    chunk_pool_destroy(pool);
}

static void test_what_does_not_get_smaller_is_left_alone(void **state)
{
    static const size_t sizes[] = {1, 10, 4096, 3 * CHUNK_BYTES};
    const uint8_t *compressed;
    size_t compressed_bytes;
    struct chunk_pool *pool;
    uint8_t *noise = malloc(3 * CHUNK_BYTES);
    for (size_t i = 0; i < 3 * CHUNK_BYTES; i++)
        noise[i] = random_byte();
    assert_int_equal(chunk_pool_create(16, &pool), STATUS_OK);
    for (size_t i = 0; i < CODECS; i++) {
        struct compressor *compressor;
        assert_int_equal(compressor_create(codecs[i], codecs[i]->level_default, &compressor), STATUS_OK);
        assert_int_equal(compress_chunks(compressor, NULL, &compressed, &compressed_bytes), STATUS_FULL);
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            struct batch *batch = make_batch(pool, BATCH_PROTOBUF, noise, sizes[size], 1);
            assert_int_equal(compress_chunks(compressor, batch->chunks, &compressed, &compressed_bytes),
                             STATUS_FULL);
            batch_release(batch);
            check_size(codecs[i], compressor, pool, 3000); /* no state is left from the failed call */
        }
        compressor_destroy(compressor);
    }
    free(noise);
    chunk_pool_destroy(pool);
}

static void test_memory_is_bounded(void **state)
{
    for (size_t i = 0; i < CODECS; i++) {
        struct compressor *compressor;
        bool gathers = strcmp(codecs[i]->library, "libdeflate") == 0;
        allocated = 0;
        assert_int_equal(compressor_create(codecs[i], codecs[i]->level_default, &compressor), STATUS_OK);
        print_message("%s: %zu bytes\n", codecs[i]->library, allocated);
        assert_in_range(allocated, COMPRESSED_BYTES_MAX,
                        COMPRESSOR_BYTES_MAX + (gathers ? BATCH_BYTES_MAX : 0));
        compressor_destroy(compressor);
    }
}

static void test_each_failing_allocation_is_told(void **state)
{
    for (size_t i = 0; i < CODECS; i++) {
        enum status status = STATUS_NO_MEMORY;
        int needed = 0;
        for (; status != STATUS_OK && needed < 10; needed++) {
            struct compressor *compressor = NULL;
            allocations_left = needed;
            status = compressor_create(codecs[i], codecs[i]->level_default, &compressor);
            allocations_left = -1;
            assert_true(status == STATUS_OK ? compressor != NULL : status == STATUS_NO_MEMORY);
            compressor_destroy(compressor);
        }
        assert_int_equal(status, STATUS_OK);
        assert_in_range(needed, 4, 9); /* the compressor, its output and the codec's own at least */
    }
    compressor_destroy(NULL);
}

static void test_a_setting_has_its_codec(void **state)
{
    assert_null(compress_codec(COMPRESSION_NONE));
    assert_string_equal(compress_codec(COMPRESSION_GZIP)->encoding, "gzip");
    assert_string_equal(compress_codec(COMPRESSION_ZSTD)->encoding, "zstd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_level_gives_back_what_it_took),
        cmocka_unit_test(test_no_memory_is_taken_after_the_beginning),
        cmocka_unit_test(test_chunks_may_be_empty_or_hold_little),
        cmocka_unit_test(test_what_does_not_get_smaller_is_left_alone),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_each_failing_allocation_is_told),
        cmocka_unit_test(test_a_setting_has_its_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
