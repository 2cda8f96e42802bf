/* What compressing a request costs, by level: ns of CPU and bytes, a span. The body is a real one, as a
 * server got it or as an encoder wrote it; tests/bench/gzip_bench.py makes one of a recording.
 *
 *   gzip_bench BODY_FILE SPANS_IN_IT
 */
#include "export/gzip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 15

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct chunk *read_chunks(FILE *file, struct chunk_pool *pool, size_t *bytes)
{
    struct chunk *first = NULL;
    for (struct chunk **last = &first;; last = &(*last)->next) {
        struct chunk *chunk = chunk_take(pool);
        if (!chunk)
            return NULL;
        chunk->end = (uint32_t)fread(chunk->data, 1, CHUNK_BYTES, file);
        *last = chunk;
        *bytes += chunk->end;
        if (chunk->end < CHUNK_BYTES)
            return first;
    }
}

static int measure(int level, const struct chunk *chunks, size_t bytes, double spans)
{
    struct gzip *gzip;
    const uint8_t *compressed;
    size_t compressed_bytes;
    double best_ns = 1e18;
    if (gzip_create(level, &gzip) != STATUS_OK)
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        double begin_ns = thread_ns();
        if (gzip_chunks(gzip, chunks, bytes, &compressed, &compressed_bytes) != STATUS_OK)
            return 1;
        double taken_ns = thread_ns() - begin_ns;
        best_ns = taken_ns < best_ns ? taken_ns : best_ns;
    }
    printf("level %d: %6.0f ns a span, %5.1f bytes a span\n", level, best_ns / spans,
           (double)compressed_bytes / spans);
    gzip_destroy(gzip);
    return 0;
}

int main(int argc, char **argv)
{
    struct chunk_pool *pool;
    size_t bytes = 0;
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    double spans = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (!file || spans < 1 || chunk_pool_create(1024, &pool) != STATUS_OK) {
        fprintf(stderr, "usage: gzip_bench BODY_FILE SPANS_IN_IT\n");
        return 2;
    }
    const struct chunk *chunks = read_chunks(file, pool, &bytes);
    printf("%zu bytes, %.1f bytes a span\n", bytes, (double)bytes / spans);
    for (int level = 1; level <= 9; level++)
        if (!chunks || measure(level, chunks, bytes, spans))
            return 1;
    fclose(file);
    chunk_pool_destroy(pool);
    return 0;
}
