#include "cli/doctor/checks/check_driver.h"

#include "cli/doctor/checks.h"
#include "cli/doctor/doctor_facts.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA_TEXT(version) (version) / 1000, (version) % 1000 / 10

static void mend_missing_driver(struct doctor *doctor)
{
    if (doctor_facts_container(doctor))
        doctor_mend(doctor,
                    "give the container the GPUs: docker run --gpus all, or in Kubernetes "
                    "resources.limits nvidia.com/gpu: 1 (NVIDIA's container toolkit mounts the library)");
    else
        doctor_mend(doctor,
                    "install NVIDIA's driver; if it is installed, run ldconfig, or add the library's folder "
                    "to LD_LIBRARY_PATH");
}

void check_driver_library(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    if (!facts->is_found) {
        doctor_say(doctor, FOUND_PROBLEM, "libcuda.so.1 can't be loaded: %s",
                   *facts->error ? facts->error : facts->how);
        mend_missing_driver(doctor);
    } else if (strstr(facts->path, "/stubs/")) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "%s is the stub that programs are linked with, not the driver's library", facts->path);
        doctor_mend(doctor, "take the folder stubs out of LD_LIBRARY_PATH (now %s)",
                    doctor_facts_variable("LD_LIBRARY_PATH") ? doctor_facts_variable("LD_LIBRARY_PATH")
                                                             : "unset");
    } else if (!facts->version) {
        doctor_say(doctor, FOUND_WARNING, "%s doesn't tell its version", facts->path);
        doctor_mend(doctor, "compare with nvidia-smi, and install the driver again if that fails");
    } else if (facts->version < 12000) {
        doctor_say(doctor, FOUND_PROBLEM, "%s is of CUDA %d.%d; cuspan needs 12.0 or later", facts->path,
                   CUDA_TEXT(facts->version));
        doctor_mend(doctor, "update the driver to 525.60 or later");
    } else {
        doctor_say(doctor, FOUND_OK, "%s, of CUDA %d.%d", facts->path, CUDA_TEXT(facts->version));
    }
}

/* The first word that begins with a digit: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ...".
 */
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

/* "580.159.04" of ".../libcuda.so.580.159.04", or NULL. */
static const char *library_version(const char *path)
{
    const char *suffix = strstr(path, "libcuda.so.");
    suffix = suffix ? suffix + strlen("libcuda.so.") : NULL;
    return suffix && strchr(suffix, '.') ? suffix : NULL;
}

void check_driver_module(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    const char *library = library_version(facts->path);
    char version[64];
    char *text = doctor_facts_read(doctor, "/proc/driver/nvidia/version");
    if (!text && doctor_facts_exists(doctor, "/dev/dxg")) {
        doctor_say(doctor, FOUND_NOT_HERE, "WSL (/dev/dxg): the module is Windows'");
    } else if (!text) {
        doctor_say(doctor, facts->is_found ? FOUND_PROBLEM : FOUND_NOT_HERE,
                   "no /proc/driver/nvidia/version: NVIDIA's kernel module isn't loaded");
        if (facts->is_found)
            doctor_mend(doctor, "sudo modprobe nvidia (dmesg | grep -i nvrm says why it fails)");
    } else if (!module_version(text, version, sizeof version)) {
        doctor_say(doctor, FOUND_UNKNOWN, "/proc/driver/nvidia/version has no version: %.80s", text);
    } else if (library && strcmp(library, version) != 0 && !strstr(facts->path, "/compat/")) {
        doctor_say(doctor, FOUND_PROBLEM, "the kernel's module is %s and libcuda.so.1 is %s", version,
                   library);
        doctor_mend(doctor, "reboot after an update of the driver; in a container, take out a libcuda of the "
                            "image's own");
    } else {
        doctor_say(doctor, FOUND_OK, "kernel module %s", version);
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
        doctor_say(doctor, FOUND_NOT_HERE, "this is no container");
    } else if (devices && (!*devices || strcmp(devices, "void") == 0 || strcmp(devices, "none") == 0)) {
        doctor_say(doctor, FOUND_PROBLEM, "NVIDIA_VISIBLE_DEVICES is \"%s\": the container is given no GPU",
                   devices);
        doctor_mend(doctor,
                    "docker run --gpus all, or -e NVIDIA_VISIBLE_DEVICES=all with the runtime nvidia");
    } else if (capabilities && *capabilities && !has_word(capabilities, "all") &&
               !has_word(capabilities, "compute")) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "NVIDIA_DRIVER_CAPABILITIES is \"%s\": CUDA's libraries are left out", capabilities);
        doctor_mend(doctor, "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    } else if (!doctor_facts_exists(doctor, "/dev/nvidiactl") && !doctor_facts_exists(doctor, "/dev/dxg")) {
        doctor_say(doctor, FOUND_PROBLEM, "a container (%s) without /dev/nvidiactl: it was given no GPU",
                   container ? container : "NVIDIA_VISIBLE_DEVICES");
        doctor_mend(doctor, "docker run --gpus all, or in Kubernetes resources.limits nvidia.com/gpu: 1");
    } else if (capabilities && *capabilities && !has_word(capabilities, "all") &&
               !has_word(capabilities, "utility")) {
        doctor_say(doctor, FOUND_WARNING,
                   "NVIDIA_DRIVER_CAPABILITIES is \"%s\": NVML and nvidia-smi are left out", capabilities);
        doctor_mend(doctor, "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    } else {
        doctor_say(doctor, FOUND_OK, "a container (%s) with GPUs",
                   container ? container : "NVIDIA_VISIBLE_DEVICES is set");
    }
}

