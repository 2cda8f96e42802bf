/* Parses a collector's JSON response with cJSON. Part of the export module only. */
#pragma once

#include "agent/export/otlp/otlp_response.h"

/* An ExportTraceServiceResponse or a google.rpc.Status. Fills a zeroed struct. False if it is not a JSON
 * object.
 */
bool json_response_read(const uint8_t *text, size_t bytes, struct otlp_response *response);
