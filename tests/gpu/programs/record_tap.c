/* Interposes a CUPTI and writes the GPU's records as CUPTI delivers them, before the agent receives them. The
 * tables of `cuspan stat` for the same run must agree with them to the nanosecond.
 *
 *   cc -shared -nostdlib -x c /dev/null -o path.so -Wl,-soname,/path/libcupti.so.13
 *   cc -shared -fPIC -DTAP_CUPTI='"/path/libcupti.so.13"' record_tap.c -o tap.so -Wl,--no-as-needed path.so
 *      -ldl
 *   TAP_FILE=records cuspan stat --set cupti.library=$PWD/tap.so PROGRAM
 *
 * All calls except one go to CUPTI, because dlsym also looks in the libraries that tap.so needs. It needs
 * that CUPTI by its whole path, the soname of path.so, so that it gets the same one as its own dlopen,
 * whichever libcupti.so.13 the process has loaded before. The exception is cuptiActivityRegisterCallbacks_v2
 * (CUPTI 13.3 and later), whose records describe their own layout. Each line has a record: its kind, then
 * FIELD=VALUE with CUPTI's numbers of the fields; a name's value is the text. tables_check.py reads it. It
 * has no code of cuspan. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From CUPTI's headers. */
struct field_layout {
    size_t struct_size;
    int id;
    size_t offset, size, alignment;
};
struct record_layout {
    size_t struct_size;
    struct field_layout *fields;
    size_t field_count, record_bytes;
};
struct complete_info {
    size_t struct_size;
    uint64_t thread_id;
    struct record_layout **layouts; /* by kind */
    size_t layout_count;
};
typedef void request_fn(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void complete_fn(uint8_t *buffer, size_t size, size_t valid, struct complete_info *info);
typedef uint32_t register_fn(void *subscriber, request_fn *request, complete_fn *complete);

enum { MEMCPY = 1, MEMSET = 2, KERNEL = 10, MEMCPY_PEER = 22, GRAPH = 51, KERNEL_NAME = 24 };

static complete_fn *agents_complete;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static FILE *open_file(void)
{
    const char *path = getenv("TAP_FILE");
    static FILE *file;
    if (!file && path)
        file = fopen(path, "w");
    return file;
}

static int is_wanted(uint32_t kind)
{
    return kind == MEMCPY || kind == MEMSET || kind == KERNEL || kind == MEMCPY_PEER || kind == GRAPH;
}

static void write_field(FILE *file, uint32_t kind, const uint8_t *record, const struct field_layout *field)
{
    uint64_t value = 0;
    if (field->size > sizeof value)
        return;
    memcpy(&value, record + field->offset, field->size); /* only little-endian machines have a GPU */
    if (kind == KERNEL && field->id == KERNEL_NAME)
        fprintf(file, " %d=%s", field->id, value ? (const char *)(uintptr_t)value : "");
    else
        fprintf(file, " %d=%llu", field->id, (unsigned long long)value);
}

static void write_record(FILE *file, uint32_t kind, const uint8_t *record, const struct record_layout *layout)
{
    fprintf(file, "%u", kind);
    for (size_t i = 0; i < layout->field_count; i++)
        write_field(file, kind, record, &layout->fields[i]);
    fputc('\n', file);
}

static void on_complete(uint8_t *buffer, size_t size, size_t valid, struct complete_info *info)
{
    pthread_mutex_lock(&writing);
    FILE *file = open_file();
    for (size_t at = 0; file && info && at + sizeof(uint32_t) <= valid;) {
        uint32_t kind;
        memcpy(&kind, buffer + at, sizeof kind);
        const struct record_layout *layout = kind < info->layout_count ? info->layouts[kind] : NULL;
        if (!layout || !layout->record_bytes) {
            fprintf(file, "unknown %u\n", kind);
            break;
        }
        if (is_wanted(kind))
            write_record(file, kind, buffer + at, layout);
        at += layout->record_bytes;
    }
    if (file)
        fflush(file);
    pthread_mutex_unlock(&writing);
    agents_complete(buffer, size, valid, info); /* the agent owns the buffer now */
}

uint32_t cuptiActivityRegisterCallbacks_v2(void *subscriber, request_fn *request, complete_fn *complete);

uint32_t cuptiActivityRegisterCallbacks_v2(void *subscriber, request_fn *request, complete_fn *complete)
{
    void *cupti = dlopen(TAP_CUPTI, RTLD_NOW | RTLD_LOCAL);
    register_fn *real = NULL;
    if (cupti)
        *(void **)&real = dlsym(cupti, "cuptiActivityRegisterCallbacks_v2");
    if (!real) {
        fprintf(stderr, "record_tap: %s\n", cupti ? "this CUPTI is older than 13.3" : dlerror());
        return 999; /* CUPTI's "unknown" */
    }
    agents_complete = complete;
    return real(subscriber, request, on_complete);
}
