#include "agent/watch/stacks/native_look.h"

#include "agent/frames/eh_frame.h"
#include "agent/frames/unwind_step.h"
#include "agent/watch/stacks/stack_text.h"
#include "base/hash.h"
#include "base/process/self_memory.h"
#include "base/text/utf8.h"

#include <string.h>

#define GUESS_WORDS 1024 /* of the stack that are searched for a return address */
#define PAGE_BYTES  4096
#define PART_BYTES  16384 /* of a stack that are read at once */
#define PAIRS_MAX   64    /* of the table of functions that are read at once */

/* ---- Unwind rules -------------------------------------------------------------------------------------- */

/* Returns the address of the function's entry in .eh_frame by the table of .eh_frame_hdr; 0: there is none.
 * Only tables in the form that linkers write. */
static uint64_t find_entry(uint64_t header, uint64_t address)
{
    struct {
        uint8_t version, frame_encoding, count_encoding, table_encoding;
        int32_t frame;
        uint32_t count;
    } head;
    int32_t pairs[PAIRS_MAX][2];
    if (!self_memory_read(header, &head, sizeof head) || head.version != 1 || head.frame_encoding != 0x1b ||
        head.count_encoding != 0x03 || head.table_encoding != 0x3b)
        return 0;
    uint64_t low = 0, high = head.count, table = header + sizeof head;
    while (high - low > PAIRS_MAX) {
        uint64_t middle = low + (high - low) / 2;
        if (!self_memory_read(table + middle * sizeof *pairs, pairs, sizeof *pairs))
            return 0;
        if (header + (uint64_t)(int64_t)pairs[0][0] <= address)
            low = middle;
        else
            high = middle;
    }
    if (!self_memory_read(table + low * sizeof *pairs, pairs, (high - low) * sizeof *pairs))
        return 0;
    for (uint64_t i = high - low; i > 0; i--)
        if (header + (uint64_t)(int64_t)pairs[i - 1][0] <= address)
            return header + (uint64_t)(int64_t)pairs[i - 1][1];
    return 0;
}

/* Copies an entry without its length, which is returned; 0: it is not readable or too long. */
static uint32_t copy_entry(uint64_t address, uint8_t *to)
{
    uint32_t bytes;
    return self_memory_read(address, &bytes, sizeof bytes) && bytes > 4 && bytes <= NATIVE_ENTRY_BYTES &&
                   self_memory_read(address + sizeof bytes, to, bytes)
               ? bytes
               : 0;
}

static void find_rule(struct native_look *look, uint64_t header, uint64_t address, struct unwind_rule *rule)
{
    uint64_t entry = header ? find_entry(header, address) : 0;
    uint32_t back;
    struct eh_frame_copy copy = {.common = look->common, .own = look->own};
    if (!entry)
        return;
    copy.own_bytes = copy_entry(entry, look->own);
    if (!copy.own_bytes)
        return;
    copy.own_address = entry + 4;
    memcpy(&back, look->own, sizeof back);
    copy.common_bytes = back ? copy_entry(copy.own_address - back, look->common) : 0;
    if (copy.common_bytes)
        eh_frame_find_rule_of_copy(&copy, address, rule);
}

/* Returns the place of a frame's address in executable memory; NULL: it is in none, or there is no room. */
static struct native_place *place_of(struct native_look *look, struct process_map *map, uint64_t address)
{
    uint32_t at = (uint32_t)((address * HASH_SPREAD) >> 52) % NATIVE_INDEX;
    for (; look->index[at]; at = (at + 1) % NATIVE_INDEX)
        if (look->places[look->index[at] - 1].address == address)
            return &look->places[look->index[at] - 1];
    const struct map_range *range = process_map_find(map, address - 1);
    if (!range || look->count == NATIVE_PLACES)
        return NULL;
    struct native_place *place = &look->places[look->count++];
    look->index[at] = (uint16_t)look->count;
    *place = (struct native_place){.address = address, .library = range->library};
    const struct map_library *library = process_map_library(map, range->library);
    if (library)
        find_rule(look, library->unwind, address - 1, &place->rule);
    return place;
}

/* ---- Guesses ------------------------------------------------------------------------------------------- */

