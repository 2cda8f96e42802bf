#include "agent/operate/cdi/cdi_scan.h"

#include "agent/operate/cdi/cdi_file.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MAX    3
#define FILE_BYTES_MAX (4 * 1024 * 1024) /* NVIDIA's file for eight GPUs has about 50 KiB */

struct scan {
    struct stat self; /* the file to leave out; zeroed: it does not exist */
    size_t folder_count;
    struct stat folders[FOLDERS_MAX]; /* that were scanned; /var/run is often a link to /run */
    cdi_scan_fn *found;
    void *context;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* The file's text, or NULL; allocated. */
static char *read_text(const char *path)
{
    char *text = NULL;
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    FILE *file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(fd, "r") : NULL;
    if (file)
        text = text_read_end(file, FILE_BYTES_MAX);
    if (file)
        fclose(file);
    else
        close(fd);
    return text;
}

/* CDI files are JSON or YAML, and in both a variable is the string NAME=VALUE. Searching the text covers both
 * without a YAML parser. A comment that contains it counts, too: then a person has to look. */
static const char *variable_in(const char *text)
{
    static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                            "NCCL_PROFILER_PLUGIN", "LD_PRELOAD", "LD_AUDIT"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        size_t len = strlen(variables[i]);
        for (const char *at = strstr(text, variables[i]); at; at = strstr(at + len, variables[i]))
            if (at[len] == '=')
                return variables[i];
    }
    return NULL;
}

static void scan_file(const struct scan *scan, const char *path)
{
    struct cdi_other other = {.path = path, .is_beside = scan->folder_count == 1};
    struct stat about;
    if (stat(path, &about) == 0 && is_same(&about, &scan->self))
        return;
    char *text = read_text(path);
    if (text) {
        other.is_ours = cdi_file_check(text, NULL) == STATUS_OK;
        other.is_of_our_kind = strstr(text, CDI_KIND) != NULL;
        other.variable = variable_in(text);
    }
    other.is_unreadable = !text;
    if (other.is_unreadable || other.is_of_our_kind || other.variable)
        scan->found(scan->context, &other);
    free(text);
}

static int is_cdi_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0);
}

static void scan_folder(struct scan *scan, const char *folder)
{
    struct stat about;
    struct dirent **entries = NULL;
    if (stat(folder, &about) != 0)
        return;
    for (size_t i = 0; i < scan->folder_count; i++)
        if (is_same(&about, &scan->folders[i]))
            return;
    scan->folders[scan->folder_count++] = about;
    int count = scandir(folder, &entries, is_cdi_file, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = xasprintf("%s/%s", folder, entries[i]->d_name);
        scan_file(scan, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

void cdi_scan(const char *path, cdi_scan_fn *found, void *context)
{
    struct scan scan = {.found = found, .context = context};
    char *folder = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);
    if (stat(path, &scan.self) != 0)
        scan.self = (struct stat){0};
    scan_folder(&scan, folder);
    scan_folder(&scan, CDI_DIRECTORY);
    scan_folder(&scan, CDI_DIRECTORY_TRANSIENT);
    free(folder);
}
