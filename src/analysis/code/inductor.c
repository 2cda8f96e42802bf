#include "analysis/code/inductor.h"

#include "base/hash.h"
#include "analysis/code/source_lines.h"
#include "analysis/code/stack_lines.h"
#include "cli/util/int_map.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#define HANDLE          "[Provenance debug handles] "
#define ARTIFACT        "inductor_provenance_tracking_kernel_stack_traces"
#define LOG_CHUNK_BYTES 65536

struct kernel {
    char *key; /* "triton_poi_fused_add_relu_0:2" */
    char *file, *name;
    uint32_t line;
};

struct inductor {
    struct source_lines **sources;
    size_t source_count, source_capacity;
    struct int_map *files; /* of each artifact: hash of a kernel's key → number */
    size_t file_count, file_capacity;
    struct kernel *kernels; /* of all files */
    size_t kernel_count, kernel_capacity;
    struct int_map path_numbers; /* hash of a path → number */
    char *paths[INDUCTOR_PATHS_MAX];
    size_t path_count;
    char *path; /* of the generated file that `is_of_path` is about; NULL: none yet */
    size_t source;
    bool is_of_path[INDUCTOR_FILES_MAX];
};

struct inductor *inductor_create(void)
{
    return xcalloc(1, sizeof(struct inductor));
}

void inductor_destroy(struct inductor *inductor)
{
    if (!inductor)
        return;
    for (size_t i = 0; i < inductor->file_count; i++)
        int_map_deinit(&inductor->files[i]);
    for (size_t i = 0; i < inductor->kernel_count; i++) {
        free(inductor->kernels[i].key);
        free(inductor->kernels[i].file);
        free(inductor->kernels[i].name);
    }
    for (size_t i = 0; i < inductor->path_count; i++)
        free(inductor->paths[i]);
    int_map_deinit(&inductor->path_numbers);
    free(inductor->sources);
    free(inductor->files);
    free(inductor->kernels);
    free(inductor->path);
    free(inductor);
}

bool inductor_has_kernels(const struct inductor *inductor)
{
    return inductor->kernel_count > 0;
}

const char *inductor_path(const struct inductor *inductor, size_t number)
{
    return number < inductor->path_count ? inductor->paths[number] : NULL;
}

/* --- artifacts --- */

static const struct kernel *find_kernel(const struct inductor *inductor, const struct int_map *file,
                                        struct frame_text key)
{
    uint64_t hash = hash_bytes(HASH_START, key.at, key.len);
    uint32_t number;
    for (; (number = int_map_get(file, hash)) != MAP_NONE; hash++) {
        const struct kernel *kernel = &inductor->kernels[number];
        if (strlen(kernel->key) == key.len && memcmp(kernel->key, key.at, key.len) == 0)
            return kernel;
    }
    return NULL;
}

static char *copy(struct frame_text text)
{
    return xasprintf("%.*s", (int)text.len, text.at);
}

/* Two paths with the same hash count as one: then a path may stay absolute. Takes the text. */
static void note_path(struct inductor *inductor, char *path)
{
    uint64_t hash = hash_text(HASH_START, path);
    if (inductor->path_count == INDUCTOR_PATHS_MAX ||
        int_map_get(&inductor->path_numbers, hash) != MAP_NONE) {
        free(path);
        return;
    }
    int_map_set(&inductor->path_numbers, hash, (uint32_t)inductor->path_count);
    inductor->paths[inductor->path_count++] = path;
}

/* The program's innermost frame, or else the innermost one. Frames are in Python's order, the innermost one
 * last. False: there is none. */
static bool read_trace(struct inductor *inductor, const char *trace, struct stack_frame *found)
{
    struct stack_frame frame;
    bool has_programs = false, has_any = false;
    while (stack_lines_next(&trace, &frame)) {
        if (frame.kind != FRAME_PYTHON || frame.file.len >= SOURCE_FILE_BYTES_MAX)
            continue;
        char *file = copy(frame.file);
        bool is_programs = !stack_lines_is_library(file);
        if (is_programs)
            note_path(inductor, file);
        else
            free(file);
        if (has_programs && !is_programs)
            continue;
        *found = frame;
        has_programs |= is_programs;
        has_any = true;
    }
    return has_any;
}

static void add_kernel(struct inductor *inductor, struct int_map *file, const char *key,
                       const struct stack_frame *frame)
{
    struct frame_text text = {key, strlen(key)};
    if (inductor->kernel_count == INDUCTOR_KERNELS_MAX || find_kernel(inductor, file, text))
        return;
    uint64_t hash = hash_bytes(HASH_START, text.at, text.len);
    while (int_map_get(file, hash) != MAP_NONE)
        hash++;
    int_map_set(file, hash, (uint32_t)inductor->kernel_count);
    *XADD(inductor->kernels, inductor->kernel_count, inductor->kernel_capacity) = (struct kernel){
        .key = xstrdup(key), .file = copy(frame->file), .name = copy(frame->name), .line = frame->line};
}

/* {"KERNEL:NUMBER": ["TRACE", ...], ...} */
static void read_kernels(struct inductor *inductor, const char *text)
{
    yyjson_doc *document = yyjson_read(text, strlen(text), 0);
    yyjson_val *kernel, *traces, *trace;
    size_t i, j, count, trace_count;
    struct int_map *file = XADD(inductor->files, inductor->file_count, inductor->file_capacity);
    *file = (struct int_map){0};
    yyjson_obj_foreach(yyjson_doc_get_root(document), i, count, kernel, traces)
    {
        struct stack_frame frame = {.file = {"", 0}, .name = {"", 0}};
        bool has_frame = false;
        yyjson_arr_foreach(traces, j, trace_count, trace)
        {
            has_frame = yyjson_is_str(trace) && read_trace(inductor, yyjson_get_str(trace), &frame);
            if (has_frame)
                break;
        }
        add_kernel(inductor, file, yyjson_get_str(kernel), &frame);
    }
    yyjson_doc_free(document);
}

