/* A YAML document as a tree of nodes with their place in the file. References to environment variables are
 * replaced, and plain scalars have types of YAML 1.2's core schema. Duplicate keys and unknown tags are
 * errors. Size and depth are bounded. */
#pragma once

#include "yaml/problems.h"
#include "yaml/scalar.h"
#include "yaml/substitute.h"

#include <stddef.h>

#define TREE_FILE_BYTES_MAX (1024 * 1024)
#define TREE_DEPTH_MAX      64
#define TREE_NODES_MAX      32768
#define TREE_KEYS_MAX       1024              /* of one mapping */
#define TREE_TEXT_BYTES_MAX (4 * 1024 * 1024) /* of all scalars after substitution */

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node;

struct item { /* of a list or a mapping */
    const struct item *next;
    const char *key; /* NULL in a list */
    uint32_t line;   /* of the key, or of the item */
    uint32_t column;
    const struct node *value; /* an alias shares its anchor's node */
};

struct node {
    enum node_kind kind;
    enum scalar_type type; /* of a scalar */
    bool is_substituted;   /* a scalar that contains the value of a variable */
    uint32_t line;         /* from 1 */
    uint32_t column;       /* from 1, in characters */
    uint32_t count;        /* of items */
    const char *text;      /* of a scalar */
    const struct item *items;
};

struct tree_block;

struct tree {
    struct tree_block *blocks;
    const struct node *root; /* NULL: the document is empty */
};

/* `file` is its name in messages. On failure the report has the errors, and the tree is empty. */
enum status tree_parse(struct tree *tree, const char *bytes, size_t length, const char *file,
                       const struct config_environment *environment, struct config_report *report) MUST_CHECK;
/* Safe on a zeroed one. */
void tree_deinit(struct tree *tree);

static inline bool node_is_null(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->type == SCALAR_NULL;
}

/* The value of a variable may look like a number or a boolean and is text all the same. */
static inline bool node_is_text(const struct node *node)
{
    return node->kind == NODE_SCALAR && (node->type == SCALAR_STRING || node->is_substituted);
}

/* The item of a mapping, or NULL. */
const struct item *node_find(const struct node *node, const char *key);
/* "a mapping", "a list", "an integer", ... */
const char *node_kind_name(const struct node *node);
