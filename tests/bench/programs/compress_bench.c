/* Measures the cost of compressing a request, by library and level, and of copying it: CPU ns and bytes, per
 * span. The body is a real one, as received by a server or written by an encoder;
 * tests/bench/programs/compress_bench.py makes one of a recording. The levels alternate in rounds, and the
 * best round of each counts, so other load affects all equally. A star marks the agent's choice.
 *
 *   compress_bench BODY_FILE SPANS_IN_IT
 */
#include "measured.h"
#include "agent/export/compress/compress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 25

static const struct codec *const codecs[] = {
#ifdef CUSPAN_ISAL
    &codec_gzip_isal,
#endif
#ifdef CUSPAN_DEFLATE
    &codec_gzip_deflate,
#endif
    &codec_zstd,
};

struct candidate {
    const struct codec *codec;
    int level;
    struct compressor *compressor;
    double best_ns;
    size_t bytes;
};

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

static double copy_ns(const struct chunk *chunks, uint8_t *to)
{
    double begin_ns = thread_ns();
    for (; chunks; chunks = chunks->next) {
        memcpy(to, chunks->data, chunks->end);
        to += chunks->end;
    }
    return thread_ns() - begin_ns;
}

static bool measure(struct candidate *candidate, const struct chunk *chunks)
{
    const uint8_t *compressed;
    double begin_ns = thread_ns();
    if (compress_chunks(candidate->compressor, chunks, &compressed, &candidate->bytes) != STATUS_OK)
        return false;
    double taken_ns = thread_ns() - begin_ns;
    candidate->best_ns = taken_ns < candidate->best_ns ? taken_ns : candidate->best_ns;
    return true;
}

static size_t make_candidates(struct candidate *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        for (int level = codecs[i]->level_min; level <= codecs[i]->level_max; level++) {
            candidates[count] = (struct candidate){.codec = codecs[i], .level = level, .best_ns = 1e18};
            if (compressor_create(codecs[i], level, &candidates[count].compressor) == STATUS_OK)
                count++;
        }
    }
    return count;
}

static int compare(const struct chunk *chunks, size_t bytes, double spans)
{
    struct candidate candidates[64];
    size_t count = make_candidates(candidates);
    double best_copy_ns = 1e18;
    uint8_t *copy = malloc(bytes);
    if (!copy)
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        double taken_ns = copy_ns(chunks, copy);
        best_copy_ns = taken_ns < best_copy_ns ? taken_ns : best_copy_ns;
        for (size_t i = 0; i < count; i++)
            if (!measure(&candidates[i], chunks))
                return 1;
    }
    free(copy);
    printf("%-20s %6.0f ns a span, %5.1f bytes a span\n", "memcpy", best_copy_ns / spans,
           (double)bytes / spans);
    for (size_t i = 0; i < count; i++) {
        const struct candidate *one = &candidates[i];
        bool used = one->level == one->codec->level_default &&
                    (one->codec == compress_codec(COMPRESSION_GZIP) || one->codec == &codec_zstd);
        printf("%-4s %-10s %3d%c %6.0f ns a span, %5.1f bytes a span\n", one->codec->encoding,
               one->codec->library, one->level, used ? '*' : ' ', one->best_ns / spans,
               (double)one->bytes / spans);
        compressor_destroy(one->compressor);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct chunk_pool *pool;
    size_t bytes = 0;
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    double spans = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (!file || spans < 1 || chunk_pool_create(1024, &pool) != STATUS_OK) {
        fprintf(stderr, "usage: compress_bench BODY_FILE SPANS_IN_IT\n");
        return 2;
    }
    const struct chunk *chunks = read_chunks(file, pool, &bytes);
    int status = chunks ? compare(chunks, bytes, spans) : 1;
    fclose(file);
    chunk_pool_destroy(pool);
    return status;
}
