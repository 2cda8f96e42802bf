/* Native stacks of launches: return addresses become modules and functions. Only for the pipeline thread:
 * looking up names takes the loader's lock and reads symbol tables. */
#pragma once

#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

#define NATIVE_CODE_SYMBOLS_BYTES                                                                            \
    (8 * 1024 * 1024) /* of SETTINGS_NATIVE_BYTES; libtorch_cpu.so takes 5.4 MB */

/* NO_MEMORY. */
enum status native_code_start(void) MUST_CHECK;

/* How long the following calls of native_code_name() may take together. UINT64_MAX, the default: as long as
 * it takes. */
void native_code_allow(uint64_t ns);

/* The same stack with named frames: the record itself if it has no addresses, else one that is valid until
 * the next call. NULL: the time is over; the same call later continues, and after 250 ms it takes the time
 * that it needs. The record must stay where it is. */
const struct code_record *native_code_name(const struct code_record *code);

/* Uses the rest of the allowed time to read the symbols of libraries that have at least so much code, before
 * a stack needs them: spans that wait for names fill their thread's ring. True: there is more to read. */
bool native_code_prepare(uint64_t now_ns, uint64_t code_bytes_min);
