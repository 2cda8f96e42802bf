#include "analysis/code/source_lines.h"

#include "analysis/code/stack_lines.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDUCTOR_LINES_MAX 50     /* from a launch up to its comment */
#define NAMES_MAX          200000 /* of files that are looked at below a folder */
#define DEPTH_MAX          16     /* folders below each other */

struct source_lines {
    int directory;
    char *given;    /* the directory, absolute; NULL: unknown */
    char *resolved; /* the same without symbolic links */
    char *path;     /* of the file in `bytes`; NULL: none yet */
    char *bytes;    /* NULL: it cannot be opened */
    size_t len;
    uint32_t *starts; /* of the lines in `bytes`; NULL: not yet needed */
    size_t line_count;
    char line[SOURCE_LINE_BYTES_MAX + 4];
};

enum status source_lines_open(const char *directory, struct source_lines **lines, struct error *err)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_NOT_FOUND, "--source %s: %s; name a directory with source files",
                         directory, strerror(errno));
    *lines = xcalloc(1, sizeof **lines);
    (*lines)->directory = fd;
    (*lines)->resolved = realpath(directory, NULL);
    if (*directory == '/')
        (*lines)->given = xstrdup(directory);
    return STATUS_OK;
}

void source_lines_close(struct source_lines *lines)
{
    if (!lines)
        return;
    close(lines->directory);
    free(lines->given);
    free(lines->resolved);
    free(lines->path);
    free(lines->bytes);
    free(lines->starts);
    free(lines);
}

/* The rest of `path` after the directory; NULL: it is not below. */
static const char *below(const char *path, const char *directory)
{
    size_t len = directory ? strlen(directory) : 0;
    while (len > 1 && directory[len - 1] == '/')
        len--;
    if (!len || strncmp(path, directory, len) != 0)
        return NULL;
    if (len == 1)
        return path + 1;
    return path[len] == '/' ? path + len + 1 : NULL;
}

/* Opens one part of a path, a name without a slash. */
static int open_part(int folder, const char *name, bool is_last)
{
    if (strcmp(name, "..") == 0) {
        errno = EPERM;
        return -1;
    }
    /* O_NONBLOCK: a FIFO must not block. */
    return openat(folder, name,
                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (is_last ? 0 : O_DIRECTORY));
}

static int open_below(int directory, const char *path)
{
    char name[NAME_MAX + 1];
    int folder = directory;
    for (;;) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (!len || len > NAME_MAX)
            break;
        memcpy(name, path, len);
        name[len] = 0;
        path += len;
        bool is_last = !path[strspn(path, "/")];
        int next = open_part(folder, name, is_last);
        if (folder != directory)
            close(folder);
        if (next < 0 || is_last)
            return next;
        folder = next;
    }
    if (folder != directory)
        close(folder);
    return -1;
}

char *source_lines_read(int fd, size_t *len)
{
    struct stat facts;
    *len = 0;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > SOURCE_FILE_BYTES_MAX)
        return NULL;
    char *bytes = xcalloc((size_t)facts.st_size + 1, 1);
    while (*len < (size_t)facts.st_size) {
        ssize_t got = read(fd, bytes + *len, (size_t)facts.st_size - *len);
        if (got <= 0)
            break;
        *len += (size_t)got;
    }
    return bytes;
}

struct visit {
    bool (*is_wanted)(const char *name);
    source_file_fn *take;
    void *context;
    size_t names; /* that were looked at */
};

static void visit_folder(struct visit *visit, int folder, int depth);

static void visit_entry(struct visit *visit, int folder, const struct dirent *entry, int depth)
{
    const char *name = entry->d_name;
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    bool may_be_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (!strcmp(name, ".") || !strcmp(name, ".."))
        return;
    if (visit->is_wanted(name)) {
        int fd = openat(folder, name, flags);
        if (fd >= 0)
            visit->take(visit->context, fd, name);
    } else if (may_be_folder && depth < DEPTH_MAX) {
        visit_folder(visit, openat(folder, name, flags | O_DIRECTORY), depth + 1);
    }
}

/* Closes `folder`. */
static void visit_folder(struct visit *visit, int folder, int depth)
{
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;
    if (!entries && folder >= 0)
        close(folder);
    for (; entries && visit->names < NAMES_MAX && (entry = readdir(entries)); visit->names++)
        visit_entry(visit, folder, entry, depth);
    if (entries)
        closedir(entries);
}

void source_lines_visit(int folder, bool is_wanted(const char *name), source_file_fn *take, void *context)
{
    struct visit visit = {is_wanted, take, context, 0};
    visit_folder(&visit, folder, 0);
}