/* The first that may not be opened for reading and writing, as the driver does it; NULL: all may. */
static const char *locked_node(const glob_t *nodes)
{
    for (size_t i = 0; i < nodes->gl_pathc; i++)
        if (access(nodes->gl_pathv[i], R_OK | W_OK) != 0)
            return nodes->gl_pathv[i];
    return NULL;
}

void check_driver_nodes(struct doctor *doctor)
{
    static const char *const patterns[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia[0-9]*"};
    bool is_there[3];
    glob_t nodes = {0};
    for (size_t i = 0; i < 3; i++) {
        char *pattern = doctor_facts_path(doctor, patterns[i]);
        is_there[i] = glob(pattern, i ? GLOB_APPEND : 0, NULL, &nodes) == 0;
        free(pattern);
    }
    const char *locked = locked_node(&nodes);
    if (!is_there[0] && !is_there[2]) {
        bool is_needed = doctor_facts_exists(doctor, "/proc/driver/nvidia/version");
        doctor_say(doctor, is_needed ? FOUND_PROBLEM : FOUND_NOT_HERE, "no /dev/nvidiactl, no /dev/nvidia0");
        if (is_needed)
            doctor_mend(doctor, "sudo nvidia-modprobe -c 0 -u; in a container: docker run --gpus all");
    } else if (locked) {
        doctor_say(doctor, FOUND_PROBLEM, "user %d may not read and write %s", (int)geteuid(),
                   locked + strlen(doctor->root));
        doctor_mend(doctor, "sudo chmod 666 %s, or join the group that owns it (ls -l)",
                    locked + strlen(doctor->root));
    } else if (!is_there[1]) {
        doctor_say(doctor, FOUND_PROBLEM, "no /dev/nvidia-uvm: CUDA can't start without it");
        doctor_mend(doctor, "sudo nvidia-modprobe -c 0 -u; in a container, start that on the host first");
    } else {
        doctor_say(doctor, FOUND_OK, "%zu files of devices, all open to user %d", nodes.gl_pathc,
                   (int)geteuid());
    }
    globfree(&nodes);
}

/* Whether CUDA_VISIBLE_DEVICES hides all; said if so. */
static bool are_hidden(struct doctor *doctor)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible || (*visible && *visible != '-' && strcmp(visible, "NoDevFiles") != 0))
        return false;
    doctor_say(doctor, FOUND_PROBLEM, "CUDA_VISIBLE_DEVICES is \"%s\": CUDA shows the program no GPU",
               visible);
    doctor_mend(doctor, "unset CUDA_VISIBLE_DEVICES, or name GPUs: CUDA_VISIBLE_DEVICES=0");
    return true;
}

static void list_by_proc(struct doctor *doctor, const char *why)
{
    char *pattern = doctor_facts_path(doctor, "/proc/driver/nvidia/gpus/*/information");
    glob_t gpus = {0};
    if (glob(pattern, 0, NULL, &gpus) != 0) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s, and /proc/driver/nvidia/gpus has none", why);
    } else {
        char *text = doctor_facts_read(doctor, gpus.gl_pathv[0] + strlen(doctor->root));
        char *model = doctor_facts_line(text, "Model");
        doctor_say(doctor, FOUND_OK, "%zu of /proc/driver/nvidia/gpus, the first %s (%s)", gpus.gl_pathc,
                   model ? model : "without a name", why);
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
    if (are_hidden(doctor))
        return;
    if (!facts->works && !facts->is_found && !driver_facts(doctor)->is_found) {
        doctor_say(doctor, FOUND_NOT_HERE, "no driver, so no GPU");
        return;
    }
    if (!facts->works) {
        list_by_proc(doctor, facts->error);
        return;
    }
    for (unsigned i = 0; i < facts->count && i < NVML_DEVICES_MAX; i++)
        prohibited += facts->devices[i].compute_mode == 2;
    if (facts->count == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "NVML (driver %s) knows no GPU", facts->driver);
        doctor_mend(
            doctor,
            "look for the card in lspci | grep -i nvidia, and for its errors in dmesg | grep -i nvrm");
    } else if (prohibited) {
        doctor_say(doctor, FOUND_PROBLEM, "%u of %u GPUs are in the compute mode \"prohibited\"", prohibited,
                   facts->count);
        doctor_mend(doctor, "sudo nvidia-smi -c DEFAULT");
    } else {
        doctor_say(doctor, FOUND_OK, "%u, the first %s, by driver %s", facts->count, facts->devices[0].name,
                   facts->driver);
    }
}

