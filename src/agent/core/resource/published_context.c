
#include "agent/core/resource/process_context.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log/write_signals.h"
#include "agent/encode/encoder.h"
#include "agent/encode/message.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA /* for kernel headers before 5.17 */
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* OTEP 4947 may rename it to tls_v1. Readers know this name today. */
#define THREAD_SCHEMA     "tlsdesc_v1_dev"
#define THREAD_ATTRS_ROOM 256
#define MAPPING_BYTES     (32 * 1024)

static struct process_context_header *mapping;

/* A KeyValue in field 2 of ProcessContext. `schema` NULL: an empty list. */
static void put_attribute(struct message *m, const char *key, const char *schema)
{
    uint8_t *pair = message_open(m, 2, NULL);
    message_string(m, 1, "key", key, SPAN_STRING_MAX);
    uint8_t *value = message_open(m, 2, "value");
    if (schema)
        message_string(m, 1, "stringValue", schema, SPAN_STRING_MAX);
    else
        message_close(m, message_open(m, 5, "arrayValue"));
    message_close(m, value);
    message_close(m, pair);
}

static size_t put_payload(const struct resource *resource, uint8_t *to, size_t room)
{
    size_t bytes = encoder_put_resource(resource, "", to, room - THREAD_ATTRS_ROOM);
    struct message m = {{to + bytes, to + room, false}, .is_json = false};
    put_attribute(&m, "threadlocal.schema_version", THREAD_SCHEMA);
    put_attribute(&m, "threadlocal.attribute_key_map", NULL); /* we add no attributes */
    return (size_t)(m.out.p - to);
}

/* Without memfd, the name below identifies the mapping. */
static void *make_mapping(void)
{
    struct write_signals signals;
    write_signals_hold(&signals); /* the host's limit of file sizes is that of a memfd, too */
    int file = high_fd(memfd_create(PROCESS_CONTEXT_NAME, MFD_CLOEXEC));
    void *made = MAP_FAILED;
    if (file >= 0 && ftruncate(file, MAPPING_BYTES) == 0)
        made = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    write_signals_release(&signals);
    if (made == MAP_FAILED)
        made = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (madvise(made, MAPPING_BYTES, MADV_DONTFORK) == 0)
        return made;
    munmap(made, MAPPING_BYTES);
    return NULL;
}

enum status published_context_begin(const struct resource *resource)
{
    published_context_end();
    struct process_context_header *made = make_mapping();
    if (!made)
        return STATUS_UNAVAILABLE;
    uint8_t *payload = (uint8_t *)(made + 1);
    size_t bytes = put_payload(resource, payload, MAPPING_BYTES - sizeof *made);
    made->version = PROCESS_CONTEXT_VERSION;
    made->payload_bytes = (uint32_t)bytes;
    made->payload = (uint64_t)(uintptr_t)payload;
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(made->signature, PROCESS_CONTEXT_NAME, sizeof made->signature);
    atomic_store(&made->published_ns,
                 clock_read_ns(CLOCK_BOOTTIME)); /* written last: makes the context valid */
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, made, MAPPING_BYTES, PROCESS_CONTEXT_NAME);
    mapping = made;
    return STATUS_OK;
}

uint64_t published_context_address(void)
{
    return (uint64_t)(uintptr_t)mapping;
}

void published_context_end(void)
{
    if (!mapping)
        return;
    atomic_store(&mapping->published_ns, 0);
    munmap(mapping, MAPPING_BYTES);
    mapping = NULL;
}
