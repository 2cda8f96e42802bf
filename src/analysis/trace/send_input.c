#include "analysis/trace/send_input.h"

#include "analysis/trace/documents.h"
#include "analysis/trace/byte_source.h"
#include "analysis/trace/file_kind.h"
#include "analysis/trace/trace_source.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

static enum status complain(const char *name, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%.300s: %s", trace_source_name(name), what);
}

/* Whether the content is lines of JSON. */
static enum status check(int fd, const char *name, struct error *err)
{
    struct documents *documents;
    const char *bytes;
    enum status status = documents_open(fd, name, &documents, err);
    if (status != STATUS_OK)
        return status;
    size_t len = documents_first_bytes(documents, &bytes);
    const char *other =
        documents_are_messages(documents)
            ? "it has OTLP protobuf messages; cuspan send reads lines of OTLP JSON, and spools"
            : file_kind(bytes, len);
    if (other)
        status = complain(name, other, err);
    documents_close(documents);
    return status;
}

static enum status copy(struct byte_source *source, FILE *to, struct error *err)
{
    char bytes[COPY_BYTES];
    size_t got = 1;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && got) {
        status = byte_source_read(source, bytes, sizeof bytes, &got, err);
        if (status == STATUS_OK && fwrite(bytes, 1, got, to) != got)
            status =
                error_set(err, STATUS_IO, "cannot write a temporary file: %s (set TMPDIR)", strerror(errno));
    }
    return status;
}

/* Replaces the file by its decompressed content, if it is compressed. */
static enum status unpack(const char *name, FILE **file, struct error *err)
{
    struct byte_source *source;
    enum status status = byte_source_create(fileno(*file), trace_source_name(name), &source, err);
    if (status != STATUS_OK)
        return status;
    if (byte_source_is_packed(source)) {
        FILE *plain = tmpfile();
        status = plain ? copy(source, plain, err)
                       : error_set(err, STATUS_IO, "cannot create a temporary file: %s", strerror(errno));
        if (status == STATUS_OK && fflush(plain) != 0)
            status =
                error_set(err, STATUS_IO, "cannot write a temporary file: %s (set TMPDIR)", strerror(errno));
        if (plain && status != STATUS_OK) {
            fclose(plain);
        } else if (plain) {
            fclose(*file);
            *file = plain;
        }
    }
    const char *damage = byte_source_damage(source);
    if (status == STATUS_OK && damage)
        fprintf(stderr, "cuspan send: %s: %s; the lines before are sent\n", trace_source_name(name), damage);
    byte_source_destroy(source);
    return status;
}

static bool is_spool(FILE *file)
{
    char magic[8] = "";
    bool is_one = fread(magic, 1, sizeof magic, file) == sizeof magic && memcmp(magic, "CSPN", 4) == 0;
    rewind(file);
    return is_one;
}

enum status send_input_open(const char *name, struct send_input *input, struct error *err)
{
    struct stat facts;
    FILE *file = NULL;
    *input = (struct send_input){.path = xstrdup(name)};
    bool is_stream = trace_source_is_stream(name);
    if (!is_stream && (stat(name, &facts) != 0 || S_ISDIR(facts.st_mode)))
        return STATUS_OK;
    if (trace_source_is_recording(name))
        return complain(name, "it is a recording; send it with cuspan replay", err);
    enum status status = trace_source_open(name, &file, err);
    if (status != STATUS_OK)
        return status;
    if (!is_stream && is_spool(file)) {
        fclose(file);
        return STATUS_OK;
    }
    int fd = fileno(file);
    status = lseek(fd, 0, SEEK_SET) == 0 ? check(fd, name, err) : STATUS_IO;
    if (status == STATUS_OK && lseek(fd, 0, SEEK_SET) == 0)
        status = unpack(name, &file, err);
    if (status == STATUS_OK && (is_stream || fileno(file) != fd)) {
        free(input->path);
        input->path = xasprintf("/proc/self/fd/%d", fileno(file));
        input->file = file;
        return STATUS_OK;
    }
    fclose(file);
    return status;
}

void send_input_close(struct send_input *input)
{
    free(input->path);
    if (input->file)
        fclose(input->file);
}
