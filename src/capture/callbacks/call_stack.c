#include "capture/callbacks/call_stack.h"

#include <errno.h>
#include <execinfo.h>
#include <string.h>

#define FRAMES_OWN 1 /* call_stack_walk() itself */

bool call_stack_start(void)
{
    void *frames[2];
    return backtrace(frames, 2) > 0;
}

uint32_t call_stack_walk(struct stack_record *record)
{
    void *frames[FRAMES_OWN + STACK_FRAMES_MAX];
    int saved_errno = errno;
    int count = backtrace(frames, FRAMES_OWN + STACK_FRAMES_MAX) - FRAMES_OWN;
    errno = saved_errno;
    if (count <= 0)
        return 0;
    for (int i = 0; i < count; i++)
        record->frames[i] = (uint64_t)(uintptr_t)frames[FRAMES_OWN + i];
    uint32_t bytes = (uint32_t)(sizeof *record + (unsigned)count * sizeof *record->frames);
    record->head = (struct record_head){.bytes = bytes, .type = RECORD_STACK};
    return bytes;
}