void check_driver_mig(struct doctor *doctor)
{
    const struct nvml_facts *facts = nvml_facts(doctor);
    unsigned divided = 0, able = 0, instances = 0;
    if (!facts->works) {
        doctor_say(doctor, driver_facts(doctor)->is_found ? FOUND_UNKNOWN : FOUND_NOT_HERE, "%s",
                   *facts->error ? facts->error : "NVML doesn't tell");
        return;
    }
    for (unsigned i = 0; i < facts->count && i < NVML_DEVICES_MAX; i++) {
        const struct nvml_device *device = &facts->devices[i];
        able += device->has_mig;
        divided += device->has_mig && device->mig;
        instances += device->instances;
        if (device->has_mig && device->mig && !device->instances) {
            doctor_say(doctor, FOUND_PROBLEM,
                       "GPU %u is in MIG mode and has no instance that this process may use", i);
            doctor_mend(
                doctor,
                "make one: sudo nvidia-smi mig -i %u -cgi 0 -C; or leave MIG: sudo nvidia-smi -i %u -mig 0",
                i, i);
        }
    }
    if (!able)
        doctor_say(doctor, FOUND_NOT_HERE, "no GPU here can be divided");
    else if (!divided)
        doctor_say(doctor, FOUND_OK, "off");
    else if (instances)
        doctor_say(
            doctor, FOUND_OK, "%u instances on %u GPUs; a process sees one of them (CUDA_VISIBLE_DEVICES=%s)",
            instances, divided,
            doctor_facts_variable("CUDA_VISIBLE_DEVICES") ? doctor_facts_variable("CUDA_VISIBLE_DEVICES")
                                                          : "unset");
}

/* What people did about it, by cuInit's result. */
static const char *start_advice(int result)
{
    static const struct {
        int result;
        const char *advice;
    } table[] = {
        {2, "free GPU or host memory: nvidia-smi shows who holds it"},
        {34, "take the folder stubs out of LD_LIBRARY_PATH"},
        {46, "another process has the GPU for itself (compute mode exclusive): nvidia-smi shows which"},
        {100, "look at nvidia-smi and at CUDA_VISIBLE_DEVICES"},
        {101, "name a GPU that is there in CUDA_VISIBLE_DEVICES"},
        {304, "check the permissions of /dev/nvidia* (driver.nodes)"},
        {802, "start the fabric manager: sudo systemctl start nvidia-fabricmanager"},
        {803, "the driver was updated under a running module: reboot"},
        {804, "take /usr/local/cuda/compat out of LD_LIBRARY_PATH, or update the driver"},
        {999, "sudo nvidia-modprobe -c 0 -u; then dmesg | grep -i nvrm"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].result == result)
            return table[i].advice;
    return "run nvidia-smi, and look at dmesg | grep -i nvrm";
}

void check_driver_start(struct doctor *doctor)
{
    const struct driver_facts *facts = driver_facts(doctor);
    if (!facts->is_found) {
        doctor_say(doctor, FOUND_NOT_HERE, "no driver to start");
    } else if (!facts->has_started) {
        doctor_say(doctor, FOUND_PROBLEM, "cuInit didn't come back: %s",
                   *facts->how ? facts->how : "the library has no cuInit");
        doctor_mend(doctor, "look at dmesg | grep -i nvrm; does nvidia-smi answer?");
    } else if (facts->result != 0) {
        doctor_say(doctor, FOUND_PROBLEM, "cuInit gave %d%s%s", facts->result,
                   *facts->result_name ? ", " : "", facts->result_name);
        doctor_mend(doctor, "%s", start_advice(facts->result));
    } else if (facts->devices == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "cuInit is well, and CUDA shows no GPU");
        doctor_mend(doctor, "look at CUDA_VISIBLE_DEVICES and at nvidia-smi");
    } else {
        doctor_say(doctor, FOUND_OK, "cuInit is well; %d GPU%s for CUDA", facts->devices,
                   facts->devices == 1 ? "" : "s");
    }
}
