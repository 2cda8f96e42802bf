#include "model/hang/live_state.h"

#include "base/clock.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROBES     32
#define COUNTS_MAX 4096 /* by communicator and operation, for Send and Recv also by peer */

#define GET(place)        atomic_load_explicit(&(place), memory_order_relaxed)
#define SET(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)

static_assert(sizeof(struct live_entry) == 64 && sizeof(struct live_communicator) == 128 &&
                  sizeof(struct live_nccl_call) == 56 && sizeof(struct live_cuda_call) == 48 &&
                  sizeof(struct live_line) == 192,
              "readers of other versions depend on the sizes");
static_assert(LIVE_STATE_BYTES < 320 * 1024, "settings.h counts on it (SETTINGS_HANG_BYTES)");

struct live_header *_Atomic live_state_now;

/* The calls of one operation that are known to have ended. Only the pipeline thread adds; the watch thread
 * reads. */
static struct {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t ended;
} counts[COUNTS_MAX];

/* The calling thread's calls of NCCL. */
static __thread struct {
    uint32_t depth; /* of nested calls */
    uint32_t id;    /* the kernel's thread ID; 0: not asked yet */
    uint32_t slot;  /* in nccl_calls, + 1; 0: none */
    uint32_t entry_depth;
    struct live_entry *entry; /* of the collective in progress; NULL: none */
    uint64_t sequence;        /* of that entry */
} self __attribute__((tls_model("initial-exec")));

static void *at(const struct live_header *live, uint32_t offset)
{
    return (uint8_t *)(uintptr_t)live + offset;
}

static struct live_communicator *communicator_at(const struct live_header *live, uint64_t index)
{
    return at(live,
              live->communicators_at + (uint32_t)(index % LIVE_COMMUNICATORS) * live->communicator_bytes);
}

/* Takes a free place for the communicator. NULL: there are too many. */
static struct live_communicator *communicator_of(const struct live_header *live, uint64_t id, bool may_add)
{
    uint64_t first = collective_mix(0, id);
    for (uint64_t i = first; i - first < LIVE_COMMUNICATORS; i++) {
        struct live_communicator *found = communicator_at(live, i);
        uint64_t there = GET(found->id);
        if (!there && (!may_add || atomic_compare_exchange_strong(&found->id, &there, id)))
            return may_add ? found : NULL;
        if (there == id)
            return found;
    }
    return NULL;
}

void live_state_begin(void *memory, const struct live_identity *identity)
{
    struct live_header *live = memory;
    live->version = LIVE_STATE_VERSION;
    live->header_bytes = sizeof *live;
    live->communicator_count = LIVE_COMMUNICATORS;
    live->communicator_bytes = LIVE_COMMUNICATOR_BYTES(LIVE_ENTRIES);
    live->entry_count = LIVE_ENTRIES;
    live->entry_bytes = sizeof(struct live_entry);
    live->nccl_call_count = LIVE_NCCL_CALLS;
    live->nccl_call_bytes = sizeof(struct live_nccl_call);
    live->cuda_call_count = LIVE_CUDA_CALLS;
    live->cuda_call_bytes = sizeof(struct live_cuda_call);
    live->line_count = LIVE_LINES;
    live->line_bytes = sizeof(struct live_line);
    live->thread_line_count = LIVE_THREAD_LINES;
    live->lines_at = LIVE_LINES_AT;
    live->communicators_at = LIVE_COMMUNICATORS_AT;
    live->nccl_calls_at = LIVE_NCCL_CALLS_AT;
    live->cuda_calls_at = LIVE_CUDA_CALLS_AT;
    live->total_bytes = LIVE_STATE_BYTES;
    live->pid = identity->pid;
    live->started_ticks = identity->started_ticks;
    live->rank = identity->rank;
    live->world_size = identity->world_size;
    live->realtime_offset_ns = (int64_t)(clock_read_ns(CLOCK_REALTIME) - clock_monotonic_ns());
    atomic_thread_fence(memory_order_release);
    memcpy(live->magic, LIVE_STATE_MAGIC, sizeof live->magic);
    atomic_store_explicit(&live_state_now, live, memory_order_release);
}

struct live_header *live_state_forget(void)
{
    return atomic_exchange(&live_state_now, NULL);
}

static struct live_header *current(void)
{
    return atomic_load_explicit(&live_state_now, memory_order_acquire);
}

