#include "agent/pipeline/native_code.h"

#include "base/clock.h"
#include "capture/stacks/native_frames.h"
#include "correlate/stacks/symbols.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 200               /* of a function; the rest is left out */
#define AT_ONCE_MAX    NATIVE_COPIES     /* stacks that are being named, of as many threads */
#define WAIT_MAX_NS    (250 * NS_PER_MS) /* then a stack is named whatever it takes */

/* A stack that is being named: its frames, and those that have names. */
struct naming {
    const struct code_record *code; /* in its thread's ring; NULL: none */
    uint64_t since_ns, last_ns;
    uint64_t frames[CODE_FRAMES_MAX];
    uint32_t count, next;
    bool is_cut;
    union {
        struct code_record record;
        uint64_t words[CODE_RECORD_BYTES_MAX / 8];
    } named;
};

static struct symbols *symbols;
static struct naming namings[AT_ONCE_MAX];
static uint64_t allowed_ns = UINT64_MAX;

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
static uint32_t write_frame(const struct symbol_frame *found, uint8_t *to, uint32_t room)
{
    char file[256], name[NAME_BYTES_MAX + 24];
    int file_bytes = write_place(found, file, sizeof file);
    int name_bytes = found->function ? snprintf(name, sizeof name, "%.*s+0x%llx", NAME_BYTES_MAX,
                                                found->function, (unsigned long long)found->in_function)
                                     : 0;
    if (file_bytes < 0 || file_bytes >= (int)sizeof file || name_bytes < 0)
        return 0;
    struct code_frame frame = {
        .file_bytes = (uint16_t)file_bytes, .name_bytes = (uint8_t)name_bytes, .flags = CODE_FRAME_IS_NATIVE};
    if (found->module && is_programs(found->module))
        frame.flags |= CODE_FRAME_IS_PROGRAMS;
    uint32_t bytes = (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    if (bytes > room)
        return 0;
    memcpy(to, &frame, sizeof frame);
    memcpy(to + sizeof frame, file, frame.file_bytes);
    memcpy(to + sizeof frame + frame.file_bytes, name, frame.name_bytes);
    return bytes;
}

/* Takes the record's frames, and adds those that the walk could not reach. */
static void take_frames(struct naming *naming, const struct code_record *code)
{
    const struct code_addresses *addresses = (const struct code_addresses *)(const void *)code->frames;
    uint32_t count = code->frame_count < CODE_FRAMES_MAX ? code->frame_count : CODE_FRAMES_MAX;
    struct native_walk rest = {.count = 0};
    memcpy(naming->frames, addresses->frames, count * sizeof *naming->frames);
    if (addresses->ticket && count < CODE_FRAMES_MAX)
        native_frames_finish(addresses->ticket, naming->frames + count, CODE_FRAMES_MAX - count, &rest);
    naming->is_cut = addresses->ticket ? rest.end != NATIVE_END_OUTERMOST : code->flags & CODE_IS_CUT;
    naming->count = count + rest.count;
}

/* The stack's place. A new stack takes the place that was not used for the longest time. */
static struct naming *find_naming(const struct code_record *code, uint64_t now_ns)
{
    struct naming *oldest = namings;
    for (struct naming *naming = namings; naming < namings + AT_ONCE_MAX; naming++) {
        if (naming->code == code && naming->named.record.id == code->id)
            return naming;
        if (oldest->code && (!naming->code || naming->last_ns < oldest->last_ns))
            oldest = naming;
    }
    struct code_record *named = &oldest->named.record;
    *named = (struct code_record){.head = {.bytes = sizeof *named, .type = RECORD_CODE}, .id = code->id};
    oldest->code = code;
    oldest->since_ns = now_ns;
    oldest->next = 0;
    take_frames(oldest, code);
    return oldest;
}

/* Each call makes some progress. False: the time is over. */
static bool name_frames(struct naming *naming, uint64_t until_ns)
{
    struct code_record *named = &naming->named.record;
    while (naming->next < naming->count) {
        struct symbol_frame found;
        if (!symbols_look_up_until(symbols, naming->frames[naming->next], until_ns, &found))
            return false;
        uint32_t more = write_frame(&found, (uint8_t *)named + named->head.bytes,
                                    (uint32_t)sizeof naming->named - 8 - named->head.bytes);
        if (!more)
            break;
        named->head.bytes += more;
        if (++naming->next < naming->count && clock_monotonic_ns() >= until_ns)
            return false;
    }
    return true;
}

static const struct code_record *finish(struct naming *naming)
{
    struct code_record *named = &naming->named.record;
    bool is_cut = naming->is_cut || naming->next < naming->count;
    while (named->head.bytes % 8)
        ((uint8_t *)named)[named->head.bytes++] = 0;
    named->frame_count = naming->next;
    named->flags = CODE_IS_DESCRIBED | (naming->code->flags & CODE_IS_OF_NODES) | (is_cut ? CODE_IS_CUT : 0u);
    naming->code = NULL;
    return named;
}

void native_code_allow(uint64_t ns)
{
    allowed_ns = ns;
}

const struct code_record *native_code_name(const struct code_record *code)
{
    if (!(code->flags & CODE_IS_NATIVE) || !symbols)
        return code;
    if (!allowed_ns)
        return NULL;
    uint64_t now_ns = clock_monotonic_ns();
    struct naming *naming = find_naming(code, now_ns);
    bool is_late = now_ns - naming->since_ns >= WAIT_MAX_NS;
    bool is_unlimited = is_late || allowed_ns == UINT64_MAX;
    naming->last_ns = now_ns;
    bool is_done = name_frames(naming, is_unlimited ? UINT64_MAX : now_ns + allowed_ns);
    if (allowed_ns != UINT64_MAX) {
        uint64_t spent_ns = clock_monotonic_ns() - now_ns;
        allowed_ns -= spent_ns < allowed_ns ? spent_ns : allowed_ns;
    }
    return is_done ? finish(naming) : NULL;
}
