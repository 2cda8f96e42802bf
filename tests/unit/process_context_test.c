#include "agent/process_context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096

/* As another implementation would lay it out. */
struct header {
    char signature[8];
    uint32_t version, payload_size;
    uint64_t published_at_ns;
    const void *payload;
};

static struct resource resource;
static struct header *published;

/* --- a payload, written by hand --- */

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
    put_field(payload, 2, "\x0a\x03key", 5); /* of the context, not of the resource */
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
    (void)state;
    resource_deinit(&resource);
    if (published)
        munmap(published, 3 * PAGE);
    published = NULL;
    return 0;
}

static size_t read_again(void)
{
    resource_deinit(&resource);
    assert_int_equal(process_context_add(&resource), STATUS_OK);
    return resource.attr_count;
}

static void test_a_process_without_one(void **state)
{
    (void)state;
    assert_int_equal(read_again(), 0);
}

static void test_a_published_context_is_taken(void **state)
{
    (void)state;
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    assert_int_equal(read_again(), 6);
    assert_string_equal(resource_find(&resource, "service.name")->string, "shop");
    assert_string_equal(resource_find(&resource, "service.instance.id")->string,
                        "627cc493-f310-47de-96bd-71410b7dec09");
    assert_string_equal(resource_find(&resource, "empty")->string, "");
    assert_int_equal(resource_find(&resource, "flag")->type, RESOURCE_BOOL);
    assert_int_equal(resource_find(&resource, "number")->integer, -7);
    assert_true(resource_find(&resource, "real")->real == 0.5);
    assert_null(resource_find(&resource, "telemetry.sdk.language")); /* these spans are not the SDK's */
    assert_null(resource_find(&resource, "list"));
}

static void test_what_the_user_has_set_stays(void **state)
{
    (void)state;
    struct buffer payload;
    make_payload(&payload);
    publish(&payload);
    assert_int_equal(resource_set_string(&resource, "service.name", "mine"), STATUS_OK);
    assert_int_equal(process_context_add(&resource), STATUS_OK);
    assert_string_equal(resource_find(&resource, "service.name")->string, "mine");
    assert_int_equal(resource_find(&resource, "flag")->integer, 1);
}

static void test_what_is_not_whole_is_left_alone(void **state)
{
    (void)state;
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
    published->payload = (const void *)(uintptr_t)8; /* leads nowhere: no fault */
    assert_int_equal(read_again(), 0);
    published->payload = published + 1;
    assert_int_equal(read_again(), 6);
    assert_int_equal(mprotect(published, PAGE, PROT_NONE), 0);
    assert_int_equal(read_again(), 0);
}

/* Cut off anywhere, and with any one byte changed: no fault, and where it was cut never a good end. */
static void test_broken_payloads_are_refused(void **state)
{
    (void)state;
    struct buffer payload;
    make_payload(&payload);
    for (size_t length = 0; length < payload.length; length++) {
        uint8_t *copy = malloc(length + 1); /* of its own: a sanitizer sees what reads beyond */
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

static void test_there_is_room_left(void **state)
{
    (void)state;
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
        cmocka_unit_test_teardown(test_what_the_user_has_set_stays, withdraw),
        cmocka_unit_test_teardown(test_what_is_not_whole_is_left_alone, withdraw),
        cmocka_unit_test_teardown(test_broken_payloads_are_refused, withdraw),
        cmocka_unit_test_teardown(test_there_is_room_left, withdraw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
