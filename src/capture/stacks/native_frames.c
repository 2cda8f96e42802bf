#include "capture/stacks/native_frames.h"

#include "base/hash.h"
#include "capture/stacks/eh_frame.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WAYS             8 /* entries in a set, which is a cache line */
#define RULES_MAX        4096
#define RULE_PLACES      8192
#define LIBRARIES_MAX    1024 /* further ones have no rules */
#define LIBRARY_ATTEMPTS 3    /* until the list does not change between two passes */
#define COPY_POLLS_MAX   64
#define IDENTITY_BYTES   64 /* of .eh_frame_hdr */
#define RULE_NOWHERE     0  /* the number of the rule of addresses outside of all libraries */
#define ADDRESS_MASK     0xffffffffffffu

/* A return address with its rule, in one word, so that readers never see half of it: 48 bits of the address,
 * then whether its library is a tool, then the rule's number. 0: free. */
#define ENTRY_ADDRESS(entry) ((entry) >> 16)
#define ENTRY_IS_TOOL        0x8000u
#define ENTRY_RULE           0x7fffu

struct cursor {
    uint64_t address; /* a return address: the rule is that of the instruction before it */
    uint64_t sp, fp;
    uint64_t link; /* arm64: the link register; 0: unknown */
};

/* A walk's state between two frames. */
struct state {
    struct cursor at;
    bool is_first;    /* the frame of the walk itself, which is none of the result */
    bool is_skipping; /* tools */
};

/* Readable memory: at least 8 bytes from the address `low` on, whose content is at `shift` from there. */
struct memory {
    uint64_t low, bytes, shift;
};

enum copy_state { COPY_FREE, COPY_TAKEN, COPY_READY };

struct copy {
    _Atomic uint32_t state;    /* enum copy_state */
    uint32_t polls;            /* since it is ready */
    _Atomic uint64_t waits_at; /* the address without a rule; 0: free */
    uint64_t serial;
    struct state walk;
    struct memory memory;
    uint64_t words[NATIVE_COPY_BYTES / 8];
};

struct library {
    uint64_t begin, end; /* of its code */
    uint64_t identity;
    struct eh_frame tables; /* header NULL: none */
    bool is_tool, is_gone;
};

struct libraries {
    uint32_t count;
    unsigned long long adds, subs;     /* the loader's counts */
    struct library all[LIBRARIES_MAX]; /* by address */
};

/* Readers use `entries`, `rules` and `copies`. Only the polling thread writes, except for copies. */
struct tables {
    _Alignas(64) _Atomic uint64_t entries[NATIVE_RULES_SETS][WAYS];
    /* Each is written once, before an entry refers to it. The first ones, which are the most frequent, share
     * a few cache lines. */
    struct unwind_rule rules[RULES_MAX];
    uint16_t rule_numbers[RULE_PLACES]; /* hash table; 0: free */
    uint32_t rule_count;
    struct copy copies[NATIVE_COPIES];
    struct libraries lists[2], *now, *next;
    uint32_t victim; /* the next entry that is replaced in a full set */
};

static struct tables *_Atomic shared;
static _Atomic uint32_t generation;
static _Atomic uint64_t serials;

static inline _Atomic uint64_t *set_of(struct tables *tables, uint64_t address)
{
    return tables->entries[(address * 0x9e3779b97f4a7c15u) >> (64 - 11)];
}

static_assert(NATIVE_RULES_SETS == 1 << 11, "see set_of()");

static inline uint64_t find_entry(struct tables *tables, uint64_t address)
{
    _Atomic uint64_t *set = set_of(tables, address);
    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = atomic_load_explicit(&set[i], memory_order_acquire);
        if (ENTRY_ADDRESS(entry) == address)
            return entry;
    }
    return 0;
}

/* ---- One step ------------------------------------------------------------------------------------------ */

/* A walk reads what other functions have on the stack, also what AddressSanitizer considers unreadable. */
#define READS_STACK __attribute__((no_sanitize("address")))

