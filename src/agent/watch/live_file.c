#include "agent/watch/live_file.h"

#include "base/clock.h"
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_S       (24 * 3600)
#define LOOKED_MAX  4096 /* entries of the directory that are looked at */
#define ENTRIES_MIN 8

static_assert(LIVE_COMMUNICATORS_AT + LIVE_COMMUNICATORS * LIVE_COMMUNICATOR_BYTES(ENTRIES_MIN) <=
                  LIVE_FILE_BYTES,
              "any state fits");

/* Copies the latest entries. One that is being written meanwhile is left out. */
static void copy_entries(struct live_entry *to, const struct live_entry *from, uint32_t count)
{
    for (uint32_t i = 0; i < LIVE_ENTRIES; i++) {
        struct live_entry entry;
        live_copy(&entry, &from[i], sizeof entry);
        uint64_t number = (entry.sequence - 2) / 2;
        atomic_thread_fence(memory_order_acquire);
        bool is_whole = entry.sequence && entry.sequence % 2 == 0 &&
                        entry.sequence == atomic_load_explicit(&from[i].sequence, memory_order_relaxed);
        if (is_whole && to[number % count].sequence < entry.sequence)
            live_copy(&to[number % count], &entry, sizeof entry);
    }
}

static uint32_t count_used(const struct live_header *live)
{
    const uint8_t *from = (const uint8_t *)live + live->communicators_at;
    uint32_t used = 0;
    for (uint32_t i = 0; i < LIVE_COMMUNICATORS; i++, from += live->communicator_bytes)
        used += ((const struct live_communicator *)(const void *)from)->id != 0;
    return used;
}

size_t live_file_shorten(const struct live_header *live, uint8_t to[LIVE_FILE_BYTES])
{
    struct live_header *header = (struct live_header *)(void *)to;
    const uint8_t *from = (const uint8_t *)live + live->communicators_at;
    uint8_t *at = to + LIVE_COMMUNICATORS_AT;
    uint32_t used = count_used(live), entries = LIVE_ENTRIES, copied = 0;
    while (LIVE_COMMUNICATORS_AT + used * LIVE_COMMUNICATOR_BYTES(entries) > LIVE_FILE_BYTES)
        entries /= 2;
    memset(to, 0, LIVE_FILE_BYTES);
    live_copy(to, live, LIVE_COMMUNICATORS_AT);
    for (uint32_t i = 0; i < LIVE_COMMUNICATORS && copied < used; i++, from += live->communicator_bytes) {
        const struct live_communicator *source = (const struct live_communicator *)(const void *)from;
        struct live_communicator *made = (struct live_communicator *)(void *)at;
        if (!source->id)
            continue;
        live_copy(made, source, sizeof *made);
        copy_entries(made->entries, source->entries, entries);
        at += LIVE_COMMUNICATOR_BYTES(entries);
        copied++;
    }
    header->communicator_count = copied;
    header->entry_count = entries;
    header->communicator_bytes = (uint32_t)LIVE_COMMUNICATOR_BYTES(entries);
    header->total_bytes = (uint32_t)(at - to);
    return (size_t)(at - to);
}

static bool is_over(int folder, const char *name)
{
    struct live_header header = {.watch = LIVE_NOT_WATCHED};
    int file = files_open_at(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_read = file >= 0 && pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header;
    files_give_up(file);
    return is_read && header.watch == LIVE_OVER;
}

/* Removes what processes have left that ended long ago. */
static void remove_old(int folder)
{
    DIR *listing = files_open_folder_at(folder, ".");
    const struct dirent *entry;
    time_t now = (time_t)(clock_read_ns(CLOCK_REALTIME) / NS_PER_SECOND);
    for (int i = 0; listing && i < LOOKED_MAX && (entry = readdir(listing)); i++) {
        char *end;
        struct stat found;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || strcmp(end, LIVE_FILE_SUFFIX) != 0 ||
            fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_old = now - found.st_mtime > (is_over(folder, entry->d_name) ? LIVE_OVER_S : OLD_S);
        if (is_old && ((kill((pid_t)pid, 0) != 0 && errno == ESRCH) || pid == getpid()))
            unlinkat(folder, entry->d_name, 0);
    }
    if (listing)
        closedir(listing);
}

void live_file_open(struct live_file *file, char (*folders)[CONTROL_PATH_BYTES], size_t count)
{
    *file = (struct live_file){.file = GUARDED_FD_NONE};
    snprintf(file->name, sizeof file->name, "%d" LIVE_FILE_SUFFIX, (int)getpid());
    for (size_t i = 0; i < count && file->file.number < 0; i++) {
        int folder = control_path_open_folder(folders[i], geteuid(), true);
        if (folder < 0)
            continue;
        remove_old(folder);
        unlinkat(folder, file->name, 0); /* of an earlier process with our PID */
        file->file = guarded_fd_of(
            files_open_at(folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC));
        snprintf(file->folder, sizeof file->folder, "%s", folders[i]);
        close(folder);
    }
}

bool live_file_write(struct live_file *file, const struct live_header *live)
{
    static _Alignas(64) uint8_t bytes[LIVE_FILE_BYTES]; /* of the watch thread */
    if (file->file.number < 0 || !guarded_fd_is_ours(&file->file))
        return false;
    size_t count = live_file_shorten(live, bytes), done = 0;
    while (done < count) {
        ssize_t more = pwrite(file->file.number, bytes + done, count - done, (off_t)done);
        if (more <= 0)
            return false;
        done += (size_t)more;
    }
    return true;
}

void live_file_close(struct live_file *file, bool keeps)
{
    int folder =
        file->file.number >= 0 && !keeps ? control_path_open_folder(file->folder, geteuid(), false) : -1;
    if (folder >= 0) {
        unlinkat(folder, file->name, 0);
        close(folder);
    }
    guarded_fd_close(&file->file);
}
