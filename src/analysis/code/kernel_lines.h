/* Where kernels are defined, for `--kernel-lines FILE`: from the debug information of the GPU code in
 * programs, libraries, and cubins such as those in Triton's cache.
 *
 * Spans have the demangled names of kernels, and the code has mangled ones. Both are compared by the
 * qualified name without template arguments: all instances of a template are defined in the same line. */
#pragma once

#include "base/status.h"
#include "analysis/stat/base/stat_table.h"

struct kernel_lines;

struct kernel_lines *kernel_lines_create(void);
void kernel_lines_destroy(struct kernel_lines *lines);
/* Reads a file, or the files named *.cubin below a directory. IO: it cannot be read; NOT_FOUND: no kernel in
 * it has a line. */
enum status kernel_lines_add(struct kernel_lines *lines, const char *path, struct error *err) MUST_CHECK;
/* "solver.cu:42" of a kernel's short name, or NULL: it is unknown, or kernels of this name are defined in
 * several lines. */
const char *kernel_lines_find(const struct kernel_lines *lines, const char *kernel);
/* Fills the column `place` of a table whose column `name` has kernels. */
void kernel_lines_fill(const struct kernel_lines *lines, struct stat_table *table, const char *name,
                       const char *place);

/* "ns::gemm" of "_ZN2ns4gemmIfEEvPKT_". The caller frees it. */
char *kernel_lines_name(const char *symbol);
