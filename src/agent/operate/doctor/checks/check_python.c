/* Whether Python programs that do not import cuspan load what follows their training steps and serving
 * engines, and which engines their Python has. */
#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"

#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "agent/operate/doctor/elf.h"
#include "cli/util/xalloc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_BYTES   8192
#define ANSWER_WAIT_MS 20000

static bool is_python(const char *word)
{
    const char *slash = strrchr(word, '/');
    return strncmp(slash ? slash + 1 : word, "python", strlen("python")) == 0;
}

/* The option among the interpreter's that keeps it from loading the archive: 'S' (no sitecustomize), 'I' or
 * 'E' (no PYTHONPATH); 0: none. `words` ends with NULL and begins after the interpreter.
 */
static char excluding_option(char *const *words)
{
    char found = 0;
    for (; *words && (*words)[0] == '-' && (*words)[1] && (*words)[1] != '-'; words++)
        for (const char *letter = *words + 1; *letter; letter++) {
            if (*letter == 'S' || (!found && strchr("IE", *letter)))
                found = *letter;
            if (*letter == 'c' || *letter == 'm')
                return found; /* the rest is the program's */
            if (*letter == 'W' || *letter == 'X') {
                words += !letter[1] && words[1]; /* its value may be the next word */
                break;
            }
        }
    return found;
}

/* The program's Python; allocated; NULL: the program is not Python. */
static char *find_python(const struct doctor *doctor, char *excluding)
{
    struct elf_facts facts;
    char *words[ELF_WORDS_MAX], *python = NULL;
    if (is_python(doctor->program[0])) {
        *excluding = excluding_option(doctor->program + 1);
        return xstrdup(doctor->program[0]);
    }
    char *path = launch_find(doctor->program[0]);
    if (path && elf_read(path, &facts) && facts.is_script) {
        char *const *found = elf_interpreter_words(facts.interpreter, words);
        if (*found && is_python(*found)) {
            *excluding = excluding_option(found + 1);
            python = xstrdup(*found);
        }
    }
    free(path);
    return python;
}

static void check_program(struct doctor *doctor, const char *archive)
{
    char excluding = 0, *python = find_python(doctor, &excluding);
    if (!python) {
        doctor_result(doctor, RESULT_OK,
                      "%s is not Python itself; cuspan run sets PYTHONPATH for Python "
                      "programs that it starts",
                      doctor->program[0]);
    } else if (excluding == 'S') {
        doctor_result(doctor, RESULT_WARNING,
                      "Python runs with -S: it loads nothing of cuspan, so training "
                      "steps of PyTorch are not found");
        doctor_fix(doctor, "run it without -S, or call cuspan.step() in the program");
    } else if (excluding) {
        doctor_result(doctor, RESULT_WARNING,
                      "Python runs with -%c and ignores PYTHONPATH: training steps of PyTorch are found only "
                      "if the program calls cuspan.is_on()",
                      excluding);
        doctor_fix(doctor, "run it without -%c, or call cuspan.is_on() in the program", excluding);
    } else {
        doctor_result(doctor, RESULT_OK,
                      "cuspan run adds %s to PYTHONPATH: training steps of PyTorch are found", archive);
    }
    free(python);
}

/* The first folder of PYTHONPATH before the archive that has a sitecustomize, which Python loads instead of
 * the archive's; allocated, or NULL. */
static char *hiding_folder(const char *list, const char *archive)
{
    for (const char *at = list; *at; at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':')) {
        char *folder = xasprintf("%.*s", (int)strcspn(at, ":"), at);
        char *file = xasprintf("%s/sitecustomize.py", *folder ? folder : ".");
        bool is_end = strcmp(folder, archive) == 0, is_hiding = !is_end && access(file, R_OK) == 0;
        free(file);
        if (is_hiding)
            return folder;
        free(folder);
        if (is_end)
            return NULL;
    }
    return NULL;
}

