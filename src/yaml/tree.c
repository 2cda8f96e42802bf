#include "yaml/tree.h"

#include "base/accounting/invariant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define BLOCK_BYTES (16 * 1024)
#define ANCHORS_MAX 256
#define PATH_BYTES  192 /* of a path in a message */

struct tree_block {
    struct tree_block *next;
    size_t used;
    size_t size;
    _Alignas(16) char bytes[];
};

struct level { /* an open list or mapping */
    struct node *node;
    struct item *last;
    struct item *pending; /* a key without its value yet */
    const char *key;      /* the last one read */
};

struct anchor {
    const char *name;
    const struct node *node;
};

struct builder {
    struct tree *tree;
    const char *file;
    const struct config_environment *environment;
    struct config_report *report;
    const yaml_event_t *event;
    struct level levels[TREE_DEPTH_MAX];
    size_t depth;
    struct anchor anchors[ANCHORS_MAX];
    size_t anchor_count;
    size_t nodes;
    size_t text_bytes;
    bool has_errors; /* parsing continues, to report all malformed references */
};

static void *allocate(struct tree *tree, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct tree_block *block = tree->blocks;
    if (!block || block->size - block->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        *block = (struct tree_block){.next = tree->blocks, .size = size};
        tree->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += bytes;
    memset(memory, 0, bytes);
    return memory;
}

static const char *copy_text(struct builder *b, const char *text, size_t length)
{
    char *copy = allocate(b->tree, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

static uint32_t line_of(const struct builder *b)
{
    return (uint32_t)b->event->start_mark.line + 1;
}

static uint32_t column_of(const struct builder *b)
{
    return (uint32_t)b->event->start_mark.column + 1;
}

/* The path of the node to be attached, for messages: "a.b[2].c: "; empty at the root. */
static void print_path(const struct builder *b, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < b->depth && used < size; i++) {
        const struct level *level = &b->levels[i];
        if (!INVARIANT(level->node))
            break;
        uint32_t index = level->node->count - (i + 1 < b->depth ? 1 : 0);
        if (level->node->kind == NODE_LIST)
            used += (size_t)snprintf(text + used, size - used, "[%u]", index);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "." : "",
                                     level->key ? level->key : "");
    }
    if (used > 0 && used + 3 < size)
        memcpy(text + used, ": ", 3);
}

static enum status refuse(struct builder *b, const char *problem)
{
    char path[PATH_BYTES];
    print_path(b, path, sizeof path);
    config_error(b->report, "%s:%u:%u: %s%s", b->file, line_of(b), column_of(b), path, problem);
    return STATUS_INVALID;
}

static struct node *make_node(struct builder *b, enum node_kind kind)
{
    struct node *node = allocate(b->tree, sizeof *node);
    if (node) {
        node->kind = kind;
        node->line = line_of(b);
        node->column = column_of(b);
    }
    return node;
}

static enum status remember_anchor(struct builder *b, const yaml_char_t *name, const struct node *node)
{
    if (!name)
        return STATUS_OK;
    if (b->anchor_count == ANCHORS_MAX)
        return refuse(b, "too many anchors: expected at most 256");
    const char *copy = copy_text(b, (const char *)name, strlen((const char *)name));
    if (!copy)
        return STATUS_NO_MEMORY;
    b->anchors[b->anchor_count++] = (struct anchor){copy, node};
    return STATUS_OK;
}

/* Adds a node to the innermost open list or mapping. */
static enum status attach(struct builder *b, const struct node *node)
{
    if (b->depth == 0) {
        b->tree->root = node;
        return STATUS_OK;
    }
    struct level *level = &b->levels[b->depth - 1];
    if (!INVARIANT(level->node))
        return STATUS_CORRUPT;
    struct item *item = level->pending;
    if (!item) {
        item = allocate(b->tree, sizeof *item);
        if (!item)
            return STATUS_NO_MEMORY;
        item->line = line_of(b);
        item->column = column_of(b);
    }
    item->value = node;
    if (level->last)
        level->last->next = item;
    else
        level->node->items = item;
    level->last = item;
    level->pending = NULL;
    level->node->count++;
    return STATUS_OK;
}

static bool expects_key(const struct builder *b)
{
    if (b->depth == 0)
        return false;
    const struct level *level = &b->levels[b->depth - 1];
    return INVARIANT(level->node) && level->node->kind == NODE_MAP && !level->pending;
}

static enum status take_key(struct builder *b)
{
    struct level *level = &b->levels[b->depth - 1];
    const char *text = (const char *)b->event->data.scalar.value;
    size_t length = b->event->data.scalar.length;
    if (memchr(text, '\0', length))
        return refuse(b, "a key contains a NUL character: expected text");
    if (level->node->count >= TREE_KEYS_MAX)
        return refuse(b, "too many keys in one mapping: expected at most 1024");
    const struct item *twin = node_find(level->node, text);
    if (twin) {
        level->key = twin->key;
        char problem[80];
        snprintf(problem, sizeof problem, "duplicate key, first on line %u: remove one", twin->line);
        return refuse(b, problem);
    }
    struct item *item = allocate(b->tree, sizeof *item);
    if (!item || !(item->key = copy_text(b, text, length)))
        return STATUS_NO_MEMORY;
    item->line = line_of(b);
    item->column = column_of(b);
    level->pending = item;
    level->key = item->key;
    return STATUS_OK;
}

/* The type of a scalar with a tag such as !!str. Only tags of the core schema are allowed. */
static enum status type_by_tag(struct builder *b, const char *tag, struct node *node)
{
    static const struct {
        const char *tag;
        enum scalar_type type;
    } tags[] = {{YAML_NULL_TAG, SCALAR_NULL},
                {YAML_BOOL_TAG, SCALAR_BOOL},
                {YAML_INT_TAG, SCALAR_INT},
                {YAML_FLOAT_TAG, SCALAR_FLOAT},
                {YAML_STR_TAG, SCALAR_STRING}};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (strcmp(tag, tags[i].tag) != 0)
            continue;
        node->type = tags[i].type;
        enum scalar_type plain = scalar_type_of(node->text);
        bool fits = node->type == SCALAR_STRING || plain == node->type ||
                    (node->type == SCALAR_FLOAT && plain == SCALAR_INT);
        return fits ? STATUS_OK : refuse(b, "the value does not match its tag: correct one of them");
    }
    return refuse(b, "unknown tag: expected none, or one of !!str, !!int, !!float, !!bool, !!null");
}

