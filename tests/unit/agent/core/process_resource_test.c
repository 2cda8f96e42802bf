#include "agent/core/resource/process_resource.h"

#include "agent/core/resource/process_context.h"
#include "base/clock.h"
#include "agent/capture/context/publish.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The order of the tests matters: there is one process, and its SDK starts late. */

#define PAGE 4096

static struct {
    char signature[8];
    uint32_t version, payload_size;
    uint64_t published_at_ns;
    const void *payload;
    uint8_t bytes[];
} * sdk;

static struct resource settings;

/* Strings of fewer than 100 bytes: {key, value, key, value, NULL}. */
static void publish(const char *const *pairs)
{
    size_t length = 3;
    if (!sdk) {
        int file = memfd_create("OTEL_CTX", MFD_CLOEXEC);
        assert_int_equal(ftruncate(file, PAGE), 0);
        sdk = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        assert_true(sdk != MAP_FAILED);
        close(file);
    }
    for (; *pairs; pairs += 2) {
        size_t key = strlen(pairs[0]), value = strlen(pairs[1]);
        uint8_t *at = sdk->bytes + length;
        length += 2 + 2 + key + 2 + 2 + value;
        memcpy(at, (uint8_t[]){0x0a, (uint8_t)(6 + key + value), 0x0a, (uint8_t)key}, 4);
        memcpy(at + 4, pairs[0], key);
        memcpy(at + 4 + key, (uint8_t[]){0x12, (uint8_t)(2 + value), 0x0a, (uint8_t)value}, 4);
        memcpy(at + 8 + key, pairs[1], value);
    }
    size_t body = length - 3;
    memcpy(sdk->bytes, (uint8_t[]){0x0a, (uint8_t)(0x80 | (body & 127)), (uint8_t)(body >> 7)}, 3);
    sdk->version = 2;
    sdk->payload_size = (uint32_t)length;
    sdk->payload = sdk->bytes;
    sdk->published_at_ns++;
    memcpy(sdk->signature, "OTEL_CTX", 8);
}

static const char *value_of(const struct resource *resource, const char *key)
{
    const struct resource_attr *attr = resource_find(resource, key);
    return attr && attr->type == RESOURCE_STRING ? attr->items->string : "";
}

static const char *own(const char *key)
{
    return value_of(process_resource(), key);
}

/* Polls again after the longest interval between two polls. */
static bool look_later(void)
{
    return process_resource_poll(clock_monotonic_ns() + 3600 * NS_PER_SECOND, NULL);
}

static char instance[64];

static void test_the_beginning(void **state)
{
    assert_int_equal(resource_set_string(&settings, "deployment.environment.name", "mine"), STATUS_OK);
    assert_int_equal(process_resource_start(&settings, 13000, "13.0", true), STATUS_OK);
    assert_string_equal(own("deployment.environment.name"), "mine");
    assert_string_equal(own("service.name"), "unknown_service:process_resource_test");
    assert_string_equal(value_of(&settings, "service.name"), "unknown_service:process_resource_test");
    assert_string_equal(own("cuda.version"), "13.0");
    assert_non_null(own("ip"));
    snprintf(instance, sizeof instance, "%s", own("service.instance.id"));
    assert_int_equal(strlen(instance), 36);
    assert_false(look_later());
}

static void test_publishing_has_a_context_until_the_sdk_has_one(void **state)
{
    struct process_context seen = {0};
    struct resource read = {0};
    atomic_store(&publish_is_on, true);
    assert_false(process_resource_poll(0, NULL)); /* at once */
    assert_true(published_context_address() != 0);
    process_context_find(&seen, NULL);
    assert_int_equal(seen.address, published_context_address());
    assert_true(process_context_read(&seen, &read));
    assert_true(seen.names_threads);
    assert_string_equal(value_of(&read, "service.instance.id"), instance);
    assert_string_equal(value_of(&read, "deployment.environment.name"), "mine");
    resource_deinit(&read);
    assert_false(look_later()); /* our own context has nothing new */
    atomic_store(&publish_is_on, false);
    assert_false(process_resource_poll(0, NULL));
    assert_int_equal(published_context_address(), 0);
    atomic_store(&publish_is_on, true);
    assert_false(process_resource_poll(0, NULL));
    assert_true(published_context_address() != 0);
}

/* Compares bytes: a reader that follows the OTEPs looks for these. */
static void test_the_published_bytes(void **state)
{
    static const char schema[] = "\x12\x2e\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0etlsdesc_v1_dev";
    static const char keys[] = "\x12\x23\x0a\x1dthreadlocal.attribute_key_map\x12\x02\x2a";
    const char *header = (const char *)(uintptr_t)published_context_address(), *payload;
    uint32_t words[2];
    uint64_t published_at_ns;
    assert_memory_equal(header, "OTEL_CTX", 8);
    memcpy(words, header + 8, 8);
    memcpy(&published_at_ns, header + 16, 8);
    memcpy(&payload, header + 24, 8);
    assert_int_equal(words[0], 2);
    assert_true(published_at_ns != 0);
    assert_int_equal(payload[0], 0x0a); /* the resource */
    const char *tail = payload + words[1] - (sizeof schema - 1) - sizeof keys;
    assert_memory_equal(tail, schema, sizeof schema - 1);
    assert_memory_equal(tail + sizeof schema - 1, keys, sizeof keys); /* with an empty list's length */
}

static void test_a_forked_child_has_none(void **state)
{
    if (is_under_qemu())
        skip();
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct process_context seen = {0};
        process_context_find(&seen, NULL);
        _exit(seen.address == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_an_sdk_that_starts_late_says_who_we_are(void **state)
{
    static const char *const pairs[] = {"service.name",
                                        "shop",
                                        "service.instance.id",
                                        "of-the-sdk",
                                        "deployment.environment.name",
                                        "theirs",
                                        "shop.size",
                                        "small",
                                        NULL};
    publish(pairs);
    assert_false(process_resource_poll(0, NULL)); /* not each time */
    assert_true(look_later());
    assert_string_equal(own("service.name"), "shop");
    assert_string_equal(own("service.instance.id"), "of-the-sdk");
    assert_string_equal(own("deployment.environment.name"), "mine"); /* the user's setting has precedence */
    assert_string_equal(own("shop.size"), "small");
    assert_string_equal(own("cuda.version"), "13.0");
    assert_int_equal(published_context_address(), 0); /* one is enough */
    assert_false(look_later());
}

static void test_what_it_no_longer_says_is_gone(void **state)
{
    static const char *const pairs[] = {"service.name", "workshop", NULL};
    publish(pairs);
    assert_true(look_later());
    assert_string_equal(own("service.name"), "workshop");
    assert_string_equal(own("shop.size"), "");
    assert_string_equal(own("service.instance.id"), instance);
}

static void test_an_sdk_that_ends_leaves_what_it_said(void **state)
{
    munmap(sdk, PAGE);
    assert_false(look_later());
    assert_string_equal(own("service.name"), "workshop");
    look_later();
    assert_true(published_context_address() != 0); /* threads continue to publish */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_beginning),
        cmocka_unit_test(test_publishing_has_a_context_until_the_sdk_has_one),
        cmocka_unit_test(test_the_published_bytes),
        cmocka_unit_test(test_a_forked_child_has_none),
        cmocka_unit_test(test_an_sdk_that_starts_late_says_who_we_are),
        cmocka_unit_test(test_what_it_no_longer_says_is_gone),
        cmocka_unit_test(test_an_sdk_that_ends_leaves_what_it_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
