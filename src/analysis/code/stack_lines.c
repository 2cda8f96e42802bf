#include "analysis/code/stack_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_VALUE 0x7fffffffu

static struct frame_text part(const char *from, const char *to)
{
    return (struct frame_text){from, (size_t)(to - from)};
}

static bool starts(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

static const char *find(const char *at, const char *end, const char *word)
{
    return memmem(at, (size_t)(end - at), word, strlen(word));
}

/* The digits at `at`; NULL: there are none. */
static const char *read_number(const char *at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    const char *digit = at;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++)
        value = value > LINE_MAX_VALUE ? value : value * 10 + (uint64_t)(*digit - '0');
    *number = value > LINE_MAX_VALUE ? 0 : (uint32_t)value;
    return digit == at ? NULL : digit;
}

/* File "PATH", line N, in NAME */
static bool read_python(const char *at, const char *end, struct stack_frame *frame)
{
    static const char file[] = "File \"", line[] = "\", line ", in[] = ", in ";
    if (!starts(at, end, file))
        return false;
    at += sizeof file - 1;
    for (const char *quote = at; (quote = find(quote, end, line)); quote++) {
        const char *after = read_number(quote + sizeof line - 1, end, &frame->line);
        if (!after || (after != end && !starts(after, end, in)))
            continue;
        frame->kind = FRAME_PYTHON;
        frame->file = part(at, quote);
        frame->name = after == end ? part(end, end) : part(after + sizeof in - 1, end);
        return true;
    }
    return false;
}

/* The end of "+0x1189" at `at`; NULL: there is no offset. */
static const char *skip_offset(const char *at, const char *end)
{
    if (!starts(at, end, "+0x"))
        return NULL;
    const char *digit = at + 3;
    while (digit < end && isxdigit((unsigned char)*digit))
        digit++;
    return digit == at + 3 ? NULL : digit;
}

/* Without "+0x1c" at its end. */
static struct frame_text without_offset(const char *from, const char *to)
{
    for (const char *at = to; at-- > from;) {
        if (*at == '+')
            return skip_offset(at, to) == to ? part(from, at) : part(from, to);
    }
    return part(from, to);
}

/* SYMBOL+0xOFFSET (MODULE+0xOFFSET) */
static bool read_symbol_first(const char *at, const char *end, struct stack_frame *frame)
{
    if (end == at || end[-1] != ')')
        return false;
    const char *open = end - 1;
    while (open > at && !(open[0] == '(' && open[-1] == ' '))
        open--;
    struct frame_text module = without_offset(open + 1, end - 1);
    if (open == at || module.len == (size_t)(end - 1 - (open + 1)))
        return false;
    frame->file = module;
    frame->name = without_offset(at, open - 1);
    return true;
}

/* MODULE+0xOFFSET SYMBOL+0xOFFSET */
static bool read_module_first(const char *at, const char *end, struct stack_frame *frame)
{
    for (const char *plus = at; (plus = find(plus, end, "+0x")); plus++) {
        const char *after = skip_offset(plus, end);
        if (!after || (after != end && *after != ' '))
            continue;
        frame->file = part(at, plus);
        frame->name = after == end ? part(end, end) : without_offset(after + 1, end);
        return true;
    }
    return false;
}

/* The next line that is not blank, without white space at its ends. */
static bool next_line(const char **text, const char **line, const char **line_end)
{
    while (**text) {
        const char *at = *text, *end = at + strcspn(at, "\n");
        *text = *end ? end + 1 : end;
        while (at < end && isspace((unsigned char)*at))
            at++;
        while (end > at && isspace((unsigned char)end[-1]))
            end--;
        *line = at;
        *line_end = end;
        if (end > at)
            return true;
    }
    return false;
}

bool stack_lines_next(const char **text, struct stack_frame *frame)
{
    const char *at, *end;
    if (!next_line(text, &at, &end))
        return false;
    *frame = (struct stack_frame){.kind = FRAME_NATIVE, .file = part(end, end), .name = part(at, end)};
    if (end - at == 3 && memcmp(at, "...", 3) == 0)
        frame->kind = FRAME_CUT;
    else if (!read_python(at, end, frame) && !read_symbol_first(at, end, frame))
        read_module_first(at, end, frame);
    return true;
}

