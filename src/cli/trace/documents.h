/* Splits a file into documents of OTLP: lines of JSON, or messages preceded by their length (4 bytes, big
 * endian), each of them possibly compressed by zstd, as the Collector's file exporter writes them. */
#ifndef CUSPAN_CLI_TRACE_DOCUMENTS_H
#define CUSPAN_CLI_TRACE_DOCUMENTS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCUMENT_BYTES_MAX (1u << 30)
#define DOCUMENT_PADDING   8 /* zero bytes behind a document */

struct document {
    char *bytes; /* may be overwritten; valid until the next call; len 0: the end */
    size_t len;
    bool is_json;
    bool is_complete; /* false: the last line, without a newline */
    uint64_t number;  /* of the line or the message, from 1 */
    uint64_t offset;  /* in the decompressed file */
};

struct documents;

/* `fd` and `name` stay the caller's and must outlive it. */
enum status documents_open(int fd, const char *name, struct documents **documents,
                           struct error *err) MUST_CHECK;
void documents_close(struct documents *documents);

/* Blank lines are skipped. Errors: IO, CORRUPT, INVALID. */
enum status documents_next(struct documents *documents, struct document *document,
                           struct error *err) MUST_CHECK;
/* Makes the document's bytes the caller's, whose own buffer (or NULL) the reader takes in exchange: the
 * document then stays valid for as long as *bytes, which the caller frees. */
void documents_take(struct documents *documents, struct document *document, char **bytes, size_t *capacity);
/* Extends the document, which must be the first one and unchanged, by the whole rest of the file: JSON on
 * many lines. */
enum status documents_join_rest(struct documents *documents, struct document *document,
                                struct error *err) MUST_CHECK;
/* Whether the rest of the file is in memory already, so that nothing is to be read or decompressed. */
enum status documents_are_loaded(struct documents *documents, bool *are_loaded, struct error *err) MUST_CHECK;
/* At the end: the last message was incomplete and was skipped, or the compressed data was cut off. */
bool documents_are_cut(const struct documents *documents);
bool documents_are_messages(const struct documents *documents);
uint64_t documents_read_bytes(const struct documents *documents);

#endif
