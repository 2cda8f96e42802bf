/* The writer's files and their errors. Other programs read the files in tests/integration/cli/export_test.py.
 */
#include "analysis/export/fleet_writer.h"
#include "analysis/export/fleet_group.h"
#include "analysis/trace/trace_read.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define HOUR_NS     UINT64_C(3600000000000)
#define TEN_MINUTES (HOUR_NS / 6)

static char work[] = "/tmp/cuspan-test-XXXXXX";
static char input[64], folder[64];

static int make_work(void **state)
{
    if (!mkdtemp(work))
        return -1;
    snprintf(input, sizeof input, "%s/input", work);
    snprintf(folder, sizeof folder, "%s/fleet", work);
    return 0;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *place)
{
    (void)facts;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_work(void **state)
{
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int remove_folder(void **state)
{
    if (access(folder, F_OK) == 0)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* Spans of two processes in turn, the later ones first. */
static void write_spans(unsigned spans, uint64_t step_ns)
{
    FILE *file = fopen(input, "w");
    assert_non_null(file);
    for (unsigned i = spans; i-- > 0;)
        fprintf(
            file,
            "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
            "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"p%u\"}}]},\"scopeSpans\":[{\"spans\":[{"
            "\"traceId\":\"" TRACE_A
            "\",\"spanId\":\"%016x\",\"name\":\"n%u\",\"startTimeUnixNano\":\"%" PRIu64
            "\",\"endTimeUnixNano\":\"%" PRIu64 "\"}]}]}]}\n",
            i % 2, i + 1, i, i * step_ns, i * step_ns + 5);
    fclose(file);
}

static void write_input(unsigned spans)
{
    write_spans(spans, TEN_MINUTES);
}

struct order {
    size_t named; /* records with a name of their own */
    uint32_t resource;
    uint64_t start;
    size_t count;
    struct fleet_writer *writer; /* NULL: none */
};

static enum status take(void *context, const struct span_record *record, struct error *err)
{
    struct order *order = context;
    if (order->count++) {
        assert_true(record->resource >= order->resource);
        if (record->resource == order->resource)
            assert_true(record->start_ns >= order->start);
    }
    const struct trace_attr *attrs = (const void *)(record + 1);
    for (uint32_t i = 0; i < record->span_attrs; i++)
        order->named += attrs[i].type & RECORD_FIELD && attrs[i].key == SPAN_FIELD_NAME;
    order->resource = record->resource;
    order->start = record->start_ns;
    return order->writer ? fleet_writer_add(order->writer, record, err) : STATUS_OK;
}

/* From memory, and with runs on disk. */
static void test_records_come_by_resource_and_start(void **state)
{
    static const size_t buffers[] = {0, 4000, 100000};
    write_input(3000);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        const char *paths[] = {input};
        struct trace_input from = {.paths = paths, .path_count = 1, .buffer_bytes = buffers[i]};
        struct order order = {0};
        struct trace_facts facts;
        struct store_omissions omissions;
        struct trace trace;
        struct error err = {""};
        assert_int_equal(trace_read_records(&from, &trace, take, &order, &facts, &omissions, &err),
                         STATUS_OK);
        assert_int_equal(order.count, 3000);
        assert_int_equal(facts.spans, 3000);
        trace_deinit(&trace);
    }
}

/* Later names are in the records, so no name is lost. */
static void test_names_beyond_the_limit(void **state)
{
    const char *paths[] = {input};
    struct trace_input from = {.paths = paths, .path_count = 1, .name_bytes_max = 10 * STORE_NAME_BYTES};
    struct order order = {0};
    struct trace_facts facts;
    struct store_omissions omissions;
    struct trace trace;
    struct error err = {""};
    write_input(1000);
    assert_int_equal(trace_read_records(&from, &trace, take, &order, &facts, &omissions, &err), STATUS_OK);
    assert_int_equal(order.count, 1000);
    assert_in_range(order.named, 980, 995);
    trace_deinit(&trace);
}

static enum status export(const struct zstd_api *zstd, size_t file_bytes, struct fleet_totals *totals,
                          struct error *err) {
    const char *paths[] = {input}; struct trace_input from = {.paths = paths, .path_count = 1};
    struct order order = {0};
    struct trace_facts facts;
    struct store_omissions omissions;
    struct trace trace = {0};
    *err = (struct error){""};
    enum status status = fleet_writer_create(folder, &trace, zstd, file_bytes, &order.writer, err);
    if (status != STATUS_OK) return status;
    status = trace_read_records(&from, &trace, take, &order, &facts, &omissions, err);
    if (status == STATUS_OK) status = fleet_writer_finish(order.writer, totals, err);
    fleet_writer_destroy(order.writer);
    trace_deinit(&trace);
    return status;
}

static size_t parquet_files, other_files;

static int count_one(const char *path, const struct stat *facts, int type, struct FTW *place)
{
    char ends[8] = "";
    (void)place;
    if (type != FTW_F)
        return 0;
    FILE *file = fopen(path, "r");
    size_t len = strlen(path);
    bool is_parquet = len > 8 && strcmp(path + len - 8, ".parquet") == 0;
    parquet_files += is_parquet;
    other_files += !is_parquet;
    if (is_parquet) { /* complete: the magic number is at both ends */
        assert_true(facts->st_size > 12);
        assert_int_equal(fread(ends, 1, 4, file), 4);
        fseek(file, -4, SEEK_END);
        assert_int_equal(fread(ends + 4, 1, 4, file), 4);
        assert_memory_equal(ends, "PAR1PAR1", 8);
        assert_int_equal(facts->st_mode & 0777, 0600);
    }
    fclose(file);
    return 0;
}

static void count_files(void)
{
    parquet_files = other_files = 0;
    nftw(folder, count_one, 16, FTW_PHYS);
}

/* 36 spans of each process in 12 hours. */
static void test_a_file_per_process_and_hour(void **state)
{
    struct fleet_totals totals;
    struct error err;
    write_input(72);
    for (int round = 0; round < 2; round++) { /* the second one replaces the files */
        assert_int_equal(export(NULL, 0, &totals, &err), STATUS_OK);
        assert_int_equal(totals.spans, 72);
        assert_int_equal(totals.files, 25);
        assert_int_equal(totals.resources, 2);
        count_files();
        assert_int_equal(parquet_files, 25);
        assert_int_equal(other_files, 1); /* the schema's version */
    }
}

static void test_other_spans_are_added(void **state)
{
    struct fleet_totals totals;
    struct error err;
    write_input(4); /* one file per process, and that of the resources */
    assert_int_equal(export(NULL, 0, &totals, &err), STATUS_OK);
    write_input(2);
    assert_int_equal(export(NULL, 0, &totals, &err), STATUS_OK);
    count_files();
    assert_int_equal(parquet_files, 2 + 2 + 1);
}

/* More spans than a row group has. */
static void test_a_large_file_is_continued_by_another(void **state)
{
    static const size_t limits[] = {0, 1000};
    struct fleet_totals totals;
    struct error err;
    write_spans(2 * FLEET_GROUP_ROWS + 2000, 1000);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(export(NULL, limits[i], &totals, &err), STATUS_OK);
        assert_int_equal(totals.spans, 2 * FLEET_GROUP_ROWS + 2000);
        assert_int_equal(totals.files, limits[i] ? 5 : 3);
        count_files();
        assert_int_equal(parquet_files, totals.files);
        remove_folder(state);
    }
}

static void write_text(const char *name, const char *text)
{
    char path[128];
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_folders_of_others_are_refused(void **state)
{
    static const struct {
        const char *name, *text, *expected;
    } cases[] = {{"important.txt", "x", "is not empty"},
                 {"cuspan-schema.json", "", "not of cuspan"},
                 {"cuspan-schema.json", "{\"schema\": \"other\", \"version\": 1}", "not of cuspan"},
                 {"cuspan-schema.json", "{\"schema\": \"cuspan\", \"version\": 2}", "has version 2"},
                 {"cuspan-schema.json", "[[[[", "not of cuspan"}};
    struct fleet_totals totals;
    struct error err;
    write_input(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i].name, cases[i].text);
        assert_int_equal(export(NULL, 0, &totals, &err), STATUS_INVALID);
        assert_non_null(strstr(err.text, cases[i].expected));
        count_files();
        assert_int_equal(parquet_files, 0);
        assert_int_equal(other_files, 1);
        remove_folder(state);
    }
}

