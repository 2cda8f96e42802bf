#include "cli/run/injection.h"

#include "cli/doctor/checks.h"
#include "cli/doctor/elf.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/checks/check_library.h"
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
#define EXPORT_MODULE "libcuspan-export.so"

/* --- the library --- */

/* A folder or a file on the way that others may not enter or read, or NULL; `path` is cut there. */
static const char *closed_to_others(char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && !(about.st_mode & S_IROTH))
        return path;
    for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
        *slash = '\0';
        if (stat(path, &about) == 0 && !(about.st_mode & S_IXOTH))
            return path;
    }
    return NULL;
}

static void say_unloadable(struct doctor *doctor, const char *path)
{
    struct elf_facts facts;
    doctor_say(doctor, FOUND_PROBLEM, "%s", doctor->api_error);
    if (!elf_look(path, &facts))
        doctor_mend(doctor, "make it readable to user %d (%s)", (int)geteuid(), strerror(errno));
    else if (!facts.is_elf)
        doctor_mend(doctor, "install cuspan again: %s is no library", path);
    else if (!facts.is_64_bit || !facts.is_of_this_machine)
        doctor_mend(doctor, "install the cuspan of this machine's architecture: the library is of another");
    else
        doctor_mend(doctor, "install cuspan again, or name the right library by --library or CUSPAN_LIBRARY");
}

void check_injection_library(struct doctor *doctor)
{
    const char *path = doctor->injection.library;
    if (!path) {
        doctor_say(doctor, FOUND_PROBLEM, "%s", doctor->api_error);
        doctor_mend(doctor, "install cuspan again, or name the library by --library or CUSPAN_LIBRARY");
        return;
    }
    if (!doctor->api) {
        say_unloadable(doctor, path);
        return;
    }
    char *copy = xstrdup(path);
    const char *closed = closed_to_others(copy);
    if (closed) {
        doctor_say(doctor, FOUND_WARNING,
                   "%s loads here, but %s is closed to other users: their programs stay "
                   "without an agent",
                   path, closed);
        doctor_mend(doctor, "chmod o+rX %s", closed);
    } else {
        doctor_say(doctor, FOUND_OK, "%s, version " CUSPAN_VERSION, path);
    }
    free(copy);
}

void check_injection_module(struct doctor *doctor)
{
    const char *library = doctor->injection.library;
    const char *slash = library ? strrchr(library, '/') : NULL;
    struct library_facts facts;
    if (!slash) {
        doctor_say(doctor, FOUND_NOT_HERE, "no library, so nothing beside it");
        return;
    }
    char *path = xasprintf("%.*s/" EXPORT_MODULE, (int)(slash - library), library);
    library_look(path, &facts);
    if (facts.is_loaded) {
        doctor_say(doctor, FOUND_OK, "%s", path);
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "%s", facts.error);
        doctor_mend(doctor,
                    "install cuspan again: " EXPORT_MODULE " belongs beside libcuspan.so, and spans for a "
                    "collector are lost without it");
    }
    free(path);
}

/* --- the variables --- */

static void say_unset(struct doctor *doctor)
{
    const char *library = doctor->injection.library ? doctor->injection.library : "PATH/TO/libcuspan.so";
    if (doctor->program) {
        doctor_say(doctor, FOUND_OK, VARIABLE " is not set; cuspan run sets it for the program");
        return;
    }
    doctor_say(doctor, FOUND_WARNING, VARIABLE " is not set here: what is started from here is not traced");
    doctor_mend(doctor, "cuspan run PROGRAM, or export " VARIABLE "=%s", library);
}

static void say_other(struct doctor *doctor, const char *set)
{
    struct library_facts facts;
    const char *library = doctor->injection.library ? doctor->injection.library : "PATH/TO/libcuspan.so";
    library_look(set, &facts);
    if (facts.is_agent && strcmp(facts.version, CUSPAN_VERSION) == 0) {
        doctor_say(doctor, FOUND_OK, VARIABLE " is another copy of this version: %s", set);
    } else if (facts.is_agent || strstr(set, "libcuspan.so")) {
        doctor_say(doctor, FOUND_WARNING, VARIABLE " is a cuspan of another version (%s): %s",
                   *facts.version ? facts.version : "unknown", *facts.error ? facts.error : set);
        doctor_mend(doctor, "export " VARIABLE "=%s", library);
    } else {
        doctor_say(doctor, FOUND_PROBLEM, VARIABLE " is another tool's: %s; CUDA loads one such library only",
                   set);
        doctor_mend(doctor, "unset " VARIABLE ", and run without that tool; then cuspan run PROGRAM");
    }
}

