#include "agent/core/resource/detect.h"

#include "agent/core/resource/deployment.h"
#include "base/files.h"
#include "model/semconv.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TEXT_MAX      4096
#define ANCESTORS_MAX 4 /* nested processes of multiprocessing */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "python3 -u serve.py" is the program serve.py, "python3 -m vllm" is vllm. */
static const char *python_script(const char *arguments, size_t length)
{
    const char *argument = arguments, *end = arguments + length;
    for (argument += strlen(argument) + 1; argument < end; argument += strlen(argument) + 1) {
        if (strcmp(argument, "-c") == 0)
            return NULL;
        if (strcmp(argument, "-m") == 0)
            return argument + 3 < end ? argument + 3 : NULL;
        if (argument[0] != '-')
            return base_name(argument);
        if (strcmp(argument, "-X") == 0 || strcmp(argument, "-W") == 0) {
            argument += 3; /* its value */
            if (argument >= end)
                return NULL;
        }
    }
    return NULL;
}

/* Finds the line "KEY: \t VALUE" in a file of the kernel or driver. Returns its value, terminated, or NULL.
 */
static char *value_of(char *text, const char *key)
{
    char *at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " \t");
    at[strcspn(at, "\n")] = 0;
    return at;
}

static char executable[TEXT_MAX];

static const char *executable_path(void)
{
    if (!*executable) {
        ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
        executable[length > 0 ? length : 0] = 0;
    }
    return executable;
}

static bool is_python(const char *path)
{
    return strncmp(base_name(path), "python", strlen("python")) == 0;
}

static const char *program_of(const char *path, const char *arguments, size_t length)
{
    const char *name = base_name(path);
    const char *script = is_python(path) ? python_script(arguments, length) : NULL;
    if (script && *script)
        return script;
    return *name ? name : "unknown";
}

/* python3 -c "from multiprocessing.spawn import spawn_main; ..." */
static bool is_multiprocessing(const char *arguments, size_t length)
{
    static const char code[] = "from multiprocessing.";
    for (const char *at = arguments; at < arguments + length; at += strlen(at) + 1)
        if (strcmp(at, "-c") == 0)
            return strncmp(at + 3, code, sizeof code - 1) == 0;
    return false;
}

