/* Lists of patterns that names pass or not, as settings have them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* NUL-terminated patterns with '*' and '?' (fnmatch), or plain names. */
struct pattern_list {
    size_t count;
    char **patterns;
};

/* A name passes if `deny` does not match it, and `allow` matches it or is empty. */
struct filter {
    struct pattern_list allow;
    struct pattern_list deny;
};

void pattern_list_deinit(struct pattern_list *list);
/* Whether one of the patterns matches `name`, which may be NULL. */
bool pattern_list_matches(const struct pattern_list *list, const char *name);
void filter_deinit(struct filter *filter);
/* Whether `name` or `alias` (a group or a longer name; may be NULL) passes the filter. */
bool filter_passes(const struct filter *filter, const char *name, const char *alias);
