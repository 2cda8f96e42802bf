#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/elf.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "agent/operate/doctor/agent_library.h"
#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VARIABLE      "CUDA_INJECTION64_PATH"
#define NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"
#define EXPORT_MODULE "libcuspan-export.so"

static void report_load_error(struct doctor *doctor, const char *path)
{
    struct elf_facts facts;
    doctor_result(doctor, RESULT_PROBLEM, "%s", doctor->api_error);
    if (!elf_read(path, &facts))
        doctor_fix(doctor, "make it readable for user %d (%s)", (int)geteuid(), strerror(errno));
    else if (!facts.is_elf)
        doctor_fix(doctor, "reinstall cuspan: %s is not a library", path);
    else if (!facts.is_64_bit || !facts.is_native)
        doctor_fix(doctor, "install cuspan for this machine's architecture; the library is for another one");
    else
        doctor_fix(doctor, "reinstall cuspan, or select another library with --library or CUSPAN_LIBRARY");
}

void check_injection_library(struct doctor *doctor)
{
    const char *path = doctor->injection.library;
    if (!path) {
        doctor_result(doctor, RESULT_PROBLEM, "%s", doctor->api_error);
        doctor_fix(doctor, "reinstall cuspan, or select the library with --library or CUSPAN_LIBRARY");
        return;
    }
    if (!doctor->api) {
        report_load_error(doctor, path);
        return;
    }
    char *closed = library_unreadable(path);
    if (closed) {
        doctor_result(doctor, RESULT_WARNING,
                      "%s can be loaded, but other users cannot read %s: their programs get no agent", path,
                      closed);
        doctor_fix(doctor, "chmod o+rX %s", closed);
    } else {
        doctor_result(doctor, RESULT_OK, "%s, version " CUSPAN_VERSION, path);
    }
    free(closed);
    library_report_others(doctor);
}

void check_injection_module(struct doctor *doctor)
{
    struct library_facts facts;
    char *path = injection_path_beside(&doctor->injection, EXPORT_MODULE);
    library_probe(path, &facts);
    if (facts.is_loaded) {
        doctor_result(doctor, RESULT_OK, "%s", path);
    } else {
        doctor_result(doctor, RESULT_PROBLEM, "%s", facts.error);
        doctor_fix(doctor, "reinstall cuspan: without " EXPORT_MODULE
                           " next to libcuspan.so, spans for a collector are lost");
    }
    free(path);
}

static const char *library_to_export(const struct doctor *doctor)
{
    return doctor->injection.library ? doctor->injection.library : "PATH/TO/libcuspan.so";
}

static void report_unset_variable(struct doctor *doctor)
{
    if (doctor->program) {
        doctor_result(doctor, RESULT_OK, VARIABLE " is not set; cuspan run sets it for the program");
        return;
    }
    doctor_result(doctor, RESULT_WARNING,
                  VARIABLE " is not set: programs started from this shell are not traced");
    doctor_fix(doctor, "cuspan run PROGRAM, or export " VARIABLE "=%s", library_to_export(doctor));
}

static void report_other_library(struct doctor *doctor, const char *set)
{
    struct library_facts facts;
    library_probe(set, &facts);
    if (facts.is_agent && strcmp(facts.version, CUSPAN_VERSION) == 0) {
        doctor_result(doctor, RESULT_OK, VARIABLE " points to another copy of this version: %s", set);
    } else if (facts.is_agent || strstr(set, "libcuspan.so")) {
        doctor_result(doctor, RESULT_WARNING, VARIABLE " points to another version of cuspan (%s): %s",
                      *facts.version ? facts.version : "unknown", *facts.error ? facts.error : set);
        doctor_fix(doctor, "export " VARIABLE "=%s", library_to_export(doctor));
    } else {
        doctor_result(doctor, RESULT_PROBLEM,
                      VARIABLE " points to another tool: %s; CUDA loads only one such library", set);
        doctor_fix(doctor, "unset " VARIABLE ", then cuspan run PROGRAM");
    }
}

void check_injection_variable(struct doctor *doctor)
{
    const char *set = doctor_facts_variable(VARIABLE), *library = doctor->injection.library;
    char *real = set ? realpath(set, NULL) : NULL;
    if (!set) {
        report_unset_variable(doctor);
    } else if (!real) {
        doctor_result(doctor, RESULT_PROBLEM,
                      VARIABLE " is %s: %s; the driver loads no agent and prints no error", set,
                      strerror(errno));
        doctor_fix(doctor, "export " VARIABLE "=%s", library_to_export(doctor));
    } else if (*set != '/') {
        doctor_result(doctor, RESULT_WARNING,
                      VARIABLE " is %s: only programs that run in this folder find it", set);
        doctor_fix(doctor, "export " VARIABLE "=%s", real);
    } else if (library && strcmp(real, library) == 0) {
        doctor_result(doctor, RESULT_OK, VARIABLE " is %s", set);
    } else {
        report_other_library(doctor, set);
    }
    free(real);
}

