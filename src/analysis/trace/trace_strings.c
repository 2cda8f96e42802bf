#include "analysis/trace/trace_strings.h"

#include "base/hash.h"
#include "cli/util/exit_code.h"
#include "cli/util/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RESERVED_MAX (UINT64_C(4) << 30) /* a number has 32 bits */
#define RESERVED_MIN (UINT64_C(64) << 20)
#define STEP_BYTES   (UINT64_C(1) << 20)

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "cuspan: %s\n", why);
    exit(EXIT_FAILED);
}

static void start_part(struct trace_strings_part *part, uint64_t begin, uint64_t limit)
{
    part->begin = part->end = part->usable = begin;
    part->limit = limit;
}

struct trace_strings *trace_strings_create(void)
{
    struct trace_strings *strings = xcalloc(1, sizeof *strings);
    void *range = MAP_FAILED;
    /* Less under `ulimit -v`. */
    for (strings->reserved = RESERVED_MAX; range == MAP_FAILED; strings->reserved /= 2) {
        if (strings->reserved < RESERVED_MIN)
            give_up("cannot reserve 64 MiB of addresses for names and values; raise ulimit -v");
        range = mmap(NULL, strings->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range != MAP_FAILED)
            break;
    }
    strings->bytes = range;
    start_part(&strings->kept, 0, strings->reserved / 4 * 3);
    start_part(&strings->local, strings->reserved / 4 * 3, strings->reserved - 1);
    trace_strings_add(strings, "", 0);
    return strings;
}

void trace_strings_destroy(struct trace_strings *strings)
{
    if (!strings)
        return;
    munmap(strings->bytes, strings->reserved);
    int_map_deinit(&strings->kept.map);
    int_map_deinit(&strings->local.map);
    free(strings);
}

/* Eight bytes at a time: names of kernels have hundreds. */
static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = len * HASH_SPREAD, word = 0;
    for (; len >= sizeof word; len -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 31;
    }
    word = 0;
    memcpy(&word, text, len);
    hash = (hash ^ word) * 0x94d049bb133111ebu;
    return hash ^ hash >> 29;
}

/* Two strings with the same hash have adjacent keys. */
static uint32_t look_up(const struct trace_strings *strings, const struct trace_strings_part *part,
                        const char *text, size_t len, uint64_t *key)
{
    uint32_t number;
    while ((number = int_map_get(&part->map, *key)) != MAP_NONE &&
           (strncmp(strings->bytes + number, text, len) != 0 || strings->bytes[number + len] != 0))
        ++*key;
    return number;
}

static uint32_t append(struct trace_strings *strings, struct trace_strings_part *part, const char *text,
                       size_t len, uint64_t key)
{
    if (part->limit - part->end <= len)
        give_up("the names and values of this input take more than 3 GiB; read fewer files at a time");
    uint64_t needed = part->end + len + 1;
    if (needed > part->usable) {
        uint64_t end = (needed + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
        if (mprotect(strings->bytes + part->usable, end - part->usable, PROT_READ | PROT_WRITE) != 0)
            give_up("out of memory");
        part->usable = end;
    }
    uint32_t number = (uint32_t)part->end;
    memcpy(strings->bytes + number, text, len);
    strings->bytes[number + len] = 0;
    part->end = needed;
    int_map_set(&part->map, key, number);
    return number;
}

uint32_t trace_strings_find(const struct trace_strings *strings, const char *text, size_t len)
{
    len = strnlen(text, len);
    uint64_t key = hash_of(text, len), local_key = key;
    uint32_t number = look_up(strings, &strings->kept, text, len, &key);
    return number == MAP_NONE ? look_up(strings, &strings->local, text, len, &local_key) : number;
}

uint32_t trace_strings_find_kept(const struct trace_strings *strings, const char *text, size_t len)
{
    len = strnlen(text, len);
    uint64_t key = hash_of(text, len);
    return look_up(strings, &strings->kept, text, len, &key);
}

uint32_t trace_strings_add(struct trace_strings *strings, const char *text, size_t len)
{
    len = strnlen(text, len);
    uint64_t key = hash_of(text, len);
    uint32_t number = look_up(strings, &strings->kept, text, len, &key);
    return number == MAP_NONE ? append(strings, &strings->kept, text, len, key) : number;
}

uint32_t trace_strings_add_local(struct trace_strings *strings, const char *text, size_t len)
{
    len = strnlen(text, len);
    uint64_t key = hash_of(text, len), local_key = key;
    uint32_t number = look_up(strings, &strings->kept, text, len, &key);
    if (number == MAP_NONE)
        number = look_up(strings, &strings->local, text, len, &local_key);
    return number == MAP_NONE ? append(strings, &strings->local, text, len, local_key) : number;
}

void trace_strings_drop_local(struct trace_strings *strings)
{
    int_map_clear(&strings->local.map);
    strings->local.end = strings->local.begin;
}
