/* The GPU code in a program or library: cubins in the section .nv_fatbin, as fatbinary of CUDA 11 to 13
 * writes it, uncompressed, by LZ4 or by zstd. PTX is skipped.
 *
 * The file is untrusted: nothing outside it is read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FATBIN_CUBIN_BYTES_MAX (256u << 20) /* larger ones are skipped */

/* One cubin; `bytes` is valid during the call. */
typedef void fatbin_cubin_fn(void *context, const uint8_t *bytes, size_t len);

/* The file's bytes are those of an ELF file of the host, of a fatbin, or of a cubin. */
void fatbin_visit(const uint8_t *bytes, size_t len, fatbin_cubin_fn *take, void *context);
