#include "model/hang/live_reader.h"

#include "base/text/utf8.h"
#include "model/step.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS_MAX 0x7fffffffu

/* Copies a part from both copies. False: they differ. */
static bool copy_part(void *to, void *again, const void *first, const void *second, size_t bytes)
{
    live_copy(to, first, bytes);
    atomic_thread_fence(memory_order_acquire);
    live_copy(again, second, bytes);
    return memcmp(to, again, bytes) == 0;
}

static void copy_name(char to[LIVE_NAME_BYTES], const char *from)
{
    size_t i = 0;
    for (; i < LIVE_NAME_BYTES - 1 && from[i]; i++)
        to[i] = from[i] > ' ' && from[i] <= '~' ? from[i] : '?';
    memset(to + i, 0, LIVE_NAME_BYTES - i);
}

static bool is_inside(uint64_t start, uint64_t count, uint64_t size, uint64_t bytes)
{
    return start % 8 == 0 && size % 8 == 0 && start <= bytes &&
           (count == 0 || size <= (bytes - start) / count);
}

/* Sizes may have grown in a later version, at the end of each struct. */
static enum status check(const struct live_header *header, size_t bytes, struct error *err)
{
    if (bytes < sizeof *header || memcmp(header->magic, LIVE_STATE_MAGIC, sizeof header->magic) != 0)
        return error_set(err, STATUS_INVALID, "not a live state of cuspan");
    if (header->version != LIVE_STATE_VERSION)
        return error_set(err, STATUS_INVALID,
                         "a live state of version %u, and this cuspan reads version %d; use the cuspan that "
                         "the program runs with",
                         header->version, LIVE_STATE_VERSION);
    bool is_sound =
        header->header_bytes >= sizeof *header && header->entry_bytes >= sizeof(struct live_entry) &&
        header->entry_bytes % 8 == 0 && header->entry_count > 0 && header->entry_count <= LIVE_ENTRIES &&
        header->communicator_bytes >=
            sizeof(struct live_communicator) + (uint64_t)header->entry_count * header->entry_bytes &&
        header->nccl_call_bytes >= sizeof(struct live_nccl_call) &&
        header->cuda_call_bytes >= sizeof(struct live_cuda_call) &&
        header->communicator_count <= LIVE_COMMUNICATORS && header->nccl_call_count <= LIVE_NCCL_CALLS &&
        header->cuda_call_count <= LIVE_CUDA_CALLS &&
        is_inside(header->communicators_at, header->communicator_count, header->communicator_bytes, bytes) &&
        is_inside(header->nccl_calls_at, header->nccl_call_count, header->nccl_call_bytes, bytes) &&
        is_inside(header->cuda_calls_at, header->cuda_call_count, header->cuda_call_bytes, bytes) &&
        header->line_bytes >= sizeof(struct live_line) && header->line_count <= LIVE_LINES &&
        header->thread_line_count <= header->line_count &&
        is_inside(header->lines_at, header->line_count, header->line_bytes, bytes);
    return is_sound ? STATUS_OK
                    : error_set(err, STATUS_INVALID, "a damaged live state: its sizes do not fit");
}

static void read_entry(const struct live_entry *entry, uint32_t entries, uint32_t index,
                       struct live_communicator_view *view)
{
    uint64_t sequence = entry->sequence;
    if (!sequence || sequence % 2 || entry->operation == COLLECTIVE_NONE ||
        entry->operation >= COLLECTIVE_COUNT || (sequence - 2) / 2 % entries != index)
        return;
    view->calls[view->call_count++] = (struct live_call_view){.number = (sequence - 2) / 2,
                                                              .ordinal = entry->ordinal,
                                                              .enqueued_ns = entry->enqueued_ns,
                                                              .bytes = entry->bytes,
                                                              .code = entry->code,
                                                              .thread = entry->thread,
                                                              .peer = entry->peer,
                                                              .operation = entry->operation,
                                                              .datatype = entry->datatype,
                                                              .flags = entry->flags};
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = ((const struct live_call_view *)a)->number;
    uint64_t right = ((const struct live_call_view *)b)->number;
    return (left > right) - (left < right);
}

/* Leaves out calls that are not among the latest ones of the newest, as a hostile writer could have them. */
static void order(struct live_communicator_view *view, uint32_t entries)
{
    qsort(view->calls, view->call_count, sizeof *view->calls, by_number);
    uint32_t stale = 0;
    while (view->call_count &&
           view->calls[view->call_count - 1].number - view->calls[stale].number >= entries)
        stale++;
    view->call_count -= stale;
    memmove(view->calls, view->calls + stale, view->call_count * sizeof *view->calls);
}

