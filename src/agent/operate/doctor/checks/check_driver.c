#include "agent/operate/doctor/driver_facts.h"

#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/doctor_facts.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA_TEXT(version) (version) / 1000, (version) % 1000 / 10

static void suggest_driver_fix(struct doctor *doctor)
{
    if (doctor_facts_container(doctor))
        doctor_fix(doctor,
                   "run the container with GPUs: docker run --gpus all, or in Kubernetes resources.limits "
                   "nvidia.com/gpu: 1 (the NVIDIA Container Toolkit mounts the library)");
    else
        doctor_fix(doctor, "install the NVIDIA driver; if it is installed, run ldconfig, or add the "
                           "library's folder to LD_LIBRARY_PATH");
}

void check_driver_library(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    if (!facts->is_found) {
        doctor_result(doctor, RESULT_PROBLEM, "%s%s", *facts->error ? "" : "cannot load libcuda.so.1: ",
                      *facts->error ? facts->error : facts->failure);
        suggest_driver_fix(doctor);
    } else if (strstr(facts->path, "/stubs/")) {
        doctor_result(doctor, RESULT_PROBLEM, "%s is the linker's stub, not the driver library", facts->path);
        doctor_fix(doctor, "remove the stubs folder from LD_LIBRARY_PATH (now %s)",
                   doctor_facts_variable("LD_LIBRARY_PATH") ? doctor_facts_variable("LD_LIBRARY_PATH")
                                                            : "unset");
    } else if (!facts->version) {
        doctor_result(doctor, RESULT_WARNING, "%s does not report its version", facts->path);
        doctor_fix(doctor, "run nvidia-smi; if it fails, reinstall the driver");
    } else if (facts->version < 12000) {
        doctor_result(doctor, RESULT_PROBLEM, "%s supports CUDA %d.%d; cuspan needs 12.0 or later",
                      facts->path, CUDA_TEXT(facts->version));
        doctor_fix(doctor, "update the driver to 525.60 or later");
    } else {
        doctor_result(doctor, RESULT_OK, "%s supports CUDA %d.%d", facts->path, CUDA_TEXT(facts->version));
    }
}

/* The first word that starts with a digit: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04". */
static bool module_version(const char *text, char *version, size_t size)
{
    for (const char *at = text; *at && *at != '\n'; at += strcspn(at, " \t\n")) {
        at += strspn(at, " \t");
        if (isdigit((unsigned char)*at)) {
            snprintf(version, size, "%.*s", (int)strcspn(at, " \t\n"), at);
            return true;
        }
    }
    return false;
}

void check_driver_module(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    /* "580.159.04" of ".../libcuda.so.580.159.04", or NULL. */
    const char *suffix = strstr(facts->path, "libcuda.so.");
    const char *library = suffix && strchr(suffix + 11, '.') ? suffix + 11 : NULL;
    char version[64];
    char *text = doctor_facts_read(doctor, "/proc/driver/nvidia/version");
    if (!text && doctor_facts_exists(doctor, "/dev/dxg")) {
        doctor_result(doctor, RESULT_SKIPPED, "WSL (/dev/dxg): Windows has the kernel driver");
    } else if (!text) {
        doctor_result(doctor, facts->is_found ? RESULT_PROBLEM : RESULT_SKIPPED,
                      "no /proc/driver/nvidia/version: the nvidia kernel module is not loaded");
        if (facts->is_found)
            doctor_fix(doctor, "sudo modprobe nvidia; if it fails, run dmesg | grep -i nvrm");
    } else if (!module_version(text, version, sizeof version)) {
        doctor_result(doctor, RESULT_UNKNOWN, "/proc/driver/nvidia/version has no version: %.80s", text);
    } else if (library && strcmp(library, version) != 0 && !strstr(facts->path, "/compat/")) {
        doctor_result(doctor, RESULT_PROBLEM, "the kernel module is %s, but libcuda.so.1 is %s", version,
                      library);
        doctor_fix(doctor, "reboot after a driver update; in a container, remove the libcuda of the image");
    } else {
        doctor_result(doctor, RESULT_OK, "kernel module %s", version);
    }
    free(text);
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        if (strcspn(at, ",") == len && strncmp(at, word, len) == 0)
            return true;
    }
    return false;
}

