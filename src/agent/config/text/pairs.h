/* Percent-encoded key=value,key=value, as in OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS. */
#pragma once

#include "model/settings/settings.h"

#define PAIRS_MAX 128

/* Removes the characters of `blanks` from both ends, in place. Returns the new start. */
char *text_trim(char *text, const char *blanks);

/* Adds each pair whose key the resource does not have yet. INVALID: the text is malformed, the error says
 * how, and nothing was added. */
enum status pairs_to_resource(const char *text, struct resource *resource, struct error *err) MUST_CHECK;

/* The same for the headers of an exporter, but replaces existing ones. The error never contains a value. */
enum status pairs_to_headers(const char *text, struct exporter_settings *exporter,
                             struct error *err) MUST_CHECK;

/* Sets or replaces a header. INVALID: the name or the value is not allowed in HTTP. */
enum status header_set(struct exporter_settings *exporter, const char *name, const char *value,
                       struct error *err) MUST_CHECK;

/* The next word of a list with commas, without blanks around it; empty ones are skipped. NULL: the end. */
const char *text_next_word(const char **list, size_t *bytes);
