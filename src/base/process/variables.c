#include "base/process/variables.h"

#include "base/process/self_memory.h"

#include <netinet/in.h>
#include <resolv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

#define PAGE_BYTES      4096
#define VARIABLES_BYTES (4u << 20)   /* more than a program can be started with */
#define PASSES          8            /* through variables that change meanwhile */
#define AGAIN_BYTES_MAX (256u << 10) /* with more, a variable that moves may be lost */

/* As memcpy(), of at most a page. False: that memory is gone. setenv() on another thread may have freed it.
 */
static bool read_memory(void *to, const void *from, size_t bytes)
{
    enum self_memory result = self_memory_try((uint64_t)(uintptr_t)from, to, bytes);
    if (result == SELF_MEMORY_UNKNOWN)
        memcpy(to, from, bytes);
    return result != SELF_MEMORY_GONE;
}

struct copy {
    char *text;
    size_t used, max;
};

static bool has_room(struct copy *copy, size_t bytes)
{
    size_t max = copy->max ? copy->max : 2 * PAGE_BYTES;
    while (copy->used + bytes + 1 > max)
        max *= 2;
    char *moved = max == copy->max ? copy->text : max <= VARIABLES_BYTES ? realloc(copy->text, max) : NULL;
    if (!moved)
        return false;
    copy->text = moved;
    copy->max = max;
    return true;
}

static bool has_name(const struct copy *copy, size_t until, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;
    for (size_t at = 0; at < until; at += strlen(copy->text + at) + 1)
        if (strncmp(copy->text + at, variable, length) == 0)
            return true;
    return false;
}

/* A variable without an equals sign is none. `known`: the end of those that are not added again. */
static void add_variable(struct copy *copy, const char *variable, size_t known)
{
    size_t start = copy->used, piece;
    const char *end = NULL;
    do {
        piece = PAGE_BYTES - (uintptr_t)variable % PAGE_BYTES;
        if (!has_room(copy, piece) || !read_memory(copy->text + copy->used, variable, piece)) {
            copy->used = start;
            return;
        }
        end = memchr(copy->text + copy->used, '\0', piece);
        copy->used += end ? (size_t)(end - (copy->text + copy->used)) + 1 : piece;
        variable += piece;
    } while (!end);
    char *added = copy->text + start;
    bool is_one = *added != '=' && strchr(added, '=') && !has_name(copy, known, added);
    copy->used = is_one ? (size_t)(trim(added, copy->used - start) - copy->text) : start;
}

void variables_take(void)
{
    struct copy copy = {NULL, 0, 0};
    char *nothing = NULL, *variable = NULL;
    if (atomic_load(&taken) || !has_room(&copy, 0))
        return;
    /* unsetenv() on another thread moves those behind it, past this loop. */
    for (size_t pass = 0, known = 0; pass < PASSES; pass++) {
        if (pass && (copy.used == known || copy.used > AGAIN_BYTES_MAX))
            break;
        known = copy.used;
        for (char **at = environ; at && read_memory(&variable, at, sizeof variable) && variable; at++)
            add_variable(&copy, variable, known);
    }
    copy.text[copy.used] = '\0';
    if (atomic_compare_exchange_strong(&taken, &nothing, copy.text))
        make_list(copy.text);
    else
        free(copy.text);
    read_resolver_variables();
}

#define SET "CUSPAN_SET="

/* `before`: settings that come first, because later ones override them; NULL: none. */
static bool add_line(struct copy *copy, const char *line, size_t length, const char *before)
{
    size_t name = sizeof SET - 1;
    if (length <= name || strncmp(line, SET, name) != 0)
        before = NULL;
    if (!has_room(copy, length + (before ? strlen(before) + 1 : 0) + 1))
        return false;
    if (before && *before) {
        copy->used += (size_t)sprintf(copy->text + copy->used, SET "%s;", before);
        line += name;
        length -= name;
    }
    memcpy(copy->text + copy->used, line, length);
    copy->used += length;
    copy->text[copy->used++] = '\0';
    return true;
}

/* The former copy stays, because other threads may have its variables. */
bool variables_lay_over(const char *lines)
{
    struct copy copy = {NULL, 0, 0};
    bool is_whole = has_room(&copy, 0);
    const char *before = variables_get("CUSPAN_SET");
    for (const char *line = lines; is_whole && *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line != '\n')
            is_whole = add_line(&copy, line, strcspn(line, "\n"), before);
    size_t known = copy.used;
    for (const char *at = atomic_load(&taken); is_whole && at && *at; at += strlen(at) + 1)
        if (!has_name(&copy, known, at))
            is_whole = add_line(&copy, at, strlen(at), NULL);
    if (!is_whole) {
        free(copy.text);
        return false;
    }
    copy.text[copy.used] = '\0';
    atomic_store(&taken, copy.text);
    make_list(copy.text);
    return true;
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
