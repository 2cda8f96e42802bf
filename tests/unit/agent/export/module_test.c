/* The export module in a hostile host: one that has functions of the same names as the libraries that the
 * module carries, and counts on nothing being loaded behind its back. Only for a module with libraries of its
 * own. */
#include "agent/export/otlp/transport.h"

#include "support/test.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call means that the module was bound to the host's function instead of its own. */
#define HOSTS_OWN(name)                                                                                      \
    __attribute__((visibility("default"))) void name(void);                                                  \
    void name(void)                                                                                          \
    {                                                                                                        \
        fprintf(stderr, "the module called the host's " #name "\n");                                         \
        abort();                                                                                             \
    }
HOSTS_OWN(curl_global_init)
HOSTS_OWN(curl_easy_init)
HOSTS_OWN(curl_easy_setopt)
HOSTS_OWN(curl_multi_init)
HOSTS_OWN(curl_multi_perform)
HOSTS_OWN(OPENSSL_init_crypto)
HOSTS_OWN(OPENSSL_init_ssl)
HOSTS_OWN(SSL_CTX_new)
HOSTS_OWN(EVP_sha256)
HOSTS_OWN(nghttp2_session_client_new)
HOSTS_OWN(cJSON_ParseWithLength)
HOSTS_OWN(cJSON_Delete)

struct libraries {
    size_t count;
    char names[64][256];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct libraries *libraries = argument;
    if (libraries->count < 64)
        snprintf(libraries->names[libraries->count++], 256, "%s", info->dlpi_name);
    return 0;
}

static bool is_of_libc(const char *path)
{
    static const char *const family[] = {"libc.so.6",  "libdl.so.2", "libpthread.so.0",
                                         "librt.so.1", "libm.so.6",  "ld-linux"};
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        if (strstr(path, family[i]))
            return true;
    return false;
}

static const struct transport *transport;

static void test_it_brings_nothing_along(void **state)
{
    static struct libraries before;
    static struct libraries after;
    struct error err;
    dl_iterate_phdr(note_library, &before);
    assert_int_equal(transport_load(CUSPAN_EXPORT_MODULE, &transport, &err), STATUS_OK);
    dl_iterate_phdr(note_library, &after);
    for (size_t i = 0; i < after.count; i++) {
        bool known = strcmp(after.names[i], CUSPAN_EXPORT_MODULE) == 0 || is_of_libc(after.names[i]);
        for (size_t j = 0; j < before.count && !known; j++)
            known = strcmp(after.names[i], before.names[j]) == 0;
        if (!known)
            fail_msg("the module has loaded %s", after.names[i]);
    }
}

static void test_it_shows_one_function_and_to_those_who_ask_alone(void **state)
{
    void *module = dlopen(CUSPAN_EXPORT_MODULE, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(module);
    assert_non_null(dlsym(module, TRANSPORT_SYMBOL));
    static const char *const hidden[] = {"curl_easy_init", "SSL_new", "cJSON_Parse", "nghttp2_session_send",
                                         "json_response_read"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_null(dlsym(module, hidden[i]));
    assert_null(dlsym(RTLD_DEFAULT, TRANSPORT_SYMBOL));
    dlclose(module);
}

static void send_to(const char *url, struct transport_response *response)
{
    struct connection *connection;
    struct transport_options options = {.url = strdup(url), .verify = true};
    const char *const headers[] = {"Content-Type: application/json", NULL};
    atomic_bool aborted = false;
    const struct transport_request request = {
        .headers = headers, .deadline_ns = UINT64_MAX, .aborted = &aborted};
    assert_int_equal(transport->connection_create(&options, &connection), STATUS_OK);
    assert_null(options.url); /* now the connection's */
    transport->connection_send(connection, &request, response);
    transport->connection_destroy(connection);
}

static void test_it_uses_its_own_libraries(void **state)
{
    static struct transport_response response;
    struct otlp_response answer = {0};
    send_to("http://127.0.0.1:1/", &response);
    assert_int_equal(response.result, TRANSPORT_UNREACHABLE);
    send_to("https://127.0.0.1:1/", &response);
    assert_int_equal(response.result, TRANSPORT_UNREACHABLE);
    assert_true(transport->read_json((const uint8_t *)"{\"message\":\"fine\"}", 18, &answer));
    assert_string_equal(answer.message, "fine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_brings_nothing_along),
        cmocka_unit_test(test_it_shows_one_function_and_to_those_who_ask_alone),
        cmocka_unit_test(test_it_uses_its_own_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
