/* Writes structs of Thrift's compact protocol, in which Parquet has its headers and footers. */
#pragma once

#include "analysis/export/bytes.h"

#include <stdbool.h>

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

#define THRIFT_DEPTH_MAX 8

struct thrift {
    struct bytes *out;
    int last[THRIFT_DEPTH_MAX]; /* the field written last, of each open struct */
    unsigned depth;
};

/* The outermost struct is open. */
void thrift_begin(struct thrift *thrift, struct bytes *out);
void thrift_field(struct thrift *thrift, int id, enum thrift_type type);
void thrift_int(struct thrift *thrift, int id, enum thrift_type type, int64_t value);
void thrift_bool(struct thrift *thrift, int id, bool value);
void thrift_binary(struct thrift *thrift, int id, const void *data, size_t len);
void thrift_string(struct thrift *thrift, int id, const char *text);
/* The elements follow: thrift_open_element() each, or thrift_add_*(). */
void thrift_list(struct thrift *thrift, int id, enum thrift_type type, size_t count);
void thrift_open(struct thrift *thrift, int id);
void thrift_open_element(struct thrift *thrift);
void thrift_close(struct thrift *thrift);
/* Elements of a list. */
void thrift_add_int(struct thrift *thrift, int64_t value);
void thrift_add_string(struct thrift *thrift, const char *text);
