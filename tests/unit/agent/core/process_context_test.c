#include "agent/core/resource/process_context.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

/* Laid out as by another implementation. */
struct header {
    char signature[8];
    uint32_t version, payload_size;
    uint64_t published_at_ns;
    const void *payload;
};

static struct resource resource;
static struct process_context known;
static struct header *published;

/* --- a payload, encoded by hand --- */

struct buffer {
    uint8_t bytes[8192];
    size_t length;
};

static void put(struct buffer *to, const void *bytes, size_t length)
{
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_varint(struct buffer *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        to->bytes[to->length++] = (uint8_t)(value | 0x80);
    to->bytes[to->length++] = (uint8_t)value;
}

static void put_field(struct buffer *to, unsigned number, const void *bytes, size_t length)
{
    put_varint(to, number << 3 | 2);
    put_varint(to, length);
    put(to, bytes, length);
}

static void put_pair(struct buffer *to, const char *key, const struct buffer *value)
{
    struct buffer pair = {.length = 0};
    put_field(&pair, 1, key, strlen(key));
    put_field(&pair, 2, value->bytes, value->length);
    put_field(to, 1, pair.bytes, pair.length);
}

static void put_text(struct buffer *to, const char *key, const char *text)
{
    struct buffer value = {.length = 0};
    put_field(&value, 1, text, strlen(text));
    put_pair(to, key, &value);
}

static void put_number(struct buffer *to, const char *key, unsigned field, uint64_t number)
{
    struct buffer value = {.length = 0};
    put_varint(&value, field << 3);
    put_varint(&value, number);
    put_pair(to, key, &value);
}

static void make_payload(struct buffer *payload)
{
    struct buffer attributes = {.length = 0}, value = {.length = 0};
    double real = 0.5;
    put_text(&attributes, "service.name", "shop");
    put_text(&attributes, "service.instance.id", "627cc493-f310-47de-96bd-71410b7dec09");
    put_text(&attributes, "telemetry.sdk.language", "python");
    put_text(&attributes, "empty", "");
    put_number(&attributes, "flag", 2, 1);
    put_number(&attributes, "number", 3, (uint64_t)-7);
    put_varint(&value, 4 << 3 | 1);
    put(&value, &real, sizeof real);
    put_pair(&attributes, "real", &value);
    value.length = 0;
    put_field(&value, 5, "\x0a\x03\x0a\x01x", 5);
    put_pair(&attributes, "list", &value);
    put_varint(&attributes, 2 << 3); /* dropped_attributes_count */
    put_varint(&attributes, 3);
    payload->length = 0;
    put_field(payload, 1, attributes.bytes, attributes.length);
    put_field(payload, 2, "\x0a\x03key", 5); /* belongs to the context, not to the resource */
    put_varint(payload, 99 << 3 | 5);        /* what a later version may have */
    put(payload, "1234", 4);
}

/* --- publishing it --- */

static void publish(const struct buffer *payload)
{
    int file = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 3 * PAGE), 0);
    published = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    assert_true(published != MAP_FAILED);
    close(file);
    memcpy(published + 1, payload->bytes, payload->length);
    *published = (struct header){.version = 2,
                                 .payload_size = (uint32_t)payload->length,
                                 .published_at_ns = 1000,
                                 .payload = published + 1};
    memcpy(published->signature, "OTEL_CTX", 8);
}

static int withdraw(void **state)
{
    resource_deinit(&resource);
    if (published)
        munmap(published, 3 * PAGE);
    published = NULL;
    known = (struct process_context){0};
    return 0;
}

static size_t read_again(void)
{
    struct process_context anew = {0};
    resource_deinit(&resource);
    process_context_find(&anew, NULL);
    bool is_new = process_context_read(&anew, &resource);
    assert_int_equal(is_new, resource.attr_count > 0);
    return resource.attr_count;
}

static void test_a_process_without_one(void **state)
{
    assert_int_equal(read_again(), 0);
}

static void test_a_published_context_is_taken(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    assert_int_equal(read_again(), 6);
    assert_string_equal(resource_find(&resource, "service.name")->items->string, "shop");
    assert_string_equal(resource_find(&resource, "service.instance.id")->items->string,
                        "627cc493-f310-47de-96bd-71410b7dec09");
    assert_string_equal(resource_find(&resource, "empty")->items->string, "");
    assert_int_equal(resource_find(&resource, "flag")->type, RESOURCE_BOOL);
    assert_int_equal(resource_find(&resource, "number")->items->integer, -7);
    assert_true(resource_find(&resource, "real")->items->real == 0.5);
    assert_null(resource_find(&resource, "telemetry.sdk.language")); /* these spans are not the SDK's */
    assert_null(resource_find(&resource, "list"));
}

/* Like the pipeline. */
static bool look(void)
{
    resource_deinit(&resource);
    process_context_find(&known, NULL);
    return process_context_read(&known, &resource);
}

static void test_each_version_is_read_once(void **state)
{
    struct buffer payload, later = {.length = 0}, attributes = {.length = 0};
    assert_false(look());
    make_payload(&payload);
    publish(&payload);
    assert_true(look());
    assert_false(look());
    published->published_at_ns = 0; /* being updated: the content read before stays */
    assert_false(look());
    assert_true(known.address != 0);
    put_text(&attributes, "service.name", "another shop");
    put_field(&later, 1, attributes.bytes, attributes.length);
    memcpy(published + 1, later.bytes, later.length);
    published->payload_size = (uint32_t)later.length;
    published->published_at_ns = 1001;
    assert_true(look());
    assert_string_equal(resource_find(&resource, "service.name")->items->string, "another shop");
    assert_int_equal(resource.attr_count, 1);
}