/* The library of CUDA, which is the one to export for NVTX and NCCL, too. */
static const char *library_of_cuda(const struct doctor *doctor)
{
    const char *cuda = doctor_facts_variable(VARIABLE);
    return cuda ? cuda : library_to_export(doctor);
}

/* False: the variable is set to something other than our library. `loss`: what is missing without it. */
static bool check_variable(struct doctor *doctor, const char *variable, const char *loss)
{
    const char *set = doctor_facts_variable(variable), *cuda = doctor_facts_variable(VARIABLE);
    char *real = set ? realpath(set, NULL) : NULL, *ours = realpath(library_of_cuda(doctor), NULL);
    bool is_ours = real && ours && strcmp(real, ours) == 0;
    free(real);
    free(ours);
    if (!set && (doctor->program || !cuda)) {
        doctor_result(doctor, RESULT_OK, "%s is not set; cuspan run sets it for the program", variable);
    } else if (!set) {
        doctor_result(doctor, RESULT_WARNING, "%s is not set: %s", variable, loss);
        doctor_fix(doctor, "export %s=%s", variable, cuda);
    } else if (is_ours) {
        doctor_result(doctor, RESULT_OK, "%s is %s", variable, set);
    }
    return !set || is_ours;
}

void check_injection_nvtx(struct doctor *doctor)
{
    const char *set = doctor_facts_variable(NVTX_VARIABLE);
    if (doctor->has_settings && !doctor->settings.capture.nvtx) {
        doctor_result(doctor, RESULT_OK, "capture.nvtx is false: NVTX ranges are not traced");
    } else if (!check_variable(doctor, NVTX_VARIABLE, "NVTX ranges have no spans")) {
        if (access(set, F_OK) != 0)
            doctor_result(doctor, RESULT_PROBLEM, NVTX_VARIABLE " is %s: %s; NVTX ranges have no spans", set,
                          strerror(errno));
        else
            doctor_result(doctor, RESULT_WARNING,
                          NVTX_VARIABLE " points to another library, which receives the NVTX ranges: %s",
                          set);
        doctor_fix(doctor, "export " NVTX_VARIABLE "=%s", library_of_cuda(doctor));
    }
}

/* NCCL needs no path: a name such as "inspector" is a part of a library's name. */
void check_injection_nccl(struct doctor *doctor)
{
    if (check_variable(doctor, NCCL_VARIABLE, "collectives have no datatype, algorithm and protocol"))
        return;
    doctor_result(doctor, RESULT_WARNING,
                  NCCL_VARIABLE " is %s, which is another plugin or disables them: NCCL loads only one, so "
                                "collectives have no datatype, algorithm and protocol",
                  doctor_facts_variable(NCCL_VARIABLE));
    doctor_fix(doctor, "if cuspan is to get them: unset " NCCL_VARIABLE ", then cuspan run PROGRAM");
}

static bool has_other_rights(const char *path)
{
    struct stat about;
    char capabilities[64];
    if (stat(path, &about) != 0)
        return false;
    return (about.st_mode & S_ISUID && about.st_uid != geteuid()) ||
           (about.st_mode & S_ISGID && about.st_gid != getegid()) ||
           getxattr(path, "security.capability", capabilities, sizeof capabilities) > 0;
}

static void check_executable(struct doctor *doctor, const char *path, const struct elf_facts *facts,
                             const char *note)
{
    if (!facts->is_elf) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s%s is neither a Linux program nor a script", path, note);
    } else if (has_other_rights(path)) {
        doctor_result(doctor, RESULT_PROBLEM,
                      "%s%s is set-user-ID, set-group-ID or has capabilities: the environment cannot load an "
                      "agent into it",
                      path, note);
        doctor_fix(
            doctor,
            "run a copy without these rights (cp, getcap), or run it as that user: sudo -u USER cuspan run");
    } else if (!facts->is_64_bit || !facts->is_native) {
        doctor_result(doctor, RESULT_PROBLEM, "%s%s is %s: it cannot load the driver library and the agent",
                      path, note, facts->is_64_bit ? "for another architecture" : "a 32-bit program");
        doctor_fix(doctor, "build it for this machine, as a 64-bit program");
    } else if (!facts->is_dynamic) {
        doctor_result(
            doctor, RESULT_WARNING,
            "%s%s is statically linked: it cannot load the driver; programs that it starts are traced", path,
            note);
        doctor_fix(doctor, "if it uses CUDA itself, link it dynamically (the CUDA runtime may stay static)");
    } else if (facts->names_cuda) {
        doctor_result(doctor, RESULT_OK, "%s%s: 64-bit, dynamic, uses CUDA libraries", path, note);
    } else {
        doctor_result(doctor, RESULT_OK,
                      "%s%s: 64-bit, dynamic; does not reference CUDA itself, only its libraries or child "
                      "processes may",
                      path, note);
    }
}

