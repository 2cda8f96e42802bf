#include "agent/pipeline/stack_text.h"

#include "base/hash.h"
#include "correlate/spans/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 192 /* of a demangled name; longer ones are truncated */

/* File name prefixes. libcudart exists unless it is linked statically. */
static const char *const not_the_programs[] = {"libcuspan", "libcupti", "libcuda.so", "libcudart",
                                               "libnvidia-"};

struct kept {
    uint64_t hash; /* 0: free */
    uint32_t frame_count;
    uint64_t frames[STACK_FRAMES_MAX];
    char text[STACKS_TEXT_BYTES];
};

static struct kept *kept;

enum status stack_text_init(void)
{
    if (!kept)
        kept = calloc(STACKS_KEPT, sizeof *kept);
    return kept ? STATUS_OK : STATUS_NO_MEMORY;
}

struct frame {
    uint64_t offset;               /* offset in the module; without a module, the address */
    const char *module, *function; /* NULL: unknown */
    uint64_t in_function;
};

/* This is the return address, which may already be the start of another function. */
static struct frame look_up(uint64_t address)
{
    struct frame frame = {.offset = address};
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)(address - 1), &info) || !info.dli_fname)
        return frame;
    const char *slash = strrchr(info.dli_fname, '/');
    frame.module = slash ? slash + 1 : info.dli_fname;
    frame.offset = address - (uint64_t)(uintptr_t)info.dli_fbase;
    if (info.dli_sname && info.dli_saddr) {
        frame.function = info.dli_sname;
        frame.in_function = address - (uint64_t)(uintptr_t)info.dli_saddr;
    }
    return frame;
}

static bool is_programs(const struct frame *frame)
{
    for (size_t i = 0; frame->module && i < sizeof not_the_programs / sizeof *not_the_programs; i++)
        if (strncmp(frame->module, not_the_programs[i], strlen(not_the_programs[i])) == 0)
            return false;
    return true;
}

static int write_frame(const struct frame *frame, char *to, size_t size)
{
    char name[NAME_BYTES];
    if (!frame->module)
        return snprintf(to, size, "0x%llx", (unsigned long long)frame->offset);
    if (!frame->function)
        return snprintf(to, size, "%s+0x%llx", frame->module, (unsigned long long)frame->offset);
    if (!demangle_name(frame->function, name, sizeof name))
        snprintf(name, sizeof name, "%s", frame->function);
    return snprintf(to, size, "%s+0x%llx (%s+0x%llx)", name, (unsigned long long)frame->in_function,
                    frame->module, (unsigned long long)frame->offset);
}

/* Complete lines only. */
static void write_text(const uint64_t *frames, uint32_t count, char text[STACKS_TEXT_BYTES])
{
    uint32_t shown = 0;
    size_t length = 0;
    *text = '\0';
    for (uint32_t i = 0; i < count && shown < STACKS_SHOWN_MAX; i++) {
        struct frame frame = look_up(frames[i]);
        if (!shown && !is_programs(&frame))
            continue;
        char *to = text + length;
        size_t room = STACKS_TEXT_BYTES - length;
        int added = snprintf(to, room, shown ? "\n" : "");
        added += write_frame(&frame, to + added, room - (size_t)added);
        if ((size_t)added >= room) {
            *to = '\0';
            return;
        }
        length += (size_t)added;
        shown++;
    }
}

static uint64_t hash_of(const uint64_t *frames, uint32_t count)
{
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < count; i++) {
        hash = hash_word(hash, frames[i]);
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

const char *stack_text_of(const struct stack_record *record)
{
    uint32_t count = (uint32_t)((record->head.bytes - sizeof *record) / sizeof *record->frames);
    if (!kept || count > STACK_FRAMES_MAX)
        return "";
    uint64_t hash = hash_of(record->frames, count);
    struct kept *place = &kept[hash % STACKS_KEPT];
    size_t bytes = count * sizeof *record->frames;
    if (place->hash == hash && place->frame_count == count &&
        memcmp(place->frames, record->frames, bytes) == 0)
        return place->text;
    place->hash = hash;
    place->frame_count = count;
    memcpy(place->frames, record->frames, bytes);
    write_text(record->frames, count, place->text);
    return place->text;
}
