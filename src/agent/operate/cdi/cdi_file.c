#include "agent/operate/cdi/cdi_file.h"

#include "base/files.h"
#include "base/text/sanitize.h"
#include "base/text/utf8.h"
#include "cli/util/xalloc.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (64 * 1024) /* ours has one to two KiB, plus the lengths of paths */

/* Every file has both devices: "on" traces; "files" leaves the container's variables alone. */
static const char *const devices[] = {"on", "files"};
#define DEVICE_COUNT (sizeof devices / sizeof *devices)

void cdi_file_deinit(struct cdi_file *file)
{
    free(file->folder);
    free(file->program);
    free(file->config);
    free(file->set);
    *file = (struct cdi_file){0};
}

char *cdi_file_path(const char *directory)
{
    return xasprintf("%s/" CDI_FILE_NAME, directory);
}

/* --- writing JSON --- */

static void add_mount(cJSON *mounts, const char *host, const char *container)
{
    static const char *const names[] = {"ro", "nosuid", "nodev", "rbind"};
    if (!host)
        return;
    cJSON *mount = cJSON_CreateObject();
    cJSON_AddItemToArray(mounts, mount);
    cJSON_AddStringToObject(mount, "hostPath", host);
    cJSON_AddStringToObject(mount, "containerPath", container);
    cJSON *mount_options = cJSON_AddArrayToObject(mount, "options");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cJSON_AddItemToArray(mount_options, cJSON_CreateString(names[i]));
}

static void add_variable(cJSON *env, const char *name, const char *value)
{
    char *variable = xasprintf("%s=%s", name, value);
    cJSON_AddItemToArray(env, cJSON_CreateString(variable));
    free(variable);
}

static cJSON *json_of_device(const struct cdi_file *file, size_t index)
{
    cJSON *device = cJSON_CreateObject();
    cJSON_AddStringToObject(device, "name", devices[index]);
    cJSON *edits = cJSON_AddObjectToObject(device, "containerEdits");
    if (index == 0) {
        cJSON *env = cJSON_AddArrayToObject(edits, "env");
        add_variable(env, "CUDA_INJECTION64_PATH", CDI_LIBRARY);
        add_variable(env, "NVTX_INJECTION64_PATH", CDI_LIBRARY);
        add_variable(env, "NCCL_PROFILER_PLUGIN", CDI_LIBRARY);
        if (file->config)
            add_variable(env, "CUSPAN_CONFIG_FILE", CDI_CONFIG);
        if (file->set)
            add_variable(env, "CUSPAN_SET", file->set);
    }
    cJSON *mounts = cJSON_AddArrayToObject(edits, "mounts");
    add_mount(mounts, file->folder, CDI_FOLDER);
    add_mount(mounts, file->program, CDI_PROGRAM);
    add_mount(mounts, file->config, CDI_CONFIG);
    return device;
}

enum status cdi_file_format(const struct cdi_file *file, char **json, struct error *err)
{
    const char *const strings[] = {file->folder, file->program, file->config, file->set};
    char clean[256];
    *json = NULL;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strings[i] && !utf8_is_valid(strings[i]))
            return error_set(err, STATUS_INVALID,
                             "\"%s\" is not valid UTF-8, which a CDI file needs; use another name",
                             sanitize_line(clean, sizeof clean, strings[i], strlen(strings[i])));
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "cdiVersion", CDI_VERSION);
    cJSON_AddStringToObject(root, "kind", CDI_KIND);
    cJSON *list = cJSON_AddArrayToObject(root, "devices");
    for (size_t i = 0; i < DEVICE_COUNT; i++)
        cJSON_AddItemToArray(list, json_of_device(file, i));
    *json = cJSON_Print(root);
    cJSON_Delete(root);
    return *json ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

/* --- checking JSON --- */

static const char *string_of(const cJSON *object, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return value ? value : "";
}

static bool has_mount_at(const cJSON *device, const char *container)
{
    const cJSON *edits = cJSON_GetObjectItemCaseSensitive(device, "containerEdits"), *mount;
    cJSON_ArrayForEach(mount, cJSON_GetObjectItemCaseSensitive(edits, "mounts"))
    {
        if (strcmp(string_of(mount, "containerPath"), container) == 0)
            return true;
    }
    return false;
}

/* The first member of an object that is not among the names; NULL: none. */
static const char *other_member(const cJSON *object, const char *const *names, size_t count)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        size_t i = 0;
        while (i < count && strcmp(member->string, names[i]) != 0)
            i++;
        if (i == count)
            return member->string;
    }
    return NULL;
}

static bool is_our_variable(const char *variable)
{
    return strcmp(variable, "CUDA_INJECTION64_PATH=" CDI_LIBRARY) == 0 ||
           strcmp(variable, "NVTX_INJECTION64_PATH=" CDI_LIBRARY) == 0 ||
           strcmp(variable, "NCCL_PROFILER_PLUGIN=" CDI_LIBRARY) == 0 ||
           strcmp(variable, "CUSPAN_CONFIG_FILE=" CDI_CONFIG) == 0 ||
           strncmp(variable, "CUSPAN_SET=", 11) == 0;
}

static bool is_our_mount(const cJSON *mount)
{
    static const char *const members[] = {"hostPath", "containerPath", "options"};
    const char *at = string_of(mount, "containerPath");
    return !other_member(mount, members, 3) && *string_of(mount, "hostPath") == '/' &&
           (strcmp(at, CDI_FOLDER) == 0 || strcmp(at, CDI_PROGRAM) == 0 || strcmp(at, CDI_CONFIG) == 0);
}

