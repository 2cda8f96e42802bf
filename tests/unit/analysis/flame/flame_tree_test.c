#include "analysis/flame/flame_tree.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t frame(struct flame_tree *tree, const char *name)
{
    struct flame_frame frame = {FLAME_PYTHON, name, "train.py", 7};
    return flame_tree_frame(tree, &frame);
}

/* The names and totals of all nodes, in order. */
static void assert_tree(const struct flame_tree *tree, const char *wanted)
{
    char text[1024] = "";
    for (uint32_t at = flame_tree_next(tree, 0); at != FLAME_NONE; at = flame_tree_next(tree, at)) {
        const struct flame_node *node = &tree->nodes[at];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s=%d/%d ", tree->frames[node->frame].name,
                 (int)node->total[FLAME_OLD], (int)node->total[FLAME_NEW]);
    }
    assert_string_equal(text, wanted);
}

static void test_sums_and_order(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    uint32_t a = frame(&tree, "a"), b = frame(&tree, "b"), c = frame(&tree, "c");
    const uint32_t ab[] = {a, b}, ac[] = {a, c}, cb[] = {c, b}, aa[] = {a, a};
    flame_tree_add(&tree, FLAME_NEW, ab, 2, 10);
    flame_tree_add(&tree, FLAME_NEW, ac, 2, 10);
    flame_tree_add(&tree, FLAME_NEW, cb, 2, 100);
    flame_tree_add(&tree, FLAME_OLD, ab, 1, 3);
    flame_tree_add(&tree, FLAME_OLD, aa, 2, 5);
    flame_tree_add(&tree, FLAME_NEW, ab, 2, 1);
    flame_tree_add(&tree, FLAME_NEW, ab, 0, 1000);
    flame_tree_finish(&tree);
    assert_int_equal(tree.nodes[0].total[FLAME_NEW], 1121);
    assert_int_equal(tree.nodes[0].total[FLAME_OLD], 8);
    assert_tree(&tree, "c=0/100 b=0/100 a=8/21 b=0/11 c=0/10 a=5/0 ");
    flame_tree_deinit(&tree);
}

static void test_empty(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    flame_tree_finish(&tree);
    assert_tree(&tree, "");
    assert_int_equal(flame_node_value(&tree.nodes[0]), 0);
    flame_tree_deinit(&tree);
}

static void test_equal_siblings_are_in_order_of_name(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    const char *names[] = {"z", "x", "y"};
    for (size_t i = 0; i < 3; i++) {
        uint32_t path = frame(&tree, names[i]);
        flame_tree_add(&tree, FLAME_NEW, &path, 1, 4);
    }
    flame_tree_finish(&tree);
    assert_tree(&tree, "x=0/4 y=0/4 z=0/4 ");
    flame_tree_deinit(&tree);
}

static void assert_clean(struct flame_tree *tree, const char *name, const char *wanted)
{
    uint32_t number = frame(tree, name); /* the list may move */
    assert_string_equal(tree->frames[number].name, wanted);
}

static void test_texts_are_clean(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    assert_clean(&tree, "plain <&>\"'", "plain <&>\"'");
    assert_clean(&tree, "tab\tline\n\x01\x1b\x7f", "tab?line????");
    assert_clean(&tree, "\xc2\x85 caf\xc3\xa9 \xf0\x9f\x98\x80", "? caf\xc3\xa9 \xf0\x9f\x98\x80");
    assert_clean(&tree, "a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd");
    assert_clean(&tree, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    assert_clean(&tree, "\xef\xbf\xbe\xe2\x80\xae", "??");
    flame_tree_deinit(&tree);
}

static void test_frames_are_told_apart(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    struct flame_frame one = {FLAME_PYTHON, "f", "a.py", 1}, line = one, file = one, kind = one, name = one;
    line.line = 2;
    file.file = "b.py";
    kind.kind = FLAME_LIBRARY;
    name.name = "g";
    uint32_t first = flame_tree_frame(&tree, &one);
    assert_int_equal(flame_tree_frame(&tree, &one), first);
    assert_int_not_equal(flame_tree_frame(&tree, &line), first);
    assert_int_not_equal(flame_tree_frame(&tree, &file), first);
    assert_int_not_equal(flame_tree_frame(&tree, &kind), first);
    assert_int_not_equal(flame_tree_frame(&tree, &name), first);
    assert_int_equal(tree.frame_count, 5);
    flame_tree_deinit(&tree);
}

static void assert_shown(enum flame_kind kind, const char *name, const char *file, uint32_t line,
                         const char *wanted)
{
    struct flame_frame frame = {kind, name, file, line};
    char *text = flame_frame_text(&frame);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_texts_of_frames(void **state)
{
    assert_shown(FLAME_PYTHON, "f", "train.py", 88, "f (train.py:88)");
    assert_shown(FLAME_PYTHON, "f", "train.py", 0, "f (train.py)");
    assert_shown(FLAME_LIBRARY, "f", "/v/lib/python3.12/site-packages/torch/nn.py", 3, "f (torch/nn.py:3)");
    assert_shown(FLAME_NATIVE, "", "libc.so.6", 0, "libc.so.6");
    assert_shown(FLAME_WORK, "gemm", "", 0, "gemm");
    assert_shown(FLAME_NATIVE, "", "", 0, "?");
}

/* Beyond the limit, values stay with the outer frames: none is lost. */
static void test_limit(void **state)
{
    struct flame_tree tree;
    flame_tree_init(&tree);
    uint32_t root = frame(&tree, "root");
    for (uint32_t i = 0; i < FLAME_NODES_MAX + 10; i++) {
        uint32_t path[] = {root, i + 1};
        flame_tree_add(&tree, FLAME_NEW, path, 2, 1);
    }
    assert_int_equal(tree.count, FLAME_NODES_MAX);
    assert_int_equal(tree.nodes[1].self[FLAME_NEW], 12);
    flame_tree_deinit(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_and_order),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_equal_siblings_are_in_order_of_name),
        cmocka_unit_test(test_texts_are_clean),
        cmocka_unit_test(test_frames_are_told_apart),
        cmocka_unit_test(test_texts_of_frames),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
