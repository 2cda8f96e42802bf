#include "analysis/hang/hang_read.h"

#include "analysis/trace/documents.h"
#include "base/files.h"
#include "base/hash.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINK_NAME  "/memfd:" LIVE_STATE_NAME
#define PATH_BYTES 320
#define LOOKS      3

enum hang_where hang_where_in_kernel(char state, const char *kernel_function, bool has_dead_child)
{
    static const struct {
        const char *part;
        enum hang_where where;
    } functions[] = {{"futex", HANG_LOCK},         {"pipe", HANG_LOADER},         {"do_wait", HANG_LOADER},
                     {"poll", HANG_NETWORK},       {"select", HANG_NETWORK},      {"sk_wait", HANG_NETWORK},
                     {"wait_woken", HANG_NETWORK}, {"unix_", HANG_NETWORK},       {"inet", HANG_NETWORK},
                     {"folio", HANG_STORAGE},      {"io_schedule", HANG_STORAGE}, {"nfs", HANG_STORAGE},
                     {"rpc_", HANG_STORAGE},       {"fuse", HANG_STORAGE}};
    if (state == 'T' || state == 't')
        return HANG_STOPPED;
    if (state == 'Z' || state == 'X')
        return HANG_DEAD;
    if (has_dead_child)
        return HANG_LOADER;
    for (size_t i = 0; state != 'R' && i < sizeof functions / sizeof *functions; i++)
        if (strstr(kernel_function, functions[i].part))
            return functions[i].where;
    return state == 'D' ? HANG_STORAGE : state == 'R' ? HANG_BUSY : HANG_HOST;
}

/* False: there is no such process. */
static bool read_stat(const char *proc, int32_t pid, char *state, uint64_t *started_ticks)
{
    char path[PATH_BYTES], text[1024];
    snprintf(path, sizeof path, "%s/%" PRId32 "/stat", proc, pid);
    if (files_read_small(path, text, sizeof text) <= 0)
        return false;
    const char *end = strrchr(text, ')'); /* the name may have anything in it */
    return end &&
           sscanf(end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                  state, started_ticks) == 2;
}

static bool has_dead_child(const char *proc, int32_t pid)
{
    char path[PATH_BYTES], text[4096], state;
    uint64_t ticks;
    snprintf(path, sizeof path, "%s/%" PRId32 "/task/%" PRId32 "/children", proc, pid, pid);
    if (files_read_small(path, text, sizeof text) <= 0)
        return false;
    for (char *at = text, *end;; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (read_stat(proc, (int32_t)child, &state, &ticks) && state == 'Z')
            return true;
    }
}

static void look_at_process(const char *proc, int32_t pid, char state, struct hang_rank *rank)
{
    char path[PATH_BYTES], function[128] = "";
    snprintf(path, sizeof path, "%s/%" PRId32 "/wchan", proc, pid);
    if (files_read_small(path, function, sizeof function) < 0)
        *function = 0;
    enum hang_where where = hang_where_in_kernel(state, function, has_dead_child(proc, pid));
    if (rank->where == HANG_HOST || where == HANG_STOPPED || where == HANG_DEAD)
        rank->where = where;
}

/* Opens a descriptor of another process if it is a live state. Its owner may change it at any time, so that
 * it is looked at without being opened, and opened only then. -1: it is none. */
