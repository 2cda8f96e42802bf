/* Keeps the names that programs register with NVTX and refer to later: domains, strings, categories. The
 * handles that programs get are pointers to the entries.
 *
 * Entries live in fixed memory (NVTX_NAMES_BYTES) forever: a range may refer to a domain that another thread
 * destroys, and creating the same domain or string again returns the same entry. Lock-free and without
 * allocation, so usable on any thread at any time, also in a forked child.
 *
 * When the memory is full, all later strings are one string and all later domains are one domain, whose
 * ranges nest among themselves and never with the default domain. */
#pragma once

#include <stdint.h>

enum nvtx_name_kind {
    NVTX_NAME_DOMAIN = 1,
    NVTX_NAME_STRING,
    NVTX_NAME_CATEGORY, /* key: the domain's number << 32 | the category's */
    NVTX_NAME_OBJECT    /* key: the handle << 3 | enum named_object */
};

struct nvtx_name {
    const struct nvtx_name *next;
    const char *text; /* not NUL-terminated */
    uint64_t key;
    uint32_t number; /* DOMAIN: from NVTX_DOMAIN_FIRST on */
    uint16_t bytes;
    uint8_t kind;
};

/* Domain numbers: the default domain, the one shared by all domains after memory is exhausted, and the first
 * regular one. */
enum { NVTX_DOMAIN_DEFAULT = 1, NVTX_DOMAIN_BEYOND = 2, NVTX_DOMAIN_FIRST = 3 };

/* Returns the entry of a DOMAIN or STRING with this text (truncated to RANGE_TEXT_BYTES), and adds it if it
 * is new. When memory is exhausted, returns a shared entry and logs one line. Never NULL. */
const struct nvtx_name *nvtx_names_register(enum nvtx_name_kind kind, const char *text, uint32_t bytes);

/* Sets the text of a CATEGORY or OBJECT. When memory is exhausted, the old text stays. */
void nvtx_names_set(enum nvtx_name_kind kind, uint64_t key, const char *text, uint32_t bytes);
/* Returns the entry with the key's text; NULL: it has none. */
const struct nvtx_name *nvtx_names_get(enum nvtx_name_kind kind, uint64_t key);
/* Visits all entries of a kind, with the newest text of each key. */
void nvtx_names_visit(enum nvtx_name_kind kind, void (*visit)(const struct nvtx_name *name));

/* Returns the entry that a handle points to; NULL: the handle is not one of this kind. Safe with any value.
 */
const struct nvtx_name *nvtx_names_of_handle(enum nvtx_name_kind kind, const void *handle);
