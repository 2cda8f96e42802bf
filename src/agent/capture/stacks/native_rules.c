#include "agent/capture/stacks/native_rules.h"

#include "base/hash.h"
#include "base/process/loader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define LIBRARY_ATTEMPTS 3   /* attempts until the list does not change between two passes */
#define IDENTITY_BYTES   64  /* bytes of .eh_frame_hdr that identify a library */
#define ENTRY_BYTES      128 /* code at the program's entry point, which some C libraries have no tables for */

/* ---- Rules --------------------------------------------------------------------------------------------- */

static const struct library *find_library(const struct libraries *list, uint64_t address)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->all[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < list->all[low - 1].end ? &list->all[low - 1] : NULL;
}

/* Whether the code at the address calls rt_sigreturn: it is the function to which signal handlers return, for
 * which musl has no tables. */
static bool is_signal_return(const struct library *library, uint64_t address)
{
#if defined(__aarch64__)
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
#else
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
#endif
    return address >= library->begin && address + sizeof code <= library->end &&
           memcmp((const void *)(uintptr_t)address, code, sizeof code) == 0;
}

/* Returns the number of the rule, and adds a new one. */
static uint64_t keep_rule(struct native_rules *rules, const struct unwind_rule *rule)
{
    uint64_t hash = hash_bytes(HASH_START, rule, sizeof *rule);
    for (uint64_t place = hash ^ hash >> 32;; place++) {
        uint16_t *number = &rules->numbers[place % RULE_PLACES];
        if (*number && memcmp(&rules->rules[*number], rule, sizeof *rule) == 0)
            return *number;
        if (*number)
            continue;
        if (rules->rule_count == RULES_MAX - 1)
            return RULE_NOWHERE; /* the table is full, which no program needs: stacks end here */
        *number = (uint16_t)++rules->rule_count;
        rules->rules[*number] = *rule;
        return *number;
    }
}

static void write_entry(struct native_rules *rules, uint64_t address, uint64_t entry)
{
    _Atomic uint64_t *set = native_rules_set(rules, address);
    int at = 0;
    while (at < RULE_WAYS && atomic_load_explicit(&set[at], memory_order_relaxed))
        at++;
    if (at == RULE_WAYS)
        at = (int)(rules->victim++ % RULE_WAYS);
    atomic_store_explicit(&set[at], entry, memory_order_release);
}

uint64_t native_rules_learn(struct native_rules *rules, uint64_t address)
{
    uint64_t flag = 0, number = RULE_NOWHERE;
    const struct library *library = find_library(rules->now, address - 1);
    if (library) {
        struct unwind_rule rule = {.kind = UNWIND_NONE};
        if (library->tables.header)
            eh_frame_find_rule(&library->tables, address - 1, &rule);
        if (rule.kind == UNWIND_NONE && is_signal_return(library, address))
            rule.kind = UNWIND_SIGNAL;
        if (rule.kind == UNWIND_NONE && address - 1 - getauxval(AT_ENTRY) < ENTRY_BYTES)
            rule.kind = UNWIND_OUTERMOST;
        number = keep_rule(rules, &rule);
        flag = library->is_tool ? ENTRY_IS_TOOL : 0;
    }
    uint64_t entry = address << 16 | flag | number;
    write_entry(rules, address, entry);
    return entry;
}

/* ---- Libraries ----------------------------------------------------------------------------------------- */

static bool is_tool(const char *path)
{
    static const char *const names[] = {"libcuspan", "libcupti", "libcuda.so", "libcudart", "libnvidia-"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void describe(const struct dl_phdr_info *info, struct library *library)
{
    uint64_t base = info->dlpi_addr, header = 0;
    *library = (struct library){.begin = UINT64_MAX, .is_tool = is_tool(info->dlpi_name)};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t begin = base + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            library->begin = begin < library->begin ? begin : library->begin;
            library->end = begin + part->p_memsz > library->end ? begin + part->p_memsz : library->end;
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            header = begin;
        }
    }
    library->identity = hash_word(hash_word(HASH_START, base), header);
    for (int i = 0; i < info->dlpi_phnum && header; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t begin = base + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) || header - begin >= part->p_filesz)
            continue;
        library->tables = (struct eh_frame){.header = (const uint8_t *)(uintptr_t)header,
                                            .begin = (const uint8_t *)(uintptr_t)begin,
                                            .end = (const uint8_t *)(uintptr_t)(begin + part->p_filesz)};
        uint64_t bytes = begin + part->p_filesz - header;
        library->identity = hash_bytes(library->identity, library->tables.header,
                                       bytes < IDENTITY_BYTES ? bytes : IDENTITY_BYTES);
    }
}

