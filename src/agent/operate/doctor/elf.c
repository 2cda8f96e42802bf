#include "agent/operate/doctor/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE EM_AARCH64
#else
#define THIS_MACHINE EM_NONE
#endif

/* A static-pie has PT_DYNAMIC and an entry point, but no interpreter. A shared library has PT_DYNAMIC and
 * usually no entry point. */
static bool has_loader(const uint8_t *bytes, size_t size, const Elf64_Ehdr *header)
{
    bool has_interpreter = false, has_dynamic = false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr program;
        size_t at = header->e_phoff + i * header->e_phentsize;
        if (header->e_phentsize < sizeof program || at > size || size - at < sizeof program)
            break;
        memcpy(&program, bytes + at, sizeof program);
        has_interpreter |= program.p_type == PT_INTERP;
        has_dynamic |= program.p_type == PT_DYNAMIC;
    }
    return has_interpreter || (has_dynamic && header->e_entry == 0);
}

static bool contains(const uint8_t *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void parse(const uint8_t *bytes, size_t size, struct elf_facts *facts)
{
    Elf64_Ehdr header;
    if (size > 2 && bytes[0] == '#' && bytes[1] == '!') {
        const uint8_t *end = memchr(bytes, '\n', size);
        size_t len = end ? (size_t)(end - bytes) : size;
        facts->is_script = true;
        snprintf(facts->interpreter, sizeof facts->interpreter, "%.*s", (int)(len - 2),
                 (const char *)bytes + 2);
    }
    if (size < sizeof header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return;
    memcpy(&header, bytes, sizeof header);
    facts->is_elf = true;
    facts->is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    facts->is_native = header.e_machine == THIS_MACHINE; /* e_machine has the same offset in both classes */
    facts->is_dynamic = facts->is_64_bit && has_loader(bytes, size, &header);
    facts->names_cuda = contains(bytes, size, "libcuda.so") || contains(bytes, size, "libcudart") ||
                        contains(bytes, size, "libcupti");
}

bool elf_read(const char *path, struct elf_facts *facts)
{
    struct stat about;
    *facts = (struct elf_facts){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(fd);
        errno = EINVAL;
        return false;
    }
    size_t size = (size_t)about.st_size;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes != MAP_FAILED) {
        parse(bytes, size, facts);
        munmap(bytes, size);
    }
    return true;
}

char *const *elf_interpreter_words(char *line, char *words[ELF_WORDS_MAX])
{
    size_t count = 0, first = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t", &rest); word && count < ELF_WORDS_MAX - 1;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    words[count] = NULL;
    size_t len = count ? strlen(words[0]) : 0;
    if (len >= 4 && strcmp(words[0] + len - 4, "/env") == 0)
        for (first = 1; words[first] && (words[first][0] == '-' || strchr(words[first], '=')); first++) {
        }
    return words + first;
}
