/* Shared by the hosts: symbols of libraries, clocks and pauses. */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the host if there is none. */
static inline void *find_in(void *library, const char *symbol)
{
    void *found = library ? dlsym(library, symbol) : NULL;
    if (!found) {
        fprintf(stderr, "host: %s\n", dlerror());
        exit(1);
    }
    return found;
}

/* Loads the library. */
static inline void *find(const char *path, const char *symbol)
{
    return find_in(dlopen(path, RTLD_NOW | RTLD_LOCAL), symbol);
}

static inline double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Not shortened by signals. */
static inline void pause_ms(unsigned ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* A line that is written even if the host then ends in an odd way. */
static inline void say(const char *text)
{
    printf("host: %s\n", text);
    fflush(stdout);
}
