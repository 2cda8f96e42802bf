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

static bool is_null(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return is_one_of(text, words);
}

bool scalar_parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    *value = is_one_of(text, yes);
    return *value || is_one_of(text, no);
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
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

static bool is_float(const char *text)
{
    if (is_special_float(text))
        return true;
    const char *at = skip_sign(text);
    const char *end = skip_digits(at);
    bool has_digits = end > at;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        has_digits = has_digits || end > fraction;
    }
    if (!has_digits)
        return false;
    if (*end == 'e' || *end == 'E') {
        at = skip_sign(end + 1);
        end = skip_digits(at);
        if (end == at)
            return false;
    }
    return *end == '\0';
}

enum scalar_type scalar_type_of(const char *text)
{
    bool ignored;
    if (is_null(text))
        return SCALAR_NULL;
    if (scalar_parse_bool(text, &ignored))
        return SCALAR_BOOL;
    if (is_int(text))
        return SCALAR_INT;
    if (is_float(text))
        return SCALAR_FLOAT;
    return SCALAR_STRING;
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
    if (!is_float(text) && !is_int(text))
        return false;
    uint64_t whole;
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        if (!scalar_parse_uint(text, &whole))
            return false;
        *value = (double)whole;
        return true;
    }
    /* In a German locale, strtod() reads 0.5 as 0. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    *value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return true;
}
