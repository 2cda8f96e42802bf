#include "correlate/stacks/code_stacks.h"

#include "base/accounting/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES         (2 * CODE_STACKS_MAX) /* a power of two */
#define STACK_TEXT_MAX (3 * CODE_RECORD_BYTES_MAX)

struct entry {
    uint64_t id;
    struct code_stack stack;
};

struct code_stacks {
    void (*forget)(void);
    uint32_t count;
    uint32_t places[PLACES]; /* index in entries + 1; 0: free */
    struct entry entries[CODE_STACKS_MAX];
    size_t used;
    char text[CODE_STACKS_TEXT_BYTES];
};

enum status code_stacks_create(void (*forget)(void), struct code_stacks **stacks)
{
    *stacks = calloc(1, sizeof **stacks);
    if (!*stacks)
        return STATUS_NO_MEMORY;
    (*stacks)->forget = forget;
    return STATUS_OK;
}

void code_stacks_destroy(struct code_stacks *stacks)
{
    free(stacks);
}

static uint32_t *place_of(struct code_stacks *stacks, uint64_t id)
{
    for (uint64_t at = id;; at++) {
        uint32_t *place = &stacks->places[at & (PLACES - 1)];
        if (!*place || stacks->entries[*place - 1].id == id)
            return place;
    }
}

/* Moves the entry and its text to the first free places; its strings follow one another. False: kept entries
 * take half of the memory already. */
static bool move_down(struct code_stacks *stacks, const struct entry *from)
{
    struct entry entry = *from;
    size_t bytes = (size_t)(entry.stack.function + strlen(entry.stack.function) + 1 - entry.stack.text);
    if (stacks->count == CODE_STACKS_MAX / 2 || bytes > sizeof stacks->text / 2 - stacks->used)
        return false;
    char *to = stacks->text + stacks->used;
    memmove(to, entry.stack.text, bytes);
    entry.stack.file = entry.stack.file ? to + (entry.stack.file - entry.stack.text) : NULL;
    entry.stack.function = to + (entry.stack.function - entry.stack.text);
    entry.stack.text = to;
    entry.stack.is_of_nodes = false;
    stacks->used += bytes;
    stacks->entries[stacks->count] = entry;
    *place_of(stacks, entry.id) = ++stacks->count;
    return true;
}

static void forget(struct code_stacks *stacks)
{
    uint32_t count = stacks->count;
    memset(stacks->places, 0, sizeof stacks->places);
    stacks->count = 0;
    stacks->used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (stacks->entries[i].stack.is_of_nodes && !move_down(stacks, &stacks->entries[i]))
            break;
    counter_add(COUNTER_code_forgotten, 1);
    if (stacks->forget)
        stacks->forget();
}

struct text {
    const char *at;
    size_t bytes;
};

/* NULL: no room. */
static char *keep(struct code_stacks *stacks, struct text text)
{
    if (text.bytes + 1 > sizeof stacks->text - stacks->used)
        return NULL;
    char *to = stacks->text + stacks->used;
    if (text.bytes)
        memcpy(to, text.at, text.bytes);
    to[text.bytes] = '\0';
    stacks->used += text.bytes + 1;
    return to;
}

struct frame {
    struct text file, function;
    uint32_t line;
    uint8_t flags;
};

/* False: the record ends within the frame. */
static bool next_frame(const struct code_record *record, uint32_t *at, struct frame *frame)
{
    struct code_frame head;
    uint32_t room = record->head.bytes - *at;
    if (room < sizeof head)
        return false;
    memcpy(&head, (const uint8_t *)record + *at, sizeof head);
    if (room - sizeof head < (uint32_t)head.file_bytes + head.name_bytes)
        return false;
    const char *text = (const char *)record + *at + sizeof head;
    *frame = (struct frame){
        {text, head.file_bytes}, {text + head.file_bytes, head.name_bytes}, head.line, head.flags};
    *at += (uint32_t)sizeof head + head.file_bytes + head.name_bytes;
    return true;
}

