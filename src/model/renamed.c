#include "model/renamed.h"

#include "model/semconv.h"

#include <stddef.h>
#include <string.h>

const char *renamed_attribute(const char *name)
{
#define X(old, now) {old, now},
    static const char *const names[][2] = {SEMCONV_RENAMED(X)};
#undef X
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return name;
}