/* Whether the instruction before the address is a call. */
static bool is_behind_call(const struct process_map *map, uint64_t address)
{
    const struct map_range *range = process_map_find(map, address);
    uint8_t code[8];
    if (!range || address - range->begin < sizeof code ||
        !self_memory_read(address - sizeof code, code, sizeof code))
        return false;
#if defined(__aarch64__)
    uint32_t word;
    memcpy(&word, code + 4, sizeof word);
    return (word & 0xfc000000u) == 0x94000000u || (word & 0xfffffc1fu) == 0xd63f0000u; /* bl, blr */
#else
    static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* of calls through a register or memory */
    if (code[3] == 0xe8)
        return true;
    for (size_t i = 0; i < sizeof lengths; i++)
        if (code[8 - lengths[i]] == 0xff && (code[9 - lengths[i]] >> 3 & 7) == 2)
            return true;
    return false;
#endif
}

/* Moves to the caller by the frame pointer, if that is known, else to the next return address on the stack.
 */
static bool guess(const struct process_map *map, const struct unwind_memory *memory, struct unwind_cursor *at)
{
    uint64_t address, fp, slot = (at->sp + 7) & ~(uint64_t)7;
    if (at->fp >= slot && !unwind_read_word(memory, at->fp + 8, &address) &&
        !unwind_read_word(memory, at->fp, &fp) && is_behind_call(map, address & UNWIND_ADDRESS_MASK)) {
        *at = (struct unwind_cursor){.address = address & UNWIND_ADDRESS_MASK, .sp = at->fp + 16, .fp = fp};
        return true;
    }
    for (int i = 0; i < GUESS_WORDS && !unwind_read_word(memory, slot, &address); i++, slot += 8) {
        address &= UNWIND_ADDRESS_MASK;
        if (!is_behind_call(map, address))
            continue;
        bool has_fp = slot > memory->low && !unwind_read_word(memory, slot - 8, &fp) && fp > slot &&
                      fp - memory->low < memory->bytes;
        *at = (struct unwind_cursor){.address = address, .sp = slot + 8, .fp = has_fp ? fp : 0};
        return true;
    }
    return false;
}

/* ---- Walks --------------------------------------------------------------------------------------------- */

/* Copies the stack from its pointer on, up to the end of its mapping. */
static struct unwind_memory copy_stack(struct native_look *look, uint64_t sp)
{
    uint64_t low = sp & ~(uint64_t)7, bytes = 0, part = PAGE_BYTES - low % PAGE_BYTES, next = PART_BYTES;
    while (bytes + part <= sizeof look->stack) {
        if (self_memory_read(low + bytes, (uint8_t *)look->stack + bytes, part))
            bytes += part;
        else if (part <= PAGE_BYTES)
            break;
        else
            next = PAGE_BYTES;
        part = next;
    }
    return (struct unwind_memory){low, bytes, (uint64_t)(uintptr_t)look->stack - low};
}

/* Whether the rule needs the frame pointer, which the kernel does not show. It becomes known where a function
 * has saved it. */
static bool lacks_fp(const struct unwind_rule *rule, const struct unwind_cursor *at)
{
    return at->fp == 0 && (rule->kind == UNWIND_FP || rule->kind == UNWIND_AT_FP);
}

void native_look_walk(struct native_look *look, struct process_map *map, struct thread_stacks *into,
                      struct thread_stack *thread)
{
    struct unwind_memory memory = copy_stack(look, thread->sp);
    struct unwind_cursor at = {.address = thread->pc, .sp = thread->sp};
    bool is_guessed = false;
    thread->native_first = into->native_total;
    thread->native_count = 0;
    thread->native = STACK_NATIVE_BROKEN;
    while (at.address) {
        const struct native_place *place = place_of(look, map, at.address);
        if (!place)
            return;
        if (thread->native_count == STACK_NATIVE_FRAMES_MAX || into->native_total == STACK_FRAMES_TOTAL) {
            thread->native = STACK_NATIVE_CUT;
            return;
        }
        into->native_frames[into->native_total++] =
            (struct stack_native_frame){.address = at.address,
                                        .library = (uint32_t)(place - look->places), /* until it is named */
                                        .is_guessed = is_guessed};
        thread->native_count++;
        if (place->rule.kind == UNWIND_OUTERMOST) {
            thread->native = STACK_NATIVE_COMPLETE;
            return;
        }
        if (memory.bytes < 8)
            return;
        struct unwind_cursor before = at;
        if (lacks_fp(&place->rule, &at) || unwind_step(&place->rule, &at, &memory) ||
            (at.address && !process_map_find(map, at.address - 1))) {
            at = before;
            is_guessed = true;
            if (!guess(map, &memory, &at))
                return;
        }
    }
    /* After a wrong guess, zeros are likely. */
    thread->native = is_guessed ? STACK_NATIVE_BROKEN : STACK_NATIVE_COMPLETE;
}

