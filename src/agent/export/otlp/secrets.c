#include "agent/export/otlp/secrets.h"

#include "base/text/sanitize.h"
#include "agent/export/otlp/grpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that base64 encodes to SECRET_HEAD_BYTES. */
#define CREDENTIALS_BYTES (SECRET_HEAD_BYTES / 4 * 3)

/* `known`: length of a public prefix, such as the scheme. */
static enum status add(struct secrets *secrets, const char *text, size_t known)
{
    if (strlen(text) < SECRET_BYTES_MIN)
        return STATUS_OK;
    struct secret *items = realloc(secrets->items, (secrets->count + 1) * sizeof *items);
    if (!items)
        return STATUS_NO_MEMORY;
    secrets->items = items;
    struct secret *secret = &items[secrets->count++];
    *secret = (struct secret){.telling = known + SECRET_BYTES_MIN};
    strncpy(secret->head, text, SECRET_HEAD_BYTES);
    return STATUS_OK;
}

enum status secrets_add_header(struct secrets *secrets, const char *value)
{
    const char *first = strchr(value, ' ');
    const char *last = strrchr(value, ' ');
    enum status status = add(secrets, value, first ? (size_t)(first + 1 - value) : 0);
    if (status == STATUS_OK && first)
        status = add(secrets, first + 1, 0);
    if (status == STATUS_OK && last != first)
        status = add(secrets, last + 1, 0);
    return status;
}

static void base64_encode(char *to, const char *from, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t bits = (uint32_t)(uint8_t)from[i] << 16;
        bits |= left > 1 ? (uint32_t)(uint8_t)from[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint8_t)from[i + 2] : 0;
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[bits & 63] : '=';
    }
    *to = '\0';
}

/* Adds the text as it is in the URL, and decoded. */
static enum status add_part(struct secrets *secrets, const char *text, size_t bytes)
{
    char head[SECRET_HEAD_BYTES + 1] = "";
    strncat(head, text, bytes < SECRET_HEAD_BYTES ? bytes : SECRET_HEAD_BYTES);
    enum status status = add(secrets, head, 0);
    percent_decode(head, sizeof head, text, bytes);
    return status == STATUS_OK ? add(secrets, head, 0) : status;
}

/* libcurl's value after "Authorization: Basic", which has a colon even without a password. */
static enum status add_credentials(struct secrets *secrets, const char *user, size_t user_bytes,
                                   const char *password, size_t password_bytes)
{
    char plain[CREDENTIALS_BYTES + 2];
    char encoded[SECRET_HEAD_BYTES + 1];
    size_t used = percent_decode(plain, CREDENTIALS_BYTES + 1, user, user_bytes);
    plain[used++] = ':'; /* plain has space for it even after the longest name */
    if (used < CREDENTIALS_BYTES)
        used += percent_decode(plain + used, CREDENTIALS_BYTES + 1 - used, password, password_bytes);
    base64_encode(encoded, plain, used < CREDENTIALS_BYTES ? used : CREDENTIALS_BYTES);
    return add(secrets, encoded, 0);
}

static enum status add_query(struct secrets *secrets, const char *url)
{
    enum status status = STATUS_OK;
    for (const char *at = url + strcspn(url, "?#"); *at && status == STATUS_OK;) {
        size_t bytes = strcspn(++at, "&#");
        const char *equals = memchr(at, '=', bytes), *value = equals ? equals + 1 : at;
        status = add_part(secrets, value, (size_t)(at + bytes - value));
        at += bytes;
    }
    return status;
}

enum status secrets_add_url(struct secrets *secrets, const char *url)
{
    size_t bytes;
    const char *user = sanitize_find_user(url, strlen(url), &bytes);
    bool is_path = user && memchr(user, '/', bytes) && !memchr(user, ':', bytes);
    if (!user || is_path)
        return add_query(secrets, url);
    const char *end = user + bytes;
    const char *colon = memchr(user, ':', (size_t)(end - user));
    const char *user_end = colon ? colon : end;
    const char *password = colon ? colon + 1 : end;
    /* A user name without a password is a token. */
    enum status status = password < end ? add_part(secrets, password, (size_t)(end - password))
                                        : add_part(secrets, user, (size_t)(user_end - user));
    if (status == STATUS_OK)
        status =
            add_credentials(secrets, user, (size_t)(user_end - user), password, (size_t)(end - password));
    return status == STATUS_OK ? add_query(secrets, end) : status;
}

void secrets_deinit(struct secrets *secrets)
{
    free(secrets->items);
    *secrets = (struct secrets){0};
}

static bool ends_within(const char *text, size_t bytes, const struct secret *secret)
{
    for (size_t length = secret->telling; length < strlen(secret->head) && length <= bytes; length++)
        if (memcmp(text + bytes - length, secret->head, length) == 0)
            return true;
    return false;
}

bool secrets_leak(const struct secrets *secrets, const char *text)
{
    size_t bytes = strlen(text);
    for (size_t i = 0; i < secrets->count; i++)
        if (strstr(text, secrets->items[i].head) || ends_within(text, bytes, &secrets->items[i]))
            return true;
    return false;
}
