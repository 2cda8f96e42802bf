/* The text of source lines that spans name, for `--source DIR`.
 *
 * Paths come from files that we do not control. A path is opened only below the directory: each part of it is
 * opened in the one before, never "..", and never through a symbolic link. */
#pragma once

#include "base/status.h"
#include "analysis/stat/base/stat_table.h"

#define SOURCE_FILE_BYTES_MAX (8u << 20)
#define SOURCE_LINE_BYTES_MAX 200 /* a longer line is cut */

struct source_lines;

/* NOT_FOUND: it is not a directory, or cannot be opened. */
enum status source_lines_open(const char *directory, struct source_lines **lines,
                              struct error *err) MUST_CHECK;
void source_lines_close(struct source_lines *lines);

/* The line without white space at its ends; NULL: the file is not below the directory, or lacks the line. A
 * relative path counts from the directory, or from its parent if it begins with its name. In files that
 * Inductor generated, a launch is described by the comment above it, which names the nodes of the program's
 * graph. Valid until the next call. */
const char *source_lines_find(struct source_lines *lines, const char *path, uint32_t line);

/* The whole file, with a NUL at its end, or NULL. Valid until another path is asked for. */
const char *source_lines_text(struct source_lines *lines, const char *path);
/* In a file that Inductor generated: the text behind `word` in the comment above the launch in this line, or
 * NULL. It ends with the line. Valid as the whole file. */
const char *source_lines_comment(struct source_lines *lines, const char *path, uint32_t line,
                                 const char *word);
/* A regular file of at most SOURCE_FILE_BYTES_MAX, with a NUL at its end, or NULL. The caller frees it. */
char *source_lines_read(int fd, size_t *len);

/* Takes a file, and closes it. `name`: without its folder. */
typedef void source_file_fn(void *context, int fd, const char *name);
/* Opens the files below a folder, which it closes, whose names are wanted; links and unreadable folders are
 * ignored. A limited number of names is looked at. */
void source_lines_visit(int folder, bool is_wanted(const char *name), source_file_fn *take, void *context);

/* Fills the column "source" of a table whose column "place" has "PATH:LINE". */
void source_lines_fill(struct source_lines *lines, struct stat_table *table);