static void test_one_that_goes_may_come_again(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    assert_true(look());
    munmap(published, 3 * PAGE);
    assert_false(look());
    assert_int_equal(known.address, 0);
    publish(&payload); /* with the same time */
    assert_true(look());
}

static void test_our_own_is_none(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    struct header *first = published;
    known.own_address = (uint64_t)(uintptr_t)published;
    assert_false(look());
    publish(&payload);
    assert_true(look());
    assert_int_equal(known.address, (uint64_t)(uintptr_t)published);
    munmap(first, 3 * PAGE);
}

static unsigned pauses;

static void count_pause(void)
{
    pauses++;
}

/* Readable and unreadable pages alternate, so none is merged with its neighbors. */
static void test_many_mappings_are_read_with_pauses(void **state)
{
    enum { COUNT = 2 * PROCESS_CONTEXT_LINES };
    char *many = mmap(NULL, COUNT * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(many != MAP_FAILED);
    for (size_t i = 0; i < COUNT; i += 2)
        assert_int_equal(mprotect(many + i * PAGE, PAGE, PROT_NONE), 0);
    pauses = 0;
    process_context_find(&known, count_pause);
    assert_true(pauses >= 2);
    munmap(many, COUNT * PAGE);
}

static void test_it_may_tell_of_threads(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    assert_true(look());
    assert_false(known.names_threads);
    put_field(&payload, 2, "\x0a\x1athreadlocal.schema_version", 28);
    memcpy(published + 1, payload.bytes, payload.length);
    published->payload_size = (uint32_t)payload.length;
    published->published_at_ns++;
    assert_true(look());
    assert_true(known.names_threads);
}

static void test_what_is_not_whole_is_left_alone(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    published->published_at_ns = 0; /* being written */
    assert_int_equal(read_again(), 0);
    published->published_at_ns = 2000;
    published->version = 3;
    assert_int_equal(read_again(), 0);
    published->version = 2;
    published->signature[7] = 'Y';
    assert_int_equal(read_again(), 0);
    published->signature[7] = 'X';
    published->payload_size--;
    assert_int_equal(read_again(), 0); /* nothing of a broken payload */
    published->payload_size = 64 * 1024 + 1;
    assert_int_equal(read_again(), 0);
    published->payload_size = 0;
    assert_int_equal(read_again(), 0);
    published->payload_size = (uint32_t)payload.length;
    published->payload = (const void *)(uintptr_t)8; /* an invalid address must not cause a fault */
    assert_int_equal(read_again(), 0);
    published->payload = published + 1;
    assert_int_equal(read_again(), 6);
    assert_int_equal(mprotect(published, PAGE, PROT_NONE), 0);
    assert_int_equal(read_again(), 0);
}

/* Truncated anywhere, or with any byte changed: no fault, and a truncated one never succeeds. */
static void test_broken_payloads_are_refused(void **state)
{
    struct buffer payload;
    make_payload(&payload);
    for (size_t length = 0; length < payload.length; length++) {
        uint8_t *copy = malloc(length + 1); /* a separate block, so a sanitizer detects reads beyond it */
        memcpy(copy, payload.bytes, length);
        enum status status = process_context_decode(copy, length, &resource);
        if (length > 0 && length < 200)
            assert_int_equal(status, STATUS_INVALID);
        free(copy);
        resource_deinit(&resource);
    }
    for (size_t i = 0; i < payload.length; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t *copy = malloc(payload.length);
            memcpy(copy, payload.bytes, payload.length);
            copy[i] ^= (uint8_t)(1u << bit);
            (void)!process_context_decode(copy, payload.length, &resource);
            free(copy);
            resource_deinit(&resource);
        }
}

/* As in a container of Docker 20.10. */
static void forbid_process_vm_readv(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        _exit(2);
}

static void test_without_process_vm_readv(void **state)
{
    if (is_under_qemu())
        skip();
    struct buffer payload;
    int status;
    make_payload(&payload);
    publish(&payload);
    pid_t child = fork();
    if (child == 0) {
        forbid_process_vm_readv();
        bool is_read = read_again() == 6;
        published->payload = (const void *)(uintptr_t)8;
        is_read = is_read && read_again() == 0;
        published->payload = published + 1;
        is_read = is_read && read_again() == 6 && mprotect(published, PAGE, PROT_NONE) == 0;
        _exit(is_read && read_again() == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_there_is_room_left(void **state)
{
    struct buffer attributes = {.length = 0}, payload = {.length = 0};
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put_text(&attributes, key, "v");
    }
    put_field(&payload, 1, attributes.bytes, attributes.length);
    publish(&payload);
    assert_int_equal(read_again(), RESOURCE_ATTRS_MAX - 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_process_without_one, withdraw),
        cmocka_unit_test_teardown(test_a_published_context_is_taken, withdraw),
        cmocka_unit_test_teardown(test_each_version_is_read_once, withdraw),
        cmocka_unit_test_teardown(test_one_that_goes_may_come_again, withdraw),
        cmocka_unit_test_teardown(test_our_own_is_none, withdraw),
        cmocka_unit_test_teardown(test_many_mappings_are_read_with_pauses, withdraw),
        cmocka_unit_test_teardown(test_it_may_tell_of_threads, withdraw),
        cmocka_unit_test_teardown(test_what_is_not_whole_is_left_alone, withdraw),
        cmocka_unit_test_teardown(test_broken_payloads_are_refused, withdraw),
        cmocka_unit_test_teardown(test_without_process_vm_readv, withdraw),
        cmocka_unit_test_teardown(test_there_is_room_left, withdraw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