/* --- autograd --- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Base classes and wrappers do not say which node it is. */
static struct frame_text checked_node(struct frame_text node)
{
    static const char *const others[] = {"Node", "PyNode", "CppNode", "TraceableFunction", "Function"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strlen(others[i]) == node.len && memcmp(others[i], node.at, node.len) == 0)
            node.len = 0;
    }
    return node;
}

/* torch::autograd::generated::MmBackward0::apply(...) */
static struct frame_text node_of_plain(const char *at, const char *end)
{
    static const char apply[] = "::apply(";
    const char *call = find(at, end, apply), *first = call;
    if (!call || !find(at, call, "torch::autograd::"))
        return part(end, end);
    while (first > at && is_word(first[-1]))
        first--;
    return part(first, call);
}

/* _ZN5torch8autograd9generated11MmBackward05applyE... */
static struct frame_text node_of_mangled(const char *at, const char *end)
{
    static const char prefix[] = "_ZN5torch8autograd";
    struct frame_text last = part(end, end);
    if (!starts(at, end, prefix))
        return last;
    for (at += sizeof prefix - 1; at < end && *at != 'E';) {
        uint32_t len;
        at = read_number(at, end, &len);
        if (!at || len == 0 || len > (size_t)(end - at))
            break;
        if (len == 5 && memcmp(at, "apply", 5) == 0 && at + 5 < end && at[5] == 'E')
            return last;
        last = part(at, at + len);
        at += len;
    }
    return part(end, end);
}

struct frame_text stack_lines_autograd(const struct stack_frame *frame)
{
    const char *at = frame->name.at, *end = at + frame->name.len;
    if (frame->kind != FRAME_NATIVE || !frame->name.len)
        return (struct frame_text){at, 0};
    struct frame_text node = node_of_plain(at, end);
    return checked_node(node.len ? node : node_of_mangled(at, end));
}

struct frame_text stack_lines_autograd_range(const char *range)
{
    static const char evaluate[] = "autograd::engine::evaluate_function: ";
    const char *at = range;
    bool is_evaluated = strncmp(at, evaluate, sizeof evaluate - 1) == 0;
    if (is_evaluated)
        at += sizeof evaluate - 1;
    const char *end = at;
    while (is_word(*end) || *end == ':')
        end++;
    struct frame_text node = part(at, end);
    bool is_alone = !*end || starts(end, end + strlen(end), ", ");
    bool is_node = is_evaluated || find(at, end, "Backward") || find(at, end, "AccumulateGrad");
    if (!is_alone || !is_node)
        node.len = 0;
    return node;
}

bool stack_lines_is_autograd_engine(const struct stack_frame *frame)
{
    const char *at = frame->name.at, *end = at + frame->name.len;
    return frame->kind == FRAME_NATIVE && frame->name.len &&
           (find(at, end, "torch::autograd::Engine::") || find(at, end, "5torch8autograd6Engine"));
}

/* --- the program and its libraries --- */

/* `name` at the start of the path's parts. */
static bool has_part(const char *file, const char *name)
{
    for (const char *at = file; (at = strstr(at, name)); at++) {
        if (at == file || at[-1] == '/' || at[-1] == '\\')
            return true;
    }
    return false;
}

/* .../lib/python3.12/threading.py */
static bool is_standard_library(const char *file)
{
    static const char folder[] = "lib/python3.";
    for (const char *at = file; (at = strstr(at, folder)); at++) {
        const char *version = at + sizeof folder - 1;
        bool is_whole = at == file || at[-1] == '/';
        size_t digits = strspn(version, "0123456789t");
        if (is_whole && digits && version[digits] == '/')
            return true;
    }
    return false;
}

static bool is_frozen(const char *file)
{
    return strncmp(file, "<frozen", 7) == 0;
}

bool stack_lines_is_executed(const char *file)
{
    static const char *const typed[] = {"<stdin>", "<console>", "<ipython-input-", "<python-input-"};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++)
        if (strncmp(file, typed[i], strlen(typed[i])) == 0)
            return false;
    return *file == '<' && !is_frozen(file);
}

bool stack_lines_is_inductor(const char *file)
{
    return has_part(file, "torchinductor_");
}

bool stack_lines_is_library(const char *file)
{
    return has_part(file, "site-packages/") || has_part(file, "dist-packages/") || is_frozen(file) ||
           stack_lines_is_inductor(file) || has_part(file, "python.zip/") || is_standard_library(file);
}