READS_STACK static inline enum native_end read_word(const struct memory *memory, uint64_t address,
                                                    uint64_t *value)
{
    uint64_t offset = address - memory->low;
    if (__builtin_expect(offset > memory->bytes - 8 || (address & 7), 0))
        return address < memory->low || (address & 7) ? NATIVE_END_DAMAGED : NATIVE_END_STACK;
    *value = *(const uint64_t *)(uintptr_t)(address + memory->shift);
    return NATIVE_END_OUTERMOST;
}

/* Where the kernel stores registers: offsets from the stack pointer in the function that the handler returns
 * to. Part of its binary interface (struct rt_sigframe). */
#if defined(__aarch64__)
enum { SAVED_FP = 544, SAVED_LINK = 552, SAVED_SP = 560, SAVED_PC = 568 };
#else
enum { SAVED_FP = 120, SAVED_LINK = 120, SAVED_SP = 160, SAVED_PC = 168 };
#endif

READS_STACK static enum native_end leave_signal(struct cursor *at, const struct memory *memory)
{
    uint64_t sp = at->sp, pc;
    enum native_end end = read_word(memory, sp + SAVED_PC, &pc);
    end = end ? end : read_word(memory, sp + SAVED_FP, &at->fp);
    end = end ? end : read_word(memory, sp + SAVED_LINK, &at->link);
    end = end ? end : read_word(memory, sp + SAVED_SP, &at->sp);
    if (end)
        return end;
    at->address = pc + 1;
    at->link &= ADDRESS_MASK;
    return at->sp > sp + SAVED_PC && at->sp - memory->low < memory->bytes ? NATIVE_END_OUTERMOST
                                                                          : NATIVE_END_STACK;
}

/* From a frame to its caller's. OUTERMOST: none of the ends below. */
READS_STACK static inline enum native_end step(const struct unwind_rule *rule, struct cursor *at,
                                               const struct memory *memory)
{
    enum native_end end;
    uint64_t cfa, next, fp = at->fp;
    switch (rule->kind) {
    case UNWIND_SP:
        cfa = at->sp + (uint64_t)(int64_t)rule->cfa_offset;
        break;
    case UNWIND_FP:
        cfa = fp + (uint64_t)(int64_t)rule->cfa_offset;
        break;
    case UNWIND_AT_SP:
    case UNWIND_AT_FP:
        cfa = (rule->kind == UNWIND_AT_SP ? at->sp : fp) + (uint64_t)(int64_t)rule->cfa_offset;
        end = read_word(memory, cfa, &cfa);
        if (end)
            return end;
        cfa += (uint64_t)(int64_t)rule->cfa_add;
        break;
    case UNWIND_SIGNAL:
        return leave_signal(at, memory);
    case UNWIND_NONE:
        return NATIVE_END_NO_TABLES;
    case UNWIND_DAMAGED:
        return NATIVE_END_DAMAGED;
    default:
        return NATIVE_END_UNSUPPORTED;
    }
    if (rule->return_in == UNWIND_RETURN_AT_CFA) {
        end = read_word(memory, cfa + (uint64_t)(int64_t)rule->return_offset, &next);
        if (end)
            return end;
    } else {
        next = at->link;
    }
    if (rule->fp == UNWIND_FP_AT_CFA || rule->fp == UNWIND_FP_AT_FP) {
        uint64_t base = rule->fp == UNWIND_FP_AT_CFA ? cfa : fp;
        end = read_word(memory, base + (uint64_t)(int64_t)rule->fp_offset, &at->fp);
        if (end)
            return end;
    } else if (rule->fp == UNWIND_FP_LOST) {
        at->fp = 0;
    }
    /* Each frame is above the last one, so that walks end. Only a function that a signal has interrupted, or
     * an arm64 function without a frame, may have none of its own. */
    if (cfa <= at->sp && !(cfa == at->sp && rule->return_in == UNWIND_RETURN_IN_LINK && at->link))
        return NATIVE_END_DAMAGED;
    at->sp = cfa;
    at->link = 0;
#if defined(__aarch64__)
    next &= ADDRESS_MASK; /* signed return addresses */
#endif
    at->address = next;
    return NATIVE_END_OUTERMOST;
}

/* ---- Rules, on our thread ------------------------------------------------------------------------------ */

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

/* musl has no tables for the function to which signal handlers return, which calls rt_sigreturn. */
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