struct pass {
    struct native_rules *rules;
    void (*work)(void *);
    void *context;
    bool is_current, has_begun;
};

/* Visits a library. If our list equals the loader's, does the work under the loader's lock; otherwise adds
 * the library to a new list. */
static int on_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct pass *pass = context;
    struct libraries *next = pass->rules->next;
    if (!pass->has_begun) {
        const struct libraries *now = pass->rules->now;
        pass->has_begun = true;
        pass->is_current = now->adds == info->dlpi_adds && now->subs == info->dlpi_subs;
        if (pass->is_current) {
            pass->work(pass->context);
            return 1;
        }
        next->count = 0;
        next->adds = info->dlpi_adds;
        next->subs = info->dlpi_subs;
    }
    if (next->count < LIBRARIES_MAX) {
        struct library *library = &next->all[next->count];
        describe(info, library);
        next->count += library->end > library->begin;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct library *one = a, *other = b;
    return (one->begin > other->begin) - (one->begin < other->begin);
}

/* Drops the rules of libraries that are gone, and of addresses that were in no library. */
static void drop_entries(struct native_rules *rules, const struct libraries *before)
{
    for (size_t i = 0; i < (size_t)RULE_SETS * RULE_WAYS; i++) {
        _Atomic uint64_t *at = &rules->entries[0][0] + i;
        uint64_t entry = atomic_load_explicit(at, memory_order_relaxed);
        if (!entry)
            continue;
        const struct library *library = find_library(before, ENTRY_ADDRESS(entry) - 1);
        if (!library || library->is_gone)
            atomic_store_explicit(at, 0, memory_order_release);
    }
}

static void take_over(struct native_rules *rules)
{
    struct libraries *before = rules->now, *now = rules->next;
    uint32_t gone = 0, j = 0;
    qsort(now->all, now->count, sizeof *now->all, compare);
    for (uint32_t i = 0; i < before->count; i++) {
        struct library *library = &before->all[i];
        while (j < now->count && now->all[j].begin < library->begin)
            j++;
        library->is_gone = j == now->count || now->all[j].begin != library->begin ||
                           now->all[j].end != library->end || now->all[j].identity != library->identity;
        gone += library->is_gone;
        if (!library->is_gone) {
            now->all[j].is_old = true;
            now->all[j].since = library->since;
        }
    }
    uint32_t generation = atomic_load_explicit(&rules->generation, memory_order_relaxed) + (gone ? 1 : 0);
    for (uint32_t i = 0; i < now->count; i++)
        if (!now->all[i].is_old)
            now->all[i].since = generation;
    drop_entries(rules, before);
    rules->now = now;
    rules->next = before;
    atomic_store_explicit(&rules->generation, generation, memory_order_relaxed);
}

bool native_rules_update(struct native_rules *rules, void (*work)(void *), void *context)
{
    for (int i = 0; i < LIBRARY_ATTEMPTS; i++) {
        struct pass pass = {.rules = rules, .work = work, .context = context};
        if (!loader_visit(on_library, &pass))
            return false;
        if (pass.is_current)
            return true;
        take_over(rules);
    }
    return false;
}

bool native_rules_had(const struct native_rules *rules, uint64_t address, uint32_t generation)
{
    const struct library *library = find_library(rules->now, address - 1);
    return !library || (int32_t)(generation - library->since) >= 0;
}

void native_rules_init(struct native_rules *rules)
{
    rules->now = &rules->lists[0];
    rules->now->adds = UINT64_MAX; /* no list yet: musl counts from 0 in static programs */
    rules->next = &rules->lists[1];
}
