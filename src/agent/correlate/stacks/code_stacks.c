#include "agent/correlate/stacks/code_stacks.h"

#include "base/accounting/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES         (2 * CODE_STACKS_MAX) /* a power of two */
#define STACK_TEXT_MAX (3 * CODE_RECORD_BYTES_MAX)

struct code_stacks {
    void (*forget)(void);
    bool keeps_frames;
    uint32_t count;
    uint32_t places[PLACES]; /* index in entries + 1; 0: free */
    struct code_stack entries[CODE_STACKS_MAX];
    size_t used, bytes; /* bytes used in `text`, and its size */
    _Alignas(8) char text[];
};

enum status code_stacks_create(void (*forget)(void), bool keeps_frames, struct code_stacks **stacks)
{
    size_t bytes = (size_t)CODE_STACKS_TEXT_BYTES * (keeps_frames ? 2 : 1);
    *stacks = calloc(1, sizeof **stacks + bytes);
    if (!*stacks)
        return STATUS_NO_MEMORY;
    (*stacks)->forget = forget;
    (*stacks)->keeps_frames = keeps_frames;
    (*stacks)->bytes = bytes;
    return STATUS_OK;
}

static uint32_t *place_of(struct code_stacks *stacks, uint64_t id)
{
    for (uint64_t at = id;; at++) {
        uint32_t *place = &stacks->places[at & (PLACES - 1)];
        if (!*place || stacks->entries[*place - 1].number == id)
            return place;
    }
}

/* Moves the stack and its text to the first free places; its strings follow one another, and then its frames.
 * False: kept stacks take half of the memory already. */
static bool move_down(struct code_stacks *stacks, const struct code_stack *from)
{
    struct code_stack stack = *from;
    size_t bytes = (size_t)(stack.function + strlen(stack.function) + 1 - stack.text);
    size_t all = bytes + (stack.frames ? 7 + stack.frames->head.bytes : 0);
    if (stacks->count == CODE_STACKS_MAX / 2 || stacks->used + all > stacks->bytes / 2)
        return false;
    char *to = stacks->text + stacks->used;
    memmove(to, stack.text, bytes);
    stack.file = stack.file ? to + (stack.file - stack.text) : NULL;
    stack.function = to + (stack.function - stack.text);
    stack.text = to;
    stack.is_of_nodes = false;
    stacks->used += bytes;
    if (stack.frames) {
        size_t at = (stacks->used + 7) & ~(size_t)7;
        stacks->used = at + stack.frames->head.bytes;
        stack.frames = memmove(stacks->text + at, stack.frames, stack.frames->head.bytes);
    }
    stacks->entries[stacks->count] = stack;
    *place_of(stacks, stack.number) = ++stacks->count;
    return true;
}

static void forget(struct code_stacks *stacks)
{
    uint32_t count = stacks->count;
    memset(stacks->places, 0, sizeof stacks->places);
    stacks->count = 0;
    stacks->used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (stacks->entries[i].is_of_nodes && !move_down(stacks, &stacks->entries[i]))
            break;
    counter_add(COUNTER_code_forgotten, 1);
    if (stacks->forget)
        stacks->forget();
}

/* Copies a text and returns the copy, NUL-terminated; NULL: no room. */
static char *keep(struct code_stacks *stacks, struct profile_string text)
{
    if (text.bytes + 1 > stacks->bytes - stacks->used)
        return NULL;
    char *to = stacks->text + stacks->used;
    if (text.bytes)
        memcpy(to, text.text, text.bytes);
    to[text.bytes] = '\0';
    stacks->used += text.bytes + 1;
    return to;
}

/* Copies the record with its frames and returns the copy; NULL: no room. */
static const struct code_record *keep_record(struct code_stacks *stacks, const struct code_record *record)
{
    size_t at = (stacks->used + 7) & ~(size_t)7;
    if (at > stacks->bytes || record->head.bytes > stacks->bytes - at)
        return NULL;
    stacks->used = at + record->head.bytes;
    return memcpy(stacks->text + at, record, record->head.bytes);
}

/* Reads the frame at offset `*at` of the record. False: the record ends within the frame. */
static bool next_frame(const struct code_record *record, uint32_t *at, struct code_stack_frame *frame)
{
    struct code_frame head;
    uint32_t room = record->head.bytes - *at;
    if (room < sizeof head)
        return false;
    memcpy(&head, (const uint8_t *)record + *at, sizeof head);
    if (room - sizeof head < (uint32_t)head.file_bytes + head.name_bytes)
        return false;
    const char *text = (const char *)record + *at + sizeof head;
    *frame = (struct code_stack_frame){
        {text, head.file_bytes}, {text + head.file_bytes, head.name_bytes}, head.line, head.flags};
    *at += (uint32_t)sizeof head + head.file_bytes + head.name_bytes;
    return true;
}

