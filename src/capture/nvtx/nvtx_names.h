/* What programs register with NVTX and refer to later: domains, strings, names of categories. Their entries
 * are the handles that programs get.
 *
 * All lie in one fixed memory (NVTX_NAMES_BYTES) and stay for good: a range may refer to a domain that
 * another thread destroys, and programs that create the same domain or string again get the same entry. No
 * lock is taken and nothing is allocated, so any thread may come at any time, also a forked child's. */
#ifndef CUSPAN_CAPTURE_NVTX_NVTX_NAMES_H
#define CUSPAN_CAPTURE_NVTX_NVTX_NAMES_H

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

/* Numbers of domains: the one that has no handle, the one of all that there was no room for, the others. */
enum { NVTX_DOMAIN_DEFAULT = 1, NVTX_DOMAIN_BEYOND = 2, NVTX_DOMAIN_FIRST = 3 };

/* The entry of a domain or string with this text (cut at RANGE_TEXT_BYTES). With no room left it is one that
 * stands for all such, and a line says so once. */
const struct nvtx_name *nvtx_names_domain(const char *text, uint32_t bytes);
const struct nvtx_name *nvtx_names_string(const char *text, uint32_t bytes);

/* From now on the key has this text. Without room it keeps what it has. */
void nvtx_names_set(enum nvtx_name_kind kind, uint64_t key, const char *text, uint32_t bytes);
/* The key's text, or NULL. */
const struct nvtx_name *nvtx_names_get(enum nvtx_name_kind kind, uint64_t key);
/* Calls `visit` with all entries of a kind, the newest text of each key. */
void nvtx_names_visit(enum nvtx_name_kind kind, void (*visit)(const struct nvtx_name *name));

/* The entry that a handle is, or NULL if it is none of this kind, whatever the program has passed. */
const struct nvtx_name *nvtx_names_of_handle(enum nvtx_name_kind kind, const void *handle);

#endif
