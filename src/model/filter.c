#include "model/settings.h"

#include <fnmatch.h>
#include <string.h>

static bool matches(const struct pattern_list *list, const char *name)
{
    for (size_t i = 0; name && i < list->count; i++)
        if (fnmatch(list->patterns[i], name, 0) == 0)
            return true;
    return false;
}

bool filter_passes(const struct filter *filter, const char *name, const char *alias)
{
    if (matches(&filter->deny, name) || matches(&filter->deny, alias))
        return false;
    return filter->allow.count == 0 || matches(&filter->allow, name) || matches(&filter->allow, alias);
}
