/* The body of a request, as it is sent or kept in a spool: a batch, compressed if that makes it smaller. */
#pragma once

#include "agent/export/compress/compress.h"
#include "model/batch.h"

#include <stdbool.h>
#include <sys/uio.h>

struct request_body {
    struct iovec *parts;  /* the first is left free, for gRPC's prefix; the body follows */
    size_t part_count;    /* without the first */
    const char *encoding; /* Content-Encoding, a literal; NULL: none */
    uint32_t spans;
    uint8_t format; /* enum batch_format */
    bool is_kept;   /* on disk: not lost if it is not delivered, so exit does not wait for it */
};

struct packer {
    const struct codec *codec;     /* NULL: no compression */
    struct compressor *compressor; /* NULL if codec is */
    struct iovec *parts;
    size_t capacity;
};

/* NO_MEMORY. packer_deinit() is needed all the same. */
enum status packer_init(struct packer *packer, enum compression compression) MUST_CHECK;
void packer_deinit(struct packer *packer);

/* Makes the body, which is valid until the next call and as long as the batch. If it is compressed, returns
 * the batch's chunks to their pool, so that little memory waits for an unreachable collector; the first chunk
 * stays, because it contains the batch itself. There is room for one more part behind the body. False: no
 * memory, or a broken invariant. */
bool packer_pack(struct packer *packer, struct batch *batch, struct request_body *body);
