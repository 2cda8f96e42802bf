#include "analysis/show/output_file.h"

#include "base/files.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>

static ssize_t write_packed(void *file, const char *bytes, size_t count)
{
    return gzwrite(file, bytes, (unsigned)count) == (int)count ? (ssize_t)count : -1;
}

static int close_packed(void *file)
{
    return gzclose(file) == Z_OK ? 0 : -1;
}

FILE *output_file_open(const char *path, bool is_packed)
{
    const cookie_io_functions_t functions = {.write = write_packed, .close = close_packed};
    int fd = strcmp(path, "-") == 0 ? dup(STDOUT_FILENO) : files_create(path);
    if (fd < 0 || !is_packed)
        return fd < 0 ? NULL : fdopen(fd, "w");
    gzFile file = gzdopen(fd, "w");
    return file ? fopencookie(file, "w", functions) : NULL;
}

bool output_file_close(FILE *file)
{
    bool is_bad = ferror(file) != 0;
    return fclose(file) == 0 && !is_bad;
}