void check_driver_container(struct doctor *doctor)
{
    const char *container = doctor_facts_container(doctor);
    const char *devices = getenv("NVIDIA_VISIBLE_DEVICES"),
               *capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES");
    if (!container && !devices) {
        doctor_result(doctor, RESULT_SKIPPED, "not in a container");
    } else if (devices && (!*devices || strcmp(devices, "void") == 0 || strcmp(devices, "none") == 0)) {
        doctor_result(doctor, RESULT_PROBLEM, "NVIDIA_VISIBLE_DEVICES is \"%s\": the container has no GPU",
                      devices);
        doctor_fix(doctor, "docker run --gpus all, or --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all");
    } else if (capabilities && *capabilities && !has_word(capabilities, "all") &&
               !has_word(capabilities, "compute")) {
        doctor_result(doctor, RESULT_PROBLEM,
                      "NVIDIA_DRIVER_CAPABILITIES is \"%s\": the container has no CUDA libraries",
                      capabilities);
        doctor_fix(doctor, "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    } else if (!doctor_facts_exists(doctor, "/dev/nvidiactl") && !doctor_facts_exists(doctor, "/dev/dxg")) {
        doctor_result(doctor, RESULT_PROBLEM, "the container (detected by %s) has no GPU: no /dev/nvidiactl",
                      container ? container : "NVIDIA_VISIBLE_DEVICES");
        doctor_fix(doctor, "docker run --gpus all, or in Kubernetes resources.limits nvidia.com/gpu: 1");
    } else if (capabilities && *capabilities && !has_word(capabilities, "all") &&
               !has_word(capabilities, "utility")) {
        doctor_result(doctor, RESULT_WARNING,
                      "NVIDIA_DRIVER_CAPABILITIES is \"%s\": the container has no NVML and nvidia-smi",
                      capabilities);
        doctor_fix(doctor, "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    } else {
        doctor_result(doctor, RESULT_OK, "the container (detected by %s) has GPUs",
                      container ? container : "NVIDIA_VISIBLE_DEVICES");
    }
}

/* The first that this user cannot open for reading and writing, as the driver does; NULL: none. */
static const char *inaccessible_node(const glob_t *nodes)
{
    for (size_t i = 0; i < nodes->gl_pathc; i++)
        if (access(nodes->gl_pathv[i], R_OK | W_OK) != 0)
            return nodes->gl_pathv[i];
    return NULL;
}

void check_driver_nodes(struct doctor *doctor)
{
    static const char *const patterns[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia[0-9]*"};
    bool exists[3];
    glob_t nodes = {0};
    for (size_t i = 0; i < 3; i++) {
        char *pattern = doctor_facts_path(doctor, patterns[i]);
        exists[i] = glob(pattern, i ? GLOB_APPEND : 0, NULL, &nodes) == 0;
        free(pattern);
    }
    const char *inaccessible = inaccessible_node(&nodes);
    if (!exists[0] && !exists[2]) {
        bool is_needed = doctor_facts_exists(doctor, "/proc/driver/nvidia/version");
        doctor_result(doctor, is_needed ? RESULT_PROBLEM : RESULT_SKIPPED,
                      "no /dev/nvidiactl and no /dev/nvidia0");
        if (is_needed)
            doctor_fix(doctor, "sudo nvidia-modprobe -c 0 -u; in a container: docker run --gpus all");
    } else if (inaccessible) {
        doctor_result(doctor, RESULT_PROBLEM, "user %d cannot read and write %s", (int)geteuid(),
                      inaccessible + strlen(doctor->root));
        doctor_fix(doctor, "sudo chmod 666 %s, or add the user to its group (ls -l)",
                   inaccessible + strlen(doctor->root));
    } else if (!exists[1]) {
        doctor_result(doctor, RESULT_PROBLEM, "no /dev/nvidia-uvm: cuInit fails without it");
        doctor_fix(doctor, "sudo nvidia-modprobe -c 0 -u; for a container, run it on the host first");
    } else {
        doctor_result(doctor, RESULT_OK, "user %d can open all %zu device files", (int)geteuid(),
                      nodes.gl_pathc);
    }
    globfree(&nodes);
}

/* Whether CUDA_VISIBLE_DEVICES hides all GPUs, which is reported. */
static bool are_all_hidden(struct doctor *doctor)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible || (*visible && *visible != '-' && strcmp(visible, "NoDevFiles") != 0))
        return false;
    doctor_result(doctor, RESULT_PROBLEM, "CUDA_VISIBLE_DEVICES is \"%s\": CUDA hides all GPUs", visible);
    doctor_fix(doctor, "unset CUDA_VISIBLE_DEVICES, or list GPUs: CUDA_VISIBLE_DEVICES=0");
    return true;
}

static void list_from_proc(struct doctor *doctor, const char *why)
{
    char *pattern = doctor_facts_path(doctor, "/proc/driver/nvidia/gpus/*/information");
    glob_t gpus = {0};
    if (glob(pattern, 0, NULL, &gpus) != 0) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s, and /proc/driver/nvidia/gpus lists no GPU", why);
    } else {
        char *text = doctor_facts_read(doctor, gpus.gl_pathv[0] + strlen(doctor->root));
        char *model = doctor_facts_line(text, "Model");
        doctor_result(doctor, RESULT_OK, "/proc/driver/nvidia/gpus lists %zu, the first is %s (%s)",
                      gpus.gl_pathc, model ? model : "unnamed", why);
        free(model);
        free(text);
    }
    globfree(&gpus);
    free(pattern);
}