static void check_variable(struct doctor *doctor, const char *archive)
{
    const char *list = doctor_facts_variable(PYTHON_VARIABLE),
               *cuda = doctor_facts_variable("CUDA_INJECTION64_PATH");
    bool has_archive = injection_list_has(list, archive);
    char *hiding = has_archive ? hiding_folder(list, archive) : NULL;
    if (hiding) {
        doctor_result(doctor, RESULT_WARNING,
                      "PYTHONPATH has %s before cuspan's archive: Python loads its sitecustomize instead",
                      hiding);
        doctor_fix(doctor, "put %s first in PYTHONPATH", archive);
    } else if (has_archive) {
        doctor_result(doctor, RESULT_OK, "PYTHONPATH contains %s", archive);
    } else if (!cuda) {
        doctor_result(doctor, RESULT_OK, "PYTHONPATH does not contain %s; cuspan run adds it", archive);
    } else {
        doctor_result(
            doctor, RESULT_WARNING,
            "PYTHONPATH does not contain %s: training steps of PyTorch are found only if the program "
            "calls cuspan.is_on()",
            archive);
        doctor_fix(doctor, "export PYTHONPATH=%s%s%s", archive, list ? ":" : "", list ? list : "");
    }
    free(hiding);
}

void check_injection_python(struct doctor *doctor)
{
    char *archive = injection_path_beside(&doctor->injection, PYTHON_ARCHIVE);
    if (access(archive, R_OK) != 0) {
        doctor_result(doctor, RESULT_WARNING,
                      "%s cannot be read: training steps of PyTorch are found only if the program calls "
                      "cuspan.is_on()",
                      archive);
        doctor_fix(doctor, "reinstall cuspan, or call cuspan.is_on() in the program");
    } else if (doctor->program) {
        check_program(doctor, archive);
    } else {
        check_variable(doctor, archive);
    }
    free(archive);
}

/* ---- Serving engines ---- */

struct engines_query {
    const char *python, *archive;
};

/* In a child: the lines of _hook_search.py. */
static void ask_python(const void *query, void *answer)
{
    static char code[] =
        "import sys; sys.path.insert(0, sys.argv[1]); from cuspan._hook_search import main; main()";
    const struct engines_query *asked = query;
    char *text = answer;
    size_t used = 0;
    ssize_t got = 0;
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        execlp(asked->python, asked->python, "-c", code, asked->archive, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while (used < ANSWER_BYTES - 1 && (got = read(ends[0], text + used, ANSWER_BYTES - 1 - used)) > 0)
        used += (size_t)got;
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        *text = '\0';
}

/* "SEVERITY\tFOUND\tFIX" */
static void report_line(struct doctor *doctor, char *line)
{
    char *found = strchr(line, '\t'), *fix = found ? strchr(found + 1, '\t') : NULL;
    if (!fix)
        return;
    *found++ = *fix++ = '\0';
    doctor_result(doctor, strcmp(line, "ok") == 0 ? RESULT_OK : RESULT_WARNING, "%s", found);
    if (*fix)
        doctor_fix(doctor, "%s", fix);
}

void check_injection_engines(struct doctor *doctor)
{
    char excluding, failure[64], *answer = xcalloc(1, ANSWER_BYTES), *rest = NULL;
    char *archive = injection_path_beside(&doctor->injection, PYTHON_ARCHIVE);
    char *python = doctor->program ? find_python(doctor, &excluding) : NULL;
    python = python ? python : xstrdup("python3");
    char *path = launch_find(python);
    struct engines_query query = {path, archive};
    if (!path) {
        doctor_result(doctor, RESULT_SKIPPED, "%s was not found", python);
    } else if (access(archive, R_OK) != 0) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s cannot be read", archive);
    } else if (!probe_child_run(ask_python, &query, answer, ANSWER_BYTES, ANSWER_WAIT_MS, failure) ||
               !*answer) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s did not say which engines it has%s%s", path,
                      *failure ? ": " : " (needs Python 3.9 or later)", failure);
    }
    for (char *line = strtok_r(answer, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        report_line(doctor, line);
    free(path);
    free(python);
    free(archive);
    free(answer);
}
