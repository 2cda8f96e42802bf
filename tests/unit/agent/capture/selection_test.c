#include "agent/capture/cupti/selection.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static struct settings settings;

static int setup(void **state)
{
    settings =
        (struct settings){.capture = {.runtime = true, .driver = true, .resource = true, .parameters = true}};
    return 0;
}

typedef bool question_fn(const struct settings *settings, enum call_domain domain, uint32_t cbid);

/* Whether this holds for any version of the call. */
static bool any(question_fn *question, enum call_domain domain, const char *name)
{
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    bool found = false, answer = false;
    for (uint32_t cbid = 0; cbid < count; cbid++) {
        const struct call_info *info = call_info(domain, cbid);
        if (info && strcmp(call_name(info), name) == 0) {
            found = true;
            answer |= question(&settings, domain, cbid);
        }
    }
    if (!found)
        fail_msg("no call %s", name);
    return answer;
}

static bool has(enum call_domain domain, const char *name)
{
    return any(selection_has_call, domain, name);
}

static bool is_hidden(enum call_domain domain, const char *name)
{
    return any(selection_hides_call, domain, name);
}

static void set_list(struct pattern_list *list, char **patterns, size_t count)
{
    *list = (struct pattern_list){count, patterns};
}

static void test_the_default_profile(void **state)
{
    static const char *const on[] = {"cudaLaunchKernel",
                                     "cudaLaunchKernel_ptsz",
                                     "cudaLaunchKernelExC",
                                     "cudaGraphLaunch",
                                     "cudaLaunchCooperativeKernel",
                                     "cudaMemcpy",
                                     "cudaMemcpyAsync",
                                     "cudaMemset",
                                     "cudaMalloc",
                                     "cudaMallocAsync",
                                     "cudaMallocHost",
                                     "cudaMallocManaged",
                                     "cudaFree",
                                     "cudaFreeAsync",
                                     "cudaDeviceSynchronize",
                                     "cudaStreamSynchronize",
                                     "cudaEventSynchronize",
                                     "cudaStreamCreate",
                                     "cudaEventCreate",
                                     "cudaGraphInstantiate",
                                     "cudaIpcOpenMemHandle",
                                     "cudaDeviceEnablePeerAccess"};
    static const char *const off[] = {"cudaGetDevice", "cudaStreamQuery", "cudaEventQuery",
                                      "cudaGetLastError", "cudaPeekAtLastError"};
    for (size_t i = 0; i < sizeof on / sizeof *on; i++)
        if (!has(CALL_RUNTIME, on[i]))
            fail_msg("%s is not traced", on[i]);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (has(CALL_RUNTIME, off[i]))
            fail_msg("%s is traced", off[i]);
    assert_true(has(CALL_DRIVER, "cuLaunchKernel"));
    assert_true(has(CALL_DRIVER, "cuModuleLoad"));
    assert_false(has(CALL_DRIVER, "cuCtxGetCurrent"));
    assert_false(selection_has_call(&settings, CALL_RUNTIME, 0));
    assert_false(selection_has_call(&settings, CALL_RUNTIME, UINT32_MAX));
    assert_true(selection_has_all_launches(&settings));
}

static void test_full_detail_has_all_calls(void **state)
{
    settings.detail = DETAIL_FULL;
    assert_true(has(CALL_RUNTIME, "cudaGetDevice"));
    assert_true(has(CALL_DRIVER, "cuCtxGetCurrent"));
}

/* A call excluded by name keeps its callback, so that the nested driver call is not taken for the program's
 * own. */
static void test_a_runtime_call_that_is_left_out_is_hidden(void **state)
{
    char *deny[] = {"cudaEvent*"};
    assert_false(is_hidden(CALL_RUNTIME, "cudaEventRecord"));
    set_list(&settings.capture.calls.deny, deny, 1);
    assert_false(has(CALL_RUNTIME, "cudaEventRecord"));
    assert_true(has(CALL_DRIVER, "cuEventRecord"));
    assert_true(is_hidden(CALL_RUNTIME, "cudaEventRecord"));
    assert_false(is_hidden(CALL_RUNTIME, "cudaMalloc"));    /* traced anyway */
    assert_false(is_hidden(CALL_RUNTIME, "cudaGetDevice")); /* not in the profile, nor are its nested calls */
    assert_false(is_hidden(CALL_DRIVER, "cuEventRecord"));
    settings.capture.driver = false;
    assert_false(is_hidden(CALL_RUNTIME, "cudaEventRecord"));
    settings.capture.driver = true;
    settings.capture.runtime = false; /* with only the driver domain enabled, all driver calls are captured */
    assert_false(is_hidden(CALL_RUNTIME, "cudaEventRecord"));
}