static void read_communicator(const struct live_header *header, const uint8_t *first, const uint8_t *second,
                              struct live_view *view)
{
    struct live_communicator head;
    live_copy(&head, first, sizeof head); /* each word counts alone */
    if (!head.id)
        return;
    struct live_communicator_view *to = &view->communicators[view->communicator_count++];
    to->id = head.id;
    to->enqueued = head.enqueued;
    to->completed = head.completed;
    to->last_enqueued_ns = head.last_enqueued_ns;
    to->last_ended_ns = head.last_ended_ns;
    to->ranks = head.ranks <= RANKS_MAX ? head.ranks : 0;
    to->rank = head.rank;
    to->local_ranks = head.local_ranks && head.local_ranks <= RANKS_MAX ? head.local_ranks : 1;
    to->call_count = 0;
    for (uint32_t i = 0; i < header->entry_count; i++) {
        struct live_entry entry, again;
        size_t at = sizeof head + (size_t)i * header->entry_bytes;
        if (copy_part(&entry, &again, first + at, second + at, sizeof entry))
            read_entry(&entry, header->entry_count, i, to);
    }
    order(to, header->entry_count);
}

static void read_nccl_call(const uint8_t *first, const uint8_t *second, struct live_view *view)
{
    struct live_nccl_call call, again;
    uint64_t words[LIVE_NAME_BYTES / 8];
    if (!copy_part(&call, &again, first, second, sizeof call) || !call.since_ns || !call.thread)
        return;
    struct live_thread_view *to = &view->nccl_calls[view->nccl_call_count++];
    *to = (struct live_thread_view){
        .since_ns = call.since_ns, .communicator = call.communicator, .thread = call.thread};
    for (size_t i = 0; i < LIVE_NAME_BYTES / 8; i++)
        words[i] = call.name[i];
    copy_name(to->name, (const char *)words);
}

static void read_line(const uint8_t *first, const uint8_t *second, bool is_of_thread, struct live_view *view)
{
    struct live_line line, again;
    uint64_t words[LIVE_LINE_BYTES / 8];
    const char *text = (const char *)words;
    if (!copy_part(&line, &again, first, second, sizeof line) || !line.key)
        return;
    struct live_line_view *to = &view->lines[view->line_count++];
    view->thread_line_count += is_of_thread;
    *to = (struct live_line_view){.key = line.key};
    for (size_t i = 0; i < LIVE_LINE_BYTES / 8; i++)
        words[i] = line.text[i];
    size_t length = strnlen(text, LIVE_LINE_BYTES - 1), used = 0;
    for (size_t i = 0; i < length;) {
        struct utf8_step step = utf8_next((const uint8_t *)text + i, length - i);
        if (step.valid && (unsigned char)text[i] >= ' ' && text[i] != 0x7f) {
            memcpy(to->text + used, text + i, step.len);
            used += step.len;
        }
        i += step.len;
    }
}

/* Reads what one sequence guards. `now` is a second copy of the header. */
static void read_look(const struct live_header *header, const struct live_header *now, const uint8_t *calls,
                      struct live_view *view)
{
    if (header->sequence % 2 || header->sequence != now->sequence || header->watch > LIVE_OVER)
        return;
    view->has_look = true;
    view->watch = (enum live_watch)header->watch;
    view->looked_ns = header->looked_ns;
    view->moved_ns = header->moved_ns;
    view->stalls = header->stalls;
    view->stalled_ns = header->stalled_ns;
    view->gpu_ended_ns = header->gpu_ended_ns;
    view->exact_ns = header->exact_ns;
    view->work =
        header->exact_ns && header->work < LIVE_WORK_COUNT ? (enum live_work)header->work : LIVE_WORK_UNKNOWN;
    view->work_began_ns = header->work_began_ns;
    for (uint32_t i = 0; i < header->cuda_calls_used && i < header->cuda_call_count; i++) {
        struct live_cuda_call call = {0};
        live_copy(&call, calls + (size_t)i * header->cuda_call_bytes, sizeof call);
        struct live_thread_view *to = &view->cuda_calls[view->cuda_call_count++];
        *to = (struct live_thread_view){.since_ns = call.since_ns, .thread = call.thread, .cbid = call.cbid};
        copy_name(to->name, call.name);
    }
}

