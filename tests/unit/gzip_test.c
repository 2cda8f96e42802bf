#include "export/gzip.h"

#include "support/batches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

/* zlib, which had no part in the compressing, undoes it. */
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

static void check_round_trip(struct gzip *gzip, struct chunk_pool *pool, size_t bytes)
{
    uint8_t *text = malloc(bytes);
    uint8_t *back = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (uint8_t)("kernel span "[i % 12] + (i / 1000) % 3);
    struct batch *batch = make_batch(pool, BATCH_PROTOBUF, text, bytes, 1);
    const uint8_t *compressed;
    size_t compressed_bytes;
    assert_int_equal(gzip_chunks(gzip, batch->chunks, batch->bytes, &compressed, &compressed_bytes),
                     STATUS_OK);
    assert_in_range(compressed_bytes, 1, bytes / 2);
    assert_int_equal(inflate_all(compressed, compressed_bytes, back, bytes + 1), bytes);
    assert_memory_equal(text, back, bytes);
    batch_release(batch);
    free(text);
    free(back);
}

static void chunks_become_one_gzip_member(void **state)
{
    struct chunk_pool *pool;
    struct gzip *gzip;
    assert_int_equal(chunk_pool_create(16, &pool), STATUS_OK);
    assert_int_equal(gzip_create(GZIP_LEVEL_DEFAULT, &gzip), STATUS_OK);
    check_round_trip(gzip, pool, 1000);
    check_round_trip(gzip, pool, 10 * CHUNK_BYTES); /* the buffers grow */
    check_round_trip(gzip, pool, 2000);             /* and are used again */
    assert_int_equal(chunk_pool_free(pool), 16);
    gzip_destroy(gzip);
    chunk_pool_destroy(pool);
}

static void what_does_not_get_smaller_is_left_alone(void **state)
{
    struct chunk_pool *pool;
    struct gzip *gzip;
    uint8_t noise[4096];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < sizeof noise; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        noise[i] = (uint8_t)(x >> 32);
    }
    assert_int_equal(chunk_pool_create(2, &pool), STATUS_OK);
    assert_int_equal(gzip_create(1, &gzip), STATUS_OK);
    struct batch *batch = make_batch(pool, BATCH_PROTOBUF, noise, sizeof noise, 1);
    const uint8_t *compressed;
    size_t compressed_bytes;
    assert_int_equal(gzip_chunks(gzip, batch->chunks, batch->bytes, &compressed, &compressed_bytes),
                     STATUS_FULL);
    batch_release(batch);
    gzip_destroy(gzip);
    chunk_pool_destroy(pool);
}

static void a_wrong_sum_of_bytes_is_caught(void **state)
{
    struct chunk_pool *pool;
    struct gzip *gzip;
    assert_int_equal(chunk_pool_create(2, &pool), STATUS_OK);
    assert_int_equal(gzip_create(1, &gzip), STATUS_OK);
    struct batch *batch = make_batch(pool, BATCH_PROTOBUF, "aaaaaaaaaaaaaaaa", 16, 1);
    const uint8_t *compressed;
    size_t compressed_bytes;
    assert_int_equal(gzip_chunks(gzip, batch->chunks, 15, &compressed, &compressed_bytes), STATUS_INVALID);
    batch_release(batch);
    gzip_destroy(gzip);
    gzip_destroy(NULL);
    chunk_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_become_one_gzip_member),
        cmocka_unit_test(what_does_not_get_smaller_is_left_alone),
        cmocka_unit_test(a_wrong_sum_of_bytes_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