void check_injection_program(struct doctor *doctor)
{
    struct elf_facts facts;
    char *interpreter = NULL, *note = NULL;
    char *path = launch_find(doctor->program[0]);
    if (!path || !elf_read(path, &facts)) {
        doctor_result(doctor, RESULT_PROBLEM, "cannot run %s: %s", doctor->program[0], strerror(errno));
        doctor_fix(doctor, "specify an executable file (chmod +x), by its path or in PATH");
    } else if (facts.is_script) {
        char *words[ELF_WORDS_MAX], line[sizeof facts.interpreter];
        memcpy(line, facts.interpreter, sizeof line);
        char *const *found = elf_interpreter_words(line, words);
        interpreter = *found ? launch_find(*found) : NULL;
        if (!interpreter || !elf_read(interpreter, &facts)) {
            doctor_result(doctor, RESULT_PROBLEM, "%s is a script for %s, which cannot be run", path,
                          facts.interpreter);
            doctor_fix(doctor, "install the interpreter, or correct the script's first line");
        } else {
            note = xasprintf(" (the interpreter of %s)", path);
            check_executable(doctor, interpreter, &facts, note);
        }
    } else {
        check_executable(doctor, path, &facts, "");
    }
    free(path);
    free(interpreter);
    free(note);
}

void check_injection_preload(struct doctor *doctor)
{
    static const char *const variables[] = {"LD_PRELOAD", "LD_AUDIT"};
    bool has_result = false;
    for (size_t i = 0; i < 2; i++) {
        const char *list = doctor_facts_variable(variables[i]);
        char *words = list ? xstrdup(list) : NULL, *rest = NULL;
        for (char *word = words ? strtok_r(words, ": ", &rest) : NULL; word;
             word = strtok_r(NULL, ": ", &rest)) {
            struct library_facts facts = {0};
            has_result = true;
            if (strchr(word, '/'))
                library_probe(word, &facts);
            if (*facts.error) {
                doctor_result(doctor, RESULT_WARNING, "%s contains %s, which cannot be loaded: %s",
                              variables[i], word, facts.error);
                doctor_fix(doctor, "unset %s, or remove this library from it", variables[i]);
            } else if (strcasestr(word, "inject") || strcasestr(word, "profil") ||
                       strcasestr(word, "nsight")) {
                doctor_result(doctor, RESULT_WARNING,
                              "%s contains %s, probably a tool, which may be subscribed to CUPTI",
                              variables[i], word);
                doctor_fix(doctor, "run without it: env -u %s cuspan run PROGRAM", variables[i]);
            } else {
                doctor_result(doctor, RESULT_OK, "%s contains %s", variables[i], word);
            }
        }
        free(words);
    }
    if (!has_result)
        doctor_result(doctor, RESULT_OK, "LD_PRELOAD and LD_AUDIT are not set");
}

/* The tool that sets a variable of the environment ("NAME=value"), or NULL. */
static const char *tool_of(const char *variable)
{
    static const struct {
        const char *prefix, *tool;
    } tools[] = {{"NSYS_", "Nsight Systems"},
                 {"QUADD_INJECTION_", "Nsight Systems"},
                 {"NV_NSIGHT_INJECTION_", "Nsight Compute"},
                 {"NV_COMPUTE_PROFILER_", "Nsight Compute"},
                 {"NV_SANITIZER_INJECTION_", "Compute Sanitizer"},
                 {"CUDA_DEBUGGER_", "CUDA-GDB"},
                 {"KINETO_USE_DAEMON", "PyTorch's on-demand profiler"},
                 {"VLLM_TORCH_PROFILER_DIR", "PyTorch's profiler in vLLM"}};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strncmp(variable, tools[i].prefix, strlen(tools[i].prefix)) == 0)
            return tools[i].tool;
    return NULL;
}

void check_injection_tools(struct doctor *doctor)
{
    size_t before = doctor->line_count;
    for (char **variable = environ; *variable; variable++) {
        const char *tool = tool_of(*variable);
        int name_length = (int)strcspn(*variable, "=");
        if (!tool)
            continue;
        doctor_result(doctor, RESULT_WARNING,
                      "%.*s of %s is set: while another tool is subscribed to CUPTI, cuspan prints one "
                      "line and does not trace",
                      name_length, *variable, tool);
        doctor_fix(doctor, "run without that tool, or unset %.*s", name_length, *variable);
    }
    char *status = doctor_facts_read(doctor, "/proc/self/status");
    char *tracer = doctor_facts_line(status, "TracerPid");
    if (tracer && atoi(tracer) > 0) {
        doctor_result(doctor, RESULT_WARNING, "a debugger (process %s) traces this shell's programs", tracer);
        doctor_fix(doctor, "run outside the debugger");
    }
    if (doctor->line_count == before)
        doctor_result(doctor, RESULT_OK, "no variable of Nsight, Compute Sanitizer, CUDA-GDB or Kineto");
    free(tracer);
    free(status);
}