static void test_domains_can_be_off(void **state)
{
    settings.capture.driver = false;
    assert_false(has(CALL_DRIVER, "cuLaunchKernel"));
    assert_true(has(CALL_RUNTIME, "cudaLaunchKernel"));
    assert_false(selection_has_all_launches(&settings)); /* driver API programs would not find theirs */
    settings.capture.driver = true;
    settings.capture.runtime = false;
    assert_true(has(CALL_DRIVER, "cuLaunchKernel"));
    assert_false(has(CALL_RUNTIME, "cudaLaunchKernel"));
    assert_false(selection_has_all_launches(&settings));
}

static void test_calls_by_name_group_and_pattern(void **state)
{
    char *allow[] = {"copy", "cudaGetDev?ce", "cuMem*"}, *deny[] = {"cudaMemcpy2D*"};
    set_list(&settings.capture.calls.allow, allow, 3);
    set_list(&settings.capture.calls.deny, deny, 1);
    assert_true(has(CALL_RUNTIME, "cudaMemcpy"));
    assert_true(has(CALL_RUNTIME, "cudaGetDevice")); /* named, although the default profile lacks it */
    assert_true(has(CALL_DRIVER, "cuMemAlloc"));
    assert_false(has(CALL_RUNTIME, "cudaMemcpy2DAsync"));
    assert_false(has(CALL_RUNTIME, "cudaLaunchKernel"));
    assert_false(selection_has_all_launches(&settings));
}

static void test_a_denied_launch_leaves_work_without_call(void **state)
{
    char *deny[] = {"cudaGraphLaunch"};
    set_list(&settings.capture.calls.deny, deny, 1);
    assert_true(has(CALL_RUNTIME, "cudaLaunchKernel"));
    assert_false(selection_has_all_launches(&settings));
}

static void test_default_kinds(void **state)
{
    assert_true(selection_has_activity(&settings, ACTIVITY_KERNEL));
    assert_true(selection_has_activity(&settings, ACTIVITY_MEMCPY));
    assert_true(selection_has_activity(&settings, ACTIVITY_MEMCPY_PEER));
    assert_true(selection_has_activity(&settings, ACTIVITY_MEMSET));
    assert_true(selection_has_activity(&settings, ACTIVITY_GRAPH_TRACE));
    assert_true(selection_has_activity(&settings, ACTIVITY_OVERHEAD));
    assert_true(selection_has_activity(&settings, ACTIVITY_DEVICE));
    assert_false(selection_has_activity(&settings, ACTIVITY_SYNCHRONIZATION));
    assert_false(selection_has_activity(&settings, ACTIVITY_MEMORY2));
    assert_false(selection_has_activity(&settings, ACTIVITY_KERNEL_SERIAL));
    assert_false(selection_has_activity(&settings, 0));
    assert_false(selection_has_activity(&settings, 4)); /* unknown kind */
    assert_false(selection_has_activity(&settings, ACTIVITY_KINDS_MAX));
    assert_false(selection_has_activity(&settings, UINT16_MAX));
}

static void test_graphs_as_a_whole_or_by_nodes(void **state)
{
    settings.detail = DETAIL_GRAPH_NODES;
    assert_false(selection_has_activity(&settings, ACTIVITY_GRAPH_TRACE));
    assert_true(selection_has_activity(&settings, ACTIVITY_KERNEL));
    settings.detail = DETAIL_FULL;
    assert_false(selection_has_activity(&settings, ACTIVITY_GRAPH_TRACE));
    assert_true(selection_has_activity(&settings, ACTIVITY_SYNCHRONIZATION));
    assert_true(selection_has_activity(&settings, ACTIVITY_JIT));
    assert_false(selection_has_activity(
        &settings, ACTIVITY_KERNEL_SERIAL)); /* never: it serializes the program's kernels */
}

static void test_kinds_by_name(void **state)
{
    char *allow[] = {"sync*", "kernel"}, *deny[] = {"kernel", "device"};
    set_list(&settings.capture.activities.allow, allow, 2);
    assert_true(selection_has_activity(&settings, ACTIVITY_SYNCHRONIZATION));
    assert_true(selection_has_activity(&settings, ACTIVITY_KERNEL));
    assert_false(selection_has_activity(&settings, ACTIVITY_MEMCPY));
    set_list(&settings.capture.activities.deny, deny, 2);
    assert_false(selection_has_activity(&settings, ACTIVITY_KERNEL));
    assert_true(selection_has_activity(&settings, ACTIVITY_DEVICE)); /* always on */
    assert_true(selection_has_activity(&settings, ACTIVITY_CONTEXT));
}

static bool has_field(uint64_t fields, uint16_t kind, const char *key)
{
    for (uint8_t i = 0; i < activity_table[kind].field_count; i++)
        if (strcmp(activity_table[kind].fields[i].key.name, key) == 0)
            return fields >> i & 1;
    fail_msg("no field %s", key);
    return false;
}