/* Returns the number of the rule. */
static uint64_t keep_rule(struct tables *tables, const struct unwind_rule *rule)
{
    uint64_t hash = hash_bytes(HASH_START, rule, sizeof *rule);
    for (uint64_t place = hash ^ hash >> 32;; place++) {
        uint16_t *number = &tables->rule_numbers[place % RULE_PLACES];
        if (*number && memcmp(&tables->rules[*number], rule, sizeof *rule) == 0)
            return *number;
        if (*number)
            continue;
        if (tables->rule_count == RULES_MAX - 1)
            return RULE_NOWHERE; /* far more than there are in any program: stacks end here */
        *number = (uint16_t)++tables->rule_count;
        tables->rules[*number] = *rule;
        return *number;
    }
}

static void write_entry(struct tables *tables, uint64_t address, uint64_t entry)
{
    _Atomic uint64_t *set = set_of(tables, address);
    int at = 0;
    while (at < WAYS && atomic_load_explicit(&set[at], memory_order_relaxed))
        at++;
    if (at == WAYS)
        at = (int)(tables->victim++ % WAYS);
    atomic_store_explicit(&set[at], entry, memory_order_release);
}

static uint64_t learn(struct tables *tables, uint64_t address)
{
    uint64_t flag = 0, number = RULE_NOWHERE;
    const struct library *library = find_library(tables->now, address - 1);
    if (library) {
        struct unwind_rule rule = {.kind = UNWIND_NONE};
        if (library->tables.header)
            eh_frame_find_rule(&library->tables, address - 1, &rule);
        if (rule.kind == UNWIND_NONE && is_signal_return(library, address))
            rule.kind = UNWIND_SIGNAL;
        number = keep_rule(tables, &rule);
        flag = library->is_tool ? ENTRY_IS_TOOL : 0;
    }
    uint64_t entry = address << 16 | flag | number;
    write_entry(tables, address, entry);
    return entry;
}

/* ---- Walks --------------------------------------------------------------------------------------------- */

/* Adds frames until the end. `is_ours`: learns unknown rules, and `frames` may be NULL; the caller has the
 * loader's lock. */
READS_STACK static inline __attribute__((always_inline)) void
walk_on(struct tables *tables, struct state *state, const struct memory *memory, bool is_ours,
        uint64_t *frames, uint32_t max, struct native_walk *walk)
{
    enum native_end end;
    for (;;) {
        uint64_t entry = find_entry(tables, state->at.address);
        if (__builtin_expect(!entry, 0)) {
            end = NATIVE_END_UNKNOWN;
            if (!is_ours)
                break;
            end = NATIVE_END_DAMAGED;
            if (state->at.address == 0 || state->at.address & ~ADDRESS_MASK)
                break;
            entry = learn(tables, state->at.address);
        }
        const struct unwind_rule *rule = &tables->rules[entry & ENTRY_RULE];
        state->is_skipping &= state->is_first || (entry & ENTRY_IS_TOOL);
        if (!state->is_skipping && !state->is_first) {
            end = NATIVE_END_FULL;
            if (walk->count == max)
                break;
            if (!is_ours || frames)
                frames[walk->count] = state->at.address;
            walk->count++;
        }
        state->is_first = false;
        end = NATIVE_END_OUTERMOST;
        if (rule->kind == UNWIND_OUTERMOST)
            break;
        end = walk->count == max ? NATIVE_END_FULL : step(rule, &state->at, memory);
        if (end || state->at.address == 0)
            break;
    }
    walk->end = end;
}

/* A loop may launch many times from one new place, so only two copies wait for the same address. */
static struct copy *take_copy(struct tables *tables, uint64_t address)
{
    int same = 0;
    for (int i = 0; i < NATIVE_COPIES; i++)
        same += atomic_load_explicit(&tables->copies[i].waits_at, memory_order_relaxed) == address;
    for (int i = 0; i < NATIVE_COPIES && same < 2; i++) {
        struct copy *copy = &tables->copies[i];
        uint32_t expected = COPY_FREE;
        if (atomic_load_explicit(&copy->state, memory_order_relaxed) == COPY_FREE &&
            atomic_compare_exchange_strong(&copy->state, &expected, COPY_TAKEN)) {
            atomic_store_explicit(&copy->waits_at, address, memory_order_relaxed);
            return copy;
        }
    }
    return NULL;
}

