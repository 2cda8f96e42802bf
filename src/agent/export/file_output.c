#include "agent/export/file_output.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/process/guarded_fd.h"
#include "base/log/standard_fd.h"
#include "agent/export/delivery/request_body.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS_MAX        IOV_MAX
#define POLL_INTERVAL_MS 20

struct file {
    struct output output;
    struct delivery_control *control;
    struct packer packer; /* zeroed: it does not compress */
    char *path;           /* NULL: standard output */
    struct guarded_fd fd; /* none: not open */
    bool mid_line;        /* the last line is incomplete: write a newline before the next one */
    bool warned;
};

static const char *name_of(const struct file *file)
{
    return file->path ? file->path : "standard output";
}

/* `problem`: NULL for that of errno. */
static void warn(struct file *file, const char *what, const char *problem)
{
    char reason[128];
    const char *text = problem ? problem : strerror_r(errno, reason, sizeof reason);
    if (!file->warned)
        log_warn("cannot %s %s (%s); spans for it are lost until this is fixed", what, name_of(file), text);
    file->warned = true;
}

static atomic_uint descriptors_open;

uint32_t file_output_open_count(void)
{
    return atomic_load(&descriptors_open);
}

static void close_file(struct file *file)
{
    if (file->path && file->fd.number >= 0)
        atomic_fetch_sub(&descriptors_open, 1);
    if (file->path)
        guarded_fd_close(&file->fd);
    file->fd = GUARDED_FD_NONE;
}

/* If the host closed all descriptors, our number may refer to one of its own files. Standard output always
 * belongs to the host, and is ours to write to as long as the host has not replaced it. */
static bool is_still_open(struct file *file)
{
    if (file->fd.number < 0)
        return false;
    if (file->path ? guarded_fd_is_ours(&file->fd) : standard_fd_is_usable(STDOUT_FILENO))
        return true;
    close_file(file);
    return false;
}

/* Of a writer that was killed, or whose disk was full. */
static bool ends_in_mid_line(const struct file *file)
{
    struct stat opened, read_from;
    char last = '\n';
    if (fstat(file->fd.number, &opened) != 0 || !S_ISREG(opened.st_mode) || opened.st_size == 0)
        return false;
    int reader = files_open(file->path, O_RDONLY | O_NONBLOCK);
    if (reader < 0)
        return false;
    bool is_same = fstat(reader, &read_from) == 0 && read_from.st_dev == opened.st_dev &&
                   read_from.st_ino == opened.st_ino;
    bool is_read = is_same && pread(reader, &last, 1, opened.st_size - 1) == 1;
    close(reader);
    return is_read && last != '\n';
}

static bool ensure_open(struct file *file)
{
    if (is_still_open(file))
        return true;
    if (!file->path && standard_fd_is_usable(STDOUT_FILENO)) {
        file->fd.number = STDOUT_FILENO;
        return true;
    }
    if (!file->path) {
        warn(file, "write to", "the program has closed or replaced it");
        return false;
    }
    const char *problem;
    file->fd = guarded_fd_of(files_open_append(file->path, &problem));
    if (file->fd.number >= 0) {
        atomic_fetch_add(&descriptors_open, 1);
        file->mid_line = file->mid_line || ends_in_mid_line(file);
        return true;
    }
    warn(file, "open", problem);
    return false;
}

static void file_open(struct output *output)
{
    (void)!ensure_open((struct file *)output);
}

/* The host may have made its standard output non-blocking. */
static bool wait_writable(struct file *file)
{
    struct pollfd pollfd = {.fd = file->fd.number, .events = POLLOUT};
    while (!delivery_control_is_over(file->control))
        if (poll(&pollfd, 1, POLL_INTERVAL_MS) > 0)
            return true;
    errno = EAGAIN;
    return false;
}

/* Writes all parts, and modifies them. False sets errno. */
static bool write_all(struct file *file, struct iovec *parts, size_t count)
{
    while (count > 0) {
        ssize_t done = writev(file->fd.number, parts, (int)(count < PARTS_MAX ? count : PARTS_MAX));
        if (done < 0) {
            if (errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) && wait_writable(file)))
                continue;
            return false;
        }
        file->mid_line = true;
        size_t left = (size_t)done;
        for (; count > 0 && left >= parts->iov_len; parts++, count--)
            left -= parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    file->mid_line = false;
    return true;
}

/* Newlines end an incomplete line and this one: the body's first part is free, and so is one after its last.
 */
static bool write_line(struct file *file, struct batch *batch)
{
    char newline[] = "\n";
    struct request_body body;
    if (!packer_pack(&file->packer, batch, &body))
        return false;
    size_t count = body.part_count + 1;
    body.parts[0] = body.parts[count] = (struct iovec){.iov_base = newline, .iov_len = 1};
    return file->mid_line ? write_all(file, body.parts, count + 1) : write_all(file, body.parts + 1, count);
}

static void lose(struct file *file, const struct batch *batch, struct delivery *delivery)
{
    bool late = delivery_control_is_over(file->control);
    delivery_lose(delivery, batch->spans, late ? COUNTER_lost_deadline : COUNTER_lost_output);
    snprintf(delivery->error, sizeof delivery->error, "%s", late ? "deadline" : "output");
}

static void file_deliver(struct output *output, struct batch *batch, struct delivery *delivery)
{
    struct file *file = (struct file *)output;
    errno = EINVAL;
    delivery->began_ns = clock_monotonic_ns();
    /* Writing to a regular file is fast, so it is tried even after the deadline, unless aborted. */
    if (batch->format != BATCH_JSON || delivery_control_aborted(file->control) || !ensure_open(file)) {
        lose(file, batch, delivery);
        return;
    }
    if (!write_line(file, batch)) {
        warn(file, "write to", NULL);
        lose(file, batch, delivery);
        return;
    }
    if (file->warned)
        log_info("writing to %s works again", name_of(file));
    file->warned = false;
    delivery->accepted = true;
    delivery->delivered = batch->spans;
    delivery->bytes_sent = batch->bytes + 1;
}

static void file_destroy(struct output *output)
{
    struct file *file = (struct file *)output;
    close_file(file);
    packer_deinit(&file->packer);
    free(file->path);
    free(file);
}

enum status file_output_create(const char *path, struct delivery_control *control, struct output **output)
{
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        return STATUS_NO_MEMORY;
    file->output = (struct output){.open = file_open, .deliver = file_deliver, .destroy = file_destroy};
    file->control = control;
    file->fd = GUARDED_FD_NONE;
    if (path && !(file->path = strdup(path))) {
        free(file);
        return STATUS_NO_MEMORY;
    }
    *output = &file->output;
    return STATUS_OK;
}
