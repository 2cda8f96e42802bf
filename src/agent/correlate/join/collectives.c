#include "agent/correlate/join/collectives.h"

#include "agent/correlate/trace/ranges.h"
#include "model/hang/live_state.h"
#include "model/semconv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_KEY   SEMCONV_NVTX_DOMAIN
#define PAYLOAD_KEY "nvtx.payload."

static bool is(const char *text, size_t bytes, const char *constant)
{
    return strlen(constant) == bytes && memcmp(text, constant, bytes) == 0;
}

bool collectives_is_nccl(const struct range_record *start)
{
    struct range_attr_head head;
    const char *at = start->text + start->name_bytes, *key, *value;
    return start->attr_count > 0 && start->name_bytes <= start->text_bytes &&
           ranges_next_attr(&at, start->text + start->text_bytes, &head, &key, &value) &&
           is(key, head.key_bytes, FIRST_KEY) && head.type == ATTR_STRING &&
           is(value, head.value_bytes, NCCL_DOMAIN);
}

/* Returns an attribute's number. Numbers above INT64_MAX are decimal texts. */
static uint64_t number_of(const struct range_attr_head *head, const char *value)
{
    uint64_t number = 0;
    if (head->type != ATTR_STRING) {
        memcpy(&number, value, sizeof number);
        return number;
    }
    for (uint32_t i = 0; i < head->value_bytes && value[i] >= '0' && value[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(value[i] - '0');
    return number;
}

/* Returns the index of a word, and adds a new one; 0: no room. */
static uint8_t index_of_word(struct collectives *collectives, const char *text, size_t bytes)
{
    bytes = bytes < COLLECTIVE_WORD_BYTES ? bytes : COLLECTIVE_WORD_BYTES - 1;
    for (uint32_t i = 0; i < collectives->word_count; i++)
        if (is(text, bytes, collectives->words[i]))
            return (uint8_t)(i + 1);
    if (!bytes || collectives->word_count == COLLECTIVE_WORDS_MAX)
        return 0;
    memcpy(collectives->words[collectives->word_count], text, bytes);
    return (uint8_t)++collectives->word_count;
}

/* NCCL says "ncclBfloat16". */
static uint8_t index_of_datatype(struct collectives *collectives, const char *text, size_t bytes)
{
    char name[COLLECTIVE_WORD_BYTES] = "";
    size_t prefix = bytes > 4 && memcmp(text, "nccl", 4) == 0 ? 4 : 0;
    bytes = bytes - prefix < sizeof name ? bytes - prefix : sizeof name - 1;
    for (size_t i = 0; i < bytes; i++)
        name[i] = (char)tolower((unsigned char)text[prefix + i]);
    return index_of_word(collectives, name, bytes);
}

const char *collectives_word(const struct collectives *collectives, uint8_t index)
{
    return index ? collectives->words[index - 1] : NULL;
}

/* Sets the field for a key with a number. Keys come from NCCL's payloads (also before 2.25, which says
 * "Bytes"), from capture, and from the plugin. */
static void set_number(struct collective *collective, const char *key, size_t bytes, uint64_t number)
{
#define SET(field, type, flag)                                                                               \
    do {                                                                                                     \
        collective->field = (type)number;                                                                    \
        collective->has |= flag;                                                                             \
    } while (0)
    if (is(key, bytes, PAYLOAD_KEY "NCCL communicator ID") || is(key, bytes, NCCL_MARK_COMMUNICATOR))
        SET(communicator, uint64_t, COLLECTIVE_HAS_COMMUNICATOR);
    else if (is(key, bytes, PAYLOAD_KEY "Message size [bytes]") || is(key, bytes, PAYLOAD_KEY "Bytes"))
        SET(share, uint64_t, COLLECTIVE_HAS_BYTES);
    else if (is(key, bytes, PAYLOAD_KEY "Reduction operation"))
        SET(reduction, int32_t, COLLECTIVE_HAS_REDUCTION);
    else if (is(key, bytes, PAYLOAD_KEY "Root"))
        SET(root, int32_t, COLLECTIVE_HAS_ROOT);
    else if (is(key, bytes, PAYLOAD_KEY "Peer rank") || is(key, bytes, PAYLOAD_KEY "Peer") ||
             is(key, bytes, NCCL_MARK_PEER))
        SET(peer, int32_t, COLLECTIVE_HAS_PEER);
    else if (is(key, bytes, SEMCONV_COLLECTIVE_ORDINAL) || is(key, bytes, NCCL_MARK_ORDINAL))
        SET(ordinal, uint64_t, COLLECTIVE_HAS_ORDINAL);
    else if (is(key, bytes, SEMCONV_COLLECTIVE_RANKS))
        SET(ranks, uint32_t, COLLECTIVE_HAS_RANKS);
    else if (is(key, bytes, SEMCONV_COLLECTIVE_RANK))
        SET(rank, uint32_t, COLLECTIVE_HAS_RANK);
#undef SET
}

static void read_attrs(struct collectives *collectives, struct collective *collective,
                       const struct range_record *record)
{
    struct range_attr_head head;
    const char *at = record->text + record->name_bytes, *end = record->text + record->text_bytes;
    const char *key, *value;
    for (uint32_t i = 0; i < record->attr_count && ranges_next_attr(&at, end, &head, &key, &value); i++) {
        if (is(key, head.key_bytes, NCCL_MARK_DATATYPE))
            collective->datatype = index_of_datatype(collectives, value, head.value_bytes);
        else if (is(key, head.key_bytes, NCCL_MARK_ALGORITHM))
            collective->algorithm = index_of_word(collectives, value, head.value_bytes);
        else if (is(key, head.key_bytes, NCCL_MARK_PROTOCOL))
            collective->protocol = index_of_word(collectives, value, head.value_bytes);
        else
            set_number(collective, key, head.key_bytes, number_of(&head, value));
    }
}

/* Returns the operation of the range's function; NONE: the function is no collective. */
static enum collective_operation operation_of(const struct range_record *start)
{
    bool is_nccls = start->name_bytes > 4 && memcmp(start->text, "nccl", 4) == 0;
    return is_nccls ? collective_of_function(start->text + 4, start->name_bytes - 4u) : COLLECTIVE_NONE;
}

bool collectives_is_operation(const struct range_record *start)
{
    return operation_of(start) != COLLECTIVE_NONE;
}

static bool is_named(const struct range_record *start, const char *name)
{
    return is(start->text, start->name_bytes, name);
}

static bool is_group_end(const struct range_record *start)
{
    return is_named(start, "ncclGroupEnd") || is_named(start, "ncclGroupSimulateEnd");
}

static struct collective_thread *thread_of(struct collectives *collectives, const struct thread_info *thread)
{
    struct collective_thread *found = &collectives->threads[thread->slot % THREADS_MAX];
    if (found->serial != thread->serial)
        *found = (struct collective_thread){.serial = thread->serial};
    return found;
}

static struct collective *at_serial(struct collectives *collectives, uint32_t serial)
{
    struct collective *entry = &collectives->entries[serial % COLLECTIVES_MAX];
    return serial && entry->serial == serial ? entry : NULL;
}

static void close_list(struct collectives *collectives, struct collective_thread *thread)
{
    struct collective *first = at_serial(collectives, thread->first);
    if (first)
        first->is_closed = true;
    if (thread->first)
        thread->previous = thread->first;
    thread->first = thread->last = thread->count = 0;
}

static void append(struct collectives *collectives, struct collective_thread *thread,
                   const struct range_record *start, enum collective_operation operation)
{
    if (thread->count == COLLECTIVE_LIST_MAX)
        return; /* further collectives have no entry, but their kernel has the group's span */
    collectives->used += collectives->used == UINT32_MAX ? 2 : 1; /* 0 is none */
    struct collective *made = &collectives->entries[collectives->used % COLLECTIVES_MAX];
    *made = (struct collective){.serial = collectives->used, .operation = (uint8_t)operation};
    read_attrs(collectives, made, start);
    struct collective *last = at_serial(collectives, thread->last);
    if (last)
        last->next = made->serial;
    thread->first = thread->first ? thread->first : made->serial;
    thread->last = made->serial;
    thread->count++;
}

void collectives_begin(struct collectives **collectives, const struct thread_info *info,
                       const struct range_record *start)
{
    if (!*collectives)
        *collectives = calloc(1, sizeof **collectives);
    if (!*collectives)
        return;
    struct collective_thread *thread = thread_of(*collectives, info);
    enum collective_operation operation = operation_of(start);
    if (operation) {
        append(*collectives, thread, start, operation);
        thread->is_calling = true;
    } else if (is_named(start, "ncclGroupStart")) {
        thread->depth++;
    } else if (is_group_end(start)) {
        thread->is_ending = true;
    }
}

void collectives_end(struct collectives *collectives, const struct thread_info *info,
                     const struct range_record *start)
{
    struct collective_thread *thread = thread_of(collectives, info);
    bool ends_group = is_group_end(start);
    if (!ends_group && !operation_of(start))
        return;
    if (ends_group) {
        thread->depth -= thread->depth > 0;
        thread->is_ending = false;
    } else {
        thread->is_calling = false;
    }
    if (thread->depth == 0)
        close_list(collectives, thread);
}

/* Drops a group whose end was not captured, except its last collective. In a group, NCCL launches only at the
 * group's end, so a launch inside a collective shows that an earlier end is missing. */
static void leave_missed_group(struct collectives *collectives, struct collective_thread *thread)
{
    uint32_t this_one = thread->last;
    thread->last = thread->first = 0;
    thread->depth = 0;
    if (at_serial(collectives, this_one)) {
        thread->first = thread->last = this_one;
        thread->count = 1;
    }
}

void collectives_launch(struct collectives *collectives, const struct thread_info *info,
                        struct pending_call *call, bool is_kernel)
{
    struct collective_thread *thread = thread_of(collectives, info);
    if (!call || !(thread->is_calling || thread->is_ending))
        return;
    if (thread->is_calling && thread->depth > 0)
        leave_missed_group(collectives, thread);
    struct collective *first = at_serial(collectives, thread->first);
    if (!first)
        return;
    call->flags |= PENDING_COLLECTIVE;
    call->collectives = first->serial;
    call->collectives_launch = first->kernels;
    if (is_kernel && first->kernels < UINT16_MAX)
        first->kernels++;
}

struct collective *collectives_of(struct collectives *collectives, const struct pending_call *call)
{
    return collectives ? at_serial(collectives, call->collectives) : NULL;
}

struct collective *collectives_next(struct collectives *collectives, const struct collective *collective)
{
    return at_serial(collectives, collective->next);
}

/* Returns the collective of the list that the plugin's mark `said` describes; NULL: none. `by_number`: the
 * one with the mark's ordinal. Otherwise the first one that the plugin has not described: NCCL's numbers do
 * not count captured collectives, and Send and Recv have none. */
static struct collective *described(struct collectives *collectives, struct collective *first,
                                    const struct collective *said, bool by_number)
{
    bool has_peer = collective_is_p2p((enum collective_operation)said->operation);
    for (struct collective *one = first; one; one = collectives_next(collectives, one)) {
        bool is_same = one->communicator == said->communicator && one->operation == said->operation &&
                       (!has_peer || one->peer == said->peer);
        if (is_same && (by_number ? !has_peer && one->ordinal == said->ordinal : !one->datatype))
            return one;
    }
    return NULL;
}

static void tell_datatype(const struct collectives *collectives, const struct collective *one)
{
    const char *word = collectives_word(collectives, one->datatype);
    uint8_t datatype = word && live_state_is_on() ? collective_datatype_of(word) : 0;
    if (datatype && one->has & COLLECTIVE_HAS_ORDINAL)
        live_note_datatype(&(struct live_name){one->communicator, one->ordinal,
                                               (enum collective_operation)one->operation, one->peer},
                           datatype);
}

bool collectives_note_plugin(struct collectives *collectives, const struct thread_info *info,
                             const struct range_record *mark)
{
    struct collective said = {.serial = 0};
    struct range_attr_head head;
    const char *at = mark->text + mark->name_bytes, *key, *value;
    if (mark->attr_count == 0 || mark->name_bytes > mark->text_bytes ||
        !ranges_next_attr(&at, mark->text + mark->text_bytes, &head, &key, &value) ||
        !is(key, head.key_bytes, NCCL_MARK) || head.type != ATTR_STRING)
        return false;
    if (!collectives)
        return true; /* no range of NCCL yet */
    said.operation = (uint8_t)collective_of_function(value, head.value_bytes);
    read_attrs(collectives, &said, mark);
    struct collective_thread *thread = thread_of(collectives, info);
    struct collective *first = at_serial(collectives, thread->first ? thread->first : thread->previous);
    struct collective *one = described(collectives, first, &said, true);
    one = one ? one : described(collectives, first, &said, false);
    if (one) {
        one->datatype = said.datatype;
        tell_datatype(collectives, one);
        one->algorithm = said.algorithm;
        one->protocol = said.protocol;
    }
    return true;
}
