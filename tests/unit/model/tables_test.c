/* The generated tables: for calls and records picked by hand, they match CUDA's headers, and all their parts
 * are consistent. The figures here were read from the headers, not from the tables. */
#include "agent/abi/layouts.h"
#include "agent/abi/params.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/cuda/results.h"
#include "support/test.h"

#include <string.h>

#define CUPTI_12_0 18
#define CUPTI_12_2 20
#define CUPTI_12_8 26
#define CUPTI_12_9 28
#define CUPTI_13_0 130001
#define CUPTI_13_3 130300
#define CUPTI_13_5 130500

static const uint32_t versions[] = {CUPTI_12_0, CUPTI_12_2, 21,     22,         23,     24,        CUPTI_12_8,
                                    CUPTI_12_9, CUPTI_13_0, 130101, CUPTI_13_3, 130401, CUPTI_13_5};
#define VERSION_COUNT (sizeof(versions) / sizeof(versions[0]))

static const struct call_info *find_call(enum call_domain domain, uint32_t cbid, const char *name)
{
    const struct call_info *info = call_info(domain, cbid);
    assert_non_null(info);
    assert_string_equal(call_name(info), name);
    return info;
}

/* The index of a parameter by the last part of its key, or -1. */
static int find_param(const struct call_info *info, const char *key)
{
    for (unsigned i = 0; i < info->param_count; i++)
        if (strcmp(call_param_keys[call_params[info->param + i].key].name + strlen("cuda.arg."), key) == 0)
            return info->param + (int)i;
    return -1;
}

static void expect_param(const struct call_info *info, const char *key, enum param_type type,
                         struct param_source expected)
{
    int i = find_param(info, key);
    if (i < 0)
        fail_msg("%s has no parameter %s", call_name(info), key);
    assert_int_equal(call_params[i].type, type);
    assert_int_equal(param_sources[i].offset, expected.offset);
    assert_int_equal(param_sources[i].member, expected.member);
    assert_int_equal(param_sources[i].size, expected.size);
    assert_int_equal(param_sources[i].how, expected.how);
}

static void test_launches_have_their_shape(void **state)
{
    const struct call_info *runtime = find_call(CALL_RUNTIME, 211, "cudaLaunchKernel");
    expect_param(runtime, "function", PARAM_POINTER, (struct param_source){0, 0, 8, 0});
    expect_param(runtime, "grid", PARAM_DIM3, (struct param_source){8, 0, 12, PARAM_THREE});
    expect_param(runtime, "block", PARAM_DIM3, (struct param_source){20, 0, 12, PARAM_THREE});
    expect_param(runtime, "shared_memory", PARAM_UINT, (struct param_source){40, 0, 8, 0});
    expect_param(runtime, "stream", PARAM_POINTER, (struct param_source){48, 0, 8, 0});
    assert_int_equal(runtime->param_count, 5);
    assert_int_equal(runtime->group, CALL_GROUP_LAUNCH);
    assert_true(runtime->is_default);
    assert_true(runtime->has_activity);

    const struct call_info *driver = find_call(CALL_DRIVER, 307, "cuLaunchKernel");
    expect_param(driver, "grid", PARAM_DIM3, (struct param_source){8, 0, 12, PARAM_THREE});
    expect_param(driver, "block", PARAM_DIM3, (struct param_source){20, 0, 12, PARAM_THREE});
    expect_param(driver, "shared_memory", PARAM_UINT, (struct param_source){32, 0, 4, 0});
    expect_param(driver, "stream", PARAM_POINTER, (struct param_source){40, 0, 8, 0});

    find_call(CALL_RUNTIME, 214, "cudaLaunchKernel_ptsz");
    const struct call_info *extended = find_call(CALL_RUNTIME, 430, "cudaLaunchKernelExC");
    expect_param(extended, "grid", PARAM_DIM3, (struct param_source){0, 0, 12, PARAM_THREE | PARAM_DEREF});
    expect_param(extended, "stream", PARAM_POINTER, (struct param_source){0, 32, 8, PARAM_DEREF});
    const struct call_info *stub = find_call(CALL_RUNTIME, 505, "__cudaLaunchKernel");
    assert_true(stub->is_default);
    assert_int_equal(stub->param, runtime->param);
}

