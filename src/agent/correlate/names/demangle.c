#include "agent/correlate/names/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NESTING_MAX 64 /* nested template arguments whose parentheses are tracked */

/* The demangler of the C++ runtime, linked statically, so that no C++ runtime is loaded. It emits its result
 * in pieces and allocates nothing. */
int __gcclibcxx_demangle_callback(const char *mangled, void (*on_piece)(const char *, size_t, void *),
                                  void *context);

struct pieces {
    char *to;
    size_t length, size;
    jmp_buf full;
};

static void on_piece(const char *piece, size_t bytes, void *context)
{
    struct pieces *pieces = context;
    size_t left = pieces->size - 1 - pieces->length;
    memcpy(pieces->to + pieces->length, piece, bytes < left ? bytes : left);
    pieces->length += bytes < left ? bytes : left;
    if (bytes > left)
        longjmp(pieces->full, 1); /* the demangler owns nothing, so this leaks nothing */
}

size_t demangle_name(const char *mangled, char *to, size_t size)
{
    struct pieces pieces = {.to = to, .size = size};
    if (mangled[0] != '_' || mangled[1] != 'Z')
        return 0;
    if (setjmp(pieces.full) == 0 && __gcclibcxx_demangle_callback(mangled, on_piece, &pieces) != 0)
        return 0;
    to[pieces.length] = 0;
    return pieces.length;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* Returns the length of an operator's name at `c`, such as "operator<<", whose brackets are not a template's;
 * 0: no operator. */
static size_t operator_length(const char *begin, const char *c)
{
    static const char *const symbols[] = {
        "<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "->*", "->", "()", "<", ">"};
    if (strncmp(c, "operator", 8) != 0 || (c > begin && is_word(c[-1])))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (strncmp(c + 8, symbols[i], strlen(symbols[i])) == 0)
            return 8 + strlen(symbols[i]);
    return 0;
}

/* Length of a comparison or shift in template arguments, which the demangler writes as "(a)<(b)" or
 * "(a)>=(b)"; 0: none. A single '>' counts as none, since the demangler puts it in parentheses. */
static size_t comparison_length(const char *c)
{
    size_t length = strspn(c, "<=>");
    return (*c == '<' || length > 1) && c[-1] == ')' && c[length] == '(' ? length : 0;
}

/* Removes what is in angle brackets. A '>' closes a '<' only at the same depth of parentheses:
 * "enable_if<((sizeof (int))>(2)), void>". */
static size_t copy_without_templates(const char *full, char *to)
{
    uint32_t parens_at[NESTING_MAX], angle = 0, parens = 0;
    const char *operator_end = NULL;
    size_t length = 0, step;
    for (const char *c = full; *c; c += step) {
        size_t operator_len = operator_length(full, c);
        size_t comparison_len = angle && c != operator_end ? comparison_length(c) : 0;
        bool opens = false, closes = false;
        step = operator_len ? operator_len : comparison_len ? comparison_len : 1;
        if (operator_len) {
            operator_end = c + operator_len;
        } else if (!comparison_len) {
            opens = *c == '<';
            closes =
                *c == '>' && angle && (angle > NESTING_MAX || parens == parens_at[angle - 1]) && c[-1] != '-';
            parens += *c == '(';
            parens -= *c == ')';
        }
        if (opens && angle == 0 && length && to[length - 1] == ' ')
            length--; /* "operator<< <int>" */
        if (opens && angle++ < NESTING_MAX)
            parens_at[angle - 1] = parens;
        if (angle == 0) {
            memcpy(to + length, c, step);
            length += step;
        }
        angle -= closes;
    }
    to[length] = 0;
    return length;
}

/* Returns the rest of the name behind an argument list that ends at `text`, as in "f(int) const::inner";
 * NULL: none. */
static char *find_inner_name(char *text)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (strncmp(text, qualifiers[i], strlen(qualifiers[i])) == 0)
            text += strlen(qualifiers[i]);
    return strncmp(text, "::", 2) == 0 ? text : NULL;
}

/* Length of a part of the name at `text` that only looks like an argument list; 0: none. */
static size_t name_part_length(const char *text)
{
    static const char *const parts[] = {"(anonymous namespace)", "operator()"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(text, parts[i], strlen(parts[i])) == 0)
            return strlen(parts[i]);
    return 0;
}

/* Returns the position after the matching parenthesis. */
static size_t find_end_of_list(const char *text, size_t open, size_t length)
{
    int depth = 1;
    size_t end = open + 1;
    for (; end < length && depth; end++)
        depth += (text[end] == '(') - (text[end] == ')');
    return end;
}

/* Cuts the function's own argument list, which is the last one at the top level, and removes earlier ones:
 * "f(int)::inner(char)" becomes "f::inner". */
static size_t cut_arguments(char *text, size_t length)
{
    int braces = 0;
    for (size_t i = 0, part; i < length;) {
        if ((part = name_part_length(text + i)) != 0) {
            i += part;
            continue;
        }
        braces += (text[i] == '{') - (text[i] == '}');
        if (text[i] != '(' || braces != 0) {
            i++;
            continue;
        }
        size_t end = find_end_of_list(text, i, length);
        if (i > 0 && text[i - 1] == ' ') { /* "decltype (x)" */
            i = end;
            continue;
        }
        const char *inner = find_inner_name(text + end);
        if (!inner) {
            length = i;
            break;
        }
        end = (size_t)(inner - text);
        memmove(text + i, inner, length - end + 1);
        length -= end - i;
    }
    text[length] = 0;
    return length;
}

/* Cuts a return type ("void ns::f") and suffixes ("f [clone .x]"). */
static size_t cut_return_type(char *text, size_t length)
{
    size_t begin = 0;
    int depth = 0;
    char *clone = strstr(text, " [clone");
    if (clone) {
        *clone = 0;
        length = (size_t)(clone - text);
    }
    for (size_t i = 0; i < length; i++) {
        depth += (text[i] == '(' || text[i] == '{') - (text[i] == ')' || text[i] == '}');
        if (text[i] == ' ' && depth == 0 && !(i >= 8 && strncmp(text + i - 8, "operator", 8) == 0))
            begin = i + 1;
    }
    memmove(text, text + begin, length - begin + 1);
    return length - begin;
}

size_t demangle_shorten(const char *full, char *to)
{
    size_t length = copy_without_templates(full, to);
    length = cut_arguments(to, length);
    length = cut_return_type(to, length);
    if (length == 0) { /* unknown syntax: keep the whole name */
        length = strlen(full);
        memcpy(to, full, length + 1);
    }
    return length;
}