/* This and write_frame() write a frame's line and return its size, less than `max`; 0: no room. */
static size_t write_native(const struct code_stack_frame *frame, char *to, size_t max)
{
    int bytes = frame->function.bytes
                    ? snprintf(to, max, "%.*s (%.*s)\n", (int)frame->function.bytes, frame->function.text,
                               (int)frame->file.bytes, frame->file.text)
                    : snprintf(to, max, "%.*s\n", (int)frame->file.bytes, frame->file.text);
    return bytes < 0 || (size_t)bytes >= max ? 0 : (size_t)bytes;
}

static size_t write_frame(const struct code_stack_frame *frame, char *to, size_t max)
{
    if (frame->flags & CODE_FRAME_IS_NATIVE)
        return write_native(frame, to, max);
    int bytes = snprintf(to, max, "File \"%.*s\", line %u, in %.*s\n", (int)frame->file.bytes,
                         frame->file.text, frame->line, (int)frame->function.bytes, frame->function.text);
    return bytes < 0 || (size_t)bytes >= max ? 0 : (size_t)bytes;
}

struct profile_string code_without_offset(struct profile_string name)
{
    const char *offset = memrchr(name.text, '+', name.bytes);
    return (struct profile_string){name.text, offset ? (uint32_t)(offset - name.text) : name.bytes};
}

/* Whether `frame` describes the stack better than `than`, which is further in. The program's innermost frame
 * is best, then the innermost one that is not native. */
static bool counts_more(const struct code_stack_frame *frame, const struct code_stack_frame *than)
{
    return frame->flags & ~than->flags & CODE_FRAME_IS_PROGRAMS ||
           (than->flags & ~frame->flags & CODE_FRAME_IS_NATIVE && !(than->flags & CODE_FRAME_IS_PROGRAMS));
}

/* Fills the stack's texts and program frame from the record. False: no room. */
static bool describe(struct code_stacks *stacks, const struct code_record *record, struct code_stack *stack)
{
    char text[STACK_TEXT_MAX];
    size_t bytes = 0;
    struct code_stack_frame frame, programs = {.line = 0};
    bool is_cut = record->flags & CODE_IS_CUT;
    uint32_t at = sizeof *record;
    for (uint32_t i = 0; i < record->frame_count && next_frame(record, &at, &frame); i++) {
        if (i == 0 || counts_more(&frame, &programs))
            programs = frame;
        size_t more = write_frame(&frame, text + bytes, sizeof text - bytes - sizeof "...");
        is_cut |= !more;
        bytes += more;
    }
    if (is_cut)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "...\n");
    stack->text = keep(stacks, (struct profile_string){text, bytes ? (uint32_t)bytes - 1 : 0});
    bool is_native = programs.flags & CODE_FRAME_IS_NATIVE;
    stack->file = is_native ? NULL : keep(stacks, programs.file);
    stack->function = keep(stacks, is_native ? code_without_offset(programs.function) : programs.function);
    stack->line = programs.line;
    stack->frames = stacks->keeps_frames ? keep_record(stacks, record) : NULL;
    return stack->text && stack->function && (stack->file || is_native) &&
           (stack->frames || !stacks->keeps_frames);
}

void code_id_text(uint64_t id, char text[CODE_ID_CHARS + 1])
{
    snprintf(text, CODE_ID_CHARS + 1, "%016llx", (unsigned long long)id);
}

static struct code_stack *add(struct code_stacks *stacks, const struct code_record *record)
{
    struct code_stack *stack = &stacks->entries[stacks->count];
    *stack = (struct code_stack){.number = record->id};
    code_id_text(record->id, stack->id);
    if (!describe(stacks, record, stack))
        return NULL;
    *place_of(stacks, record->id) = ++stacks->count;
    counter_add(COUNTER_code_stacks, 1);
    return stack;
}

struct code_stack *code_stacks_note(struct code_stacks *stacks, const struct code_record *record)
{
    uint32_t place = *place_of(stacks, record->id);
    if (place)
        return &stacks->entries[place - 1];
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
    stacks->entries[place - 1].is_of_nodes = true;
    return &stacks->entries[place - 1];
}

const struct code_stack *code_stacks_find(struct code_stacks *stacks, uint64_t number)
{
    uint32_t place = *place_of(stacks, number);
    return place ? &stacks->entries[place - 1] : NULL;
}

/* `*at` is an offset in bytes from the record's first frame. */
bool code_stack_next(const struct code_stack *stack, uint32_t *at, struct code_stack_frame *frame)
{
    uint32_t in_record = *at + (uint32_t)sizeof *stack->frames;
    if (!stack->frames || !next_frame(stack->frames, &in_record, frame))
        return false;
    *at = in_record - (uint32_t)sizeof *stack->frames;
    if (frame->flags & CODE_FRAME_IS_NATIVE)
        frame->function = code_without_offset(frame->function);
    return true;
}
