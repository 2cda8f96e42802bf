#include "agent/tools.h"

#include "agent/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What each tool leaves in the environment of what it starts. */
static const struct {
    const char *variable;
    const char *part; /* of its value; NULL: any */
    const char *tool;
} marks[] = {
    {"NSYS_PROFILING_SESSION_ID", NULL, "Nsight Systems"},
    {"QUADD_INJECTION_PROXY", NULL, "Nsight Systems"},
    {"LD_PRELOAD", "libToolsInjectionProxy", "Nsight Systems"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", NULL, "Nsight Compute"},
    {"NV_NSIGHT_INJECTION_PORT_BASE", NULL, "Nsight Compute"},
    {"LD_PRELOAD", "nsight-compute", "Nsight Compute"},
    {"NV_SANITIZER_INJECTION_PORT_BASE", NULL, "Compute Sanitizer"},
    {"LD_PRELOAD", "compute-sanitizer", "Compute Sanitizer"},
    {"CUDA_DEBUGGER_SOFTWARE_PREEMPTION", NULL, "cuda-gdb"},
};

static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    return bytes > 0;
}

/* Another debugger needs nothing of CUPTI. */
static bool is_debugged_by_cuda_gdb(void)
{
    char text[4096], path[64];
    const char *line = read_text("/proc/self/status", text, sizeof text) ? strstr(text, "TracerPid:") : NULL;
    long tracer = line ? strtol(line + strlen("TracerPid:"), NULL, 10) : 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", tracer);
    return tracer > 0 && read_text(path, text, sizeof text) && strncmp(text, "cuda-gdb", 8) == 0;
}

bool tools_are_here(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *value = own_variable(marks[i].variable);
        if (value && *value && (!marks[i].part || strstr(value, marks[i].part))) {
            snprintf(text, size, "%s (%s is set)", marks[i].tool, marks[i].variable);
            return true;
        }
    }
    bool is_debugged = is_debugged_by_cuda_gdb();
    snprintf(text, size, "%s", is_debugged ? "cuda-gdb" : "");
    return is_debugged;
}