static void test_a_file_instead_of_the_folder(void **state)
{
    struct fleet_totals totals;
    struct error err;
    write_input(2);
    fclose(fopen(folder, "w"));
    assert_int_equal(export(NULL, 0, &totals, &err), STATUS_IO);
    assert_non_null(strstr(err.text, folder));
    remove(folder);
}

/* The limit acts like a full disk: the file ends somewhere inside. */
static void test_a_full_disk_leaves_no_file(void **state)
{
    static const rlim_t limits[] = {0, 3, 100, 1000, 4000};
    struct rlimit old, limit;
    struct fleet_totals totals;
    struct error err;
    write_input(6);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(export(NULL, 0, &totals, &err), STATUS_OK); /* the marker is there */
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/spans", folder);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        snprintf(path, sizeof path, "%s/resources", folder);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        limit = (struct rlimit){limits[i], old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        enum status status = export(NULL, 0, &totals, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(status, STATUS_IO);
        assert_non_null(strstr(err.text, "cannot write"));
        assert_non_null(strstr(err.text, strerror(EFBIG)));
        count_files();
        assert_int_equal(parquet_files, 0);
        assert_int_equal(other_files, 1);
    }
}

/* --- a compressor that fails --- */

static size_t calls_left;

static void *create(int level)
{
    (void)level;
    return calls_left ? &calls_left : NULL;
}

static void destroy(void *state) {}

static size_t bound(size_t len)
{
    return len;
}

static size_t compress(void *state, void *to, size_t capacity, const void *from, size_t len)
{
    (void)capacity;
    memcpy(to, from, len);
    return calls_left-- > 1 ? len : 0;
}

static void test_a_failing_compressor(void **state)
{
    static const struct zstd_api failing = {create, destroy, bound, compress};
    struct fleet_totals totals;
    struct error err;
    write_input(2);
    for (size_t calls = 0; calls < 5; calls++) {
        calls_left = calls;
        assert_int_equal(export(&failing, 0, &totals, &err), STATUS_NO_MEMORY);
        assert_non_null(strstr(err.text, "zstd cannot compress"));
        count_files();
        assert_int_equal(parquet_files, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_by_resource_and_start),
        cmocka_unit_test(test_names_beyond_the_limit),
        cmocka_unit_test_teardown(test_a_file_per_process_and_hour, remove_folder),
        cmocka_unit_test_teardown(test_a_large_file_is_continued_by_another, remove_folder),
        cmocka_unit_test_teardown(test_other_spans_are_added, remove_folder),
        cmocka_unit_test_teardown(test_folders_of_others_are_refused, remove_folder),
        cmocka_unit_test_teardown(test_a_file_instead_of_the_folder, remove_folder),
        cmocka_unit_test_teardown(test_a_full_disk_leaves_no_file, remove_folder),
        cmocka_unit_test_teardown(test_a_failing_compressor, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