enum status live_view_of(const void *first, const void *second, size_t bytes, struct live_view *view,
                         struct error *err)
{
    struct live_header header = {.version = 0}, now;
    const uint8_t *one = first, *two = second;
    if (bytes >= sizeof header)
        live_copy(&header, first, sizeof header);
    enum status status = check(&header, bytes, err);
    if (status != STATUS_OK)
        return status;
    view->pid = header.pid;
    view->started_ticks = header.started_ticks;
    view->rank = header.rank;
    view->world_size = header.world_size;
    view->realtime_offset_ns = header.realtime_offset_ns;
    view->left_out_calls = header.left_out_calls;
    view->steps = header.steps;
    view->step_began_ns = header.step_began_ns;
    view->step_number = header.step_number;
    view->step_kind = header.step_kind <= STEP_NONE ? header.step_kind : STEP_NONE;
    view->has_look = false;
    view->watch = LIVE_NOT_WATCHED;
    view->looked_ns = view->moved_ns = view->stalls = view->stalled_ns = view->gpu_ended_ns = 0;
    view->exact_ns = view->work_began_ns = 0;
    view->work = LIVE_WORK_UNKNOWN;
    view->communicator_count = view->nccl_call_count = view->cuda_call_count = 0;
    view->thread_line_count = view->line_count = 0;
    for (uint32_t i = 0; i < header.communicator_count; i++) {
        size_t at = header.communicators_at + (size_t)i * header.communicator_bytes;
        read_communicator(&header, one + at, two + at, view);
    }
    for (uint32_t i = 0; i < header.nccl_call_count; i++) {
        size_t at = header.nccl_calls_at + (size_t)i * header.nccl_call_bytes;
        read_nccl_call(one + at, two + at, view);
    }
    for (uint32_t i = 0; i < header.line_count; i++) {
        size_t at = header.lines_at + (size_t)i * header.line_bytes;
        read_line(one + at, two + at, i < header.thread_line_count, view);
    }
    live_copy(&now, second, sizeof now);
    read_look(&header, &now, one + header.cuda_calls_at, view);
    return STATUS_OK;
}

const char *live_view_thread_line(const struct live_view *view, uint32_t thread)
{
    for (uint32_t i = 0; thread && i < view->thread_line_count; i++)
        if (view->lines[i].key == thread)
            return view->lines[i].text;
    return NULL;
}

const char *live_view_code_line(const struct live_view *view, uint64_t code)
{
    for (uint32_t i = view->thread_line_count; code && i < view->line_count; i++)
        if (view->lines[i].key == code)
            return view->lines[i].text;
    return NULL;
}

bool live_view_is_in_call(const struct live_view *view, uint32_t thread)
{
    bool is_in_call = false;
    for (uint32_t i = 0; i < view->nccl_call_count; i++)
        is_in_call |= view->nccl_calls[i].thread == thread;
    for (uint32_t i = 0; i < view->cuda_call_count; i++)
        is_in_call |= view->cuda_calls[i].thread == thread;
    return is_in_call;
}

bool live_view_is_exact(const struct live_view *view, const struct live_communicator_view *communicator)
{
    bool is_exact = view->exact_ns && communicator->last_enqueued_ns <= view->exact_ns;
    bool has_ends = communicator->completed + communicator->call_count >= communicator->enqueued;
    for (uint32_t i = 0; i < communicator->call_count; i++) {
        uint8_t flags = communicator->calls[i].flags;
        has_ends |= (flags & LIVE_ENDED) != 0; /* otherwise forgotten calls may not have ended */
        /* If all work has ended, such a call has, too: its kernel could not be told from others. */
        bool is_traced = flags & LIVE_TRACED && view->work != LIVE_WORK_NONE;
        is_exact &= flags & LIVE_ENDED || is_traced || !(flags & LIVE_RETURNED);
    }
    return is_exact && has_ends;
}

/* Reads at most `bytes`; -1 and errno. */
static ssize_t read_all(int fd, uint8_t *to, size_t bytes)
{
    size_t used = 0;
    while (used < bytes) {
        ssize_t more = pread(fd, to + used, bytes - used, (off_t)used);
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        used += (size_t)more;
    }
    return (ssize_t)used;
}

enum status live_view_read(int fd, struct live_view *view, struct error *err)
{
    struct stat found;
    if (fstat(fd, &found) != 0)
        return error_set(err, STATUS_IO, "cannot read the live state (%m)");
    if (!S_ISREG(found.st_mode) || found.st_size > LIVE_FILE_BYTES_MAX ||
        found.st_size < (off_t)sizeof(struct live_header))
        return error_set(err, STATUS_INVALID, "not a live state of cuspan");
    size_t size = (size_t)found.st_size;
    uint8_t *first = malloc(2 * ((size + 7) & ~(size_t)7));
    if (!first)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the live state");
    uint8_t *second = first + ((size + 7) & ~(size_t)7);
    ssize_t one = read_all(fd, first, size), two = read_all(fd, second, size);
    enum status status = one < 0 || two < 0
                             ? error_set(err, STATUS_IO, "cannot read the live state (%m)")
                             : live_view_of(first, second, (size_t)(one < two ? one : two), view, err);
    free(first);
    return status;
}