void check_driver_devices(struct doctor *doctor)
{
    const struct nvml_facts *facts = nvml_facts(doctor);
    unsigned prohibited = 0;
    if (are_all_hidden(doctor))
        return;
    if (!facts->works && !facts->is_found && !driver_facts(doctor)->is_found) {
        doctor_result(doctor, RESULT_SKIPPED, "no driver");
        return;
    }
    if (!facts->works) {
        list_from_proc(doctor, facts->error);
        return;
    }
    for (unsigned i = 0; i < facts->count && i < NVML_DEVICES_MAX; i++)
        prohibited += facts->devices[i].compute_mode == 2;
    if (facts->count == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "NVML (driver %s) finds no GPU", facts->driver);
        doctor_fix(doctor,
                   "check for the GPU with lspci | grep -i nvidia, and for errors with dmesg | grep -i nvrm");
    } else if (prohibited) {
        doctor_result(doctor, RESULT_PROBLEM, "%u of %u GPUs are in compute mode \"prohibited\"", prohibited,
                      facts->count);
        doctor_fix(doctor, "sudo nvidia-smi -c DEFAULT");
    } else {
        doctor_result(doctor, RESULT_OK, "GPUs: %u, the first is %s, driver %s", facts->count,
                      facts->devices[0].name, facts->driver);
    }
}

void check_driver_mig(struct doctor *doctor)
{
    const struct nvml_facts *facts = nvml_facts(doctor);
    unsigned enabled = 0, capable = 0, instances = 0;
    if (!facts->works) {
        doctor_result(doctor, driver_facts(doctor)->is_found ? RESULT_UNKNOWN : RESULT_SKIPPED, "%s",
                      *facts->error ? facts->error : "NVML does not report MIG modes");
        return;
    }
    for (unsigned i = 0; i < facts->count && i < NVML_DEVICES_MAX; i++) {
        const struct nvml_device *device = &facts->devices[i];
        capable += device->has_mig;
        enabled += device->has_mig && device->mig;
        instances += device->instances;
        if (device->has_mig && device->mig && !device->instances) {
            doctor_result(doctor, RESULT_PROBLEM,
                          "GPU %u is in MIG mode without an instance that this process may use", i);
            doctor_fix(doctor,
                       "create one: sudo nvidia-smi mig -i %u -cgi 0 -C; or disable MIG mode: sudo "
                       "nvidia-smi -i %u -mig 0",
                       i, i);
        }
    }
    if (!capable)
        doctor_result(doctor, RESULT_SKIPPED, "no GPU supports MIG");
    else if (!enabled)
        doctor_result(doctor, RESULT_OK, "MIG mode is off");
    else if (instances)
        doctor_result(doctor, RESULT_OK,
                      "%u instances on %u GPUs; a process uses one of them (CUDA_VISIBLE_DEVICES=%s)",
                      instances, enabled,
                      doctor_facts_variable("CUDA_VISIBLE_DEVICES")
                          ? doctor_facts_variable("CUDA_VISIBLE_DEVICES")
                          : "unset");
}

/* By result of cuInit. */
static const char *init_fix(int result)
{
    static const struct {
        int result;
        const char *advice;
    } table[] = {
        {2, "free GPU or host memory; nvidia-smi lists the processes that use it"},
        {34, "remove the stubs folder from LD_LIBRARY_PATH"},
        {46, "another process has exclusive use of the GPU (compute mode): end it (nvidia-smi lists it)"},
        {100, "check nvidia-smi and CUDA_VISIBLE_DEVICES"},
        {101, "set CUDA_VISIBLE_DEVICES to an existing GPU"},
        {304, "check the permissions of /dev/nvidia* (driver.nodes)"},
        {802, "start the fabric manager: sudo systemctl start nvidia-fabricmanager"},
        {803, "reboot: the driver was updated while its kernel module was loaded"},
        {804, "remove /usr/local/cuda/compat from LD_LIBRARY_PATH, or update the driver"},
        {999, "sudo nvidia-modprobe -c 0 -u; then dmesg | grep -i nvrm"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].result == result)
            return table[i].advice;
    return "run nvidia-smi and dmesg | grep -i nvrm";
}

void check_driver_start(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    if (!facts->is_found) {
        doctor_result(doctor, RESULT_SKIPPED, "no driver");
    } else if (!facts->has_started) {
        doctor_result(doctor, RESULT_PROBLEM, "cuInit failed: %s",
                      *facts->failure ? facts->failure : "the library has no cuInit");
        doctor_fix(doctor, "run dmesg | grep -i nvrm, and check that nvidia-smi works");
    } else if (facts->result != 0) {
        doctor_result(doctor, RESULT_PROBLEM, "cuInit failed: %d%s%s", facts->result,
                      *facts->result_name ? ", " : "", facts->result_name);
        doctor_fix(doctor, "%s", init_fix(facts->result));
    } else if (facts->devices == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "cuInit succeeds, but CUDA finds no GPU");
        doctor_fix(doctor, "check CUDA_VISIBLE_DEVICES and nvidia-smi");
    } else {
        doctor_result(doctor, RESULT_OK, "cuInit succeeds, and CUDA finds %d GPU%s", facts->devices,
                      facts->devices == 1 ? "" : "s");
    }
}