static void test_copies_and_allocations_have_their_values(void **state)
{
    const struct call_info *copy = find_call(CALL_RUNTIME, 41, "cudaMemcpyAsync");
    expect_param(copy, "bytes", PARAM_UINT, (struct param_source){16, 0, 8, 0});
    expect_param(copy, "kind", PARAM_ENUM, (struct param_source){24, 0, 4, PARAM_SIGNED});
    expect_param(copy, "stream", PARAM_POINTER, (struct param_source){32, 0, 8, 0});
    const struct enum_names *kinds = &call_enum_names[call_params[find_param(copy, "kind")].names];
    assert_string_equal(enum_name(kinds, 1), "HostToDevice");
    assert_string_equal(enum_name(kinds, 4), "Default");
    assert_null(enum_name(kinds, 5));
    assert_null(enum_name(kinds, -1));

    const struct call_info *driver = find_call(CALL_DRIVER, 276, "cuMemcpyHtoD");
    expect_param(driver, "dst", PARAM_POINTER, (struct param_source){0, 0, 8, 0});
    expect_param(driver, "src", PARAM_POINTER, (struct param_source){8, 0, 8, 0});
    expect_param(driver, "bytes", PARAM_UINT, (struct param_source){16, 0, 8, 0});

    const struct call_info *alloc = find_call(CALL_RUNTIME, 20, "cudaMalloc");
    expect_param(alloc, "ptr", PARAM_POINTER, (struct param_source){0, 0, 8, PARAM_DEREF | PARAM_OUT});
    expect_param(alloc, "bytes", PARAM_UINT, (struct param_source){8, 0, 8, 0});
    const struct call_info *load = find_call(CALL_DRIVER, 18, "cuModuleLoad");
    expect_param(load, "file", PARAM_STRING, (struct param_source){8, 0, 8, PARAM_TEXT});
    const struct call_info *elapsed = find_call(CALL_RUNTIME, 139, "cudaEventElapsedTime");
    expect_param(elapsed, "milliseconds", PARAM_DOUBLE,
                 (struct param_source){0, 0, 4, PARAM_DEREF | PARAM_OUT | PARAM_REAL});
}

static bool is_default(enum call_domain domain, const char *name)
{
    unsigned count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (unsigned i = 0; i < count; i++) {
        const struct call_info *info = call_info(domain, i);
        if (info && strcmp(call_name(info), name) == 0)
            return info->is_default;
    }
    fail_msg("no call %s", name);
    return false;
}

static void test_default_profile_leaves_getters_out(void **state)
{
    static const char *const in[] = {"cudaGraphLaunch_ptsz",   "cudaMemset3DAsync",
                                     "cudaMallocManaged",      "cudaFreeAsync",
                                     "cudaStreamCreate",       "cudaEventRecord",
                                     "cudaDeviceSynchronize",  "cudaGraphInstantiate",
                                     "cudaStreamWaitEvent",    "cudaLaunchCooperativeKernelMultiDevice",
                                     "cudaStreamBeginCapture", "cudaMemPrefetchAsync",
                                     "cudaIpcOpenMemHandle",   "cudaDeviceEnablePeerAccess",
                                     "cudaLibraryLoadData",    "cudaHostRegister",
                                     "cudaMallocFromPoolAsync"};
    static const char *const out[] = {"cudaGetDevice",
                                      "cudaSetDevice",
                                      "cudaStreamQuery",
                                      "cudaEventQuery",
                                      "cudaGetLastError",
                                      "cudaPeekAtLastError",
                                      "cudaStreamIsCapturing",
                                      "cudaStreamGetCaptureInfo",
                                      "cudaFuncGetAttributes",
                                      "cudaPointerGetAttributes",
                                      "cudaGraphAddKernelNode",
                                      "cudaGraphExecKernelNodeSetParams",
                                      "__cudaPushCallConfiguration",
                                      "__cudaPopCallConfiguration",
                                      "cudaOccupancyMaxActiveBlocksPerMultiprocessor"};
    static const char *const driver_out[] = {"cuCtxGetCurrent",       "cuCtxPushCurrent",
                                             "cuFuncGetAttribute",    "cuStreamQuery",
                                             "cuPointerGetAttribute", "cuModuleGetLoadingMode"};
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
        if (!is_default(CALL_RUNTIME, in[i]))
            fail_msg("%s is not in the default profile", in[i]);
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
        if (is_default(CALL_RUNTIME, out[i]))
            fail_msg("%s is in the default profile", out[i]);
    for (size_t i = 0; i < sizeof(driver_out) / sizeof(driver_out[0]); i++)
        if (is_default(CALL_DRIVER, driver_out[i]))
            fail_msg("%s is in the default profile", driver_out[i]);
    assert_true(is_default(CALL_DRIVER, "cuMemAlloc"));
    assert_true(is_default(CALL_DRIVER, "cuLinkComplete"));
}

