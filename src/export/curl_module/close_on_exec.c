/* Sets close-on-exec for sockets and files opened by the libraries linked into the module (--wrap in
 * cmake/export.cmake), so that programs executed by the host do not inherit them. */
#include <stdio.h>
#include <sys/socket.h>

#define MODE_BYTES 16

int __real_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
    return __real_socketpair(domain, type | SOCK_CLOEXEC, protocol, ends);
}

int __wrap_socket(int domain, int type, int protocol)
{
    return __real_socket(domain, type | SOCK_CLOEXEC, protocol);
}

static const char *closing(const char *mode, char with_e[MODE_BYTES])
{
    return snprintf(with_e, MODE_BYTES, "%se", mode) < MODE_BYTES ? with_e : mode;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    char with_e[MODE_BYTES];
    return __real_fopen(path, closing(mode, with_e));
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    char with_e[MODE_BYTES];
    return __real_fopen64(path, closing(mode, with_e));
}