void live_note_communicator(uint64_t id, uint32_t ranks, uint32_t rank, uint32_t local_ranks)
{
    const struct live_header *live = current();
    struct live_communicator *communicator = live && id ? communicator_of(live, id, true) : NULL;
    if (!communicator)
        return;
    SET(communicator->rank, rank);
    SET(communicator->local_ranks, local_ranks ? local_ranks : 1);
    SET(communicator->ranks, ranks);
}

/* Notes a collective, and what live_return_from_call() needs of it. */
static void enqueue(struct live_header *live, const struct live_start *start, uint64_t now_ns)
{
    struct live_communicator *communicator = communicator_of(live, start->communicator, true);
    if (!communicator) {
        atomic_fetch_add_explicit(&live->left_out_calls, 1, memory_order_relaxed);
        return;
    }
    uint64_t number = atomic_fetch_add_explicit(&communicator->enqueued, 1, memory_order_relaxed);
    struct live_entry *entry = &communicator->entries[number % LIVE_ENTRIES];
    SET(entry->sequence, 2 * number + 1);
    atomic_thread_fence(memory_order_release);
    SET(entry->enqueued_ns, now_ns);
    SET(entry->ordinal, start->ordinal);
    SET(entry->bytes, start->bytes);
    SET(entry->code, 0);
    SET(entry->thread, self.id);
    SET(entry->peer, start->peer);
    SET(entry->operation, (uint8_t)start->operation);
    SET(entry->datatype, start->datatype);
    SET(entry->flags, 0);
    atomic_store_explicit(&entry->sequence, 2 * number + 2, memory_order_release);
    SET(communicator->last_enqueued_ns, now_ns);
    self.entry = entry;
    self.entry_depth = self.depth;
    self.sequence = 2 * number + 2;
}

/* Notes the thread's outermost call. With more than LIVE_NCCL_CALLS threads in NCCL, some are missing. */
static void enter(const struct live_header *live, const struct live_start *start, uint64_t now_ns)
{
    uint64_t name[LIVE_NAME_BYTES / 8] = {0};
    struct live_nccl_call *calls = at(live, live->nccl_calls_at);
    size_t bytes = start->name_bytes < LIVE_NAME_BYTES - 1 ? start->name_bytes : LIVE_NAME_BYTES - 1;
    if (start->name)
        memcpy(name, start->name, bytes);
    for (uint32_t i = self.id; i - self.id < LIVE_NCCL_CALLS; i++) {
        struct live_nccl_call *call = &calls[i % LIVE_NCCL_CALLS];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&call->thread, &none, self.id))
            continue;
        SET(call->communicator, start->communicator);
        for (size_t word = 0; word < LIVE_NAME_BYTES / 8; word++)
            SET(call->name[word], name[word]);
        atomic_store_explicit(&call->since_ns, now_ns, memory_order_release);
        self.slot = i % LIVE_NCCL_CALLS + 1;
        return;
    }
}

void live_begin_call(const struct live_start *start)
{
    struct live_header *live = current();
    if (!live)
        return;
    if (!self.id)
        self.id = (uint32_t)syscall(SYS_gettid);
    uint64_t now_ns = clock_monotonic_ns();
    if (self.depth++ == 0)
        enter(live, start, now_ns);
    if (start->operation && start->communicator && !self.entry)
        enqueue(live, start, now_ns);
}

static void leave_entry(void)
{
    /* 64 later calls may have taken the place while this one was in progress. */
    if (GET(self.entry->sequence) == self.sequence)
        atomic_fetch_or_explicit(&self.entry->flags, LIVE_RETURNED, memory_order_release);
    self.entry = NULL;
}

void live_return_from_call(void)
{
    const struct live_header *live = current();
    if (!live || !self.depth) {
        self.depth = self.slot = 0; /* also in a forked child */
        self.entry = NULL;
        return;
    }
    if (self.entry && self.entry_depth == self.depth)
        leave_entry();
    if (--self.depth > 0 || !self.slot)
        return;
    struct live_nccl_call *call = (struct live_nccl_call *)at(live, live->nccl_calls_at) + (self.slot - 1);
    SET(call->since_ns, 0);
    atomic_store_explicit(&call->thread, 0, memory_order_release);
    self.slot = 0;
}

void live_note_step(int64_t number, uint32_t kind)
{
    struct live_header *live = current();
    if (!live)
        return;
    SET(live->step_number, number);
    SET(live->step_kind, kind);
    SET(live->step_began_ns, clock_monotonic_ns());
    atomic_fetch_add_explicit(&live->steps, 1, memory_order_release);
}

/* Lines. */

