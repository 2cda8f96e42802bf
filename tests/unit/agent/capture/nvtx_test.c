/* NVTX's handlers between a fake copy of NVTX, which calls them through its tables, and a fake context.h,
 * which logs the calls. tests/integration/agent/nvtx_test.py uses real copies. */
#include "agent/capture/nvtx/nvtx.h"

#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/abi/nvtx_abi.h"
#include "agent/capture/nvtx/nvtx_names.h"
#include "model/hang/live_reader.h"
#include "model/span.h"
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char told[16384]; /* one line per call */
static uint32_t depths[100];
static uint64_t ids = 100;
static bool is_asleep; /* nothing is captured, but ranges nest */
static bool is_full;   /* and ranges do not nest */

static void write_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void write_line(const char *format, ...)
{
    size_t used = strlen(told);
    va_list args;
    va_start(args, format);
    vsnprintf(told + used, sizeof told - used, format, args);
    va_end(args);
}

static void write_text(const char *verb, const struct range_text *text)
{
    write_line("%s %u %.*s", verb, text->domain, (int)text->name_bytes, text->name);
    for (uint32_t i = 0; i < text->attr_count; i++) {
        const struct range_attr *attr = &text->attrs[i];
        write_line(" %.*s=", (int)attr->key_bytes, attr->key);
        if (attr->type == ATTR_STRING)
            write_line("\"%.*s\"", (int)attr->bytes, attr->s);
        else if (attr->type == ATTR_INT)
            write_line("%lld", (long long)attr->i);
        else
            write_line("%g", attr->d);
    }
    write_line("\n");
}

uint64_t range_push(const struct range_text *text)
{
    write_text("push", text);
    depths[text->domain] += !is_full;
    return is_asleep || is_full ? 0 : ++ids;
}

static void write_end(uint32_t domain, const struct range_end *end)
{
    struct range_text text = {.name = "ends",
                              .name_bytes = 4,
                              .domain = domain,
                              .attrs = end->attrs,
                              .attr_count = end->attr_count,
                              .attrs_dropped = end->attrs_dropped};
    write_text("it", &text);
}

uint64_t range_pop(uint32_t domain, const struct range_end *end)
{
    if (end)
        write_end(domain, end);
    write_line("pop %u\n", domain);
    depths[domain] -= depths[domain] > 0;
    return 0;
}

_Atomic(const char *) steps_nvtx_pattern;
static char step_name[64];
void steps_match_nvtx(const char *pattern, const char *name, size_t bytes)
{
    assert_string_equal(pattern, "Step#*");
    snprintf(step_name, sizeof step_name, "%.*s", (int)bytes, name);
}

bool range_is_captured(void)
{
    return !is_asleep;
}

uint32_t range_depth(uint32_t domain)
{
    return depths[domain];
}

uint64_t range_start(const struct range_text *text)
{
    write_text("start", text);
    return is_asleep ? 0 : ++ids;
}

bool range_end(uint64_t id, const struct range_end *end)
{
    assert_null(end);
    write_line("end %llu\n", (unsigned long long)id);
    return true;
}

bool range_mark(const struct range_text *text)
{
    write_text("mark", text);
    return true;
}

void context_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes)
{
    static const char *const objects[] = {"stream", "context", "device", "event", "thread"};
    write_line("%s %llx %.*s\n", objects[object], (unsigned long long)handle, (int)name_bytes, name);
}

static void assert_told(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = 0;
}

#define SLOTS_MAX 17

static nvtx_function *functions[6][SLOTS_MAX];
static nvtx_function **table_entries[6][SLOTS_MAX];
static unsigned int sizes[6];
static uint32_t version_told;
static struct nvtx_callbacks_table callbacks;
static struct nvtx_version_table version_info;

static int get_table(uint32_t module, nvtx_function ****table, unsigned int *size)
{
    if (module > 5 || sizes[module] == 0)
        return 0;
    *table = table_entries[module];
    *size = sizes[module];
    return 1;
}

static void set_version(uint32_t version)
{
    version_told = version;
}

