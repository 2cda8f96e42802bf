/* A collector's answer in JSON, by cJSON: in the module alone. */
#ifndef CUSPAN_EXPORT_CURL_MODULE_JSON_RESPONSE_H
#define CUSPAN_EXPORT_CURL_MODULE_JSON_RESPONSE_H

#include "export/otlp/otlp_response.h"

/* An ExportTraceServiceResponse or a google.rpc.Status; fills a zeroed struct. False when it is no JSON
 * object. */
bool json_read_response(const uint8_t *text, size_t bytes, struct otlp_response *response);

#endif
