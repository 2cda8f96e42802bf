#include "agent/correlate/stacks/code_profile.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/hash.h"
#include "model/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 4096 /* of each half; a power of two */
#define NAMES_KEPT 1024 /* a power of two */

/* A place's number: the version of its half, whose lowest bit is the half, then the index + 1. */
#define INDEX_BITS 13
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
static_assert(PLACES_MAX <= INDEX_MASK, "an index + 1 fits");

enum table_id { MAPPINGS, FUNCTIONS, LOCATIONS, NODES, STACKS, LINKS, SAMPLES, TABLES };

/* Entries of equal size, each once. Index 0 is taken, so it means "none" or "full". */
struct table {
    uint32_t count, max;
    uint32_t entry_bytes;
    uint32_t mask;    /* of `slots` */
    uint32_t *slots;  /* index; 0: free */
    uint8_t *entries; /* zero: entry 0 */
};

struct sample_place {
    uint64_t stack; /* the stack's number; 0: none */
    struct profile_link link;
    bool has_link;
    uint32_t interval; /* the interval in which node and link_index are valid */
    uint32_t node, link_index;
};

/* Half of the places. The older half is emptied when the other one is full, so that a call that was just made
 * keeps its place. */
struct half {
    uint32_t version, count;
    uint16_t slots[2 * PLACES_MAX]; /* index + 1; 0: free */
    struct sample_place places[PLACES_MAX];
};

struct kept_name {
    uint64_t number;
    uint32_t interval, location;
};

struct code_profile {
    struct code_stacks *stacks;
    uint32_t interval; /* counts up from 1 */
    uint32_t version;  /* version of the half that takes new places */
    struct profile view;
    struct table tables[TABLES];
    uint32_t string_count;
    size_t text_used;
    uint32_t string_slots[2 * PROFILE_STRINGS_MAX];
    struct profile_string strings[PROFILE_STRINGS_MAX];
    uint64_t values[PROFILE_SAMPLES_MAX];
    struct kept_name names[NAMES_KEPT];
    struct half halves[2];
    char text[PROFILE_TEXT_BYTES];
};

static const struct {
    uint32_t max, entry_bytes;
} shapes[TABLES] = {
    [MAPPINGS] = {PROFILE_MAPPINGS_MAX, sizeof(struct profile_mapping)},
    [FUNCTIONS] = {PROFILE_FUNCTIONS_MAX, sizeof(struct profile_function)},
    [LOCATIONS] = {PROFILE_LOCATIONS_MAX, sizeof(struct profile_location)},
    [NODES] = {PROFILE_NODES_MAX, sizeof(struct profile_node)},
    [STACKS] = {PROFILE_STACKS_MAX, sizeof(struct profile_stack)},
    [LINKS] = {PROFILE_LINKS_MAX, sizeof(struct profile_link)},
    [SAMPLES] = {PROFILE_SAMPLES_MAX, sizeof(struct profile_sample)},
};

/* Each entry has two slots. */
#define TABLE_BYTES(max, entry) ((max) * (sizeof(entry) + 2 * sizeof(uint32_t)))
static_assert(sizeof(struct code_profile) + TABLE_BYTES(PROFILE_MAPPINGS_MAX, struct profile_mapping) +
                      TABLE_BYTES(PROFILE_FUNCTIONS_MAX, struct profile_function) +
                      TABLE_BYTES(PROFILE_LOCATIONS_MAX, struct profile_location) +
                      TABLE_BYTES(PROFILE_NODES_MAX, struct profile_node) +
                      TABLE_BYTES(PROFILE_STACKS_MAX, struct profile_stack) +
                      TABLE_BYTES(PROFILE_LINKS_MAX, struct profile_link) +
                      TABLE_BYTES(PROFILE_SAMPLES_MAX, struct profile_sample) + CODE_STACKS_TEXT_BYTES <
                  SETTINGS_PROFILES_BYTES - 64 * 1024,
              "tables and frames fit, and the encoder beside them");