static const void *export_table(uint32_t id)
{
    return id == NVTX_TABLE_CALLBACKS      ? (const void *)&callbacks
           : id == NVTX_TABLE_VERSION_INFO ? (const void *)&version_info
                                           : NULL;
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

static nvtx_function *extension[NVTX_PAYLOAD_SLOTS];

static void make_extension(void)
{
    static struct nvtx_ext_segment segment = {.slotCount = NVTX_PAYLOAD_SLOTS,
                                              .functionSlots = (intptr_t *)extension};
    struct nvtx_ext_module module = {.structSize = sizeof module,
                                     .moduleId = NVTX_EXT_MODULE_PAYLOAD,
                                     .segmentsCount = 1,
                                     .segments = &segment};
    assert_true(nvtx_attach_extension(&module));
}

static void make_copy(void)
{
    memset(functions, 0, sizeof functions);
    for (size_t module = 0; module < 6; module++)
        for (size_t i = 0; i < SLOTS_MAX; i++)
            table_entries[module][i] = i ? &functions[module][i] : NULL;
    sizes[NVTX_MODULE_CORE] = NVTX_CORE_COUNT;
    sizes[NVTX_MODULE_CORE2] = NVTX_CORE2_COUNT;
    sizes[NVTX_MODULE_CUDA] = NVTX_CUDA_COUNT;
    sizes[NVTX_MODULE_CUDART] = NVTX_CUDART_COUNT;
    callbacks = (struct nvtx_callbacks_table){sizeof callbacks, get_table};
    version_info = (struct nvtx_version_table){sizeof version_info, 3, 0, set_version};
    version_told = 0;
}

/* CALL(MODULE, function, result type, parameter types)(arguments) */
#define CALL(module, name, result, ...)                                                                      \
    ((result(*)(__VA_ARGS__))functions[NVTX_MODULE_##module][NVTX_CALL_##name])

typedef const struct nvtx_event_attributes *attributes;

static int push(const char *name)
{
    return CALL(CORE, RangePushA, int, const char *)(name);
}

static int pop(void)
{
    return CALL(CORE, RangePop, int, void)();
}

static const void *make_domain(const char *name)
{
    return CALL(CORE2, DomainCreateA, const void *, const char *)(name);
}

static const void *register_string(const char *text)
{
    return CALL(CORE2, DomainRegisterStringA, const void *, const void *, const char *)(NULL, text);
}

static void mark_with(const void *domain, attributes given)
{
    CALL(CORE2, DomainMarkEx, void, const void *, attributes)(domain, given);
}

static struct nvtx_event_attributes event_with(int32_t type, union nvtx_message message)
{
    return (struct nvtx_event_attributes){
        .version = 3, .size = sizeof(struct nvtx_event_attributes), .messageType = type, .message = message};
}

static struct nvtx_event_attributes named_event(const char *name)
{
    return event_with(NVTX_MESSAGE_ASCII, (union nvtx_message){.ascii = name});
}

static int setup(void **state)
{
    make_copy();
    nvtx_switch(true);
    memset(depths, 0, sizeof depths);
    told[0] = 0;
    is_asleep = is_full = false;
    return !nvtx_attach(export_table);
}

static void test_fills_all_slots(void **state)
{
    for (size_t module = 1; module < 6; module++)
        for (size_t i = 0; i < SLOTS_MAX; i++)
            assert_int_equal(functions[module][i] != NULL, i > 0 && i < sizes[module]);
    assert_int_equal(version_told, 3);
}

static void test_leaves_unknown_tables_alone(void **state)
{
    assert_false(nvtx_attach(NULL));
    assert_false(nvtx_attach(no_table));
    make_copy();
    callbacks.struct_size = sizeof callbacks - 1;
    assert_false(nvtx_attach(export_table));
    callbacks = (struct nvtx_callbacks_table){sizeof callbacks, NULL};
    assert_false(nvtx_attach(export_table));
    make_copy();
    sizes[NVTX_MODULE_CORE] = 0;
    assert_false(nvtx_attach(export_table));
    for (size_t module = 0; module < 6; module++)
        for (size_t i = 0; i < SLOTS_MAX; i++)
            assert_null(functions[module][i]);
}

static void test_fills_what_a_shorter_table_has(void **state)
{
    make_copy();
    sizes[NVTX_MODULE_CORE] = NVTX_CALL_RangeEnd + 1;
    sizes[NVTX_MODULE_CUDA] = 0;
    table_entries[NVTX_MODULE_CORE][NVTX_CALL_MarkW] = NULL;
    version_info.struct_size = 4;
    assert_true(nvtx_attach(export_table));
    assert_non_null(functions[NVTX_MODULE_CORE][NVTX_CALL_RangeEnd]);
    assert_null(functions[NVTX_MODULE_CORE][NVTX_CALL_MarkW]);
    assert_null(functions[NVTX_MODULE_CORE][NVTX_CALL_RangePushEx]);
    assert_null(functions[NVTX_MODULE_CUDA][NVTX_CALL_NameCuDeviceA]);
    assert_non_null(functions[NVTX_MODULE_CUDART][NVTX_CALL_NameCudaDeviceA]);
    assert_int_equal(version_told, 0);
}

static void test_fills_a_longer_table_as_far_as_it_is_known(void **state)
{
    make_copy();
    sizes[NVTX_MODULE_CORE] = SLOTS_MAX;
    assert_true(nvtx_attach(export_table));
    assert_non_null(functions[NVTX_MODULE_CORE][NVTX_CALL_NameOsThreadW]);
    assert_null(functions[NVTX_MODULE_CORE][NVTX_CORE_COUNT]);
}

static void test_push_and_pop_return_the_depth(void **state)
{
    struct nvtx_event_attributes event = named_event("c");
    assert_int_equal(push("a"), 0);
    assert_int_equal(CALL(CORE, RangePushW, int, const wchar_t *)(L"b"), 1);
    assert_int_equal(CALL(CORE, RangePushEx, int, attributes)(&event), 2);
    assert_int_equal(pop(), 2);
    assert_int_equal(pop(), 1);
    assert_int_equal(pop(), 0);
    assert_int_equal(pop(), NVTX_NOT_TRACKED);
    assert_told("push 1 a\npush 1 b\npush 1 c\npop 1\npop 1\npop 1\npop 1\n");
}

static void test_uncaptured_ranges_nest(void **state)
{
    is_asleep = true;
    assert_int_equal(push("a"), 0);
    assert_int_equal(push("b"), 1);
    assert_int_equal(pop(), 1);
    is_full = true;
    assert_int_equal(push("c"), NVTX_NOT_TRACKED);
    assert_int_equal(CALL(CORE, RangeStartA, uint64_t, const char *)("d"), 0);
}

/* Also while asleep, because the step may be the next one that is sampled. */
static void test_pushed_names_begin_steps(void **state)
{
    static const char pattern[] = "Step#*";
    static const bool asleep[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        is_asleep = asleep[i];
        step_name[0] = 0;
        CALL(CORE, RangePushA, int, const char *)("Step#1");
        assert_string_equal(step_name, ""); /* no pattern */
        atomic_store(&steps_nvtx_pattern, pattern);
        struct nvtx_event_attributes event = named_event("Step#2");
        CALL(CORE, RangePushEx, int, attributes)(&event);
        assert_string_equal(step_name, "Step#2");
        CALL(CORE, RangePushA, int, const char *)("Step#3");
        assert_string_equal(step_name, "Step#3");
        CALL(CORE, RangeStartA, uint64_t, const char *)("Step#4");
        assert_string_equal(step_name, "Step#3"); /* not pushed */
        atomic_store(&steps_nvtx_pattern, NULL);
    }
    is_asleep = false;
}

static void test_domains_have_a_depth_each(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    const void *one = make_domain("first");
    const void *two = CALL(CORE2, DomainCreateW, const void *, const wchar_t *)(L"second");
    assert_non_null(one);
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(make_domain("first"), one); /* another copy of NVTX */
    CALL(CORE2, DomainDestroy, void, const void *)(one);
    assert_ptr_equal(make_domain("first"), one);
    assert_int_equal(CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(one, &event), 0);
    assert_int_equal(CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(two, &event), 0);
    assert_int_equal(CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(one, &event), 1);
    assert_int_equal(CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(NULL, &event), 0);
    assert_int_equal(CALL(CORE2, DomainRangePop, int, const void *)(one), 1);
    assert_int_equal(CALL(CORE2, DomainRangePop, int, const void *)(two), 0);
    assert_int_equal(pop(), 0);
    uint32_t a = nvtx_names_of_handle(NVTX_NAME_DOMAIN, one)->number;
    uint32_t b = nvtx_names_of_handle(NVTX_NAME_DOMAIN, two)->number;
    char expected[512];
    snprintf(expected, sizeof expected,
             "push %u x nvtx.domain=\"first\"\npush %u x nvtx.domain=\"second\"\n"
             "push %u x nvtx.domain=\"first\"\npush 1 x\npop %u\npop %u\npop 1\n",
             a, b, a, a, b);
    assert_told(expected);
}

static void test_a_domain_without_a_name(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    const void *domain = make_domain(NULL);
    char expected[32];
    assert_ptr_equal(CALL(CORE2, DomainCreateW, const void *, const wchar_t *)(NULL), domain);
    mark_with(domain, &event);
    snprintf(expected, sizeof expected, "mark %u x\n",
             nvtx_names_of_handle(NVTX_NAME_DOMAIN, domain)->number);
    assert_told(expected);
}

static void test_a_domain_that_is_none_has_a_number_of_its_own(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    mark_with(&event, &event);
    mark_with((const void *)1, &event);
    mark_with(register_string("no domain"), &event);
    assert_told("mark 2 x\nmark 2 x\nmark 2 x\n");
}

static void test_start_and_end(void **state)
{
    struct nvtx_event_attributes event = named_event("c");
    uint64_t first = CALL(CORE, RangeStartA, uint64_t, const char *)("a");
    assert_int_equal(first, ids);
    CALL(CORE, RangeStartW, uint64_t, const wchar_t *)(L"b");
    CALL(CORE, RangeStartEx, uint64_t, attributes)(&event);
    CALL(CORE2, DomainRangeStartEx, uint64_t, const void *, attributes)(NULL, &event);
    CALL(CORE, RangeEnd, void, uint64_t)(5);
    CALL(CORE2, DomainRangeEnd, void, const void *, uint64_t)(NULL, 6);
    assert_told("start 1 a\nstart 1 b\nstart 1 c\nstart 1 c\nend 5\nend 6\n");
}

static void test_marks(void **state)
{
    struct nvtx_event_attributes event = named_event("c");
    CALL(CORE, MarkA, void, const char *)("a");
    CALL(CORE, MarkW, void, const wchar_t *)(L"b");
    CALL(CORE, MarkEx, void, attributes)(&event);
    mark_with(NULL, &event);
    assert_told("mark 1 a\nmark 1 b\nmark 1 c\nmark 1 c\n");
}

static void test_wide_texts_become_utf8(void **state)
{
    static const wchar_t text[] = {L'a',   0x7f,   0x80,    0x7ff,    0x800,    0xd7ff,      0xd800, 0xdfff,
                                   0xe000, 0xffff, 0x10000, 0x10ffff, 0x110000, (wchar_t)-1, 0};
    CALL(CORE, MarkW, void, const wchar_t *)(text);
    assert_told("mark 1 a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbd\xef\xbf\xbd\xee\x80\x80"
                "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbd\n");
}

static void test_long_texts_are_cut(void **state)
{
    static char ascii[4 * RANGE_TEXT_BYTES];
    static wchar_t wide[RANGE_TEXT_BYTES];
    memset(ascii, 'x', sizeof ascii - 1);
    CALL(CORE, MarkA, void, const char *)(ascii);
    assert_int_equal(strlen(told), strlen("mark 1 \n") + RANGE_TEXT_BYTES);
    told[0] = 0;
    for (size_t i = 0; i < RANGE_TEXT_BYTES - 1; i++)
        wide[i] = 0x20ac;
    CALL(CORE, MarkW, void, const wchar_t *)(wide);
    size_t bytes = strlen(told) - strlen("mark 1 \n");
    assert_in_range(bytes, RANGE_TEXT_BYTES - 4, RANGE_TEXT_BYTES);
    assert_int_equal(bytes % 3, 0);
    told[0] = 0;
    assert_non_null(make_domain(ascii));
    const struct nvtx_name *name = register_string(ascii);
    assert_int_equal(name->bytes, RANGE_TEXT_BYTES);
}

static void test_what_has_no_name_is_named_so(void **state)
{
    struct nvtx_event_attributes event = event_with(0, (union nvtx_message){.ascii = "x"});
    mark_with(NULL, &event);
    mark_with(NULL, NULL);
    CALL(CORE, MarkA, void, const char *)(NULL);
    CALL(CORE, MarkA, void, const char *)("");
    CALL(CORE, MarkW, void, const wchar_t *)(NULL);
    event = event_with(NVTX_MESSAGE_HANDLE, (union nvtx_message){.registered = NULL});
    mark_with(NULL, &event);
    event.message.ascii = "not a handle";
    mark_with(NULL, &event);
    event.messageType = 9;
    mark_with(NULL, &event);
    assert_told("mark 1 unnamed\nmark 1 unnamed\nmark 1 unnamed\nmark 1 unnamed\nmark 1 unnamed\n"
                "mark 1 unnamed\nmark 1 unnamed\nmark 1 unnamed\n");
}

static void test_registered_strings(void **state)
{
    const void *ascii = register_string("step");
    const void *wide =
        CALL(CORE2, DomainRegisterStringW, const void *, const void *, const wchar_t *)(NULL, L"gr\u00fcn");
    assert_ptr_equal(register_string("step"), ascii);
    assert_non_null(register_string(NULL));
    struct nvtx_event_attributes event =
        event_with(NVTX_MESSAGE_HANDLE, (union nvtx_message){.registered = ascii});
    mark_with(NULL, &event);
    event.message.registered = wide;
    mark_with(NULL, &event);
    event.message.registered = make_domain("not a string");
    mark_with(NULL, &event);
    assert_told("mark 1 step\nmark 1 gr\xc3\xbcn\nmark 1 unnamed\n");
}

static void test_payloads(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    event.payloadType = NVTX_PAYLOAD_U64;
    event.payload.ullValue = INT64_MAX;
    mark_with(NULL, &event);
    event.payload.ullValue = UINT64_MAX;
    mark_with(NULL, &event);
    event.payloadType = NVTX_PAYLOAD_I64;
    mark_with(NULL, &event);
    event.payloadType = NVTX_PAYLOAD_U32;
    mark_with(NULL, &event);
    event.payloadType = NVTX_PAYLOAD_I32;
    mark_with(NULL, &event);
    event.payloadType = NVTX_PAYLOAD_F64;
    event.payload.dValue = -2.5;
    mark_with(NULL, &event);
    event.payloadType = NVTX_PAYLOAD_F32;
    event.payload.fValue = 0.25f;
    mark_with(NULL, &event);
    event.payloadType = (int32_t)0xDFBD0009; /* of an extension */
    mark_with(NULL, &event);
    assert_told("mark 1 x nvtx.payload=9223372036854775807\nmark 1 x nvtx.payload=\"18446744073709551615\"\n"
                "mark 1 x nvtx.payload=-1\nmark 1 x nvtx.payload=4294967295\nmark 1 x nvtx.payload=-1\n"
                "mark 1 x nvtx.payload=-2.5\nmark 1 x nvtx.payload=0.25\nmark 1 x\n");
}

static void test_categories(void **state)
{
    const void *domain = make_domain("own categories");
    struct nvtx_event_attributes event = named_event("x");
    char expected[256];
    event.category = 7;
    mark_with(NULL, &event);
    CALL(CORE, NameCategoryA, void, uint32_t, const char *)(7, "copies");
    mark_with(NULL, &event);
    CALL(CORE2, DomainNameCategoryW, void, const void *, uint32_t, const wchar_t *)(domain, 7, L"other");
    mark_with(domain, &event);
    CALL(CORE, NameCategoryW, void, uint32_t, const wchar_t *)(7, L"renamed");
    CALL(CORE, NameCategoryA, void, uint32_t, const char *)(7, "");
    CALL(CORE, NameCategoryA, void, uint32_t, const char *)(7, NULL);
    mark_with(NULL, &event);
    CALL(CORE2, DomainNameCategoryA, void, const void *, uint32_t, const char *)(NULL, 7, "copies");
    mark_with(NULL, &event);
    event.category = UINT32_MAX;
    mark_with(NULL, &event);
    snprintf(expected, sizeof expected,
             "mark 1 x nvtx.category=\"7\"\nmark 1 x nvtx.category=\"copies\"\n"
             "mark %u x nvtx.domain=\"own categories\" nvtx.category=\"other\"\n"
             "mark 1 x nvtx.category=\"renamed\"\nmark 1 x nvtx.category=\"copies\"\n"
             "mark 1 x nvtx.category=\"4294967295\"\n",
             nvtx_names_of_handle(NVTX_NAME_DOMAIN, domain)->number);
    assert_told(expected);
}

static void test_reads_no_further_than_the_size_says(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    event.category = 3;
    event.payloadType = NVTX_PAYLOAD_I64;
    event.payload.llValue = 5;
    event.size = 0;
    mark_with(NULL, &event);
    event.size = 8;
    mark_with(NULL, &event);
    event.size = offsetof(struct nvtx_event_attributes, messageType);
    mark_with(NULL, &event);
    event.size = sizeof event - 1;
    mark_with(NULL, &event);
    event.size = sizeof event + 16; /* from a later version */
    mark_with(NULL, &event);
    assert_told("mark 1 unnamed\nmark 1 unnamed nvtx.category=\"3\"\n"
                "mark 1 unnamed nvtx.category=\"3\" nvtx.payload=5\n"
                "mark 1 unnamed nvtx.category=\"3\" nvtx.payload=5\n"
                "mark 1 x nvtx.category=\"3\" nvtx.payload=5\n");
}

/* Must be the first test of objects: capture starts in it. */
static void test_names_from_before_capture_are_told_when_it_begins(void **state)
{
    CALL(CORE, NameOsThreadA, void, uint32_t, const char *)(77, "first");
    CALL(CORE, NameOsThreadA, void, uint32_t, const char *)(77, "loader");
    CALL(CUDART, NameCudaDeviceA, void, int, const char *)(0, "left");
    CALL(CUDART, NameCudaStreamA, void, const void *, const char *)((void *)0x10, "too early");
    assert_told("");
    nvtx_begin();
    bool thread_first = strncmp(told, "thread", 6) == 0;
    assert_told(thread_first ? "thread 4d loader\ndevice 0 left\n" : "device 0 left\nthread 4d loader\n");
}

static void test_names_of_objects(void **state)
{
    void *handle = (void *)0x7f0012345678;
    CALL(CORE, NameOsThreadA, void, uint32_t, const char *)(10, "a");
    CALL(CORE, NameOsThreadW, void, uint32_t, const wchar_t *)(11, L"b");
    CALL(CUDA, NameCuDeviceA, void, int, const char *)(1, "c");
    CALL(CUDA, NameCuDeviceW, void, int, const wchar_t *)(2, L"d");
    CALL(CUDA, NameCuContextA, void, void *, const char *)(handle, "e");
    CALL(CUDA, NameCuContextW, void, void *, const wchar_t *)(handle, L"f");
    CALL(CUDA, NameCuStreamA, void, void *, const char *)(handle, "g");
    CALL(CUDA, NameCuStreamW, void, void *, const wchar_t *)(NULL, L"h");
    CALL(CUDA, NameCuEventA, void, void *, const char *)(handle, "i");
    CALL(CUDA, NameCuEventW, void, void *, const wchar_t *)(handle, L"j");
    CALL(CUDART, NameCudaDeviceA, void, int, const char *)(3, "k");
    CALL(CUDART, NameCudaDeviceW, void, int, const wchar_t *)(4, L"l");
    CALL(CUDART, NameCudaStreamA, void, void *, const char *)(handle, "m");
    CALL(CUDART, NameCudaStreamW, void, void *, const wchar_t *)(handle, L"n");
    CALL(CUDART, NameCudaEventA, void, void *, const char *)(handle, "o");
    CALL(CUDART, NameCudaEventW, void, void *, const wchar_t *)(handle, L"p");
    CALL(CUDART, NameCudaEventW, void, void *, const wchar_t *)(handle, NULL);
    CALL(CORE2, Initialize, void, const void *)(NULL);
    assert_told("thread a a\nthread b b\ndevice 1 c\ndevice 2 d\ncontext 7f0012345678 e\n"
                "context 7f0012345678 f\nstream 7f0012345678 g\nstream 0 h\nevent 7f0012345678 i\n"
                "event 7f0012345678 j\ndevice 3 k\ndevice 4 l\nstream 7f0012345678 m\n"
                "stream 7f0012345678 n\nevent 7f0012345678 o\nevent 7f0012345678 p\n");
}

static void make_resource(uint32_t type, uint64_t handle, const char *name, uint16_t size)
{
    struct nvtx_resource_attributes given = {.version = 3,
                                             .size = size,
                                             .identifierType = (int32_t)type,
                                             .identifier = {.ullValue = handle},
                                             .messageType = NVTX_MESSAGE_ASCII,
                                             .message = {.ascii = name}};
    const void *made = CALL(CORE2, DomainResourceCreate, const void *, const void *,
                            const struct nvtx_resource_attributes *)(NULL, &given);
    assert_non_null(made);
    CALL(CORE2, DomainResourceDestroy, void, const void *)(made);
}

static void test_resources(void **state)
{
    const uint16_t size = sizeof(struct nvtx_resource_attributes);
    char expected[512];
    make_resource(NVTX_RESOURCE_THREAD, 5, "a", size);
    make_resource(NVTX_RESOURCE_PTHREAD, (uint64_t)pthread_self(), "b", size);
    make_resource(NVTX_RESOURCE_PTHREAD, 1, "another thread", size);
    make_resource(NVTX_RESOURCE_CU_DEVICE, 1, "c", size);
    make_resource(NVTX_RESOURCE_CU_CONTEXT, 0x10, "d", size);
    make_resource(NVTX_RESOURCE_CU_STREAM, 0x11, "e", size);
    make_resource(NVTX_RESOURCE_CU_EVENT, 0x12, "f", size);
    make_resource(NVTX_RESOURCE_CUDA_DEVICE, 2, "g", size);
    make_resource(NVTX_RESOURCE_CUDA_STREAM, 0x13, "h", size);
    make_resource(NVTX_RESOURCE_CUDA_EVENT, 0x14, "i", size);
    make_resource(1 << 16 | 1, 0x15, "a pointer", size);
    make_resource(NVTX_RESOURCE_CU_STREAM, 0x16, "too small", 8);
    snprintf(expected, sizeof expected,
             "thread 5 a\nthread %lx b\ndevice 1 c\ncontext 10 d\nstream 11 e\nevent 12 f\ndevice 2 g\n"
             "stream 13 h\nevent 14 i\n",
             (unsigned long)syscall(SYS_gettid));
    assert_told(expected);
    assert_non_null(CALL(CORE2, DomainResourceCreate, const void *, const void *, const void *)(NULL, NULL));
}

static void test_switched_off(void **state)
{
    struct nvtx_event_attributes event = named_event("x");
    nvtx_switch(false);
    assert_int_equal(push("a"), NVTX_NOT_TRACKED);
    assert_int_equal(CALL(CORE, RangePushW, int, const wchar_t *)(L"a"), NVTX_NOT_TRACKED);
    assert_int_equal(CALL(CORE, RangePushEx, int, attributes)(&event), NVTX_NOT_TRACKED);
    assert_int_equal(pop(), NVTX_NOT_TRACKED);
    assert_int_equal(CALL(CORE, RangeStartA, uint64_t, const char *)("a"), 0);
    assert_int_equal(CALL(CORE, RangeStartW, uint64_t, const wchar_t *)(L"a"), 0);
    assert_int_equal(CALL(CORE, RangeStartEx, uint64_t, attributes)(&event), 0);
    CALL(CORE, MarkA, void, const char *)("a");
    CALL(CORE, MarkW, void, const wchar_t *)(L"a");
    CALL(CORE, MarkEx, void, attributes)(&event);
    CALL(CORE, NameOsThreadA, void, uint32_t, const char *)(10, "a");
    assert_told("");
    assert_non_null(make_domain("while off"));
    assert_non_null(register_string("while off"));
    make_copy();
    assert_false(nvtx_attach(export_table));
    assert_null(functions[NVTX_MODULE_CORE][NVTX_CALL_RangePushA]);
}

/* As NCCL 2.28 pushes its ranges: a registered name, and a payload whose schema has an ID of NCCL's choice.
 */
struct all_reduce {
    uint64_t communicator;
    size_t bytes;
    int operation;
};
struct init_rank {
    uint64_t communicator;
    int ranks, rank, device;
};

static uint64_t register_nccl_schema(const void *domain, uint64_t number,
                                     const struct nvtx_schema_entry *entries, size_t count, size_t bytes)
{
    struct nvtx_schema_attributes schema = {.fieldMask = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES |
                                                         NVTX_SCHEMA_HAS_COUNT | NVTX_SCHEMA_HAS_SIZE |
                                                         NVTX_SCHEMA_HAS_ID,
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = entries,
                                            .numEntries = count,
                                            .payloadStaticSize = bytes,
                                            .schemaId = NVTX_SCHEMA_ID_STATIC + number};
    return ((uint64_t(*)(const void *, const void *))extension[NVTX_SLOT_PayloadSchemaRegister])(domain,
                                                                                                 &schema);
}

static const void *make_nccl(void)
{
    static const struct nvtx_schema_entry all_reduce[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = NVTX_ENTRY_INT, .name = "Reduction operation", .offset = 16}};
    static const struct nvtx_schema_entry init_rank[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_INT, .name = "No. of ranks", .offset = 8},
        {.type = NVTX_ENTRY_INT, .name = "Rank", .offset = 12},
        {.type = NVTX_ENTRY_INT, .name = "CUDA device", .offset = 16}};
    const void *domain = make_domain("NCCL");
    make_extension();
    register_nccl_schema(domain, 0, init_rank, 4, sizeof(struct init_rank));
    register_nccl_schema(domain, 5, all_reduce, 3, sizeof(struct all_reduce));
    return domain;
}

static void push_all_reduce(const void *domain, uint64_t communicator)
{
    struct nvtx_event_attributes event =
        event_with(NVTX_MESSAGE_HANDLE, (union nvtx_message){.registered = register_string("ncclAllReduce")});
    struct all_reduce payload = {communicator, 4096, 0};
    struct nvtx_payload_data data = {NVTX_SCHEMA_ID_STATIC + 5, sizeof payload, &payload};
    event.payloadType = NVTX_PAYLOAD_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = (uintptr_t)&data;
    CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(domain, &event);
}

static void init_communicator(const void *domain, uint64_t communicator, int ranks, int rank)
{
    struct nvtx_event_attributes event = named_event("ncclCommInitRank");
    struct init_rank payload = {communicator, ranks, rank, 0};
    struct nvtx_payload_data data = {NVTX_SCHEMA_ID_STATIC, sizeof payload, &payload};
    CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(domain, &event);
    ((int (*)(const void *, const void *, size_t))extension[NVTX_SLOT_RangePopPayload])(domain, &data, 1);
    told[0] = 0;
}

#define ALL_REDUCE(ordinal, more)                                                                            \
    "push %u ncclAllReduce nvtx.domain=\"NCCL\" nvtx.payload.NCCL communicator ID=77 "                       \
    "nvtx.payload.Message size [bytes]=4096 nvtx.payload.Reduction operation=0 "                             \
    "collective.ordinal=" ordinal more "\n"

static void test_collectives_are_counted_also_while_asleep(void **state)
{
    char expected[1024];
    const void *domain = make_nccl();
    uint32_t number = nvtx_names_of_handle(NVTX_NAME_DOMAIN, domain)->number;
    push_all_reduce(domain, 77);
    init_communicator(domain, 77, 8, 3);
    is_asleep = true;
    push_all_reduce(domain, 77);
    push_all_reduce(domain, 77);
    told[0] = 0;
    is_asleep = false;
    push_all_reduce(domain, 77);
    snprintf(expected, sizeof expected, ALL_REDUCE("3", " collective.ranks=8 collective.rank=3"), number);
    assert_told(expected);
    push_all_reduce(make_domain("not NCCL"), 77);
    assert_null(strstr(told, "collective."));
}

static void see_live(struct live_view *view, void *memory)
{
    struct error err;
    assert_int_equal(live_view_of(memory, memory, LIVE_STATE_BYTES, view, &err), STATUS_OK);
}

static void test_the_live_state_has_calls_of_nccl(void **state)
{
    static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];
    static struct live_view view;
    const void *domain = make_nccl(), *other = make_domain("not NCCL");
    struct nvtx_event_attributes group = named_event("ncclGroupStart");
    init_communicator(domain, 771, 8, 3); /* before the state begins */
    live_state_begin(memory, &(struct live_identity){.pid = 1});
    nccl_tell_live_state();
    init_communicator(domain, 772, 2, 1);
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        is_asleep = sleeps;
        CALL(CORE2, DomainRangePushEx, int, const void *, attributes)(domain, &group);
        push_all_reduce(domain, 771); /* never returns */
        see_live(&view, memory);
        assert_int_equal(view.nccl_call_count, 1);
        assert_string_equal(view.nccl_calls[0].name, "ncclGroupStart");
        assert_int_equal(view.communicator_count, 2);
        const struct live_communicator_view *found = &view.communicators[view.communicators[0].id == 772];
        assert_int_equal(found->id, 771);
        assert_int_equal(found->ranks, 8);
        assert_int_equal(found->rank, 3);
        assert_int_equal(found->enqueued, 1 + sleeps);
        assert_int_equal(found->calls[sleeps].operation, COLLECTIVE_ALL_REDUCE);
        assert_int_equal(found->calls[sleeps].bytes, 4096);
        assert_int_equal(found->calls[sleeps].ordinal, sleeps);
        assert_int_equal(found->calls[sleeps].flags, 0);
        push_all_reduce(other, 771);
        CALL(CORE2, DomainRangePop, int, const void *)(other);
        see_live(&view, memory);
        assert_int_equal(found->calls[sleeps].flags, 0);
        CALL(CORE2, DomainRangePop, int, const void *)(domain);
        see_live(&view, memory);
        assert_int_equal(found->calls[sleeps].flags, LIVE_RETURNED);
        assert_int_equal(view.nccl_call_count, 1);
        CALL(CORE2, DomainRangePop, int, const void *)(domain);
        see_live(&view, memory);
        assert_int_equal(view.nccl_call_count, 0);
    }
    ((int (*)(const void *, const void *, size_t))extension[NVTX_SLOT_RangePushPayload])(domain, NULL, 0);
    see_live(&view, memory);
    assert_int_equal(view.nccl_call_count, 1);
    CALL(CORE2, DomainRangePop, int, const void *)(domain);
    see_live(&view, memory);
    assert_int_equal(view.nccl_call_count, 0);
    live_state_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fills_all_slots, setup),
        cmocka_unit_test_setup(test_the_live_state_has_calls_of_nccl, setup),
        cmocka_unit_test_setup(test_leaves_unknown_tables_alone, setup),
        cmocka_unit_test_setup(test_fills_what_a_shorter_table_has, setup),
        cmocka_unit_test_setup(test_fills_a_longer_table_as_far_as_it_is_known, setup),
        cmocka_unit_test_setup(test_push_and_pop_return_the_depth, setup),
        cmocka_unit_test_setup(test_uncaptured_ranges_nest, setup),
        cmocka_unit_test_setup(test_domains_have_a_depth_each, setup),
        cmocka_unit_test_setup(test_a_domain_without_a_name, setup),
        cmocka_unit_test_setup(test_a_domain_that_is_none_has_a_number_of_its_own, setup),
        cmocka_unit_test_setup(test_start_and_end, setup),
        cmocka_unit_test_setup(test_marks, setup),
        cmocka_unit_test_setup(test_wide_texts_become_utf8, setup),
        cmocka_unit_test_setup(test_long_texts_are_cut, setup),
        cmocka_unit_test_setup(test_what_has_no_name_is_named_so, setup),
        cmocka_unit_test_setup(test_registered_strings, setup),
        cmocka_unit_test_setup(test_payloads, setup),
        cmocka_unit_test_setup(test_categories, setup),
        cmocka_unit_test_setup(test_reads_no_further_than_the_size_says, setup),
        cmocka_unit_test_setup(test_names_from_before_capture_are_told_when_it_begins, setup),
        cmocka_unit_test_setup(test_names_of_objects, setup),
        cmocka_unit_test_setup(test_resources, setup),
        cmocka_unit_test_setup(test_pushed_names_begin_steps, setup),
        cmocka_unit_test_setup(test_collectives_are_counted_also_while_asleep, setup),
        cmocka_unit_test_setup(test_switched_off, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
