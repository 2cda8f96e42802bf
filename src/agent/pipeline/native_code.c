#include "agent/pipeline/native_code.h"

#include "capture/stacks/native_frames.h"
#include "correlate/stacks/symbols.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 200 /* of a function; the rest is left out */

static struct symbols *symbols;

enum status native_code_start(void)
{
    return symbols ? STATUS_OK : symbols_create(NATIVE_CODE_SYMBOLS_BYTES, &symbols);
}

static bool begins_with_one_of(const char *path, const char *const *folders)
{
    for (; *folders; folders++)
        if (strncmp(path, *folders, strlen(*folders)) == 0)
            return true;
    return false;
}

/* Code of the program, and not of a package, the system, CUDA or Python. */
static bool is_programs(const char *module)
{
    static const char *const systems[] = {"/usr/lib",        "/lib/",        "/lib32/", "/lib64/",
                                          "/usr/local/cuda", "/opt/nvidia/", NULL};
    return !begins_with_one_of(module, systems) && !strstr(module, "/site-packages/") &&
           !strstr(module, "/dist-packages/") && !strstr(module, "/libpython");
}

/* "libtorch_cpu.so+0x1189", or the address alone. The length as that of snprintf(). */
static int write_place(const struct symbol_frame *frame, char *to, size_t size)
{
    const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;
    if (!frame->module)
        return snprintf(to, size, "0x%llx", (unsigned long long)frame->offset);
    return snprintf(to, size, "%s+0x%llx", slash ? slash + 1 : frame->module,
                    (unsigned long long)frame->offset);
}

/* Returns the frame's size; 0: no room. */
static uint32_t write_frame(uint64_t address, uint8_t *to, uint32_t room)
{
    char file[256], name[NAME_BYTES_MAX + 24];
    struct symbol_frame found = {.module = NULL};
    symbols_look_up(symbols, address, &found);
    int file_bytes = write_place(&found, file, sizeof file);
    int name_bytes = found.function ? snprintf(name, sizeof name, "%.*s+0x%llx", NAME_BYTES_MAX,
                                               found.function, (unsigned long long)found.in_function)
                                    : 0;
    if (file_bytes < 0 || file_bytes >= (int)sizeof file || name_bytes < 0)
        return 0;
    struct code_frame frame = {
        .file_bytes = (uint16_t)file_bytes, .name_bytes = (uint8_t)name_bytes, .flags = CODE_FRAME_IS_NATIVE};
    if (found.module && is_programs(found.module))
        frame.flags |= CODE_FRAME_IS_PROGRAMS;
    uint32_t bytes = (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    if (bytes > room)
        return 0;
    memcpy(to, &frame, sizeof frame);
    memcpy(to + sizeof frame, file, frame.file_bytes);
    memcpy(to + sizeof frame + frame.file_bytes, name, frame.name_bytes);
    return bytes;
}

/* Adds the frames that the walk could not reach. Returns the number of all. */
static uint32_t complete(const struct code_record *code, uint64_t frames[CODE_FRAMES_MAX], bool *is_cut)
{
    const struct code_addresses *addresses = (const struct code_addresses *)(const void *)code->frames;
    uint32_t count = code->frame_count < CODE_FRAMES_MAX ? code->frame_count : CODE_FRAMES_MAX;
    memcpy(frames, addresses->frames, count * sizeof *frames);
    *is_cut = code->flags & CODE_IS_CUT;
    if (!addresses->ticket)
        return count;
    struct native_walk rest = {.count = 0};
    if (count < CODE_FRAMES_MAX)
        native_frames_finish(addresses->ticket, frames + count, CODE_FRAMES_MAX - count, &rest);
    *is_cut = rest.end != NATIVE_END_OUTERMOST;
    return count + rest.count;
}

const struct code_record *native_code_name(const struct code_record *code)
{
    static union {
        struct code_record record;
        uint64_t words[CODE_RECORD_BYTES_MAX / 8];
    } named;
    uint64_t frames[CODE_FRAMES_MAX];
    bool is_cut;
    if (!(code->flags & CODE_IS_NATIVE) || !symbols)
        return code;
    uint32_t count = complete(code, frames, &is_cut), bytes = sizeof named.record, i = 0;
    for (; i < count; i++) {
        uint32_t more = write_frame(frames[i], (uint8_t *)&named + bytes, sizeof named - 8 - bytes);
        if (!more)
            break;
        bytes += more;
    }
    is_cut |= i < count;
    while (bytes % 8)
        ((uint8_t *)&named)[bytes++] = 0;
    named.record.head = (struct record_head){.bytes = bytes, .type = RECORD_CODE};
    named.record.id = code->id;
    named.record.frame_count = i;
    named.record.flags = CODE_IS_DESCRIBED | (code->flags & CODE_IS_OF_NODES) | (is_cut ? CODE_IS_CUT : 0u);
    return &named.record;
}
