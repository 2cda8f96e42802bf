/* Reads, decompresses and parses the documents of a file on a second thread, some documents ahead of the
 * caller, who turns them into spans. A short file has no such thread. */
#pragma once

#include "base/status.h"
#include "analysis/trace/documents.h"
#include "analysis/trace/otlp_json.h"

struct parsed {
    struct document document; /* len 0: the end of the file */
    enum status status;       /* of reading it */
    enum status json_status;  /* of parsing it, if it is JSON */
    struct error err;         /* of the first of these that failed */
    struct otlp_json json;
    uint64_t read_bytes; /* of the file so far */
    char *bytes;         /* the document lies in them */
    size_t capacity;
    bool is_ready;
};

struct parse_ahead;

/* Keeps its memory from file to file. */
struct parse_ahead *parse_ahead_create(void);
void parse_ahead_destroy(struct parse_ahead *ahead);

/* `documents` belong to the other thread until parse_ahead_stop(). Errors: of starting the thread, or of
 * reading. */
enum status parse_ahead_start(struct parse_ahead *ahead, struct documents *documents,
                              struct error *err) MUST_CHECK;
/* The next document, valid until the next call. After the end or an error, call parse_ahead_stop(). */
struct parsed *parse_ahead_next(struct parse_ahead *ahead);
void parse_ahead_stop(struct parse_ahead *ahead);