static int open_live(int folder, const char *name)
{
    char link[64], path[64];
    ssize_t length = readlinkat(folder, name, link, sizeof link - 1);
    if (length < (ssize_t)strlen(LINK_NAME) || memcmp(link, LINK_NAME, strlen(LINK_NAME)) != 0)
        return -1;
    int place = files_open_at(folder, name, O_PATH);
    struct stat found;
    if (place < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    int opened =
        fstat(place, &found) == 0 && S_ISREG(found.st_mode) ? files_open(path, O_RDONLY | O_NONBLOCK) : -1;
    close(place);
    return opened;
}

static bool read_process(struct hang_model *model, const char *proc, int32_t pid, const char *host,
                         struct live_view *view, int folder, const char *name)
{
    struct error err;
    uint64_t ticks;
    char state;
    int live = open_live(folder, name);
    if (live < 0)
        return false;
    struct stat owner = {.st_uid = 0};
    enum status status = fstat(live, &owner) == 0 ? STATUS_OK : error_set(&err, STATUS_IO, "%m");
    view->has_look = false;
    for (int i = 0; status == STATUS_OK && i < LOOKS && !view->has_look;
         i++) /* one may be written meanwhile */
        status = live_view_read(live, view, &err);
    close(live);
    /* Forked children inherit the descriptor. */
    if (status != STATUS_OK || !read_stat(proc, pid, &state, &ticks) ||
        (view->started_ticks && view->started_ticks != ticks))
        return false;
    struct hang_rank *rank = hang_add_live(model, host, view);
    rank->pid = pid; /* in our namespace */
    rank->user = owner.st_uid;
    rank->started_ticks = ticks;
    look_at_process(proc, pid, state, rank);
    return true;
}

static void scan_process(struct hang_model *model, const char *proc, int32_t pid, const char *name,
                         struct live_view *view, struct hang_host *host)
{
    char path[PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "%s/%" PRId32 "/fd", proc, pid);
    if (stat(path, &found) != 0 || (geteuid() != 0 && found.st_uid != geteuid()))
        return;
    DIR *folder = files_open_folder(path);
    if (!folder) {
        host->refused += errno == EACCES || errno == EPERM;
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (isdigit((unsigned char)*entry->d_name) &&
            read_process(model, proc, pid, name, view, dirfd(folder), entry->d_name)) {
            host->found++;
            break;
        }
    closedir(folder);
}

static void host_name(char name[256])
{
    if (gethostname(name, 255) != 0)
        *name = 0;
    name[255] = 0;
}

void hang_read_host(struct hang_model *model, const char *proc, struct hang_host *host)
{
    struct live_view *view = xcalloc(1, sizeof *view);
    char name[256];
    DIR *folder = files_open_folder(proc);
    host_name(name);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end == 0 && pid > 0 && pid <= INT32_MAX)
            scan_process(model, proc, (int32_t)pid, name, view, host);
    }
    if (folder)
        closedir(folder);
    free(view);
}

/* A file of a live state says what a process of this host last did, if it has ended. */
static enum status read_live_file(struct hang_model *model, int file, bool is_named, struct error *err)
{
    struct live_view *view = xcalloc(1, sizeof *view);
    struct stat owner = {.st_uid = 0};
    enum status status = fstat(file, &owner) == 0 ? live_view_read(file, view, err)
                                                  : error_set(err, STATUS_IO, "cannot read it (%m)");
    bool is_old = view->watch == LIVE_OVER && time(NULL) - owner.st_mtime > LIVE_OVER_S;
    if (status == STATUS_OK && (is_named || !is_old)) {
        char name[256], state = 0;
        uint64_t ticks = 0;
        host_name(name);
        struct hang_rank *rank = hang_add_live(model, name, view);
        rank->user = owner.st_uid;
        bool is_alive = read_stat("/proc", view->pid, &state, &ticks) && ticks == view->started_ticks &&
                        state != 'Z' && state != 'X';
        if (is_alive)
            look_at_process("/proc", view->pid, state, rank);
        else
            rank->end = view->watch == LIVE_OVER ? HANG_FINISHED : HANG_DEAD;
    }
    free(view);
    return status;
}

/* Lines of JSON, or JSON on many lines. */
static enum status read_lines(struct hang_model *model, int file, const char *path, struct error *err)
{
    struct documents *documents = NULL;
    struct document document;
    struct error unused;
    bool is_first = true;
    enum status status = documents_open(file, path, &documents, err);
    for (; status == STATUS_OK && (status = documents_next(documents, &document, err)) == STATUS_OK &&
           document.len;
         is_first = false) {
        status = document.is_json ? hang_read_json(model, document.bytes, document.len, err)
                                  : error_set(err, STATUS_INVALID, "OTLP as protobuf; use a file of JSON");
        if (status == STATUS_INVALID && is_first && document.is_json &&
            documents_join_rest(documents, &document, &unused) == STATUS_OK &&
            hang_read_json(model, document.bytes, document.len, &unused) == STATUS_OK) {
            documents_drop_lines(documents, &document, SIZE_MAX);
            status = STATUS_OK;
        }
    }
    if (documents)
        documents_close(documents);
    return status == STATUS_OK && is_first ? error_set(err, STATUS_INVALID, "the file is empty") : status;
}

