/* With arbitrary bytes, the reader ends with END or an error and accesses only its own memory. Random bytes
 * never have the right checksums, so the first byte selects how the rest is used: as a file, or as the
 * content of a well-formed block. */
#include "agent/recording/recording.h"

#include "agent/correlate/stacks/code_stacks.h"
#include "agent/recording/recording_format.h"
#include "model/cuda/activities.h"

#include "fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t put_header(uint8_t *to)
{
    struct format_header header = {.major = FORMAT_MAJOR};
    memcpy(header.magic, FORMAT_MAGIC, sizeof header.magic);
    header.crc = format_crc(&header, NULL, 0);
    memcpy(to, &header, sizeof header);
    return sizeof header;
}

/* The first two bytes give `events`; the rest is the block's content. */
static size_t put_block(uint8_t *to, const uint8_t *data, size_t size)
{
    struct format_block head = {.mark = FORMAT_MARK_BLOCK, .raw = (uint32_t)size, .events = 1000000};
    uLongf stored = compressBound(size);
    if (compress2(to + sizeof head, &stored, data, size, 1) != Z_OK)
        return 0;
    head.stored = (uint32_t)stored;
    head.crc = format_crc(&head, to + sizeof head, head.stored);
    memcpy(to, &head, sizeof head);
    return sizeof head + stored;
}

static volatile uint64_t sink;
static struct code_stacks *stacks;

/* A stack in a file consists of text: addresses would be those of this process. All frames of a described one
 * are there; the pipeline reads them again for the span's attributes. */
static void look_at_code(const struct code_record *code)
{
    if (code->flags & (CODE_IS_NATIVE | CODE_HAS_CALLER) || code->head.bytes % 8 ||
        code->frame_count > CODE_FRAMES_MAX)
        abort();
    const uint8_t *at = code->frames, *end = (const uint8_t *)code + code->head.bytes;
    for (uint32_t i = 0; i < (code->flags & CODE_IS_DESCRIBED ? code->frame_count : 0); i++) {
        struct code_frame frame;
        if ((size_t)(end - at) < sizeof frame)
            abort();
        memcpy(&frame, at, sizeof frame);
        at += sizeof frame;
        if (end - at < frame.file_bytes + frame.name_bytes)
            abort();
        at += frame.file_bytes + frame.name_bytes;
    }
    if (!stacks && code_stacks_create(NULL, true, &stacks) != STATUS_OK)
        abort();
    const struct code_stack *stack = code_stacks_note(stacks, code);
    struct code_stack_frame next;
    for (uint32_t from = 0; stack && code_stack_next(stack, &from, &next);)
        sink += next.file.bytes + next.function.bytes + next.line;
    if (stack)
        sink += strlen(stack->text) + strlen(stack->function) + (stack->file ? strlen(stack->file) : 0);
}

static void look_at_engine(const struct engine_event *event)
{
    if (event->type == ENGINE_ITERATION && event->iteration.part_count)
        sink += event->parts[event->iteration.part_count - 1].drafts + strlen(event->iteration.engine);
    if (event->type == ENGINE_REQUEST)
        sink += strlen(event->request.id) + strlen(event->request.trace_state);
    if (event->type == ENGINE_REQUEST && event->request.header_bytes)
        sink += strlen((const char *)event->parts) + event->request.header_bytes;
}

/* Like every consumer: uses each field of the record. */
static void look_at(const struct recording_event *event)
{
    if (event->call)
        sink += event->call
                    ->values[(event->call->head.bytes - sizeof *event->call) / 8 - 1 + !event->call->present];
    if (event->name)
        sink += strlen(event->name);
    if (event->text)
        sink += strlen(event->text);
    if (event->step)
        sink += event->step->nonce + event->step->kind + event->step->source;
    if (event->step && event->step->event)
        look_at_engine(event->step->event);
    if (event->code)
        look_at_code(event->code);
    for (unsigned f = 0; event->activity && f < ACTIVITY_FIELDS_MAX; f++) {
        const struct activity_info *info = &activity_table[event->activity->kind];
        const char *at = (const char *)(uintptr_t)event->activity->values[f];
        if (!info->fields || f >= info->field_count || !(event->activity->present >> f & 1))
            continue;
        if (info->fields[f].type == FIELD_STRING && at)
            sink += strlen(at);
        if (info->fields[f].type == FIELD_BYTES && info->fields[f].size > 0)
            sink += (uint8_t)at[info->fields[f].size - 1];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > FORMAT_RAW_MAX)
        return 0;
    uint8_t *file = malloc(sizeof(struct format_header) + sizeof(struct format_block) + compressBound(size));
    size_t bytes = size - 1;
    if (data[0] & 1) {
        bytes = put_header(file);
        bytes += put_block(file + bytes, data + 1, size - 1);
    } else {
        memcpy(file, data + 1, size - 1);
    }
    int fd = memfd_create("recording", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, file, bytes) == (ssize_t)bytes) {
        struct recording *recording;
        struct recording_event event;
        struct error err;
        enum status status = recording_open(path, &recording, &err);
        while (status == STATUS_OK) {
            status = recording_next(recording, &event, &err);
            if (status == STATUS_OK)
                look_at(&event);
        }
        recording_close(recording);
        free(stacks); /* a finding does not depend on the inputs before it */
        stacks = NULL;
    }
    close(fd);
    free(file);
    return 0;
}