static void set_line(uint32_t place, uint64_t key, const char *text)
{
    const struct live_header *live = current();
    uint64_t words[LIVE_LINE_BYTES / 8] = {0};
    size_t length = strlen(text), left_out = length < LIVE_LINE_BYTES ? 0 : length - LIVE_LINE_BYTES + 1;
    if (!live)
        return;
    struct live_line *line = (struct live_line *)at(live, live->lines_at) + place;
    memcpy(words, text + left_out, length - left_out);
    SET(line->key, 0);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < LIVE_LINE_BYTES / 8; i++)
        SET(line->text[i], words[i]);
    atomic_store_explicit(&line->key, key, memory_order_release);
}

void live_note_thread(uint32_t place, uint32_t thread, const char *line)
{
    set_line(place % LIVE_THREAD_LINES, thread, line);
}

bool live_has_code(uint64_t code)
{
    const struct live_header *live = current();
    const struct live_line *lines = live ? at(live, live->lines_at) : NULL;
    for (uint32_t i = LIVE_THREAD_LINES; lines && i < LIVE_LINES; i++)
        if (GET(lines[i].key) == code)
            return true;
    return false;
}

void live_note_code(uint64_t code, const char *line)
{
    static uint32_t next; /* of the pipeline thread: the oldest line goes */
    set_line(LIVE_THREAD_LINES + next++ % LIVE_CODE_LINES, code, line);
}

/* The pipeline thread's facts about a collective. It is among the latest ones. */

static struct live_entry *entry_of(const struct live_name *name, uint64_t *sequence)
{
    const struct live_header *live = current();
    struct live_communicator *of =
        live && name->communicator ? communicator_of(live, name->communicator, false) : NULL;
    uint64_t enqueued = of ? GET(of->enqueued) : 0;
    for (uint64_t i = 0; i < LIVE_ENTRIES && i < enqueued; i++) {
        struct live_entry *entry = &of->entries[(enqueued - 1 - i) % LIVE_ENTRIES];
        *sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
        if (GET(entry->ordinal) == name->ordinal && GET(entry->operation) == (uint8_t)name->operation &&
            (!collective_is_p2p(name->operation) || GET(entry->peer) == name->peer))
            return *sequence % 2 ? NULL : entry;
    }
    return NULL;
}

/* A program's thread may take the entry for a later call meanwhile. Then the value is cleared or wrong. */
static bool is_still(const struct live_entry *entry, uint64_t sequence)
{
    atomic_thread_fence(memory_order_acquire);
    return GET(entry->sequence) == sequence;
}

void live_note_launch(const struct live_name *name, uint64_t code)
{
    uint64_t sequence;
    struct live_entry *entry = entry_of(name, &sequence);
    if (!entry || !is_still(entry, sequence))
        return;
    if (code)
        SET(entry->code, code);
    atomic_fetch_or_explicit(&entry->flags, LIVE_TRACED, memory_order_release);
}

void live_note_datatype(const struct live_name *name, uint8_t datatype)
{
    uint64_t sequence;
    struct live_entry *entry = entry_of(name, &sequence);
    if (entry && is_still(entry, sequence))
        SET(entry->datatype, datatype);
}

/* Only for the pipeline thread; 0: no flush so far. */
static uint64_t flush_ended_ns;

void live_forget_launches(void)
{
    struct live_header *live = current();
    for (uint32_t i = 0; live && flush_ended_ns && i < LIVE_COMMUNICATORS; i++)
        for (uint32_t n = 0; n < LIVE_ENTRIES; n++) {
            struct live_entry *entry = &communicator_at(live, i)->entries[n];
            if (GET(entry->enqueued_ns) <= flush_ended_ns)
                atomic_fetch_and_explicit(&entry->flags, (uint8_t)~LIVE_TRACED, memory_order_relaxed);
        }
}

void live_note_flush(const struct live_flush *flush)
{
    struct live_header *live = current();
    if (!live)
        return;
    flush_ended_ns = clock_monotonic_ns();
    SET(live->work, (uint32_t)flush->work);
    SET(live->work_began_ns, flush->work_began_ns);
    atomic_store_explicit(&live->flush_began_ns, flush->began_ns, memory_order_release);
}

void live_note_gpu_end(uint64_t time_ns)
{
    struct live_header *live = current();
    if (live && time_ns > GET(live->gpu_end_ns))
        SET(live->gpu_end_ns, time_ns);
}

