#include "yaml/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

bool scalar_parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    *value = is_one_of(text, yes);
    return *value || is_one_of(text, no);
}

static const char *skip_sign(const char *at)
{
    return *at == '+' || *at == '-' ? at + 1 : at;
}

static bool all_in(const char *text, const char *digits)
{
    return *text && text[strspn(text, digits)] == '\0';
}

static bool is_int(const char *text)
{
    if (text[0] == '0' && text[1] == 'o')
        return all_in(text + 2, "01234567");
    if (text[0] == '0' && text[1] == 'x')
        return all_in(text + 2, "0123456789abcdefABCDEF");
    return all_in(skip_sign(text), "0123456789");
}

static bool is_special_float(const char *text)
{
    static const char *const nan_words[] = {".nan", ".NaN", ".NAN", NULL};
    static const char *const inf_words[] = {".inf", ".Inf", ".INF", NULL};
    return is_one_of(text, nan_words) || is_one_of(skip_sign(text), inf_words);
}

enum scalar_type scalar_type_of(const char *text)
{
    static const char *const nothing[] = {"", "~", "null", "Null", "NULL", NULL};
    bool truth;
    double real;
    if (is_one_of(text, nothing))
        return SCALAR_NULL;
    if (scalar_parse_bool(text, &truth))
        return SCALAR_BOOL;
    if (is_int(text))
        return SCALAR_INT;
    return scalar_parse_float(text, &real) ? SCALAR_FLOAT : SCALAR_STRING;
}

const char *scalar_type_name(enum scalar_type type)
{
    static const char *const names[] = {"null", "true or false", "an integer", "a decimal number",
                                        "a string"};
    return names[type];
}

bool scalar_parse_uint(const char *text, uint64_t *value)
{
    if (!is_int(text) || text[0] == '-')
        return false;
    int base = 10;
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        base = text[1] == 'o' ? 8 : 16;
        text += 2;
    }
    errno = 0;
    *value = strtoull(text, NULL, base);
    return errno == 0;
}

bool scalar_parse_int(const char *text, int64_t *value)
{
    uint64_t magnitude;
    if (text[0] != '-') {
        if (!scalar_parse_uint(text, &magnitude) || magnitude > INT64_MAX)
            return false;
        *value = (int64_t)magnitude;
        return true;
    }
    if (!is_int(text))
        return false;
    errno = 0;
    *value = strtoll(text, NULL, 10);
    return errno == 0;
}

bool scalar_parse_float(const char *text, double *value)
{
    if (is_special_float(text)) {
        char last = (char)tolower((unsigned char)text[strlen(text) - 1]);
        *value = last == 'n' ? NAN : text[0] == '-' ? -INFINITY : INFINITY;
        return true;
    }
    uint64_t whole;
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        if (!scalar_parse_uint(text, &whole))
            return false;
        *value = (double)whole;
        return true;
    }
    /* In a German locale, strtod() reads 0.5 as 0. In any, it reads words such as "nan". */
    locale_t c_locale = all_in(text, "+-.0123456789eE") ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : NULL;
    if (!c_locale)
        return false;
    char *end;
    *value = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    return end > text && !*end;
}