/* Each returns the text's size, less than `max`; 0: no room. */
static size_t write_native(const struct frame *frame, char *to, size_t max)
{
    int bytes = frame->function.bytes ? snprintf(to, max, "%.*s (%.*s)\n", (int)frame->function.bytes,
                                                 frame->function.at, (int)frame->file.bytes, frame->file.at)
                                      : snprintf(to, max, "%.*s\n", (int)frame->file.bytes, frame->file.at);
    return bytes < 0 || (size_t)bytes >= max ? 0 : (size_t)bytes;
}

static size_t write_frame(const struct frame *frame, char *to, size_t max)
{
    if (frame->flags & CODE_FRAME_IS_NATIVE)
        return write_native(frame, to, max);
    int bytes = snprintf(to, max, "File \"%.*s\", line %u, in %.*s\n", (int)frame->file.bytes, frame->file.at,
                         frame->line, (int)frame->function.bytes, frame->function.at);
    return bytes < 0 || (size_t)bytes >= max ? 0 : (size_t)bytes;
}

/* "f" of "f+0x1c". */
static struct text without_offset(struct text name)
{
    size_t bytes = name.bytes;
    while (bytes && name.at[bytes - 1] != '+')
        bytes--;
    return (struct text){name.at, bytes ? bytes - 1 : name.bytes};
}

/* False: no room. */
static bool describe(struct code_stacks *stacks, const struct code_record *record, struct code_stack *stack)
{
    char text[STACK_TEXT_MAX];
    size_t bytes = 0;
    struct frame frame, programs = {.line = 0};
    bool is_cut = record->flags & CODE_IS_CUT;
    uint32_t at = sizeof *record;
    for (uint32_t i = 0; i < record->frame_count && next_frame(record, &at, &frame); i++) {
        if (i == 0 || (frame.flags & ~programs.flags & CODE_FRAME_IS_PROGRAMS))
            programs = frame;
        size_t more = write_frame(&frame, text + bytes, sizeof text - bytes - sizeof "...");
        is_cut |= !more;
        bytes += more;
    }
    if (is_cut)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "...\n");
    stack->text = keep(stacks, (struct text){text, bytes ? bytes - 1 : 0});
    bool is_native = programs.flags & CODE_FRAME_IS_NATIVE;
    stack->file = is_native ? NULL : keep(stacks, programs.file);
    stack->function = keep(stacks, is_native ? without_offset(programs.function) : programs.function);
    stack->line = programs.line;
    return stack->text && stack->function && (stack->file || is_native);
}

void code_id_text(uint64_t id, char text[CODE_ID_CHARS + 1])
{
    snprintf(text, CODE_ID_CHARS + 1, "%016llx", (unsigned long long)id);
}

static struct code_stack *add(struct code_stacks *stacks, const struct code_record *record)
{
    struct entry *entry = &stacks->entries[stacks->count];
    *entry = (struct entry){.id = record->id};
    code_id_text(record->id, entry->stack.id);
    if (!describe(stacks, record, &entry->stack))
        return NULL;
    *place_of(stacks, record->id) = ++stacks->count;
    counter_add(COUNTER_code_stacks, 1);
    return &entry->stack;
}

struct code_stack *code_stacks_note(struct code_stacks *stacks, const struct code_record *record)
{
    uint32_t place = *place_of(stacks, record->id);
    if (place)
        return &stacks->entries[place - 1].stack;
    if (!(record->flags & CODE_IS_DESCRIBED) || !record->frame_count) {
        counter_add(COUNTER_code_unknown, 1);
        return NULL;
    }
    struct code_stack *stack = stacks->count < CODE_STACKS_MAX ? add(stacks, record) : NULL;
    if (stack)
        return stack;
    forget(stacks);
    return add(stacks, record);
}

struct code_stack *code_stacks_of_nodes(struct code_stacks *stacks, uint64_t id)
{
    uint32_t place = *place_of(stacks, id);
    if (!place)
        return NULL;
    stacks->entries[place - 1].stack.is_of_nodes = true;
    return &stacks->entries[place - 1].stack;
}
