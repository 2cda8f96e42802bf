/* The file that a command writes its result to. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Replaces the file, or is standard output ("-"). `is_packed`: it is compressed by gzip. NULL, with errno. */
FILE *output_file_open(const char *path, bool is_packed);
/* False, with errno: it lacks something that was written. */
bool output_file_close(FILE *file);