/* ---- Names --------------------------------------------------------------------------------------------- */

struct naming {
    struct native_look *look;
    uint32_t count;
    uint16_t places[NATIVE_PLACES]; /* those of the library, by address */
};

/* Of several symbols at a place, the nearest one and then the first one counts. */
static void take_symbol(void *context, uint64_t address, uint64_t size, uint64_t name)
{
    struct naming *naming = context;
    uint32_t low = 0, high = naming->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (naming->look->places[naming->places[middle]].address - 1 < address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < naming->count; low++) {
        struct native_place *place = &naming->look->places[naming->places[low]];
        if (place->address - 1 - address >= size)
            return;
        if (address > place->symbol) {
            place->symbol = address;
            place->symbol_name = name;
        }
    }
}

static void list_places(struct naming *naming, uint32_t from)
{
    naming->count = 0;
    for (uint32_t i = from; i < naming->look->count; i++) {
        const struct native_place *place = &naming->look->places[i];
        if (place->library != naming->look->places[from].library)
            continue;
        uint32_t at = naming->count++;
        for (; at > 0 && naming->look->places[naming->places[at - 1]].address > place->address; at--)
            naming->places[at] = naming->places[at - 1];
        naming->places[at] = (uint16_t)i;
    }
}

static uint32_t add_name(struct thread_stacks *into, uint64_t address)
{
    char name[STACK_NAME_BYTES];
    uint8_t text[STACK_NAME_BYTES * 3];
    if (!address || self_memory_read_text(address, name, sizeof name) <= 0)
        return 0;
    return stack_text_add(into, (char *)text,
                          utf8_repair(text, name, strlen(name), UTF8_NO_LIMIT, sizeof text));
}

/* Names all places in the library of place `from`. */
static void name_places(struct naming *naming, uint32_t from, struct process_map *map,
                        struct thread_stacks *into, uint64_t *budget)
{
    char text[STACK_FILE_BYTES];
    uint32_t number = naming->look->places[from].library, name = 0;
    const struct map_library *library = process_map_library(map, number);
    list_places(naming, from);
    if (library) {
        const char *full = map->names + library->name;
        size_t length = utf8_repair((uint8_t *)text, full, strlen(full), UTF8_NO_LIMIT, sizeof text);
        name = stack_text_add(into, text, length);
        process_map_functions(library, budget, take_symbol, naming);
    }
    for (uint32_t i = 0; i < naming->count; i++) {
        struct native_place *place = &naming->look->places[naming->places[i]];
        place->is_named = true;
        place->library_text = name;
        place->symbol_text = add_name(into, place->symbol_name);
        if (!place->symbol_text)
            place->symbol = library ? library->base : 0;
    }
}

void native_look_name(struct native_look *look, struct process_map *map, struct thread_stacks *into)
{
    struct naming naming = {.look = look};
    uint64_t budget = NATIVE_SYMBOL_BYTES;
    for (uint32_t i = 0; i < look->count; i++)
        if (!look->places[i].is_named)
            name_places(&naming, i, map, into, &budget);
    for (uint32_t i = 0; i < into->native_total; i++) {
        struct stack_native_frame *frame = &into->native_frames[i];
        const struct native_place *place = &look->places[frame->library];
        frame->library = place->library_text;
        frame->symbol = place->symbol_text;
        frame->offset = frame->address - place->symbol;
    }
}
