#include "agent/correlate/names/kernel_names.h"

#include "base/hash.h"
#include "base/limits.h"
#include "agent/correlate/names/demangle.h"
#include "model/collective.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS          32768 /* a power of two, at most three quarters used */
#define SLOTS_USED_MAX (SLOTS / 4 * 3)
#define SWEEPS_KEPT    16 /* sweeps that a repeated name survives without being seen */
#define CHANCES        65536u

/* A cached name. Entries lie one after the other in the arena, each followed by its texts. */
struct entry {
    const char *address; /* CUPTI's string; NULL: its memory holds another name now */
    uint64_t filled;     /* the round in which it was added */
    uint64_t checked;    /* the last round in which the text was compared */
    uint32_t bytes;      /* size of the entry with its texts */
    uint32_t sweep;      /* number of sweeps when the name was last seen */
    struct kernel_name name;
    char mangled[]; /* our copy, followed by the full and short names where they differ */
};

struct kernel_names {
    uint64_t numbers, round;
    size_t bytes_max, bytes_used;
    uint32_t used; /* slots in use */
    uint32_t sweeps;
    uint32_t slots[SLOTS];       /* offset in the arena in 8-byte words, + 1; 0: free */
    struct kernel_name uncached; /* a name too long for the arena */
    char full[SPAN_STRING_MAX];  /* scratch for demangling */
    _Alignas(struct entry) uint8_t arena[];
};

enum status kernel_names_create(size_t bytes_max, struct kernel_names **names)
{
    *names = calloc(1, sizeof **names + bytes_max);
    if (!*names)
        return STATUS_NO_MEMORY;
    (*names)->bytes_max = bytes_max;
    return STATUS_OK;
}

static struct entry *entry_at(const struct kernel_names *names, size_t offset)
{
    return (struct entry *)(uintptr_t)(names->arena + offset);
}

/* Returns the name's slot, or the free slot where it belongs. */
static uint32_t *find_slot(struct kernel_names *names, const char *mangled)
{
    for (uint64_t i = (uint64_t)(uintptr_t)mangled * HASH_SPREAD >> 40;; i++) {
        uint32_t *slot = &names->slots[i & (SLOTS - 1)];
        if (!*slot || entry_at(names, (*slot - 1) * 8ull)->address == mangled)
            return slot;
    }
}

static void forget_all(struct kernel_names *names)
{
    memset(names->slots, 0, sizeof names->slots);
    names->used = 0;
    names->bytes_used = 0;
}

static bool is_dear(const struct kernel_names *names, const struct entry *entry)
{
    return entry->checked != entry->filled && names->sweeps - entry->sweep <= SWEEPS_KEPT;
}

struct chances { /* of eviction, out of CHANCES */
    uint32_t dear, other;
};

/* Entries of the same age are evicted at random. Evicting by age would leave no hits to a program that
 * cycles through slightly more names than fit. */
static bool goes(const struct kernel_names *names, const struct entry *entry, const struct chances *chances)
{
    uint64_t drawn =
        ((uint64_t)(uintptr_t)entry->address ^ names->sweeps * HASH_SPREAD) * 0xD6E8FEB86659FD93ull;
    return !entry->address ||
           (drawn >> 40) % CHANCES < (is_dear(names, entry) ? chances->dear : chances->other);
}

/* Frees half of the bytes, and so about half of the names. */
static struct chances choose(const struct kernel_names *names)
{
    uint64_t dear = 0, other = 0, wanted = names->bytes_used / 2;
    for (size_t at = 0; at < names->bytes_used; at += entry_at(names, at)->bytes)
        *(is_dear(names, entry_at(names, at)) ? &dear : &other) += entry_at(names, at)->bytes;
    if (wanted <= other)
        return (struct chances){0, (uint32_t)(wanted * CHANCES / (other ? other : 1))};
    return (struct chances){(uint32_t)((wanted - other) * CHANCES / (dear ? dear : 1)), CHANCES};
}