void check_injection_variable(struct doctor *doctor)
{
    const char *set = doctor_facts_variable(VARIABLE), *library = doctor->injection.library;
    char *real = set ? realpath(set, NULL) : NULL;
    if (!set) {
        say_unset(doctor);
    } else if (!real) {
        doctor_say(doctor, FOUND_PROBLEM, VARIABLE " is %s: %s; the driver loads nothing, and says nothing",
                   set, strerror(errno));
        doctor_mend(doctor, "export " VARIABLE "=%s", library ? library : "PATH/TO/libcuspan.so");
    } else if (*set != '/') {
        doctor_say(doctor, FOUND_WARNING, VARIABLE " is %s: found only by programs that run in this folder",
                   set);
        doctor_mend(doctor, "export " VARIABLE "=%s", real);
    } else if (library && strcmp(real, library) == 0) {
        doctor_say(doctor, FOUND_OK, VARIABLE " is %s", set);
    } else {
        say_other(doctor, set);
    }
    free(real);
}

void check_injection_nvtx(struct doctor *doctor)
{
    const char *set = doctor_facts_variable(NVTX_VARIABLE), *cuda = doctor_facts_variable(VARIABLE);
    const char *library = cuda ? cuda : doctor->injection.library;
    char *real = set ? realpath(set, NULL) : NULL;
    int error = errno;
    char *ours = library ? realpath(library, NULL) : NULL;
    if (doctor->has_settings && !doctor->settings.capture.nvtx) {
        doctor_say(doctor, FOUND_OK, "ranges are off, by capture.nvtx");
    } else if (!set && (doctor->program || !cuda)) {
        doctor_say(doctor, FOUND_OK, NVTX_VARIABLE " is not set; cuspan run sets it for the program");
    } else if (!set) {
        doctor_say(doctor, FOUND_WARNING, NVTX_VARIABLE " is not set: NVTX ranges have no spans");
        doctor_mend(doctor, "export " NVTX_VARIABLE "=%s", cuda);
    } else if (!real) {
        doctor_say(doctor, FOUND_PROBLEM, NVTX_VARIABLE " is %s: %s; NVTX ranges have no spans", set,
                   strerror(error));
        doctor_mend(doctor, "export " NVTX_VARIABLE "=%s", library ? library : "PATH/TO/libcuspan.so");
    } else if (ours && strcmp(real, ours) == 0) {
        doctor_say(doctor, FOUND_OK, NVTX_VARIABLE " is %s", set);
    } else {
        doctor_say(doctor, FOUND_WARNING, NVTX_VARIABLE " is another library, which gets the NVTX ranges: %s",
                   set);
        doctor_mend(doctor, "export " NVTX_VARIABLE "=%s", library ? library : "PATH/TO/libcuspan.so");
    }
    free(real);
    free(ours);
}

/* --- the program --- */

/* As execvp finds it; allocated, or NULL with errno. */
static char *find_program(const char *name)
{
    const char *path = doctor_facts_variable("PATH");
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;
         at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':')) {
        char *candidate = xasprintf("%.*s/%s", (int)strcspn(at, ":"), at, name);
        struct stat about;
        if (access(candidate, X_OK) == 0 && stat(candidate, &about) == 0 && S_ISREG(about.st_mode))
            return candidate;
        free(candidate);
    }
    errno = ENOENT;
    return NULL;
}

/* The program that a script's first line names: the word behind "env" where that stands there. Allocated. */
static char *interpreter_of(const char *line)
{
    char *words = xstrdup(line), *rest = NULL, *found = NULL;
    char *first = strtok_r(words, " \t", &rest);
    char *second = first ? strtok_r(NULL, " \t", &rest) : NULL;
    size_t len = first ? strlen(first) : 0;
    bool is_env = len >= 4 && strcmp(first + len - 4, "/env") == 0;
    while (is_env && second && *second == '-')
        second = strtok_r(NULL, " \t", &rest);
    if (first)
        found = find_program(is_env && second ? second : first);
    free(words);
    return found;
}

static bool changes_user(const char *path)
{
    struct stat about;
    char capabilities[64];
    if (stat(path, &about) != 0)
        return false;
    return (about.st_mode & S_ISUID && about.st_uid != geteuid()) ||
           (about.st_mode & S_ISGID && about.st_gid != getegid()) ||
           getxattr(path, "security.capability", capabilities, sizeof capabilities) > 0;
}

static void judge_program(struct doctor *doctor, const char *path, const struct elf_facts *facts,
                          const char *how)
{
    if (!facts->is_elf) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s%s: neither a program for Linux nor a script", path, how);
    } else if (changes_user(path)) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "%s%s runs with other rights than the user's (set-user-ID, set-group-ID or "
                   "capabilities): it takes nothing from the environment, and no agent",
                   path, how);
        doctor_mend(doctor,
                    "run a copy without those rights (cp, getcap), or as that user: sudo -u USER cuspan run");
    } else if (!facts->is_64_bit || !facts->is_of_this_machine) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "%s%s is %s: the driver's library and the agent can't be loaded into it", path, how,
                   facts->is_64_bit ? "of another architecture" : "a 32-bit program");
        doctor_mend(doctor, "build it for this machine, in 64 bits");
    } else if (!facts->is_dynamic) {
        doctor_say(doctor, FOUND_WARNING,
                   "%s%s is linked statically: no driver can be loaded into it; programs that "
                   "it starts are traced",
                   path, how);
        doctor_mend(doctor,
                    "if it should use CUDA itself, link it dynamically (CUDA's runtime may stay static)");
    } else if (facts->names_cuda) {
        doctor_say(doctor, FOUND_OK, "%s%s: 64 bits, dynamic, names CUDA's libraries", path, how);
    } else {
        doctor_say(doctor, FOUND_OK,
                   "%s%s: 64 bits, dynamic; it names no library of CUDA's itself, so its libraries "
                   "or its children must",
                   path, how);
    }
}

