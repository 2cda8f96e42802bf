#include "agent/operate/cdi/cdi_agent.h"

#include "cli/util/xalloc.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *cdi_unreadable(const char *path)
{
    struct stat about;
    char *at = xstrdup(path);
    if (stat(at, &about) != 0) {
        free(at);
        return NULL;
    }
    mode_t needed = S_ISDIR(about.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    while ((about.st_mode & needed) == needed) {
        char *slash = strrchr(at, '/');
        needed = S_IXOTH;
        if (!slash || slash == at || (*slash = '\0', stat(at, &about) != 0)) {
            free(at);
            return NULL;
        }
    }
    return at;
}

/* "GLIBC_2.28" is in a file's strings once for each version of which it requires a symbol. */
static void find_newest(const char *bytes, size_t size, unsigned *newest)
{
    static const char prefix[] = "GLIBC_2.";
    const char *end = bytes + size, *at = bytes;
    while ((at = memmem(at, (size_t)(end - at), prefix, sizeof prefix - 1))) {
        unsigned minor = 0;
        at += sizeof prefix - 1;
        for (; at < end && *at >= '0' && *at <= '9' && minor < 1000; at++)
            minor = minor * 10 + (unsigned)(*at - '0');
        if (minor > *newest)
            *newest = minor;
    }
}

bool cdi_glibc_needed(const char *path, char version[16])
{
    struct stat about;
    unsigned newest = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    size_t size = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? (size_t)about.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes != MAP_FAILED) {
        find_newest(bytes, size, &newest);
        munmap(bytes, size);
    }
    snprintf(version, 16, "2.%u", newest);
    return newest > 0;
}

bool cdi_label_is_allowed(const char *label)
{
    static const char *const types[] = {
        "usr_t", "lib_t", "bin_t", "textrel_shlib_t", "container_file_t", "container_ro_file_t"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *at = strstr(label, types[i]);
        size_t len = strlen(types[i]);
        if (at && at > label && at[-1] == ':' && (at[len] == ':' || at[len] == '\0'))
            return true;
    }
    return false;
}
