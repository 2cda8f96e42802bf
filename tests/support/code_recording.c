/* Copies a recording and gives its calls stacks:   code_recording FROM TO
 *
 * By the call's correlation ID modulo 7: 0 to 4 a Python stack whose program's line is 10 + the rest; 5 none;
 * 6 a native stack. The nodes that a graph is made of have one of the first five, by their ID.
 * tests/integration/agent/profiles_test.py knows the stacks. */
#include "agent/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_CREATED 13 /* CUPTI's number of the resource event */

static union {
    struct code_record record;
    uint64_t words[CODE_RECORD_BYTES_MAX / 8];
} code;

static void add_frame(const char *file, uint32_t line, const char *name, uint8_t flags)
{
    struct code_frame frame = {line, (uint16_t)strlen(file), (uint8_t)strlen(name), flags};
    uint8_t *to = (uint8_t *)&code + code.record.head.bytes;
    memcpy(to, &frame, sizeof frame);
    memcpy(to + sizeof frame, file, frame.file_bytes);
    memcpy(to + sizeof frame + frame.file_bytes, name, frame.name_bytes);
    code.record.head.bytes += (uint32_t)sizeof frame + frame.file_bytes + frame.name_bytes;
    code.record.frame_count++;
}

static void make_code(uint32_t rest)
{
    memset(&code, 0, sizeof code);
    code.record = (struct code_record){
        .head = {sizeof code.record, RECORD_CODE, 0, 0}, .id = 1000 + rest, .flags = CODE_IS_DESCRIBED};
    if (rest == 6) {
        add_frame("/usr/lib/libtorch_cpu.so+0x1189", 0, "at::native::add+0x1c", CODE_FRAME_IS_NATIVE);
        add_frame("/opt/program+0x20", 0, "", CODE_FRAME_IS_NATIVE | CODE_FRAME_IS_PROGRAMS);
    } else {
        add_frame("site-packages/torch/nn/functional.py", 100, "linear", 0);
        add_frame("model.py", 10 + rest, "Block.forward", CODE_FRAME_IS_PROGRAMS);
        add_frame("train.py", 5, "<module>", CODE_FRAME_IS_PROGRAMS);
    }
    code.record.head.bytes = (code.record.head.bytes + 7) & ~7u;
}

static enum status copy_resource(struct recording_writer *to, uint64_t tid, struct resource_record resource)
{
    enum status status = STATUS_OK;
    if (resource.head.cbid == NODE_CREATED) {
        make_code((uint32_t)(resource.handle % 5));
        code.record.flags |= CODE_IS_OF_NODES;
        resource.code = code.record.id;
        status = RECORDING_WRITE(to, CODE, .code = &code.record);
    }
    return status == STATUS_OK ? RECORDING_WRITE(to, RESOURCE, .tid = tid, .resource = &resource) : status;
}

/* Before all calls of the thread, whose spans so belong to the last context. */
static enum status copy_annotation(struct recording_writer *to, uint64_t tid,
                                   const struct record_head *annotation)
{
    union {
        struct resource_record record; /* head and time, as all annotations have them */
        uint64_t words[256];
    } copy;
    memcpy(&copy, annotation, annotation->bytes);
    copy.record.time_ns = 0;
    return RECORDING_WRITE(to, ANNOTATION, .tid = tid, .annotation = &copy.record.head);
}

static enum status copy(struct recording_writer *to, const struct recording_event *event)
{
    switch (event->type) {
    case RECORDING_CALL:
        make_code(event->call->correlation_id % 7);
        if (event->call->correlation_id % 7 != 5 &&
            RECORDING_WRITE(to, CODE, .correlation_id = event->call->correlation_id, .code = &code.record) !=
                STATUS_OK)
            return STATUS_INVALID;
        return recording_write(to, event);
    case RECORDING_RESOURCE:
        return copy_resource(to, event->tid, *event->resource);
    case RECORDING_ANNOTATION:
        return copy_annotation(to, event->tid, event->annotation);
    case RECORDING_CODE:
        return STATUS_OK;
    default:
        return recording_write(to, event);
    }
}

static int fail(const struct error *err)
{
    fprintf(stderr, "code_recording: %s\n", err->text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct recording *from;
    struct recording_writer *to;
    struct recording_event event;
    struct error err = {"usage: code_recording FROM TO"};
    if (argc != 3 || recording_open(argv[1], &from, &err) != STATUS_OK ||
        recording_writer_create(argv[2], &to, &err) != STATUS_OK)
        return fail(&err);
    enum status status, written = STATUS_OK;
    while ((status = recording_next(from, &event, &err)) == STATUS_OK && written == STATUS_OK)
        written = copy(to, &event);
    snprintf(err.text, sizeof err.text, "%s", status_text(written == STATUS_OK ? status : written));
    if (status != STATUS_END || recording_writer_close(to, &err) != STATUS_OK)
        return fail(&err);
    recording_close(from);
    return EXIT_SUCCESS;
}
