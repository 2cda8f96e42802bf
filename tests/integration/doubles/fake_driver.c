/* Replaces the driver's and the runtime's libraries: logs calls of their functions to the file HOST_CUDA. The
 * agent may query the driver's version and nothing else, because most other calls set or clear the error that
 * cudaGetLastError() returns to the host thread. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *name)
{
    const char *path = getenv("HOST_CUDA");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return;
    if (write(file, name, strlen(name)) < 0 || write(file, "\n", 1) < 0)
        abort();
    close(file);
}

#define FAKE(name)                                                                                           \
    int name(void);                                                                                          \
    int name(void)                                                                                           \
    {                                                                                                        \
        note(#name);                                                                                         \
        return 0;                                                                                            \
    }

FAKE(cuInit)
FAKE(cuCtxGetCurrent)
FAKE(cuCtxSynchronize)
FAKE(cuDeviceGet)
FAKE(cuDeviceGetAttribute)
FAKE(cuGetErrorName)
FAKE(cuGetErrorString)
FAKE(cuGetProcAddress)
FAKE(cuMemGetInfo)
FAKE(cudaDeviceSynchronize)
FAKE(cudaGetDevice)
FAKE(cudaGetLastError)
FAKE(cudaPeekAtLastError)
FAKE(cudaRuntimeGetVersion)

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    note("cuDriverGetVersion");
    *version = 13010;
    return 0;
}
