/* Finds the names of native frames: module, build ID, offset, and the function by the symbol table of the
 * module's own file (.symtab, else .dynsym).
 *
 * A file is opened only if the loader has it mapped, and used only if it is the mapped one: its program
 * headers and its build ID are those in memory. It is read, not mapped, because a mapped file that someone
 * truncates would end the host with SIGBUS. A name is used only if the symbol's size covers the address.
 *
 * Memory is bounded: the functions of a file are kept as a sorted list of 12 bytes each. If all lists are
 * larger than the limit together, the least recently used ones are dropped. A list that is larger alone is
 * not made, and each lookup searches the file. A list that is being made takes its size twice, besides the
 * others. Names are demangled by the demangler that is linked in for kernels, so it adds nothing to the size
 * and loads nothing. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_FILES_MAX      64
#define SYMBOLS_BUILD_ID_BYTES 20 /* the size of a SHA-1; longer build IDs are cut */

struct symbols;

/* Texts are valid until the next lookup. */
struct symbol_frame {
    const char *module;   /* path; NULL: the address is in no library */
    const char *function; /* demangled, perhaps cut; NULL: unknown */
    uint64_t offset;      /* the frame's in the module's ELF file; without a module, its address */
    uint64_t in_function; /* distance from the function's start to the frame */
    uint8_t build_id[SYMBOLS_BUILD_ID_BYTES];
    uint8_t build_id_bytes; /* 0: none */
};

/* `bytes_max` limits the memory of all lists of functions together. Fails with NO_MEMORY only. */
enum status symbols_create(size_t bytes_max, struct symbols **symbols) MUST_CHECK;
void symbols_destroy(struct symbols *symbols);

/* Looks up the return address `frame`, which takes 4 to 10 us, half of it under the loader's lock. The first
 * lookup in a file reads its symbol table: 10 ms for the 350,000 functions of libtorch_cpu.so. If the file
 * has no list of functions, each lookup in it takes half of that. The lookup is in parts, each until the time
 * `until_ns` (clock_monotonic_ns(); UINT64_MAX: no limit), which a part may overrun by 1.5 ms. False: the
 * lookup is not finished; repeat the call to continue it. A lookup in another file in between makes it start
 * again. */
bool symbols_look_up_until(struct symbols *symbols, uint64_t frame, uint64_t until_ns,
                           struct symbol_frame *result);

/* Returns the size of all lists of functions in bytes, for tests. */
size_t symbols_bytes(const struct symbols *symbols);
