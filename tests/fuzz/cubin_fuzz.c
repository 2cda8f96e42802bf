/* GPU code in files that the command line does not control: nothing outside them is read, and each function
 * has a symbol and a line. */
#include "analysis/code/cubin_lines.h"
#include "analysis/code/fatbin.h"
#include "analysis/code/kernel_lines.h"

#include "fuzz.h"

static void take_line(void *context, const char *symbol, const char *folder, const char *file, uint32_t line)
{
    require(*symbol && line > 0, "a function without symbol or line");
    require(strlen(folder) + strlen(file) < 1u << 30, "an endless path");
    free(kernel_lines_name(symbol));
}

static void take_cubin(void *context, const uint8_t *bytes, size_t len)
{
    cubin_lines_visit(bytes, len, take_line, context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + !size); /* of its exact size */
    require(copy != NULL, "out of memory");
    memcpy(copy, data, size);
    fatbin_visit(copy, size, take_cubin, NULL);
    cubin_lines_visit(copy, size, take_line, NULL);
    free(copy);
    return 0;
}