/* START...END */
static bool is_named(const char *name, const char *start, const char *end)
{
    size_t len = strlen(name), of_start = strlen(start), of_end = strlen(end);
    return len >= of_start + of_end && strncmp(name, start, of_start) == 0 &&
           strcmp(name + len - of_end, end) == 0;
}

static bool is_log(const char *name)
{
    return is_named(name, "dedicated_log_torch_trace_", ".log");
}

static bool is_wanted(const char *name)
{
    return is_log(name) || is_named(name, ARTIFACT, ".json");
}

static void read_json(struct inductor *inductor, int fd)
{
    size_t len;
    char *text = source_lines_read(fd, &len);
    if (text)
        read_kernels(inductor, text);
    free(text);
}

/* A line with the artifact's name, and behind it lines that begin with a tab: the artifact. */
static void read_log(struct inductor *inductor, FILE *log)
{
    char *chunk = xcalloc(LOG_CHUNK_BYTES, 1);
    struct text artifact = {0};
    bool is_start = true, is_wanted = false, is_of_artifact = false;
    while (inductor->file_count < INDUCTOR_FILES_MAX && fgets(chunk, LOG_CHUNK_BYTES, log)) {
        if (is_start)
            is_of_artifact = *chunk == '\t';
        if (is_start && !is_of_artifact && artifact.len) {
            read_kernels(inductor, artifact.data);
            text_clear(&artifact);
        }
        if (is_start && !is_of_artifact)
            is_wanted = strstr(chunk, "\"" ARTIFACT "\"") != NULL;
        if (is_of_artifact && is_wanted && artifact.len < SOURCE_FILE_BYTES_MAX)
            text_add(&artifact, chunk + is_start);
        is_start = strchr(chunk, '\n') != NULL;
    }
    if (artifact.len && inductor->file_count < INDUCTOR_FILES_MAX)
        read_kernels(inductor, artifact.data);
    text_deinit(&artifact);
    free(chunk);
}

static void read_file(void *context, int fd, const char *name)
{
    struct inductor *inductor = context;
    struct stat facts;
    bool is_regular = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    FILE *log = is_log(name) && is_regular ? fdopen(fd, "r") : NULL;
    if (log)
        read_log(inductor, log);
    else if (!is_log(name) && inductor->file_count < INDUCTOR_FILES_MAX)
        read_json(inductor, fd);
    if (log)
        fclose(log);
    else
        close(fd);
}

void inductor_add(struct inductor *inductor, struct source_lines *source, const char *directory)
{
    *XADD(inductor->sources, inductor->source_count, inductor->source_capacity) = source;
    source_lines_visit(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), is_wanted, read_file, inductor);
}

/* --- generated files --- */

static struct frame_text key_at(const char *at)
{
    return (struct frame_text){at, strcspn(at, " \t\r\n")};
}

/* The number of launches in the text that the file has; SIZE_MAX: it lacks one. */
static size_t count_launches(const struct inductor *inductor, const struct int_map *file, const char *text)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, HANDLE)); at++, count++) {
        if (!find_kernel(inductor, file, key_at(at + sizeof HANDLE - 1)))
            return SIZE_MAX;
    }
    return count;
}

static void choose_files(struct inductor *inductor, size_t source, const char *path)
{
    const char *text = source_lines_text(inductor->sources[source], path); /* not NULL: it has a comment */
    if (inductor->path && inductor->source == source && strcmp(inductor->path, path) == 0)
        return;
    free(inductor->path);
    inductor->path = xstrdup(path);
    inductor->source = source;
    size_t least = SIZE_MAX, others[INDUCTOR_FILES_MAX]; /* launches that the text lacks */
    for (size_t i = 0; i < inductor->file_count; i++) {
        size_t count = count_launches(inductor, &inductor->files[i], text);
        size_t kernels = inductor->files[i].count;
        others[i] = count == SIZE_MAX ? SIZE_MAX : count < kernels ? kernels - count : 0;
        least = others[i] < least ? others[i] : least;
    }
    for (size_t i = 0; i < inductor->file_count; i++)
        inductor->is_of_path[i] = least != SIZE_MAX && others[i] == least;
}

/* False: no file has it, or they differ. */
static bool find_in_files(const struct inductor *inductor, struct frame_text key,
                          struct inductor_place *place)
{
    const struct kernel *found = NULL;
    for (size_t i = 0; i < inductor->file_count; i++) {
        const struct kernel *kernel =
            inductor->is_of_path[i] ? find_kernel(inductor, &inductor->files[i], key) : NULL;
        if (!kernel)
            continue;
        if (!*kernel->file ||
            (found && (found->line != kernel->line || strcmp(found->file, kernel->file) != 0)))
            return false;
        found = kernel;
    }
    if (found)
        *place = (struct inductor_place){.file = found->file, .name = found->name, .line = found->line};
    return found != NULL;
}

bool inductor_find(struct inductor *inductor, const char *file, uint32_t line, struct inductor_place *place)
{
    for (size_t i = 0; i < inductor->source_count; i++) {
        const char *handle = source_lines_comment(inductor->sources[i], file, line, HANDLE);
        if (!handle)
            continue;
        choose_files(inductor, i, file);
        return find_in_files(inductor, key_at(handle), place);
    }
    return false;
}
