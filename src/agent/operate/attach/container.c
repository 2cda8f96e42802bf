#include "agent/operate/attach/container.h"

#include "base/files.h"
#include "cli/util/xalloc.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ID_DIGITS        (CONTAINER_ID_BYTES - 1)
#define ID_DIGITS_MIN    4
#define CONFIG_BYTES     (256u << 10)
#define COPY_BYTES       (64u << 10)
#define CUPTI            "cupti"             /* the folder of the CUPTI that ships with the agent */
#define LOG_SUFFIX_BYTES (1 + ID_DIGITS + 4) /* -ID.log */

/* --- names --- */

void container_find_id(const char *cgroup, char id[CONTAINER_ID_BYTES])
{
    size_t digits = 0;
    for (; *cgroup && digits < ID_DIGITS; cgroup++)
        digits = isxdigit((unsigned char)*cgroup) ? digits + 1 : 0;
    snprintf(id, CONTAINER_ID_BYTES, "%.*s", digits == ID_DIGITS ? ID_DIGITS : 0, cgroup - digits);
}

static bool is_docker_name(const char *root, const char *id, const char *name)
{
    char path[1024];
    char *text = xcalloc(CONFIG_BYTES, 1);
    snprintf(path, sizeof path, "%s/var/lib/docker/containers/%s/config.v2.json", root, id);
    cJSON *config = files_read_small(path, text, CONFIG_BYTES) > 0 ? cJSON_Parse(text) : NULL;
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(config, "Name")); /* "/train" */
    bool is_same = found && strcmp(found + (*found == '/'), name) == 0;
    cJSON_Delete(config);
    free(text);
    return is_same;
}

/* The kubelet links each container's log as POD_NAMESPACE_CONTAINER-ID.log. */
static bool is_log_of(char *file, const char *id, const char *name)
{
    size_t length = strlen(file);
    if (length <= LOG_SUFFIX_BYTES || strncmp(file + length - LOG_SUFFIX_BYTES + 1, id, ID_DIGITS) != 0)
        return false;
    file[length - LOG_SUFFIX_BYTES] = 0;
    char *first = strchr(file, '_'), *container = strrchr(file, '_');
    if (!first || first == container)
        return false;
    *first = 0;
    size_t pod_length = (size_t)(first - file);
    bool is_both = strncmp(name, file, pod_length) == 0 && name[pod_length] == '/' &&
                   strcmp(name + pod_length + 1, container + 1) == 0;
    return is_both || strcmp(name, file) == 0 || strcmp(name, container + 1) == 0;
}

static bool is_kubernetes_name(const char *root, const char *id, const char *name)
{
    char path[1024];
    bool is_found = false;
    snprintf(path, sizeof path, "%s/var/log/containers", root);
    DIR *folder = files_open_folder(path);
    for (struct dirent *entry; folder && !is_found && (entry = readdir(folder));)
        is_found = is_log_of(entry->d_name, id, name);
    if (folder)
        closedir(folder);
    return is_found;
}

bool container_is_named(const char *root, const char *id, const char *name)
{
    size_t length = strlen(name);
    return *id && ((length >= ID_DIGITS_MIN && strncmp(id, name, length) == 0) ||
                   is_docker_name(root, id, name) || is_kubernetes_name(root, id, name));
}

/* --- files --- */

/* A folder that this process has made. */
static int open_folder(int parent, const char *name)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    return (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
}

static int make_folder(int parent, const char *name)
{
    int folder = mkdirat(parent, name, 0700) == 0 ? open_folder(parent, name) : -1;
    if (folder >= 0)
        (void)!fchmod(folder, 0755);
    return folder;
}

static bool copy_file(int from, int to, const char *name)
{
    char bytes[COPY_BYTES];
    ssize_t got = 0;
    int source = files_open_at(from, name, O_RDONLY);
    int target = source >= 0 ? files_open_at(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW) : -1;
    bool is_well = target >= 0;
    while (is_well && (got = read(source, bytes, sizeof bytes)) > 0)
        is_well = files_write(target, bytes, (size_t)got);
    is_well = is_well && got == 0 && fchmod(target, 0644) == 0;
    files_give_up(source);
    files_give_up(target);
    return is_well;
}

static bool copy_cupti(int from, int to)
{
    DIR *folder = files_open_folder_at(from, CUPTI);
    if (!folder)
        return true; /* the container's own is used */
    int copy = make_folder(to, CUPTI);
    bool is_well = copy >= 0;
    for (const struct dirent *entry; is_well && (entry = readdir(folder));)
        is_well = *entry->d_name == '.' || copy_file(dirfd(folder), copy, entry->d_name);
    files_give_up(copy);
    closedir(folder);
    return is_well;
}

static bool copy_agent(int from, int to)
{
    static const char *const files[] = {"libcuspan.so", "libcuspan-export.so", "libcuspan-thread-ctx.so",
                                        "python.zip"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if ((i == 0 || faccessat(from, files[i], R_OK, 0) == 0) && !copy_file(from, to, files[i]))
            return false;
    return copy_cupti(from, to);
}

static void remove_folder(int parent, const char *name)
{
    int number = open_folder(parent, name);
    DIR *folder = number >= 0 ? fdopendir(number) : NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(number, entry->d_name, 0);
    if (folder)
        closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

enum status container_copy(int root, const char *from, struct error *err)
{
    char temporary[64];
    struct stat facts;
    if (fstatat(root, CONTAINER_FOLDER, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        return STATUS_OK;
    snprintf(temporary, sizeof temporary, CONTAINER_FOLDER "-%08x", files_random());
    int source = files_open(from, O_RDONLY | O_DIRECTORY), folder = make_folder(root, temporary);
    bool is_well =
        source >= 0 && folder >= 0 && copy_agent(source, folder) &&
        (renameat2(root, temporary, root, CONTAINER_FOLDER, RENAME_NOREPLACE) == 0 || errno == EEXIST);
    int error = errno;
    if (folder >= 0 && fstatat(root, temporary, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
        remove_folder(folder, CUPTI);
        remove_folder(root, temporary);
    }
    files_give_up(source);
    files_give_up(folder);
    return is_well ? STATUS_OK
                   : error_set(err, STATUS_UNAVAILABLE,
                               "the agent cannot be copied to /" CONTAINER_FOLDER
                               " in the container: %s; mount the folder of libcuspan.so there",
                               strerror(error));
}