static enum status replace_references(struct builder *b, struct node *node, const char *raw)
{
    struct substitution result;
    struct error err = {""};
    char path[PATH_BYTES];
    enum status status = substitute(raw, b->environment, &result, &err);
    if (status == STATUS_INVALID || status == STATUS_FULL) {
        print_path(b, path, sizeof path);
        config_error(b->report, "%s:%u:%u: %s%s", b->file, node->line, node->column, path, err.text);
        b->has_errors = true;
        node->text = "";
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    if (result.is_unfinished) {
        print_path(b, path, sizeof path);
        config_warning(b->report,
                       "%s:%u:%u: %s\"${\" without \"}\" is used literally: close it, or write $${", b->file,
                       node->line, node->column, path);
    }
    size_t length = strlen(result.text);
    b->text_bytes += length;
    node->is_substituted = result.is_changed;
    node->text = b->text_bytes > TREE_TEXT_BYTES_MAX ? NULL : copy_text(b, result.text, length);
    free(result.text);
    if (b->text_bytes > TREE_TEXT_BYTES_MAX)
        return refuse(b, "the file has over 4 MiB after substitution: shorten it");
    return node->text ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status take_scalar(struct builder *b)
{
    if (expects_key(b))
        return take_key(b);
    const char *raw = (const char *)b->event->data.scalar.value;
    if (memchr(raw, '\0', b->event->data.scalar.length))
        return refuse(b, "a value contains a NUL character: expected text");
    struct node *node = make_node(b, NODE_SCALAR);
    if (!node)
        return STATUS_NO_MEMORY;
    enum status status = replace_references(b, node, raw);
    if (status != STATUS_OK)
        return status;
    const char *tag = (const char *)b->event->data.scalar.tag;
    if (tag && strcmp(tag, "!") != 0)
        status = type_by_tag(b, tag, node);
    else
        node->type = !tag && b->event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                         ? scalar_type_of(node->text)
                         : SCALAR_STRING;
    if (status == STATUS_OK)
        status = remember_anchor(b, b->event->data.scalar.anchor, node);
    return status == STATUS_OK ? attach(b, node) : status;
}

static enum status open_level(struct builder *b, enum node_kind kind, const yaml_char_t *anchor,
                              const yaml_char_t *tag)
{
    if (expects_key(b))
        return refuse(
            b, "a key is a mapping or a list: expected text; put a value that starts with a brace in quotes");
    if (b->depth == TREE_DEPTH_MAX)
        return refuse(b, "nested too deeply: expected at most 64 levels");
    const char *expected = kind == NODE_MAP ? YAML_MAP_TAG : YAML_SEQ_TAG;
    if (tag && strcmp((const char *)tag, "!") != 0 && strcmp((const char *)tag, expected) != 0)
        return refuse(b, "unknown tag: expected none");
    struct node *node = make_node(b, kind);
    if (!node)
        return STATUS_NO_MEMORY;
    enum status status = remember_anchor(b, anchor, node);
    if (status == STATUS_OK)
        status = attach(b, node);
    if (status == STATUS_OK)
        b->levels[b->depth++] = (struct level){.node = node};
    return status;
}

static enum status take_alias(struct builder *b)
{
    if (expects_key(b))
        return refuse(b, "a key is an alias: expected text");
    const char *name = (const char *)b->event->data.alias.anchor;
    const struct node *node = NULL;
    for (size_t i = b->anchor_count; i > 0 && !node; i--) {
        if (strcmp(b->anchors[i - 1].name, name) == 0)
            node = b->anchors[i - 1].node;
    }
    if (!node)
        return refuse(
            b, "an alias without an earlier anchor of that name: define it, or put the value in quotes");
    for (size_t i = 0; i < b->depth; i++) {
        if (b->levels[i].node == node)
            return refuse(b, "an alias inside its own anchor: infinite recursion");
    }
    return attach(b, node);
}

static enum status take_event(struct builder *b)
{
    if (b->event->type == YAML_SCALAR_EVENT || b->event->type == YAML_ALIAS_EVENT ||
        b->event->type == YAML_SEQUENCE_START_EVENT || b->event->type == YAML_MAPPING_START_EVENT) {
        if (++b->nodes > TREE_NODES_MAX)
            return refuse(b, "too many values: expected at most 32768 in a file");
    }
    switch (b->event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(b);
    case YAML_ALIAS_EVENT:
        return take_alias(b);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(b, NODE_LIST, b->event->data.sequence_start.anchor,
                          b->event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_level(b, NODE_MAP, b->event->data.mapping_start.anchor, b->event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        if (!INVARIANT(b->depth > 0)) /* libyaml closes only what it opened */
            return STATUS_CORRUPT;
        b->depth--;
        return STATUS_OK;
    case YAML_DOCUMENT_START_EVENT:
        return b->tree->root ? refuse(b, "a second document begins here: expected one; remove the --- line")
                             : STATUS_OK;
    default:
        return STATUS_OK;
    }
}

static const char *byte_at(const char *bytes, size_t length, size_t line, size_t column)
{
    const char *at = bytes, *end = bytes + length;
    for (; line > 0; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return NULL;
        at++;
    }
    return column < (size_t)(end - at) ? at + column : NULL;
}

static enum status report_syntax(const yaml_parser_t *parser, const char *bytes, size_t length,
                                 struct builder *b)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return STATUS_NO_MEMORY;
    const char *problem = parser->problem ? parser->problem : "unreadable";
    if (parser->error == YAML_READER_ERROR) {
        config_error(b->report, "%s: not valid YAML: byte %zu: %s: save the file as UTF-8 text", b->file,
                     parser->problem_offset, problem);
        return STATUS_INVALID;
    }
    const char *at = byte_at(bytes, length, parser->problem_mark.line, parser->problem_mark.column);
    bool is_tab = at && *at == '\t', is_reference = at && at > bytes && at[-1] == '$' && *at == '{';
    config_error(b->report, "%s:%zu:%zu: not valid YAML: %s: %s", b->file, parser->problem_mark.line + 1,
                 parser->problem_mark.column + 1, problem,
                 is_tab         ? "indent by spaces, not by tabs"
                 : is_reference ? "put ${...} in quotes inside [...] and {...}"
                                : "check the indentation and the quotes here and on the line above");
    return STATUS_INVALID;
}

static enum status read_events(yaml_parser_t *parser, const char *bytes, size_t length, struct builder *b)
{
    enum status status = STATUS_OK;
    bool at_end = false;
    while (status == STATUS_OK && !at_end) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return report_syntax(parser, bytes, length, b);
        b->event = &event;
        at_end = event.type == YAML_STREAM_END_EVENT;
        status = take_event(b);
        yaml_event_delete(&event);
    }
    return status == STATUS_OK && b->has_errors ? STATUS_INVALID : status;
}

enum status tree_parse(struct tree *tree, const char *bytes, size_t length, const char *file,
                       const struct config_environment *environment, struct config_report *report)
{
    *tree = (struct tree){0};
    struct builder *builder = calloc(1, sizeof *builder);
    yaml_parser_t parser;
    if (!builder || !yaml_parser_initialize(&parser)) {
        free(builder);
        return STATUS_NO_MEMORY;
    }
    builder->tree = tree;
    builder->file = file;
    builder->environment = environment;
    builder->report = report;
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, length);
    enum status status = read_events(&parser, bytes, length, builder);
    yaml_parser_delete(&parser);
    free(builder);
    if (status != STATUS_OK)
        tree_deinit(tree);
    return status;
}

void tree_deinit(struct tree *tree)
{
    while (tree->blocks) {
        struct tree_block *next = tree->blocks->next;
        free(tree->blocks);
        tree->blocks = next;
    }
    tree->root = NULL;
}

const struct item *node_find(const struct node *node, const char *key)
{
    for (const struct item *item = node->items; item; item = item->next) {
        if (strcmp(item->key, key) == 0)
            return item;
    }
    return NULL;
}

const char *node_kind_name(const struct node *node)
{
    if (node->kind == NODE_SCALAR)
        return scalar_type_name(node->type);
    return node->kind == NODE_MAP ? "a mapping" : "a list";
}
