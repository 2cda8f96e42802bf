#include "agent/export/otlp/probe.h"

#include "support/test.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

static size_t unpack_gzip(const uint8_t *from, size_t bytes, uint8_t *to, size_t size)
{
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)from,
                       .avail_in = (unsigned)bytes,
                       .next_out = to,
                       .avail_out = (unsigned)size};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END); /* checks its sum and its length */
    assert_int_equal(stream.avail_in, 0);
    size_t got = stream.total_out;
    inflateEnd(&stream);
    return got;
}

static void test_packed_bodies(void **state)
{
    static const char *const bodies[] = {"", "{\"resourceSpans\":[]}", "x"};
    uint8_t packed[PROBE_BYTES_MAX], plain[128];
    size_t size;
    for (size_t i = 0; i < 3; i++) {
        const char *body = bodies[i];
        size_t bytes = strlen(body);
        assert_int_equal(probe_pack(COMPRESSION_GZIP, body, packed, &size), STATUS_OK);
        assert_int_equal(unpack_gzip(packed, size, plain, sizeof plain), bytes);
        assert_memory_equal(plain, body, bytes);
        assert_int_equal(probe_pack(COMPRESSION_ZSTD, body, packed, &size), STATUS_OK);
        assert_int_equal(ZSTD_decompress(plain, sizeof plain, packed, size), bytes);
        assert_memory_equal(plain, body, bytes);
        assert_int_equal(probe_pack(COMPRESSION_NONE, body, packed, &size), STATUS_OK);
        assert_int_equal(size, bytes);
        assert_memory_equal(packed, body, bytes);
    }
}

static void test_without_the_module(void **state)
{
    struct exporter_settings exporter = {.kind = EXPORTER_OTLP_HTTP};
    struct doctor_answer answer;
    probe_collector(&exporter, "/nowhere/libcuspan-export.so", &answer);
    assert_false(answer.has_module || answer.is_answered);
    assert_non_null(strstr(answer.error, "/nowhere/libcuspan-export.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed_bodies),
                                       cmocka_unit_test(test_without_the_module)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
