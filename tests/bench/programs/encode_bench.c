/* Measures the cost of encoding: CPU ns per span, of kernel spans with ten attributes and of call spans with
 * pointers. The first are those of the benchmark of exporters (spans.h).
 *
 *   encode_bench [protobuf|json] [MILLIONS OF SPANS]
 */
#include "agent/encode/encoder.h"
#include "spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct attr_key key_pointer = ATTR_KEY("cuda.arg.devPtr");
static const struct attr_key key_bytes = ATTR_KEY("cuda.arg.count");
static const struct attr_key key_thread = ATTR_KEY("thread.name");
static const struct attr_key key_grid = ATTR_KEY("cuda.grid");

/* A call with six attributes, two of them addresses. */
static void fill_call(struct span *span, uint64_t i, uint64_t *state)
{
    fill_common(span, i, state);
    uint64_t h = random_next(state);
    span->name = "cudaMemcpyAsync";
    span->name_len = 15;
    span_attr_string(span, &key_thread, "python3");
    span_attr_pointer(span, &key_pointer, 0x7f0000000000u | (h & 0xffffff00));
    span_attr_pointer(span, &key_pointer, 0x7f0000000000u | (h >> 32 & 0xffffff00));
    span_attr_int(span, &key_bytes, (int64_t)(h & 0xffffff));
    span_attr_int(span, &key_correlation, (int64_t)(1000 + i));
    span_attr_dim3(span, &key_grid, (uint32_t)(h & 1023), 1 + (h >> 60), 1);
}

struct result {
    double ns; /* per span */
    double bytes;
    uint64_t checksum; /* keeps the compiler from removing the work */
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void finish(struct encoder *encoder, struct result *result)
{
    struct batch *batch = encoder_seal(encoder);
    if (!batch)
        return;
    result->bytes += (double)batch->bytes;
    result->checksum += batch->chunks->data[batch->chunks->begin];
    batch_release(batch);
}

/* The spans are made before the clock starts; `count` of them are encoded `rounds` times. */
static struct result measure(struct encoder *encoder, const struct span *spans, size_t count, size_t rounds)
{
    struct result result = {0};
    double start = now_ns();
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (encoder_add(encoder, &spans[i]) == STATUS_OK)
                continue;
            finish(encoder, &result);
            if (encoder_add(encoder, &spans[i]) != STATUS_OK)
                abort();
        }
    }
    finish(encoder, &result);
    result.ns = (now_ns() - start) / (double)(rounds * count);
    result.bytes /= (double)(rounds * count);
    return result;
}

static void report(const char *what, struct encoder *encoder, const struct span *spans, size_t count,
                   size_t rounds)
{
    struct result best = measure(encoder, spans, count, 1);
    for (int i = 0; i < 5; i++) {
        struct result result = measure(encoder, spans, count, rounds);
        if (result.ns < best.ns)
            best = result;
    }
    printf("%-8s %7.1f ns a span, %6.1f bytes\n", what, best.ns, best.bytes);
}

int main(int argc, char **argv)
{
    enum { COUNT = 512 };
    bool json = argc > 1 && strcmp(argv[1], "json") == 0;
    size_t rounds = (size_t)(argc > 2 ? atof(argv[2]) * 1e6 / COUNT : 2000);
    struct chunk_pool *pool;
    struct encoder *encoder;
    static struct span spans[COUNT];
    if (chunk_pool_create(256, &pool) != STATUS_OK)
        return 1;
    struct encoder_options options = {json ? BATCH_JSON : BATCH_PROTOBUF,
                                      pool,
                                      "cuspan",
                                      CUSPAN_VERSION,
                                      ENCODER_SCHEMA_URL,
                                      UINT32_MAX,
                                      128,
                                      128,
                                      128,
                                      8192,
                                      4 << 20,
                                      0,
                                      false};
    if (encoder_create(&options, &encoder) != STATUS_OK)
        return 1;
    uint64_t state = 42;
    for (size_t i = 0; i < COUNT; i++)
        fill_kernel(&spans[i], i, &state);
    report("kernels", encoder, spans, COUNT, rounds);
    for (size_t i = 0; i < COUNT; i++)
        fill_call(&spans[i], i, &state);
    report("calls", encoder, spans, COUNT, rounds);
    for (size_t i = 0; i < COUNT; i++)
        i % 2 ? fill_call(&spans[i], i, &state) : fill_kernel(&spans[i], i, &state);
    report("mixed", encoder, spans, COUNT, rounds);
    encoder_destroy(encoder);
    chunk_pool_destroy(pool);
    return 0;
}