static void check_source(const struct call_param *param, const struct param_source *source)
{
    switch (param->type) {
    case PARAM_DIM3:
        assert_int_equal(source->size, 12);
        assert_true(source->how & PARAM_THREE);
        break;
    case PARAM_STRING:
        assert_int_equal(source->size, 8);
        assert_true(source->how & PARAM_TEXT);
        break;
    case PARAM_DOUBLE:
        assert_true(source->how & PARAM_REAL);
        break;
    case PARAM_ENUM:
        assert_true(param->names > 0);
        assert_true(call_enum_names[param->names].count > 0);
        break;
    default:
        assert_false(source->how & (PARAM_THREE | PARAM_TEXT | PARAM_REAL));
        assert_true(source->size == 1 || source->size == 2 || source->size == 4 || source->size == 8);
    }
    assert_true(!(source->how & PARAM_OUT) || source->how & PARAM_DEREF);
    assert_true(source->member == 0 || source->how & PARAM_DEREF);
}

static void check_call(const struct call_info *info)
{
    unsigned words = 0;
    uint16_t keys[CALL_PARAMS_MAX];
    assert_true(info->param_count <= CALL_PARAMS_MAX);
    assert_true(info->group < CALL_GROUP_COUNT);
    assert_true(info->group != CALL_GROUP_OTHER || !info->is_default);
    assert_null(strstr(call_name(info), "_v1"));
    for (unsigned i = 0; i < info->param_count; i++) {
        const struct call_param *param = &call_params[info->param + i];
        check_source(param, &param_sources[info->param + i]);
        keys[i] = param->key;
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(keys[k], keys[i]);
        words += param->type == PARAM_DIM3 ? 2 : param->type == PARAM_STRING ? 1 + CALL_STRING_BYTES / 8 : 1;
    }
    assert_true(words <= CALL_VALUES_MAX);
}

static void test_every_call_fits_a_record(void **state)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < call_count_runtime; i++)
        if (call_info(CALL_RUNTIME, i) && ++found)
            check_call(call_info(CALL_RUNTIME, i));
    for (uint32_t i = 0; i < call_count_driver; i++)
        if (call_info(CALL_DRIVER, i) && ++found)
            check_call(call_info(CALL_DRIVER, i));
    assert_true(found > 1200);
    assert_int_equal(call_count_runtime, 567);
    assert_int_equal(call_count_driver, 877);
    assert_null(call_info(CALL_RUNTIME, 0));
    assert_null(call_info(CALL_RUNTIME, call_count_runtime));
    assert_null(call_info(CALL_DRIVER, UINT32_MAX));
    assert_null(call_info((enum call_domain)3, 211));
}

static void check_order(const struct enum_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        assert_true(i == 0 || names->entries[i - 1].value < names->entries[i].value);
        assert_ptr_equal(enum_name(names, names->entries[i].value), names->entries[i].name);
    }
}

