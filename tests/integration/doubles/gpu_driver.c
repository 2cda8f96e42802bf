/* A fake driver for `cuspan counters`. HOST_GPUS: number of GPUs (1). */
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);

int cuInit(unsigned flags)
{
    return getenv("HOST_INIT") ? atoi(getenv("HOST_INIT")) : (int)flags;
}

int cuDriverGetVersion(int *version)
{
    *version = 13010;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    const char *gpus = getenv("HOST_GPUS");
    *count = gpus ? atoi(gpus) : 1;
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "Made-up %d", device);
    return 0;
}

/* As in the synthetic recordings. */
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = (void *)0x55550000;
    return device < 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < 0;
}

int cuCtxSetCurrent(void *context)
{
    return context == NULL;
}
