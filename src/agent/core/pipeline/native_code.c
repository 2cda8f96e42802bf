#include "agent/core/pipeline/native_code.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/process/loader.h"
#include "agent/capture/stacks/native_frames.h"
#include "agent/correlate/stacks/symbols.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 200               /* of a function; the rest is left out */
#define NAME_BYTES_MIN 64                /* of one in a deep stack */
#define OFFSET_BYTES   24                /* "+0x1189" */
#define AT_ONCE_MAX    NATIVE_COPIES     /* stacks that are being named, of as many threads */
#define WAIT_MAX_NS    (250 * NS_PER_MS) /* then a stack is named whatever it takes */
#define STUB           "__device_stub__"
#define PREPARED_MAX   32                /* large libraries of which symbols are read in advance */
#define LOOK_NS        (100 * NS_PER_MS) /* between two looks for new ones */

/* A stack that is being named: its native frames, and those that have names. Of a Python stack, the native
 * caller is the only one. */
struct naming {
    const struct code_record *code; /* in its thread's ring; NULL: none */
    uint64_t since_ns, last_ns;
    uint32_t generation;
    uint64_t frames[CODE_FRAMES_MAX];
    uint32_t count, next;
    bool is_cut;
    char stub[NAME_BYTES_MAX]; /* the last frame, if it is a kernel's stub; otherwise empty */
    union {
        struct code_record record;
        uint64_t words[CODE_RECORD_BYTES_MAX / 8];
    } named;
};

/* Libraries whose symbols are read before a stack needs them: an address in the code of each. Another library
 * may take the place of one that was unloaded, so its path counts, too. */
struct prepared {
    struct prepared_library {
        uint64_t address, path; /* the path's hash */
    } libraries[PREPARED_MAX];
    size_t count, done;
    unsigned long long loaded, seen; /* as the loader counts, at the last look and in this one */
    uint64_t code_bytes_min, look_ns;
};

static struct symbols *symbols;
static struct prepared prepared;
static struct naming *namings; /* AT_ONCE_MAX */
static uint64_t allowed_ns = UINT64_MAX;

