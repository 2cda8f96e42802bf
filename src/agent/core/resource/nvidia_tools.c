#include "agent/core/resource/detect.h"

#include "base/process/variables.h"
#include "base/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that each tool sets for the programs it starts. */
static const struct {
    const char *variable;
    const char *part; /* part of the value; NULL: any value */
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

/* Other debuggers do not need CUPTI. */
static bool is_debugged_by_cuda_gdb(void)
{
    char text[4096], path[64];
    const char *line =
        files_read_small("/proc/self/status", text, sizeof text) > 0 ? strstr(text, "TracerPid:") : NULL;
    long tracer = line ? strtol(line + strlen("TracerPid:"), NULL, 10) : 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", tracer);
    return tracer > 0 && files_read_small(path, text, sizeof text) > 0 && strncmp(text, "cuda-gdb", 8) == 0;
}

bool nvidia_tools_present(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *value = variables_get(marks[i].variable);
        if (value && *value && (!marks[i].part || strstr(value, marks[i].part))) {
            snprintf(text, size, "%s (%s is set)", marks[i].tool, marks[i].variable);
            return true;
        }
    }
    bool is_debugged = is_debugged_by_cuda_gdb();
    snprintf(text, size, "%s", is_debugged ? "cuda-gdb" : "");
    return is_debugged;
}