static void move(struct kernel_names *names, struct entry *entry, size_t to)
{
    struct entry *moved = entry_at(names, to);
    ptrdiff_t by = (const char *)moved - (const char *)entry;
    memmove(moved, entry, entry->bytes);
    moved->name.full += by;
    moved->name.text += by;
    *find_slot(names, moved->address) = (uint32_t)(to / 8) + 1;
    names->used++;
}

static void sweep(struct kernel_names *names)
{
    struct chances chances = choose(names);
    size_t end = names->bytes_used, next;
    forget_all(names);
    for (size_t at = 0; at < end; at = next) {
        struct entry *entry = entry_at(names, at);
        uint32_t bytes = entry->bytes;
        next = at + bytes;
        if (goes(names, entry, &chances))
            continue;
        move(names, entry, names->bytes_used);
        names->bytes_used += bytes;
    }
    names->sweeps++;
}

static void make_room(struct kernel_names *names, size_t bytes)
{
    bool is_full = names->used >= SLOTS_USED_MAX || names->bytes_used + bytes > names->bytes_max;
    if (is_full)
        sweep(names);
    if (names->used >= SLOTS_USED_MAX || names->bytes_used + bytes > names->bytes_max)
        forget_all(names);
}

static const char *put(char **to, const char *text, size_t length)
{
    char *kept = *to;
    memcpy(kept, text, length);
    kept[length] = 0;
    *to += length + 1;
    return kept;
}

static void name_entry(struct entry *entry, const char *mangled, size_t mangled_len, const char *full,
                       size_t full_len)
{
    char *to = entry->mangled;
    entry->name.text = entry->name.full = put(&to, mangled, mangled_len);
    entry->name.text_len = entry->name.full_len = (uint32_t)mangled_len;
    if (full_len > 0) {
        entry->name.full = put(&to, full, full_len);
        entry->name.full_len = (uint32_t)full_len;
        entry->name.text = to;
        entry->name.text_len = (uint32_t)demangle_shorten(full, to);
    }
    entry->name.operation = (uint8_t)collective_of_kernel(entry->name.text);
}

static const struct kernel_name *fill(struct kernel_names *names, const char *mangled)
{
    size_t mangled_len = strnlen(mangled, SPAN_STRING_MAX);
    size_t full_len = demangle_name(mangled, names->full, sizeof names->full);
    size_t bytes = sizeof(struct entry) + mangled_len + 1 + (full_len ? 2 * (full_len + 1) : 0);
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > names->bytes_max) {
        names->uncached =
            (struct kernel_name){mangled, mangled, (uint32_t)mangled_len, (uint32_t)mangled_len, 0, 0};
        return &names->uncached;
    }
    make_room(names, bytes);
    uint32_t *slot = find_slot(names, mangled);
    struct entry *entry = entry_at(names, names->bytes_used);
    *entry = (struct entry){.address = mangled,
                            .filled = names->round,
                            .checked = names->round,
                            .bytes = (uint32_t)bytes,
                            .sweep = names->sweeps,
                            .name = {.number = ++names->numbers}};
    name_entry(entry, mangled, mangled_len, names->full, full_len);
    *slot = (uint32_t)(names->bytes_used / 8) + 1;
    names->bytes_used += bytes;
    names->used++;
    return &entry->name;
}

void kernel_names_begin_round(struct kernel_names *names)
{
    names->round++;
}

const struct kernel_name *kernel_names_resolve(struct kernel_names *names, const char *mangled)
{
    uint32_t *slot = find_slot(names, mangled);
    if (!*slot)
        return fill(names, mangled);
    struct entry *entry = entry_at(names, (*slot - 1) * 8ull);
    if (entry->checked == names->round)
        return &entry->name;
    if (strncmp(entry->mangled, mangled, SPAN_STRING_MAX) == 0) {
        entry->checked = names->round;
        entry->sweep = names->sweeps;
        return &entry->name;
    }
    entry->address = NULL; /* a module was unloaded and its memory reused */
    return fill(names, mangled);
}
