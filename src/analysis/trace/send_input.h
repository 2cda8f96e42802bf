/* The operands of `cuspan send`: what is compressed or can only be read once becomes a file of plain lines.
 */
#pragma once

#include "base/status.h"

#include <stdio.h>

struct send_input {
    char *path;
    FILE *file; /* unnamed, behind the path; or NULL */
};

/* INVALID: neither lines of JSON nor part of a spool; err says what it is. The name may be that of a folder
 * or missing, which the library reports. Close it in any case. */
enum status send_input_open(const char *name, struct send_input *input, struct error *err) MUST_CHECK;
void send_input_close(struct send_input *input);
