/* Reads a message of OTLP protobuf: a TracesData or an ExportTraceServiceRequest, which look the same. Its
 * parts become the values that they are in OTLP JSON, from which otlp_json.c takes the spans. */
#pragma once

#include "analysis/trace/otlp_json.h"

/* Memory that is reused from message to message. A zeroed one is empty. */
struct otlp_protobuf {
    struct yyjson_val *values; /* of the current span, and of what it belongs to */
    size_t count, capacity;
    struct otlp_made *made; /* texts that the current message has in another form */
    size_t replaced;        /* characters of them */
    bool is_broken;         /* something in it, which became null */
};

void otlp_protobuf_deinit(struct otlp_protobuf *protobuf);

/* `json`: takes the spans. Those that cannot be used are counted (store_skip()). INVALID: the message is
 * broken, and its spans up to there are stored; for tables, also those whose attributes, events or links are
 * broken. err says what is wrong, without the place. */
enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, struct otlp_json *json, const char *bytes,
                               size_t len, struct store *store, struct error *err) MUST_CHECK;
