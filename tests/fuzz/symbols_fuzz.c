/* Arbitrary bytes as the file of a loaded library, with the headers that the loader would have. Nothing
 * outside the file and the lists is read, and names end. */
#include "agent/correlate/stacks/symbols.c"

#include "fuzz.h"

#include <sys/mman.h>

static void take_headers(const uint8_t *data, size_t size, struct module *module)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return;
    memcpy(&header, data, sizeof header);
    if (header.e_phnum > HEADERS_MAX ||
        !is_inside(header.e_phoff, header.e_phnum * sizeof *module->headers, size))
        return;
    module->header_count = header.e_phnum;
    memcpy(module->headers, data + header.e_phoff, header.e_phnum * sizeof *module->headers);
}

static void prepare_in_parts(struct symbols *symbols, int fd, struct file *file, uint64_t offset)
{
    unsigned parts = 1;
    while (!file->functions && !prepare(symbols, fd, file, offset, 0))
        require(parts++ < 1000, "there is no progress");
}

static void check(struct symbols *symbols, int fd, struct file *file)
{
    for (uint64_t offset = 0; offset < 8192; offset += file->functions ? 64 : 2048) {
        struct symbol_frame frame = {.function = NULL};
        prepare_in_parts(symbols, fd, file, offset);
        name_in_file(symbols, fd, file, offset, &frame);
        require(!frame.function || (frame.function[0] && strlen(frame.function) < NAME_BYTES),
                "a name has no end");
        require(!frame.function || frame.in_function > 0, "a function begins behind its own address");
    }
    for (size_t i = 1; i < file->function_count; i++)
        require(file->functions[i - 1].at <= file->functions[i].at, "a list is not sorted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static struct symbols *symbols[2]; /* with and without lists */
    struct symbol_frame frame = {.build_id_bytes = 0};
    struct module module = {.frame = &frame};
    Elf64_Ehdr header;
    if (fd < 0) {
        fd = memfd_create("symbols", MFD_CLOEXEC);
        require(fd >= 0 && symbols_create(1 << 20, &symbols[0]) == STATUS_OK &&
                    symbols_create(0, &symbols[1]) == STATUS_OK,
                "the start failed");
    }
    require(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "writing failed");
    take_headers(data, size, &module);
    for (int i = 0; i < 2; i++) {
        struct file file = {.key = 1};
        if (!read_at(fd, 0, &header, sizeof header))
            break;
        (void)is_of_module(fd, &header, &module);
        if (!find_table(fd, &header, size, &file.table) || file.table.count > 4096)
            break;
        prepare_in_parts(symbols[i], fd, &file, 4096);
        require(symbols[i]->bytes <= symbols[i]->bytes_max, "the limit is exceeded");
        check(symbols[i], fd, &file);
        drop_list(symbols[i], &file);
        drop_job(symbols[i]);
        require(symbols[i]->bytes == 0, "bytes are lost");
    }
    return 0;
}
