#include "base/process/variables.h"

#include <netinet/in.h>
#include <resolv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static char *_Atomic taken; /* "NAME=VALUE" strings; an empty one ends them */
static char **_Atomic list; /* of these; NULL ends it */

/* glibc reads LOCALDOMAIN and RES_OPTIONS when it reads /etc/resolv.conf, once for all threads. It should do
 * so now. */
static void read_resolver_variables(void)
{
    struct __res_state state;
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) == 0)
        res_nclose(&state);
}

/* Removes line breaks at the end, which Kubernetes' secrets have; returns what follows the string. Settings
 * report theirs. */
static char *trim(char *variable, size_t length)
{
    bool is_setting = strncmp(variable, "OTEL_", 5) == 0 || strncmp(variable, "CUSPAN_", 7) == 0;
    while (!is_setting && length > 2 && strchr("\r\n", variable[length - 2]))
        variable[--length - 1] = '\0';
    return variable + length;
}

static void make_list(char *at)
{
    size_t count = 0;
    for (const char *next = at; *next; next += strlen(next) + 1)
        count++;
    char **made = calloc(count + 1, sizeof *made);
    for (size_t i = 0; made && i < count; i++, at += strlen(at) + 1)
        made[i] = at;
    atomic_store(&list, made);
}

void variables_take(void)
{
    size_t bytes = 1;
    char *nothing = NULL;
    if (atomic_load(&taken))
        return;
    for (char **variable = environ; variable && *variable; variable++)
        bytes += strlen(*variable) + 1;
    char *copy = malloc(bytes), *to = copy;
    if (!copy)
        return;
    for (char **variable = environ; variable && *variable; variable++) {
        size_t length = strlen(*variable) + 1;
        if (length > 1 && length < bytes - (size_t)(to - copy)) /* it may have changed meanwhile */
            to = trim((char *)memcpy(to, *variable, length), length);
    }
    *to = '\0';
    if (atomic_compare_exchange_strong(&taken, &nothing, copy))
        make_list(copy);
    else
        free(copy);
    read_resolver_variables();
}

const char *variables_get(const char *name)
{
    size_t length = strlen(name);
    if (getauxval(AT_SECURE))
        return NULL;
    const char *at = atomic_load(&taken);
    if (!at)
        return getenv(name);
    for (; *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

char *const *variables_all(void)
{
    return getauxval(AT_SECURE) ? NULL : atomic_load(&list);
}
