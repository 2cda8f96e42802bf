/* Splits a file into documents of OTLP: lines of JSON, or messages preceded by their length (4 bytes, big
 * endian), each of them possibly compressed by zstd, as the Collector's file exporter writes them. */
#pragma once

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

/* Blank lines are skipped. Errors: IO; INVALID: the rest cannot be read; CORRUPT: this message cannot be
 * decompressed, the next one may. */
enum status documents_next(struct documents *documents, struct document *document,
                           struct error *err) MUST_CHECK;
/* Makes the document's bytes the caller's, whose own buffer (or NULL) the reader takes in exchange: the
 * document then stays valid for as long as *bytes, which the caller frees. */
void documents_take(struct documents *documents, struct document *document, char **bytes, size_t *capacity);
/* Extends the document, which must be the first one and unchanged, by the whole rest of the file: JSON on
 * many lines. INVALID: that is too much. The next document is the first line again, unless
 * documents_drop_lines() is called, in either case. */
enum status documents_join_rest(struct documents *documents, struct document *document,
                                struct error *err) MUST_CHECK;
/* After documents_join_rest(): the next document starts so many lines behind its start. */
void documents_drop_lines(struct documents *documents, struct document *document, size_t lines);
/* Whether the rest of the file is in memory already, so that nothing is to be read or decompressed. */
enum status documents_are_loaded(struct documents *documents, bool *are_loaded, struct error *err) MUST_CHECK;
/* Before the first document, if it has no messages: what the file is, with a fix; NULL: it may be JSON. */
const char *documents_other_kind(const struct documents *documents);
/* At the end: why there may be more that was not read, or NULL. */
const char *documents_damage(const struct documents *documents);
/* The file ends early, inside a message or compressed data, and is right up to there. */
bool documents_are_cut(const struct documents *documents);
bool documents_are_messages(const struct documents *documents);
uint64_t documents_read_bytes(const struct documents *documents);