/* The first thing in a device that cuspan does not write; NULL: none. */
static const char *foreign_in_device(const cJSON *device)
{
    static const char *const members[] = {"name", "containerEdits"}, *const edit_names[] = {"env", "mounts"};
    const cJSON *edits = cJSON_GetObjectItemCaseSensitive(device, "containerEdits"), *item;
    const char *name = string_of(device, "name"), *other = other_member(device, members, 2);
    if (!other)
        other = other_member(edits, edit_names, 2);
    if (!other && strcmp(name, devices[0]) != 0 && strcmp(name, devices[1]) != 0)
        other = name;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(edits, "env"))
    {
        const char *variable = cJSON_IsString(item) ? item->valuestring : "env";
        if (!other && !is_our_variable(variable))
            other = variable;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(edits, "mounts"))
    {
        if (!other && !is_our_mount(item))
            other = "mounts";
    }
    return other;
}

/* A file is ours if it has nothing that no release of cuspan writes. So nobody's changes are overwritten. */
static enum status check_root(const cJSON *root, struct error *err)
{
    static const char *const members[] = {"cdiVersion", "kind", "devices"};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "devices"), *device;
    const char *other = other_member(root, members, 3);
    if (!cJSON_IsObject(root))
        return error_set(err, STATUS_INVALID, "it is not a JSON object");
    if (strcmp(string_of(root, "kind"), CDI_KIND) != 0)
        return error_set(err, STATUS_INVALID, "its kind is \"%.100s\", not " CDI_KIND,
                         string_of(root, "kind"));
    if (!has_mount_at(cJSON_GetArrayItem(list, 0), CDI_FOLDER))
        return error_set(err, STATUS_INVALID, "it mounts nothing at " CDI_FOLDER);
    cJSON_ArrayForEach(device, list)
    {
        if (!other)
            other = foreign_in_device(device);
    }
    if (!other)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "it contains \"%.100s\", which cuspan does not write", other);
}

enum status cdi_file_check(const char *json, struct error *err)
{
    cJSON *root = cJSON_ParseWithOpts(json, NULL, true);
    enum status status = check_root(root, err);
    cJSON_Delete(root);
    return status;
}

/* --- files --- */

static enum status read_all(int fd, char **text, struct error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return error_set(err, STATUS_IO, "%s", strerror(errno));
    if (!S_ISREG(about.st_mode))
        return error_set(err, STATUS_INVALID, "it is not a regular file");
    if (about.st_size > FILE_BYTES_MAX)
        return error_set(err, STATUS_INVALID, "it has %lld bytes, more than cuspan writes",
                         (long long)about.st_size);
    *text = xcalloc(1, FILE_BYTES_MAX + 1);
    ssize_t got = read(fd, *text, FILE_BYTES_MAX);
    if (got < 0)
        return error_set(err, STATUS_IO, "%s", strerror(errno));
    if (strlen(*text) != (size_t)got)
        return error_set(err, STATUS_INVALID, "it is not a JSON object");
    return STATUS_OK;
}

enum status cdi_file_check_at(const char *path, struct error *err)
{
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return error_set(err, STATUS_INVALID, "it is a symbolic link");
    if (fd < 0)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "%s", strerror(errno));
    enum status status = read_all(fd, &text, err);
    close(fd);
    if (status == STATUS_OK)
        status = cdi_file_check(text, err);
    free(text);
    return status;
}

const char *cdi_file_advice(int error_number)
{
    switch (error_number) {
    case EACCES:
    case EPERM:
        return "run it as root, or use --directory";
    case ENOSPC:
    case EDQUOT:
        return "free some space there, or use --directory";
    default:
        return "use another folder with --directory";
    }
}

/* A new folder gets its mode whatever the umask. */
static enum status make_folder(const char *path, struct error *err)
{
    char *folder = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);
    enum status status = STATUS_OK;
    bool is_new = mkdir(folder, 0755) == 0;
    if (is_new ? chmod(folder, 0755) != 0 : errno != EEXIST)
        status = error_set(err, STATUS_IO, "cannot create the folder %.300s: %s; %s", folder, strerror(errno),
                           errno == ENOENT ? "create the folder above it first" : cdi_file_advice(errno));
    free(folder);
    return status;
}

/* Writes to a new file beside `path`, which runtimes ignore because of its name, and renames it. */
static enum status replace(const char *path, const char *json, struct error *err)
{
    char *temporary = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool is_done = fd >= 0 && fchmod(fd, 0644) == 0 && files_write(fd, json, strlen(json)) &&
                   files_write(fd, "\n", 1) && fsync(fd) == 0 && rename(temporary, path) == 0;
    int error_number = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !is_done)
        unlink(temporary);
    free(temporary);
    if (is_done)
        return STATUS_OK;
    return error_set(err, STATUS_IO, "cannot write %.300s: %s; %s", path, strerror(error_number),
                     cdi_file_advice(error_number));
}

enum status cdi_file_save(const char *path, const struct cdi_file *file, struct error *err)
{
    char *json = NULL;
    enum status status = cdi_file_format(file, &json, err);
    if (status == STATUS_OK)
        status = make_folder(path, err);
    if (status == STATUS_OK && json)
        status = replace(path, json, err);
    free(json);
    return status;
}
