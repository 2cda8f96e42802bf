/* Reads a document of OTLP JSON: a TracesData, or an answer of Jaeger's API ("result"). */
#pragma once

#include "base/status.h"
#include "analysis/trace/span_store.h"

#define OTLP_JSON_PADDING 4 /* zero bytes that must follow a document */

/* Memory that is reused from document to document. A zeroed one is empty. */
struct otlp_json {
    char *pool;
    size_t pool_capacity;
    struct yyjson_doc *document; /* in the pool */
    size_t error_at; /* of the last INVALID: where the JSON is wrong; SIZE_MAX: it is JSON, but not OTLP */
    bool ends_early; /* it is wrong only because more would have to follow */
    bool has_more;   /* it is right, and more follows */
    size_t replaced; /* characters of the parsed document that were not valid Unicode */
    char *cleaned;   /* the document without them, if it had to grow */
    size_t cleaned_capacity;
    struct slice *keys; /* of a resource */
    struct otlp_value *values;
    size_t key_capacity, value_capacity;
    struct text texts; /* lists of the resource or of the current attribute, as JSON */
};

void otlp_json_deinit(struct otlp_json *json);

/* Parts of a document, for otlp_protobuf.c, in whose values IDs are raw bytes. */
struct yyjson_val;
void otlp_json_take_resource(struct otlp_json *json, struct yyjson_val *batch, struct store *store);
void otlp_json_take_scope(struct otlp_json *json, struct yyjson_val *batch, struct yyjson_val *scope_spans,
                          struct store *store);
enum status otlp_json_take_span(struct otlp_json *json, struct yyjson_val *span, struct store *store,
                                struct error *err) MUST_CHECK;

/* Overwrites `bytes`, which OTLP_JSON_PADDING zero bytes follow, and which must stay until the document was
 * taken. INVALID: see error_at; err says what is wrong, without the place. */
enum status otlp_json_parse(struct otlp_json *json, char *bytes, size_t len, struct error *err) MUST_CHECK;
/* Stores the spans of the document that was parsed, or of all documents of the list that it is. Documents of
 * other signals are skipped, and spans that cannot be used are counted (store_skip()). INVALID: it is not
 * OTLP. */
enum status otlp_json_take(struct otlp_json *json, struct store *store, struct error *err) MUST_CHECK;
/* Parses and takes documents that follow each other, on any number of lines. INVALID: the first *taken bytes
 * are documents that were taken, and error_at counts from there. */
enum status otlp_json_take_all(struct otlp_json *json, const char *bytes, size_t len, struct store *store,
                               size_t *taken, struct error *err) MUST_CHECK;
