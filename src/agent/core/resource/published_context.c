
#include "agent/core/resource/process_context.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log/write_signals.h"
#include "agent/encode/encoder.h"

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

/* A field of fewer than 128 bytes. */
static uint8_t *put_field(uint8_t *to, unsigned number, const void *bytes, size_t count)
{
    *to++ = (uint8_t)(number << 3 | 2);
    *to++ = (uint8_t)count;
    memcpy(to, bytes, count);
    return to + count;
}

/* A KeyValue in field 2 of ProcessContext. */
static uint8_t *put_attribute(uint8_t *to, const char *key, unsigned value_field, const char *value)
{
    uint8_t any_value[64], pair[127];
    size_t value_bytes = (size_t)(put_field(any_value, value_field, value, strlen(value)) - any_value);
    uint8_t *end = put_field(pair, 1, key, strlen(key));
    end = put_field(end, 2, any_value, value_bytes);
    return put_field(to, 2, pair, (size_t)(end - pair));
}

static size_t put_payload(const struct resource *resource, uint8_t *to, size_t room)
{
    uint8_t *end = to + encoder_put_resource(resource, "", to, room - THREAD_ATTRS_ROOM);
    end = put_attribute(end, "threadlocal.schema_version", 1, THREAD_SCHEMA);
    end =
        put_attribute(end, "threadlocal.attribute_key_map", 5, ""); /* an empty list: we add no attributes */
    return (size_t)(end - to);
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
