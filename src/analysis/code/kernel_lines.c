#include "analysis/code/kernel_lines.h"

#include "base/hash.h"
#include "analysis/code/cubin_lines.h"
#include "analysis/code/fatbin.h"
#include "analysis/code/source_lines.h"
#include "cli/util/int_map.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNELS_MAX (1u << 20)
#define TEXT_MAX    4096         /* bytes of a name or a place; kernels with longer ones are left out */
#define TEXTS_MAX   (128u << 20) /* of all of them */

struct kernel {
    char *name, *place;
    bool is_ambiguous;
};

struct kernel_lines {
    struct int_map numbers; /* hash of a name → number */
    struct kernel *kernels;
    size_t count, capacity;
    size_t text_bytes;
    bool has_any; /* the last file or folder has a kernel with a line */
};

struct kernel_lines *kernel_lines_create(void)
{
    return xcalloc(1, sizeof(struct kernel_lines));
}

void kernel_lines_destroy(struct kernel_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->kernels[i].name);
        free(lines->kernels[i].place);
    }
    free(lines->kernels);
    int_map_deinit(&lines->numbers);
    free(lines);
}

/* --- names --- */

/* "4gemm": appends the name. NULL: there is none. */
static const char *add_source_name(struct text *to, const char *at)
{
    char *name;
    if (*at == 'L') /* of internal linkage */
        at++;
    unsigned long len = *at >= '1' && *at <= '9' ? strtoul(at, &name, 10) : 0;
    if (!len || strnlen(name, len) < len)
        return NULL;
    if (to->len)
        text_add(to, "::");
    bool is_anonymous = len > 10 && strncmp(name, "_GLOBAL_", 8) == 0 && name[9] == 'N';
    if (is_anonymous)
        text_add(to, "(anonymous namespace)");
    else
        text_add_bytes(to, name, len);
    return name + len;
}

char *kernel_lines_name(const char *symbol)
{
    struct text name = {0};
    const char *at = symbol + 2;
    if (strncmp(symbol, "_Z", 2) != 0)
        return xstrdup(symbol);
    bool is_nested = *at == 'N';
    at += is_nested;
    if (strncmp(at, "St", 2) == 0) {
        text_add(&name, "std");
        at += 2;
    }
    /* Namespaces, and the function. Kernels are no members, so only the last part has template arguments. */
    for (bool is_first = true; at && (is_nested || is_first); is_first = false)
        at = add_source_name(&name, at);
    if (!name.len)
        text_add(&name, symbol);
    return name.data;
}

/* --- files --- */

static uint32_t number_of(const struct kernel_lines *lines, const char *name, uint64_t *key)
{
    uint32_t number;
    *key = int_map_mix(hash_text(HASH_START, name));
    while ((number = int_map_get(&lines->numbers, *key)) != MAP_NONE &&
           strcmp(lines->kernels[number].name, name) != 0)
        (*key)++;
    return number;
}

static void take_line(void *context, const char *symbol, const char *folder, const char *file, uint32_t line)
{
    struct kernel_lines *lines = context;
    uint64_t key;
    lines->has_any = true;
    if (strnlen(folder, TEXT_MAX) + strnlen(file, TEXT_MAX) >= TEXT_MAX)
        return;
    char *name = kernel_lines_name(symbol);
    char *place = xasprintf("%s%s%s:%u", folder, *folder ? "/" : "", file, line);
    uint32_t number = number_of(lines, name, &key);
    if (number != MAP_NONE)
        lines->kernels[number].is_ambiguous |= strcmp(lines->kernels[number].place, place) != 0;
    size_t bytes = strlen(name) + strlen(place);
    bool has_room = lines->count < KERNELS_MAX && bytes < TEXT_MAX && lines->text_bytes + bytes <= TEXTS_MAX;
    if (number != MAP_NONE || !has_room) {
        free(name);
        free(place);
        return;
    }
    lines->text_bytes += bytes;
    int_map_set(&lines->numbers, key, (uint32_t)lines->count);
    *XADD(lines->kernels, lines->count, lines->capacity) = (struct kernel){name, place, false};
}

static void take_cubin(void *context, const uint8_t *bytes, size_t len)
{
    cubin_lines_visit(bytes, len, take_line, context);
}

/* Closes the file. False, with errno: it cannot be read. */
static bool read_file(struct kernel_lines *lines, int fd)
{
    struct stat facts;
    void *bytes = NULL;
    bool is_read = fstat(fd, &facts) == 0;
    size_t len = is_read && S_ISREG(facts.st_mode) ? (size_t)facts.st_size : 0;
    if (len)
        bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    int code = errno;
    close(fd);
    errno = code;
    if (!len || bytes == MAP_FAILED)
        return is_read && !len;
    fatbin_visit(bytes, len, take_cubin, lines);
    munmap(bytes, len);
    return true;
}

static void take_file(void *context, int fd, const char *name)
{
    read_file(context, fd);
}

static bool is_cubin(const char *name)
{
    return text_ends_with(name, ".cubin");
}

enum status kernel_lines_add(struct kernel_lines *lines, const char *path, struct error *err)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    lines->has_any = false;
    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode))
        source_lines_visit(fd, is_cubin, take_file, lines);
    else if (fd < 0 || !read_file(lines, fd))
        return error_set(err, STATUS_IO, "--kernel-lines %.300s: %s", path, strerror(errno));
    if (!lines->has_any)
        return error_set(err, STATUS_NOT_FOUND,
                         "--kernel-lines %.300s: no kernel has a line; compile it with nvcc -lineinfo", path);
    return STATUS_OK;
}

/* --- tables --- */

const char *kernel_lines_find(const struct kernel_lines *lines, const char *kernel)
{
    uint64_t key;
    uint32_t number = number_of(lines, kernel, &key);
    return number == MAP_NONE || lines->kernels[number].is_ambiguous ? NULL : lines->kernels[number].place;
}

void kernel_lines_fill(const struct kernel_lines *lines, struct stat_table *table, const char *name,
                       const char *place)
{
    size_t from = stat_table_column(table, name), to = stat_table_column(table, place);
    for (size_t r = 0; from < table->column_count && to < table->column_count && r < table->row_count; r++) {
        struct stat_value *row = stat_table_row(table, r);
        const char *found = row[from].is_missing ? NULL : kernel_lines_find(lines, row[from].text);
        if (found)
            row[to] = stat_table_own(table, xstrdup(found));
    }
}