void hang_read_folder(struct hang_model *model, const char *path)
{
    struct error unused;
    struct stat found;
    DIR *folder = files_open_folder(path);
    /* As for the control sockets: another user must not be able to put files there. */
    if (folder && (fstat(dirfd(folder), &found) != 0 || found.st_mode & (S_IWGRP | S_IWOTH) ||
                   (geteuid() != 0 && found.st_uid != geteuid()))) {
        closedir(folder);
        return;
    }
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!text_ends_with(entry->d_name, LIVE_FILE_SUFFIX))
            continue;
        int file = files_open_at(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (file >= 0 && read_live_file(model, file, false, &unused) != STATUS_OK)
            files_give_up(file), file = -1; /* of another version, or being written */
        files_give_up(file);
    }
    if (folder)
        closedir(folder);
}

static bool is_live(int file)
{
    char magic[sizeof LIVE_STATE_MAGIC - 1] = "";
    return pread(file, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, LIVE_STATE_MAGIC, sizeof magic) == 0;
}

bool hang_is_live_file(const char *path)
{
    int file = text_ends_with(path, LIVE_FILE_SUFFIX) ? files_open(path, O_RDONLY | O_NONBLOCK) : -1;
    bool it_is = file >= 0 && is_live(file);
    files_give_up(file);
    return it_is;
}

enum status hang_read_file(struct hang_model *model, const char *path, struct error *err)
{
    struct error why = {""};
    bool is_input = strcmp(path, "-") == 0;
    int file = is_input ? STDIN_FILENO : files_open(path, O_RDONLY);
    if (file < 0)
        return error_set(err, STATUS_IO, "cannot read %s (%m)", path);
    enum status status =
        is_live(file) ? read_live_file(model, file, true, &why) : read_lines(model, file, path, &why);
    if (!is_input)
        close(file);
    return status == STATUS_OK ? STATUS_OK : error_set(err, status, "%s: %s", path, why.text);
}

static uint64_t process_key(const struct hang_rank *rank, uint64_t started_ticks)
{
    uint64_t key = hash_word(hash_text(HASH_START, rank->host ? rank->host : ""), (uint64_t)rank->pid);
    return hash_mix(hash_word(key, started_ticks));
}

/* A report knows the line, and the live state of the same process everything else. */
static void add_line(struct hang_rank *to, const struct hang_rank *report)
{
    if (!to->line)
        to->line = report->line;
    if (!to->function)
        to->function = report->function;
    if (to->where == HANG_HOST)
        to->where = report->where;
}

void hang_drop_repeated(struct hang_model *model)
{
    struct hang_rank *kept = xcalloc(model->rank_count + 1, sizeof *kept);
    struct int_map known = {0}; /* processes, with and without the time of their start */
    uint32_t count = 0;
    for (size_t i = 0; i < 2 * model->rank_count; i++) {
        struct hang_rank *rank = &model->ranks[i % model->rank_count];
        bool is_report = i >= model->rank_count; /* they come last */
        if (is_report != !rank->started_ticks)
            continue;
        uint64_t process = process_key(rank, 0);
        uint32_t live = int_map_get(&known, process_key(rank, rank->started_ticks));
        if (live == MAP_NONE) {
            kept[count] = *rank;
            if (!is_report && int_map_get(&known, process) == MAP_NONE)
                int_map_set(&known, process, count);
            if (!is_report)
                int_map_set(&known, process_key(rank, rank->started_ticks), count);
            count++;
            continue;
        }
        if (is_report)
            add_line(&kept[live], rank);
        hang_rank_deinit(rank);
    }
    free(model->ranks);
    model->ranks = kept;
    model->rank_capacity = model->rank_count + 1;
    model->rank_count = count;
    int_map_deinit(&known);
    hang_merge_ras(model);
}
