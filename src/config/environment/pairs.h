/* key=value,key=value as OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS have it, percent-encoded. */
#ifndef CUSPAN_CONFIG_ENVIRONMENT_PAIRS_H
#define CUSPAN_CONFIG_ENVIRONMENT_PAIRS_H

#include "model/settings.h"

#define PAIRS_MAX 128

/* Adds the pairs to the resource as strings, where it hasn't the key already. INVALID: the text is malformed,
 * the error says how, and nothing was added. */
enum status pairs_to_resource(const char *text, struct resource *resource, struct error *err) MUST_CHECK;

/* The same for the headers of an exporter; a header that is there already is replaced. The error never has a
 * value. */
enum status pairs_to_headers(const char *text, struct exporter_settings *exporter,
                             struct error *err) MUST_CHECK;

/* Sets or replaces a header. INVALID: the name isn't a header's name, or the value would break the request.
 */
enum status header_set(struct exporter_settings *exporter, const char *name, const char *value,
                       struct error *err) MUST_CHECK;

#endif