/* The arguments of a process, each terminated by NUL. Returns the length, or 0. */
static size_t read_command(pid_t pid, char arguments[TEXT_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    ssize_t length = files_read_small(path, arguments, TEXT_MAX);
    return length > 0 ? (size_t)length : 0;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[TEXT_MAX];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    const char *parent = files_read_small(path, text, sizeof text) > 0 ? value_of(text, "PPid:") : NULL;
    return parent ? (pid_t)strtol(parent, NULL, 10) : 0;
}

/* A child of multiprocessing is named like its parent, or like the parent of its fork server. */
const char *detect_program(void)
{
    static char arguments[TEXT_MAX];
    pid_t pid = getpid();
    size_t length = read_command(pid, arguments);
    for (unsigned i = 0; i < ANCESTORS_MAX && is_multiprocessing(arguments, length); i++) {
        pid = parent_of(pid);
        length = pid > 0 ? read_command(pid, arguments) : 0;
        if (length == 0 || !is_python(arguments))
            return base_name(executable_path());
    }
    return program_of(executable_path(), arguments, length);
}

/* As in /proc: each terminated by NUL. */
const char *detect_command(char *const *argv)
{
    static char arguments[TEXT_MAX];
    size_t used = 0;
    for (; *argv && used + strlen(*argv) < sizeof arguments; argv++)
        used += (size_t)sprintf(arguments + used, "%s", *argv) + 1;
    return program_of(arguments, arguments, used);
}

static void add_service(struct resource *resource, const char *program, enum status *status)
{
    char service[300], id[37];
    uint8_t random[16];
    snprintf(service, sizeof service, "unknown_service:%.250s", program);
    resource_add_string(resource, SEMCONV_SERVICE_NAME, service, status);
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != sizeof random)
        return;
    random[6] = (uint8_t)((random[6] & 0x0f) | 0x40);
    random[8] = (uint8_t)((random[8] & 0x3f) | 0x80);
    char *to = id;
    for (unsigned i = 0; i < sizeof random; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", random[i]);
    resource_add_string(resource, SEMCONV_SERVICE_INSTANCE_ID, id, status);
}

/* host.id is always needed: without it, viewers take two processes of one host for two hosts. */
static void add_host(struct resource *resource, enum status *status)
{
    char text[128];
    struct utsname system;
    bool named = uname(&system) == 0;
    if (files_read_small("/etc/machine-id", text, sizeof text) <= 0)
        files_read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    text[strcspn(text, "\n")] = 0;
    resource_add_string(resource, SEMCONV_HOST_ID, text, status);
    resource_add_string(resource, SEMCONV_HOST_ID, named ? system.nodename : "unknown", status);
    if (!named)
        return;
    resource_add_string(resource, SEMCONV_HOST_NAME, system.nodename, status);
    resource_add_string(resource, SEMCONV_HOST_ARCH,
                        strcmp(system.machine, "x86_64") == 0 ? "amd64" : "arm64", status);
    resource_add_string(resource, SEMCONV_OS_TYPE, "linux", status);
}

static void add_cuda(struct resource *resource, int driver_version, const char *cupti_version,
                     enum status *status)
{
    char text[64];
    if (driver_version) {
        snprintf(text, sizeof text, "%d.%d", driver_version / 1000, driver_version % 1000 / 10);
        resource_add_string(resource, SEMCONV_CUDA_VERSION, text, status);
    }
    files_read_small("/sys/module/nvidia/version", text, sizeof text);
    text[strcspn(text, "\n")] = 0;
    resource_add_string(resource, SEMCONV_HW_DRIVER_VERSION, text, status);
    resource_add_string(resource, SEMCONV_CUDA_CUPTI_VERSION, cupti_version, status);
}

enum status detect_device(struct resource *resource, const char *folder)
{
    const char *uuid = resource_text(resource, SEMCONV_CUDA_DEVICE_UUID);
    DIR *gpus = uuid ? files_open_folder(folder) : NULL;
    enum status status = STATUS_OK;
    struct dirent *gpu;
    while (gpus && (gpu = readdir(gpus)) != NULL) {
        char path[512], text[TEXT_MAX];
        snprintf(path, sizeof path, "%.200s/%s/information", folder, gpu->d_name);
        const char *found =
            files_read_small(path, text, sizeof text) > 0 ? value_of(text, "GPU UUID:") : NULL;
        if (!found || strcmp(found, uuid) != 0)
            continue;
        resource_add_string(resource, SEMCONV_CUDA_DEVICE_PCI_ADDRESS, gpu->d_name, &status);
        break;
    }
    if (gpus)
        closedir(gpus);
    return status;
}

/* Jaeger assumes that spans without it, or with another one, are from hosts with other clocks, and moves
 * them. */
enum status detect_ip(struct resource *resource)
{
    char address[HOST_ADDRESS_BYTES];
    enum status status = STATUS_OK;
    host_address("", address);
    resource_add_string(resource, SEMCONV_IP, address, &status);
    return status;
}

/* `path`: of the executable, or NULL: unknown. */
static enum status add_all(struct resource *resource, const char *program, pid_t pid, const char *path,
                           int driver_version, const char *cupti_version)
{
    enum status status = STATUS_OK;
    add_service(resource, program, &status);
    resource_add_string(resource, SEMCONV_TELEMETRY_SDK_NAME, "cuspan", &status);
    resource_add_string(resource, SEMCONV_TELEMETRY_SDK_LANGUAGE, "c", &status);
    resource_add_string(resource, SEMCONV_TELEMETRY_SDK_VERSION, CUSPAN_VERSION, &status);
    resource_add_int(resource, SEMCONV_PROCESS_PID, pid, &status);
    resource_add_string(resource, SEMCONV_PROCESS_EXECUTABLE_PATH, path, &status);
    resource_add_string(resource, SEMCONV_PROCESS_EXECUTABLE_NAME, path ? base_name(path) : NULL, &status);
    add_host(resource, &status);
    add_cuda(resource, driver_version, cupti_version, &status);
    return status == STATUS_OK ? deployment_add(resource, &deployment_own) : status;
}

enum status detect_resource(struct resource *resource, int driver_version, const char *cupti_version)
{
    return add_all(resource, detect_program(), getpid(), executable_path(), driver_version, cupti_version);
}

enum status detect_command_resource(struct resource *resource, const char *program, pid_t pid)
{
    return add_all(resource, program, pid, NULL, 0, NULL);
}
