/* CUPTI's functions for other_tool_host, each looked up by its name in its first call, as JAX does in its
 * plugin. */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <stdint.h>

typedef uintptr_t word;
typedef word any_fn(word, word, word, word);

static any_fn *find(const char *name)
{
    void *cupti = dlopen("libcuspan-replay.so", RTLD_LAZY | RTLD_NOLOAD);
    any_fn *found = NULL;
    *(void **)&found = dlsym(cupti, name);
    return found;
}

#define FORWARD(name, params)                                                                                \
    __attribute__((visibility("default"))) word name(word a, word b, word c, word d);                        \
    word name(word a, word b, word c, word d)                                                                \
    {                                                                                                        \
        static any_fn *real;                                                                                 \
        if (!real)                                                                                           \
            real = find(#name);                                                                              \
        return real(a, b, c, d);                                                                             \
    }
CUPTI_CLASSIC_CALLS(FORWARD)
CUPTI_NAMED_SUBSCRIBER_CALLS(FORWARD)