enum status native_code_start(void)
{
    namings = namings ? namings : calloc(AT_ONCE_MAX, sizeof *namings);
    if (!namings)
        return STATUS_NO_MEMORY;
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
static bool is_programs_module(const char *module)
{
    static const char *const systems[] = {"/usr/lib",        "/lib/",        "/lib32/", "/lib64/",
                                          "/usr/local/cuda", "/opt/nvidia/", NULL};
    return !begins_with_one_of(module, systems) && !strstr(module, "/site-packages/") &&
           !strstr(module, "/dist-packages/") && !strstr(module, "/libpython");
}

/* A function of the CUDA runtime, which is often linked into the program, or the stub that nvcc makes for
 * `<<<>>>`. */
static bool is_of_runtime(const char *function)
{
    bool is_c = !strchr(function, '('); /* C++ has parameters, and is the program's */
    size_t prefix = strncmp(function, "cuda", 4) == 0 ? 4 : strncmp(function, "cu", 2) == 0 ? 2 : 0;
    return (is_c && prefix && function[prefix] >= 'A' && function[prefix] <= 'Z') ||
           strncmp(function, "__cuda", 6) == 0 || strncmp(function, STUB, strlen(STUB)) == 0 ||
           strstr(function, "cudaLaunchKernel<");
}

struct kernel {
    const char *name;
    size_t bytes; /* 0: unknown */
};

/* "fill" of "__device_stub__ZN2ns4fillEPi", and of "__device_stub__fill" (extern "C"). */
static struct kernel kernel_of(const char *stub)
{
    const char *at = stub + strlen(STUB);
    struct kernel kernel = {at, strcspn(at, "(")};
    if (*at != 'Z')
        return kernel;
    at += 1 + strspn(at + 1, "NL");
    while (*at >= '1' && *at <= '9') {
        char *name;
        unsigned long bytes = strtoul(at, &name, 10);
        if (bytes > strlen(name)) /* cut */
            return (struct kernel){name, 0};
        kernel = (struct kernel){name, bytes};
        at = name + bytes;
    }
    return kernel;
}

/* Without optimization, the stub has a caller with the kernel's name: "ns::fill(int*)". */
static bool calls_stub(const char *function, const char *stub)
{
    const char *end = function + strcspn(function, "(<"), *name = end;
    while (name > function && name[-1] != ':' && name[-1] != ' ')
        name--;
    struct kernel kernel = kernel_of(stub);
    return end > name && kernel.bytes == (size_t)(end - name) && memcmp(kernel.name, name, kernel.bytes) == 0;
}

static bool is_programs_frame(const struct symbol_frame *found, char stub[NAME_BYTES_MAX])
{
    const char *function = found->function ? found->function : "";
    bool is_stubs_caller = *stub && calls_stub(function, stub);
    bool is_stub = strncmp(function, STUB, strlen(STUB)) == 0;
    snprintf(stub, NAME_BYTES_MAX, "%s", is_stub ? function : "");
    return found->module && is_programs_module(found->module) && !is_of_runtime(function) && !is_stubs_caller;
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

/* Of a frame: what all that are left can have, because the outermost ones tell most, such as autograd's node.
 */
static int name_bytes_max(uint32_t room, uint32_t frames_left, int file_bytes)
{
    int bytes = (int)(room / frames_left) - (int)sizeof(struct code_frame) - file_bytes - OFFSET_BYTES;
    return bytes < NAME_BYTES_MIN ? NAME_BYTES_MIN : bytes < NAME_BYTES_MAX ? bytes : NAME_BYTES_MAX;
}

/* Returns the frame's size; 0: no room. */
static uint32_t write_frame(const struct symbol_frame *found, bool is_programs, uint32_t frames_left,
                            uint8_t *to, uint32_t room)
{
    char file[256], name[NAME_BYTES_MAX + OFFSET_BYTES];
    int file_bytes = write_place(found, file, sizeof file);
    int max = name_bytes_max(room, frames_left, file_bytes);
    int name_bytes = found->function ? snprintf(name, sizeof name, "%.*s+0x%llx", max, found->function,
                                                (unsigned long long)found->in_function)
                                     : 0;
    if (file_bytes < 0 || file_bytes >= (int)sizeof file || name_bytes < 0)
        return 0;
    struct code_frame frame = {
        .file_bytes = (uint16_t)file_bytes, .name_bytes = (uint8_t)name_bytes, .flags = CODE_FRAME_IS_NATIVE};
    if (is_programs)
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
    if (code->flags & CODE_HAS_CALLER) {
        const struct code_caller *caller = (const struct code_caller *)(const void *)code->frames;
        naming->frames[0] = caller->address;
        naming->generation = (uint32_t)caller->generation;
        naming->is_cut = code->flags & CODE_IS_CUT;
        naming->count = 1;
        return;
    }
    const struct code_addresses *addresses = (const struct code_addresses *)(const void *)code->frames;
    uint32_t count = code->frame_count < CODE_FRAMES_MAX ? code->frame_count : CODE_FRAMES_MAX;
    struct native_walk rest = {.count = 0};
    memcpy(naming->frames, addresses->frames, count * sizeof *naming->frames);
    if (addresses->ticket && count < CODE_FRAMES_MAX)
        native_frames_finish(addresses->ticket, naming->frames + count, CODE_FRAMES_MAX - count, &rest);
    naming->is_cut = addresses->ticket ? rest.end != NATIVE_END_OUTERMOST : code->flags & CODE_IS_CUT;
    naming->count = count + rest.count;
    naming->generation = (uint32_t)addresses->generation;
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
    *oldest->stub = '\0';
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
        bool is_programs =
            is_programs_frame(&found, naming->stub) && !(naming->code->flags & CODE_HAS_CALLER);
        uint32_t more = write_frame(&found, is_programs, naming->count - naming->next,
                                    (uint8_t *)named + named->head.bytes,
                                    (uint32_t)sizeof naming->named - 8 - named->head.bytes);
        if (!more)
            break;
        named->head.bytes += more;
        if (++naming->next < naming->count && clock_monotonic_ns() >= until_ns)
            return false;
    }
    return true;
}

/* Adds the Python frames of a stack with a native caller. The outermost ones may have no room. */
static void add_python(struct naming *naming)
{
    const uint8_t *from = naming->code->frames + sizeof(struct code_caller);
    struct code_record *named = &naming->named.record;
    uint32_t room = (uint32_t)sizeof naming->named - 8 - named->head.bytes, bytes = 0, count = 0;
    while (count < naming->code->frame_count) {
        struct code_frame frame;
        memcpy(&frame, from + bytes, sizeof frame);
        uint32_t more = (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
        if (more > room - bytes)
            break;
        bytes += more;
        count++;
    }
    memcpy((uint8_t *)named + named->head.bytes, from, bytes);
    named->head.bytes += bytes;
    named->frame_count += count;
    naming->count = naming->next; /* a caller without room is left out */
    naming->is_cut |= count < naming->code->frame_count;
}

/* A name must never be that of another library's function: such frames are unknown. */
static const struct code_record *finish(struct naming *naming)
{
    struct code_record *named = &naming->named.record;
    if (!native_frames_are_current(naming->generation, naming->frames, naming->count)) {
        named->head.bytes = sizeof *named;
        naming->count = naming->next = 0;
    }
    named->frame_count = naming->next;
    if (naming->code->flags & CODE_HAS_CALLER)
        add_python(naming);
    bool is_cut = naming->is_cut || naming->next < naming->count;
    while (named->head.bytes % 8)
        ((uint8_t *)named)[named->head.bytes++] = 0;
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
    if (!(code->flags & (CODE_IS_NATIVE | CODE_HAS_CALLER)) || !symbols)
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

static int note_large(struct dl_phdr_info *info, size_t size, void *context)
{
    bool counts = size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds;
    if (counts && info->dlpi_adds == prepared.loaded)
        return 1;
    prepared.seen = counts ? info->dlpi_adds : 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        struct prepared_library library = {info->dlpi_addr + header->p_vaddr + header->p_memsz / 2,
                                           hash_text(HASH_START, info->dlpi_name ? info->dlpi_name : "")};
        bool is_known = header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
                        header->p_memsz < prepared.code_bytes_min || prepared.count == PREPARED_MAX;
        for (size_t k = 0; k < prepared.count && !is_known; k++)
            is_known = prepared.libraries[k].address == library.address &&
                       prepared.libraries[k].path == library.path;
        if (!is_known)
            prepared.libraries[prepared.count++] = library;
    }
    return 0;
}

/* A file that is read in parts starts again if another one is read meanwhile. */
static bool is_naming(void)
{
    for (const struct naming *naming = namings; naming < namings + AT_ONCE_MAX; naming++)
        if (naming->code)
            return true;
    return false;
}

bool native_code_prepare(uint64_t now_ns, uint64_t code_bytes_min)
{
    if (!symbols || !allowed_ns || is_naming())
        return false;
    if (now_ns >= prepared.look_ns) {
        prepared.look_ns = now_ns + LOOK_NS;
        prepared.code_bytes_min = code_bytes_min;
        if (loader_visit(note_large, NULL))
            prepared.loaded = prepared.seen;
    }
    if (prepared.done == prepared.count)
        return false;
    struct symbol_frame found;
    uint64_t until_ns = allowed_ns == UINT64_MAX ? UINT64_MAX : clock_monotonic_ns() + allowed_ns;
    prepared.done +=
        symbols_look_up_until(symbols, prepared.libraries[prepared.done].address, until_ns, &found);
    return prepared.done < prepared.count;
}
