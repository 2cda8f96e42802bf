/* Reads a message of OTLP protobuf: a TracesData or an ExportTraceServiceRequest, which look the same. */
#pragma once

#include "base/status.h"
#include "analysis/trace/span_store.h"

/* Memory that is reused from message to message. A zeroed one is empty. */
struct otlp_protobuf {
    struct slice *keys; /* of a resource */
    struct otlp_value *values;
    size_t key_capacity, value_capacity;
    struct otlp_repaired *repaired; /* texts of the current message that were not UTF-8 */
    size_t replaced;                /* characters of them */
    struct text texts;              /* lists and bytes of the resource or of the current attribute, as JSON */
};

void otlp_protobuf_deinit(struct otlp_protobuf *protobuf);

/* Spans that cannot be used are counted (store_skip()). INVALID: the message is broken, and its spans up to
 * there are stored; err says what is wrong, without the place. */
enum status otlp_protobuf_read(struct otlp_protobuf *protobuf, const char *bytes, size_t len,
                               struct store *store, struct error *err) MUST_CHECK;