/* The rest of the stack, for our thread. Without a free copy, the frame itself is added at least. */
READS_STACK static uint64_t copy_stack(struct tables *tables, const struct state *state,
                                       const struct memory *memory)
{
    uint64_t low = state->at.sp & ~(uint64_t)7, bytes = memory->low + memory->bytes - low;
    if (low - memory->low >= memory->bytes)
        return 0;
    struct copy *copy = take_copy(tables, state->at.address);
    if (!copy)
        return 0;
    bytes = bytes < NATIVE_COPY_BYTES ? bytes : NATIVE_COPY_BYTES;
    const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)low;
    for (uint64_t i = 0; i < bytes / 8; i++) /* a call of memcpy() would be checked by AddressSanitizer */
        copy->words[i] = from[i];
    copy->memory = (struct memory){low, bytes, (uint64_t)(uintptr_t)copy->words - low};
    copy->walk = *state;
    copy->polls = 0;
    copy->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    uint64_t ticket = copy->serial << 8 | (uint64_t)(copy - tables->copies);
    atomic_store_explicit(&copy->state, COPY_READY, memory_order_release);
    return ticket;
}

READS_STACK __attribute__((noinline)) void native_frames_walk(struct native_stack *stack,
                                                              enum native_from from, uint64_t *frames,
                                                              uint32_t max, struct native_walk *walk)
{
    struct tables *tables = atomic_load_explicit(&shared, memory_order_acquire);
    struct state state = {.is_first = true, .is_skipping = from == NATIVE_FROM_CALLER};
    *walk = (struct native_walk){.end = NATIVE_END_UNSUPPORTED,
                                 .generation = atomic_load_explicit(&generation, memory_order_relaxed)};
    if (!tables)
        return;
#if defined(__x86_64__)
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=&r"(state.at.address), "=&r"(state.at.sp), "=&r"(state.at.fp));
#elif defined(__aarch64__)
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=&r"(state.at.address), "=&r"(state.at.sp), "=&r"(state.at.fp), "=&r"(state.at.link));
    state.at.link &= ADDRESS_MASK;
#else
    return;
#endif
    struct memory memory = {.low = state.at.sp & ~(uint64_t)7};
    memory.bytes = native_stack_end(stack, memory.low) - memory.low;
    walk_on(tables, &state, &memory, false, frames, max, walk);
    if (__builtin_expect(walk->end == NATIVE_END_UNKNOWN, 0)) {
        walk->ticket = copy_stack(tables, &state, &memory);
        if (!walk->ticket && !state.is_first && !state.is_skipping && walk->count < max)
            frames[walk->count++] = state.at.address;
    }
}

/* ---- Libraries, on our thread -------------------------------------------------------------------------- */

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
    struct tables *tables;
    void (*work)(struct tables *, void *);
    void *argument;
    bool is_current, has_begun;
};