void check_injection_program(struct doctor *doctor)
{
    struct elf_facts facts;
    char *interpreter = NULL, *how = NULL;
    if (!doctor->program) {
        doctor_say(doctor, FOUND_NOT_HERE, "no program given (cuspan doctor -- PROGRAM)");
        return;
    }
    char *path = find_program(doctor->program[0]);
    if (!path || !elf_look(path, &facts)) {
        doctor_say(doctor, FOUND_PROBLEM, "%s can't be run: %s", doctor->program[0], strerror(errno));
        doctor_mend(doctor, "name a program that can be executed (chmod +x), by its path or in PATH");
    } else if (facts.is_script) {
        interpreter = interpreter_of(facts.interpreter);
        if (!interpreter || !elf_look(interpreter, &facts)) {
            doctor_say(doctor, FOUND_PROBLEM, "%s is a script for %s, which can't be run", path,
                       facts.interpreter);
            doctor_mend(doctor, "install that interpreter, or correct the script's first line");
        } else {
            how = xasprintf(" (the interpreter of %s)", path);
            judge_program(doctor, interpreter, &facts, how);
        }
    } else {
        judge_program(doctor, path, &facts, "");
    }
    free(path);
    free(interpreter);
    free(how);
}

/* --- others in the process --- */

void check_injection_preload(struct doctor *doctor)
{
    static const char *const variables[] = {"LD_PRELOAD", "LD_AUDIT"};
    bool is_said = false;
    for (size_t i = 0; i < 2; i++) {
        const char *list = doctor_facts_variable(variables[i]);
        char *words = list ? xstrdup(list) : NULL, *rest = NULL;
        for (char *word = words ? strtok_r(words, ": ", &rest) : NULL; word;
             word = strtok_r(NULL, ": ", &rest)) {
            struct library_facts facts = {0};
            is_said = true;
            if (strchr(word, '/'))
                library_look(word, &facts);
            if (*facts.error) {
                doctor_say(doctor, FOUND_WARNING, "%s has %s, which can't be loaded: %s", variables[i], word,
                           facts.error);
                doctor_mend(doctor, "unset %s, or take it out", variables[i]);
            } else if (strcasestr(word, "inject") || strcasestr(word, "profil") ||
                       strcasestr(word, "nsight")) {
                doctor_say(doctor, FOUND_WARNING, "%s has %s, a tool by its name, which may hold CUPTI",
                           variables[i], word);
                doctor_mend(doctor, "run once without it: env -u %s cuspan run PROGRAM", variables[i]);
            } else {
                doctor_say(doctor, FOUND_OK, "%s has %s", variables[i], word);
            }
        }
        free(words);
    }
    if (!is_said)
        doctor_say(doctor, FOUND_OK, "LD_PRELOAD and LD_AUDIT are not set");
}

void check_injection_tools(struct doctor *doctor)
{
    static const struct {
        const char *begin, *tool;
    } tools[] = {{"NSYS_", "Nsight Systems"},
                 {"QUADD_INJECTION_", "Nsight Systems"},
                 {"NV_NSIGHT_INJECTION_", "Nsight Compute"},
                 {"NV_COMPUTE_PROFILER_", "Nsight Compute"},
                 {"NV_SANITIZER_INJECTION_", "Compute Sanitizer"},
                 {"CUDA_DEBUGGER_", "CUDA-GDB"},
                 {"KINETO_USE_DAEMON", "PyTorch's profiler, on demand"},
                 {"VLLM_TORCH_PROFILER_DIR", "vLLM's use of PyTorch's profiler"}};
    bool is_said = false;
    for (char **variable = environ; *variable; variable++) {
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
            if (strncmp(*variable, tools[i].begin, strlen(tools[i].begin)) != 0)
                continue;
            is_said = true;
            doctor_say(doctor, FOUND_WARNING,
                       "%.*s is set, which is %s's: it may hold CUPTI, and then cuspan gives "
                       "one line and no data",
                       (int)strcspn(*variable, "="), *variable, tools[i].tool);
            doctor_mend(doctor, "run outside of that tool, or unset %.*s", (int)strcspn(*variable, "="),
                        *variable);
        }
    }
    char *status = doctor_facts_read(doctor, "/proc/self/status");
    char *tracer = doctor_facts_line(status, "TracerPid");
    if (tracer && atoi(tracer) > 0) {
        is_said = true;
        doctor_say(doctor, FOUND_WARNING, "a debugger (process %s) follows this shell's programs", tracer);
        doctor_mend(doctor, "run outside of the debugger");
    }
    if (!is_said)
        doctor_say(doctor, FOUND_OK, "no variable of Nsight, Compute Sanitizer, CUDA-GDB or Kineto");
    free(tracer);
    free(status);
}