static void test_fields_by_detail(void **state)
{
    uint64_t few = selection_fields(&settings, ACTIVITY_KERNEL);
    settings.detail = DETAIL_FULL;
    uint64_t all = selection_fields(&settings, ACTIVITY_KERNEL);
    assert_true(few & 1);
    assert_int_equal(few & ~all, 0);
    assert_true(__builtin_popcountll(all) > __builtin_popcountll(few));
    assert_true(has_field(few, ACTIVITY_KERNEL, "cuda.kernel.grid"));
    assert_true(has_field(few, ACTIVITY_KERNEL, "cuda.kernel.name"));
    assert_true(has_field(few, ACTIVITY_KERNEL, "cuda.correlation.id"));
    assert_false(has_field(few, ACTIVITY_KERNEL, "cuda.kernel.launch_type"));
    assert_true(has_field(all, ACTIVITY_KERNEL, "cuda.kernel.launch_type"));
    for (uint16_t kind = 1; kind < ACTIVITY_KINDS_MAX; kind++) {
        uint64_t fields = selection_fields(&settings, kind);
        for (uint8_t i = 1; i < activity_table[kind].field_count; i++) {
            const struct activity_field *field = &activity_table[kind].fields[i];
            if (field->detail == ACTIVITY_NEVER)
                assert_false(fields >> i & 1);
            /* y and z belong to x, which is read with both. */
            if (field->type == FIELD_DIM3_X)
                assert_int_equal(fields >> i & 7, fields >> i & 1 ? 7 : 0);
        }
    }
    settings.detail = DETAIL_DEFAULT;
    assert_true(
        has_field(selection_fields(&settings, ACTIVITY_DEVICE), ACTIVITY_DEVICE, "cuda.device.memory.bytes"));
}

static void test_a_summary_has_what_it_counts(void **state)
{
    char *allow[] = {"cudaEventRecord"};
    settings.detail = DETAIL_SUMMARY;
    assert_true(has(CALL_RUNTIME, "cudaLaunchKernel"));
    assert_true(has(CALL_DRIVER, "cuMemcpyAsync"));
    assert_true(has(CALL_RUNTIME, "cudaMemsetAsync"));
    assert_true(has(CALL_RUNTIME, "cudaMalloc"));
    assert_true(has(CALL_RUNTIME, "cudaFree"));
    assert_true(has(CALL_RUNTIME, "cudaStreamSynchronize"));
    assert_false(has(CALL_RUNTIME, "cudaEventRecord"));
    assert_false(is_hidden(CALL_RUNTIME, "cudaEventRecord")); /* no callback */
    assert_false(has(CALL_RUNTIME, "cudaStreamCreate"));
    assert_true(is_hidden(CALL_RUNTIME, "cudaStreamCreate")); /* it may allocate in nested driver calls */
    assert_true(selection_has_all_launches(&settings));
    assert_true(selection_has_activity(&settings, ACTIVITY_KERNEL));
    assert_true(selection_has_activity(&settings, ACTIVITY_GRAPH_TRACE));
    assert_false(selection_has_activity(&settings, ACTIVITY_OVERHEAD));
    assert_false(selection_has_activity(&settings, ACTIVITY_SYNCHRONIZATION));
    uint64_t kernel = selection_fields(&settings, ACTIVITY_KERNEL),
             copy = selection_fields(&settings, ACTIVITY_MEMCPY);
    assert_true(has_field(kernel, ACTIVITY_KERNEL, "cuda.kernel.name"));
    assert_true(has_field(kernel, ACTIVITY_KERNEL, "cuda.correlation.id"));
    assert_false(has_field(kernel, ACTIVITY_KERNEL, "cuda.kernel.grid"));
    assert_false(has_field(kernel, ACTIVITY_KERNEL, "cuda.kernel.registers"));
    assert_true(has_field(copy, ACTIVITY_MEMCPY, "cuda.memcpy.bytes"));
    assert_false(has_field(copy, ACTIVITY_MEMCPY, "cuda.memcpy.kind"));
    assert_true(
        has_field(selection_fields(&settings, ACTIVITY_DEVICE), ACTIVITY_DEVICE, "cuda.device.memory.bytes"));
    set_list(&settings.capture.calls.allow, allow, 1);
    assert_true(has(CALL_RUNTIME, "cudaEventRecord")); /* explicitly named */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_default_profile, setup),
        cmocka_unit_test_setup(test_full_detail_has_all_calls, setup),
        cmocka_unit_test_setup(test_domains_can_be_off, setup),
        cmocka_unit_test_setup(test_a_runtime_call_that_is_left_out_is_hidden, setup),
        cmocka_unit_test_setup(test_calls_by_name_group_and_pattern, setup),
        cmocka_unit_test_setup(test_a_denied_launch_leaves_work_without_call, setup),
        cmocka_unit_test_setup(test_default_kinds, setup),
        cmocka_unit_test_setup(test_graphs_as_a_whole_or_by_nodes, setup),
        cmocka_unit_test_setup(test_kinds_by_name, setup),
        cmocka_unit_test_setup(test_a_summary_has_what_it_counts, setup),
        cmocka_unit_test_setup(test_fields_by_detail, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