/* Does the work under the loader's lock if our list is that of the loader, and makes a new list otherwise. */
static int on_library(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct pass *pass = argument;
    struct libraries *next = pass->tables->next;
    if (!pass->has_begun) {
        const struct libraries *now = pass->tables->now;
        pass->has_begun = true;
        pass->is_current = now->adds == info->dlpi_adds && now->subs == info->dlpi_subs;
        if (pass->is_current) {
            pass->work(pass->tables, pass->argument);
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
static void drop_entries(struct tables *tables, const struct libraries *before)
{
    for (size_t i = 0; i < (size_t)NATIVE_RULES_SETS * WAYS; i++) {
        _Atomic uint64_t *at = &tables->entries[0][0] + i;
        uint64_t entry = atomic_load_explicit(at, memory_order_relaxed);
        if (!entry)
            continue;
        const struct library *library = find_library(before, ENTRY_ADDRESS(entry) - 1);
        if (!library || library->is_gone)
            atomic_store_explicit(at, 0, memory_order_release);
    }
}

static void take_over(struct tables *tables)
{
    struct libraries *before = tables->now, *now = tables->next;
    uint32_t gone = 0, j = 0;
    qsort(now->all, now->count, sizeof *now->all, compare);
    for (uint32_t i = 0; i < before->count; i++) {
        struct library *library = &before->all[i];
        while (j < now->count && now->all[j].begin < library->begin)
            j++;
        library->is_gone = j == now->count || now->all[j].begin != library->begin ||
                           now->all[j].end != library->end || now->all[j].identity != library->identity;
        gone += library->is_gone;
    }
    drop_entries(tables, before);
    tables->now = now;
    tables->next = before;
    if (gone)
        atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

/* False: libraries were loaded all the time. */
static bool with_libraries(struct tables *tables, void (*work)(struct tables *, void *), void *argument)
{
    for (int i = 0; i < LIBRARY_ATTEMPTS; i++) {
        struct pass pass = {.tables = tables, .work = work, .argument = argument};
        dl_iterate_phdr(on_library, &pass);
        if (pass.is_current)
            return true;
        take_over(tables);
    }
    return false;
}

/* ---- Copies, on our thread ----------------------------------------------------------------------------- */

struct order {
    struct copy *copy;
    uint64_t *frames;
    uint32_t max;
    struct native_walk *walk;
};

static void complete(struct tables *tables, void *argument)
{
    struct order *order = argument;
    struct state state = order->copy->walk;
    walk_on(tables, &state, &order->copy->memory, true, order->frames, order->max, order->walk);
}

static void give_back(struct copy *copy)
{
    atomic_store_explicit(&copy->waits_at, 0, memory_order_relaxed);
    atomic_store_explicit(&copy->state, COPY_FREE, memory_order_release);
}

void native_frames_finish(uint64_t ticket, uint64_t *frames, uint32_t max, struct native_walk *walk)
{
    struct tables *tables = atomic_load_explicit(&shared, memory_order_acquire);
    *walk = (struct native_walk){.end = NATIVE_END_UNKNOWN,
                                 .generation = atomic_load_explicit(&generation, memory_order_relaxed)};
    if (!tables || !ticket || (ticket & 0xff) >= NATIVE_COPIES)
        return;
    struct copy *copy = &tables->copies[ticket & 0xff];
    if (atomic_load_explicit(&copy->state, memory_order_acquire) != COPY_READY || copy->serial != ticket >> 8)
        return;
    struct order order = {copy, frames, max, walk};
    (void)with_libraries(tables, complete, &order);
    walk->generation = atomic_load_explicit(&generation, memory_order_relaxed);
    give_back(copy);
}

/* Learns all rules of a stack, and leaves the copy as it is for native_frames_finish(). */
static void learn_copies(struct tables *tables, void *unused)
{
    (void)unused;
    for (int i = 0; i < NATIVE_COPIES; i++) {
        struct copy *copy = &tables->copies[i];
        if (atomic_load_explicit(&copy->state, memory_order_acquire) != COPY_READY)
            continue;
        if (copy->polls++ == 0) {
            struct native_walk walk = {.count = 0};
            complete(tables, &(struct order){copy, NULL, UINT32_MAX, &walk});
        } else if (copy->polls > COPY_POLLS_MAX) {
            give_back(copy);
        }
    }
}

void native_frames_poll(void)
{
    struct tables *tables = atomic_load_explicit(&shared, memory_order_acquire);
    if (tables)
        (void)with_libraries(tables, learn_copies, NULL);
}

enum status native_frames_start(void)
{
    struct tables *tables = atomic_load_explicit(&shared, memory_order_relaxed);
    if (tables)
        return STATUS_OK;
    /* Zero; pages become resident when they are first used. */
    tables = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tables == MAP_FAILED)
        return STATUS_NO_MEMORY;
    tables->now = &tables->lists[0];
    tables->next = &tables->lists[1];
    atomic_store_explicit(&shared, tables, memory_order_release);
    native_frames_poll();
    return STATUS_OK;
}

const char *native_end_text(enum native_end end)
{
    static const char *const texts[] = {
        "complete",           "cut",     "not known yet",         "no unwind tables",
        "unsupported tables", "damaged", "end of the known stack"};
    return (size_t)end < sizeof texts / sizeof *texts ? texts[end] : "?";
}