static enum status table_init(struct table *table, enum table_id id)
{
    *table = (struct table){.count = 1,
                            .max = shapes[id].max,
                            .entry_bytes = shapes[id].entry_bytes,
                            .mask = 2 * shapes[id].max - 1,
                            .slots = calloc(2 * (size_t)shapes[id].max, sizeof *table->slots),
                            .entries = calloc(shapes[id].max, shapes[id].entry_bytes)};
    return table->slots && table->entries ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Hashes `count` bytes, a multiple of 4. */
static uint32_t hash_of(const void *bytes, uint32_t count)
{
    uint64_t hash = HASH_START;
    for (uint32_t at = 0, word; at < count; at += sizeof word) {
        memcpy(&word, (const uint8_t *)bytes + at, sizeof word);
        hash = hash_word(hash, word);
    }
    return (uint32_t)(hash * HASH_SPREAD >> 32);
}

/* Returns the entry's index; 0: the table is full. */
static uint32_t intern(struct table *table, const void *entry)
{
    uint32_t bytes = table->entry_bytes;
    for (uint32_t at = hash_of(entry, bytes);; at++) {
        uint32_t *slot = &table->slots[at & table->mask];
        if (*slot && memcmp(table->entries + (size_t)*slot * bytes, entry, bytes) == 0)
            return *slot;
        if (*slot)
            continue;
        if (table->count == table->max)
            return 0;
        memcpy(table->entries + (size_t)table->count * bytes, entry, bytes);
        return *slot = table->count++;
    }
}

/* Returns the string's index; 0: it is empty, or the table is full. */
static uint32_t intern_string(struct code_profile *p, struct profile_string string)
{
    if (!string.bytes)
        return 0;
    for (uint64_t at = hash_bytes(HASH_START, string.text, string.bytes);; at++) {
        uint32_t *slot = &p->string_slots[at & (2 * PROFILE_STRINGS_MAX - 1)];
        const struct profile_string *known = &p->strings[*slot];
        if (*slot && known->bytes == string.bytes && memcmp(known->text, string.text, string.bytes) == 0)
            return *slot;
        if (*slot)
            continue;
        if (p->string_count == PROFILE_STRINGS_MAX || string.bytes > sizeof p->text - p->text_used)
            return 0;
        memcpy(p->text + p->text_used, string.text, string.bytes);
        p->strings[p->string_count] = (struct profile_string){p->text + p->text_used, string.bytes};
        p->text_used += string.bytes;
        return *slot = p->string_count++;
    }
}

enum status code_profile_create(struct code_stacks *stacks, struct code_profile **profile)
{
    struct code_profile *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->stacks = stacks;
    for (enum table_id id = 0; id < TABLES; id++) {
        if (table_init(&made->tables[id], id) != STATUS_OK) {
            code_profile_destroy(made);
            return STATUS_NO_MEMORY;
        }
    }
    made->string_count = 1;
    code_profile_begin(made);
    *profile = made;
    return STATUS_OK;
}

void code_profile_destroy(struct code_profile *profile)
{
    if (!profile)
        return;
    for (enum table_id id = 0; id < TABLES; id++) {
        free(profile->tables[id].slots);
        free(profile->tables[id].entries);
    }
    free(profile);
}

/* Places. */

static bool is_same(const struct sample_place *place, uint64_t stack, const struct profile_link *link)
{
    return place->stack == stack && place->has_link == (link != NULL) &&
           (!link || memcmp(&place->link, link, sizeof *link) == 0);
}

static void begin_half(struct code_profile *p)
{
    struct half *half = &p->halves[++p->version & 1];
    memset(half->slots, 0, sizeof half->slots);
    half->count = 0;
    half->version = p->version;
}

/* Returns the index of the frame's location; 0: no room. In a profile a frame must have a function, so one
 * without a name gets its file's, or "?". */
static uint32_t intern_frame(struct code_profile *p, const struct code_stack_frame *frame)
{
    struct profile_string name = frame->function;
    struct profile_location location = {.line = frame->line, .type = PROFILE_FRAME_PYTHON};
    struct profile_function function = {0};
    if (!name.bytes)
        name = frame->file.bytes ? frame->file : (struct profile_string){"?", 1};
    function.name = intern_string(p, name);
    if (frame->flags & CODE_FRAME_IS_NATIVE) {
        struct profile_mapping mapping = {intern_string(p, code_without_offset(frame->file))};
        location.type = PROFILE_FRAME_NATIVE;
        location.mapping = mapping.file ? intern(&p->tables[MAPPINGS], &mapping) : 0;
    } else {
        function.file = intern_string(p, frame->file);
    }
    location.function = function.name ? intern(&p->tables[FUNCTIONS], &function) : 0;
    return location.function ? intern(&p->tables[LOCATIONS], &location) : 0;
}

/* Returns the node of the stack's innermost frame; 0: no frames, or no room for them. */
static uint32_t intern_stack(struct code_profile *p, const struct code_stack *stack)
{
    uint32_t locations[CODE_FRAMES_MAX], count = 0, at = 0, node = 0;
    struct code_stack_frame frame;
    while (count < CODE_FRAMES_MAX && code_stack_next(stack, &at, &frame))
        if (!(locations[count++] = intern_frame(p, &frame)))
            return 0;
    while (count > 0) {
        struct profile_node below = {node, locations[--count]};
        node = intern(&p->tables[NODES], &below);
        if (!node)
            return 0;
    }
    return node;
}

/* Finds the place's stack and link in the tables of this interval. */
static void settle(struct code_profile *p, struct sample_place *place, const struct code_stack *stack)
{
    place->interval = p->interval;
    place->node = stack ? intern_stack(p, stack) : 0;
    place->link_index = place->has_link ? intern(&p->tables[LINKS], &place->link) : 0;
}

uint32_t code_profile_place(struct code_profile *p, const struct code_stack *stack,
                            const struct profile_link *link)
{
    uint64_t number = stack ? stack->number : 0;
    if (!number && !link)
        return 0;
    if (p->halves[p->version & 1].count == PLACES_MAX)
        begin_half(p);
    struct half *half = &p->halves[p->version & 1];
    uint64_t hash = hash_word(HASH_START, number);
    if (link)
        hash ^= hash_of(link, sizeof *link);
    for (uint64_t at = hash * HASH_SPREAD >> 32;; at++) {
        uint16_t *slot = &half->slots[at & (2 * PLACES_MAX - 1)];
        if (*slot && !is_same(&half->places[*slot - 1], number, link))
            continue;
        if (!*slot) {
            half->places[half->count] = (struct sample_place){.stack = number, .has_link = link != NULL};
            if (link)
                half->places[half->count].link = *link;
            *slot = (uint16_t)++half->count;
        }
        if (half->places[*slot - 1].interval != p->interval)
            settle(p, &half->places[*slot - 1], stack);
        return half->version << INDEX_BITS | *slot;
    }
}

/* Returns the place with this number; NULL: it was forgotten. */
static struct sample_place *find_place(struct code_profile *p, uint32_t number)
{
    uint32_t version = number >> INDEX_BITS, index = (number & INDEX_MASK) - 1;
    struct half *half = &p->halves[version & 1];
    bool is_known = version == (half->version & UINT32_MAX >> INDEX_BITS) && index < half->count;
    return is_known ? &half->places[index] : NULL;
}

uint32_t code_profile_place_with(struct code_profile *p, uint32_t number, const struct code_stack *stack)
{
    const struct sample_place *place = number ? find_place(p, number) : NULL;
    struct profile_link link = {0};
    if (place)
        link = place->link;
    return code_profile_place(p, stack, place && place->has_link ? &link : NULL);
}

/* Work. */

static uint32_t intern_kernel(struct code_profile *p, struct profile_string name, uint64_t number)
{
    struct kept_name *kept = &p->names[number & (NAMES_KEPT - 1)];
    if (number && kept->number == number && kept->interval == p->interval)
        return kept->location;
    struct profile_function function = {.name = intern_string(p, name)};
    struct profile_location location = {.type = PROFILE_FRAME_CUDA};
    location.function = function.name ? intern(&p->tables[FUNCTIONS], &function) : 0;
    uint32_t index = location.function ? intern(&p->tables[LOCATIONS], &location) : 0;
    if (number)
        *kept = (struct kept_name){number, p->interval, index};
    return index;
}

/* Returns the sample's index; 0: no room. */
static uint32_t intern_sample(struct code_profile *p, uint32_t caller, uint32_t location, uint32_t link,
                              enum profile_kind kind)
{
    struct profile_node leaf = {caller, location};
    struct profile_stack stack = {location ? intern(&p->tables[NODES], &leaf) : 0};
    struct profile_sample sample = {.link = link, .kind = kind};
    sample.stack = stack.node ? intern(&p->tables[STACKS], &stack) : 0;
    if (!sample.stack && (caller || location))
        return 0;
    return intern(&p->tables[SAMPLES], &sample);
}

/* The last resort, a sample without link and stack, has its room from the start of the interval. */
void code_profile_add(struct code_profile *p, uint32_t place_number, enum profile_kind kind,
                      struct profile_string name, uint64_t number, uint64_t ns)
{
    struct sample_place *place = place_number ? find_place(p, place_number) : NULL;
    bool is_unplaced = place_number && !place;
    if (place && place->interval != p->interval)
        settle(p, place, place->stack && p->stacks ? code_stacks_find(p->stacks, place->stack) : NULL);
    uint32_t node = place ? place->node : 0, link = place ? place->link_index : 0;
    is_unplaced |= place && ((place->stack && !node) || (place->has_link && !link));
    uint32_t location = intern_kernel(p, name, number);
    uint32_t sample = intern_sample(p, node, location, link, kind);
    is_unplaced |= !location || !sample;
    if (!sample && link)
        sample = intern_sample(p, node, location, 0, kind);
    if (!sample)
        sample = intern_sample(p, 0, location, 0, kind);
    if (!sample)
        sample = intern_sample(p, 0, 0, 0, kind);
    counter_add_alone(COUNTER_profile_unplaced, is_unplaced);
    p->values[sample] += ns;
}

/* Intervals. */

bool code_profile_is_full(const struct code_profile *p)
{
    for (enum table_id id = 0; id < TABLES; id++)
        if (id != MAPPINGS && p->tables[id].count > p->tables[id].max / 4 * 3)
            return true;
    return p->string_count > PROFILE_STRINGS_MAX / 4 * 3 || p->text_used > PROFILE_TEXT_BYTES / 4 * 3;
}

const struct profile *code_profile_end(struct code_profile *p)
{
    const struct table *tables = p->tables;
    struct profile *view = &p->view;
    *view = (struct profile){.begin_ns = view->begin_ns,
                             .end_ns = clock_now_ns(),
                             .strings = p->strings,
                             .mappings = (const void *)tables[MAPPINGS].entries,
                             .functions = (const void *)tables[FUNCTIONS].entries,
                             .locations = (const void *)tables[LOCATIONS].entries,
                             .nodes = (const void *)tables[NODES].entries,
                             .stacks = (const void *)tables[STACKS].entries,
                             .links = (const void *)tables[LINKS].entries,
                             .samples = (const void *)tables[SAMPLES].entries,
                             .values = p->values,
                             .string_count = p->string_count,
                             .mapping_count = tables[MAPPINGS].count,
                             .function_count = tables[FUNCTIONS].count,
                             .location_count = tables[LOCATIONS].count,
                             .node_count = tables[NODES].count,
                             .stack_count = tables[STACKS].count,
                             .link_count = tables[LINKS].count,
                             .sample_count = tables[SAMPLES].count};
    for (uint32_t i = 1; i < view->sample_count; i++)
        view->samples_of[view->samples[i].kind] += p->values[i] != 0;
    return view;
}

void code_profile_begin(struct code_profile *p)
{
    p->interval++;
    p->view.begin_ns = clock_now_ns();
    for (enum table_id id = 0; id < TABLES; id++) {
        struct table *table = &p->tables[id];
        if (table->count > 1)
            memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof *table->slots);
        table->count = 1;
    }
    if (p->string_count > 1)
        memset(p->string_slots, 0, sizeof p->string_slots);
    p->string_count = 1;
    p->text_used = 0;
    memset(p->values, 0, sizeof p->values);
    for (enum profile_kind kind = 0; kind < PROFILE_KINDS; kind++)
        (void)intern_sample(p, 0, 0, 0, kind);
}