static void test_results_and_enums_have_names(void **state)
{
    assert_string_equal(call_result_name(CALL_RUNTIME, 0), "cudaSuccess");
    assert_string_equal(call_result_name(CALL_RUNTIME, 1), "cudaErrorInvalidValue");
    assert_string_equal(call_result_name(CALL_RUNTIME, 999), "cudaErrorUnknown");
    assert_string_equal(call_result_name(CALL_DRIVER, 1), "CUDA_ERROR_INVALID_VALUE");
    assert_string_equal(call_result_name(CALL_DRIVER, 999), "CUDA_ERROR_UNKNOWN");
    assert_null(call_result_name(CALL_RUNTIME, 123456));
    assert_null(call_result_name(CALL_DRIVER, -1));
    check_order(&results_runtime);
    check_order(&results_driver);
    for (unsigned kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        for (unsigned f = 0; f < activity_table[kind].field_count; f++)
            check_order(&activity_enum_names[activity_table[kind].fields[f].names]);

    assert_string_equal(call_group_name(CALL_GROUP_LAUNCH), "launch");
    assert_string_equal(call_group_name(CALL_GROUP_OTHER), "other");
    for (unsigned group = 0; group < CALL_GROUP_COUNT; group++)
        assert_non_null(call_group_name((enum call_group)group));
    assert_null(call_group_name(CALL_GROUP_COUNT));
}

static int field_id(uint16_t kind, const char *key)
{
    for (int i = 0; i < activity_table[kind].field_count; i++)
        if (strcmp(activity_table[kind].fields[i].key.name, key) == 0)
            return i;
    fail_msg("kind %u has no field %s", kind, key);
    return -1;
}

static void expect_field(uint32_t version, uint16_t kind, const char *key, int offset, int size)
{
    const struct activity_layout *layout = layout_classic(version, kind);
    assert_non_null(layout);
    int id = field_id(kind, key);
    if (layout->fields[id].offset != offset || (offset >= 0 && layout->fields[id].size != size))
        fail_msg("CUPTI %u: %s is at %d, %u bytes", version, key, layout->fields[id].offset,
                 layout->fields[id].size);
}

static void test_records_lie_as_in_the_headers(void **state)
{
    /* Kernel9, 10 and 13; Memcpy5 and 6; GraphTrace and GraphTrace2 */
    assert_int_equal(layout_classic(CUPTI_12_0, ACTIVITY_KERNEL)->bytes, 208);
    assert_int_equal(layout_classic(CUPTI_12_9, ACTIVITY_KERNEL)->bytes, 208);
    assert_int_equal(layout_classic(CUPTI_13_0, ACTIVITY_KERNEL)->bytes, 216);
    assert_int_equal(layout_classic(CUPTI_13_5, ACTIVITY_KERNEL)->bytes, 248);
    assert_int_equal(layout_classic(CUPTI_12_0, ACTIVITY_MEMCPY)->bytes, 88);
    assert_int_equal(layout_classic(CUPTI_13_0, ACTIVITY_MEMCPY)->bytes, 96);
    assert_int_equal(layout_classic(CUPTI_12_0, ACTIVITY_GRAPH_TRACE)->bytes, 48);
    assert_int_equal(layout_classic(CUPTI_13_0, ACTIVITY_GRAPH_TRACE)->bytes, 56);
    expect_field(CUPTI_12_0, ACTIVITY_KERNEL, "cuda.kernel.grid", 52, 4);
    expect_field(CUPTI_12_0, ACTIVITY_KERNEL, "cuda.kernel.registers", 6, 2);
    expect_field(CUPTI_13_5, ACTIVITY_KERNEL, "cuda.kernel.name", 104, 8);
    expect_field(CUPTI_13_5, ACTIVITY_KERNEL, "cuda.correlation.id", 92, 4);
    expect_field(CUPTI_12_0, ACTIVITY_KERNEL, "cuda.kernel.priority", -1, 0);
    expect_field(CUPTI_12_0, ACTIVITY_DEVICE, "cuda.device.uuid", 120, 16);
    expect_field(CUPTI_13_5, ACTIVITY_KERNEL, "cuda.kernel.cache.executed", -1, 0); /* half a byte there */
}

static void test_versions_find_their_layouts(void **state)
{
    assert_null(layout_classic(0, ACTIVITY_KERNEL));
    assert_null(layout_classic(17, ACTIVITY_KERNEL));
    assert_null(layout_classic(CUPTI_13_5, 0));
    assert_null(layout_classic(CUPTI_13_5, ACTIVITY_KINDS_MAX));
    assert_null(layout_classic(CUPTI_13_5, UINT16_MAX));
    assert_null(layout_classic(CUPTI_12_0, 53)); /* device graphs came with 12.8 */
    assert_non_null(layout_classic(CUPTI_12_8, 53));
    assert_int_equal(layout_newest_version, CUPTI_13_5);
    assert_ptr_equal(layout_classic(140000, ACTIVITY_KERNEL), layout_classic(CUPTI_13_5, ACTIVITY_KERNEL));
    /* an update keeps its minor version's layouts */
    assert_ptr_equal(layout_classic(130000, ACTIVITY_KERNEL), layout_classic(CUPTI_13_0, ACTIVITY_KERNEL));
    assert_ptr_equal(layout_classic(27, ACTIVITY_KERNEL), layout_classic(CUPTI_12_9, ACTIVITY_KERNEL));
}

static void check_layout(uint32_t version, uint16_t kind, const struct activity_layout *layout)
{
    const struct activity_info *info = &activity_table[kind];
    assert_non_null(info->name);
    assert_true(layout->bytes % 8 == 0);
    for (int f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        int offset = layout->fields[f].offset, size = layout->fields[f].size;
        if (offset < 0) {
            bool is_asked =
                f < info->field_count && info->fields[f].detail < ACTIVITY_FULL && info->is_gpu_work;
            if (is_asked)
                fail_msg("CUPTI %u has no field %d of %s", version, f, info->name);
            continue;
        }
        assert_true(f < info->field_count);
        assert_true(size > 0 && offset + size <= layout->bytes);
        assert_true(info->fields[f].type == FIELD_BYTES || size <= 8);
    }
}

/* In every version, the record has all fields that every GPU span shows. */
static void test_every_layout_holds_what_spans_need(void **state)
{
    for (size_t v = 0; v < VERSION_COUNT; v++)
        for (uint16_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
            if (layout_classic(versions[v], kind))
                check_layout(versions[v], kind, layout_classic(versions[v], kind));
    static const uint16_t kinds[] = {ACTIVITY_KERNEL,   ACTIVITY_MEMCPY, ACTIVITY_MEMCPY_PEER,
                                     ACTIVITY_MEMSET,   ACTIVITY_DEVICE, ACTIVITY_GRAPH_TRACE,
                                     ACTIVITY_OVERHEAD, ACTIVITY_CONTEXT};
    for (size_t v = 0; v < VERSION_COUNT; v++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            assert_non_null(layout_classic(versions[v], kinds[k]));
}

static void check_dim3(const struct activity_info *info, unsigned f)
{
    if (info->fields[f].type == FIELD_DIM3_X) {
        assert_true(f + 2 < info->field_count);
        assert_int_equal(info->fields[f + 1].type, FIELD_DIM3_YZ);
        assert_int_equal(info->fields[f + 2].type, FIELD_DIM3_YZ);
        assert_int_equal(info->fields[f + 1].detail, info->fields[f].detail);
    }
}

static void test_activity_kinds_are_complete(void **state)
{
    static const struct {
        uint16_t kind;
        const char *name;
    } known[] = {{ACTIVITY_KERNEL, "kernel"},     {ACTIVITY_MEMCPY, "memcpy"},
                 {ACTIVITY_MEMSET, "memset"},     {ACTIVITY_MEMCPY_PEER, "memcpy_peer"},
                 {ACTIVITY_GRAPH_TRACE, "graph"}, {ACTIVITY_OVERHEAD, "overhead"},
                 {ACTIVITY_DEVICE, "device"},     {ACTIVITY_CONTEXT, "context"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_string_equal(activity_table[known[i].kind].name, known[i].name);
        assert_int_equal(activity_table[known[i].kind].detail, ACTIVITY_DEFAULT);
    }
    assert_int_equal(activity_table[ACTIVITY_KERNEL_SERIAL].detail, ACTIVITY_NEVER);
    assert_null(activity_table[0].name);
    for (unsigned kind = 0; kind < ACTIVITY_KINDS_MAX; kind++) {
        const struct activity_info *info = &activity_table[kind];
        unsigned roles[ROLE_GRAPH_NODE + 1] = {0};
        for (unsigned f = 0; f < info->field_count; f++) {
            check_dim3(info, f);
            assert_true(info->fields[f].key.len == strlen(info->fields[f].key.name));
            assert_int_equal(info->fields[f].type == FIELD_ENUM, info->fields[f].names > 0);
            roles[info->fields[f].role]++;
        }
        for (unsigned role = ROLE_START; role <= ROLE_GRAPH_NODE; role++)
            assert_true(roles[role] <= 1);
        if (info->is_gpu_work)
            assert_true(roles[ROLE_START] && roles[ROLE_END] && roles[ROLE_DEVICE]);
    }
    const struct enum_names *kinds =
        &activity_enum_names
            [activity_table[ACTIVITY_MEMCPY].fields[field_id(ACTIVITY_MEMCPY, "cuda.memcpy.kind")].names];
    assert_string_equal(enum_name(kinds, 1), "HostToDevice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches_have_their_shape),
        cmocka_unit_test(test_copies_and_allocations_have_their_values),
        cmocka_unit_test(test_default_profile_leaves_getters_out),
        cmocka_unit_test(test_every_call_fits_a_record),
        cmocka_unit_test(test_results_and_enums_have_names),
        cmocka_unit_test(test_records_lie_as_in_the_headers),
        cmocka_unit_test(test_versions_find_their_layouts),
        cmocka_unit_test(test_every_layout_holds_what_spans_need),
        cmocka_unit_test(test_activity_kinds_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
