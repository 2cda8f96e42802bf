#include "model/filter.h"

#include <fnmatch.h>
#include <stdlib.h>

void pattern_list_deinit(struct pattern_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->patterns[i]);
    free(list->patterns);
}

void filter_deinit(struct filter *filter)
{
    pattern_list_deinit(&filter->allow);
    pattern_list_deinit(&filter->deny);
}

bool pattern_list_matches(const struct pattern_list *list, const char *name)
{
    for (size_t i = 0; name && i < list->count; i++)
        if (fnmatch(list->patterns[i], name, 0) == 0)
            return true;
    return false;
}

bool filter_passes(const struct filter *filter, const char *name, const char *alias)
{
    if (pattern_list_matches(&filter->deny, name) || pattern_list_matches(&filter->deny, alias))
        return false;
    return filter->allow.count == 0 || pattern_list_matches(&filter->allow, name) ||
           pattern_list_matches(&filter->allow, alias);
}
