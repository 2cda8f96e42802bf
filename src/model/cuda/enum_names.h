/* Names of an enum's values; other values are shown as numbers. */
#pragma once

#include <stdint.h>

struct enum_names {
    uint32_t count;
    const struct enum_name {
        int32_t value;
        const char *name;
    } * entries;
};

/* The name of an enum's value, or NULL. */
const char *enum_name(const struct enum_names *names, int64_t value);