/* The rest of a relative path that begins with the directory's own name, or NULL. */
static const char *below_name(const char *path, const char *directory)
{
    const char *slash = directory ? strrchr(directory, '/') : NULL;
    size_t len = slash ? strlen(slash + 1) : 0;
    return len && strncmp(path, slash + 1, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

static void load(struct source_lines *lines, const char *path)
{
    if (lines->path && strcmp(lines->path, path) == 0)
        return;
    free(lines->path);
    free(lines->bytes);
    free(lines->starts);
    lines->path = xstrdup(path);
    lines->bytes = NULL;
    lines->starts = NULL;
    if (*path == '/') {
        const char *rest = below(path, lines->given);
        path = rest ? rest : below(path, lines->resolved);
    }
    int fd = path ? open_below(lines->directory, path) : -1;
    if (fd < 0 && path && *lines->path != '/' && (path = below_name(path, lines->resolved)))
        fd = open_below(lines->directory, path);
    if (fd < 0)
        return;
    lines->bytes = source_lines_read(fd, &lines->len);
    close(fd);
}

struct line {
    const char *at, *end; /* without white space at the ends */
};

static struct line trimmed(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return (struct line){at, end};
}

static void find_starts(struct source_lines *lines)
{
    size_t capacity = 0;
    lines->line_count = 0;
    for (const char *at = lines->bytes, *end = at + lines->len; at;) {
        *XADD(lines->starts, lines->line_count, capacity) = (uint32_t)(at - lines->bytes);
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
}

static bool find_line(struct source_lines *lines, uint32_t number, struct line *line)
{
    if (!lines->starts)
        find_starts(lines);
    if (number > lines->line_count)
        return false;
    const char *at = lines->bytes + lines->starts[number - 1], *end = lines->bytes + lines->len;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *line = trimmed(at, stop ? stop : end);
    return true;
}

static bool contains(struct line line, const char *word)
{
    return memmem(line.at, (size_t)(line.end - line.at), word, strlen(word)) != NULL;
}

/* The comment about the launch in this line, as Inductor writes it: above, after the launch before it. */
static bool find_comment(const struct source_lines *lines, struct line line, const char *word,
                         struct line *comment)
{
    const char *start = line.at;
    for (int count = 0; count < INDUCTOR_LINES_MAX; count++) {
        while (start > lines->bytes && start[-1] != '\n')
            start--;
        if (start == lines->bytes)
            return false;
        const char *end = --start;
        while (start > lines->bytes && start[-1] != '\n')
            start--;
        *comment = trimmed(start, end);
        bool is_comment = comment->at < comment->end && *comment->at == '#';
        if (is_comment && contains(*comment, word))
            return true;
        if (is_comment)
            continue;
        if (contains(*comment, ".run(") || contains(*comment, "extern_kernels."))
            return false;
    }
    return false;
}

/* As much as fits, with NULs replaced, and cut between characters. */
static const char *copy(struct source_lines *lines, struct line line)
{
    size_t len = (size_t)(line.end - line.at);
    len = len < SOURCE_LINE_BYTES_MAX ? len : SOURCE_LINE_BYTES_MAX;
    while (line.at + len < line.end && len && ((unsigned char)line.at[len] & 0xc0) == 0x80)
        len--;
    for (size_t i = 0; i < len; i++)
        lines->line[i] = line.at[i] ? line.at[i] : '?';
    strcpy(lines->line + len, line.at + len < line.end ? "..." : "");
    return len ? lines->line : NULL;
}

const char *source_lines_find(struct source_lines *lines, const char *path, uint32_t number)
{
    struct line line, comment;
    load(lines, path);
    if (!lines->bytes || !number || !find_line(lines, number, &line))
        return NULL;
    if (strstr(path, "torchinductor_") && find_comment(lines, line, "Source Nodes:", &comment))
        return copy(lines, comment);
    return copy(lines, line);
}

const char *source_lines_text(struct source_lines *lines, const char *path)
{
    load(lines, path);
    return lines->bytes;
}

const char *source_lines_comment(struct source_lines *lines, const char *path, uint32_t number,
                                 const char *word)
{
    struct line line, comment;
    load(lines, path);
    if (!lines->bytes || !number || !find_line(lines, number, &line) ||
        !find_comment(lines, line, word, &comment))
        return NULL;
    const char *at = memmem(comment.at, (size_t)(comment.end - comment.at), word, strlen(word));
    return at + strlen(word);
}

/* The line number after the last colon; 0: there is none. `path` gets the part before it, which the caller
 * frees. */
static uint32_t split_place(const char *place, char **path)
{
    const char *colon = strrchr(place, ':');
    char *end = NULL; /* of the number */
    errno = 0;
    unsigned long line = colon && isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, &end, 10) : 0;
    if (!line || (*end && strcmp(end, CODE_BACKWARD) != 0) || errno || line > INT32_MAX)
        return 0;
    *path = xasprintf("%.*s", (int)(colon - place), place);
    return (uint32_t)line;
}

void source_lines_fill(struct source_lines *lines, struct stat_table *table)
{
    size_t place = stat_table_column(table, "place"), source = stat_table_column(table, "source");
    for (size_t r = 0; place < table->column_count && source < table->column_count && r < table->row_count;
         r++) {
        struct stat_value *row = stat_table_row(table, r);
        char *path = NULL;
        uint32_t line = row[place].is_missing ? 0 : split_place(row[place].text, &path);
        const char *text = line ? source_lines_find(lines, path, line) : NULL;
        if (text && row[source].is_missing)
            row[source] = stat_table_own(table, xstrdup(text));
        free(path);
    }
}