/* NULL: the communicators have too many operations and peers. */
static _Atomic uint64_t *ended_of(uint64_t communicator, uint32_t operation, int32_t peer, bool may_add)
{
    uint64_t key = collective_mix(communicator, operation);
    if (collective_is_p2p((enum collective_operation)operation))
        key = collective_mix(key, (uint64_t)(int64_t)peer);
    key += key == 0;
    for (uint64_t i = key; i - key < PROBES; i++) {
        uint64_t there = GET(counts[i % COUNTS_MAX].key);
        if (there == key)
            return &counts[i % COUNTS_MAX].ended;
        if (there)
            continue;
        if (may_add)
            SET(counts[i % COUNTS_MAX].key, key);
        return may_add ? &counts[i % COUNTS_MAX].ended : NULL;
    }
    return NULL;
}

void live_note_end(uint64_t communicator, enum collective_operation operation, uint64_t ordinal, int32_t peer)
{
    const struct live_header *live = current();
    struct live_communicator *found =
        live && communicator ? communicator_of(live, communicator, false) : NULL;
    _Atomic uint64_t *ended = found ? ended_of(communicator, operation, peer, true) : NULL;
    if (!ended || ordinal < GET(*ended))
        return;
    uint32_t local = GET(found->local_ranks);
    uint64_t newly = (ordinal + 1 - GET(*ended)) * (local ? local : 1);
    SET(*ended, ordinal + 1);
    SET(found->completed, GET(found->completed) + newly);
    SET(found->last_ended_ns, clock_monotonic_ns());
}

uint32_t live_get_progress(struct live_progress progress[LIVE_COMMUNICATORS])
{
    const struct live_header *live = current();
    uint32_t count = 0;
    for (uint32_t i = 0; live && i < LIVE_COMMUNICATORS; i++) {
        const struct live_communicator *from = communicator_at(live, i);
        uint32_t local = GET(from->local_ranks);
        if (!GET(from->id))
            continue;
        local = local ? local : 1;
        uint64_t completed = GET(from->completed) / local; /* first: it follows the other */
        progress[count++] = (struct live_progress){.communicator = GET(from->id),
                                                   .enqueued = GET(from->enqueued) / local,
                                                   .completed = completed,
                                                   .ranks = GET(from->ranks),
                                                   .place = i};
    }
    return count;
}

static void mark_ended(struct live_communicator *communicator)
{
    uint64_t id = GET(communicator->id);
    for (uint32_t i = 0; id && i < LIVE_ENTRIES; i++) {
        struct live_entry *entry = &communicator->entries[i];
        uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
        if (!sequence || sequence % 2 || GET(entry->flags) & LIVE_ENDED)
            continue;
        const _Atomic uint64_t *ended = ended_of(id, GET(entry->operation), GET(entry->peer), false);
        uint64_t ordinal = GET(entry->ordinal);
        atomic_thread_fence(memory_order_acquire);
        if (ended && ordinal < GET(*ended) && GET(entry->sequence) == sequence)
            atomic_fetch_or_explicit(&entry->flags, LIVE_ENDED, memory_order_relaxed);
    }
}

void live_note_look(const struct live_look *look)
{
    struct live_header *live = current();
    if (!live)
        return;
    uint64_t exact_ns = atomic_load_explicit(&live->flush_began_ns, memory_order_acquire); /* first */
    for (uint32_t i = 0; i < LIVE_COMMUNICATORS; i++)
        mark_ended(communicator_at(live, i));
    uint32_t sequence = GET(live->sequence);
    uint32_t count = look->cuda_call_count < LIVE_CUDA_CALLS ? look->cuda_call_count : LIVE_CUDA_CALLS;
    SET(live->sequence, sequence + 1);
    atomic_thread_fence(memory_order_release);
    live->watch = look->watch;
    live->looked_ns = look->looked_ns;
    live->moved_ns = look->moved_ns;
    live->stalls = look->stalls;
    live->stalled_ns = look->stalled_ns;
    live->gpu_ended_ns = look->gpu_ended_ns;
    live->exact_ns = exact_ns;
    live->realtime_offset_ns = look->realtime_offset_ns;
    live->cuda_calls_used = count;
    memcpy(at(live, live->cuda_calls_at), look->cuda_calls, count * sizeof *look->cuda_calls);
    atomic_store_explicit(&live->sequence, sequence + 2, memory_order_release);
}

void live_state_reset(void)
{
    live_state_forget();
    memset(counts, 0, sizeof counts);
    flush_ended_ns = 0;
    memset(&self, 0, sizeof self);
}
