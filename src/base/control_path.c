#include "base/control_path.h"

#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

size_t control_path_list(const char *set, const char *runtime_directory, uid_t user,
                         char (*places)[CONTROL_PATH_BYTES])
{
    size_t count = 0;
    if (set && *set) {
        snprintf(places[0], CONTROL_PATH_BYTES, "%s", set);
        return strlen(set) < CONTROL_PATH_BYTES;
    }
    bool is_usable = runtime_directory && *runtime_directory == '/' &&
                     strlen(runtime_directory) < CONTROL_PATH_BYTES - sizeof "/cuspan";
    if (is_usable)
        snprintf(places[count++], CONTROL_PATH_BYTES, "%s/cuspan", runtime_directory);
    snprintf(places[count], CONTROL_PATH_BYTES, "/run/user/%u/cuspan", (unsigned)user);
    count += count == 0 || strcmp(places[0], places[count]) != 0;
    snprintf(places[count++], CONTROL_PATH_BYTES, "/tmp/cuspan-%u", (unsigned)user);
    return count;
}

int control_path_open_folder(const char *path, uid_t owner, bool make)
{
    struct stat facts;
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    int folder = files_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (folder < 0)
        return -1;
    if (fstat(folder, &facts) == 0 && facts.st_uid == owner && !(facts.st_mode & (S_IWGRP | S_IWOTH)))
        return folder;
    close(folder);
    errno = EPERM;
    return -1;
}

/* Uses the directory's descriptor, because its path may be too long for a socket address, or may have been
 * replaced. Uses the path if there is no /proc. */
static bool fill_address(struct sockaddr_un *address, int folder, const char *folder_path, const char *name)
{
    char through[64];
    struct stat facts;
    snprintf(through, sizeof through, "/proc/self/fd/%d", folder);
    if (stat(through, &facts) != 0 || !S_ISDIR(facts.st_mode))
        snprintf(through, sizeof through, "%s", "");
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/%s",
                          *through ? through : folder_path, name);
    if (length > 0 && (size_t)length < sizeof address->sun_path)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

static int make_socket(struct sockaddr_un *address, int folder, const char *folder_path, const char *name)
{
    if (!fill_address(address, folder, folder_path, name))
        return -1;
    return high_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int control_path_connect(int folder, const char *folder_path, const char *name)
{
    struct sockaddr_un address;
    int made = make_socket(&address, folder, folder_path, name);
    if (made < 0 || connect(made, (const struct sockaddr *)&address, sizeof address) == 0)
        return made;
    files_give_up(made);
    return -1;
}

/* The file gets the socket's mode without the bits of the process's umask, which belongs to the host. */
int control_path_bind(int folder, const char *folder_path, const char *name)
{
    struct sockaddr_un address;
    int made = make_socket(&address, folder, folder_path, name);
    if (made < 0 ||
        (fchmod(made, 0600) == 0 && bind(made, (const struct sockaddr *)&address, sizeof address) == 0))
        return made;
    files_give_up(made);
    return -1;
}
